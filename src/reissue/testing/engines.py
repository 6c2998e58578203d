"""What every engine must keep: columns as they are, counts that are right, and the outcome of a check."""

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from reissue.engines.base import ColumnCodes, Counted, FollowsPeople, InBatches
from reissue.engines.registry import MEMORY, choose
from reissue.schema import Schema
from reissue.testing.contract import expect
from reissue.verify.check import check

__all__ = ["check_engine"]


def check_engine(name: str, give: Callable[[pl.DataFrame], Any]) -> None:
    """Check a registered engine; `give` makes of a small table what the engine opens, such as a file of it."""
    for table in _tables():
        source = choose(name, None).open(give(table))
        expect(dict(source.columns) == dict(table.schema), "columns have the names, order and types of the table")
        for by in (by for length in (1, 2, 3) for by in combinations(table.columns, length)):
            found, right = source.counts(by), choose(MEMORY, None).open(table).counts(by)
            expect(found.values.columns == list(by), "counts have the columns that were asked for")
            expect(_counts(found) == _counts(right), "every combination is counted, once, with its number of rows")
        if isinstance(source, FollowsPeople):
            _check_people(source, table)
        if isinstance(source, InBatches):
            _check_batches(source, table)
    plan = Schema.of_columns(quasi=["age", "times"], sensitive=["value"])
    for asked in ("k=2 & l=2", "k=5"):
        one, other = check(give(table), plan, asked, engine=name), check(table, plan, asked, engine=MEMORY)
        expect(_rounded(one.as_dict()) == _rounded(other.as_dict()), "a check has the same outcome as in memory")


def _check_people(source: FollowsPeople, table: pl.DataFrame) -> None:
    """In a series of the same table twice whoever has rows is one person; rows without an identifier are nobody's."""
    counted = source.counts(["age", "value"])
    found = source.by_person("times", [(source, counted)] * 2)
    whose = [(ids.to_list(), counted.values[place].rows()) for ids, place in found]
    right = [(table["times"].to_list(), table.select("age", "value").rows())] * 2
    expect(
        _people(whose) == _people(right), "every row is its person's, the same in all tables, and shows what it shows"
    )


def _check_batches(source: InBatches, table: pl.DataFrame) -> None:
    """All rows come, once each and in their order if they have one: columns as they are, and codes of others."""
    values = table["value"].unique(maintain_order=True)
    coded = ColumnCodes("value", values, np.arange(len(values), dtype=np.int32))
    with source.held(table.columns) as held:
        both = [pl.concat(one.batches(["times", "age"], [coded])) for one in (source, held)]
    right = table.select("times", "age", coded.code())
    for found in both if source.in_order else [one.sort(one.columns) for one in both]:
        expect(
            found.equals(right if source.in_order else right.sort(right.columns)),
            "every row comes once, with the columns that were asked for and the codes of others",
        )


def _people(tables: list[tuple[list[Any], list[tuple[Any, ...]]]]) -> list[str]:
    """All that is shown of each person, without the name, in order; of nobody row by row."""
    found: dict[Any, list[str]] = {}
    for at, (people, rows) in enumerate(tables):
        for place, (person, row) in enumerate(zip(people, rows, strict=True)):
            found.setdefault((at, place) if person is None else person, []).append(f"{at}: {row}")
    return sorted(str(sorted(one)) for one in found.values())


def _tables() -> list[pl.DataFrame]:
    """Small tables with missing values, repeated rows, and columns whose names an engine might use itself."""
    kinds = {"age": pl.Int32, "times": pl.String, "value": pl.Float64}
    ages, texts = [1, 1, 2, None, 2, 1, None], ["x", "x", "", None, "y", "x", None]
    more = pl.DataFrame({"age": ages, "times": texts, "value": [0.5, 0.5, 1.0, 0.5, 1.0, 2.0, 2.0]}, kinds)
    return [more.head(1), more]


def _counts(counted: Counted) -> dict[tuple[Any, ...], list[int]]:
    """Combination to its numbers: one, if it is right."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, times in zip(counted.values.rows(), counted.times.to_list(), strict=True):
        found.setdefault(row, []).append(times)
    return found


def _rounded(outcome: dict[str, Any]) -> Any:
    """Sums may be added up in another order."""
    return json.loads(json.dumps(outcome), parse_float=lambda text: round(float(text), 12))
