"""Groups that join: what they promise, and that a frequent value does not cost whole regions."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue import Table, anonymize
from reissue.counting import Counts
from reissue.errors import NotMetError
from reissue.methods import joining
from reissue.methods.extents import extent_of
from reissue.methods.joining import joined
from reissue.methods.partition import pool
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.utility import compare

SCHEMA = Schema.of_columns(quasi=["age", "south"], sensitive=["visits"])


def people(rows: int, seed: int, often: float) -> pl.DataFrame:
    """Younger people mostly have the frequent value."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 65, rows)
    none = rng.random(rows) < np.where(age < 40, often, often / 2)
    visits = np.where(none, "v0", rng.choice(["v1", "v2", "v3", "v4"], rows))
    return pl.DataFrame({"age": age, "south": rng.integers(0, 2, rows), "visits": visits})


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.sampled_from(["k=4", "confidence=0.5", "k=3 & simple-l=2", "l=3"]),
    st.booleans(),
)
def test_every_group_holds_and_sets_stay_whole(seed: int, rows: int, requirement: str, windows: bool) -> None:
    table, asked = Table.read(people(rows, seed, 0.7), SCHEMA), parse(requirement)
    sets = np.unique(np.random.default_rng(seed).integers(0, max(rows // 2, 1), rows), return_inverse=True)[1]
    extent = extent_of(table.taxonomies, table.codes).merged(sets, int(sets.max()) + 1)
    with pytest.MonkeyPatch.context() as patch:
        if windows:
            patch.setattr(joining, "_FEW", 2)
        if not asked.holds(table.whole())[0]:
            with pytest.raises(NotMetError):
                joined(extent, sets, table.sensitive, table.domain, asked)
            return
        group = joined(extent, sets, table.sensitive, table.domain, asked)
    assert len(group) == len(extent.people)
    number = np.unique(group, return_inverse=True)[1]
    assert asked.holds(Counts(number[sets], table.sensitive, table.domain)).all()


def test_a_group_joins_the_nearest_that_has_room_for_it() -> None:
    frame = pl.DataFrame(
        {"age": [20, 21, 22, 23, 30, 31], "south": [0] * 6, "visits": ["v0", "v0", "v0", "v1", "v1", "v2"]}
    )
    table, sets = Table.read(frame, SCHEMA), np.array([0, 0, 1, 1, 2, 2])
    extent = extent_of(table.taxonomies, table.codes).merged(sets, 3)
    group = joined(extent, sets, table.sensitive, table.domain, parse("confidence=0.5"))
    assert group[0] == group[2] != group[1], "the nearest one would not have helped"


@pytest.mark.parametrize("requirement", ["k=5 & confidence=0.55", "k=5 & simple-l=2"])
def test_pool_does_not_give_up_regions_where_one_value_is_frequent(
    requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(1_500, 3, 0.6)
    lost = compare(frame, anonymize(frame, SCHEMA, requirement), SCHEMA, queries=0).loss
    monkeypatch.setattr(pool, "_without_shares", lambda _: None)
    split = compare(frame, anonymize(frame, SCHEMA, requirement), SCHEMA, queries=0).loss
    assert lost < 0.75 * split
