"""Forward-backward against path enumeration, and people who fit several groups."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats, Ints
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.papers.tracking.forward_backward import ValueDistributions, blocks, histories
from reissue.papers.tracking.membership import link_people
from reissue.published.series import Series
from reissue.publishing.attack import attack
from reissue.schema import Schema
from reissue.updates import UpdateModel
from tests.effort import examples


def by_paths(history: Ints, shares: Floats, model: UpdateModel) -> dict[int, Floats]:
    """Release to the posterior of every value: every path of the update graph, one by one (equations 1 and 2)."""
    present = [release for release, place in enumerate(history) if place >= 0]
    through = {release: np.zeros(shares.shape[1]) for release in present}
    for path in itertools.product(range(shares.shape[1]), repeat=len(present)):
        weight = np.prod([shares[history[release], value] for release, value in zip(present, path, strict=True)])
        for (r, a), (s, b) in itertools.pairwise(zip(present, path, strict=True)):
            weight *= model.steps(s - r)[a, b]
        for release, value in zip(present, path, strict=True):
            through[release][value] += weight
    return {release: found / (found.sum() or 1) for release, found in through.items()}


def compared(shares: Floats, table: Ints, model: UpdateModel) -> None:
    place, value = np.nonzero(shares)
    shown = ValueDistributions.of(place, value, shares[place, value], len(shares))
    shared = histories(table)
    assert (shared.places[shared.of_person] == table).all()
    seen = set()
    for block in blocks(shared.places, shown, model):
        for number, row in enumerate(block.rows.tolist()):
            expected = by_paths(shared.places[row], shares, model)
            seen.add(row)
            assert block.release[number].tolist() == list(expected)
            for version, release in enumerate(block.release[number].tolist()):
                found = np.bincount(block.value[number, version], block.posterior[number, version], len(model.names))
                assert found == pytest.approx(expected[release], abs=1e-12)
                assert ((found > 0) == (expected[release] > 0)).all()
    assert len(seen) == len(shared.places)


@given(st.integers(0, 10**6), st.sampled_from(["none", "branches", "order", "random"]), st.integers(2, 4))
@examples(60)
def test_forward_backward_is_path_enumeration(seed: int, kind: str, releases: int) -> None:
    rng = np.random.default_rng(seed)
    size = 4
    names = [str(value) for value in range(size)]
    chance = rng.random((size, size)) * (rng.random((size, size)) < 0.6) + np.eye(size) * 0.1
    model = {
        "none": UpdateModel.none(names),
        "branches": UpdateModel.in_branches(names, rng.integers(0, 2, size)),
        "order": UpdateModel.never_lower(names),
        "random": UpdateModel(tuple(names), chance / chance.sum(axis=1, keepdims=True)),
    }[kind]
    shares = rng.integers(0, 3, (6, size)).astype(np.float64)
    shares[:, 0] += shares.sum(axis=1) == 0
    table = rng.integers(-1, 6, (7, releases))
    table[(table < 0).all(axis=1), 0] = 0
    compared(shares / shares.sum(axis=1, keepdims=True), table, model)


@pytest.mark.parametrize("uneven", [False, True])
def test_narrow_groups_among_many_values_take_the_compact_way(uneven: bool) -> None:
    rng = np.random.default_rng(3)
    size = 30
    model = UpdateModel.in_branches([str(value) for value in range(size)], np.arange(size) // 3)
    assert model.branches is not None
    if uneven:
        model = UpdateModel(model.names, model.chance * 0.9 + np.eye(size) * 0.1)
        assert model.branches is None
    shares = np.zeros((8, size))
    for row in shares:
        row[rng.choice(9, 2, replace=False)] = 0.5
    shares[7, :8] = 1 / 8  # wide for this size: the dense way
    table = np.array([[0, 1, 2], [3, -1, 4], [5, 6, 7], [7, 7, -1], [0, 1, 2], [-1, 2, -1]])
    compared(shares, table, model)


def test_the_counter_example_to_lemma_4() -> None:
    """2-Distinct* groups {a, b} twice: a's posterior is 2/3, not 1/2 (CUS(a) = {a}, CUS(b) = {b, c})."""
    model = UpdateModel.of_pairs(["b"], ["c"], None).aligned(["a", "b", "c"])
    shown = ValueDistributions.of(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), 1)
    (block,) = blocks(np.array([[0, 0]]), shown, model)
    for version in range(2):
        found = np.bincount(block.value[0, version], block.posterior[0, version], 3)
        assert found == pytest.approx([2 / 3, 1 / 3, 0])


def test_a_new_release_exposes_an_old_value() -> None:
    model = UpdateModel.never_lower(["low", "high"])
    shown = ValueDistributions.of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 1, 1]), 2)
    (block,) = blocks(np.array([[0, 1]]), shown, model)
    assert block.posterior[0, 0].tolist() == [1, 0]


SCHEMA = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")


def test_people_who_fit_several_groups_get_the_mixture() -> None:
    """Three records in [0, 4] and two in [3, 9]: who is 3 or 4 stands for all five."""
    release = pl.DataFrame({"q": ["[0, 4]"] * 3 + ["[3, 9]"] * 2, "s": ["a", "a", "b", "b", "c"]})
    people = pl.DataFrame({"id": [1, 2, 3], "q": [0, 3, 9]})
    linked = link_people(Series.read([release], SCHEMA), Knowledge(members=[people]))
    shares = linked.places.dense(linked.table[:, 0], 3)
    assert shares == pytest.approx(np.array([[2 / 3, 1 / 3, 0], [2 / 5, 2 / 5, 1 / 5], [0, 1 / 2, 1 / 2]]))


def test_mixtures_over_two_releases() -> None:
    first = pl.DataFrame({"q": ["[0, 4]"] * 2 + ["[3, 9]"] * 2, "s": ["a", "b", "b", "c"]})
    second = pl.DataFrame({"q": ["[0, 2]"] * 2 + ["[3, 9]"] * 2, "s": ["a", "c", "b", "d"]})
    people = pl.DataFrame({"id": [1, 2], "q": [1, 4]})
    finding = attack(
        [first, second], SCHEMA, only="updates", knowledge=Knowledge(members=[people, people]), limits={"updates": 0.9}
    )["updates"]
    # Person 1: {a, b} and {a, c}: a for sure. Person 2: {a, b, b, c} and {b, d}: b for sure.
    assert (finding.status, finding.people, finding.details["certains"]) == (Status.EXPOSED, 2, [2, 2])


def test_groups_that_contradict_the_model_are_counted_apart() -> None:
    schema = Schema(SCHEMA.columns, updates={"order": ["low", "high"]})
    one = pl.DataFrame({"id": [1, 2, 3, 4], "q": ["a", "a", "b", "b"], "s": ["high", "high", "low", "high"]})
    two = pl.DataFrame({"id": [1, 2, 3, 4], "q": ["a", "a", "b", "b"], "s": ["low", "low", "high", "low"]})
    finding = attack([one, two], schema, only="updates", limits={"updates": 0.9})["updates"]
    assert finding.details["impossible"] == 2
    assert finding.worst == pytest.approx(3 / 4)  # low-low 1/2, low-high 1/2, high-high 1
    assert attack([one.head(2), two.head(2)], schema, only="updates")["updates"].status == Status.NOT_RUN


def test_the_policy_sets_the_limit() -> None:
    frame = pl.DataFrame({"id": [1, 2], "q": ["a", "a"], "s": ["x", "y"]})
    for risk, status in ((0.4, Status.EXPOSED), (0.5, Status.WITHSTOOD)):
        schema = Schema(SCHEMA.columns, policy={"risk": risk})
        assert attack([frame], schema, only="updates")["updates"].status == status
