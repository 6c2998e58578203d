"""The reader process for files from outside: `python -m reissue.files.reader` answers requests on standard input.

A request is JSON; an answer is JSON and, for a table, Arrow streams of some rows each, so that neither side ever holds
a second copy of the whole table.
"""

import io
import json
import os
import signal
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import polars as pl

from reissue.errors import InputError, ReadingNote
from reissue.files.child import LAST, MORE, receive, send
from reissue.files.databases import DatabaseTable, read_duckdb
from reissue.files.dialect import Dialect
from reissue.files.excel import sheets_here
from reissue.files.grid import grid_facts, read_grid_here
from reissue.files.limits import ENVIRONMENT, keep_no_core_file, limit_holds, limit_this_process, memory_in_use
from reissue.files.tables import detect_dialect_here, read_here

__all__ = ["main"]

_PART = 2**25
"""Approximate bytes of a table that are sent at a time."""
_KEPT = 2**28
"""Bytes that libraries may keep after a table; beyond that, a fresh reader answers the next request."""
_FIRST_TO_GO = "900"
"""Linux's OOM score from -1000 to 1000: the reader is killed before the process that asked."""


def main() -> None:
    """Answer requests until there are no more."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)  # the output of libraries is not an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the process that asked, which stops this one
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="ascii")
    keep_no_core_file()
    _warm_up()
    send(answers, b"ready")
    started = memory_in_use()
    with suppress(EOFError, BrokenPipeError):
        more = True
        while more:
            _answer(json.loads(receive(requests)), answers, started)
            more = memory_in_use() < started + _KEPT
            send(answers, MORE if more else LAST)


def _warm_up() -> None:
    """Start the threads of Polars, whose stacks would otherwise count as memory of the file."""
    held = io.BytesIO()
    pl.DataFrame({"a": [1, 2]}).write_parquet(held)
    pl.scan_parquet(held.getvalue()).group_by("a").len().collect()


def _end_with_parent(parent: int) -> None:
    """End when the process that asked ends, even while reading."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _answer(request: dict[str, Any], answers: IO[bytes], started: int) -> None:
    said: dict[str, Any] = {}
    found: Any = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            os.chdir(request["folder"])
            os.environ[ENVIRONMENT] = str(request["most"] or "unlimited")
            limit_this_process(request["most"] and request["most"] + started)
            found = _VERBS[request["verb"]](request["given"])
        except InputError as problem:
            said = {"error": type(problem).__name__, "message": str(problem)}
        except BaseException as problem:  # noqa: BLE001  (a library's message could show data)
            lack = "capacity overflow" in str(problem)
            said = {"error": "MemoryError" if lack else type(problem).__name__, "message": ""}
    notes = [one.message for one in caught if isinstance(one.message, ReadingNote)]
    said["notes"] = [(note.fact, str(note).removeprefix(note.fact).strip()) for note in notes]
    if not isinstance(found, pl.DataFrame):
        send(answers, json.dumps(said | {"value": found}).encode())
        return
    rows = max(int(_PART * found.height / max(found.estimated_size(), 1)), 1)
    starts = range(0, max(found.height, 1), rows)
    send(answers, json.dumps(said | {"parts": len(starts)}).encode())
    for start in starts:
        held = io.BytesIO()
        found.slice(start, rows).write_ipc_stream(held)
        send(answers, held.getbuffer())


def _read(given: dict[str, Any]) -> pl.DataFrame:
    dialect = Dialect(**given.pop("dialect"))
    return read_here(Path(given.pop("path")), dialect=dialect, **given)


def _detect_dialect(given: dict[str, Any]) -> dict[str, Any]:
    return asdict(detect_dialect_here(Path(given["path"]), Dialect(**given["dialect"])))


def _limited(given: dict[str, Any]) -> bool:
    """Whether the memory limit of this request is enforced on this system."""
    return bool(given["most"]) and limit_holds(given["most"])


def _duckdb(given: dict[str, Any]) -> pl.DataFrame:
    return read_duckdb(DatabaseTable(**given))


def _sheets(given: dict[str, Any]) -> list[str]:
    return sheets_here(Path(given["path"]))


_VERBS = {
    "detect_dialect": _detect_dialect,
    "duckdb": _duckdb,
    "grid": read_grid_here,
    "grid_facts": grid_facts,
    "limited": _limited,
    "read": _read,
    "sheets": _sheets,
}


if __name__ == "__main__":
    main()
