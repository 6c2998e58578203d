"""What the adversary of `reissue attack` knows, as the command line writes it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reissue.errors import InputError, nearest

if TYPE_CHECKING:
    from reissue.people.knowledge import Knowledge

__all__ = ["insiders", "knowledge_of", "tables_of"]

_NAMES = ("population", "members", "totals", "leaving", "algorithm", "requirement", "values")


def knowledge_of(texts: Sequence[str], population: Path | None = None, members: Path | None = None) -> "Knowledge":
    """`name=value` texts as knowledge; values stay text, so that requirements may have equals signs of their own.

    `population` and `members` are options of their own that say the same as `population=` and `members=`.
    """
    from reissue.methods import find
    from reissue.people.knowledge import Knowledge
    from reissue.requirements import parse
    from reissue.requirements._values import read_sets

    known: dict[str, Any] = {}
    more = [f"population={population}"] * (population is not None) + [f"members={members}"] * (members is not None)
    for text in (*texts, *more):
        name, equals, value = (piece.strip() for piece in text.partition("="))
        if name not in _NAMES:
            raise InputError("There is nothing of that name to know." + nearest(name, _NAMES))
        if not equals or not value:
            raise InputError("Write what the adversary knows as name=value, for example algorithm=mondrian.")
        if name in known:
            raise InputError(f"What the adversary knows as '{name}' is given twice. Give it once.")
        known[name] = value
    if "members" in known:
        known["members"] = tables_of(known["members"])
    if "algorithm" in known:
        find(known["algorithm"])
    if "requirement" in known:
        known["requirement"] = parse(known["requirement"])
    if "values" in known:
        known["values"] = read_sets(known["values"])
    return Knowledge(**known)


def insiders(knowledge: "Knowledge", m: int | None, coalition: str | None) -> "Knowledge":
    """The same with providers who collude: any m of them, or those named between commas."""
    if m is not None and coalition is not None:
        raise InputError("Give --m for any providers or --coalition for certain ones, not both.")
    names = tuple(name.strip() for name in (coalition or "").split(",") if name.strip())
    if coalition is not None and not names:
        raise InputError("A coalition is written as names between commas, for example --coalition A,B.")
    return replace(knowledge, m=m, coalition=names)


def tables_of(text: str) -> list[Path]:
    """A folder, whose tables are taken in the order of their names, or files between commas."""
    from reissue.publishing.series import snapshots

    return snapshots(text) if Path(text).is_dir() else [Path(part.strip()) for part in text.split(",")]
