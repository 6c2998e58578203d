"""beta-likeness and delta-disclosure privacy on a table that can be counted by hand, through methods and check."""

import math

import polars as pl
import pytest

import reissue as ri
from reissue import check, synth
from reissue.errors import RequirementError
from reissue.requirements import parse

SCHEMA = ri.Schema.of_columns(quasi=["q"], sensitive=["s"])
TABLE = pl.DataFrame({"q": [1] * 4 + [2] * 8, "s": list("aabb") + list("aabbbbbb")})
"""a: 4 of 12, b: 8 of 12. In the first group a has 1/2, half as much again; in the second b has 3/4."""


def test_a_table_by_hand() -> None:
    found = check(TABLE, SCHEMA)
    assert found["beta"] == pytest.approx((1 / 2 - 1 / 3) / (1 / 3))
    assert found["delta-disclosure"] == pytest.approx(math.log((1 / 2) / (1 / 3)))
    assert check(TABLE, SCHEMA, "beta=0.5 & delta-disclosure=0.41").met
    fails = check(TABLE, SCHEMA, "beta=0.49 & delta-disclosure=0.4").verdicts
    assert [(one.met, one.groups, one.rows) for one in fails] == [(False, 1, 4), (False, 1, 4)]


def test_enhanced_keeps_frequent_values_closer() -> None:
    """A value of 3 in 4 may gain no more than -ln(3/4) = 0.288, whatever beta."""
    table = pl.DataFrame({"q": [1] * 4 + [2] * 4, "s": list("bbbb") + list("aabb")})
    assert check(table, SCHEMA, "beta=1").met
    assert not check(table, SCHEMA, "beta=1:enhanced").met  # b gains 1/3
    even = pl.DataFrame({"q": [1] * 4 + [2] * 4, "s": list("abbb") * 2})
    assert check(even, SCHEMA, "beta=0:enhanced").met


def test_a_group_that_lacks_a_value_has_no_delta() -> None:
    table = TABLE.with_columns(s=pl.Series(list("aaaa") + list("aabbbbbb")))
    found = check(table, SCHEMA, "delta-disclosure=9")
    assert found["delta-disclosure"] is None
    assert not found.met
    assert "1 groups lack a value of the table" in str(found)


@pytest.mark.parametrize("method", ["pool", "mondrian", "topdown", "incognito"])
@pytest.mark.parametrize("requirement", ["k=3 & beta=4", "beta=6:enhanced", "delta-disclosure=2.5"])
def test_methods_make_it(method: str, requirement: str) -> None:
    people = next(synth.Population(seed=3, people=300).months(1)).with_columns(
        disease=pl.col("disease").str.len_chars().mod(3).cast(pl.String)
    )
    schema = ri.Schema.of_columns(quasi=["age", "zip", "sex"], sensitive=["disease"])
    release = ri.anonymize(people, schema, requirement, method=method, seed=1)
    assert check(release, schema, requirement).met


def test_text() -> None:
    assert str(parse("beta=2:enhanced")) == "beta=2:enhanced"
    assert parse("beta=2") == ri.BetaLikeness(2)
    for wrong in ("beta=-1", "beta=1:basic", "delta-disclosure=0", "delta-disclosure=x"):
        with pytest.raises(RequirementError):
            parse(wrong)
