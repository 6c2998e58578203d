"""The heads of a ledger: the number and hash of its last entry, kept apart from it, sealed by its key; and the witness.

A chain of entries shows what was changed in it, not that its end was cut off, nor that all of it was lost or rewritten.
A head does: a ledger that is behind its head, or differs from it, is refused. There are two heads. The first lies
beside the key; restoring the key's folder together with the ledger restores it too. The second lies in the user's state
folder on this machine, which backups of ledgers do not include. Both are written after each commit, completely and
synced to disk, or not at all.

A process that is killed between the commit and the head leaves a ledger that is ahead of its head; so does a colleague
who publishes with a head elsewhere. Each entry carries a seal of its own: an entry ahead of the head was written by
somebody who has the key, or it is refused. A crash can never leave a head that is ahead of its ledger.

Heads on the holder's own machines can be rolled back by their administrator. A witness elsewhere (a colleague's
mailbox, an append-only log, a time-stamping service) keeps the hashes; `reissue ledger verify --head HASH` compares.
It is off unless REISSUE_WITNESS names it: a command, which gets number and hash as its last two arguments, or a URL,
which gets them as JSON by POST. A hash says nothing about anybody: it covers the seal, which only the key can make.
"""

import hashlib
import hmac
import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from reissue.errors import DataError, InputError
from reissue.files.places import state_folder
from reissue.files.staging import Staging, remove_leftovers
from reissue.ledger.chain import LedgerEntry, given_up
from reissue.ledger.key import Key

__all__ = [
    "ENVIRONMENT",
    "WITNESS",
    "Head",
    "SecondHeads",
    "head_file",
    "lost",
    "mismatch",
    "read_head",
    "refuse_unwritable",
    "tell_witness",
    "write_head",
]

ENVIRONMENT = "REISSUE_HEAD"


@dataclass(frozen=True)
class Head:
    """What is known of a ledger apart from it."""

    number: int
    """The number of the last entry."""
    hash: str
    seal: str

    @classmethod
    def of(cls, entry: LedgerEntry, key: Key) -> "Head":
        """Return the head of a ledger that ends with an entry."""
        return cls(entry.number, entry.hash, _seal(entry.number, entry.hash, key))

    def is_sealed(self, key: Key) -> bool:
        """Whether it was written with a key."""
        return hmac.compare_digest(self.seal.encode(), _seal(self.number, self.hash, key).encode())


def _seal(number: int, last: str, key: Key) -> str:
    return key.derive("head", f"{number}\n{last}".encode()).hex()


# --- where they lie --------------------------------------------------------------------------------------------------


def head_file(place: str | Path, key_file: Path | None) -> Path | None:
    """The first head of a ledger: at REISSUE_HEAD, else beside the key file; None if there is no place for it."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given)
    if key_file is not None:
        name = key_file.name.removesuffix(".key")
        return key_file.with_name(f"{name}.head")
    return None if "://" in str(place) else Path(place).with_name(f"{Path(place).name}.head")


@dataclass(frozen=True)
class SecondHeads:
    """The second heads of all ledgers of this user: one file per ledger key and place."""

    folder: Path
    place: str
    """The place of the ledger in question."""

    @classmethod
    def of(cls, address: str) -> "SecondHeads | None":
        """The second heads for a ledger at an absolute address; None if the user has no folder for state."""
        folder = state_folder()
        return None if folder is None else cls(folder / "heads", hashlib.sha256(address.encode()).hexdigest()[:16])

    def own(self, check: str) -> Path:
        """The file for the ledger at this place that recognizes its key by this check value."""
        return self.folder / f"{check}-{self.place}.head"

    def forget(self) -> None:
        """Remove the second heads of ledgers at this place; for ledgers that are replaced on purpose."""
        for path in self.folder.glob(f"*-{self.place}.head"):
            path.unlink(missing_ok=True)

    def others(self, check: str) -> list[Path]:
        """The files for other places where the same ledger, or a copy of it, is or was."""
        return sorted(path for path in self.folder.glob(f"{check}-*.head") if path != self.own(check))


# --- read and compared -----------------------------------------------------------------------------------------------


def read_head(file: Path | None) -> Head | None:
    """Read a head; None if there is none."""
    if file is None:
        return None
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        head = Head(int(read["number"]), str(read["hash"]), str(read["seal"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise DataError(
            f"The head file '{file}' cannot be read, so it is not known whether the ledger is whole. Restore it from a "
            f"backup. {_WITHOUT}"
        ) from None
    return head if head.number > 0 else None


_WITHOUT = (
    "Only if you know by yourself that no release is missing in the ledger, go on with it as it is: "
    "`reissue ledger accept`."
)


def lost(place: str, head: Head, file: Path | None) -> DataError:
    """The error for a head whose ledger is missing."""
    return DataError(
        f"The ledger '{place}' is gone or empty, and by its head '{file}' it had {head.number:,} entries. A new one "
        "would know nothing of the releases that are out. Restore it from a backup. For another series choose another "
        "place, with a key of its own."
    )


def mismatch(entries: Sequence[LedgerEntry], head: Head, key: Key | None, file: Path | None) -> str:
    """Compare a ledger with a head; return what is wrong and how to resolve it, or nothing.

    A key checks the head's seal.
    """
    if key is not None and not head.is_sealed(key):
        return f"The head file '{file}' is of another ledger, or was changed. Restore it from a backup. {_WITHOUT}"
    if head.hash in given_up(entries):
        return ""
    if len(entries) < head.number:
        missing = head.number - len(entries)
        return (
            f"The ledger is behind its head '{file}': the last {missing:,} of {head.number:,} entries "
            f"{'is' if missing == 1 else 'are'} missing, and with them what was published. Restore a later backup. "
            "If there is none, begin a new ledger, and adopt all releases that are out. " + _WITHOUT
        )
    if entries[head.number - 1].hash != head.hash:
        return (
            f"The ledger is not the one that its head '{file}' was written for: it was written anew since, or it is "
            f"another one. Restore it from a backup. {_WITHOUT}"
        )
    return ""


# --- written ---------------------------------------------------------------------------------------------------------


def write_head(file: Path, head: Head, key: Key, *, over: bool = False) -> None:
    """Write a head completely and synced to disk, or not at all.

    It never replaces a later head, which another publisher may have written, unless that one was given up (`over`).
    """
    try:
        there = read_head(file)
    except DataError:
        there = None
    later = there is not None and there.number > head.number and there.is_sealed(key)
    if there == head or (later and not over):
        return
    text = json.dumps({"number": head.number, "hash": head.hash, "seal": head.seal}) + "\n"
    with Staging() as staging:
        staging.add_bytes(file, text.encode(), replaces=True, private=True)
        staging.place()


def refuse_unwritable(file: Path) -> None:
    """Refuse a place where no head can be written, before anything is recorded; remove leftovers of killed writers."""
    remove_leftovers(file.parent)
    if not os.access(file.parent, os.W_OK):
        raise InputError(
            f"The head of the ledger cannot be written to '{file.parent}'. Set {ENVIRONMENT} to a file that can be "
            "written, apart from the ledger."
        )


WITNESS = "REISSUE_WITNESS"
_PATIENCE = 10.0
"""Seconds until a silent witness is given up, so that it does not delay a publication."""


def tell_witness(number: int, last: str) -> list[str]:
    """Tell the witness, if there is one; return why it was not told, if it was not."""
    place = os.environ.get(WITNESS, "").strip()
    if not place:
        return []
    try:
        failed = _post(place, number, last) if place.startswith(("https://", "http://")) else _run(place, number, last)
    except (OSError, ValueError, HTTPException, subprocess.SubprocessError) as problem:
        failed = type(problem).__name__  # the message may quote the URL, with a password in it
    if not failed:
        return []
    return [f"All was recorded, but the witness in {WITNESS} was not told ({failed}). Entry {number} is {last}"]


def _run(command: str, number: int, last: str) -> str:
    """Run a command without our environment variables, which may contain the key."""
    seen = {name: value for name, value in os.environ.items() if not name.startswith("REISSUE_")}
    done = subprocess.run(  # noqa: S603
        [*shlex.split(command), str(number), last],
        env=seen,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_PATIENCE,
        check=False,
    )
    return f"it ended with exit code {done.returncode}" if done.returncode else ""


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any) -> None:
        """Do not redirect."""
        return


def _post(url: str, number: int, last: str) -> str:
    content = json.dumps({"number": number, "hash": last}).encode()
    request = Request(url, content, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    with build_opener(_NoRedirect).open(request, timeout=_PATIENCE) as answer:
        return "" if 200 <= answer.status < 300 else f"it answered {answer.status}"
