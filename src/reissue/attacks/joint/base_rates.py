"""Base rates: what is expected of people, and of records of nobody known, before their groups are looked at.

Where groups are made by quasi-identifiers, whoever comes has each value as often as it is published at all. To take all
values for equally likely instead makes rare values of newcomers too likely, and claims about the others too sure.
Where every group shows each of its values equally often, groups were made by value: whoever arrived was chosen for the
value that was needed, however rare it is, and all values alike is what holds. Where values change since, who knows true
totals expects people to have each value as often as these say (decision 0206).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reissue._arrays import Floats
from reissue.kernels.everyone.observations import Observation

__all__ = ["base_rates", "expecting", "made_by_value"]

_LEAST = 1e-6
"""What was never published is not impossible."""


def base_rates(series: Sequence[Observation], values: int, *, changing: bool = False) -> Floats:
    """Value to how often it is published in all releases, less what is known to be nobody's.

    All alike where groups were made by value, unless values are `changing` and true totals known.
    """
    told = changing and all(len(seen.fakes) for seen in series)
    if made_by_value(series) and not told:
        return np.full(values, 1.0 / values)
    counts = sum((_people(seen, values) for seen in series), np.zeros(values))
    rates = np.maximum(counts / counts.sum(), _LEAST)
    return np.asarray(rates / rates.sum())


def _people(seen: Observation, values: int) -> Floats:
    """Value to how many records of it are published, less those that are known to be nobody's."""
    counts = np.bincount(seen.slot_value, seen.slot_count, values).astype(np.float64)
    counts[: len(seen.fakes)] -= seen.fakes
    return counts


def expecting(series: Sequence[Observation], rates: Floats) -> list[Observation]:
    """The same releases, with nobody's records having values at these rates."""
    return [replace(seen, shares=rates) for seen in series]


def made_by_value(series: Sequence[Observation]) -> bool:
    """Whether every group of every release shows each of its values equally often."""
    return all(_evenly(seen) for seen in series)


def _evenly(seen: Observation) -> bool:
    first = seen.slot_count[np.minimum(seen.group_starts[:-1], max(len(seen.slot_count) - 1, 0))]
    return bool((seen.slot_count == first[seen.slot_group]).all())
