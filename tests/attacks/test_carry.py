"""Attacks that carry on find, after every release, what the whole attack over all releases finds."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.schema import Schema
from tests.algorithms.streams import SCHEMA, publish, stream
from tests.attacks.carrying import assert_carries, random_groups

PLAIN = Schema.of_columns(quasi=["q", "r"], sensitive=["s"], identifier="id")
SEEDS = st.integers(0, 10**6)


# --- updates ---------------------------------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([{}, {"updates": 0.4}]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_values_that_stay(seed: int, limits: dict[str, float], strangers: bool) -> None:
    assert_carries("updates", random_groups(seed, names=strangers), PLAIN, limits)


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_values_that_are_said_to_stay_and_do_not(seed: int) -> None:
    frames = random_groups(seed, changing=True)
    assert_carries("updates", frames, PLAIN, {})
    assert_carries("updates", frames, replace(PLAIN, updates={"none": True}), {})


@given(SEEDS, st.sampled_from([["v0", "v1", "v2"], ["v2", "v1"]]), st.sampled_from([{}, {"updates": 0.6}]))
@settings(max_examples=60, deadline=None)
def test_values_that_change(seed: int, order: list[str], limits: dict[str, float]) -> None:
    frames = random_groups(seed, changing=True)
    assert_carries("updates", frames, replace(PLAIN, updates={"order": order}), limits)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_value_more_makes_another_model(seed: int) -> None:
    """In branches of a taxonomy updates are equally likely over the values there are: a new value changes them all."""
    frames = random_groups(seed, values=2, changing=True) + random_groups(seed, values=4, changing=True)
    tree: Any = {"a": ["v0", "v1", "v2"], "b": ["v3"]}
    schema = Schema.loads(
        '[columns]\nid = "identifier"\nq = "quasi"\nr = "quasi"\ns = "sensitive"\n'
        f"[taxonomy.s]\ntree = {{ a = {tree['a']}, b = {tree['b']} }}\n[updates]\ntaxonomy = 1\n"
    )
    assert_carries("updates", frames, schema, {})


@pytest.mark.parametrize(("method", "requirement"), [("invariance", "m-unique=2"), ("equivalence", "simple-l=2")])
@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_our_own_releases(method: str, requirement: str, seed: int) -> None:
    assert_carries("updates", publish(stream(seed, releases=6, returns=True), method, requirement), SCHEMA, {})
