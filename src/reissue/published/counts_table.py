"""Recognizes published tables of counts, whose rows are combinations of values and not people.

Read as people, such a table would pass for harmless: every row would be one person. Two forms are recognized:
- a column that is called like a count and holds whole numbers, where every combination of the other columns occurs
  once, although people would share combinations;
- a row or a column of totals: its name says so, and its numbers are the sums of the others.

O(rows) for each column, and only where some name says so.
"""

import re

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.errors import DataError
from reissue.files.tables import nested
from reissue.published.tables import Tables
from reissue.schema import Schema
from reissue.words import words_of

__all__ = ["counts_in", "refuse_counts"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNT = _words(
    "count counts n num number freq frequency frequencies cases people persons patients individuals deaths total "
    "totals anzahl haufigkeit haeufigkeit fallzahl falle faelle personen patienten gesamt insgesamt summe "
    "nombre effectif effectifs numero recuento frecuencia conteo aantal"
)
"""Words that call a column a count."""
_NOTHING_ELSE = _words(
    "count counts freq frequency frequencies anzahl haufigkeit haeufigkeit fallzahl effectif effectifs recuento "
    "frecuencia conteo aantal"
)
"""Of these the ones that call it nothing else: then a tenth of all combinations is enough, such as four rows have."""
_OF_WHOM = _words(
    "of the in person patient case record records row rows respondents observations obs subjects population der de des "
    "pacientes personas"
)
"""Words that may accompany them. Counts of other things, such as visits, are attributes of people."""
_TOTAL = _words(
    "total totals all sum overall together both gesamt insgesamt summe alle ensemble tous tout todos totale totaal"
)
"""Labels of a row or a column of totals."""
_SUPPRESSED = re.compile(r"[<≤]\s*=?\s*\d+|[*.:–-]+|[xcs]|n/?a", re.IGNORECASE)
"""How suppressed cells of a table of counts are written."""
_MOST_SUPPRESSED = 0.5
_EXPECTED = 3.0
"""Pairs of equal rows that independent columns would have, at least: that there is none is no chance then (e^-3)."""
_FILLED = 0.75
"""Or the share of all combinations that occur, each once. Of people in so few cells some would share one."""
_FILLED_BY_NAME = 0.1
"""The same where the name leaves no doubt. People described in detail fill next to none of the combinations."""
_LEAST = 4
"""Rows of a table of two columns with two values each."""


def refuse_counts(tables: Tables, schema: Schema | None, name: str, named: tuple[str, ...] = ()) -> None:
    """Raise DataError for a table of counts, unless the schema or the caller (`named`) gives its counts a role."""
    if tables.source is not None or tables.apart or tables.times is not None or not tables.frames:
        return
    said = {*named, *(() if schema is None else schema.columns)}
    found = counts_in(tables.main)
    if not found or said.intersection(found):
        return
    columns, why = " and ".join(f"'{column}'" for column in found), _WHY[len(found) == 1]
    raise DataError(
        f"{name[0].upper()}{name[1:]} looks like a table of counts, not of people: {why.format(columns=columns)}. "
        "Tables of counts are not supported yet: every row would be taken for one person. If rows are people all the "
        f'same, say so by naming the column in a schema, for example under [columns]: {found[0]} = "drop".'
    )


_WHY = {
    True: "the column {columns} holds whole numbers, and every combination of the other columns occurs once",
    False: "the columns {columns} hold whole numbers and their totals",
}


def counts_in(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns that hold counts, if the table is one of counts: one, or several of a cross table."""
    frame = frame.select(column for column in frame if not nested(column.dtype))
    for name in frame.columns:
        words = words_of(name)
        if words & _COUNT and words <= _COUNT | _OF_WHOM and _is_count(frame, name):
            return (name,)
    return _with_totals(frame)


def _is_count(frame: pl.DataFrame, name: str) -> bool:
    """Whether a column so called is one: other columns say what is counted, each combination once."""
    number = _numbers(frame[name])
    others = frame.drop(name)
    if number is None or _numbers_rows(number) or frame.height < _LEAST or others.width < 2:
        return False
    if int(number.max()) < 2 or others.is_duplicated().any():
        return False
    times = [column.value_counts()["count"].cast(pl.Float64).to_numpy() for column in others]
    pairs = frame.height * (frame.height - 1) / 2
    # None where a column tells rows apart by itself, which says who it is.
    alike = pairs * np.prod([float((many * (many - 1)).sum()) / 2 / pairs for many in times])
    cells = np.prod([float(len(many)) for many in times])
    filled = _FILLED_BY_NAME if words_of(name) <= _NOTHING_ELSE else _FILLED
    return bool(alike >= _EXPECTED or (alike > 0 and frame.height >= filled * cells))


def _numbers(column: pl.Series) -> Ints | None:
    """The whole numbers of a column, none below 0, without cells that were suppressed; None if it holds anything else.

    A column of measurements may look so, too; that it counts is another question.
    """
    texts = column.cast(pl.String).str.strip_chars().drop_nulls()
    texts = texts.str.replace(r"^(\d+)\.0+$", "$1").str.replace_all(r"(?<digit>\d)[ ,'\u00a0](\d{3})", "${digit}$2")
    whole = texts.cast(pl.Int64, strict=False)
    odd = texts.filter(whole.is_null())
    if any(_SUPPRESSED.fullmatch(text) is None for text in odd.unique().to_list() if text):
        return None
    found = whole.drop_nulls().to_numpy()
    enough = len(found) >= _MOST_SUPPRESSED * len(column)
    return found if len(found) and enough and int(found.min()) >= 0 else None


def _numbers_rows(number: Ints) -> bool:
    """Whether numbers only number the rows."""
    return bool(len(np.unique(number)) == len(number) == number.max() - number.min() + 1)


# --- totals ----------------------------------------------------------------------------------------------------------


def _with_totals(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns of whole numbers of a table that has a row or a column of their totals."""
    if frame.height < 2:
        return ()
    whole = {name: number for name in frame.columns if (number := _numbers(frame[name])) is not None}
    full = {name: number for name, number in whole.items() if len(number) == frame.height}
    labels = [name for name in frame.columns if name not in whole]
    if not labels or not full:
        return ()
    total = np.logical_or.reduce([_called_total(frame[name]) for name in labels])
    below = {name for name, number in full.items() if total.sum() == 1 and _sums(number, total)}
    if below == set(full) and len(below) > 1:
        return tuple(full)
    sums = [name for name in full if words_of(name) and words_of(name) <= _TOTAL]
    parts = [name for name in full if name not in sums]
    if len(sums) == 1 and len(parts) > 1 and (np.sum([full[name] for name in parts], axis=0) == full[sums[0]]).all():
        return tuple(full)
    return ()


def _sums(number: Ints, total: Bools) -> bool:
    return bool(number[total].sum() == number[~total].sum() > 0)


def _called_total(column: pl.Series) -> Bools:
    """Whether each row's label says that it is a total."""
    texts = column.cast(pl.String).fill_null("").str.to_lowercase().str.strip_chars(" :.*")
    return np.asarray(texts.is_in(sorted(_TOTAL)).to_numpy(), np.bool_)
