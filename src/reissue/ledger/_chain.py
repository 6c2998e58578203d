"""Entries that hold on to each other: each carries the SHA-256 of the one before.

An entry's content is JSON in one canonical form, and names the files that belong to it by the SHA-256 of their bytes.
So the last entry's hash vouches for every row and every file; who keeps it elsewhere can prove the series later.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

__all__ = ["FIRST", "Entry", "broken", "canonical", "content_name", "entry_after"]

FIRST = "0" * 64
"""What stands for the hash before the first entry."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    number: int
    """1, 2, ..."""
    kind: str
    """"begin", "schema" or "release"."""
    text: str
    """The content as canonical JSON."""
    previous: str
    hash: str

    @cached_property
    def content(self) -> dict[str, Any]:
        """What it says."""
        read: dict[str, Any] = json.loads(self.text)
        return read

    @property
    def files(self) -> dict[str, str]:
        """The files that belong to it: what each one is, and its name in the store."""
        return dict(self.content.get("files", {}))


def canonical(content: Mapping[str, Any]) -> str:
    """JSON with sorted keys and nothing to choose: the same content, the same text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def entry_after(last: Entry | None, kind: str, content: Mapping[str, Any]) -> Entry:
    """The next entry."""
    number, previous = (1, FIRST) if last is None else (last.number + 1, last.hash)
    text = canonical(content)
    return Entry(number, kind, text, previous, _hash(number, kind, text, previous))


def broken(entries: Sequence[Entry]) -> list[str]:
    """What does not fit in a chain of entries, in words; nothing if all is as it was written."""
    problems, previous = [], FIRST
    for place, entry in enumerate(entries, start=1):
        if entry.number != place:
            problems.append(f"Entry {place} is missing: entry {entry.number} stands in its place.")
            break
        if entry.previous != previous:
            problems.append(f"Entry {place} does not follow from the entry before it.")
        if entry.hash != _hash(entry.number, entry.kind, entry.text, entry.previous):
            problems.append(f"Entry {place} was changed after it was written.")
        previous = entry.hash
    return problems


def content_name(content: bytes, ending: str) -> str:
    """The name of a file by its content."""
    return f"{hashlib.sha256(content).hexdigest()}{ending}"


def _hash(number: int, kind: str, text: str, previous: str) -> str:
    return hashlib.sha256("\n".join((str(number), kind, previous, text)).encode()).hexdigest()
