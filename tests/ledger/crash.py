"""Publishes in forked children and kills them: `python -m tests.ledger.crash FOLDER ATTEMPTS SEED`.

FOLDER holds `base.ledger` with its key and `next.parquet`. This process only imports; it never computes, so that
forking it is safe and costs nothing. Each attempt works on a copy of the ledger. The first attempts kill themselves at
each step that touches the disk in turn; the others are killed from outside at a random time. Prints one JSON object.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa
import sqlalchemy.dialects.sqlite

import reissue.publishing.gate  # noqa: F401
from reissue import algorithms, attacks
from reissue.ledger import Ledger
from reissue.ledger.head import read_head
from reissue.ledger.store import Writer
from reissue.publishing.publish import publish_next

SEVENTH = 7
_ALL = 200
"""With so many attempts a publisher dies at every step that touches the disk, with fewer at every second one."""
Outcome = dict[str, Any]


def hash_of(ledger: Ledger, number: int) -> str:
    """All tables of a release in one hash."""
    return hashlib.sha256(json.dumps(ledger.release(number).record.csv, sort_keys=True).encode()).hexdigest()


def child(work: Callable[[], object]) -> int:
    """Run something in a child; its process number."""
    number = os.fork()
    if number == 0:
        try:
            work()
            os._exit(0)
        except BaseException as problem:  # noqa: BLE001
            sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
            sys.stderr.flush()
            os._exit(SEVENTH)
    return number


def die_at(step: int) -> None:
    """Make this process kill itself when it touches the disk for the given time."""
    seen = 0

    def count(*_: object, **__: object) -> None:
        nonlocal seen
        seen += 1
        if seen > step:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            count()
            outcome = call(*given, **named)
            count()
            return outcome

        return counted

    os.fsync = around(os.fsync)
    tempfile.mkstemp = around(tempfile.mkstemp)
    Path.replace = around(Path.replace)  # type: ignore[method-assign]
    Path.unlink = around(Path.unlink)  # type: ignore[method-assign]
    Writer.keep = around(Writer.keep)  # type: ignore[method-assign]
    Writer.append = around(Writer.append)  # type: ignore[method-assign]
    sa.Connection._commit_impl = around(sa.Connection._commit_impl)  # type: ignore[method-assign]


def publish(folder: Path, step: int | None = None) -> None:
    """Publish the next table with the ledger in a folder."""
    with Ledger.open(folder / "base.ledger") as ledger:
        table = pl.read_parquet(folder / "next.parquet")
        if step is not None:
            die_at(step)
        publish_next(table, ledger)


def look(folder: Path) -> None:
    """What a crash left, and what publishing again gives; written beside the ledger."""
    with Ledger.open(folder / "base.ledger") as ledger:
        found: Outcome = {"problems": ledger.verify(), "releases": len(ledger.releases), "ahead": ahead(folder, ledger)}
        found["left"] = hash_of(ledger, 2) if found["releases"] == 2 else None
        publish_next(pl.read_parquet(folder / "next.parquet"), ledger)
        found |= {
            "again": hash_of(ledger, 2),
            "total": len(ledger.releases),
            "then": ledger.verify(),
            "at last": ahead(folder, ledger),
        }
        files = {path.name for path in (folder / "base.ledger" / "files").iterdir()}
        named = {name for entry in ledger.entries() for name in entry.files.values()}
        found["stray"] = len(files - named) if found["left"] is None else 0
    (folder / "found.json").write_text(json.dumps(found))


def ahead(folder: Path, ledger: Ledger) -> int:
    """By how many entries a ledger is ahead of its head."""
    head = read_head(folder / "base.ledger.head")
    assert head is not None
    return len(ledger.entries()) - head.number


def attempt(base: Path, place: Path, wait: float | None, step: int | None) -> Outcome:
    """One crash on a copy of the ledger."""
    shutil.copytree(base, place)
    started = time.monotonic()
    number = child(lambda: publish(place, step))
    if wait is not None:
        time.sleep(wait)
        os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    took = time.monotonic() - started
    killed = os.WIFSIGNALED(status)
    _, status = os.waitpid(child(lambda: look(place)), 0)
    if status:
        raise SystemExit("looking at what a crash left failed")
    found: Outcome = json.loads((place / "found.json").read_text())
    shutil.rmtree(place)
    return {**found, "killed": killed, "took": took}


def main() -> None:
    """All attempts."""
    base, attempts, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311
    algorithms.registered()
    attacks.registered()
    work = Path(tempfile.mkdtemp(prefix="reissue-crash-"))
    try:
        whole = attempt(base, work / "whole", None, None)
        found: list[Outcome] = []
        step = 0
        while len(found) < attempts:
            found.append(attempt(base, work / str(step), None, step))
            step += 1 if attempts >= _ALL else 2
            if not found[-1]["killed"]:
                break
        while len(found) < attempts:
            wait = rng.random() * whole["took"] * 1.1
            found.append(attempt(base, work / str(len(found)), wait, None))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.stdout.write(json.dumps({"whole": whole, "steps": step, "found": found}))


if __name__ == "__main__":
    main()
