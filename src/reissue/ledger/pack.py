"""What a ledger stores, as bytes and back: schemas with the files they name, tables, and who is in which group.

Nothing here holds an identifier (people are pseudonyms by then) or a quasi-identifier of a person beyond what was
published: who is in which group is stored apart from the values of the group. For a panel, which shows the value of
each seat, the ledger stores who has which seat.
"""

import io
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tomlkit

from reissue.counting.texts import count_texts, joined_texts
from reissue.errors import DataError, SchemaError
from reissue.files.databases import DatabaseTable
from reissue.files.dialect import Dialect
from reissue.files.places import read_whole
from reissue.files.staging import Staging
from reissue.files.tables import Place, escape_formulas, stage_tables
from reissue.randomization import file_of
from reissue.release.presences import Presences, SeatLabels
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.updates import read_updates

__all__ = [
    "ENDINGS",
    "csv_bytes",
    "hand_out",
    "pack_frame",
    "pack_places",
    "pack_presences",
    "pack_schema",
    "plain",
    "unpack_frame",
    "unpack_people",
    "unpack_presences",
]

ENDINGS = {
    "forms": ".parquet",
    "memory": ".arrays",
    "roster": ".parquet",
    "shown": ".arrays",
    "state": ".arrays",
    "values": ".arrays",
}
_PERSON, _FAKE, _GROUP, _SLOT, _LABEL = _OWN = "\0person", "\0fake", "\0group", "\0slot", "\0label"
Keep = Callable[[bytes, str], str]


# --- schemas ---------------------------------------------------------------------------------------------------------


def pack_schema(schema: Schema, keep: Keep) -> tuple[str, dict[str, str]]:
    """Store the files that a schema names; return its text and these files, for the entry."""
    schema.refuse_several_rows("A ledger, which attacks every release together with those before it,")
    document = tomllib.loads(schema.dumps())
    files = {}
    for column, hierarchy in schema.hierarchies.items():
        if hierarchy.file is not None:
            name = keep(_content(hierarchy.file), hierarchy.file.suffix)
            document["taxonomy"][column]["file"] = files[f"taxonomy.{column}"] = name
    for column, section in schema.updates_by_column.items():
        several = len(schema.sensitive) > 1
        packed = _pack_updates(schema.of_sensitive(column), section, keep)
        if several and column in document["updates"]:
            document["updates"][column] = packed
        elif not several:
            document["updates"] = packed
        if "file" in packed:
            files[f"updates.{column}" if several else "updates"] = packed["file"]
    for key in ("departures", "shares"):
        file = file_of(schema, key)
        if file is not None:
            name = keep(_content(file), file.suffix)
            document["policy"]["randomized"][key] = files[f"randomized.{key}"] = name
    return tomlkit.dumps(document), files


def _pack_updates(schema: Schema, section: Mapping[str, Any], keep: Keep) -> dict[str, Any]:
    """The updates of one column, with the file that they name stored."""
    if "history" in section:
        # The holder's own earlier tables name people, so only the model that is estimated from them is stored.
        learned = read_updates(schema).frame().write_csv().encode()
        return {"file": keep(learned, ".csv"), "close": True}
    if "file" in section:
        path = schema.folder / str(section["file"])
        return {**section, "file": keep(_content(path), path.suffix)}
    return dict(section)


def _content(path: Path) -> bytes:
    try:
        return read_whole(path)
    except OSError:
        raise SchemaError(f"The schema names '{path}', which cannot be read, or is no regular file.") from None


# --- tables ----------------------------------------------------------------------------------------------------------


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with our Enums as plain text, as it is published."""
    ours = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)]
    return frame.with_columns(pl.col(ours).cast(pl.String)) if ours else frame


def pack_frame(frame: pl.DataFrame) -> bytes:
    """A table as Parquet."""
    out = io.BytesIO()
    plain(frame).rechunk().write_parquet(out)
    return out.getvalue()


def unpack_frame(content: bytes) -> pl.DataFrame:
    """A table from Parquet."""
    return pl.read_parquet(io.BytesIO(content))


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """A table as the CSV that is published."""
    try:
        return escape_formulas(plain(frame)).write_csv().encode()
    except pl.exceptions.PolarsError:
        raise DataError(
            "A column has a type that CSV lacks, such as lists, and a ledger hands releases out as CSV too. Leave the "
            "column out, or make it text."
        ) from None


def hand_out(release: Release, path: Place, staging: Staging, *, force: bool, dialect: Dialect) -> list[str]:
    """Stage the tables of a release; as Parquet they are the bytes that the ledger stores."""
    places = release.places(path)
    for frame, place in zip(release.tables.values(), places, strict=True):
        if not isinstance(place, DatabaseTable) and str(place).lower().endswith(".parquet"):
            staging.add_bytes(Path(place), pack_frame(frame), replaces=force)
        else:
            stage_tables(staging, [(plain(frame), place)], force=force, dialect=dialect)
    return [str(place) for place in places]


# --- who is where ------------------------------------------------------------------------------------------------


def pack_presences(release: Release) -> bytes:
    """Who is in which group, with the groups' values in an order of their own: what attacks on a series need."""
    draft, table = release.draft, release.table
    kept = np.flatnonzero(draft.groups >= 0)
    groups, person = draft.groups[kept], table.frame[table.schema.identifier or ""].gather(kept)
    codes = (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    fake = pl.Series(_FAKE, [None] * len(kept), dtype=pl.Int64)
    if draft.counterfeits is not None:
        fakes = draft.counterfeits
        lasting = -1 - np.arange(len(fakes.groups)) if fakes.names is None else fakes.names
        groups, codes = np.concatenate([groups, fakes.groups]), np.concatenate([codes, fakes.sensitive])
        person = person.extend_constant(None, len(fakes.groups))
        fake = fake.append(pl.Series(_FAKE, lasting, dtype=pl.Int64))
    number = pl.Series(groups.astype(np.int32))
    slots = None if draft.slots is None else pl.Series(np.delete(draft.slots, np.flatnonzero(draft.groups < 0)))
    labels = slots if draft.form.seats else None
    return pack_places(number, person, fake, number, table.decode(codes.astype(np.int32)), slots, labels)


def pack_places(
    groups: pl.Series,
    person: pl.Series,
    fake: pl.Series,
    value_groups: pl.Series,
    values: pl.DataFrame,
    slots: pl.Series | None = None,
    labels: pl.Series | None = None,
) -> bytes:
    """People and values by group, each sorted separately, so that within a group nothing links them."""
    places = pl.DataFrame({_GROUP: groups.cast(pl.Int32), _PERSON: person, _FAKE: fake})
    places = places if slots is None else places.with_columns(slots.alias(_SLOT))
    places = places.sort(_GROUP, _PERSON, _FAKE)
    shown = pl.DataFrame([value_groups.cast(pl.Int32).alias(_GROUP), *values])
    shown = shown if labels is None else shown.with_columns(labels.alias(_LABEL))
    shown = shown.sort(_GROUP, *values.columns)
    return pack_frame(pl.concat([places, shown.drop(_GROUP)], how="horizontal"))


def unpack_people(content: bytes) -> pl.Series:
    """Everyone in a release, as pseudonyms."""
    return unpack_frame(content)[_PERSON].drop_nulls()


def unpack_presences(content: bytes, people: pl.Series | None = None) -> Presences:
    """Read who is in which group of an earlier release.

    With `people`, only these are known, and only the groups with one of them are included.
    """
    frame = unpack_frame(content)
    if people is not None:
        frame = frame.drop(_SLOT, _LABEL, strict=False)  # the succession of people in a seat is unknown for strangers
        known = frame[_PERSON].is_in(people.implode())
        shared = pl.col(_GROUP).is_in(frame[_GROUP].filter(known).unique().implode())
        strangers = pl.DataFrame({_FAKE: -1 - pl.int_range(frame.height, eager=True)})
        frame = frame.with_columns(frame[_PERSON].set(~known, None), strangers[_FAKE].set(known, None)).filter(shared)
    group = frame[_GROUP].to_numpy().astype(np.int64)
    real = frame[_PERSON].is_not_null().to_numpy()
    lasting = frame[_FAKE].filter(~real)
    order = np.argsort(~real, kind="stable")
    texts = joined_texts(frame, [name for name in frame.columns if name not in _OWN])
    groups = int(group.max(initial=-1)) + 1
    return Presences(
        frame[_PERSON].filter(real),
        np.arange(int(real.sum())),
        group[real],
        count_texts(group, texts, np.ones(len(group), np.int64), groups),
        np.bincount(group[~real], minlength=groups),
        others=group[~real],
        lasting=lasting if (lasting >= 0).all() else None,
        seats=frame[_SLOT].to_numpy().astype(np.int64)[order] if _SLOT in frame.columns else None,
        labels=SeatLabels(frame[_LABEL].to_numpy().astype(np.int64), group, texts) if _LABEL in frame.columns else None,
    )
