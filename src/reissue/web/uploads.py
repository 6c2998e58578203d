"""Uploads: what a steward brings lies in a folder that only its owner can enter, for as long as it is needed."""

import os
import re
import secrets
import shutil
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from reissue.errors import InputError
from reissue.language import text

__all__ = ["Desk", "Desks", "plain_name"]

_STRANGE = re.compile(r"[^\w .+()-]")
_LONGEST = 100
_IDLE = 60 * 60
"""Seconds after which what lies on a desk that nobody touches is removed."""


def plain_name(given: str) -> str:
    """The last part of a file's name, with letters, digits and a few marks only: never a path."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    return _STRANGE.sub("_", last).strip(" .")[-_LONGEST:].lstrip(" .") or "file"


@dataclass(eq=False)
class Desk:
    """The files of one piece of work, by what they are for."""

    name: str
    folder: Path
    files: dict[str, list[Path]] = field(default_factory=dict)
    notes: dict[str, object] = field(default_factory=dict)
    """What was said about them so far."""
    touched: float = field(default_factory=time.monotonic)

    def keep(self, kind: str, name: str, content: BinaryIO) -> Path:
        """Write one file; a second one of the same name gets a number."""
        folder = self.folder / kind
        folder.mkdir(mode=0o700, exist_ok=True)
        path = _free(folder, plain_name(name))
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            shutil.copyfileobj(content, file, 2**20)
        self.files.setdefault(kind, []).append(path)
        return path

    def refuse_without(self, kind: str) -> None:
        """Stop where no file was sent."""
        if not self.files.get(kind):
            raise InputError(text("No file was chosen. Go back and choose one."))

    @property
    def schema(self) -> str:
        """The path of the schema file, beside which other files may lie; empty where there is none."""
        files = self.files.get("schema", [])
        found = [path for path in files if path.suffix.lower() == ".toml"]
        if files and len(found) != 1:
            raise InputError(text("Give one schema, a .toml file, and with it the other files that it names."))
        return str(found[0]) if found else ""

    def clear(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.files.clear()


def _free(folder: Path, name: str) -> Path:
    stem, dot, ending = name.partition(".")
    number = 1
    while (path := folder / (name if number == 1 else f"{stem}-{number}{dot}{ending}")).exists():
        number += 1
    return path


@dataclass(eq=False)
class Desks:
    """All desks under one folder."""

    folder: Path
    _open: dict[str, Desk] = field(default_factory=dict)

    def new(self) -> Desk:
        """An empty one; those that nobody has touched for an hour are cleared."""
        for old in [desk for desk in self._open.values() if time.monotonic() - desk.touched > _IDLE]:
            self.clear(old)
        name = secrets.token_hex(8)
        folder = self.folder / f"desk-{name}"
        folder.mkdir(mode=0o700)
        desk = self._open[name] = Desk(name, folder)
        return desk

    @contextmanager
    def begun(self) -> Iterator[Desk]:
        """An empty desk, cleared if what is done with it fails."""
        desk = self.new()
        try:
            yield desk
        except BaseException:
            self.clear(desk)
            raise

    def find(self, name: str) -> Desk:
        """The desk of a name."""
        if name not in self._open:
            raise InputError(
                text("These files are not here any more: they are removed when work on them ends. Begin again.")
            )
        desk = self._open[name]
        desk.touched = time.monotonic()
        return desk

    def known(self, name: str) -> Desk | None:
        """The desk of a name, if its files are still here."""
        return self._open.get(name)

    def clear(self, desk: Desk) -> None:
        """Remove a desk and all that lies on it."""
        desk.clear()
        self._open.pop(desk.name, None)
