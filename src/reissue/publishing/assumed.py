"""What adversaries of a series of randomized values are assumed to know, and the mechanism that follows from it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats
from reissue.data.table import Table
from reissue.errors import InputError
from reissue.protection import CERTAIN, Protection, average_of
from reissue.publishing.drawn_states import ValuesState
from reissue.publishing.value_lists import names_of
from reissue.randomization import ALIKE, DEPARTURES, RandomizedSettings, by_text
from reissue.randomized import Adversary, Mechanism, ProtectedEvents, mechanism, noise_of, shares_of
from reissue.randomized.adversaries import normalized
from reissue.schema import Schema

__all__ = [
    "adversaries_of",
    "assumed_changes",
    "capped",
    "events_of",
    "how_drawn",
    "mechanism_for",
    "protected_events",
    "with_priors",
]

_BY_PROGRAM = 40
"""Up to so many values, first matrices are found by linear program; beyond, in closed form."""
_STEPS = 5
"""Halvings of the limit's way to the average."""


def assumed_changes(state: ValuesState, settings: RandomizedSettings) -> Floats:
    """Without an update model, for each assumed share of changes: people change to values as common as among all."""
    shares = _prior_shares(settings, state.values)
    shares = shares_of(state.residents.sum(0, keepdims=True))[0] if shares is None else shares
    return np.stack([(1 - moved) * np.eye(len(shares)) + moved * shares for moved in settings.changes])


def mechanism_for(
    adversaries: list[Adversary], table: Table, settings: RandomizedSettings, values: pl.DataFrame
) -> tuple[Mechanism, float]:
    """The most truthful mechanism within the limits, and within the policy's `average` where it has one; and its limit.

    For that the limits are lowered until so many guesses are right on average after a first publication: at most to
    the average itself, with which nobody is guessed better. Two standard errors of a share are left for chance.
    """
    events, how = events_of(table.schema, settings, values), how_drawn(settings, values.height)
    made, average = mechanism(adversaries, events, **how), average_of(table.schema.policy)
    cap = float(events.limit.max())
    if average is None:
        return made, cap
    aim = average - 1 / np.sqrt(table.rows)
    for step in range(_STEPS):
        if cap <= average or _guessed(adversaries, made) <= aim:
            break
        cap = average if step + 1 == _STEPS else (average + cap) / 2
        made = mechanism(adversaries, capped(events, cap), **how)
    return made, cap


def capped(events: ProtectedEvents, cap: float) -> ProtectedEvents:
    """The same events with no limit above `cap`."""
    return replace(events, limit=np.minimum(events.limit, cap))


def _guessed(adversaries: Sequence[Adversary], made: Mechanism) -> float:
    """How many guesses are right on average after a first publication, for the adversary who knows most."""
    joint = [(one.prior[:, :, np.newaxis] * made.first).max(1).sum(1).mean() for one in adversaries]
    return float(max(joint))


def how_drawn(settings: RandomizedSettings, size: int) -> dict[str, Any]:
    """How a mechanism for so many values is made."""
    first = "program" if size <= _BY_PROGRAM else "closed form"
    return {"first": first, "odds": settings.odds, "redraw": settings.redraw}


def _prior_shares(settings: RandomizedSettings, values: pl.DataFrame) -> Floats | None:
    """Shares from elsewhere, if the policy gives them."""
    if settings.shares is None:
        return None
    found = np.array(by_text(settings.shares, names_of(values), 0.0))
    if not found.sum() > 0:
        raise InputError("[policy.randomized] `shares` has a share above 0 for none of the values of this table.")
    return np.asarray((found + 1e-6) / (found + 1e-6).sum(), np.float64)


def _departures(settings: RandomizedSettings, values: pl.DataFrame) -> Floats | None:
    if settings.departures is None:
        return None
    listed = settings.departures
    return np.array(by_text(listed, names_of(values), float(np.mean(list(listed.values())))), np.float64)


def adversaries_of(state: ValuesState, settings: RandomizedSettings, release: int) -> list[Adversary]:
    """The adversaries of the policy, from noisy counts, of newcomers from the second release on.

    As many people with a value come as leave, or the register would not be what it is: where newcomers are few, their
    shares are those of residents times departure rates.
    """
    shares = _prior_shares(settings, state.values)
    if shares is not None:
        every = np.repeat(shares[np.newaxis], len(state.residents), axis=0)
        return with_priors(state, settings, [every] * len(settings.against) * len(state.change))
    bases: tuple[Floats | None, Floats | None] = (None, None)
    counts = state.residents
    if release:
        leave = _departures(settings, state.values)
        leave = np.ones(state.values.height) if leave is None else leave + 1e-9
        residents = state.residents
        bases = (
            normalized(shares_of(residents.sum(0, keepdims=True)) * leave),
            normalized(shares_of(residents) * leave),
        )
        counts = state.newcomers
    noise = noise_of(settings.epsilon) * max(release, 1)
    pooled = shares_of(counts.sum(0, keepdims=True), bases[0], noise=noise * len(counts))
    alike, by_class = np.repeat(pooled, len(counts), axis=0), shares_of(counts, bases[1], noise=noise)
    own = [alike if name == ALIKE else by_class for name in settings.against]
    return with_priors(state, settings, own * len(state.change))


def with_priors(state: ValuesState, settings: RandomizedSettings, priors: Sequence[Floats]) -> list[Adversary]:
    """The adversaries of the policy, with these priors: one of each kind for every way in which values may change."""
    departs = _departures(settings, state.values)
    known = [
        (name, departs if name == DEPARTURES else None, change) for change in state.change for name in settings.against
    ]
    return [Adversary(name, prior, change, own) for (name, own, change), prior in zip(known, priors, strict=True)]


def events_of(schema: Schema, settings: RandomizedSettings, values: pl.DataFrame) -> ProtectedEvents:
    """What nobody may be too sure of: the protected values of each column, and of all columns together."""
    return protected_events(schema, values, settings.margin)


def protected_events(schema: Schema, values: pl.DataFrame, margin: float = 1.0) -> ProtectedEvents:
    """The protected values of each column, and of all columns together, with the limits of the schema's policy."""
    protection = Protection.of(schema.policy, schema.sensitive)
    member, limit = [], []
    for view in protection.views(names_of(values)):
        for label in np.flatnonzero(view.limit < 1 - CERTAIN):
            member.append(view.label == label)
            limit.append(view.limit[label])
    if not member:
        raise InputError(
            "The policy protects no value: its limit is 1, or all values are harmless. Then values need not be "
            'randomized: leave  values = "randomized"  out.'
        )
    return ProtectedEvents(np.array(member), np.array(limit), protection.gain, margin)
