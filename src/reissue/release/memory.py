"""The private memory of a series: what a method must know of earlier releases, in one file until a ledger keeps it.

A memory is a mapping: `series` (a fingerprint of the schema's roles), `method`, `key`, `values` (the sensitive values
seen so far; a value's row is its stable number), `rows` (quasi-identifiers of remembered records, as values) and
`state`, the method's own arrays. People are in it as numbers, keyed hashes of their identifiers (SipHash under `key`).
The file must stay private all the same, since whoever has it can test a guess.

`enter` turns a table and a memory into what a method works with; `keep` turns what the method leaves into a memory.
"""

import hashlib
import io
import json
import secrets
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.cells import Domain
from reissue.counting.siphash import siphash
from reissue.data.identifiers import identifier_texts, refuse_strangers
from reissue.data.table import Table
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.places import refuse_existing
from reissue.files.tables import write_private
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare

__all__ = ["Memory", "SeriesTable", "enter", "fingerprint", "keep", "load_memory", "pack_memory", "save_memory"]

VERSION = 1
CODES = "codes"
"""The key of a method's state that holds leaf codes (quasi-identifiers x records); they are kept as values."""
_LIVE = "live_people"
"""The key of a method's state that holds the numbers of the people in the last release."""
Memory = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """A table of a series, in terms that last."""

    table: Table
    people: Ints
    """Row to its person's number."""
    stable_code: Ints
    """Sensitive code to its value's number; -1 for values that nobody has had so far."""
    state: Mapping[str, Any]
    """What the method left after the release before."""
    values: pl.DataFrame
    key: bytes


def fingerprint(schema: Schema) -> str:
    """Names a series: the columns that are followed through it, and their roles."""
    followed = (Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE)
    roles = {str(role): sorted(schema.of(role)) for role in followed}
    return hashlib.sha256(json.dumps(roles, sort_keys=True).encode()).hexdigest()[:16]


def enter(table: Table, memory: Memory, method: str, *, newcomers: bool = False) -> SeriesTable:
    """A table as the next one of a series; an empty memory begins one. `newcomers` lets hardly anybody return."""
    ids = table.ids
    if ids is None:
        raise SchemaError(f"The method '{method}' follows people, but the schema names no identifier column.")
    if not table.schema.sensitive:
        raise SchemaError(f"The method '{method}' needs a sensitive column, and the schema names none.")
    _check(memory, table.schema, method)
    key = memory.get("key") or secrets.token_bytes(16)
    past = memory.get("values", table.frame.select(table.schema.sensitive).clear())
    table = _knowing(table, past, memory.get("rows"))
    stable_code, values = _stable_codes(table, past)
    state = dict(memory.get("state", {}))
    if "rows" in memory:
        state[CODES] = _codes(table.codings, memory["rows"])
    people = siphash(identifier_texts(ids), key)
    if not newcomers and _LIVE in state:
        refuse_strangers(state[_LIVE], people)
    return SeriesTable(table, people, stable_code, state, values, key)


def keep(entry: SeriesTable, state: Mapping[str, Any], method: str) -> Memory:
    """The memory after a release, from what the method leaves."""
    memory = {
        "series": fingerprint(entry.table.schema),
        "method": method,
        "key": entry.key,
        "values": entry.values,
        "state": {name: value for name, value in state.items() if name != CODES},
    }
    if CODES not in state or not state[CODES].shape[1]:
        return memory
    names, kinds = entry.table.schema.quasi, entry.table.frame.schema
    columns = zip(names, entry.table.codings, state[CODES], strict=True)
    return {**memory, "rows": pl.DataFrame([c.decode(codes).alias(n).cast(kinds[n]) for n, c, codes in columns])}


def _check(memory: Memory, schema: Schema, method: str) -> None:
    if memory and memory["series"] != fingerprint(schema):
        raise InputError(
            "This memory belongs to another series: its identifier, quasi-identifiers or sensitive columns differ "
            "from the schema's. Give the memory of this series, or begin a new one."
        )
    if memory and memory["method"] != method:
        raise InputError(
            f"This memory was left by the method '{memory['method']}'; '{method}' cannot continue it. A series keeps "
            "its method."
        )


def _knowing(table: Table, values: pl.DataFrame, rows: pl.DataFrame | None) -> Table:
    """The table coded so that all remembered values have a code too."""
    codings = _extended(table, table.schema.quasi, table.codings, rows)
    hidden = _extended(table, table.schema.sensitive, table.secrets, values)
    if codings == table.codings and hidden == table.secrets:
        return _with_pairs(table, values)
    again = Table.read(table.frame, table.schema, codings=codings, secrets=hidden)
    return _with_pairs(replace(again, back=table.back), values)


def _extended(
    table: Table, names: Sequence[str], codings: tuple[Coding, ...], past: pl.DataFrame | None
) -> tuple[Coding, ...]:
    if past is None or not past.height:
        return codings
    wider = []
    for name, coding in zip(names, codings, strict=True):
        column = past[name].unique().cast(table.frame.schema[name])
        _, lacking = coding.encode(prepare(column, coding.hierarchy))
        if len(lacking):
            both = table.frame[name].append(column)
            wider.append(Coding.build(coding.hierarchy, prepare(both, coding.hierarchy)))
        else:
            wider.append(coding)
    return tuple(wider)


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
    numbered = past.with_row_index("number").with_columns(pl.col("number").cast(pl.Int64))
    found = now.join(numbered, on=now.columns, how="left", nulls_equal=True, maintain_order="left")["number"]
    new = found.is_null() & pl.Series(table.domain.totals > 0)
    number = found.fill_null(-1).to_numpy().copy()
    number[new.to_numpy()] = past.height + np.arange(int(new.sum()))
    return number, pl.concat([past, now.filter(new)])


# --- files -----------------------------------------------------------------------------------------------------------

_FRAMES = ("values", "rows")


def save_memory(memory: Memory, path: str | Path, *, force: bool = False) -> None:
    """Write a memory file, whole or not at all, readable by its owner only."""
    refuse_existing(path, force=force, table=False)
    write_private(pack_memory(memory), path, force=force)


def pack_memory(memory: Memory) -> bytes:
    """A memory as the content of its file."""
    state = memory["state"]
    arrays = {f"state.{name}": value for name, value in state.items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in state.items() if not isinstance(value, np.ndarray)}
    header = {"reissue memory": VERSION, "series": memory["series"], "method": memory["method"], "state": numbers}
    arrays["header"] = np.frombuffer(json.dumps({**header, "key": memory["key"].hex()}).encode(), np.uint8)
    for name in _FRAMES:
        if name in memory:
            written = io.BytesIO()
            memory[name].write_ipc(written)
            arrays[f"frame.{name}"] = np.frombuffer(written.getvalue(), np.uint8)
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    return packed.getvalue()


def load_memory(path: str | Path) -> Memory:
    """Read a memory file."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no memory file '{path}'.")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as packed:
            arrays = {name: packed[name] for name in packed.files}
        header = json.loads(arrays["header"].tobytes())
        version = int(header["reissue memory"])
        frames = {n: pl.read_ipc(io.BytesIO(arrays[f"frame.{n}"].tobytes())) for n in _FRAMES if f"frame.{n}" in arrays}
        state = {name.removeprefix("state."): value for name, value in arrays.items() if name.startswith("state.")}
        memory = {"series": header["series"], "method": header["method"], "key": bytes.fromhex(header["key"]), **frames}
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, pl.exceptions.PolarsError):
        raise DataError(f"'{path}' is not a memory file of Reissue, or it is damaged.") from None
    if version > VERSION:
        raise DataError(f"The memory file '{path}' was written by a later version of Reissue. Update Reissue first.")
    return {**memory, "state": {**state, **header["state"]}}
