"""Pasts that m-Distinct carries on release by release, through bytes, against everybody's whole history."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats, Ints
from reissue.papers.distinct.past import PlacesSoFar, largest_posteriors, some_of, with_place
from reissue.papers.tracking.forward_backward import PresenceHistory, ValueDistributions, presence_blocks, together
from reissue.release.states import pack_state, unpack_state
from reissue.updates import UpdateModel
from tests.effort import examples

SEEDS = st.integers(0, 10**6)


def model_of(kind: str, size: int, rng: np.random.Generator) -> UpdateModel:
    names = [str(value) for value in range(size)]
    chance = rng.random((size, size)) ** 3 * (rng.random((size, size)) < 0.6) + np.eye(size) * 0.1
    if kind == "faint":  # What is hardly possible is possible.
        chance = np.where(chance > 0.3, chance, chance * 1e-30)
    if kind == "moving":  # A value that nothing becomes, not even itself.
        chance = np.zeros((size, size))
        chance[:, 1:] = 1.0
    return {
        "none": UpdateModel.none(names),
        "branches": UpdateModel.in_branches(names, rng.integers(0, 3, size)),
        "order": UpdateModel.never_lower(names),
    }.get(kind) or UpdateModel(tuple(names), chance / chance.sum(axis=1, keepdims=True))


def places_of(shares: Floats) -> ValueDistributions:
    place, value = np.nonzero(shares)
    return ValueDistributions.of(place, value, shares[place, value], len(shares))


def whole(table: Ints, shown: ValueDistributions, model: UpdateModel) -> list[float]:
    """Everybody's largest posterior, of all releases at once."""
    largest = np.zeros(len(table))
    for block in presence_blocks(PresenceHistory.of(table), shown, model):
        largest[block.rows] = block.posterior.max(axis=(1, 2))
    return [float(one) for one in largest]


@dataclass(frozen=True)
class Kept:
    """A state as a ledger keeps it."""

    VERSION: ClassVar[int] = 1

    past: PlacesSoFar


@given(SEEDS, st.sampled_from(["none", "branches", "order", "random", "faint", "moving"]), st.integers(1, 7))
@examples(100)
def test_pasts_tell_what_whole_histories_tell(seed: int, kind: str, releases: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    model = model_of(kind, size, rng)
    shares = rng.integers(0, 3, (8, size)).astype(np.float64)
    shares[:, 0] += shares.sum(axis=1) == 0
    shown = places_of(shares / shares.sum(axis=1, keepdims=True))
    table = rng.integers(-1 if rng.random() < 0.5 else -6, 8, (9, releases)).clip(-1)
    past, people = PlacesSoFar.none(), 1000 + 7 * np.arange(len(table))
    for release in range(releases):
        there = rng.permutation(np.flatnonzero(table[:, release] >= 0))
        where, kept = len(past.shown.widths) + table[there, release], together(past.shown, shown)
        view = past.of(people[there])
        expected = whole(table[there, : release + 1], shown, model)
        assert largest_posteriors(with_place(view, release, where), kept, model) == pytest.approx(expected, abs=1e-9)
        twice = np.repeat(np.arange(len(there)), 2)
        again = largest_posteriors(with_place(some_of(view, twice), release, where[twice]), kept, model)
        assert again == pytest.approx(np.repeat(expected, 2), abs=1e-9)
        read = unpack_state(Kept, pack_state(Kept(past.after(people[there], release, where, kept))))
        assert read is not None
        past = read.past
