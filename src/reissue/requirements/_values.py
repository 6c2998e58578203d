"""Sensitive values named in a requirement: `confidence=0.8:HIV, {flu, cold}, Cancer`.

After the colon stands a list. Each item is bounded on its own: a value, a node of the sensitive column's taxonomy (the
values under it taken together), or a set in braces (its members taken together). A name with a comma, a brace, a quote,
`&`, `>` or spaces at its ends is written in double quotes, a quote inside them twice.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from reissue._arrays import Bools
from reissue.counting.cells import Domain
from reissue.errors import RequirementError

__all__ = ["Names", "Sets", "masks", "plain", "read_name", "read_sets", "sets_of", "split", "write_name", "write_sets"]

Sets: TypeAlias = tuple[tuple[str, ...], ...]
"""Items of a list: each a set of names whose values count together."""
Names: TypeAlias = Iterable[str | Iterable[str]]
"""What a caller in Python may pass for `Sets`: names, and collections of names."""

_SPECIAL = re.compile(r'[,{}"&>]|^\s|\s$|^$')


def plain(value: float) -> str:
    """A number as people write it, such that it is read back exactly."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def split(text: str, mark: str) -> list[str]:
    """Split a text at marks, except inside quotes or braces."""
    pieces, start, depth, quoted = [], 0, 0, False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter == "{") - (letter == "}")
            if letter == mark and depth == 0:
                pieces.append(text[start:place].strip())
                start = place + 1
    if quoted or depth:
        raise RequirementError("The requirement has a quote or brace that is not closed.")
    return [*pieces, text[start:].strip()]


def read_name(text: str) -> str:
    """Read a name, quoted or not."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    if _SPECIAL.search(text):
        raise RequirementError(
            'The requirement names values that cannot be read. Write HIV, {flu, cold}, "a, b": values apart, sets in '
            "braces, names with special characters in double quotes."
        )
    return text


def write_name(name: str) -> str:
    """Write a name such that `read_name` reads it."""
    return '"' + name.replace('"', '""') + '"' if _SPECIAL.search(name) else name


def read_sets(text: str) -> Sets:
    """Read a list of names and sets."""
    return tuple(_read_item(item) for item in split(text, ","))


def _read_item(text: str) -> tuple[str, ...]:
    if text.startswith("{") and text.endswith("}"):
        return tuple(read_name(part) for part in split(text[1:-1], ","))
    return (read_name(text),)


def write_sets(sets: Sets) -> str:
    """Write a list of names and sets such that `read_sets` reads it."""
    items = [", ".join(write_name(name) for name in names) for names in sets]
    return ", ".join(item if len(names) == 1 else f"{{{item}}}" for item, names in zip(items, sets, strict=True))


def sets_of(names: Names) -> Sets:
    """Return names and collections of names in one form; the order of the names in a set does not matter."""
    names = (names,) if isinstance(names, str) else names
    sets = tuple((item,) if isinstance(item, str) else tuple(sorted(set(item))) for item in names)
    if not all(sets):
        raise RequirementError("A set of sensitive values must not be empty.")
    return sets


@lru_cache(maxsize=64)
def masks(domain: Domain, sets: Sets) -> Bools:
    """Which sensitive codes belong to each item: items x codes."""
    if domain.taxonomy is None:
        raise RequirementError("A requirement can name sensitive values only where there is one sensitive column.")
    nodes: dict[str | None, tuple[int, int]] = {}
    for level in domain.taxonomy.levels:
        bounds = zip(level.first[:-1].tolist(), level.first[1:].tolist(), strict=True)
        for name, bound in zip(level.names, bounds, strict=True):
            nodes.setdefault(name, bound)
    lacking = [number for number, names in enumerate(sets, start=1) if not nodes.keys() >= set(names)]
    if lacking:
        raise RequirementError(
            f"The requirement names sensitive values that the column and its taxonomy do not have (number {lacking[0]} "
            "of those listed). Check the spelling; a value that may be absent from the data must be in the taxonomy."
        )
    found = np.zeros((len(sets), domain.size), np.bool_)
    for place, names in enumerate(sets):
        for name in names:
            first, after = nodes[name]
            found[place, first:after] = True
    return found
