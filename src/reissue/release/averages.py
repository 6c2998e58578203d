"""Averages: means or medians of groups' numbers, published beside their ranges in columns such as `age_mean`."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Codes, Floats
from reissue.data.table import Table
from reissue.taxonomy.codings import leaf_numbers

__all__ = ["STATISTICS", "Averages", "with_averages"]

STATISTICS = ("mean", "median")


@dataclass(frozen=True)
class Averages:
    """What is published of each group's numbers beside their ranges."""

    statistic: str = STATISTICS[0]
    decimals: int | None = None
    """None: one more than the numbers have."""

    def column(self, name: str) -> str:
        """The column of a quasi-identifier's averages."""
        return f"{name}_{self.statistic}"

    @property
    def warning(self) -> str:
        """What whoever sends it out should know."""
        tells = (
            "a group's median is one person's value, or lies between two"
            if self.statistic == "median"
            else "whoever knows all members of a group but one learns the last one's number"
        )
        return (
            f"Numbers are published with the {self.statistic} of their group: {tells}, and two releases with nearly "
            "the same group show by how much it changed. Attacks take everyone's group and these numbers as known: do "
            "not publish so what nobody may learn."
        )

    def of(self, numbers: Floats, codes: Codes, groups: Codes) -> pl.Series:
        """Group to the average of its rows, whose leaves have these numbers; null where all are missing."""
        kept = groups >= 0
        rows = pl.DataFrame({"group": groups[kept], "number": numbers[codes[kept]]}).with_columns(
            pl.col("number").fill_nan(None)
        )
        by_group = rows.group_by("group").agg(getattr(pl.col("number"), self.statistic)()).sort("group")["number"]
        return by_group.round(_decimals(numbers) + 1 if self.decimals is None else self.decimals)


def with_averages(
    rows: pl.DataFrame, averages: Averages | None, table: Table, groups: Codes, order: Codes
) -> pl.DataFrame:
    """Published rows, which are these rows of a table, with a column of averages after each number."""
    if averages is None:
        return rows
    for name, coding, codes in zip(table.schema.quasi, table.codings, table.codes, strict=True):
        numbers = leaf_numbers(coding)
        if numbers is not None:
            found = averages.of(numbers, codes, groups).gather(groups[order]).alias(averages.column(name))
            rows = rows.insert_column(rows.columns.index(name) + 1, found)
    return rows


def _decimals(numbers: Floats) -> int:
    """How many decimals numbers have, six at most."""
    known = numbers[~np.isnan(numbers)]
    return next((number for number in range(6) if np.allclose(known, known.round(number), rtol=0, atol=1e-9)), 6)
