"""Groups of a frontier cut in two: where, which halves hold, and how they are laid out.

Also groups split for requirements that are asked of a release as a whole (`split_across`): any m columns leave k
records. There a group may be small if others show the same values on any m columns. So groups are split on, all at
once, each on its widest attribute at its median; splits after which some group would fail are taken back until none
does (the partition before them was fine, so this ends), and their groups try another attribute. Whatever else is
required must hold in each group. The search starts with the whole table, and with the groups that a method made by
size, which are fine as well; the partition of less loss is taken. O(attributes over m x groups) for each try.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.methods.partition.frontier import Frontier, Layout, Ranks, TriedGroups
from reissue.methods.registry import Job
from reissue.release.release import Draft
from reissue.requirements import Requirement
from reissue.taxonomy.forest import Forest
from reissue.taxonomy.tree import Taxonomy

__all__ = ["after_cuts", "both_hold", "halved", "median_cuts", "split_across", "widest"]


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


# --- requirements of the release as a whole --------------------------------------------------------------------------


def split_across(job: Job, draft: Draft) -> Draft:
    """Split a method's groups further where a requirement of the release as a whole allows it; else as they are."""
    if not any(part.across for part in job.requirement.parts()):
        return draft
    rows = np.flatnonzero(draft.groups >= 0)
    groups = draft.groups[rows]
    tries = [_split(job, rows, start) for start in (groups, np.zeros(len(rows), np.int32))]
    best = min(tries, key=lambda frontier: _loss(frontier, job.table.taxonomies))
    made = np.full(len(draft.groups), -1, np.int32)
    made[best.rows] = best.of_row
    return replace(draft, groups=made)


def _split(job: Job, rows: Ints, groups: Codes) -> Frontier:
    """Groups of some rows, split until none can be."""
    sizes = np.bincount(groups).astype(np.int64)
    whole = Frontier.whole(job.table)
    order = rows[np.argsort(groups, kind="stable")]
    frontier = whole.arrange(Layout(order, sizes, np.repeat(whole.most, len(sizes), axis=1)))
    taxonomies = Forest.of(job.table.taxonomies)
    while True:
        following = _advance(frontier, taxonomies, job.requirement)
        if following is None:
            return frontier
        frontier = following


def _advance(frontier: Frontier, taxonomies: Forest, requirement: Requirement) -> Frontier | None:
    """Every group split on its widest open attribute where that can be; None where no attribute is open."""
    most, place, chosen = widest(frontier, taxonomies)
    open_ = most.max(axis=0) > 0
    if not open_.any():
        return None
    cut = median_cuts(chosen, place, taxonomies)
    upper = chosen.codes >= cut[frontier.of_row]
    inner = requirement.in_groups
    works = open_ & (_both(frontier, upper) if inner is None else both_hold(frontier, upper, inner))
    works = _settled(frontier, taxonomies.trees, requirement, place, upper, works)
    return frontier.arrange(halved(frontier, upper, works, ~works, after_cuts(most, place, works, ~works)))


def _both(frontier: Frontier, upper: Bools) -> Bools:
    """Which groups have rows on both sides."""
    above = np.add.reduceat(upper, frontier.starts, dtype=np.int64)
    return (above > 0) & (above < frontier.sizes)


def _settled(
    frontier: Frontier,
    taxonomies: Sequence[Taxonomy],
    requirement: Requirement,
    place: Ints,
    upper: Bools,
    works: Bools,
) -> Bools:
    """Those of the splits after which the release as a whole is still fine."""
    whole = _shown(frontier, taxonomies)
    order = np.lexsort((upper, frontier.of_row))
    label = 2 * frontier.of_row + upper
    sizes = np.bincount(label, minlength=2 * len(frontier.sizes))
    sides = np.zeros((len(taxonomies), len(sizes)), np.int64)
    there = sizes > 0
    sides[:, there] = _shown(frontier.arrange(Layout(order, sizes[there], frontier.most)), taxonomies)
    attribute = np.arange(len(taxonomies))[:, np.newaxis]
    while works.any():
        both = np.repeat(works, 2)
        shown = np.concatenate([whole[:, ~works], sides[:, both]], axis=1)
        fine = requirement.holds_across(shown, np.concatenate([frontier.sizes[~works], sizes[both]]))
        left = int((~works).sum())
        failing = np.flatnonzero(~works)[~fine[:left]]
        torn = ~fine[left:].reshape(-1, 2).all(axis=1)
        if not len(failing) and not torn.any():
            break
        back = np.zeros(len(works), np.bool_)
        back[np.flatnonzero(works)[torn]] = True
        # A group that is not split fails because one that showed the same value was: on that very attribute.
        lost = np.isin(_keys(place, whole[place, np.arange(len(place))]), _keys(attribute, whole[:, failing]))
        works = works & ~back & ~(lost & works)
    return works


def _keys(attribute: Ints, shown: Ints) -> Ints:
    """An attribute and what is shown of it as one number."""
    return np.asarray(attribute * np.int64(1 << 56) + shown, np.int64)


def _shown(frontier: Frontier, taxonomies: Sequence[Taxonomy]) -> Ints:
    """Attributes x groups: what is published, as one number."""
    found = np.empty((len(taxonomies), len(frontier.sizes)), np.int64)
    for place, taxonomy in enumerate(taxonomies):
        low, high = taxonomy.snap(*frontier.bounds(place))
        found[place] = low.astype(np.int64) * taxonomy.size + high
    return found


def _loss(frontier: Frontier, taxonomies: Sequence[Taxonomy]) -> float:
    """What all rows lose, over all attributes."""
    total = 0.0
    for place, taxonomy in enumerate(taxonomies):
        each: Floats = taxonomy.lost(*frontier.bounds(place))
        total += float(each @ frontier.sizes)
    return total
