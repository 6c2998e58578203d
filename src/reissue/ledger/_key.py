"""The secret key of a ledger: kept apart from it, so that whoever has the ledger alone cannot link it to people.

It comes from a file (made on first use, readable by its owner only) or from the environment variable REISSUE_KEY. What
is derived from it is HMAC-SHA256 of a purpose and a content: pseudonyms of 64 bits, seeds, the key of a method's own
memory, fingerprints of inputs, and the check value by which a ledger knows its key.
"""

import hmac
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from reissue._identifiers import identifier_texts
from reissue.errors import InputError

__all__ = ["ENVIRONMENT", "Key", "find_key"]

ENVIRONMENT = "REISSUE_KEY"
_SHORTEST = 32
"""Characters; a key that is made here has 64, the hexadecimal digits of 32 random bytes."""


@dataclass(frozen=True)
class Key:
    """A secret, never shown."""

    secret: bytes = field(repr=False)

    def derive(self, purpose: str, content: bytes = b"") -> bytes:
        """32 bytes that tell nothing about the key or the content."""
        return hmac.digest(self.secret, purpose.encode() + b"\0" + content, "sha256")

    @property
    def check(self) -> str:
        """What a ledger keeps to recognize its key."""
        return self.derive("check").hex()[:32]

    def seal(self, content: bytes) -> str:
        """What shows later that a content was written by somebody who has the key."""
        return self.derive("entry", content).hex()

    def pseudonyms(self, names: pl.Series) -> pl.Series:
        """Identifiers as 64-bit numbers; the same person gets the same number, whatever the column's type."""
        secret, digest = self.derive("pseudonyms"), hmac.digest
        made = [digest(secret, name, "sha256")[:8] for name in identifier_texts(names).cast(pl.Binary).to_list()]
        return pl.Series(names.name, np.frombuffer(b"".join(made), "<i8"), dtype=pl.Int64)


def find_key(file: Path | None, *, make: bool = False) -> Key:
    """The key from the environment, else from its file; `make` it there if there is none."""
    given = os.environ.get(ENVIRONMENT)
    if given is not None:
        return _checked(given, f"The environment variable {ENVIRONMENT}")
    if file is None:
        raise InputError(f"This ledger needs its key: set {ENVIRONMENT}, or name a file with --key.")
    if make and not file.exists():
        _make(file)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"There is no key file '{file}', and {ENVIRONMENT} is not set. Without the ledger's own key nothing can be "
            "published after the earlier releases."
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The key file '{file}' cannot be read.") from None
    return _checked(text, f"The key file '{file}'")


def _checked(text: str, what: str) -> Key:
    if len(text.strip()) < _SHORTEST:
        raise InputError(f"{what} must hold at least {_SHORTEST} characters.")
    return Key(text.strip().encode())


def _make(file: Path) -> None:
    """Write a new key, whole or not at all, and never over another one."""
    try:
        handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(secrets.token_hex(32) + "\n")
                out.flush()
                os.fsync(out.fileno())
            os.link(beside, file)
        finally:
            Path(beside).unlink(missing_ok=True)
    except FileExistsError:
        return
    except OSError as problem:
        raise InputError(f"The key file '{file}' cannot be written: {problem.strerror or 'error'}.") from None
