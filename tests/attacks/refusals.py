"""The paper's attacks by what an algorithm refused, for groupings of everyone: twins of running the algorithm."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from reissue import Table
from reissue._arrays import Bools, Codes, Ints
from reissue.counting import pack
from reissue.papers.mechanism.possible import Belief, Possible, weigh
from reissue.papers.mechanism.refusals import Refusal, refused
from reissue.requirements import Requirement


def by_refusals(possible: Possible, refusals: list[Refusal], requirement: Requirement) -> Belief:
    """What is believed when every refused grouping must have broken the requirement."""

    def keep(worlds: Codes) -> Bools:
        return refused(worlds, refusals, requirement, possible.domain)

    return weigh(possible, keep, budget=200_000)


def information_loss(table: Table, levels: Sequence[int]) -> float:
    """Definition 7 with equal weights: how much of its leaves a value's node covers, averaged over rows and columns."""
    lost = 0.0
    for codes, taxonomy, level in zip(table.codes, table.taxonomies, levels, strict=True):
        its = taxonomy.levels[level]
        if taxonomy.size > 1:
            lost += float((its.hi - its.lo)[codes].mean()) / (taxonomy.size - 1)
    return lost / len(table.codes)


def full_domain(table: Table, levels: Sequence[int]) -> list[Refusal]:
    """Incognito-like: all full-domain generalizations with less information loss than the published levels."""
    heights = [taxonomy.height for taxonomy in table.taxonomies]
    limit = information_loss(table, levels)
    better = [
        other
        for other in product(*(range(height + 1) for height in heights))
        if information_loss(table, other) < limit - 1e-12
    ]
    return [_recoded(table, other) for other in better]


def _recoded(table: Table, levels: Sequence[int]) -> Refusal:
    columns = [
        t.levels[level].node[codes] for codes, t, level in zip(table.codes, table.taxonomies, levels, strict=True)
    ]
    sizes = [len(t.levels[level].names) for t, level in zip(table.taxonomies, levels, strict=True)]
    return _of_everyone(pack(columns, sizes)[0])


def _of_everyone(grouping: Ints) -> Refusal:
    return Refusal(np.arange(len(grouping)), np.unique(grouping, return_inverse=True)[1])
