"""How values change: as the schema says, else as the holder's tables show, else as the releases let one learn.

At a gate, which keeps nobody's true values, the holder's tables show it by sums over people (`holder`). Without the
schema's word and without any of the true tables values are taken to stay as long as the releases allow it. They do not
where people's groups contradict each other, or where no way to give everyone one value shows the published counts. Then
it is learned from them.

Base rates belong to it. Where groups are made by quasi-identifiers, newcomers have each value as often as it is
published at all. Where every group shows each of its values equally often, groups were made by value: newcomers were
chosen for the value that was needed, however rare it is, and all values alike is what holds for the value before they
came; the first one is one transition later (decision 0208). Where values change, true totals say what people have
(decision 0206), and without them EM does (`solver.estimation`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.errors import CannotRunError
from reissue.methods.registry import Trait, look_up
from reissue.schema import Schema
from reissue.solver import Model, Observation, Posterior
from reissue.solver.observation import made_by_value, people_in
from reissue.solver.propagation import propagate
from reissue.solver.scaling import Chains, scale
from reissue.solver.states import RARE, states_of
from reissue.solver.transition_learning import learn_steps, smoothed, staying
from reissue.solver.transition_regression import Moments
from reissue.updates import read_updates

__all__ = [
    "ModelChoice",
    "ObservedSeries",
    "check_fit",
    "grown",
    "keeps_values",
    "learnable",
    "learned",
    "misfits",
    "stays_by_method",
    "update_model",
]

_WIDEST = 256
"""Values, at most, whose changes are learned: a matrix of all pairs."""
_ELSEWHERE = 0.015
"""The share of records that may be left unexplained; measured: below 0.005, and 0.019 to 0.17 where values change."""
_RULED_OUT = 0.05
"""The share of people who may have changed in a way that is ruled out: records that were linked wrongly are fewer."""
_RECORDS = 200
"""In fewer records a single person who is linked wrongly could be as much."""


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """An update model, and where it comes from."""

    model: Model
    source: str
    """"schema", "tables" (the holder's own), "releases" (learned), or "none" (values stay)."""
    said: bool = False
    """Whether somebody said so, whatever the releases show: the schema, or the choice of a method."""


@dataclass(frozen=True, eq=False)
class ObservedSeries:
    """Releases, and what says how their values change."""

    series: Sequence[Observation]
    names: Sequence[str | None]
    truth: Sequence[Ints | None]
    """True value of each person, -1 where absent, by release; None where nobody knows."""
    rates: Floats
    """Prior share of each value among newcomers."""
    times: Sequence[int]
    steps: Floats | None = None
    """Transition matrix as the releases before taught."""
    holder: Moments | None = None
    """What the holder's tables say of it, where the truth of older releases is not kept."""

    @classmethod
    def of(
        cls,
        series: Sequence[Observation],
        names: Sequence[str | None],
        truth: Sequence[Ints | None],
        times: Sequence[int],
        steps: Floats | None = None,
        holder: Moments | None = None,
    ) -> "ObservedSeries":
        """With base rates as they are before it is known how values change."""
        rates = base_rates(series, len(names))
        return cls(_sharing(series, rates), names, truth, rates, times, steps, holder)

    def where(self, chosen: ModelChoice) -> "ObservedSeries":
        """With base rates as they are where values change so."""
        steps = chosen.model.steps
        rates = base_rates(self.series, len(self.names), changing=steps is not None)
        series = _sharing(self.series, rates)
        totals = all(len(seen.counterfeits) for seen in series)
        if steps is not None and made_by_value(series) and not totals:
            rates = np.maximum(rates @ steps, RARE)
            rates = rates / rates.sum()
        return replace(self, series=series, rates=rates)

    def block(self, places: range) -> "ObservedSeries":
        """Some consecutive releases."""
        first, after = places[0], places[-1] + 1
        return replace(
            self, series=self.series[first:after], truth=self.truth[first:after], times=self.times[first:after]
        )


def base_rates(series: Sequence[Observation], values: int, *, changing: bool = False) -> Floats:
    """Share of each value in all releases, less known counterfeits.

    All alike where groups were made by value, unless values are `changing` and true totals known.
    """
    told = changing and all(len(seen.counterfeits) for seen in series)
    if made_by_value(series) and not told:
        return np.full(values, 1.0 / values)
    counts = np.zeros(values)
    for seen in series:
        counts += np.bincount(seen.cell_value, seen.likely_count, values)
        counts[: len(seen.counterfeits)] -= seen.counterfeits
    rates = np.maximum(counts / counts.sum(), RARE)
    return np.asarray(rates / rates.sum())


def _sharing(series: Sequence[Observation], rates: Floats) -> list[Observation]:
    """The same releases, with these shares of values among counterfeits and strangers."""
    return [replace(seen, shares=rates) for seen in series]


def update_model(
    schema: Schema, seen: ObservedSeries, progress: Callable[[float], None] = lambda _: None
) -> ModelChoice:
    """The best that is known of how these values change."""
    size = len(seen.names)
    if schema.updates:
        model = read_updates(schema, seen.names)
        if model.fixed:
            return ModelChoice(Model(size), "none" if schema.values_stay else "schema", said=True)
        steps = model.chance[:size, :size]
        return ModelChoice(
            Model(size, steps / np.maximum(steps.sum(axis=1, keepdims=True), 1e-300)), "schema", said=True
        )
    counts = _counted(_by_date(seen.truth, seen.times), size)
    if counts is not None:
        still = counts.sum() == np.trace(counts)
        return ModelChoice(Model(size) if still else Model(size, smoothed(counts)), "tables")
    if seen.holder is not None and seen.holder.people and size <= _WIDEST and not stays_by_method(schema):
        return ModelChoice(Model(size, seen.holder.steps()), "tables")
    if not learnable(schema, seen) or (seen.steps is None and _stay(seen, size)):
        return ModelChoice(Model(size), "none", said=stays_by_method(schema))
    return learned(seen, progress)


def learnable(schema: Schema, seen: ObservedSeries) -> bool:
    """Whether nobody says how values change, and it can be learned from the releases."""
    said = bool(schema.updates) or stays_by_method(schema)
    return not said and 1 < len(seen.names) <= _WIDEST and len(seen.series) > 1


def stays_by_method(schema: Schema) -> bool:
    """Whether the policy's method is one for values that stay, which makes its groups by them."""
    return keeps_values(schema.policy.get("method"))


def keeps_values(method: Any) -> bool:
    """Whether a method, by name, leads people through groups of the same values."""
    found = look_up(method)
    return found is not None and Trait.CONSTANT_VALUES in found.traits


def grown(steps: Floats, values: int) -> Floats:
    """The same with room for values that are new: they stay, as often as others do."""
    known = len(steps)
    if known >= values:
        return steps
    wide = staying(np.full(values, 1 / values), 1 - float(np.mean(np.diag(steps))))
    wide[:known] *= 1 / values
    wide[:known, :known] += steps * (1 - 1 / values)
    return np.asarray(wide / wide.sum(axis=1, keepdims=True))


def learned(seen: ObservedSeries, progress: Callable[[float], None] = lambda _: None) -> ModelChoice:
    """From the releases: on from what was learned before, or from the beginning."""
    size = len(seen.names)
    releases = [states_of(one, size) for one in seen.series]
    first = None if seen.steps is None else grown(seen.steps, size)
    steps = learn_steps(releases, seen.rates, first=first, times=seen.times, progress=progress)
    return ModelChoice(Model(size, steps), "releases")


def _stay(seen: ObservedSeries, size: int) -> bool:
    """Whether the releases allow that values stay."""
    most = _RULED_OUT * len(people_in(seen.series))
    found = propagate(seen.series, model := Model(size), seen.times, most=most)
    if len(found.contradicted) > most:
        return False
    return scale(Chains.of(found.releases, model, seen.times)).elsewhere <= _ELSEWHERE


def _by_date(truth: Sequence[Ints | None], times: Sequence[int]) -> list[Ints | None]:
    """One of the true tables of each date: several tables of counts are of the same people."""
    return [one for place, one in enumerate(truth) if not place or times[place] != times[place - 1]]


def _counted(truth: Sequence[Ints | None], values: int) -> Floats | None:
    """How often each value became which from one release to the next, by the true tables; None if one is missing."""
    tables = [one for one in truth if one is not None]
    if len(tables) < len(truth) or len(tables) < 2:
        return None
    counts = np.zeros((values, values))
    for before, after in pairwise(tables):
        both = (before >= 0) & (after >= 0)
        np.add.at(counts, (before[both], after[both]), 1.0)
    return counts


# --- whether it can be true ------------------------------------------------------------------------------------------


def misfits(posterior: Posterior, series: Sequence[Observation]) -> bool:
    """Whether no world shows the published counts."""
    records = sum(int(seen.likely_count.sum()) for seen in series)
    return records >= _RECORDS and (posterior.fit.elsewhere > _ELSEWHERE or _astray(posterior, series) > _RULED_OUT)


def check_fit(posterior: Posterior, series: Sequence[Observation], chosen: ModelChoice) -> None:
    """Stop where no world shows the published counts: what was said about how values change is then not so."""
    if not chosen.said or not misfits(posterior, series):
        return
    said = "what `[updates]` of the schema says" if chosen.source == "schema" else "that values stay"
    astray = _astray(posterior, series)
    how = (
        f"{posterior.fit.elsewhere:.1%} of the records would have to be elsewhere"
        if astray <= _RULED_OUT
        else f"{astray:.1%} of the people would have changed in a way that it rules out"
    )
    raise CannotRunError(
        f"{said} contradicts these releases: {how}. Say in `[updates]` what can happen, or leave it out, and how "
        "values change is learned (in a ledger: `reissue ledger amend`). If a table of people was given, see whether "
        "it is of these releases: one that lacks people, or names others, contradicts them too."
    )


def _astray(posterior: Posterior, series: Sequence[Observation]) -> float:
    """The share of people whose groups contradict each other."""
    return len(posterior.contradicted) / max(len(people_in(series)), 1)
