"""Releases that show different quasi-identifiers: the joint attack takes them, the others say what they lack."""

import numpy as np
import polars as pl
import pytest

from reissue.attacks.findings import Status
from reissue.errors import SchemaError, Why
from reissue.publishing.attack import attack
from reissue.schema import Schema

SCHEMA = Schema.of_columns(identifier="id", quasi=["age", "zip"], sensitive=["ill"])


def files() -> list[pl.DataFrame]:
    """The same people twice, once by age and once by zip."""
    rng = np.random.default_rng(0)
    whole = pl.DataFrame(
        {
            "id": np.arange(60),
            "age": rng.choice(["20-39", "40-59"], 60),
            "zip": rng.choice(["1**", "2**"], 60),
            "ill": rng.choice(["flu", "gout", "asthma"], 60),
        }
    )
    return [whole.drop("zip"), whole.drop("age")]


def test_the_joint_attack_takes_them_and_the_others_have_nothing_to_compare() -> None:
    found = attack(files(), SCHEMA, timeline=True)
    assert found["joint"].status != Status.NOT_RUN
    assert found["joint"].population == 60
    assert [one.groups for one in found.releases] == [2, 2]
    assert "people are known here" in str(found["composition"].reason)
    for one in found:
        if one.attack not in {"joint", "composition", "trajectory", "disclosure"}:
            assert one.status == Status.NOT_RUN
            assert one.why == Why.DOES_NOT_APPLY
            assert "release 1 lacks zip; release 2 lacks age" in str(one.reason)


def test_a_column_that_no_release_has_is_a_mistake_in_the_schema() -> None:
    with pytest.raises(SchemaError, match="lacks columns"):
        attack([files()[0], files()[0]], SCHEMA, only="correspondence")
