"""Transitions between two releases: the truth lies within what the releases allow."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table, anonymize
from reissue.errors import InputError, SchemaError
from reissue.release.form import Form
from reissue.release.release import Counterfeits, Draft, Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.utility import transitions
from reissue.verify import make_release
from tests.effort import examples
from tests.silence import refused

PLAIN = Schema.of_columns(identifier="id", quasi=["age"], sensitive=["s"])
SCHEMA = Schema.of_columns(identifier="id", quasi=["age"], sensitive=["s"], keep=["slot"])


def wave(people: list[int], values: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"id": people, "age": [20 + p for p in people], "s": values, "slot": [100 - p for p in people]})


JAN = wave([1, 2, 3, 4, 5], list("aabbc"))
FEB = wave([1, 2, 3, 4, 6], list("abbbc"))


def test_by_hand() -> None:
    found = transitions((JAN, JAN), (FEB, FEB), SCHEMA)
    assert (found.people, found.linked) == (4, False)
    true = {(one.before, one.after): one.true for one in found.each}
    some = {pair: share for pair, share in true.items() if share}
    assert some == {("a", "a"): 0.25, ("a", "b"): 0.25, ("b", "b"): 0.5}
    assert found.stay.true == 0.75
    assert found.stay.least <= 0.75 <= found.stay.most
    first = next(one for one in found.each if (one.before, one.after) == ("b", "b"))
    # Of two with b before at least one is in both, of three after at least two: together fewer than four people.
    assert (first.least, first.most) == (0, 0.5)
    assert "allow anything from" in found.sentence


def test_rows_that_are_linked() -> None:
    found = transitions((JAN, JAN), (FEB, FEB), SCHEMA, link="slot")
    assert all(one.published == one.true == one.least == one.most for one in found.each)
    assert "the linked rows say 75.0%" in found.sentence
    wrong = FEB.with_columns(slot=pl.lit(1))
    refused(InputError, lambda: transitions((JAN, JAN), (FEB, wrong), SCHEMA, link="slot"))
    message = refused(InputError, lambda: transitions((JAN, JAN), (FEB, FEB), SCHEMA, link="slots"))
    assert "Did you mean 'slot'?" in message


def test_what_makes_no_sense() -> None:
    nobody = Schema.of_columns(quasi=["age"], sensitive=["s"])
    refused(SchemaError, lambda: transitions((JAN, JAN), (FEB, FEB), nobody))
    strangers = FEB.with_columns(pl.col("id") + 50)
    refused(InputError, lambda: transitions((JAN, JAN), (strangers, strangers), SCHEMA))


@st.composite
def published(draw: st.DrawFn) -> tuple[pl.DataFrame, Release]:
    """A small table, and a release of it with people left out, counterfeits, in any form."""
    people = draw(st.lists(st.integers(0, 7), min_size=2, max_size=6, unique=True))
    frame = wave(people, draw(st.lists(st.sampled_from("abc"), min_size=len(people), max_size=len(people))))
    table = Table.read(frame, PLAIN)
    groups = np.array(draw(st.lists(st.integers(-1, 1), min_size=len(people), max_size=len(people))), np.int32)
    groups[0] = 0
    groups = np.where(groups > 0, 1 if (groups == 0).any() else 0, groups).astype(np.int32)
    number = draw(st.integers(0, 2))
    fakes = None
    if number:
        value = st.integers(0, table.domain.size - 1)
        chosen = np.array(draw(st.lists(value, min_size=number, max_size=number)), np.int32)
        fakes = Counterfeits(np.zeros(number, np.int32), table.codes[:, [0] * number], chosen)
    form = draw(st.sampled_from(sorted(set(Form) - {Form.PANEL}, key=lambda one: one.label)))
    release = make_release(
        table, Draft(groups, counterfeits=fakes, form=form), KAnonymity(1), "test", np.random.default_rng(0)
    )
    return frame, release


@examples(300)
@given(published(), published())
def test_bounds_hold(first: tuple[pl.DataFrame, Release], second: tuple[pl.DataFrame, Release]) -> None:
    if not set(first[0]["id"]) & set(second[0]["id"]):
        return
    found = transitions(first, second, PLAIN)
    for one in (*found.each, found.stay):
        assert one.least - 1e-9 <= one.true <= one.most + 1e-9
    assert sum(one.true for one in found.each) == pytest.approx(1)


def test_on_a_real_release() -> None:
    rng = np.random.default_rng(0)
    jan = wave(list(range(200)), rng.choice(list("abc"), 200).tolist())
    feb = jan.with_columns(s=pl.when(pl.Series(rng.random(200) < 0.2)).then(pl.lit("a")).otherwise(pl.col("s")))
    made = [anonymize(frame, SCHEMA, "k=5", seed=0) for frame in (jan, feb)]
    found = transitions((jan, made[0]), (feb, made[1]), SCHEMA)
    assert found.stay.true > 0.8
    assert found.stay.most == pytest.approx(1, abs=0.2)
    assert found.as_dict()["each"][0]["before"] in {"a", "b", "c"}
