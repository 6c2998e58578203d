"""Someone who knows only some of the people learns the same about them as someone who knows all."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Table, synth
from reissue.attacks import Knowledge, Series
from reissue.papers.tracking.membership import link_people
from reissue.papers.updates.attack import risks
from reissue.schema import Schema
from reissue.taxonomy import parse_column
from reissue.updates import UpdateModel
from tests.effort import examples

SCHEMA = Schema.of_columns(
    identifier="patient",
    quasi=["age", "zip", "job"],
    sensitive=["disease"],
    taxonomies={name: synth.schema().hierarchy(name) for name in ("age", "zip", "job")},
)
MONTHS = [month.drop("hospital", "sex") for month in synth.Population(seed=2, people=300).months(2)]
RELEASES = [ri.anonymize(month, SCHEMA, "k=4 & l=2", seed=1, boxes="tight").frame for month in MONTHS]
WHO = [month.select("patient", *SCHEMA.quasi) for month in MONTHS]


def surest(who: list[pl.DataFrame]) -> dict[tuple[str, int], tuple[float, int]]:
    """Person and release to the largest posterior and the number of values left."""
    linked = link_people(Series.read(RELEASES, SCHEMA), Knowledge(members=who))
    found = risks(linked, UpdateModel.none(linked.names))
    names = pl.concat([one["patient"] for one in who]).cast(pl.String).unique().sort().to_list()
    pairs = zip(found.person.tolist(), found.release.tolist(), strict=True)
    outcomes = zip(np.round(found.largest, 12).tolist(), found.left.tolist(), strict=True)
    return {(names[person], release): its for (person, release), its in zip(pairs, outcomes, strict=True)}


EVERYONE = surest(WHO)


@examples(20)
@given(st.sets(st.integers(1, 300), min_size=1, max_size=12))
def test_what_is_learned_about_somebody_does_not_depend_on_the_others(known: set[int]) -> None:
    who = [one.filter(pl.col("patient").is_in(list(known))) for one in WHO]
    if all(one.height for one in who):
        some = surest(who)
        assert some
        assert all(EVERYONE[person] == its for person, its in some.items())


def test_a_name_that_nobody_has_is_still_an_error() -> None:
    column = pl.Series("x", ["red", "blue"])
    table = Table.read(pl.DataFrame({"x": ["red"]}), Schema.of_columns(quasi=["x"]))
    with pytest.raises(ri.InputError, match="1 published values that its taxonomy does not know"):
        parse_column(column, table.codings[0], partial=True)


def test_people_of_another_place_are_told_so() -> None:
    who = [pl.DataFrame({"patient": [1], "age": [200], "zip": ["9"], "job": ["cook"]})] * 2
    found = ri.attack(RELEASES, SCHEMA, only="updates", knowledge=Knowledge(members=who))["updates"]
    assert found.reason is not None
    assert "none of the people fits any published group" in found.reason
