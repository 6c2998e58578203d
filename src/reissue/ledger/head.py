"""The head of a ledger: the number and hash of its last entry, kept apart from it, beside its key.

A chain of entries shows what was changed in it, not what was cut off its end, nor that all of it was lost or written
anew. The head does: a ledger that is behind it, or differs from it, is refused. It is written after each commit, whole
and on disk or not at all, under a seal (HMAC) of the ledger's key.

Who is killed between the commit and the head leaves a ledger that is ahead of its head; so does a colleague who
publishes with a head elsewhere. Each entry carries a seal of its own: what is ahead of the head was written by somebody
who has the key, or is refused. The other way round, a head ahead of its ledger, never comes about by a crash.
"""

import hmac
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reissue.errors import DataError, InputError
from reissue.files.staging import Staging, sweep
from reissue.ledger.chain import LedgerEntry, is_sealed
from reissue.ledger.key import Key

__all__ = [
    "ENVIRONMENT",
    "Head",
    "head_file",
    "lost",
    "mismatch",
    "read_head",
    "refuse_unwritable",
    "unknown",
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


def head_file(place: str | Path, key_file: Path | None) -> Path | None:
    """Where the head of a ledger lies: where REISSUE_HEAD says, else beside the key file; None if there is neither."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given)
    if key_file is not None:
        name = key_file.name.removesuffix(".key")
        return key_file.with_name(f"{name}.head")
    return None if "://" in str(place) else Path(place).with_name(f"{Path(place).name}.head")


def read_head(file: Path | None) -> Head | None:
    """The head as it was written; None if there is none."""
    if file is None:
        return None
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        return Head(int(read["number"]), str(read["hash"]), str(read["seal"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise DataError(
            f"The head file '{file}' cannot be read, so it is not known whether the ledger is whole. Restore it from a "
            f"backup. {_WITHOUT}"
        ) from None


_WITHOUT = (
    "Only if you know by yourself that no release is missing in the ledger, move the head file away: it is then "
    "written anew."
)


def lost(place: str, head: Head, file: Path | None) -> DataError:
    """What is said where there is a head, but no ledger."""
    return DataError(
        f"The ledger '{place}' is gone or empty, and by its head '{file}' it had {head.number:,} entries. A new one "
        "would know nothing of the releases that are out. Restore it from a backup. For another series choose another "
        "place, with a key of its own."
    )


def mismatch(entries: Sequence[LedgerEntry], head: Head, key: Key | None, file: Path | None) -> str:
    """What is wrong with a ledger by its head, and the way out; nothing if it fits. Seals are checked with a key."""
    if key is not None and not head.is_sealed(key):
        return f"The head file '{file}' is of another ledger, or was changed. Restore it from a backup. {_WITHOUT}"
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
    if key is not None and len(entries) > head.number and not is_sealed(entries[-1], key.seal):
        return (
            f"The ledger goes on after its head '{file}' with entries that were not written with its key. Restore it "
            f"from a backup. {_WITHOUT}"
        )
    return ""


def unknown(file: Path | None) -> str:
    """What cannot be known without a head."""
    where = f"There is no head file '{file}'" if file is not None else "No place is given for the ledger's head"
    then = (
        "The next publication writes it anew."
        if file is not None
        else f"Set {ENVIRONMENT}, or name a file with --key: it lies beside it."
    )
    return (
        f"{where}: whether releases were cut off the ledger's end, or all of it was written anew, is not known. {then}"
    )


def write_head(file: Path, head: Head, key: Key) -> None:
    """Write it, whole and on disk or not at all; never over a later one, which another publisher may have written."""
    try:
        there = read_head(file)
    except DataError:
        there = None
    if there == head or (there is not None and there.number > head.number and there.is_sealed(key)):
        return
    text = json.dumps({"number": head.number, "hash": head.hash, "seal": head.seal}) + "\n"
    with Staging() as staging:
        staging.add_bytes(file, text.encode(), replaces=True, private=True)
        staging.place()


def refuse_unwritable(file: Path) -> None:
    """Say before anything is recorded that a head could not be; what killed writers left beside it goes away."""
    sweep(file.parent)
    if not os.access(file.parent, os.W_OK):
        raise InputError(
            f"The head of the ledger cannot be written to '{file.parent}'. Set {ENVIRONMENT} to a file that can be "
            "written, apart from the ledger."
        )
