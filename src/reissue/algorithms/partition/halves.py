"""Groups of a frontier cut in two: where, which halves hold, and how they are laid out."""

import numpy as np

from reissue._arrays import Bools, Codes, Ints, NarrowCodes
from reissue.algorithms.partition.frontier import Frontier, Layout, Ranks
from reissue.requirements import Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = ["both_hold", "cut_near", "halved", "median_cuts", "of_each"]


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


def of_each(frontier: Frontier, place: Ints) -> NarrowCodes:
    """Each row's code on the attribute that its group chose."""
    if frontier.few:
        return np.concatenate([frontier.codes[p, s] for p, s in zip(place.tolist(), frontier.slices(), strict=True)])
    rows = len(frontier.rows)
    return frontier.codes.reshape(-1).take(np.repeat(place * rows, frontier.sizes) + np.arange(rows))


def median_cuts(
    frontier: Frontier, codes: NarrowCodes, place: Ints, lo: Codes, hi: Codes, taxonomies: tuple[Taxonomy, ...]
) -> Codes:
    """Where each group is cut: rows at or above go up; never at the smallest code, which would leave nothing below."""
    median = Ranks(frontier, codes, lo, hi).at(frontier.starts + frontier.sizes // 2)
    cut = np.empty(len(lo), np.int32)
    for number, taxonomy in enumerate(taxonomies):
        here = np.flatnonzero(place == number)
        if len(here):
            cut[here] = cut_near(taxonomy, median[here], lo[here], hi[here])
    return cut


def cut_near(taxonomy: Taxonomy, median: Codes, lo: Codes, hi: Codes) -> Codes:
    """The start of the median's child under the group's node, or the next child's start."""
    if taxonomy.runs:
        cut = np.where(median > lo, median, median + 1)
        return np.where((hi == taxonomy.size - 1) & (lo < hi), hi, cut) if taxonomy.missing else cut
    below = taxonomy.lowest(lo, hi) - 1
    start, after = taxonomy.leaves[0][below, median], taxonomy.leaves[1][below, median] + 1
    return np.where(start > lo, start, after).astype(np.int32)


def halved(frontier: Frontier, widest: Ints, upper: Bools, works: Bools, again: Bools) -> Layout:
    """Lower halves, then upper halves, then the groups that try another attribute."""
    split = np.repeat(works, frontier.sizes)
    above = split & upper
    order = np.concatenate(
        [np.flatnonzero(split ^ above), np.flatnonzero(above), np.flatnonzero(np.repeat(again, frontier.sizes))]
    )
    high = np.add.reduceat(upper, frontier.starts, dtype=np.int64)[works]
    sizes = np.concatenate([frontier.sizes[works] - high, high, frontier.sizes[again]])
    closed = np.zeros((len(frontier.codes), len(sizes)), np.bool_)
    tried = frontier.closed[:, again]
    tried[widest[again], np.arange(tried.shape[1])] = True
    closed[:, 2 * len(high) :] = tried
    return Layout(order, sizes, closed)
