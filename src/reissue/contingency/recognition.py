"""Recognizes published tables of counts, whose rows are combinations of values and not people.

Read as people, such a table would pass for harmless: every row would be one person. Three forms are recognized:
- a column that is called like a count and holds whole numbers, where every combination of the other columns occurs
  once, although people would share combinations;
- such a column beside one classification whose categories occur once, or several of them one below the other;
- a row or a column of totals: its name says so, and its numbers are the sums of the others.

O(rows) for each column, and only where some name says so.
"""

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.contingency.cells import Kind, read_cells
from reissue.files.tables import nested
from reissue.words import words_of

__all__ = ["counts_in", "is_total", "named_count", "named_rate"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNT = _words(
    "count counts n num number freq frequency frequencies cases people persons patients individuals deaths death total "
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
    "pacientes personas death died dead hospitalized hospitalised admission admissions confirmed probable new "
    "cumulative female male positive"
)
"""Words that may accompany them. Counts of other things, such as visits, are attributes of people."""
_TOTAL = _words(
    "total totals all sum overall together both gesamt insgesamt summe alle ensemble tous tout todos totale totaal"
)
"""Labels of a row or a column of totals."""
_WHOLE_PLACE = _words("citywide boroughwide statewide countrywide nationwide countywide national landesweit bundesweit")
"""Labels of the total over places."""
_RATE = _words(
    "rate rates percent percentage pct share ratio mean median average prevalence incidence per quote anteil prozent"
)
"""Words that call a column something that is computed from counts."""
_NAMES_PEOPLE = _words("id identifier patient person name customer client uid pid mrn nhs pseudonym")
"""Words of a column that tells people apart."""
_WIDEST = 2_000
"""Rows of a table of one dimension, at most: as many categories has hardly a classification."""
_EXPECTED = 3.0
"""Pairs of equal rows that independent columns would have, at least: that there is none is no chance then (e^-3)."""
_FILLED = 0.75
"""Or the share of all combinations that occur, each once. Of people in so few cells some would share one."""
_FILLED_BY_NAME = 0.1
"""The same where the name leaves no doubt. People described in detail fill next to none of the combinations."""
_LEAST = 4
"""Rows of a table of two columns with two values each."""


def named_count(name: str) -> bool:
    """Whether a name calls a column a count of people."""
    words = words_of(name)
    return bool(words & _COUNT) and not words & _RATE


def named_rate(name: str) -> bool:
    """Whether a name calls a column a rate."""
    return bool(words_of(name) & _RATE)


def is_total(label: str | None) -> bool:
    """Whether a label says that its row or column is a total."""
    words = words_of(label or "")
    return bool(words) and ((words <= _TOTAL | _OF_WHOM and bool(words & _TOTAL)) or bool(words & _WHOLE_PLACE))


def counts_in(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns that hold counts, if the table is one of counts: one, or several of a cross table."""
    frame = frame.select(column for column in frame if not nested(column.dtype))
    called = [name for name in frame.columns if words_of(name) & _COUNT]
    sure = [name for name in called if words_of(name) & _NOTHING_ELSE]
    labels = frame.drop([name for name in frame.columns if name in called or _is_rate(frame[name])])
    for name in called:
        words = words_of(name)
        plain = words <= _COUNT | _OF_WHOM or (name in sure and len(sure) > 1)
        if plain and (
            _is_count(frame, name) or (len(called) > 1 and _is_count(labels.with_columns(frame[name]), name))
        ):
            return (name,)
        if plain and (name in sure or len(called) > 1) and _of_one_dimension(labels, frame[name]):
            return (name,)
    return _with_totals(frame)


def _is_rate(column: pl.Series) -> bool:
    """Whether a column holds what is computed from counts."""
    texts = column.cast(pl.String).str.strip_chars().drop_nulls()
    parts = texts.cast(pl.Float64, strict=False).is_not_null() & texts.str.contains(r"\.\d*[1-9]")
    return named_rate(column.name) or 2 * int(parts.sum()) > len(texts)


def _of_one_dimension(labels: pl.DataFrame, column: pl.Series) -> bool:
    """Whether a column counts people by one classification, each category once, or by several one below the other."""
    number = _numbers(column)
    if not labels.width or number is None or not 2 <= len(column) <= _WIDEST or _numbers_rows(number):
        return False
    category = labels[labels.columns[-1]]
    tells = any(words_of(name) & _NAMES_PEOPLE for name in labels.columns) or _numbers(category) is not None
    kinds = labels.select(labels.columns[:-1]).unique().height
    once = not category.drop_nulls().is_duplicated().any()
    return not tells and once and 4 * kinds <= labels.height + 3 and int(number.sum()) > 2 * len(column)


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
    cells = read_cells(column)
    filled = cells.kind != Kind.BLANK
    found = cells.low[cells.exact]
    shown = int((cells.exact | (cells.kind == Kind.RANGE)).sum())
    return found if cells.counts and len(found) and 2 * shown >= int(filled.sum()) else None


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
