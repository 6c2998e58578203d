"""A published column in all its releases, as text: what there is to know about it before its role is guessed."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from reissue.proposing.column_names import CODES
from reissue.taxonomy.codings import Hierarchy
from reissue.taxonomy.notation import words_beside_ranges
from reissue.taxonomy.ranges import Span, is_dated, is_range, span_of
from reissue.words import words_of

__all__ = ["PublishedColumn"]

_MANY = 20
"""Minimum number of rows that show how unique a column is; also the maximum number of values that are few."""


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A column in all releases, as text."""

    name: str
    parts: tuple[pl.Series, ...]
    numbered: bool = False
    """Whether groups are numbered, so that values may be published unchanged."""
    apart: bool = False
    """Whether it belongs to a table of sensitive values."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return words_of(self.name)

    @cached_property
    def texts(self) -> list[str]:
        """The distinct texts, without missing ones."""
        return [text.strip() for text in pl.concat(list(self.parts)).drop_nulls().unique().sort().to_list()]

    @cached_property
    def spans(self) -> list[Span | None]:
        """Its texts as ranges, where possible."""
        return [span_of(text, dates=self.dated) for text in self.texts]

    @cached_property
    def dated(self) -> bool:
        """Whether they are days, months, quarters and years; years alone are numbers."""
        spans = [span_of(text, dates=True) for text in self.texts if not _is_root(text)]
        return bool(spans) and None not in spans and any(map(is_dated, self.texts))

    @cached_property
    def coded(self) -> bool:
        """Whether they are codes with masked ends: 53***."""
        return any(text.endswith("*") and not _is_root(text) for text in self.texts)

    @cached_property
    def general(self) -> bool:
        """Whether somebody generalized it."""
        wide = any(span is not None and span.low < span.high for span in self.spans) or self.ranged
        return wide or self.coded or any(_is_root(text) or text[:1] + text[-1:] == "{}" for text in self.texts)

    @cached_property
    def ranged(self) -> bool:
        """Whether some text can only be a range."""
        return any(map(is_range, self.texts))

    @cached_property
    def names(self) -> set[str]:
        """Texts that are not numbers, days or codes: all of them, or those beside ranges."""
        if self.hierarchy.kind == "flat":
            return self.members
        return self._no_ranges if self.hierarchy.kind == "auto" else set()

    @cached_property
    def _no_ranges(self) -> set[str]:
        """Members that are neither ranges nor numbers nor days."""
        return {text for text in self.members if span_of(text, dates=self.dated) is None}

    @cached_property
    def unique(self) -> bool:
        """Whether no value is shared within a release; counterfeits have none."""
        return all(part.drop_nulls().is_duplicated().sum() == 0 for part in self.parts)

    @property
    def long(self) -> bool:
        """Whether there are enough rows to show how unique it is."""
        return all(len(part) >= _MANY for part in self.parts)

    @cached_property
    def nearly_unique(self) -> bool:
        """Whether hardly any two rows share a value."""
        return self.long and all(part.drop_nulls().n_unique() >= 0.95 * len(part) for part in self.parts)

    @cached_property
    def counting(self) -> bool:
        """Whether it numbers the rows of every release."""
        return all(_counts(part) for part in self.parts)

    @cached_property
    def members(self) -> set[str]:
        """Its texts without stars; for sets, their members."""
        sets = [text for text in self.texts if text[:1] + text[-1:] == "{}"]
        inside = {part.strip() for text in sets for part in text[1:-1].split(",")}
        return {text for text in self.texts if not _is_root(text)} - set(sets) | inside

    @property
    def few(self) -> bool:
        """Whether it has so few values that they distinguish groups of people, not records."""
        return len(self.texts) <= max(_MANY, min(map(len, self.parts)) / _MANY)

    @property
    def prose(self) -> bool:
        """Whether it is long text, mostly distinct."""
        lengths = [len(text) for text in self.texts]
        return sum(lengths) > 30 * len(lengths) and len(lengths) > sum(map(len, self.parts)) / 2

    @property
    def numeric(self) -> bool:
        """Whether every text is a number or a range of numbers."""
        return None not in self.spans and not self.dated

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """A hierarchy in which its texts contain each other."""
        if self.coded:
            heads = {len(text.rstrip("*")) for text in self.texts if text.endswith("*")} - {0}
            return Hierarchy("prefix", prefix=tuple(sorted(heads, reverse=True)))
        if self.dated:
            return Hierarchy("dates")
        on_a_line = self._no_ranges <= set(words_beside_ranges(list(self.members)))
        numbers = on_a_line and (self.general or not self.words & CODES)
        return Hierarchy("auto" if numbers or self.ranged else "flat")


def _counts(part: pl.Series) -> bool:
    """Whether it is 0, 1, 2, ... or 1, 2, 3, ..."""
    first = 1 if part[0] == "1" else 0
    numbers = pl.int_range(first, first + len(part), eager=True).cast(pl.String)
    return part.null_count() == 0 and bool((part == numbers).all())


def _is_root(text: str) -> bool:
    return bool(text) and not text.strip("*")
