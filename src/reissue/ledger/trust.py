"""Trust: whether the entries of a ledger are proven to be exactly those that its holder wrote.

One function decides for every command, page and call. It needs the key, for the seal of each entry, and a head on this
machine, to notice entries that were cut off the end. A contradiction makes the ledger *broken*. Without one, but also
without the key or the head, it is *not provable*: somebody without the key could have written it. Only with both it is
*proven*.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reissue.errors import DataError
from reissue.ledger.chain import LedgerEntry, broken, unsealed
from reissue.ledger.head import Head, SecondHeads, mismatch, read_head
from reissue.ledger.key import Key

__all__ = ["Heads", "Trust", "TrustOutcome", "judge"]


class TrustOutcome(StrEnum):
    """The result of checking a ledger."""

    PROVEN = "proven"
    NOT_PROVABLE = "not provable"
    BROKEN = "broken"


@dataclass(frozen=True)
class Trust:
    """What is wrong with a ledger, and what is missing to prove it."""

    changed: tuple[str, ...] = ()
    """What was changed since it was written."""
    behind: tuple[str, ...] = ()
    """The heads that it does not match: it is an older copy, which its holder may accept, or another ledger."""
    missing: tuple[str, ...] = ()
    """What would be needed to prove that nothing was changed."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong."""
        return (*self.changed, *self.behind)

    @property
    def outcome(self) -> TrustOutcome:
        """Whether the ledger is proven, not provable or broken."""
        if self.problems:
            return TrustOutcome.BROKEN
        return TrustOutcome.NOT_PROVABLE if self.missing else TrustOutcome.PROVEN


@dataclass(frozen=True)
class Heads:
    """The heads of a ledger, read before its entries, which may grow in the meantime."""

    file: Path | None
    """The path of the first head."""
    found: Mapping[Path, Head | str]
    """The first head and those of this machine for this place: each head, or why it cannot be read."""
    elsewhere: tuple[Head, ...] = ()
    """This machine's heads for other places: of copies of the ledger, or of other ledgers with the same key."""
    here: bool = False
    """Whether one of this machine's heads for this place is among them."""

    @classmethod
    def read(cls, file: Path | None, second: SecondHeads | None, checks: Iterable[str]) -> "Heads":
        """Read all heads of ledgers that recognize their key by one of these check values."""
        own = [] if second is None else [second.own(check) for check in checks]
        others = [] if second is None else [path for check in checks for path in second.others(check)]
        found = {path: head for path in [*([] if file is None else [file]), *own] if (head := _read(path)) is not None}
        elsewhere = tuple(head for path in others if isinstance(head := _read(path), Head))
        return cls(file, found, elsewhere, any(path in found for path in own))


def _read(path: Path) -> Head | str | None:
    try:
        return read_head(path)
    except DataError as unreadable:
        return str(unreadable)


def judge(
    entries: Sequence[LedgerEntry],
    key: Key | str,
    heads: Heads,
    noted: str | None = None,
    sealed: set[str] | None = None,
) -> Trust:
    """Check whether a ledger is what its holder wrote.

    Parameters
    ----------
    entries
        The entries of the ledger.
    key
        Its key, or why there is none.
    heads
        Its heads.
    noted
        The hash of an entry that was noted elsewhere; it serves as a head.
    sealed
        The hashes of entries whose seals were checked before; those that are found right are added.

    """
    secret = key if isinstance(key, Key) else None
    changed = [*broken(entries), *(f"Entry {entry.number} {entry.problem}." for entry in entries if entry.problem)]
    if secret is not None and not changed:
        changed = _without_seal(entries, secret, set() if sealed is None else sealed)
    behind = [
        head if isinstance(head, str) else mismatch(entries, head, secret, path) for path, head in heads.found.items()
    ]
    if noted is not None and noted not in {entry.hash for entry in entries}:
        behind.append("The entry with the given hash is not in the ledger: it was rewritten, or cut short.")
    missing = [key] if isinstance(key, str) else []
    if not heads.here and noted is None:
        missing += _without_second(entries, secret, heads)
    return Trust(tuple(changed), tuple(filter(None, behind)), tuple(missing))


def _without_seal(entries: Sequence[LedgerEntry], key: Key, sealed: set[str]) -> list[str]:
    """Entries of an intact chain whose seals are wrong; a seal that was right once stays right."""
    wrong = unsealed([entry for entry in entries if entry.hash not in sealed], key.seal)
    if not wrong:
        sealed |= {entry.hash for entry in entries}
    return wrong


def _without_second(entries: Sequence[LedgerEntry], key: Key | None, heads: Heads) -> list[str]:
    """What is unknown if this machine has no head of the ledger at its place."""
    wrong = [head for head in heads.elsewhere if mismatch(entries, head, key, None)]
    if heads.elsewhere and not wrong:
        return []
    if wrong:
        most = max(head.number for head in wrong)
        return [_ANOTHER.format(most=most, entries=len(entries))]
    if any(isinstance(head, Head) for head in heads.found.values()):
        return [_FIRST_ONLY.format(file=heads.file)]
    return [_NO_HEAD.format(where="" if heads.file is None else f", neither at '{heads.file}' nor on this machine")]


_ANOTHER = (
    "On this machine there was a ledger of the same key with {most:,} entries, and this one, of {entries:,}, does not "
    "go on from there. Where it is a copy of this one, it is not known which of the two is out: publish with one only."
)
_FIRST_ONLY = (
    "This machine has no second head of the ledger: whether it was restored, together with its head '{file}', from an "
    "older backup is not known. The next publication from here writes one; `reissue ledger accept` does too."
)
_NO_HEAD = (
    "There is no head of the ledger{where}: whether releases were cut off its end is not known. The next publication "
    "from here writes it."
)
