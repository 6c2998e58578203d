"""Groups of a frontier cut in two: where, which halves hold, and how they are laid out."""

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.methods.partition.frontier import Frontier, Layout
from reissue.methods.partition.tried import Ranks, TriedGroups
from reissue.requirements import Requirement
from reissue.taxonomy.side_by_side import Forest

__all__ = ["after_cuts", "both_hold", "halved", "median_cuts", "widest"]


def both_hold(frontier: Frontier, upper: Bools, requirement: Requirement) -> Bools:
    """Which groups have two sides that meet the requirement."""
    total = len(frontier.sizes)
    if requirement.sensitive:
        counts = frontier.counts(2 * frontier.of_row + upper, 2 * total)
    else:
        above = np.add.reduceat(upper, frontier.starts, dtype=np.int64)
        counts = frontier.of_sizes(np.stack([frontier.sizes - above, above], axis=1).reshape(-1))
    fine = (requirement.holds(counts) & (counts.sizes > 0)).reshape(total, 2)
    return fine[:, 0] & fine[:, 1]


def widest(frontier: Frontier, taxonomies: Forest) -> tuple[Floats, Ints, TriedGroups]:
    """What each group loses at most, attribute by attribute, the attribute on which it loses most, and its rows there.

    What is known of an attribute is what a larger group lost there. So the attribute that promises most is looked at;
    where that turns out to be less than another one promises, that one is next.
    """
    most = frontier.most.copy()
    place = most.argmax(axis=0)
    chosen, left = frontier.chosen(place), np.arange(len(place))
    while True:
        lost = taxonomies.lost(place[left], chosen.lo[left], chosen.hi[left])
        most[place[left], left] = np.where(most[place[left], left] > 0, lost, -lost)
        promising = most[:, left].argmax(axis=0)
        other = promising != place[left]
        left = left[other]
        if not len(left):
            return most, place, chosen
        place[left] = promising[other]
        chosen.put(left, frontier.chosen(place[left], left))


def median_cuts(chosen: TriedGroups, place: Ints, taxonomies: Forest) -> Codes:
    """Where each group is cut: rows at or above go up."""
    median = Ranks(chosen).at(chosen.starts + chosen.sizes // 2)
    return taxonomies.cut_near(place, median, chosen.lo, chosen.hi)


def halved(frontier: Frontier, upper: Bools, works: Bools, again: Bools, most: Floats) -> Layout:
    """Lower halves, then upper halves, then the groups that try another attribute; `most` is of all these."""
    split = np.repeat(works, frontier.sizes)
    above = split & upper
    order = np.concatenate(
        [np.flatnonzero(split ^ above), np.flatnonzero(above), np.flatnonzero(np.repeat(again, frontier.sizes))]
    )
    high = np.add.reduceat(upper, frontier.starts, dtype=np.int64)[works]
    return Layout(order, np.concatenate([frontier.sizes[works] - high, high, frontier.sizes[again]]), most)


def after_cuts(
    most: Floats, place: Ints, works: Bools, again: Bools, halves: tuple[Floats, Floats] | None = None
) -> Floats:
    """What lower halves, upper halves and the groups that try another attribute lose at most, attribute by attribute.

    Halves may try every attribute again, so what was known of those that failed is kept: negative.

    `place` is the attribute that each group was tried on, `halves` what the halves of those that are cut lose there.
    """
    lower = np.abs(most[:, works])
    upper, other = lower.copy(), most[:, again]
    if halves is not None:
        number = np.arange(lower.shape[1])
        lower[place[works], number], upper[place[works], number] = halves
    tried = place[again], np.arange(other.shape[1])
    other[tried] = -np.abs(other[tried])
    return np.concatenate([lower, upper, other], axis=1)
