"""Digests of rows: whatever order and however many at a time, and different for whatever differs."""

from datetime import UTC, date, datetime

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reissue.counting import RowDigest
from tests.effort import examples

KEY = bytes(range(32))
TABLE = pl.DataFrame(
    {
        "who": [7, -3, None, 12],
        "town": ["Rome", "", None, "Köln"],
        "size": [1.5, float("nan"), -0.0, None],
        "day": [date(2026, 1, 31), None, date(1969, 12, 31), date(2026, 2, 1)],
        "at": [
            datetime(2026, 1, 31, 5, 7, tzinfo=UTC),
            None,
            datetime(1969, 12, 31, tzinfo=UTC),
            datetime(2026, 2, 1, tzinfo=UTC),
        ],
        "ill": [True, False, None, True],
    }
)


def digest(*parts: pl.DataFrame, key: bytes = KEY) -> str:
    found = RowDigest(key)
    for part in parts:
        found.add(part)
    return found.hex()


def test_it_is_the_same_in_every_version() -> None:
    assert digest(TABLE) == "a118e8a15d576d8bdfc849427a0eab25948340b935abce9477aa4c5d6f0abb9b"


def test_order_batches_and_types_that_hold_the_same_values_do_not_matter() -> None:
    whole = digest(TABLE)
    assert digest(TABLE.reverse()) == whole
    assert digest(TABLE[2:], TABLE[:2]) == whole
    assert digest(TABLE.select(reversed(TABLE.columns))) == whole
    town = pl.Enum(["", "Köln", "Oslo", "Rome"])
    other = {"who": pl.Int16, "town": town, "at": pl.Datetime("ms", "UTC")}
    assert digest(TABLE.cast(other)) == whole  # type: ignore[arg-type]
    assert digest(TABLE.with_columns(pl.col("size") + 0.0)) == whole


def test_whatever_differs_is_seen() -> None:
    changed = [
        TABLE[:3],
        pl.concat([TABLE, TABLE[:1]]),
        TABLE.rename({"town": "city"}),
        TABLE.with_columns(town=TABLE["town"].reverse()),
        TABLE.with_columns(town=pl.col("town").fill_null("")),
        TABLE.with_columns(who=pl.col("who").fill_null(0)),
        TABLE.with_columns(size=pl.col("size").fill_null(0.0)),
        TABLE.with_columns(who=pl.col("who").cast(pl.String)),
        TABLE.drop("ill"),
    ]
    found = [digest(one) for one in (TABLE, *changed)]
    assert len(set(found)) == len(found)
    assert digest(TABLE, key=bytes(32)) not in found


@examples(60)
@given(st.integers(0, 10**6))
def test_two_tables_have_the_same_digest_only_if_they_have_the_same_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (
        pl.DataFrame({"a": rng.integers(0, 2, 3), "b": rng.choice(["x", "y"], 3)}).sort("a", "b") for _ in range(2)
    )
    assert (digest(one) == digest(other.reverse())) == one.equals(other)
