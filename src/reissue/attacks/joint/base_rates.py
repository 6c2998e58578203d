"""Base rates: what is expected of people, and of records of nobody known, before their groups are looked at.

Where groups are made by quasi-identifiers, whoever comes has each value as often as it is published at all. To take all
values for equally likely instead makes rare values of newcomers too likely, and claims about the others too sure.
Where every group shows each of its values equally often, groups were made by value: whoever arrived was chosen for the
value that was needed, however rare it is, and all values alike is what holds. Where values change since, there is more
to go by: who knows true totals expects people to have each value as often as these say (decision 0206), and who knows
how values change knows how common that makes them, and so, roughly, which values counterfeits have (decision 0207).
Else it is learnt while solving (`solver/learning/made_by_value`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from reissue._arrays import Floats
from reissue.solver.observations import Observation
from reissue.solver.transitions import Model

__all__ = ["base_rates", "expecting", "expecting_the_rest", "in_the_long_run", "made_by_value"]

_LEAST = 1e-6
"""What was never published is not impossible."""
_NEARLY = 0.85
"""Of a value that every group shows: where people are expected to have so large a share of it, they have all of it."""
_DOUBT = 0.05
"""How far people may be, in proportion, from having values as often as these are common in the long run."""


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


def in_the_long_run(series: Sequence[Observation], model: Model) -> Floats | None:
    """Value to its share of people in the long run, where groups were made by value and nothing better is known.

    None also where no record is a counterfeit's, or releases show too few records for that. Slots are no people, and
    strangers may be anybody.
    """
    common = model.common
    better = any(len(seen.fakes) or len(seen.occupant) or seen.strangers for seen in series)
    if common is None or better or not made_by_value(series) or not any(seen.free.any() for seen in series):
        return None
    missing = people = 0.0
    for seen in series:
        shown, here = np.bincount(seen.slot_value, seen.slot_count, len(common)), _number(seen)
        missing, people = missing + float(np.maximum(here * common - shown, 0.0).sum()), people + here
    return common if missing <= _DOUBT * people else None


def expecting_the_rest(series: Sequence[Observation], common: Floats) -> list[Observation]:
    """The same releases, with nobody's records having, roughly, what people with so common values leave of each."""
    alike = np.full(len(common), 1.0 / len(common))
    return [
        replace(seen, shares=alike, fakes=_left(seen, common), roughly=True) if seen.free.any() else seen
        for seen in series
    ]


def _number(seen: Observation) -> float:
    """How many records of a release are somebody's."""
    return float(seen.slot_count.sum() - seen.free.sum())


def _left(seen: Observation, common: Floats) -> Floats:
    """Value to how many records of it are expected to be nobody's, where people have about as many as is common.

    None of the value that needs most groups, if every group shows it: there would be fewer groups without its people.
    """
    shown, people = np.bincount(seen.slot_value, seen.slot_count, len(common)), _number(seen) * common
    doubt = np.maximum(_DOUBT * people, _LEAST)
    left, far = shown - people, (shown - people) / doubt
    # The mean of what is left of a normal number, where less than nothing is nothing.
    mean = left * ndtr(far) + doubt * np.exp(-(far**2) / 2) / np.sqrt(2 * np.pi)
    everywhere = np.bincount(seen.slot_value, minlength=len(common)) == seen.groups
    scarce = int(np.where(everywhere, people, -1.0).argmax())
    if everywhere[scarce] and people[scarce] >= _NEARLY * shown[scarce]:
        mean[scarce] = 0.0
    mean = np.maximum(mean, _LEAST) * (shown > 0)
    return np.asarray(mean * (float(seen.free.sum()) / max(float(mean.sum()), _LEAST)))


def made_by_value(series: Sequence[Observation]) -> bool:
    """Whether every group of every release shows each of its values equally often."""
    return all(_evenly(seen) for seen in series)


def _evenly(seen: Observation) -> bool:
    first = seen.slot_count[np.minimum(seen.group_starts[:-1], max(len(seen.slot_count) - 1, 0))]
    return bool((seen.slot_count == first[seen.slot_group]).all())
