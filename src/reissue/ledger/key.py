"""The secret key of a ledger, kept apart from it, so that nobody can link the ledger to people without it.

It comes from a file (created on first use, readable by its owner only) or from the environment variable REISSUE_KEY.
Everything derived from it is an HMAC-SHA256 of a purpose and a content: 64-bit pseudonyms, seeds, the key of a method's
memory, fingerprints of inputs, and the check value by which a ledger recognizes its key.
"""

import hmac
import os
import secrets
import stat
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from reissue.data.identifiers import identifier_texts, relaxed_texts
from reissue.errors import InputError
from reissue.files.places import read_whole
from reissue.files.staging import Staging, remove_leftovers, sync_folder

__all__ = ["ENVIRONMENT", "Key", "KeyWarning", "find_key"]

ENVIRONMENT = "REISSUE_KEY"
_LONGEST = 2**16
"""Maximum bytes of a key file."""
_FEWEST = 6
"""Minimum number of different characters, and of steps between them: 32 random digits have fewer once in 10^7."""
_SHORTEST = 32
"""Minimum number of characters; a generated key has 64, the hexadecimal digits of 32 random bytes."""


class KeyWarning(UserWarning):
    """A key is not stored as it should be."""


@dataclass(frozen=True)
class Key:
    """A secret that is never shown."""

    secret: bytes = field(repr=False)

    def derive(self, purpose: str, content: bytes = b"") -> bytes:
        """Derive 32 bytes that reveal neither the key nor the content."""
        return hmac.digest(self.secret, purpose.encode() + b"\0" + content, "sha256")

    @property
    def check(self) -> str:
        """The value by which a ledger recognizes its key."""
        return self.derive("check").hex()[:32]

    def seal(self, content: bytes) -> str:
        """A seal that later shows that a content was written by the owner of the key."""
        return self.derive("entry", content).hex()

    def pseudonyms(self, names: pl.Series) -> pl.Series:
        """Turn identifiers into 64-bit numbers; a person has the same number whatever the type of the column."""
        return self._numbers("pseudonyms", identifier_texts(names))

    def relaxed(self, names: pl.Series) -> pl.Series:
        """The same for relaxed identifiers: those that differ only in notation get the same number."""
        return self._numbers("relaxed", relaxed_texts(names))

    def _numbers(self, purpose: str, texts: pl.Series) -> pl.Series:
        secret, digest = self.derive(purpose), hmac.digest
        made = [digest(secret, text, "sha256")[:8] for text in texts.cast(pl.Binary).to_list()]
        return pl.Series(texts.name, np.frombuffer(b"".join(made), "<i8"), dtype=pl.Int64)


def find_key(file: Path | None, *, make: bool = False) -> Key:
    """Return the key from the environment, else from its file; `make` the file if it does not exist."""
    given = os.environ.get(ENVIRONMENT)
    if given is not None:
        return _checked(given, f"The environment variable {ENVIRONMENT}")
    if file is None:
        raise InputError(f"This ledger needs its key: set {ENVIRONMENT}, or name a file with --key.")
    if make:
        _make(file)
    try:
        text = read_whole(file, _LONGEST).decode()
        shared = stat.S_IMODE(file.stat().st_mode) & 0o077
    except FileNotFoundError:
        raise InputError(
            f"There is no key file '{file}', and {ENVIRONMENT} is not set. Without the ledger's own key nothing can be "
            "published after the earlier releases."
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The key file '{file}' cannot be read: it must be a regular file of text.") from None
    if shared and os.name == "posix":
        warnings.warn(
            f"The key file '{file}' can be read by others than its owner: chmod 600 makes it private.",
            KeyWarning,
            stacklevel=2,
        )
    return _checked(text, f"The key file '{file}'")


def _checked(text: str, what: str) -> Key:
    text = text.strip()
    if len(text) < _SHORTEST:
        raise InputError(f"{what} must hold at least {_SHORTEST} characters.")
    if _is_guessable(text):
        raise InputError(
            f"{what} can be guessed: it repeats itself, or has hardly any different characters. Let Reissue make a "
            "key, or take 32 random bytes in hexadecimal, such as `openssl rand -hex 32` prints."
        )
    return Key(text.encode())


def _is_guessable(text: str) -> bool:
    """Whether a text has few different characters or steps, or repeats a shorter one."""
    steps = {ord(after) - ord(before) for before, after in pairwise(text)}
    period = _period(text)
    repeated = period < _SHORTEST and 3 * period <= 2 * len(text)
    return repeated or len(set(text)) < _FEWEST or len(steps) < _FEWEST


def _period(text: str) -> int:
    """The length of the shortest text that this one repeats, the last time perhaps in part."""
    return next(length for length in range(1, len(text) + 1) if text.startswith(text[length:]))


def _make(file: Path) -> None:
    """Write a new key, completely or not at all, unless there is one. It is on disk before anything is made with it."""
    if not file.exists():
        try:
            with Staging() as staging:
                staging.add_bytes(file, f"{secrets.token_hex(32)}\n".encode(), private=True)
                staging.place()
        except InputError:
            if not file.exists():
                raise
    with suppress(OSError):  # a killed process may have made it; an unreadable folder is not ours
        remove_leftovers(file.parent)
        sync_folder(file.parent)
