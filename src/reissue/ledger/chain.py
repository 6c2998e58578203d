"""The chain of a ledger's entries, and what an entry of each kind must hold.

Each entry carries the SHA-256 of the one before. Its content is JSON in one canonical form, and names the files that
belong to it by the SHA-256 of their bytes. So the hash of the last entry vouches for every entry and every file;
whoever keeps it elsewhere can prove the series later.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reissue.errors import DataError

__all__ = [
    "FIRST",
    "FORMAT",
    "LedgerEntry",
    "broken",
    "canonical",
    "checked",
    "content_name",
    "entry_after",
    "given_up",
    "is_content",
    "later_format",
    "misplaced",
    "misshapen",
    "sealed_after",
    "unsealed",
    "unusable",
]

FORMAT = 1
"""Increased when entries say something that an earlier version would misunderstand."""

_NAME = re.compile(r"[0-9a-f]{64}(\.[A-Za-z0-9_]+)*")
"""The SHA-256 of a file and an ending; never a path."""


_FINDING = {"attack", "status", "sentence", "releases"}


def _is(*kinds: type) -> Callable[[Any], bool]:
    # In Python, True and False are numbers; not here.
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _text_by_text(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _files(value: Any) -> bool:
    return _text_by_text(value) and all(_NAME.fullmatch(name) for name in value.values())


def _findings(value: Any) -> bool:
    found = value.get("findings") if isinstance(value, dict) and "verdict" in value else None
    return isinstance(found, list) and all(isinstance(one, dict) and one.keys() >= _FINDING for one in found)


_text, _number, _count = _is(str), _is(int), _is(int, type(None))

_OF_KINDS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "begin": {"format": _number, "check": _text, "series": _text, "schema": _text, "files": _files},
    "schema": {"schema": _text, "files": _files},
    "acceptance": {"heads": _texts, "lost": _number, "why": _text, "time": _text, "files": _files},
    "withdrawal": {"release": _number, "why": _text, "time": _text, "files": _files},
    "release": {
        "adopted": _is(bool),
        "counterfeits": _count,
        "csv": _text_by_text,
        "date": _is(str, type(None)),
        "files": _files,
        "findings": _findings,
        "groups": _count,
        "kinds": _text_by_text,
        "method": _text,
        "promises": _is(dict),
        "recipients": _texts,
        "request": _text,
        "requirement": _text,
        "rows": _number,
        "suppressed": _count,
        "tables": _texts,
        "time": _text,
    },
}

_FIELDS = {**_OF_KINDS, "table": _OF_KINDS["release"]}
"""Tables of counts say what other releases say."""


def misplaced(number: int, kind: str) -> str:
    """Why a kind of entry may not stand here, as the end of a sentence; empty if it may."""
    if kind not in _FIELDS:
        return "is of a kind that this version of Reissue does not know"
    if (kind == "begin") != (number == 1):
        return "begins a ledger, and is not the first" if kind == "begin" else "is the first, and begins no ledger"
    return ""


def misshapen(kind: str, content: Any) -> str:
    """Why an entry's content cannot be used, as the end of a sentence; empty if it can."""
    if not isinstance(content, dict):
        return "is not a JSON object"
    wrong = [name for name, fits in _FIELDS.get(kind, {}).items() if name not in content or not fits(content[name])]
    if wrong:
        return f"lacks '{wrong[0]}', or holds something else there"
    if kind == "begin" and later_format(content):
        return f"is of a format that this version of Reissue does not know (it knows {FORMAT}): update Reissue"
    if kind in {"release", "table"} and not _whole(content):
        return "names tables without their files"
    return ""


def later_format(begun: Any) -> bool:
    """Whether a ledger's first entry, as far as it can be read, names a format unknown to this version."""
    return isinstance(begun, dict) and isinstance(begun.get("format"), int) and begun["format"] != FORMAT


def _whole(release: Mapping[str, Any]) -> bool:
    """Whether a release has at least one table, and a file and a hash for each."""
    tables = release["tables"]
    return bool(tables) and all(f"table.{one}" in release["files"] and one in release["csv"] for one in tables)


Seal = Callable[[bytes], str]
_SEAL = "seal"
FIRST = "0" * 64
"""Stands for the hash before the first entry."""


@dataclass(frozen=True)
class LedgerEntry:
    """An entry of the ledger."""

    number: int
    """The number of the entry, from 1."""
    kind: str
    """"begin", "schema", "release", "table", "withdrawal" or "acceptance"."""
    text: str
    """The content as canonical JSON."""
    previous: str
    hash: str

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content, checked to hold everything that an entry of its kind must."""
        if self.problem:
            raise DataError(
                f"Entry {self.number} of the ledger {self.problem}. Restore the ledger from a backup; `reissue ledger "
                "verify` says all that is wrong."
            )
        return dict(self.said)

    @cached_property
    def problem(self) -> str:
        """Why the content cannot be used, as the end of a sentence; empty if it can."""
        return "is not written as JSON" if self.said is ... else misshapen(self.kind, self.said)

    @cached_property
    def said(self) -> Any:
        """The content parsed as JSON, whatever it is; an ellipsis if it is not JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, TypeError, RecursionError):
            return ...

    @property
    def files(self) -> dict[str, str]:
        """The names in the store of the files that belong to it, by purpose."""
        return dict(self.content.get("files", {}))


def canonical(content: Mapping[str, Any]) -> str:
    """JSON in a canonical form: equal content is equal text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def entry_after(last: LedgerEntry | None, kind: str, content: Mapping[str, Any]) -> LedgerEntry:
    """Return the next entry."""
    number, previous = (1, FIRST) if last is None else (last.number + 1, last.hash)
    text = canonical(content)
    return LedgerEntry(number, kind, text, previous, _hash(number, kind, text, previous))


def sealed_after(last: LedgerEntry | None, kind: str, content: Mapping[str, Any], seal: Seal) -> LedgerEntry:
    """Return the next entry with a seal, so that nobody without the key can continue the chain."""
    return entry_after(last, kind, {**content, _SEAL: seal(entry_after(last, kind, content).hash.encode())})


def unsealed(entries: Sequence[LedgerEntry], seal: Seal) -> list[str]:
    """Say which entries were not written by the owner of the key."""
    return [
        f"Entry {entry.number} was not written with its key."
        for entry in entries
        if not entry.problem and not _is_sealed(entry, seal)
    ]


def _is_sealed(entry: LedgerEntry, seal: Seal) -> bool:
    """Whether an entry, and so every one before it, was written by the owner of the key."""
    text = canonical({name: value for name, value in entry.content.items() if name != _SEAL})
    made = seal(_hash(entry.number, entry.kind, text, entry.previous).encode())
    return hmac.compare_digest(str(entry.content.get(_SEAL)).encode(), made.encode())


def given_up(entries: Sequence[LedgerEntry]) -> set[str]:
    """The hashes of heads that the holder gave up when accepting the ledger as it was."""
    accepted = (entry for entry in entries if entry.kind == "acceptance" and not entry.problem)
    return {one for entry in accepted for one in entry.content["heads"]}


def broken(entries: Sequence[LedgerEntry]) -> list[str]:
    """Say what is wrong with a chain of entries; nothing if it is intact.

    The content of an entry is parsed and checked only when it is used.
    """
    problems, previous = [], FIRST
    for place, entry in enumerate(entries, start=1):
        if entry.number != place:
            problems.append(f"Entry {place} is missing: entry {entry.number} stands in its place.")
            break
        if entry.previous != previous:
            problems.append(f"Entry {place} does not follow from the entry before it.")
        if entry.hash != _hash(entry.number, entry.kind, entry.text, entry.previous):
            problems.append(f"Entry {place} was changed after it was written.")
        if misplaced(place, entry.kind):
            problems.append(f"Entry {place} {misplaced(place, entry.kind)}.")
        previous = entry.hash
    return problems


def unusable(ledger: str, problem: str) -> DataError:
    """The error for a ledger that must not be used."""
    return DataError(
        f"The ledger '{ledger}' is not as it was written: {problem} Nothing is published on it. Restore it from a "
        "backup; `reissue ledger verify` says all that is wrong."
    )


def checked(entries: list[LedgerEntry], ledger: str) -> list[LedgerEntry]:
    """Return entries that form an intact chain, or raise an error."""
    problems = broken(entries)
    if problems:
        raise unusable(ledger, problems[0])
    return entries


def is_content(content: bytes, name: str) -> bool:
    """Whether a file's content matches its name."""
    return hashlib.sha256(content).hexdigest() == name.partition(".")[0]


def content_name(content: bytes, ending: str) -> str:
    """Return the name of a file, derived from its content."""
    return f"{hashlib.sha256(content).hexdigest()}{ending}"


def _hash(number: int, kind: str, text: str, previous: str) -> str:
    # Formatted as text: in a tampered database any field may hold anything.
    return hashlib.sha256(f"{number}\n{kind}\n{previous}\n{text}".encode()).hexdigest()
