"""From a draft to the tables that go out: generalize, add counterfeits, shuffle."""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reissue._arrays import Codes, Ints
from reissue.counting.keys import distinct_keys
from reissue.data.table import Table
from reissue.errors import InternalError, SchemaError
from reissue.release.averages import with_averages
from reissue.release.counterfeits import counterfeit_cells
from reissue.release.release import COUNT, GROUP, SLOT, Boxes, Counterfeits, Draft
from reissue.taxonomy.codings import Coding

__all__ = ["boxes_of", "shuffled", "tables_of"]

_PLACE = "\0place"
"""A name that no column of a user has."""


def tables_of(
    table: Table, draft: Draft, boxes: Boxes, rng: np.random.Generator, order: Codes | None = None
) -> dict[str, pl.DataFrame]:
    """The tables that go out, in random row order; whoever must know it draws it before (`shuffled`)."""
    _refuse_names(table, draft)
    order = shuffled(draft, rng) if order is None else order
    tables = (_generalized if draft.form.boxes else _bucketized)(table, draft, boxes, order, rng)
    tables = _in_two(tables, list(table.schema.sensitive)) if draft.form.apart else tables
    return {name: _only_shown(frame) for name, frame in tables.items()}


def _in_two(tables: dict[str, pl.DataFrame], sensitive: list[str]) -> dict[str, pl.DataFrame]:
    """Rows without sensitive values, and the values of each group counted in a table of their own."""
    whole = tables["release"]
    others = {name: frame for name, frame in tables.items() if name != "release"}
    return {"quasi": whole.drop(sensitive), "sensitive": _counted(whole.select(GROUP, *sensitive)), **others}


def _only_shown(frame: pl.DataFrame) -> pl.DataFrame:
    """With Enums of what is published alone: a file lists all texts of an Enum, also those of people left out."""
    narrowed = []
    for column in frame.select(pl.col(pl.Enum)):
        shown = column.unique().drop_nulls().sort().cast(pl.String)
        if len(shown) < len(column.dtype.categories):  # type: ignore[attr-defined]
            narrowed.append(column.cast(pl.String).cast(pl.Enum(shown)))
    return frame.with_columns(narrowed)


def _refuse_names(table: Table, draft: Draft) -> None:
    """Stop if a column that the release adds would meet one of the data's by that name."""
    added = {
        GROUP: draft.form.numbered,
        SLOT: draft.form.seats,
        "count": draft.form.apart,
        "counterfeits": draft.counterfeits is not None,
    }
    if draft.averages is not None:
        added |= dict.fromkeys(map(draft.averages.column, table.schema.quasi), True)
    public = {*table.schema.quasi, *table.schema.sensitive, *table.schema.kept}
    clash = [name for name, needed in added.items() if needed and name in public]
    if clash:
        raise SchemaError(f"This method's releases have a column '{clash[0]}' of their own. Rename the data's column.")


def boxes_of(table: Table, draft: Draft) -> Boxes:
    """The published intervals of each group: its nodes in the cuts, else the smallest that may be published."""
    fakes = draft.counterfeits
    groups = draft.groups if fakes is None else np.concatenate([draft.groups, fakes.groups])
    total = int(groups.max(initial=-1)) + 1
    lo, hi = np.empty((2, len(table.codes), total), np.int32)
    for place, taxonomy in enumerate(table.taxonomies):
        codes = table.codes[place] if fakes is None else np.concatenate([table.codes[place], fakes.codes[place]])
        # One place more than there are groups: suppressed rows, number -1, write there.
        low = np.full(total + 1, taxonomy.size, np.int32)
        np.minimum.at(low, groups, codes)
        if draft.cuts is not None:
            cut = draft.cuts[place]
            lo[place], hi[place] = cut[low[:-1]], taxonomy.ends(cut)[low[:-1]]
        else:
            high = np.full(total + 1, -1, np.int32)
            np.maximum.at(high, groups, codes)
            lo[place], hi[place] = taxonomy.snap(low[:-1], high[:-1])
    return Boxes(lo, hi, np.bincount(groups[groups >= 0], minlength=total).astype(np.int64))


def _generalized(
    table: Table, draft: Draft, boxes: Boxes, order: Codes, rng: np.random.Generator
) -> dict[str, pl.DataFrame]:
    """One table: every row with its group's texts."""
    texts = [_texts(table, boxes, place) for place in range(len(table.codes))]
    groups = draft.groups[order]
    recoded = [names.gather(pl.Series(np.take(of_group, groups))) for names, of_group in texts]
    number = pl.Series(GROUP, rng.permutation(boxes.lo.shape[1]) + 1 if draft.form.numbered else [], dtype=pl.Int64)
    whole = _published(table, draft, order, recoded)
    whole = whole.insert_column(0, number.gather(groups)) if draft.form.numbered else whole
    whole = with_averages(whole, draft.averages, table, draft.groups, order)
    whole = _slotted(whole, draft, order)
    if draft.counterfeits is None:
        return {"release": whole}
    fakes = [names.gather(pl.Series(of_group[draft.counterfeits.groups])) for names, of_group in texts]
    added, marks = _fakes(table, draft, draft.counterfeits, fakes, rng), pl.DataFrame(fakes)
    if draft.form.numbered:
        marks = number.gather(draft.counterfeits.groups).to_frame()
        added = _slotted(added.insert_column(0, marks[GROUP]), draft, np.arange(table.rows, table.rows + added.height))
    counted = marks.group_by(pl.all()).len("counterfeits").sort(pl.all())
    return {"release": _mixed(whole, added, rng), "counterfeits": counted}


def _slotted(rows: pl.DataFrame, draft: Draft, order: Codes | Ints) -> pl.DataFrame:
    """With the slot of each row, after the number of its group, where the release is a panel."""
    if not draft.form.seats:
        return rows
    if draft.slots is None:
        raise InternalError("A panel has no slots. Nothing was published. Please report this.")
    return rows.insert_column(1, pl.Series(SLOT, draft.slots[order], dtype=pl.Int64))


def _bucketized(
    table: Table, draft: Draft, boxes: Boxes, order: Codes, rng: np.random.Generator
) -> dict[str, pl.DataFrame]:
    """Quasi-identifiers row by row, joined by a shuffled number with the sensitive values of their group."""
    number = rng.permutation(len(boxes.sizes)) + 1
    own, others = _row_by_row(table, draft, order)
    joined = pl.Series(GROUP, number[draft.groups[order]], dtype=pl.Int64)
    whole = _published(table, draft, order, own).insert_column(0, joined)
    tables = {}
    if draft.counterfeits is not None:
        fakes = draft.counterfeits
        joined = pl.Series(GROUP, number[fakes.groups], dtype=pl.Int64)
        added = _fakes(table, draft, fakes, others, rng)
        whole = _mixed(whole, added.insert_column(0, joined), rng)
        tables["counterfeits"] = joined.to_frame().group_by(GROUP).len("counterfeits").sort(GROUP)
    if not draft.form.apart:  # else the values stand in no row
        sensitive = list(table.schema.sensitive)
        by_group = whole.select(GROUP, *sensitive)[rng.permutation(whole.height)].sort(GROUP, maintain_order=True)
        whole = whole.sort(GROUP).with_columns(by_group.select(sensitive))[rng.permutation(whole.height)]
    return {"release": whole, **tables}


def _counted(values: pl.DataFrame) -> pl.DataFrame:
    """How often each group has each value, sorted. Counted as numbers: where all values differ, these are all rows."""
    different = values.drop(GROUP).unique().sort(pl.all())
    place = values.join(different.with_row_index(_PLACE), on=different.columns, how="left", nulls_equal=True)
    width = max(different.height, 1)
    keys, number = np.unique(place[GROUP].to_numpy() * width + place[_PLACE].to_numpy(), return_counts=True)
    group = pl.Series(GROUP, keys // width, dtype=pl.Int64)
    return pl.DataFrame([group, *different[keys % width], pl.Series(COUNT, number, dtype=pl.get_index_type())])


def _row_by_row(table: Table, draft: Draft, order: Codes) -> tuple[list[pl.Series], list[pl.Series]]:
    """What rows and counterfeits show of themselves: exact values, or the box of those that look alike."""
    fakes = draft.counterfeits
    if draft.looks is None:
        return _exact(table, table.codes[:, order]), [] if fakes is None else _exact(table, fakes.codes)
    looks, others = draft.looks[: table.rows], draft.looks[table.rows :]
    if (looks[order] < 0).any() or (others < 0).any():
        raise InternalError("A published row looks like no other. Nothing was published. Please report this.")
    alike = replace(draft, groups=looks, counterfeits=None if fakes is None else replace(fakes, groups=others))
    boxes = boxes_of(table, alike)
    texts = [_texts(table, boxes, place) for place in range(len(table.codes))]
    shown = [[names.gather(pl.Series(of_look[some])) for names, of_look in texts] for some in (looks[order], others)]
    return shown[0], shown[1]


def _exact(table: Table, codes: Codes) -> list[pl.Series]:
    """Quasi-identifiers as they were coded, in the user's types: nothing finer, and counterfeits look the same."""
    return [
        _values(coding, column, table.kinds[name]).alias(name)
        for name, coding, column in zip(table.schema.quasi, table.codings, codes, strict=True)
    ]


def _values(coding: Coding, codes: Codes, kind: pl.DataType) -> pl.Series:
    """The values of leaves; as text where the first or last one stands for all beyond it."""
    if any(coding.taxonomy.open_ends):
        return pl.Series(coding.taxonomy.names, dtype=pl.String).gather(codes)
    if kind == pl.String and coding.leaves.dtype == pl.String:
        return coding.decode(np.arange(coding.taxonomy.size, dtype=np.int32)).cast(pl.Enum(coding.leaves)).gather(codes)
    column = coding.decode(codes)
    try:
        return column.cast(kind)
    except pl.exceptions.PolarsError:
        return column


def shuffled(draft: Draft, rng: np.random.Generator) -> Codes:
    """The rows that are published, shuffled: row order tells nothing."""
    return rng.permutation(np.flatnonzero(draft.groups >= 0).astype(np.int32))


def _texts(table: Table, boxes: Boxes, place: int) -> tuple[pl.Series, NDArray[np.uint32]]:
    """The distinct published texts of one quasi-identifier, and which of them each group has.

    As an Enum each row holds a small number and the texts are there once: a fraction of the memory, faster to group.
    """
    taxonomy = table.taxonomies[place]
    keys = boxes.lo[place].astype(np.int64) * taxonomy.size + boxes.hi[place]
    distinct, of_group = distinct_keys(keys, taxonomy.size**2)
    low, high = (distinct // taxonomy.size).astype(np.int32), (distinct % taxonomy.size).astype(np.int32)
    texts = taxonomy.text(low, high)
    kind = pl.Enum([text for text in texts if text is not None])
    return pl.Series(table.schema.quasi[place], texts, dtype=kind), of_group.astype(np.uint32)


def _published(table: Table, draft: Draft, order: Codes, quasi: list[pl.Series]) -> pl.DataFrame:
    """Quasi-identifiers, sensitive and kept columns in the order of the user's table; nothing else."""
    columns: dict[str, pl.Series] = {column.name: column for column in quasi}
    if draft.sensitive is not None:
        columns |= _named(table.decode(draft.sensitive[order]))
    schema = table.schema
    public = {*schema.quasi, *schema.sensitive, *schema.kept}
    names = [name for name in table.kinds if name in public]
    return pl.DataFrame([columns[name] if name in columns else table.frame[name].gather(order) for name in names])


def _fakes(
    table: Table, draft: Draft, fakes: Counterfeits, quasi: list[pl.Series], rng: np.random.Generator
) -> pl.DataFrame:
    """The counterfeits as published rows, in the columns of the real ones."""
    columns = {column.name: column for column in quasi} | counterfeit_cells(table, draft, fakes, rng)
    return pl.DataFrame([columns[name] for name in table.kinds if name in columns])


def _named(frame: pl.DataFrame) -> dict[str, pl.Series]:
    return {column.name: column for column in frame}


def _mixed(real: pl.DataFrame, fake: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Real and counterfeit rows in random order."""
    both = pl.concat([real, fake.cast(real.schema)])
    return both[rng.permutation(both.height)]
