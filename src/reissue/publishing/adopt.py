"""adopt: releases that were published before there was a ledger, taken into it, so that the next one is safe with them.

A file as it went out is enough for attacks that read published columns. A private copy that kept the identifier column
lets attacks follow people too: identifiers become pseudonyms at once, and the column is not part of the release.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.places import format_of
from reissue.ledger.fingerprints import written_forms
from reissue.ledger.ledger import Ledger
from reissue.ledger.pack import ENDINGS, csv_bytes, pack_frame, pack_places
from reissue.ledger.recorded import Recorded, ReleaseRecord, releases_of, sent_of
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.ledger.store import Writer
    from reissue.published import PublishedRelease

__all__ = ["adopt"]


def adopt(
    ledger: Ledger,
    releases: Sequence[Any],
    *,
    recipients: Sequence[str] = (),
    dialect: Dialect = FOUND,
    schema: Schema | None = None,
) -> int:
    """Take releases (paths, dataframes, mappings of tables) into a ledger, in the order published; how many it has now.

    Only before the ledger's own first release: what comes in between could not be made safe any more. `schema` is for a
    ledger that is begun with these releases. Where the ledger's last releases are these already, from a run that was
    cut short after it, nothing is added.
    """
    _ = ledger.key
    with ledger.writing() as writer:
        before = releases_of(writer.entries)
        if any(not one.record.adopted for one in sent_of(before)):
            raise InputError(
                "Releases can be adopted only before the ledger's own first one: those were made without knowing them."
            )
        if schema is not None and not before:
            ledger.amend_by(writer, schema)
        records = [_taken(data, ledger, writer, sorted(set(recipients)), dialect) for data in releases]
        if _are_last(records, before, alone=schema is not None):
            return len(before)
        if schema is not None and before:
            raise InputError(
                f"There is a ledger at '{ledger.name}' already, with other releases. To adopt more, leave --schema out."
            )
        for record in records:
            writer.append("release", record.as_json())
        return len(releases_of(writer.entries))


def _are_last(records: Sequence[ReleaseRecord], before: Sequence[Recorded], *, alone: bool) -> bool:
    """Whether releases are the last ones of those before, or all of them; one that was withdrawn is none of them."""
    last = before[-len(records) :]
    if any(one.withdrawn is not None for one in last) or (alone and len(before) != len(records)):
        return False
    return bool(records) and [_mark(one.record) for one in last] == list(map(_mark, records))


def _mark(record: ReleaseRecord) -> tuple[Any, ...]:
    """What tells whether two adopted releases are the same one."""
    return record.csv, record.tables, record.recipients


def _taken(data: Any, ledger: Ledger, writer: "Writer", recipients: list[str], dialect: Dialect) -> ReleaseRecord:
    """What a release's entry says, its files kept."""
    from reissue.published import read_published

    schema = ledger.schema_of(writer.entries)
    release = read_published(data, schema, dialect=dialect)
    tables = dict(release.tables.frames)
    _check(tables, schema)
    files = {}
    if schema.identifier is not None and schema.identifier in next(iter(tables.values())).columns:
        files["roster"] = writer.keep(_roster(release, ledger.key.pseudonyms), ENDINGS["roster"])
        forms = written_forms(ledger.key, release.main[schema.identifier].drop_nulls())
        files["forms.adopted"] = writer.keep(pack_frame(forms), ENDINGS["forms"])
    else:
        files |= _originals(data, tables, writer)
    private = [name for name in (schema.identifier, schema.provider) if name is not None]
    tables = {name: frame.drop(private, strict=False) for name, frame in tables.items()}
    files |= {f"table.{name}": writer.keep(pack_frame(frame), ".parquet") for name, frame in tables.items()}
    return _record(tables, files, ledger, recipients)


def _check(tables: dict[str, pl.DataFrame], schema: Schema) -> None:
    from reissue.verify.check import check

    check(tables, Schema(dict(schema.columns)))


def _roster(release: "PublishedRelease", pseudonyms: Any) -> bytes:
    """Who is where in a private copy: rows without an identifier are nobody anyone knows."""
    ids = release.main[release.schema.identifier or ""]
    nobody = ids.is_null().to_numpy()
    known, strangers = np.flatnonzero(~nobody), np.flatnonzero(nobody)
    person = pseudonyms(ids.drop_nulls()).extend_constant(None, len(strangers))
    fake = pl.Series([None] * len(known) + [-1 - place for place in range(len(strangers))], dtype=pl.Int64)
    groups = pl.Series(release.group[np.concatenate([known, strangers])])
    each = np.repeat(np.arange(release.values.height), release.weights)
    values = release.values[each].select(release.schema.sensitive)
    return pack_places(groups, person, fake, pl.Series(release.value_group[each]), values)


def _originals(data: Any, tables: dict[str, pl.DataFrame], writer: "Writer") -> dict[str, str]:
    """The file itself, where there is one: it is exported as it was."""
    if len(tables) != 1 or not isinstance(data, str | Path) or not Path(data).is_file():
        return {}
    return {f"original.{next(iter(tables))}": writer.keep(Path(data).read_bytes(), format_of(Path(data)))}


def _record(
    tables: dict[str, pl.DataFrame], files: dict[str, str], ledger: Ledger, recipients: list[str]
) -> ReleaseRecord:
    from reissue._version import __version__

    first = next(iter(tables.values()))
    return ReleaseRecord(
        adopted=True,
        counterfeits=None,
        csv={name: hashlib.sha256(csv_bytes(frame)).hexdigest() for name, frame in tables.items()},
        date=None,
        files=files,
        findings={"verdict": None, "findings": []},
        groups=None,
        kinds={},
        method="unknown",
        promises={},
        recipients=tuple(recipients),
        reissue=__version__,
        request="",
        requirement=str(ledger.policy.require),
        rows=first.height,
        suppressed=None,
        tables=tuple(tables),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
