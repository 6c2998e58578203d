"""propose: look at a table and guess its schema, in words, for the holder to correct.

A guess errs on the side of caution: what looks like a name or free text is dropped, and what nobody knows anything
about is a quasi-identifier. The first column that is sensitive by its name is taken as that; further ones are for the
holder to confirm. Range widths are written out, so that every release of a series uses the same ranges.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from reissue.data.table import to_polars
from reissue.errors import DataError
from reissue.files.cells import typed_cells
from reissue.files.dialect import FOUND, Dialect
from reissue.files.tables import nested
from reissue.language import counted, text
from reissue.proposing.column_names import (
    CALLED,
    CODES,
    DIRECT,
    NOTES,
    PERSON,
    PROVIDER,
    QUASI,
    SENSITIVE,
    WHOSE,
)
from reissue.schema import Role
from reissue.taxonomy.codings import Hierarchy, automatic_widths
from reissue.words import number, words_of

__all__ = ["Guess", "as_toml", "describe", "likely_identifier", "propose", "read_proposed"]

_MANY = 20
"""Minimum number of rows that show how unique a column is."""
_NEARLY = 0.9
"""Share of different values from which a column with a person's name tells people apart, doubled rows or not."""
_CLOCK = r"^(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$"


@dataclass(frozen=True)
class Guess:
    """The guessed role of a column, and the reason."""

    column: str
    role: Role
    why: str
    hierarchy: Hierarchy | None = None
    confirm: bool = False
    """Whether the line is written as a comment, for the holder to confirm."""
    several: bool = False
    """Of an identifier: whether rows share it, so that people have repeated records."""
    harmless: str | None = None
    """Of a sensitive column: the most frequent value, proposed as one that needs no protection."""
    largest: float = 0.0
    """Of a sensitive column: the share of its most frequent value."""
    protected: float = 0.0
    """The same among protected values."""
    values: int = 0
    """The number of different values."""
    amounts: bool = False
    """Of a sensitive column: whether it holds amounts, which cannot be randomized."""


@dataclass(frozen=True, eq=False)
class _Facts:
    """What is known about a column before guessing."""

    column: pl.Series

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def words(self) -> frozenset[str]:
        return words_of(self.name)

    @cached_property
    def values(self) -> pl.Series:
        known = self.column.drop_nulls()
        known = known.cast(pl.String) if self.text else known
        return known.drop_nans() if known.dtype.is_float() else known

    @cached_property
    def distinct(self) -> int:
        return self.values.n_unique()

    @property
    def unique(self) -> bool:
        return len(self.values) >= _MANY and self.distinct == len(self.column)

    @property
    def nearly_unique(self) -> bool:
        return len(self.values) >= _MANY and self.distinct >= 0.95 * len(self.values)

    @property
    def text(self) -> bool:
        return isinstance(self.column.dtype, pl.String | pl.Categorical | pl.Enum)

    @property
    def whole(self) -> bool:
        return self.column.dtype.is_integer()

    @cached_property
    def lengths(self) -> pl.Series:
        return self.values.cast(pl.String).str.len_chars()

    @cached_property
    def texts(self) -> pl.Series:
        """The different texts."""
        return self.values.cast(pl.String).unique()

    @cached_property
    def prose(self) -> bool:
        """Long text, mostly distinct; repeated text does not make it a category."""
        if not self.text or self.distinct <= min(_MANY, len(self.values) / 2):
            return False
        return _mean(self.texts.str.len_chars()) > 30

    @cached_property
    def phrases(self) -> bool:
        """Mostly distinct text of several words, or with punctuation."""
        if not self.text or self.distinct <= _MANY:
            return False
        return (
            _mean(self.texts.str.count_matches(r"\S+")) >= 3
            or _mean(self.texts.str.contains(r"[,;:!?]|\.(\s|$)")) > 0.2
        )

    @cached_property
    def date(self) -> bool:
        if self.column.dtype.is_temporal():
            return isinstance(self.column.dtype, pl.Date | pl.Datetime)
        if self.column.dtype != pl.String or not len(self.values) or not self.values.str.contains(r"\d").all():
            return False
        return self.values.str.to_date(strict=False).null_count() == 0 if _dated(self.values) else False

    @cached_property
    def clock(self) -> bool:
        """Times of day, such as 08:30; the hour comes first."""
        if self.column.dtype == pl.Time:
            return True
        return self.column.dtype == pl.String and bool(len(self.values)) and self.values.str.contains(_CLOCK).all()

    @cached_property
    def code(self) -> bool:
        """Short codes of letters and digits with common beginnings: the first characters say most."""
        if self.words & CODES:
            return self.text or self.whole
        like = self.text and self.values.str.contains(r"^[A-Za-z]{0,3}[0-9][A-Za-z0-9 .-]{2,9}$").all()
        return bool(like) and self.distinct > _MANY


def _mean(column: pl.Series) -> float:
    return float(column.mean() or 0)  # type: ignore[arg-type]


def _dated(values: pl.Series) -> bool:
    return bool(values.str.contains(r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?$").all())


def read_proposed(data: Any, *, dialect: Dialect = FOUND) -> pl.DataFrame:
    """Read a table for guessing; whole numbers that are codes by their name become text."""
    frame, _ = typed_cells(to_polars(data, dialect=dialect)[0], dialect)
    codes = [name for name, dtype in frame.schema.items() if dtype.is_integer() and words_of(name) & CODES]
    return frame.with_columns(pl.col(name).cast(pl.String) for name in codes)


def propose(frame: pl.DataFrame) -> tuple[Guess, ...]:
    """Return a guess for each column, in the order of the table."""
    if not frame.height:
        raise DataError("The table has no rows: there is nothing to guess from.")
    guesses: list[Guess] = []
    for guess in _one_secret(_one_identifier([_guess(_Facts(column)) for column in frame.iter_columns()])):
        if guess.role == Role.PROVIDER and any(other.role == Role.PROVIDER for other in guesses):
            guesses.append(Guess(guess.column, Role.DROP, text("{why}; there is a provider already", why=guess.why)))
        else:
            guesses.append(guess)
    return tuple(guesses)


def likely_identifier(frame: pl.DataFrame) -> str | None:
    """Return the column that names people, by its name or its content, although rows may be doubled; else None."""
    found = []
    for column in frame.iter_columns():
        words = words_of(column.name)
        if nested(column.dtype) or not words or not (words & DIRECT or words <= PERSON):
            continue
        known = column.drop_nulls()
        if len(known) and known.n_unique() >= _NEARLY * len(known) and len(known) >= _NEARLY * frame.height:
            found.append((bool(words & CALLED), not words & WHOSE, column.name))
    return min(found)[2] if found else _unique_but_for_copies(frame)


def _unique_but_for_copies(frame: pl.DataFrame) -> str | None:
    """A column of text or whole numbers in which every row has its own value as soon as equal rows count once."""
    plain = frame.select(one for one in frame.iter_columns() if not nested(one.dtype))
    once = plain.unique(maintain_order=True).filter(~pl.all_horizontal(pl.all().is_null())) if plain.width else plain
    facts = (_Facts(one) for one in once.iter_columns())
    return next((one.name for one in facts if one.unique and (one.text or one.whole) and not one.date), None)


def _one_secret(guesses: Sequence[Guess]) -> list[Guess]:
    """The first plausible column as the sensitive one; the others are to be confirmed."""
    plausible = [guess.column for guess in guesses if guess.role == Role.SENSITIVE]
    return [replace(guess, confirm=True) if guess.column in plausible[1:] else guess for guess in guesses]


def _one_identifier(guesses: Sequence[Guess]) -> list[Guess]:
    """At most one identifier: what names the person before what numbers rows, else the first unique column."""
    found = [guess for guess in guesses if guess.role == Role.IDENTIFIER]
    whose = [guess for guess in found if words_of(guess.column) & WHOSE]
    shared = bool(whose) and all(guess.several for guess in whose)
    called = {guess.column for guess in found if words_of(guess.column) & CALLED}
    first = sorted(whose if shared else found, key=lambda guess: (guess.several, guess.column in called))[:1]
    return [
        Guess(guess.column, Role.DROP, text("{why}; there is an identifier already", why=guess.why))
        if guess.role == Role.IDENTIFIER and guess not in first
        else guess
        for guess in guesses
    ]


def _guess(facts: _Facts) -> Guess:
    if nested(facts.column.dtype):
        return Guess(facts.name, Role.DROP, text("its cells are lists, structures, durations or the like"))
    if not len(facts.values):
        return Guess(facts.name, Role.DROP, text("it is empty"))
    if not facts.name:
        return Guess(facts.name, Role.DROP, text("it has no name; give it one if it is needed"))
    if facts.words & NOTES and facts.text and not facts.date and not facts.clock:
        why = text("the name says that it is free text, which may say anything about a person")
        return Guess(facts.name, Role.DROP, why)
    by_name = _by_name(facts)
    return by_name or _by_content(facts)


def _by_name(facts: _Facts) -> Guess | None:
    if facts.words & DIRECT:
        return _person(facts, text("the name says that it points to a person"))
    why = next((text(why) for why, words in QUASI.items() if facts.words & words and not facts.prose), None)
    if why is not None:
        return _known(facts, why)
    if facts.words & SENSITIVE:
        return _secret(facts)
    if facts.words & PROVIDER and not facts.nearly_unique:
        return Guess(facts.name, Role.PROVIDER, text("the name says who contributed the record"))
    if facts.words and facts.words <= PERSON:
        return _person(facts, text("the name says that it points to a person"))
    return None


def _known(facts: _Facts, why: str) -> Guess:
    """A quasi-identifier by its name; but an address that only one person has is a name."""
    if facts.nearly_unique and facts.text and not facts.date and not facts.clock and not facts.code:
        return Guess(facts.name, Role.DROP, text("{why}, and nearly every row has its own value", why=why))
    return _quasi(facts, why)


def _secret(facts: _Facts) -> Guess:
    """Sensitive by its name; if nearly every row has its own text, it may be anything."""
    if facts.text and (facts.prose or facts.nearly_unique):
        why = text("nearly every row has its own text, which may say anything about a person")
        return Guess(facts.name, Role.DROP, why)
    return Guess(facts.name, Role.SENSITIVE, text("its name suggests that nobody should learn it"))


def _person(facts: _Facts, why: str) -> Guess:
    """The identifier, unique or shared by a person's rows; a name that rows share is dropped."""
    if facts.distinct == len(facts.column):
        return Guess(facts.name, Role.IDENTIFIER, text("{why}, and every row has its own", why=why))
    if not facts.words & CALLED and not facts.nearly_unique and len(facts.values) == len(facts.column) >= _MANY:
        average = len(facts.values) / facts.distinct
        shared = "{why}, and rows share theirs, {average} each on average: people have several rows"
        words = text(shared, why=why, average=number(average))
        return Guess(facts.name, Role.IDENTIFIER, words, several=True)
    if facts.nearly_unique and not facts.words <= CALLED:
        words = counted(
            len(facts.values) - facts.distinct,
            "{why}; {count} row of {rows} shares it with another: `reissue clean` shows it",
            "{why}; {count} rows of {rows} share theirs: `reissue clean` shows them",
            why=why,
            rows=number(len(facts.values)),
        )
        return Guess(facts.name, Role.IDENTIFIER, words)
    return Guess(facts.name, Role.DROP, text("{why}, but rows share theirs, so it is no identifier", why=why))


def _by_content(facts: _Facts) -> Guess:
    if facts.clock:
        return _quasi(facts, text("it is a time of day, which others may know; its first characters are the hour"))
    if facts.prose or (facts.phrases and not facts.date):
        return Guess(facts.name, Role.DROP, text("it is free text, which may say anything about a person"))
    if facts.unique and (facts.text or facts.whole) and not facts.date:
        return Guess(facts.name, Role.IDENTIFIER, text("every row has its own value"))
    if facts.nearly_unique and facts.text and not facts.date:
        return Guess(facts.name, Role.DROP, text("nearly every row has its own value: names or free text"))
    if facts.distinct == 1 and not facts.column.null_count():
        return Guess(facts.name, Role.DROP, text("it is the same in every row"))
    return _quasi(facts, text("nothing is known about it, and others may know it: the cautious choice"))


def _quasi(facts: _Facts, why: str) -> Guess:
    return Guess(facts.name, Role.QUASI, why, _hierarchy(facts))


def _hierarchy(facts: _Facts) -> Hierarchy:
    if facts.date:
        return Hierarchy("dates")
    if facts.clock:
        return _hours(facts)
    if facts.code:
        return _prefix(facts)
    if facts.column.dtype.is_numeric() and facts.distinct > 2 and "code" not in facts.words:
        widths = tuple(
            width for width in automatic_widths(facts.values.unique().sort()) if width != 1 or not facts.whole
        )
        return Hierarchy("ranges", ranges=widths) if widths else Hierarchy("flat")
    return Hierarchy("flat")


def _hours(facts: _Facts) -> Hierarchy:
    """Prefixes of a time: the minute, if there are seconds, then the hour and its first digit."""
    texts = facts.texts
    if not texts.str.contains(r"^\d\d:").all():
        return Hierarchy("prefix", prefix=(2,))
    seconds = texts.str.contains(r":\d\d:") & ~texts.str.contains(r":00(?:\.0+)?$")
    return Hierarchy("prefix", prefix=(5, 3, 1) if seconds.any() else (3, 1))


def _prefix(facts: _Facts) -> Hierarchy:
    """Half of the characters, half of those, down to one."""
    keep, counts = int(facts.lengths.max() or 0), []  # type: ignore[arg-type]
    while keep > 1:
        keep = (keep + 1) // 2
        counts.append(keep)
    return Hierarchy("prefix", prefix=tuple(counts)) if counts else Hierarchy("flat")


# --- the schema file -------------------------------------------------------------------------------------------------


def describe(hierarchy: Hierarchy | None) -> str:
    """Describe in a few words how a column would be generalized."""
    if hierarchy is None:
        return ""
    if hierarchy.kind == "ranges":
        return "ranges of " + ", ".join(f"{width:.12g}" for width in hierarchy.ranges)
    if hierarchy.kind == "prefix":
        return "first " + ", ".join(map(str, hierarchy.prefix)) + " characters"
    return " then ".join(hierarchy.dates) if hierarchy.kind == "dates" else "shown or hidden"


_HINTS = {
    "ranges": "widths, each a multiple of the one before; the same in every release",
    "prefix": "how many characters are kept, fewer and fewer",
    "dates": "leave out the steps that you do not want",
    "flat": "a value is shown or hidden; a tree or a file would keep more of it",
}


def as_toml(guesses: Sequence[Guess], title: str, clean: str = "") -> str:
    """Write a commented schema file, which `Schema.loads` reads; `clean` is its section of repairs."""
    lines = [
        f"# {_quoted(title)[1:-1]}",
        "# Every line is a guess: read it, correct it. The roles are identifier (never published), provider (never",
        "# published), quasi (generalized), sensitive, keep (published as it is) and drop.",
        "# A column that is not named is dropped. Instead of `flat = true` a taxonomy may have groups of values,",
        '#   tree = { Europe = ["France", "Spain"], Asia = ["Japan"] }    or an ARX hierarchy,    file = "country.csv"',
        "",
        "[columns]",
        *_column_lines(guesses),
    ]
    if not any(guess.role == Role.SENSITIVE for guess in guesses):
        lines.append('# No name looks sensitive. If a column is what nobody should learn about a person: "sensitive".')
    if any(guess.several for guess in guesses):
        lines += ["", "[person]", "several_rows = true  # visits, claims, tests: people are counted, and not rows"]
    lines += ["", clean.rstrip("\n")] if clean else []
    for guess in guesses:
        if guess.hierarchy is not None:
            lines += ["", f"[taxonomy.{_key(guess.column)}]", _taxonomy_line(guess.hierarchy)]
    return "\n".join(lines) + "\n"


def _column_lines(guesses: Sequence[Guess]) -> list[str]:
    """One aligned line per column; what is to be confirmed is a comment."""
    starts, ends = [], []
    for guess in guesses:
        if guess.confirm:
            starts.append((f"# {_key(guess.column)}", f'"{guess.role}"'))
            ends.append(f"{guess.why}: remove the # in front to confirm; until then it is dropped")
        else:
            starts.append((_key(guess.column), f'"{guess.role}"'))
            ends.append(guess.why)
    width = min(max((len(key) for key, _ in starts), default=0), 40)
    return [f"{key:{width}} = {role:14}# {why}" for (key, role), why in zip(starts, ends, strict=True)]


def _key(name: str) -> str:
    """A column name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(line: str) -> str:
    """A TOML string: like JSON, except for one control character."""
    return json.dumps(line, ensure_ascii=False).replace("\x7f", "\\u007f")


def _taxonomy_line(hierarchy: Hierarchy) -> str:
    value = {
        "ranges": "[" + ", ".join(f"{width:.12g}" for width in hierarchy.ranges) + "]",
        "prefix": str(list(hierarchy.prefix)),
        "dates": json.dumps(list(hierarchy.dates)),
    }.get(hierarchy.kind, "true")
    return f"{hierarchy.kind} = {value}  # {_HINTS[hierarchy.kind]}"
