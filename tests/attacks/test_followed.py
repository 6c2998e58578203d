"""Pasts carried on release by release against everybody's whole history; and how little of it is kept."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats, Ints
from reissue.papers.tracking.belief_tracker import BeliefTracker
from reissue.papers.tracking.forward_backward import PresenceHistory, ValueDistributions, presence_blocks
from reissue.papers.tracking.trajectory_tracker import (
    CERTAIN,
    IMPOSSIBLE,
    KnownPast,
    PersonTracker,
    Trajectories,
    TrajectoryTracker,
    begun,
)
from reissue.release.states import pack_state, unpack_state
from reissue.schema import Schema
from reissue.updates import UpdateModel, fingerprint_of, read_updates
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


def whole(table: Ints, shown: ValueDistributions, model: UpdateModel) -> dict[int, tuple[float, int]]:
    """Person to its largest posterior, and what is certain or impossible, of all releases at once."""
    certainty = {}
    for block in presence_blocks(PresenceHistory.of(table), shown, model):
        left = (block.posterior > 0).sum(axis=2)
        for number, row in enumerate(block.rows.tolist()):
            flags = CERTAIN * bool((left[number] == 1).any()) + IMPOSSIBLE * bool((left[number] == 0).any())
            certainty[row] = (float(block.posterior[number].max()), flags)
    return certainty


@dataclass(frozen=True)
class Kept:
    """A state as a ledger keeps it."""

    VERSION: ClassVar[int] = 1

    tracker: BeliefTracker | TrajectoryTracker


def carried(first: Any, table: Ints, shown: ValueDistributions, model: UpdateModel) -> PersonTracker:
    """Release by release; what is kept goes through bytes every time."""
    past: PersonTracker = first
    people = 1000 + 7 * np.arange(len(table))
    for release in range(table.shape[1]):
        there = np.random.default_rng(release).permutation(np.flatnonzero(table[:, release] >= 0))
        kept, at = past.shown.joined(shown)
        where = at[table[there, release]]
        view: KnownPast = past.look(people[there], release)
        judged = past.judged(view, where, kept.places, model)
        expected = whole(table[there, : release + 1], shown, model)
        assert judged.largest == pytest.approx([expected[row][0] for row in range(len(there))], abs=1e-9)
        assert judged.certainty.tolist() == [expected[row][1] for row in range(len(there))]
        again = unpack_state(Kept, pack_state(Kept(past.after(people[there], release, where, kept, judged, model))))
        assert again is not None
        past = again.tracker
    return past


@given(
    SEEDS,
    st.sampled_from(["none", "branches", "order", "random", "faint", "moving"]),
    st.integers(1, 7),
    st.sampled_from([BeliefTracker, TrajectoryTracker]),
)
@examples(150)
def test_followed_tell_what_whole_histories_tell(seed: int, kind: str, releases: int, sort: Any) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    model = model_of(kind, size, rng)
    shares = rng.integers(0, 3, (8, size)).astype(np.float64)
    shares[:, 0] += shares.sum(axis=1) == 0
    shown = places_of(shares / shares.sum(axis=1, keepdims=True))
    table = rng.integers(-1 if rng.random() < 0.5 else -6, 8, (9, releases)).clip(-1)
    past = carried(sort.none(), table, shown, model)
    there = np.flatnonzero((table >= 0).any(axis=1))
    expected = whole(table[there], shown, model)
    largest, certainty = past.everyone
    assert sorted(largest) == pytest.approx(sorted(one for one, _ in expected.values()), abs=1e-9)
    assert sorted(certainty.tolist()) == sorted(flags for _, flags in expected.values())


@pytest.mark.parametrize("sort", [BeliefTracker, TrajectoryTracker])
def test_a_release_without_anybody(sort: Any) -> None:
    model = model_of("random", 3, np.random.default_rng(1))
    past = carried(sort.none(), np.array([[-1, 0, -1, 1], [-1, 1, -1, -1]]), places_of(np.full((2, 3), 1 / 3)), model)
    assert len(past.everyone[0]) == 2


@pytest.mark.parametrize("kind", ["branches", "order", "random"])
def test_little_is_kept_of_a_long_past(kind: str) -> None:
    """Doubts stay few, and so do shapes where people's releases look alike; nobody's releases are counted."""
    rng = np.random.default_rng(5)
    size, people = 12, 300
    model = model_of(kind, size, rng)
    shares = np.zeros((60, size))
    for row in shares:
        row[rng.choice(size, 4, replace=False)] = 0.25
    table = rng.integers(0, len(shares), (people, 60))
    past = carried(BeliefTracker.none(), table, places_of(shares), model)
    assert isinstance(past, BeliefTracker)
    assert past.shapes.complements.max() <= 16
    assert past.shapes.complements.mean() < 8
    assert len(past.shapes.keys) <= people


def test_shapes_are_kept_once() -> None:
    """Two people whose releases look alike, with other values, share a shape; who leaves keeps it for nobody else."""
    model = UpdateModel.in_branches(list("abcdef"), np.array([0, 0, 1, 1, 2, 2]))
    shares = np.zeros((3, 6))
    shares[0, [0, 2]] = shares[1, [1, 3]] = shares[2, [4, 2]] = 0.5
    past = carried(BeliefTracker.none(), np.array([[0, 1], [1, 0], [2, -1]]), places_of(shares), model)
    assert isinstance(past, BeliefTracker)
    assert (len(past.here.people), len(past.gone.people)) == (2, 1)
    assert len(set(past.here.shape.tolist())) == 1
    assert len(past.shapes.keys) == 1  # who was there once knows no more than who was there twice


@given(SEEDS)
def test_trails_keep_everybodys_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-3, 4, (8, int(rng.integers(1, 9)))).clip(-1)
    people, trails = 50 + 3 * np.arange(8), Trajectories.none()
    for release in range(table.shape[1]):
        there = rng.permutation(np.flatnonzero(table[:, release] >= 0))
        trails = trails.after(people[there], release, table[there, release])
        assert len(trails.place) <= 2 * int(trails.versions.sum())
    past, expected = trails.past(people), PresenceHistory.of(table)
    assert past.starts.tolist() == expected.starts.tolist()
    assert past.release.tolist() == expected.release.tolist()
    assert past.place.tolist() == expected.place.tolist()


# --- which of both ---------------------------------------------------------------------------------------------------

COLUMNS = '[columns]\nid = "identifier"\nq = "quasi"\ns = "sensitive"\n'


@pytest.mark.parametrize(
    ("updates", "names", "sort"),
    [
        ('[updates]\norder = ["1", "2", "3"]\n', ["2", "1", "9"], BeliefTracker),
        ("[updates]\norder = true\n", ["2", "1", "9"], TrajectoryTracker),
        ('[taxonomy.s]\ntree = { a = ["1", "2"], b = ["3"] }\n[updates]\ntaxonomy = 1\n', ["3", "1"], BeliefTracker),
        (
            '[taxonomy.s]\ntree = { a = ["1"] }\nunlisted = "root"\n[updates]\ntaxonomy = 1\n',
            ["3", "1"],
            TrajectoryTracker,
        ),
        ("[taxonomy.s]\nranges = [10]\n[updates]\ntaxonomy = 1\n", ["3", "11"], TrajectoryTracker),
    ],
)
def test_models_that_new_values_change_need_trails(updates: str, names: list[str], sort: type) -> None:
    schema = Schema.loads(COLUMNS + updates)
    assert isinstance(begun(schema, read_updates(schema, names), 3), sort)
    assert isinstance(begun(schema, read_updates(schema, names), 17), TrajectoryTracker)


def test_marks_tell_models_apart_whatever_the_order() -> None:
    one = UpdateModel.in_branches(["a", "b", "c"], np.array([0, 0, 1]))
    assert (
        fingerprint_of(one) == fingerprint_of(one.aligned(["c", "b", "a"])) == fingerprint_of(one.aligned(["new", "a"]))
    )
    assert fingerprint_of(one) != fingerprint_of(UpdateModel.in_branches(["a", "b", "c"], np.array([1, 0, 0])))
    assert fingerprint_of(one) != fingerprint_of(UpdateModel.in_branches(["a", "b", "c", "d"], np.array([0, 0, 1, 0])))
    assert fingerprint_of(UpdateModel.none(["a"])) == fingerprint_of(UpdateModel.none(["b", "c"])) == ""
