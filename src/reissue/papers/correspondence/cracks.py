"""Crack sizes, as the paper names them: how many records of which group two releases rule out for whom."""

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.segments import ranges
from reissue.papers.correspondence.chains import Targets, targets
from reissue.published.boxes import ReleaseCounts, SeriesCounts
from reissue.schema import Schema

__all__ = ["cracks"]


def cracks(views: SeriesCounts, schema: Schema) -> pl.DataFrame:
    """Every target of two releases with the size and crack size of every group of records that match it.

    `attack` is F (the target is in release 1 and is looked for there), C (in release 1, looked for in release 2) or B
    (arrived later, looked for in release 2). The quasi-identifiers of the target's groups stand in columns `1.name` and
    `2.name`; nothing under `1.` for B.
    """
    tables, first = [], 1
    for part in targets(views):
        possible = np.flatnonzero(part.sizes > 0)
        number = np.zeros(len(part.sizes), np.int64)
        number[possible] = np.arange(first, first + len(possible))
        first += len(possible)
        for place, name in enumerate("FC" if part.arrived == 0 else "B"):
            table = _table(part, part.arrived + place, views, schema, number)
            tables.append(table.with_columns(pl.lit(name).alias("attack")))
    return pl.concat(tables, how="diagonal").select("attack", pl.exclude("attack"))


def _table(part: Targets, release: int, views: SeriesCounts, schema: Schema, number: Ints) -> pl.DataFrame:
    """One row for each target and value of its group in one release."""
    view = views.releases[release]
    first = part.starts[:-1]
    groups = {at: views.releases[at].group[entry[first]] for at, entry in enumerate(part.entries, start=part.arrived)}
    chain, entry, left = _left(part, view, groups[release], part.entries[release - part.arrived])
    kept = number[chain] > 0
    chain, entry, left = chain[kept], entry[kept], left[kept]
    columns: dict[str, pl.Series] = {"target": pl.Series(number[chain])}
    for at, group in groups.items():
        for column, nodes in zip(views.quasi, views.releases[at].nodes, strict=True):
            texts = pl.Series(column.texts, dtype=pl.String)
            columns[f"{at + 1}.{column.name}"] = texts.gather(nodes[group[chain]])
    for place, name in enumerate(schema.sensitive):
        texts = pl.Series([value[place] for value in views.values], dtype=pl.String)
        columns[name] = texts.gather(view.value[entry])
    count = view.count[entry]
    return pl.DataFrame({**columns, "size": pl.Series(count), "crack": pl.Series(count - left)})


def _left(part: Targets, view: ReleaseCounts, group: Ints, entries: Ints) -> tuple[Ints, Ints, Ints]:
    """Chain, entry of its group, and what is left of that entry: nothing where the chain does not hold the value."""
    lengths = view.lengths[group]
    begin = np.cumsum(lengths) - lengths
    chain = np.repeat(np.arange(len(group)), lengths)
    left = np.zeros(len(chain), np.int64)
    its = part.group
    left[begin[its] + entries - view.starts[group[its]]] = part.count
    return chain, ranges(view.starts[group], lengths), left
