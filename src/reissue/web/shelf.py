"""The shelf: ledgers that this steward has opened, and those that lie in the folder where the page was opened."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from reissue.errors import InputError
from reissue.files.places import LEDGER_FILE, state_folder
from reissue.files.tables import write_private
from reissue.language import text
from reissue.ledger.store import is_url
from reissue.web.uploads import plain_name

__all__ = ["Shelf"]

_MOST = 12
"""Ledgers that are remembered."""


def _memory() -> Path:
    """Where it is remembered which ledgers were opened: a list of folders, nothing that is in them."""
    return (state_folder() or Path(os.devnull)) / "ledgers.json"


@dataclass(frozen=True, eq=False)
class Shelf:
    """Ledgers by the short name that addresses of pages give them."""

    folder: Path
    """Where new ledgers go."""
    given: tuple[str, ...] = ()
    """Those that were named when the page was opened."""
    memory: Path = field(default_factory=_memory)

    def places(self) -> Mapping[str, str]:
        """Short name to place; those named first, then those opened last, then those in the folder."""
        near: list[str] = []
        with suppress(OSError):
            near = sorted(str(path.parent) for path in self.folder.glob(f"*/{LEDGER_FILE}"))
        found = [*self.given, *self._remembered(), *near]
        kept = [place for place in map(_absolute, found) if is_url(place) or (Path(place) / LEDGER_FILE).is_file()]
        return {_short(place): place for place in dict.fromkeys(kept)}

    def place(self, short: str) -> str:
        """The place of a short name."""
        places = self.places()
        if short not in places:
            raise InputError(text("This ledger is not there. Open it by `reissue open LEDGER`."))
        return places[short]

    @staticmethod
    def short(place: str) -> str:
        """The short name of a place."""
        return _short(_absolute(place))

    def new(self, name: str) -> str:
        """The place of a ledger that is to begin: a folder of this name, never a path."""
        plain = plain_name(name)
        if plain != name.strip() or not name.strip():
            raise InputError(
                text("Name the ledger with letters, digits, dots and dashes, for example hospital.ledger.")
            )
        if (self.folder / plain / LEDGER_FILE).is_file():
            raise InputError(
                text(
                    "There is a ledger of this name already. Choose another name, or go to its page and publish there."
                )
            )
        return str(self.folder / plain)

    def take(self, folder: str) -> str:
        """Put a ledger in any folder of this machine first; its short name."""
        path = Path(folder.strip()).expanduser()
        place = path if path.is_absolute() else self.folder / path
        if not folder.strip() or is_url(folder) or not (place / LEDGER_FILE).is_file():
            raise InputError(
                text("There is no ledger in this folder. A ledger is a folder with a file `ledger.sqlite` in it.")
            )
        return self.remember(str(place))

    def remember(self, place: str) -> str:
        """Put a ledger first; its short name. An address of a database may hold a password, and is not remembered."""
        place = _absolute(place)
        if not is_url(place):
            kept = [one for one in self._remembered() if one != place]
            with suppress(OSError, InputError):
                self.memory.parent.mkdir(parents=True, exist_ok=True)
                write_private(json.dumps([place, *kept][:_MOST]).encode(), self.memory, force=True)
        return _short(place)

    def _remembered(self) -> list[str]:
        with suppress(OSError, ValueError):
            found = json.loads(self.memory.read_text(encoding="utf-8"))
            return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
        return []


def _absolute(place: str) -> str:
    return place if is_url(place) else str(Path(place).absolute())


def _short(place: str) -> str:
    return hashlib.sha256(place.encode()).hexdigest()[:12]
