"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): median splits on the attribute that covers most of its domain.

Strict: all rows with one value go to the same side; a number is cut at its median, a category between two children of
its node, next to the median in leaf order. Relaxed: where that cut fails, rows are halved by rank, so rows with the
median's value may go either way. A split is taken if both sides meet the requirement, else the group tries its next
widest attribute, and stands when none is left. Every group is published as its box.

All groups are tried at once, one attribute each per round, with the median read off one histogram over all groups:
O(attributes x rows) a round, and about log2(rows / k) rounds.
"""

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.algorithms.partition.frontier import Frontier, Layout, Ranks, work_off
from reissue.algorithms.registry import Job, Option, algorithm
from reissue.release.release import Draft
from reissue.requirements import Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = ["both_hold", "cut_near", "halved", "mondrian"]


@algorithm(
    "mondrian",
    "Local recoding by median splits: the classic, and the fastest.",
    options={
        "strict": Option(default=True, help="Keep rows with the same value on the same side.", choices=(True, False))
    },
    blind=True,
    joinable=True,
)
def mondrian(job: Job) -> Draft:
    """Group the rows of a table top-down; see the module's docstring."""
    taxonomies, strict = job.table.taxonomies, bool(job.options.get("strict", True))
    return work_off(job, lambda frontier: _advance(frontier, taxonomies, job.requirement, strict))


def _advance(
    frontier: Frontier, taxonomies: tuple[Taxonomy, ...], requirement: Requirement, strict: bool
) -> tuple[Layout, Bools]:
    """Try every group on its widest open attribute.

    Returns the groups that go on: halves and those that have attributes left to try; and which groups are done.
    """
    bounds = [frontier.bounds(place) for place in range(len(taxonomies))]
    width = np.stack([t.loss(*t.snap(*bound)) for t, bound in zip(taxonomies, bounds, strict=True)])
    width[frontier.closed] = 0
    widest = width.argmax(axis=0)
    done = width.max(axis=0) <= 0
    codes = _of_each(frontier, widest)
    lo, hi = (np.stack(ends)[widest, np.arange(len(widest))] for ends in zip(*bounds, strict=True))
    upper = codes >= _cuts(frontier, codes, widest, lo, hi, taxonomies)[frontier.of_row]
    works = both_hold(frontier, upper, requirement)
    if not strict and not works.all():
        upper = np.where(works[frontier.of_row], upper, _halves(frontier, codes))
        works = both_hold(frontier, upper, requirement)
    works &= ~done
    return halved(frontier, widest, upper, works, ~works & ~done), done


def both_hold(frontier: Frontier, upper: Bools, requirement: Requirement) -> Bools:
    """Which groups have two sides that meet the requirement."""
    total = len(frontier.sizes)
    counts = frontier.counts(2 * frontier.of_row + upper, 2 * total)
    fine = (requirement.holds(counts) & (counts.sizes > 0)).reshape(total, 2)
    return fine[:, 0] & fine[:, 1]


def _of_each(frontier: Frontier, place: Ints) -> Codes:
    """Each row's code on the attribute that its group chose."""
    if frontier.few:
        return np.concatenate([frontier.codes[p, s] for p, s in zip(place.tolist(), frontier.slices(), strict=True)])
    rows = len(frontier.rows)
    return frontier.codes.reshape(-1).take(np.repeat(place * rows, frontier.sizes) + np.arange(rows))


def _cuts(
    frontier: Frontier, codes: Codes, place: Ints, lo: Codes, hi: Codes, taxonomies: tuple[Taxonomy, ...]
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
    start = np.stack([level.lo for level in taxonomy.levels[:-1]])[below, median]
    after = np.stack([level.hi for level in taxonomy.levels[:-1]])[below, median] + 1
    return np.where(start > lo, start, after).astype(np.int32)


def _halves(frontier: Frontier, codes: Codes) -> Bools:
    """Which rows are in the upper half of their group by rank."""
    shift, rows = int(codes.max()).bit_length(), len(codes)
    place = (frontier.of_row.astype(np.int64) << shift) | codes
    order = np.argsort(place, kind="stable")
    upper = np.empty(rows, np.bool_)
    upper[order] = np.arange(rows) >= np.repeat(frontier.starts + frontier.sizes // 2, frontier.sizes)
    return upper


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
