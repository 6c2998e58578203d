"""The `[updates]` section of a schema: a file, a level of the taxonomy, an order, a history, or probabilities.

With several sensitive columns, each has a section of its own, `[updates.disease]`. Columns are taken to change
independently of each other: the model of their combinations is the product of theirs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue.counting.texts import MISSING, SEPARATOR
from reissue.errors import SchemaError, nearest
from reissue.files.dialect import Dialect
from reissue.files.tables import read_file
from reissue.schema import Schema, Section
from reissue.taxonomy.codings import Coding, prepare
from reissue.updates.model import ROUND, Name, UpdateModel, refuse_large

__all__ = ["read_updates"]

SOURCES = ("file", "taxonomy", "order", "history", "chances", "none")
_KEYS = (*SOURCES, "close", "smoothing", "delimiter", "rest")


def read_updates(schema: Schema, names: Sequence[Name] = ()) -> UpdateModel:
    """Read the model that a schema's `[updates]` section describes.

    Parameters
    ----------
    schema
        Without an `[updates]` section, values never change.
    names
        Values that come first in the model, in this order.

    Raises
    ------
    SchemaError
        If the section is wrong, or does not describe every sensitive column.

    """
    if not schema.updates:
        return UpdateModel.none(names)
    sections = schema.updates_by_column
    _refuse_columns(schema, sections)
    if len(sections) == 1:
        return _of_column(schema, sections[schema.sensitive[0]], names)
    parts = [_apart(name, len(sections)) for name in names]
    models = [
        _of_column(schema.of_sensitive(column), sections[column], list(dict.fromkeys(own)))
        for column, own in zip(
            schema.sensitive, zip(*parts, strict=True) if parts else [()] * len(sections), strict=True
        )
    ]
    return UpdateModel.product(models, parts, names)


def _of_column(schema: Schema, section: Section, names: Sequence[Name]) -> UpdateModel:
    """The model of the single sensitive column of a schema."""
    _check(section)
    source = next(key for key in SOURCES if key in section)
    model = _BUILDERS[source](section, schema, names)
    return (model.closed() if section.get("close") else model.checked()).aligned(names)


def _apart(name: Name, columns: int) -> list[Name]:
    """Split joined values of several columns."""
    pieces = [MISSING] * columns if name is None else name.split(SEPARATOR)
    return [None if piece == MISSING else piece for piece in pieces]


def _refuse_columns(schema: Schema, sections: Mapping[str, Section]) -> None:
    """Refuse an `[updates]` section that does not describe every sensitive column."""
    columns = schema.sensitive
    if not columns:
        raise SchemaError("[updates] describes a sensitive column; the schema names none.")
    unknown = [key for key in schema.updates if key not in columns and isinstance(schema.updates[key], Mapping)]
    unknown = [key for key in unknown if key not in _KEYS]
    if unknown:
        raise SchemaError(
            f"[updates.{unknown[0]}] names a column that is not sensitive." + nearest(unknown[0], columns)
        )
    lacking = [name for name in columns if name not in sections]
    if lacking:
        raise SchemaError(
            f"[updates] describes one sensitive column; the schema names several. Write a section for each, such as  "
            f"[updates.{lacking[0]}]  with  none = true  where values never change."
        )


def _check(section: Section) -> None:
    for key in section:
        if key not in _KEYS:
            raise SchemaError(f"[updates] has an unknown key '{key}'." + nearest(key, _KEYS))
    given = [key for key in SOURCES if key in section]
    if len(given) != 1:
        raise SchemaError(f"[updates] must have exactly one of {', '.join(SOURCES)}.")
    if section.get("close", False) not in {True, False}:
        raise SchemaError("[updates]: `close` must be true or false.")
    for key, owner in (("smoothing", "history"), ("delimiter", "file"), ("rest", "chances")):
        if key in section and owner not in section:
            raise SchemaError(f"[updates]: `{key}` goes with `{owner}`.")


def _none(section: Section, _: Schema, names: Sequence[Name]) -> UpdateModel:
    if section["none"] is not True:
        raise SchemaError("[updates]: write  none = true  for values that never change.")
    return UpdateModel.none(names)


def _file(section: Section, schema: Schema, _: Sequence[Name]) -> UpdateModel:
    path = schema.folder / str(section["file"])
    frame = read_file(path, text=("from", "to"), dialect=Dialect(section.get("delimiter")))
    absent = [name for name in ("from", "to") if name not in frame.columns]
    if absent or not frame.height:
        raise SchemaError(
            f"The file of updates '{path}' needs a header  from,to  or  from,to,probability  and at least one line."
        )
    chance = None
    if "probability" in frame.columns:
        numbers = frame["probability"].cast(pl.Float64, strict=False)
        bad = np.flatnonzero(numbers.is_null().to_numpy())
        if len(bad):
            raise SchemaError(
                f"The file of updates '{path}' has {len(bad)} probabilities that are no numbers (first lines: "
                f"{', '.join(str(line + 2) for line in bad[:5])})."
            )
        chance = numbers.to_list()
    texts = frame.select(pl.col("from", "to").cast(pl.String))
    return UpdateModel.of_pairs(texts["from"].to_list(), texts["to"].to_list(), chance)


def _taxonomy(section: Section, schema: Schema, names: Sequence[Name]) -> UpdateModel:
    level = 1 if section["taxonomy"] is True else section["taxonomy"]
    column = schema.sensitive[0]
    hierarchy = schema.hierarchy(column)
    if not isinstance(level, int) or level < 1 or hierarchy.kind in {"auto", "flat"}:
        raise SchemaError(
            f"[updates]: `taxonomy` is a level of the tree in [taxonomy.{column}], 1 for the branches just above the "
            "values (or true for that), and the schema must have such a tree."
        )
    column_values = prepare(pl.Series(column, list(names), dtype=pl.String), hierarchy)
    coding = Coding.build(hierarchy, column_values, published=False)
    tree = coding.taxonomy
    if level > tree.height:
        raise SchemaError(f"[updates]: the tree of '{column}' has only {tree.height} levels above its values.")
    texts = [*coding.leaves.cast(pl.String).to_list(), *([None] if tree.missing else [])]
    return UpdateModel.in_branches(texts, tree.levels[level].node.astype(np.int64))


def _order(section: Section, schema: Schema, names: Sequence[Name]) -> UpdateModel:
    order = section["order"]
    if order is True:
        numbers = pl.Series(list(names), dtype=pl.String).cast(pl.Float64, strict=False)
        if numbers.null_count() > sum(name is None for name in names):
            raise SchemaError(
                f"[updates]:  order = true  is for numbers, and '{schema.sensitive[0]}' holds others. List the values "
                'from low to high:  order = ["low", "middle", "high"].'
            )
        places = np.argsort(numbers.to_numpy(), kind="stable")
        ascending: list[Name] = [names[place] for place in places if names[place] is not None]
        return UpdateModel.never_lower(ascending)
    if not isinstance(order, list) or not order or len({str(value) for value in order}) < len(order):
        raise SchemaError("[updates]: `order` must list different values from low to high, or be true for numbers.")
    return UpdateModel.never_lower([str(value) for value in order])


def _history(section: Section, schema: Schema, _: Sequence[Name]) -> UpdateModel:
    files = section["history"]
    if not isinstance(files, list) or len(files) < 2 or schema.identifier is None:
        raise SchemaError(
            "[updates]: `history` must list two files or more of your own earlier tables, in order of time, and the "
            "schema must name the identifier by which people are followed."
        )
    smoothing = section.get("smoothing", 1.0)
    if isinstance(smoothing, bool) or not isinstance(smoothing, int | float) or not smoothing > 0:
        raise SchemaError("[updates]: `smoothing` must be a number above 0.")
    person, value = schema.identifier, schema.sensitive[0]
    tables = [_earlier(schema.folder / str(path), person, value) for path in files]
    return UpdateModel.learned(tables, person, value, float(smoothing))


def _earlier(path: Path, person: str, value: str) -> pl.DataFrame:
    frame = read_file(path, text=(person, value))
    absent = [name for name in (person, value) if name not in frame.columns]
    if absent:
        raise SchemaError(f"The earlier table '{path}' lacks columns: {', '.join(absent)}.")
    if frame[person].is_duplicated().any():
        raise SchemaError(f"The earlier table '{path}' has the same identifier in several rows.")
    return frame.select(pl.col(person, value).cast(pl.String))


def _chances(section: Section, _: Schema, names: Sequence[Name]) -> UpdateModel:
    """Listed probabilities; `rest` is distributed over all other values, so that nothing unlisted is impossible."""
    listed, rest = section["chances"], section.get("rest", 0.0)
    numbers = [rest, *(chance for row in _rows(listed) for chance in row.values())]
    if any(isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= 1 for one in numbers):
        raise SchemaError("[updates]: the numbers of `chances`, and `rest`, must be probabilities, from 0 to 1.")
    known = dict.fromkeys([*names, *listed, *(name for row in listed.values() for name in row)])
    place = {name: number for number, name in enumerate(known)}
    size = len(place)
    refuse_large(size)
    chance = np.full((size, size), rest / max(size - 1, 1))
    for before, row in listed.items():
        for after, share in row.items():
            chance[place[before], place[after]] += share
    np.fill_diagonal(chance, 0.0)
    moved = chance.sum(axis=1)
    if size and moved.max() > 1 + ROUND:
        raise SchemaError("[updates]: the `chances` of one value, with `rest`, must sum to 1 at most.")
    np.fill_diagonal(chance, np.maximum(1 - moved, 0.0))
    return UpdateModel(tuple(place), chance / chance.sum(axis=1, keepdims=True))


def _rows(listed: Any) -> list[Section]:
    if not isinstance(listed, Mapping) or not all(isinstance(row, Mapping) for row in listed.values()):
        raise SchemaError("[updates]: `chances` must list values and what they become:  { flu = { cough = 0.1 } }.")
    return list(listed.values())


_BUILDERS = {
    "none": _none,
    "file": _file,
    "taxonomy": _taxonomy,
    "order": _order,
    "history": _history,
    "chances": _chances,
}
