"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): median splits on the attribute that covers most of its domain.

Strict: all rows with one value go to the same side; a number is cut at its median, a category between two children of
its node, next to the median in leaf order. Relaxed: where that cut fails, rows are halved by rank, so rows with the
median's value may go either way; who of people with equal quasi-identifiers does is drawn by lot. A split is taken if
both sides meet the requirement, else the group tries its next widest attribute, and stands when none is left. Every
group is published as its box.

All groups are tried at once, one attribute each per round, with the median read off one histogram over all groups:
O(attributes x rows) a round, and about log2(rows / k) rounds.
"""

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints, NarrowCodes
from reissue.methods.local_search.search import EFFORT, improved
from reissue.methods.partition.frontier import Frontier, Layout, TriedGroups, work_off
from reissue.methods.partition.halves import after_cuts, both_hold, halved, median_cuts, split_across, widest
from reissue.methods.partition.regions import in_order
from reissue.methods.registry import ByRegions, Job, Option, Trait, algorithm
from reissue.release.release import Draft
from reissue.requirements import Requirement
from reissue.taxonomy.forest import Forest

__all__ = ["mondrian"]


@algorithm(
    "mondrian",
    "Local recoding by median splits: the classic, and the fastest.",
    traits=Trait.BLIND | Trait.JOINABLE,
    options={
        "strict": Option(default=True, help="Keep rows with the same value on the same side.", choices=(True, False)),
        "effort": EFFORT,
    },
    by_regions=ByRegions(
        lambda options: (
            ""
            if options["strict"] and options["effort"] == "fast"
            else "relaxed splits and the search for better groups (effort) look at all rows"
        ),
        any_order=True,
    ),
    draws=lambda options: not options["strict"],
    several_rows="together",
)
def mondrian(job: Job) -> Draft:
    """Group the rows of a table top-down; see the module's docstring."""
    taxonomies, strict = Forest.of(job.table.taxonomies), bool(job.options.get("strict", True))

    def finished(job: Job) -> Draft:
        return improved(job, [lambda some, _: split(some)])

    def split(job: Job) -> Draft:
        return work_off(job, lambda frontier: _advance(frontier, taxonomies, job.requirement, strict))

    if not strict and job.table.people is None:
        return split_across(job, in_order(job, finished))
    return split_across(job, finished(job))


def _advance(frontier: Frontier, taxonomies: Forest, requirement: Requirement, strict: bool) -> tuple[Layout, Bools]:
    """Try every group on its widest open attribute.

    Returns the groups that go on: halves and those that have attributes left to try; and which groups are done.
    """
    most, place, chosen = widest(frontier, taxonomies)
    done = most.max(axis=0) <= 0
    cut = median_cuts(chosen, place, taxonomies)
    upper = chosen.codes >= np.repeat(cut.astype(chosen.codes.dtype), frontier.sizes)
    works = both_hold(frontier, upper, requirement)
    if not strict and not works.all():
        upper = np.where(works[frontier.of_row], upper, _halves(frontier, chosen.codes))
        works = both_hold(frontier, upper, requirement)
    works &= ~done
    again = ~works & ~done
    most = after_cuts(most, place, works, again, _losses(chosen, place, cut, works, taxonomies) if strict else None)
    return halved(frontier, upper, works, again, most), done


def _losses(chosen: TriedGroups, place: Ints, cut: Codes, works: Bools, taxonomies: Forest) -> tuple[Floats, Floats]:
    """What the halves of the groups that are cut lose on the attribute of the cut, at most."""
    place, cut, lo, hi = place[works], cut[works], chosen.lo[works], chosen.hi[works]
    return taxonomies.lost(place, lo, cut - np.int32(1)), taxonomies.lost(place, cut, hi)


def _halves(frontier: Frontier, codes: NarrowCodes) -> Bools:
    """Which rows are in the upper half of their group by rank."""
    shift, rows = int(codes.max()).bit_length(), len(codes)
    place = (frontier.of_row.astype(np.int64) << shift) | codes
    order = np.argsort(place, kind="stable")
    upper = np.empty(rows, np.bool_)
    upper[order] = np.arange(rows) >= np.repeat(frontier.starts + frontier.sizes // 2, frontier.sizes)
    return upper
