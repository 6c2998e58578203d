"""Files and folders that are written beside their places and moved there together once all are complete.

Nothing is left half-written, and nothing is replaced unasked. Files, and their folders, are synced to disk when they
are in place. A new folder is filled under another name, and renamed when everything in it is on disk. What a killed run
left behind is removed by the next one that writes there: its name tells machine and process.
"""

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from reissue.errors import InputError

__all__ = ["Staging", "reason", "remove_leftovers", "scratch_folder", "sync_folder"]

_PREFIX = ".reissue-"
_SCRATCH = "reissue-"
_FORGOTTEN = 24 * 60 * 60
"""Seconds after which a temporary file of another machine is taken to be abandoned."""
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS, errno.EACCES}


@dataclass(frozen=True)
class _File:
    """A file, or a new folder, staged beside its place."""

    beside: Path
    place: Path
    replaces: bool
    """Whether it may replace an existing file."""


class _Undone(Exception):  # noqa: N818
    """Rolls back a transaction whose files were not placed."""


@dataclass(eq=False)
class Staging:
    """Files being written: `add` writes them beside their places, `place` moves all of them there, or none."""

    _files: list[_File] = field(default_factory=list)
    _folders: dict[Path, Path] = field(default_factory=dict)
    """Where each new folder is filled, by its final place."""
    _open: ExitStack = field(default_factory=ExitStack)
    """Open transactions of databases."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove whatever was not placed."""
        with suppress(_Undone):
            self._open.__exit__(_Undone, _Undone(), None)
        for file in self._files:
            _remove(file.beside)

    def add_folder(self, place: Path) -> Path:
        """Begin a new folder, and return where to fill it. It is placed with everything that is added to it."""
        with _explained(place):
            remove_leftovers(place.parent)
            beside = place.with_name(_name(_PREFIX))
            beside.mkdir()
            self._files.append(_File(beside, place, replaces=False))
            self._folders[place] = beside
        return beside

    def is_new(self, folder: Path) -> bool:
        """Whether a folder is created by this staging."""
        return folder in self._folders

    def add_transaction(self, transaction: AbstractContextManager[None]) -> None:
        """Begin a database transaction that is committed when all files are placed, or rolled back."""
        self._open.enter_context(transaction)

    def add(
        self, place: Path, write: Callable[[Path], object], *, replaces: bool = False, private: bool = False
    ) -> None:
        """Let `write` fill a file beside its place; only its owner may read a `private` one, else the umask decides."""
        with _explained(place):
            if place.parent in self._folders:
                beside = self._folders[place.parent] / place.name
            else:
                remove_leftovers(place.parent)
                beside = place.with_name(_name(_PREFIX))
                self._files.append(_File(beside, place, replaces))
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
            write(beside)
            _sync(beside)

    def add_bytes(self, place: Path, content: bytes, *, replaces: bool = False, private: bool = False) -> None:
        """Write a file with the given content beside its place."""
        self.add(place, lambda beside: beside.write_bytes(content), replaces=replaces, private=private)

    def place(self) -> None:
        """Move all files to their places in order; if one fails, undo those before it."""
        moved: list[tuple[Path, Path | None]] = []
        try:
            for file in self._files:
                with _explained(file.place):
                    if _is_alike(file.beside, file.place):
                        _remove(file.beside)
                    else:
                        moved.append((file.place, _move(file)))
            for folder in {file.place.parent for file in self._files}:
                with _explained(folder):
                    sync_folder(folder)
            self._open.close()
        except BaseException:
            for place, before in reversed(moved):
                _restore(place, before)
            raise
        self._files.clear()
        self._folders.clear()
        for _, before in moved:
            if before is not None:
                before.unlink(missing_ok=True)


def _is_alike(folder: Path, other: Path) -> bool:
    """Whether two folders hold the same files: an earlier run was killed after it had placed one of several."""
    if not (folder.is_dir() and other.is_dir()):
        return False
    names = {path.name for path in folder.iterdir()}
    if names != {path.name for path in other.iterdir()}:
        return False
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in names)


def _move(file: _File) -> Path | None:
    """Move a file to its place; return where the replaced file is kept until all have moved."""
    if file.beside.is_dir():
        if os.path.lexists(file.place):
            raise FileExistsError
        for path in file.beside.iterdir():
            _sync(path)
        sync_folder(file.beside)
        file.beside.rename(file.place)
        return None
    if file.replaces:
        before = file.place.with_name(_name(_PREFIX)) if os.path.lexists(file.place) else None
        if before is not None:
            try:
                os.link(file.place, before)
            except OSError:  # a file system without links: the file is replaced, and cannot be restored
                before = None
        file.beside.replace(file.place)
        return before
    try:
        os.link(file.beside, file.place)
    except OSError as problem:
        if problem.errno not in _NO_LINKS or os.path.lexists(file.place):
            raise
        file.beside.rename(file.place)
    else:
        file.beside.unlink()
    return None


def _restore(place: Path, before: Path | None) -> None:
    with suppress(OSError):
        if before is None:
            _remove(place)
        else:
            before.replace(place)


def _remove(path: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@contextmanager
def _explained(place: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise InputError(f"'{place}' exists already. Choose another name, or force=True to replace it.") from None
    except OSError as problem:
        raise InputError(f"'{place}' cannot be written: {reason(problem)}.") from None


def reason(problem: Exception) -> str:
    """Why the system refused, without the library's message, which may quote the data."""
    number = problem.errno if isinstance(problem, OSError) else None
    if number is None:
        found = re.search(r"os error (\d+)", str(problem))
        number = int(found[1]) if found else None
    return "input/output error" if number is None else os.strerror(number)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Sync the directory entries to disk. Some file systems cannot sync folders; there nothing is done."""
    try:
        _sync(folder)
    except OSError as problem:
        if problem.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EACCES}:
            raise


# --- what killed runs leave ------------------------------------------------------------------------------------------


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _name(prefix: str) -> str:
    return f"{prefix}{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"


def remove_leftovers(folder: Path, prefix: str = _PREFIX) -> None:
    """Remove temporary files and folders of processes that have ended; those of other machines after a day."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(prefix) and path.name.endswith(".tmp") and _is_left(path, prefix):
                _remove(path)


def _is_left(path: Path, prefix: str) -> bool:
    parts = path.name.removeprefix(prefix).removesuffix(".tmp").split("-")
    if len(parts) != 3 or not parts[1].isdecimal():
        return False
    if parts[0] != _machine():
        with suppress(OSError):
            return time.time() - path.lstat().st_mtime > _FORGOTTEN
        return False
    return not _is_alive(int(parts[1]))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder for temporary files that is removed at the end; leftovers of killed runs are removed too."""
    try:
        place = Path(tempfile.gettempdir())
        remove_leftovers(place, _SCRATCH)
        folder = place / _name(_SCRATCH)
        folder.mkdir(mode=0o700)
    except OSError as problem:
        raise InputError(f"There is no place for temporary files: {reason(problem)}.") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
