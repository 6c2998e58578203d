"""Formulas: `wage ~ age + south`, an outcome and the columns that explain it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reissue.errors import InputError, nearest

__all__ = ["Formula", "Variable"]

_HELP = "Write it as  outcome ~ column + column;  a name with spaces or signs stands in backticks."


@dataclass(frozen=True)
class Variable:
    """A column, or whether it has one certain value: `disease[flu]`."""

    column: str
    value: str | None = None

    def __str__(self) -> str:
        """As it was written."""
        return self.column if self.value is None else f"{self.column}[{self.value}]"


@dataclass(frozen=True)
class Formula:
    """An outcome, and what explains it."""

    outcome: Variable
    terms: tuple[Variable, ...]

    def __str__(self) -> str:
        """As it was written."""
        return f"{self.outcome} ~ {' + '.join(map(str, self.terms))}"

    @classmethod
    def parse(cls, text: str, columns: Sequence[str]) -> "Formula":
        """Read a formula over these columns."""
        sides = _split(text, "~")
        if len(sides) != 2:
            raise InputError(f"A model needs one outcome and one '~'. {_HELP}")
        terms = tuple(_variable(part, columns) for part in _split(sides[1], "+"))
        outcome = _variable(sides[0], columns)
        if len(set(terms)) < len(terms) or any(outcome.column == term.column for term in terms):
            raise InputError("A model names a column twice. Name each column once.")
        return cls(outcome, terms)


def _split(text: str, sign: str) -> list[str]:
    """The parts between signs that stand outside backticks."""
    parts = re.findall(rf"(?:`[^`]*`|[^`{re.escape(sign)}])+", text)
    return [part.strip() for part in parts] if text.count(sign) or len(parts) == 1 else [text]


def _variable(text: str, columns: Sequence[str]) -> Variable:
    text = text.strip()
    named = re.fullmatch(r"`([^`]+)`(?:\[(.+)\])?", text) or re.fullmatch(r"(.+?)(?:\[(.+)\])?", text)
    name, value = (text, None) if text in columns or named is None else (named[1], named[2])
    if name not in columns:
        hint = nearest(name, columns)
        raise InputError(
            f"A model may name quasi-identifiers, sensitive and kept columns, and no others.{hint} {_HELP}"
        )
    return Variable(name, value)
