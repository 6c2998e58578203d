"""Reading in a process of its own, so that a hostile or damaged file can only crash its reader.

The child (`python -m reissue.files.reader`) is started at the first file and answers one request at a time until this
process ends. Its memory is limited (see `limits.py`); if it runs out of memory or crashes, that is an error about the
file. It is not a sandbox: it has the rights of its user.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

from reissue import errors
from reissue.errors import DataError, InputError, InternalError, ReadingNote
from reissue.files.limits import ENVIRONMENT, reading_allowance, shown_bytes

__all__ = ["LAST", "MODULE", "MORE", "ask_reader", "receive", "send"]

MODULE = "reissue.files.reader"
MORE, LAST = b"more", b"last"
"""The last message of an answer: whether the same child accepts another request."""
_LENGTH = 8
"""Bytes before each message that give its length."""
_NO_MEMORY = (b"memory allocation of", b"bad_alloc", b"MemoryError", b"capacity overflow", b"Cannot allocate memory")
"""What libraries print when they run out of memory, before they abort."""
_KILLED = -9
"""Exit status of a process that the system killed for lack of memory."""
_PATIENCE = 2.0
"""Seconds that a child has to end after its input is closed."""


def send(pipe: IO[bytes], *parts: bytes | memoryview) -> None:
    """Write messages, each preceded by its length."""
    for part in parts:
        pipe.write(len(part).to_bytes(_LENGTH, "big"))
        pipe.write(part)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Return the next message; raise EOFError if the other side has ended."""
    length = pipe.read(_LENGTH)
    content = pipe.read(int.from_bytes(length, "big")) if len(length) == _LENGTH else b""
    if len(length) < _LENGTH or len(content) < int.from_bytes(length, "big"):
        raise EOFError
    return content


@dataclass(eq=False)
class _Child:
    """A running reader process."""

    process: "subprocess.Popen[bytes]"
    complaints: IO[bytes]
    """Standard error of its libraries; never shown, since it may quote the data."""

    @classmethod
    def start(cls) -> "_Child":
        """Start a reader with our own search path, but without the current folder: it may be full of downloads."""
        complaints = tempfile.TemporaryFile()  # noqa: SIM115
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": paths, "RUST_BACKTRACE": "0"}
        try:
            process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-P", "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=environment,
            )
        except BaseException:
            complaints.close()
            raise
        child = cls(process, complaints)
        try:
            child.hear()
        except EOFError:
            child.stop(kill=True)
            raise OSError from None
        return child

    def hear(self) -> bytes:
        """Return the next message."""
        if self.process.stdout is None:
            raise EOFError
        return receive(self.process.stdout)

    def converse(self, request: bytes) -> tuple[dict[str, Any], list[bytes], bool]:
        """Send a request; return the answer, its parts, and whether another may follow. A crash is an EOFError."""
        if self.process.stdin is None:
            raise EOFError
        send(self.process.stdin, request)
        said: dict[str, Any] = json.loads(self.hear())
        parts = [self.hear() for _ in range(said.get("parts", 0))]
        return said, parts, self.hear() == MORE

    def stop(self, *, kill: bool) -> bool:
        """End the process and close its pipes; return whether it ran out of memory."""
        if kill:
            self.process.kill()
        with suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            code = self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.complaints.seek(0)
        said = self.complaints.read()
        self.complaints.close()
        return code == _KILLED or any(words in said for words in _NO_MEMORY)


@dataclass(eq=False)
class _Readers:
    """The single reader process of this process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    child: _Child | None = None

    def ask(self, request: bytes, path: str) -> tuple[dict[str, Any], list[bytes]]:
        with self.lock:
            if self.child is not None and self.child.process.poll() is not None:
                self.close()
            child = self.child or _started(path)
            self.child = None  # so that an interruption leaves no half-read answer for the next request
            try:
                said, parts, more = child.converse(request)
            except (EOFError, OSError):
                raise _ended(path, lack=child.stop(kill=False)) from None
            except BaseException:
                child.stop(kill=True)
                raise
            self.child = child
            if not more:
                self.close()
            return said, parts

    def close(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.stop(kill=False)


def _started(path: str) -> _Child:
    try:
        return _Child.start()
    except (OSError, ValueError, TypeError):  # TypeError: in a program that embeds Python and has no executable
        raise InputError(
            f"'{path}' cannot be read: no process could be started to read it in. Files that are not plain CSV are "
            "read in a Python process of their own."
        ) from None


_READERS = _Readers()


@atexit.register
def _at_exit() -> None:
    _READERS.close()


def _after_fork() -> None:
    """A forked process starts a reader of its own."""
    global _READERS  # noqa: PLW0603
    _READERS = _Readers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def ask_reader(verb: str, path: str | Path, given: Mapping[str, Any]) -> Any:
    """Ask the reader process, and return its answer: a dataframe, or a JSON value.

    Parameters
    ----------
    verb
        One of the reader's functions.
    path
        The file, for messages.
    given
        The arguments of the function.

    Raises
    ------
    InputError
        If the function raised one, exceeded the memory limit, or crashed the reader.

    """
    asked = {"verb": verb, "given": given, "folder": str(Path.cwd()), "most": reading_allowance()}
    said, parts = _READERS.ask(json.dumps(asked).encode(), str(path))
    for fact, advice in said["notes"]:
        warnings.warn(ReadingNote(fact, advice), stacklevel=4)
    if "error" in said:
        raise _error(said["error"], said["message"], str(path))
    if not parts:
        return said["value"]
    frames = [pl.read_ipc_stream(part) for part in parts]
    return pl.concat(frames) if len(frames) > 1 else frames[0]


def _error(kind: str, message: str, path: str) -> Exception:
    if kind == "MemoryError":
        return _ended(path, lack=True)
    if kind == "PanicException":
        return _ended(path, lack=False)
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, InputError):
        return known(message)
    return InternalError(f"Reading the file ended in {kind}.")


def _ended(path: str, *, lack: bool) -> DataError:
    if not lack:
        return DataError(f"'{path}' cannot be read: it is damaged, or not what its ending says. Its reader crashed.")
    most = reading_allowance()
    limit = f"more than the {shown_bytes(most)} of memory that a file may take" if most else "more memory than there is"
    return DataError(
        f"'{path}' cannot be read: that takes {limit}. If you trust the file, raise the limit with {ENVIRONMENT} "
        "(such as 8GB), read fewer columns, or convert the table to Parquet."
    )
