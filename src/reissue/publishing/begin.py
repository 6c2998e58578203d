"""begin: a ledger that is begun for one piece of work, and taken back with its key if the work fails.

So that bad input leaves nothing behind, not even an empty ledger. A ledger in which a release was recorded stays.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from reissue.data.outputs import ledger_inputs
from reissue.errors import InputError, InternalError
from reissue.files.places import LEDGER_FILE
from reissue.files.staging import scratch_folder
from reissue.ledger.ledger import Ledger
from reissue.ledger.recorded import releases_of
from reissue.ledger.store import NoLedgerError, Store, is_url
from reissue.schema import Schema

__all__ = ["begun", "ledger_at"]


@contextmanager
def begun(
    place: str | Path,
    schema: Schema,
    *,
    key: str | Path | None = None,
    head: Path | None = None,
    second: bool = True,
) -> Iterator[Ledger]:
    """A new ledger, open; if what is done with it fails before a release is recorded, it was never there."""
    paths = [one.path for one in ledger_inputs(str(place), None if key is None else Path(key))]
    new = [path for path in paths if not os.path.lexists(path)]
    ours = not is_url(place) and not (Path(place) / LEDGER_FILE).exists()
    try:
        with Ledger.create(place, schema, key=key, head=head, second=second) as ledger:
            ours = True
            new += [] if ledger.second_file is None else [ledger.second_file]
            yield ledger
    except BaseException:
        if ours:
            _take_back(place, new)
        raise


@contextmanager
def ledger_at(
    place: str | Path, schema: Schema | None = None, *, key: str | Path | None = None, dry_run: bool = False
) -> Iterator[Ledger]:
    """The ledger at a place, open; where there is none, one that begins with the schema, if that is given.

    For a dry run it begins in a folder that goes away.
    """
    try:
        ledger = Ledger.open(place, key=key)
    except NoLedgerError:
        if schema is None:
            raise
    else:
        with ledger:
            yield ledger
        return
    if not dry_run:
        with begun(place, schema, key=key) as ledger:
            yield ledger
        return
    with scratch_folder() as scratch, begun(scratch / "dry", schema, head=scratch / "dry.head", second=False) as ledger:
        yield ledger


def _take_back(place: str | Path, new: list[Path]) -> None:
    """Remove the ledger as its only writer, so that nobody else has recorded anything in it."""
    removed = False
    with suppress(InputError, OSError), closing(Store.open(place)) as store, store.writing(_nothing_to_seal) as writer:
        if releases_of(writer.entries):
            return
        # First the head: without a ledger it would say that one was lost.
        _remove(path for path in new if path.suffix == ".head")
        if store.folder is None:
            store.drop(writer.connection)
        else:
            for path in Path(place).glob(f"{LEDGER_FILE}*"):
                path.unlink(missing_ok=True)
            shutil.rmtree(store.folder, ignore_errors=True)
        removed = True
    if removed:  # a ledger that somebody else writes to just now keeps its key
        _remove(new)


def _nothing_to_seal(_: bytes) -> str:
    raise InternalError("Nothing is added to a ledger that is taken back.")


def _remove(paths: Iterable[Path]) -> None:
    """Remove files, and folders unless somebody else's files are in them."""
    for path in paths:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
