"""What an algorithm must have refused before it published what it did (Wong et al. 2009, section 5.2).

A *refusal* is a grouping of people that the algorithm would have preferred: some of its groups broke the requirement.
For a requirement that unions keep (monotone), the refusals of the full-domain search and of Mondrian say all that
running them would: a grouping whose groups are unions of published ones meets the requirement, so it was not refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.requirements import Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Refusal", "median_splits", "refused"]


@dataclass(frozen=True, eq=False)
class Refusal:
    """A grouping of some people that was refused."""

    people: Ints
    labels: Ints
    """Person (of those) to group, 0, 1, ..."""


def refused(worlds: Codes, refusals: Sequence[Refusal], requirement: Requirement, domain: Domain) -> Bools:
    """Which worlds (worlds x people) break the requirement in every refused grouping."""
    keep = np.ones(len(worlds), np.bool_)
    for refusal in refusals:
        keep[keep] = ~_meets(worlds[keep], refusal, requirement, domain)
    return keep


def _meets(worlds: Codes, grouping: Refusal, requirement: Requirement, domain: Domain) -> Bools:
    """Which worlds meet the requirement in every group of a grouping."""
    total = int(grouping.labels.max(initial=-1)) + 1
    place = np.arange(len(worlds))[:, np.newaxis] * total + grouping.labels[np.newaxis]
    counts = Counts(place.reshape(-1), worlds[:, grouping.people].reshape(-1), domain, total * len(worlds))
    return np.asarray(requirement.holds(counts).reshape(len(worlds), total).all(axis=1), np.bool_)


def median_splits(table: Table, groups: Ints) -> list[Refusal]:
    """Mondrian-like: the splits that were tried before the one that was taken, and all of a group that was left."""
    found: list[Refusal] = []
    waiting = [np.arange(table.rows)]
    while waiting:
        node = waiting.pop()
        for sides in _splits(table, node):
            if _apart(groups[node], sides):
                waiting += [node[sides], node[~sides]]
                break
            found.append(Refusal(node, sides.astype(np.int64)))
    return found


def _apart(groups: Ints, sides: Bools) -> bool:
    """Whether a split sends no published group to both sides."""
    return not np.intersect1d(groups[sides], groups[~sides]).size


def _splits(table: Table, node: Ints) -> Iterator[Bools]:
    """The splits of a set of people in the order in which Mondrian tries them: who goes up."""
    codes = table.codes[:, node]
    lo, hi = codes.min(axis=1), codes.max(axis=1)
    widths = [
        float(t.loss(*t.snap(lo[place : place + 1], hi[place : place + 1]))[0])
        for place, t in enumerate(table.taxonomies)
    ]
    for place in sorted(range(len(widths)), key=lambda place: -widths[place]):
        if widths[place] > 0:
            yield codes[place] >= _cut(table.taxonomies[place], np.sort(codes[place]))


def _cut(taxonomy: Taxonomy, codes: Codes) -> int:
    """Where sorted codes are cut: at the median, or at the start of its child under the node that holds them all."""
    lo, hi, median = int(codes[0]), int(codes[-1]), int(codes[len(codes) // 2])
    if taxonomy.runs:
        missing = taxonomy.missing and hi == taxonomy.size - 1
        return hi if missing else max(median, lo + 1) if median == lo else median
    for first, last in taxonomy.children(*(int(end[0]) for end in taxonomy.snap(codes[:1], codes[-1:]))):
        if first <= median <= last:
            return first if first > lo else last + 1
    return hi
