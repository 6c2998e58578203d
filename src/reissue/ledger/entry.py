"""What an entry of each kind must hold, so that whoever reads it later need not ask."""

import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["FORMAT", "later_format", "misplaced", "misshapen"]

FORMAT = 1
"""Goes up when entries say something that an earlier version would misunderstand."""

_NAME = re.compile(r"[0-9a-f]{64}(\.[A-Za-z0-9_]+)*")
"""The SHA-256 of a file, and an ending: never a path."""


_FINDING = {"attack", "status", "sentence", "releases"}


def _is(*kinds: type) -> Callable[[Any], bool]:
    # True and False are no numbers here, though Python says so.
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

_FIELDS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
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


def misplaced(number: int, kind: str) -> str:
    """What keeps a kind of entry from its place, as the end of a sentence; nothing if it may."""
    if kind not in _FIELDS:
        return "is of a kind that this version of Reissue does not know"
    if (kind == "begin") != (number == 1):
        return "begins a ledger, and is not the first" if kind == "begin" else "is the first, and begins no ledger"
    return ""


def misshapen(kind: str, content: Any) -> str:
    """What keeps an entry's content from being used, as the end of a sentence; nothing if it is as it must be."""
    if not isinstance(content, dict):
        return "is not a JSON object"
    wrong = [name for name, fits in _FIELDS.get(kind, {}).items() if name not in content or not fits(content[name])]
    if wrong:
        return f"lacks '{wrong[0]}', or holds something else there"
    if kind == "begin" and later_format(content):
        return f"is of a format that this version of Reissue does not know (it knows {FORMAT}): update Reissue"
    if kind == "release" and not _whole(content):
        return "names tables without their files"
    return ""


def later_format(begun: Any) -> bool:
    """Whether a ledger's first entry, as far as it can be read at all, names a format that is not known here."""
    return isinstance(begun, dict) and isinstance(begun.get("format"), int) and begun["format"] != FORMAT


def _whole(release: Mapping[str, Any]) -> bool:
    """Whether a release has a table at least, and a file and a hash for each."""
    tables = release["tables"]
    return bool(tables) and all(f"table.{one}" in release["files"] and one in release["csv"] for one in tables)
