"""What every place of a ledger must keep: entries in order, all or nothing, one writer, files as they were written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reissue.errors import InputError
from reissue.ledger.chain import content_name
from reissue.ledger.store import MissingFileError, NoLedgerError, Store
from reissue.testing.contract import ContractError, expect

__all__ = ["check_store"]


def check_store(place: str | Path) -> None:
    """Check a new place of a ledger: a folder that is not there yet, or an empty database."""
    with _refused(NoLedgerError, "a place without a ledger is not opened"):
        Store.open(place).close()
    store = Store.open(place, make=True)
    try:
        _check_entries(store)
        _check_failure(store)
        _check_writers(store, place)
        _check_files(store)
    finally:
        store.close()
    again, first = Store.begun(place)
    expect(first.kind == "begin", "what was written is there when it is opened again")
    again.close()


def _seal(_: bytes) -> str:
    return "0" * 64


@contextmanager
def _refused(kind: type[Exception], promise: str) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise ContractError(promise)


def _check_entries(store: Store) -> None:
    with store.writing(_seal) as writer:
        for number, kind in enumerate(("begin", "release", "release"), start=1):
            expect(writer.append(kind, {"number": number}).number == number, "entries are numbered from 1")
    found = store.entries()
    expect([entry.kind for entry in found] == ["begin", "release", "release"], "entries keep their order")
    expect([entry.said["number"] for entry in found] == [1, 2, 3], "entries keep their content")


def _check_failure(store: Store) -> None:
    """A publisher who is interrupted has written nothing."""
    before = store.entries()
    with _refused(_InterruptedError, "what interrupts a writer is not swallowed"), store.writing(_seal) as writer:
        writer.append("release", {"number": 4})
        raise _InterruptedError
    expect(store.entries() == before, "an interrupted writer leaves no entry")


class _InterruptedError(Exception):
    """Something went wrong in the middle."""


def _check_writers(store: Store, place: str | Path) -> None:
    other = Store.open(place)
    try:
        with (
            store.writing(_seal),
            _refused(InputError, "there is one writer at a time"),
            other.writing(_seal) as writer,
        ):
            writer.append("release", {})
    finally:
        other.close()


def _check_files(store: Store) -> None:
    with store.writing(_seal) as writer:
        kept, needless = writer.keep(b"kept", ".bin"), writer.keep(b"needless", ".bin")
    expect(kept == content_name(b"kept", ".bin"), "a file is named by its content")
    expect(store.read(kept) == b"kept", "a file is read as it was written")
    with store.writing(_seal) as writer:
        writer.remove_all_but([kept])
    expect(store.read(kept) == b"kept", "a file that is needed stays")
    with _refused(MissingFileError, "a file that is not there is missed"):
        store.read(needless)
