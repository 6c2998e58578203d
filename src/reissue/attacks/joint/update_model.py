"""How values change: as the schema says, else as the holder's tables show, else as the releases let one learn.

At a gate, which keeps nobody's true values, the holder's tables show it by sums over people (`holder_steps`). Without
the schema's word and without any of the true tables values are taken to stay as long as the releases allow it. They
do not where people's groups contradict each other, or where no way to give everyone one value shows the published
counts. Then it is learned from them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.base_rates import base_rates, expecting, expecting_the_rest, in_the_long_run
from reissue.attacks.joint.solving.beliefs import Beliefs
from reissue.counting.segments import different
from reissue.errors import CannotRunError
from reissue.methods.registry import known
from reissue.schema import Schema
from reissue.solver.elimination import narrow
from reissue.solver.iterative_scaling import Chains, Scaling, misfit, scale
from reissue.solver.learning.holder_steps import Moments
from reissue.solver.learning.learned_steps import Learning, learn_steps, smoothed, staying
from reissue.solver.observations import Observation, layer_of, people_in
from reissue.solver.transitions import Model
from reissue.updates import read_updates

__all__ = [
    "Chosen",
    "Learnable",
    "check_fit",
    "grown",
    "keeps_values",
    "learnable",
    "learned",
    "misfits",
    "stays_by_method",
    "update_model",
]

_CONTRADICTED = 0.01
"""The share of people whose groups may contradict each other where values stay: records linked wrongly."""
_MISFIT = 0.03
"""The share of records that may be expected elsewhere where values stay; measured: 0.02 or less, else far more."""
_SWEEPS = 20
_WIDEST = 256
"""Values, at most, whose changes are learned: a matrix of all pairs."""
_REFINED = Learning(rows=2)
_ELSEWHERE = 0.015
"""The share of records that may be left unexplained; measured: below 0.005, and 0.019 to 0.17 where values change."""
_RULED_OUT = 0.05
"""The share of people who may have changed in a way that is ruled out: records that were linked wrongly are fewer."""
_RECORDS = 200
"""In fewer records a single person who is linked wrongly could be as much."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """An update model, and where it comes from."""

    model: Model
    source: str
    """"schema", "tables" (the holder's own), "releases" (learned), or "none" (values stay)."""
    said: bool = False
    """Whether somebody said so, whatever the releases show: the schema, or the choice of a method."""


@dataclass(frozen=True, eq=False)
class Learnable:
    """What is there to learn from."""

    series: Sequence[Observation]
    names: Sequence[str | None]
    truth: Sequence[Ints | None]
    """As SeriesPresences has it."""
    rates: Floats
    """Value to how likely it is for newcomers."""
    times: Sequence[int] | None = None
    steps: Floats | None = None
    """What was learned from the releases before."""
    holder: Moments | None = None
    """What the holder's tables say of it, where the truth of older releases is not kept."""

    @classmethod
    def of(
        cls,
        series: Sequence[Observation],
        names: Sequence[str | None],
        truth: Sequence[Ints | None],
        times: Sequence[int] | None = None,
        steps: Floats | None = None,
    ) -> "Learnable":
        """With what is expected of people before it is known how their values change."""
        rates = base_rates(series, len(names))
        return cls(expecting(series, rates), names, truth, rates, times, steps)

    def where(self, chosen: Chosen) -> "Learnable":
        """With what is expected of people whose values change so."""
        model = chosen.model
        # What was learned from these releases says nothing that they do not say.
        common = None if chosen.source == "releases" else in_the_long_run(self.series, model)
        if common is not None:
            return replace(self, series=expecting_the_rest(self.series, common), rates=common)
        rates = base_rates(self.series, len(self.names), changing=model.steps is not None)
        return replace(self, series=expecting(self.series, rates), rates=rates)


def update_model(schema: Schema, seen: Learnable, progress: Callable[[float], None] = lambda _: None) -> Chosen:
    """The best that is known of how these values change."""
    size = len(seen.names)
    if schema.updates:
        model = read_updates(schema, seen.names)
        if model.fixed:
            return Chosen(Model(size), "none" if schema.values_stay else "schema", said=True)
        steps = model.chance[:size, :size]
        return Chosen(Model(size, steps / np.maximum(steps.sum(axis=1, keepdims=True), 1e-300)), "schema", said=True)
    counts = _counted(seen.truth, size)
    if counts is not None:
        still = counts.sum() == np.trace(counts)
        return Chosen(Model(size) if still else Model(size, smoothed(counts)), "tables")
    if seen.holder is not None and seen.holder.people and size <= _WIDEST and not stays_by_method(schema):
        return Chosen(Model(size, seen.holder.steps()), "tables")
    if not learnable(schema, seen) or (seen.steps is None and _stay(seen, size)):
        return Chosen(Model(size), "none", said=stays_by_method(schema))
    return learned(seen, progress)


def learnable(schema: Schema, seen: Learnable) -> bool:
    """Whether nobody says how values change, and it can be learned from the releases."""
    said = bool(schema.updates) or stays_by_method(schema)
    return not said and 1 < len(seen.names) <= _WIDEST and len(seen.series) > 1


def stays_by_method(schema: Schema) -> bool:
    """Whether the policy's method is one for values that stay, which makes its groups by them."""
    return keeps_values(schema.policy.get("method"))


def keeps_values(method: Any) -> bool:
    """Whether a method, by name, leads people through groups of the same values."""
    found = known(method)
    return found is not None and found.refuses_changes


def grown(steps: Floats, values: int) -> Floats:
    """The same with room for values that are new: they stay, as often as others do."""
    known = len(steps)
    if known >= values:
        return steps
    wide = staying(np.full(values, 1 / values), 1 - float(np.mean(np.diag(steps))))
    wide[:known] *= 1 / values
    wide[:known, :known] += steps * (1 - 1 / values)
    return np.asarray(wide / wide.sum(axis=1, keepdims=True))


def learned(seen: Learnable, progress: Callable[[float], None] = lambda _: None) -> Chosen:
    """From the releases: on from what was learned before, or from the beginning."""
    size = len(seen.names)
    layers = [layer_of(one, size) for one in seen.series]
    first = None if seen.steps is None else grown(seen.steps, size)
    how = Learning() if first is None else _REFINED
    steps = learn_steps(layers, seen.rates, how, first=first, times=seen.times, progress=progress)
    return Chosen(Model(size, steps), "releases")


def _stay(seen: Learnable, size: int) -> bool:
    """Whether the releases allow that values stay."""
    model = Model(size)
    people = len(different(np.concatenate([one.people for one in seen.series])))
    narrowed = narrow(seen.series, model, seen.times, most=_CONTRADICTED * people)
    if len(narrowed.contradicted) > _CONTRADICTED * people:
        return False
    chains = Chains.of(narrowed.layers, model, times=seen.times)
    return misfit(chains, scale(chains, Scaling(sweeps=_SWEEPS))) <= _MISFIT


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


def misfits(beliefs: Beliefs, series: Sequence[Observation]) -> bool:
    """Whether no world shows the published counts."""
    records = sum(int(seen.slot_count.sum()) for seen in series)
    return records >= _RECORDS and (beliefs.scaled.elsewhere > _ELSEWHERE or _astray(beliefs, series) > _RULED_OUT)


def check_fit(beliefs: Beliefs, series: Sequence[Observation], chosen: Chosen) -> None:
    """Stop where no world shows the published counts: what was said about how values change is then not so."""
    if not chosen.said or not misfits(beliefs, series):
        return
    said = "what `[updates]` of the schema says" if chosen.source == "schema" else "that values stay"
    astray = _astray(beliefs, series)
    how = (
        f"{beliefs.scaled.elsewhere:.1%} of the records would have to be elsewhere"
        if astray <= _RULED_OUT
        else f"{astray:.1%} of the people would have changed in a way that it rules out"
    )
    raise CannotRunError(
        f"{said} contradicts these releases: {how}. Say in `[updates]` what can happen, or leave it out, and how "
        "values change is learned (in a ledger: `reissue ledger amend`). If a table of people was given, see whether "
        "it is of these releases: one that lacks people, or names others, contradicts them too."
    )


def _astray(beliefs: Beliefs, series: Sequence[Observation]) -> float:
    """The share of people whose groups contradict each other."""
    return len(beliefs.contradicted) / max(len(people_in(series)), 1)
