"""begin: a ledger that is begun for one piece of work, and taken back with its key if the work fails.

So that bad input leaves nothing behind, not even an empty ledger. A ledger in which a release was recorded stays.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reissue.data.outputs import ledger_inputs
from reissue.errors import InputError
from reissue.files import LEDGER_FILE
from reissue.ledger._recorded import releases_of
from reissue.ledger.ledger import Ledger
from reissue.schema import Schema

__all__ = ["begun"]


@contextmanager
def begun(
    place: str | Path, schema: Schema, *, key: str | Path | None = None, head: Path | None = None
) -> Iterator[Ledger]:
    """A new ledger, open; if what is done with it fails before a release is recorded, it was never there."""
    paths = [one.path for one in ledger_inputs(str(place), None if key is None else Path(key))]
    new = [path for path in paths if not os.path.lexists(path)]
    ledger = None
    try:
        ledger = Ledger.create(place, schema, key=key, head=head)
        with ledger:
            yield ledger
    except BaseException:
        if ledger is not None:
            _take_back(ledger, new)
        else:
            _remove_empty(new)
        raise


def _take_back(ledger: Ledger, new: list[Path]) -> None:
    """Remove the ledger as its only writer, so that nobody else has recorded anything in it."""
    with suppress(InputError, OSError), ledger.store.writing(ledger.key.seal) as writer:
        if releases_of(writer.entries):
            return
        # First the head: without a ledger it would say that one was lost.
        _remove_empty([path for path in new if path == ledger.head_file])
        if ledger.store.folder is None:
            ledger.store.drop(writer.connection)
            return
        folder = ledger.store.folder.parent
        for path in folder.glob(f"{LEDGER_FILE}*"):
            path.unlink(missing_ok=True)
        shutil.rmtree(ledger.store.folder, ignore_errors=True)
        _remove_empty(new)


def _remove_empty(new: list[Path]) -> None:
    """Remove what was made for the ledger: its folder, unless somebody else's files are in it, and its key."""
    for path in new:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
