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
    """Of the last entry."""
    hash: str
    seal: str

    @classmethod
    def of(cls, entry: LedgerEntry, key: Key) -> "Head":
        """The head of a ledger that ends with an entry."""
        return cls(entry.number, entry.hash, _seal(entry.number, entry.hash, key))

    def is_sealed(self, key: Key) -> bool:
        """Whether it was written with a key."""
        return hmac.compare_digest(self.seal.encode(), _seal(self.number, self.hash, key).encode())


def _seal(number: int, last: str, key: Key) -> str:
    return key.derive("head", f"{number}\n{last}".encode()).hex()


# --- where they lie --------------------------------------------------------------------------------------------------


def head_file(place: str | Path, key_file: Path | None) -> Path | None:
    """Where the first head of a ledger lies: where REISSUE_HEAD says, else beside the key file; None if nowhere."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given)
    if key_file is not None:
        name = key_file.name.removesuffix(".key")
        return key_file.with_name(f"{name}.head")
    return None if "://" in str(place) else Path(place).with_name(f"{Path(place).name}.head")


@dataclass(frozen=True)
class SecondHeads:
    """The second heads of all ledgers of this user: one file for each ledger, by its key, and place that it lies at."""

    folder: Path
    place: str
    """Of the ledger in question."""

    @classmethod
    def of(cls, address: str) -> "SecondHeads | None":
        """Those for a ledger at an absolute address; None where the user has no folder for state."""
        folder = state_folder()
        return None if folder is None else cls(folder / "heads", hashlib.sha256(address.encode()).hexdigest()[:16])

    def own(self, check: str) -> Path:
        """The file of the ledger that knows its key by this check value, at this place."""
        return self.folder / f"{check}-{self.place}.head"

    def others(self, check: str) -> list[Path]:
        """Those of other places where the same ledger lay, or a copy of it lies."""
        return sorted(path for path in self.folder.glob(f"{check}-*.head") if path != self.own(check))


# --- read and compared -----------------------------------------------------------------------------------------------


def read_head(file: Path | None) -> Head | None:
    """The head as it was written; None if there is none."""
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
    """What is said where there is a head, but no ledger."""
    return DataError(
        f"The ledger '{place}' is gone or empty, and by its head '{file}' it had {head.number:,} entries. A new one "
        "would know nothing of the releases that are out. Restore it from a backup. For another series choose another "
        "place, with a key of its own."
    )


def mismatch(entries: Sequence[LedgerEntry], head: Head, key: Key | None, file: Path | None) -> str:
    """What is wrong with a ledger by its head, and the way out; nothing if it fits. Its seal is checked with a key."""
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
    """Write it, whole and on disk or not at all.

    Never over a later one, which another publisher may have written; unless the later one was given up (`over`).
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
    """Say before anything is recorded that a head could not be; what killed writers left beside it goes away."""
    remove_leftovers(file.parent)
    if not os.access(file.parent, os.W_OK):
        raise InputError(
            f"The head of the ledger cannot be written to '{file.parent}'. Set {ENVIRONMENT} to a file that can be "
            "written, apart from the ledger."
        )


WITNESS = "REISSUE_WITNESS"
_PATIENCE = 10.0
"""Seconds until a witness that does not answer is given up: nobody's publication waits longer."""


def tell_witness(number: int, last: str) -> list[str]:
    """Tell the witness, if there is one; why it was not told, if it was not."""
    place = os.environ.get(WITNESS, "").strip()
    if not place:
        return []
    try:
        failed = _post(place, number, last) if place.startswith(("https://", "http://")) else _run(place, number, last)
    except (OSError, ValueError, HTTPException, subprocess.SubprocessError) as problem:
        failed = type(problem).__name__  # its message may quote the URL, and a password in it
    if not failed:
        return []
    return [f"All was recorded, but the witness in {WITNESS} was not told ({failed}). Entry {number} is {last}"]


def _run(command: str, number: int, last: str) -> str:
    """Run a command, which sees none of our settings: the key may be among them."""
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
    """Follows nobody elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        """No request."""
        return


def _post(url: str, number: int, last: str) -> str:
    content = json.dumps({"number": number, "hash": last}).encode()
    request = Request(url, content, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    with build_opener(_NoRedirect).open(request, timeout=_PATIENCE) as answer:
        return "" if 200 <= answer.status < 300 else f"it answered {answer.status}"
