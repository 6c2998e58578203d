"""The private memory of a series: what a method must know of earlier releases, in one file until a ledger keeps it.

People are in it as numbers, keyed hashes of their identifiers (SipHash under `key`). The file must stay private all the
same, since whoever has it can test a guess.

`enter` turns a table and a memory into what a method works with; `keep` turns what the method leaves into a memory.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Domain
from reissue.counting.hashing import siphash
from reissue.data.identifiers import identifier_texts, refuse_strangers
from reissue.data.table import Table
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.places import refuse_existing
from reissue.files.tables import write_private
from reissue.release.states import pack_state, unpack_state
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare

__all__ = [
    "Memory",
    "MethodState",
    "SeriesFile",
    "SeriesTable",
    "enter",
    "fingerprint",
    "keep",
    "load_memory",
    "load_series",
    "pack_memory",
    "read_memory",
    "save_memory",
    "widened",
]


_NUMBER = "\0number"
"""Beside columns of the user, so of a name that none of them has."""
Kept = TypeVar("Kept", "Memory", "SeriesFile")
_BATCH = 250_000
"""Identifiers that are texts at a time."""


@dataclass(frozen=True, eq=False)
class MethodState:
    """What a method leaves for the next release; every stateful method has a class of its own, with a VERSION."""

    VERSION: ClassVar[int] = 1

    @property
    def people(self) -> Ints:
        """The numbers of the people in the last release."""
        raise NotImplementedError

    @property
    def codes(self) -> Codes | None:
        """Quasi-identifiers x remembered records: leaf codes, which may change and so are kept as values."""
        return None

    def with_codes(self, codes: Codes) -> Self:
        """The same with other codes of these records."""
        del codes
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Memory:
    """What is remembered after a release, or before the first one of a series whose key is known."""

    VERSION: ClassVar[int] = 2

    series: str
    """A fingerprint of the schema's roles."""
    method: str
    key: bytes
    values: pl.DataFrame | None = None
    """The sensitive values seen so far; a value's row is its stable number."""
    rows: pl.DataFrame | None = None
    """Quasi-identifiers of remembered records, as values."""
    state: bytes = b""
    """What the method left, as bytes that only the method can read; none before the first release."""


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """A table of a series, in terms that last."""

    table: Table
    people: Ints
    """Row to its person's number."""
    stable_code: Ints
    """Sensitive code to its value's number; -1 for values that nobody has had so far."""
    state: MethodState | None
    """What the method left after the release before; None for a first one."""
    values: pl.DataFrame
    key: bytes


def fingerprint(schema: Schema) -> str:
    """Names a series: the columns that are followed through it, and their roles."""
    followed = (Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE)
    roles = {str(role): sorted(schema.of(role)) for role in followed}
    return hashlib.sha256(json.dumps(roles, sort_keys=True).encode()).hexdigest()[:16]


def enter(
    table: Table, memory: Memory | None, method: str, kind: type[MethodState], *, newcomers: bool = False
) -> SeriesTable:
    """A table as the next one of a series by a method whose states are of a kind; no memory begins one.

    `newcomers` lets hardly anybody return.
    """
    ids = table.ids
    if ids is None:
        raise SchemaError(f"The method '{method}' follows people, but the schema names no identifier column.")
    if not table.schema.sensitive:
        raise SchemaError(f"The method '{method}' needs a sensitive column, and the schema names none.")
    memory = memory or Memory(fingerprint(table.schema), method, secrets.token_bytes(16))
    _check(memory, table.schema, method)
    state = _state(memory, kind)
    unseen = pl.DataFrame(schema={name: table.kinds[name] for name in table.schema.sensitive})
    past = unseen if memory.values is None else memory.values
    table = _knowing(table, past, memory.rows)
    stable_code, values = _stable_codes(table, past)
    some = (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))
    people = np.concatenate([siphash(identifier_texts(one), memory.key) for one in some])
    if state is not None:
        none = np.empty((len(table.codings), 0), np.int32)
        state = state.with_codes(none if memory.rows is None else _codes(table.codings, memory.rows))
        if not newcomers:
            refuse_strangers(state.people, people)
    return SeriesTable(table, people, stable_code, state, values, memory.key)


def _state(memory: Memory, kind: type[MethodState]) -> MethodState | None:
    if not memory.state:
        return None
    state = unpack_state(kind, memory.state)
    if state is None:
        raise DataError(_OTHER.format("The memory of this series"))
    return state


def keep(entry: SeriesTable, state: MethodState, method: str) -> Memory:
    """The memory after a release, from what the method leaves."""
    codes, rows = state.codes, None
    if codes is not None and codes.shape[1]:
        names, kinds = entry.table.schema.quasi, entry.table.kinds
        columns = zip(names, entry.table.codings, codes, strict=True)
        rows = pl.DataFrame([coding.decode(own).alias(name).cast(kinds[name]) for name, coding, own in columns])
    packed = pack_state(state if codes is None else state.with_codes(codes[:, :0]))
    return Memory(fingerprint(entry.table.schema), method, entry.key, entry.values, rows, packed)


def _check(memory: Memory, schema: Schema, method: str) -> None:
    if memory.series != fingerprint(schema):
        raise InputError(
            "This memory belongs to another series: its identifier, quasi-identifiers or sensitive columns differ "
            "from the schema's. Give the memory of this series, or begin a new one."
        )
    if memory.method != method:
        raise InputError(
            f"This memory was left by the method '{memory.method}'; '{method}' cannot continue it. A series keeps "
            "its method."
        )


def _knowing(table: Table, values: pl.DataFrame, rows: pl.DataFrame | None) -> Table:
    """The table coded so that all remembered values have a code too."""
    codings = _extended(table, table.schema.quasi, table.codings, rows)
    hidden = _extended(table, table.schema.sensitive, table.secrets, values)
    if codings == table.codings and hidden == table.secrets:
        return _with_pairs(table, values)
    again = Table.read(table.frame, table.schema, codings=codings, secrets=hidden, repair=False)
    return _with_pairs(replace(again, back=table.back), values)


def _extended(
    table: Table, names: Sequence[str], codings: tuple[Coding, ...], past: pl.DataFrame | None
) -> tuple[Coding, ...]:
    if past is None or not past.height:
        return codings
    return tuple(
        widened(coding, past[name].cast(table.kinds[name]), lambda name=name: table.frame[name])  # type: ignore[misc]
        for name, coding in zip(names, codings, strict=True)
    )


def widened(coding: Coding, past: pl.Series, own: Callable[[], pl.Series]) -> Coding:
    """The coding of a column that codes remembered values too; the column itself is asked for if some are new to it."""
    past = past.unique()
    _, lacking = coding.encode(prepare(past, coding.hierarchy))
    if not len(lacking):
        return coding
    return Coding.build(coding.hierarchy, prepare(own().append(past), coding.hierarchy))


def _with_pairs(table: Table, values: pl.DataFrame) -> Table:
    """With a joint code for every remembered combination of several sensitive columns."""
    if len(table.secrets) < 2 or not values.height:
        return table
    past = _codes(table.secrets, values.select(table.schema.sensitive))
    known = set(map(tuple, table.joint.T.tolist()))
    lacking = [pair for pair in map(tuple, past.T.tolist()) if pair not in known]
    joint = np.hstack([table.joint, np.array(lacking, np.int32).reshape(-1, len(table.secrets)).T])
    totals = np.append(table.domain.totals, np.zeros(len(lacking), np.int64))
    return replace(table, joint=joint, domain=Domain(totals, table.domain.taxonomy))


def _codes(codings: Sequence[Coding], frame: pl.DataFrame) -> Any:
    """The codes of a small frame's columns, in the codings' order."""
    columns = [
        coding.encode(prepare(column, coding.hierarchy))[0] for coding, column in zip(codings, frame, strict=True)
    ]
    return np.stack(columns)


def _stable_codes(table: Table, past: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """Sensitive code to its stable number, and all values in the order of their numbers: the past ones first."""
    now = table.decode(np.arange(table.domain.size, dtype=np.int32))
    past = past.cast(now.schema)
    numbered = past.with_row_index(_NUMBER).with_columns(pl.col(_NUMBER).cast(pl.Int64))
    found = now.join(numbered, on=now.columns, how="left", nulls_equal=True, maintain_order="left")[_NUMBER]
    new = found.is_null() & pl.Series(table.domain.totals > 0)
    number = found.fill_null(-1).to_numpy().copy()
    number[new.to_numpy()] = past.height + np.arange(int(new.sum()))
    return number, pl.concat([past, now.filter(new)])


# --- files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class SeriesFile:
    """What the memory file of a series holds: enough to make the last releases again, should their maker be killed."""

    VERSION: ClassVar[int] = Memory.VERSION

    memory: Memory
    before: Memory
    """The one that the last run went on from."""
    mark: str
    """Tells the last run's tables, and what was asked, from any other; to those who have the memory's key."""


_ZIPPED = b"PK"
"""How memory files of earlier versions begin."""
_OTHER = (
    "{} was kept by another version of Reissue, in a form that this one does not read. Continue the series with the "
    "version that wrote it; or begin a new one, in a ledger after adopting the earlier releases."
)


def save_memory(memory: Memory, path: str | Path, *, force: bool = False) -> None:
    """Write a memory file, whole or not at all, readable by its owner only."""
    refuse_existing(path, force=force, table=False)
    write_private(pack_memory(memory), path, force=force)


def pack_memory(memory: Memory | SeriesFile) -> bytes:
    """A memory as the content of its file."""
    return pack_state(memory)


def load_memory(path: str | Path) -> Memory:
    """Read a memory file."""
    return load_series(path).memory


def load_series(path: str | Path) -> SeriesFile:
    """Read a memory file, with what it tells of the run that wrote it."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no memory file '{path}'.")
    content, what = path.read_bytes(), f"The file '{path}'"
    found = _read(SeriesFile, content, what)
    if found is not None:
        return found
    memory = read_memory(content, what)
    return SeriesFile(memory, memory, "")


def read_memory(content: bytes, what: str) -> Memory:
    """A memory again; `what` it is read from begins the sentence that says why not."""
    memory = _read(Memory, content, what)
    if memory is None:
        raise DataError(_OTHER.format(what))
    return memory


def _read(kind: type[Kept], content: bytes, what: str) -> Kept | None:
    try:
        return None if content.startswith(_ZIPPED) else unpack_state(kind, content)
    except (ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError):
        raise DataError(f"{what} is not a memory file of Reissue, or it is damaged.") from None
