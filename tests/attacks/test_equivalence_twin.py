"""The equivalence attack finds, after every release, what its twin finds over all of them at once."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.papers.tracking.membership import membership
from reissue.published.series import Series
from reissue.schema import Schema
from tests.attacks.carrying import assert_at_hand, assert_every_beginning, random_groups
from tests.effort import examples
from tests.methods.streams import SCHEMA, publish, stream

PLAIN = Schema.of_columns(quasi=["q", "r"], sensitive=["s"], identifier="id")
SEEDS = st.integers(0, 10**6)


LIMITS = st.sampled_from([{}, {"equivalence": 1}, {"equivalence": 2}, {"equivalence": 4}])


@given(SEEDS, LIMITS, st.booleans())
@examples(80)
def test_groups_as_chance_has_them(seed: int, limits: dict[str, float], changing: bool) -> None:
    frames = random_groups(seed, people=int(6 + seed % 12), values=2, changing=changing and seed % 4 == 0)
    assert_every_beginning(frames, PLAIN, limits)


@given(SEEDS, LIMITS, st.booleans())
@examples(60)
def test_groups_of_all_values(seed: int, limits: dict[str, float], tidy: bool) -> None:
    """Every group shows the same values: whatever two groups share cancels out."""
    assert_every_beginning(_even_groups(seed, tidy=tidy), PLAIN, limits)


@pytest.mark.parametrize(
    ("method", "requirement", "options"),
    [
        ("invariance", "m-unique=2", {}),
        ("equivalence", "simple-l=2", {"e": 2}),
        ("equivalence", "simple-l=2", {"e": 3}),
    ],
)
@given(SEEDS, LIMITS)
@examples(15)
def test_equivalences_of_our_own_releases(
    method: str, requirement: str, options: dict[str, Any], seed: int, limits: dict[str, float]
) -> None:
    frames = stream(seed, releases=6, size=18 if seed % 3 else 60, values=3, returns=seed % 2 == 0)
    assert_every_beginning(publish(frames, method, requirement, **options), SCHEMA, limits)


@given(SEEDS)
@examples(15)
def test_a_promise_that_comes_later_and_buckets_that_end(seed: int) -> None:
    """Limits rise and fall, and whole buckets are followed by fine groups."""
    frames = stream(seed, releases=6, size=18, values=3)
    fine = publish(frames[:2], "invariance", "m-unique=2")
    whole = publish(frames[2:4], "equivalence", "simple-l=2", e=4)
    assert_every_beginning([*fine, *whole], SCHEMA, {})
    assert_every_beginning([*whole, *fine], SCHEMA, {})


@given(SEEDS, LIMITS)
@examples(40)
def test_identifiers_that_are_no_numbers_and_people_nobody_knows(seed: int, limits: dict[str, float]) -> None:
    """At hand people are numbered first: what is found is what the twin finds, which knows no numbers."""
    frames = [
        frame.with_columns(pl.format("p{}", "id").alias("id"))
        for frame in random_groups(seed, people=int(6 + seed % 12), values=2, names=True)
    ]
    for number in range(2, len(frames) + 1):
        assert_at_hand(Series.read(frames[:number], PLAIN, limits=limits))


def test_texts_of_one_number_are_two_people() -> None:
    frame = pl.DataFrame({"id": ["7", "007"], "q": "*", "r": "*", "s": ["v0", "v1"]})
    assert membership(Series.read([frame], PLAIN)).identifiers.to_list() == ["007", "7"]
    assert membership(Series.read([frame.with_columns(id=pl.Series([7.0, 8.0]))], PLAIN)).people == 2


def test_values_that_change_are_another_attacks_case() -> None:
    schema = replace(PLAIN, updates={"order": ["v0", "v1", "v2"]})
    found = assert_every_beginning(random_groups(3), schema, {})
    assert [one.reason for one in found[1:]] == [found[1].reason] * 4


def _even_groups(seed: int, *, tidy: bool) -> list[pl.DataFrame]:
    """Groups of one person of each value; people come, go and return, and some groups stay together."""
    rng = np.random.default_rng(seed)
    values, number = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    frames = []
    for _ in range(int(rng.integers(3, 7))):
        chosen = [np.sort(rng.choice(number + 2, number, replace=False)) for _ in range(values)]
        moved = [one if tidy and rng.random() < 0.6 else rng.permutation(one) for one in chosen]
        person = np.concatenate([one * values + value for value, one in enumerate(moved)])
        group = np.tile([f"g{g}" for g in range(number)], values)
        frames.append(pl.DataFrame({"id": person, "q": group, "r": "*", "s": [f"v{p % values}" for p in person]}))
    return frames


# --- whole buckets


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
