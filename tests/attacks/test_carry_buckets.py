"""Whole buckets carried on, against what they are made of."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reissue.attacks import Knowledge, Series
from reissue.papers.equivalence.attack import add, see
from reissue.papers.equivalence.buckets import BucketPresence, Found, kinds_of, look
from reissue.schema import Schema
from tests.attacks.carrying import assert_every_beginning
from tests.effort import examples
from tests.methods.streams import SCHEMA, publish, stream

PLAIN = Schema.of_columns(quasi=["q", "r"], sensitive=["s"], identifier="id")
SEEDS = st.integers(0, 10**6)


@given(SEEDS)
@examples(60)
def test_all_groups_can_be_made_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = rng.integers(-(2**62), 2**62, 4)
    stays, people, expected = BucketPresence.none(), 0, []
    ever: list[set[int]] = [set() for _ in shapes]
    for release in range(1, int(rng.integers(2, 12))):
        used = rng.permutation(4)[: int(rng.integers(1, 5))]
        people = max(people, int(rng.integers(1, 12)))
        # Nobody is skipped: people are numbered when they come.
        here = np.union1d(rng.integers(0, people, people), np.arange(len(stays.bucket), people))
        group = rng.integers(0, len(used), len(here))
        kept = np.unique(group)
        stays, newest = stays.after(here, np.searchsorted(kept, group), shapes[used[kept]], people)
        members = {int(shapes[used[g]]): set(here[group == g].tolist()) for g in kept}
        expected += [(shape, frozenset(some)) for shape, some in members.items()]
        for number, shape in enumerate(stays.shapes.tolist()):
            there, before = members.get(shape, set()), ever[shapes.tolist().index(shape)]
            assert newest.there[number] == (shape in members)
            assert newest.arrived[number] == len(there - before)
            before |= there
        assert stays.releases == release
    groups = stays.groups()
    kinds = {
        (shape, size): int(kinds_of(np.array([shape]), np.array([size]))[0]) for shape in shapes for size in range(12)
    }
    found = [frozenset(part.tolist()) for part in np.split(groups.member, groups.starts[1:-1])]
    mine = sorted((kinds[shape, len(some)], sorted(some)) for shape, some in expected)
    assert sorted(zip(groups.kind.tolist(), map(sorted, found), strict=True)) == mine


@given(SEEDS, st.integers(2, 4), st.integers(1, 4))
@examples(40)
def test_a_limit_that_falls_or_rises(seed: int, first: int, then: int) -> None:
    frames = stream(seed, releases=6, size=18, values=3, returns=seed % 2 == 0)
    releases = [
        *publish(frames[:3], "equivalence", "simple-l=2", e=first),
        *publish(frames[3:], "equivalence", "simple-l=2", e=then),
    ]
    assert_every_beginning(releases, SCHEMA, {})


@given(SEEDS, st.sampled_from([{"equivalence": 1}, {"equivalence": 3}, {}]))
@examples(60)
def test_people_who_change_their_bucket(seed: int, limits: dict[str, float]) -> None:
    """Without a limit given it falls from 3 to 2 when buckets of two values come."""
    assert_every_beginning(_moving(seed), PLAIN, limits)


def test_groups_are_kept_only_once_something_is_shown() -> None:
    states = []
    for seed in (0, 2):
        state = None
        for number, frame in enumerate(_moving(seed), start=1):
            newest = Series.read([frame], PLAIN, limits={"equivalence": 1})
            series = Series(newest.releases, PLAIN, limits={"equivalence": 1}, numbers=(number,))
            (seen,) = see(series, Knowledge())
            state = add(state, seen)
        assert state is not None
        assert state.evidence is not None
        states.append(state.evidence)
    assert [state.pairs is not None for state in states] == [True, False]


def test_what_could_not_be_told_is_asked_again() -> None:
    stays, newest = BucketPresence.none().after(np.arange(6), np.zeros(6, np.int64), np.array([5]), 6)
    doubt = Found(np.array([2]), np.array([0]), np.array([-1]))
    assert not doubt.exact
    found, _ = look(doubt, stays, newest, 2)
    assert found.exact
    assert not len(found.e)


def _moving(seed: int) -> list[pl.DataFrame]:
    """Whole buckets of three, later two values, each as often; now and then somebody stands in another one."""
    rng = np.random.default_rng(seed)
    buckets = [["v0", "v1"], ["v0", "v1", "v2"], ["v1", "v2"]]
    home = rng.integers(0, 3, 30)
    frames = []
    for release in range(int(rng.integers(3, 8))):
        there = np.flatnonzero(rng.random(30) < rng.uniform(0.5, 1))
        where = np.where(rng.random(30) < 0.1, rng.integers(0, 3, 30), home)
        rows = []
        for number, values in enumerate(buckets):
            if release < 2 and len(values) == 2:
                continue
            own = there[where[there] == number]
            own = own[: len(own) // len(values) * len(values)]
            rows += [(int(p), f"b{number}", values[turn % len(values)]) for turn, p in enumerate(own)]
        rows = rows or [(0, "b1", "v0"), (1, "b1", "v1"), (2, "b1", "v2")]
        frames.append(pl.DataFrame(rows, schema=["id", "q", "s"], orient="row").with_columns(r=pl.lit("*")))
    return frames
