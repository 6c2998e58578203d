"""Sizes of groups between those that a plan tries first: found by halving, and tried in a real plan."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import synth
from reissue.publishing.plan import RehearsalEnd, Setting, plan, read_waves, sensible_settings
from reissue.publishing.plan.planning import kinds_of_groups, smallest
from tests.effort import examples

SCHEMA = synth.schema().with_roles({"hospital": "drop"})


@dataclass(frozen=True)
class Size:
    """All that halving asks of waves."""

    fewest: int
    largest_share: float = 0.2
    values: int = 7


@given(st.integers(10, 400), st.integers(1, 250), st.integers(1, 250))
@examples(300)
def test_halving_finds_the_smallest_size_that_withstands_and_does_not_cost_too_much(
    rows: int, withstands: int, dear: int
) -> None:
    """The twin looks at every size: those from `withstands` on expose nobody, those from `dear` on cost too much."""
    asked: list[int] = []

    def fits(setting: Setting) -> bool | None:
        asked.append(setting.size)
        return None if setting.size >= dear else setting.size >= withstands

    smallest(Setting("pool", "k=5 & simple-l=2"), cast("Any", Size(rows)), fits)
    fine = [k for k in range(5, rows // 2 + 1) if withstands <= k < dear]
    found = [k for k in asked if withstands <= k < dear]
    assert (min(found) if found else None) == (min(fine) if fine else None)
    assert len(asked) <= 2 + 2 * (rows // 2).bit_length()
    assert len(set(asked)) == len(asked)


def test_kinds_of_groups_hold_as_many_values_as_waves_have() -> None:
    tried = [Setting("pool", "k=40 & simple-l=4"), Setting("pool", "k=10 & simple-l=2"), Setting("pool", "k=5 & l=3")]
    others = [Setting("cohorts", "k=5 & l=3"), Setting("distinct", "m-unique=3", {"risk": 0.7})]
    found = [one.require for one in kinds_of_groups([*tried, *others], cast("Any", Size(100)))]
    assert found == [
        *(f"k=5 & simple-l={values}" for values in range(2, 6)),
        *(f"k={max(5, values)} & l={values}" for values in range(2, 8)),
    ]
    shares = [Setting("pool", f"k={k} & confidence=0.6") for k in (5, 10)]
    assert [one.require for one in kinds_of_groups(shares, cast("Any", Size(100)))] == ["k=5 & confidence=0.6"]


def test_the_first_settings_double() -> None:
    waves = read_waves(list(synth.Population(seed=1, people=150).months(2)), SCHEMA)
    sizes = [one.size for one in sensible_settings(waves) if one.method == "pool" and not one.randomized]
    assert sizes[1:] == [5, 10, 20, 40]
    assert len(set(sizes)) == 4


@pytest.mark.slow
def test_what_lies_between_is_tried_where_it_may_cost_less() -> None:
    """Nothing that withstands costs more than need be: one size less exposes somebody, or was found to cost more."""
    waves = list(synth.Population(seed=3, people=150).months(2))
    made = plan(waves, SCHEMA, suppress=0.05, further=1, budget=60)
    best = made.recommended
    assert best is not None
    listed = {one.name for one in sensible_settings(read_waves(waves, SCHEMA))}
    between = [one for one in made.outcomes if one.setting.name not in listed]
    assert between
    assert all(one.setting.method == "pool" for one in between)
    roomy = [one for one in made.outcomes if one.verdict == RehearsalEnd.WITHSTOOD and one.room]
    assert best.cost == min(one.cost for one in roomy)
    listed_best = min(one.cost for one in roomy if one.setting.name in listed)
    assert best.cost <= listed_best
    assert made.stopped == ""
