"""Recognizes published tables of counts, whose rows are combinations of values and not people.

Read as people, such a table would pass for harmless: every row would be one person. Three forms are recognized:
- a column that is called like a count and holds whole numbers, where every combination of the other columns occurs
  once, although people would share combinations;
- such a column beside one classification whose categories occur once, or several of them one below the other;
- a row or a column of totals: its name says so, and its numbers are the sums of the others.

O(rows) for each column, and only where some name says so.
"""

import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.contingency.cells import Kind, read_cell, read_cells
from reissue.contingency.dates import day_of
from reissue.files.tables import nested
from reissue.words import words_of

__all__ = ["KINDS", "PLACES", "counts_in", "identifying", "is_total", "named_count", "named_rate", "total_in"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNT = _words(
    "count counts n num number freq frequency frequencies cases people persons patients individuals deaths death total "
    "totals admissions hospitalizations hospitalisations births suicides students pupils employees residents victims "
    "claimants discharges "
    "anzahl haufigkeit haeufigkeit fallzahl falle faelle personen patienten gesamt insgesamt summe todesfalle "
    "gestorbene verstorbene infizierte "
    "nombre effectif effectifs deces hospitalisations "
    "numero recuento frecuencia conteo casos def muertes fallecidos defunciones hospitalizados nacimientos "
    "casi deceduti ricoverati mortes obitos aantal overleden"
)
"""Words that call a column a count."""
_VALUE = _words("obs measure value values wert werte valeur valor waarde")
"""Words of the column of numbers of a statistical office's long tables, which is called by nothing else."""
_NOTHING_ELSE = _words(
    "count counts freq frequency frequencies anzahl haufigkeit haeufigkeit fallzahl effectif effectifs recuento "
    "frecuencia conteo aantal"
)
"""Of these the ones that call it nothing else: then a tenth of all combinations is enough, such as four rows have."""
_OF_WHOM = _words(
    "of the in person patient case record records row rows respondents observations obs subjects population der de des "
    "pacientes personas death died dead hospitalized hospitalised admission admissions confirmed probable new "
    "cumulative female male positive last yes"
)
"""Words that may accompany them. Counts of other things, such as visits, are attributes of people."""
_TOTAL = _words(
    "total totals all sum overall together both gesamt insgesamt summe alle ensemble tous toutes tout todos todas "
    "totale totaal tot ambos beide tutti"
)
"""Labels of a row or a column of totals."""
_OF_WHAT = _OF_WHOM | _words(
    "people persons patients cases deaths individuals sex sexes gender genders age ages race races ethnicity "
    "ethnicities group groups region regions area areas borough boroughs county counties category categories place "
    "places type types cause causes geschlecht geschlechter altersgruppen personen sexos edades anzahl population n"
)
"""Words that may accompany those."""
_WHOLE_PLACE = _words("citywide boroughwide statewide countrywide nationwide countywide national landesweit bundesweit")
"""Labels of the total over places."""
_RATE = _words(
    "rate rates percent percentage pct share ratio mean median average prevalence incidence per quote anteil prozent"
)
"""Words that call a column something that is computed from counts."""
_WITH_SHARE = re.compile(r"\(\s*%\s*\)")
_BESIDE = _words(
    "flag flags status symbol symbols note notes footnote footnotes vector coordinate decimals dguid population pop "
    "lat long latitude longitude terminated scalar uom unit units"
)
"""Words of columns that say something about a row, and not whom it counts."""
KINDS = _words(
    "group category dimension characteristic topic variable type breakdown indicator merkmal classification demographic"
)
"""Names of a column that says which classification a row belongs to."""
PLACES = _words(
    "country region province state county district city borough area land bundesland departement municipality zip zcta "
    "modzcta postcode plz ward fips tract dep gemeinde comune provincia"
)
"""Words of a column of places."""
_SEXES = _words(
    "female females male males women men weiblich mannlich maennlich frauen manner maenner femmes hommes mujeres "
    "hombres"
)
_TIMELY = 3
"""Columns that are called by dates, at least, for a table to be a series in time."""
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
    return bool(words & _COUNT or words <= _VALUE) and bool(words) and not words & _RATE


def named_rate(name: str) -> bool:
    """Whether a name calls a column a rate; "n (%)" is a count with its percentage beside it."""
    words = words_of(name)
    return bool(words & _RATE) or ("%" in name and not _WITH_SHARE.search(name))


def is_total(label: str | None) -> bool:
    """Whether a label says that its row or column is a total."""
    words = words_of(label or "")
    return bool(words) and ((words <= _TOTAL | _OF_WHAT and bool(words & _TOTAL)) or bool(words & _WHOLE_PLACE))


def counts_in(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns that hold counts, if the table is one of counts: one, or several of a cross table."""
    frame = frame.select(column for column in frame if not nested(column.dtype))
    called = [name for name in frame.columns if named_count(name)]
    sure = [name for name in called if words_of(name) & _NOTHING_ELSE]
    for name in called:
        words = words_of(name)
        plain = words <= _COUNT | _OF_WHOM | _VALUE or (name in sure and len(sure) > 1)
        if not plain or _numbers(frame[name]) is None:
            continue
        labels = identifying(frame.drop([one for one in frame.columns if one in called or _is_rate(frame[one])]))
        if _is_count(identifying(frame.drop(name)), frame[name]) or _is_count(labels, frame[name]):
            return (name,)
        places = labels.select(one for one in labels.columns if words_of(one) & PLACES)
        of_places = places.width == 1 and all(_numbers(column) is not None for column in labels)
        labels = places if of_places else labels
        if (name in sure or len(called) > 1 or of_places) and _of_one_dimension(labels, frame[name]):
            return (name,)
    return _with_totals(frame) or _headed_by_classes(frame)


def identifying(labels: pl.DataFrame) -> pl.DataFrame:
    """The columns that say whom a row counts, without such as are the same everywhere, or say the same as another."""
    kept: list[str] = []
    for column in labels:
        values = column.n_unique()
        said = words_of(column.name) & _BESIDE or values == 1
        same = [one for one in kept if labels[one].n_unique() == values == labels.select(one, column.name).n_unique()]
        if not said and not same:
            kept.append(column.name)
    return labels.select(kept) if kept else labels


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
    coded = _numbers(category) is not None and not words_of(category.name) & PLACES
    tells = coded or any(words_of(name) & _NAMES_PEOPLE for name in labels.columns)
    kinds = labels.select(labels.columns[:-1]).unique().height
    once = not category.drop_nulls().is_duplicated().any()
    few = 4 * kinds <= labels.height + 3 or bool(words_of(labels.columns[0]) & KINDS and 2 * kinds <= labels.height)
    return not tells and once and few and int(number.sum()) > 2 * len(column)


def _is_count(others: pl.DataFrame, column: pl.Series) -> bool:
    """Whether a column that is called a count is one: others say what is counted, each combination once."""
    number, words = _numbers(column), words_of(column.name)
    if number is None or _numbers_rows(number) or others.height < _LEAST or others.width < 2:
        return False
    if int(number.max()) < 2 or others.is_duplicated().any():
        return False
    if words <= _VALUE and any(words_of(name) & (_NAMES_PEOPLE - {"id"}) for name in others.columns):
        return False
    times = [one.value_counts()["count"].cast(pl.Float64).to_numpy() for one in others]
    pairs = others.height * (others.height - 1) / 2
    # None where a column tells rows apart by itself, which says who it is.
    alike = pairs * np.prod([float((many * (many - 1)).sum()) / 2 / pairs for many in times])
    cells = np.prod([float(len(many)) for many in times])
    filled = _FILLED_BY_NAME if words <= _NOTHING_ELSE else _FILLED
    return bool(alike >= _EXPECTED or (alike > 0 and others.height >= filled * cells))


def _numbers(column: pl.Series) -> Ints | None:
    """The whole numbers of a column, none below 0, without cells that were suppressed; None if it holds anything else.

    A column of measurements may look so, too; that it counts is another question.
    """
    cells = read_cells(column)
    filled = cells.kind != Kind.BLANK
    found = cells.low[cells.exact]
    shown = int((cells.exact | (cells.kind == Kind.RANGE)).sum())
    enough = named_count(column.name) or 2 * shown >= int(filled.sum())
    return found if cells.counts and len(found) and enough else None


def _numbers_rows(number: Ints) -> bool:
    """Whether numbers only number the rows."""
    return bool(len(np.unique(number)) == len(number) == number.max() - number.min() + 1)


# --- totals ----------------------------------------------------------------------------------------------------------


def _with_totals(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns of whole numbers of a table that has rows or a column of their totals."""
    if frame.height < 2:
        return ()
    whole = {name: number for name in frame.columns if (number := _numbers(frame[name])) is not None}
    full = {name: number for name, number in whole.items() if len(number) == frame.height}
    if not full:
        return ()
    for column in frame:
        if total_in(frame, column, whole) is not None:
            return tuple(name for name in whole if name != column.name)
    sums = [name for name in full if is_total(name)]
    parts = [name for name in full if name not in sums]
    labelled = len(whole) < frame.width
    if (
        labelled
        and len(sums) == 1
        and len(parts) > 1
        and (np.sum([full[name] for name in parts], axis=0) == full[sums[0]]).all()
    ):
        return tuple(full)
    return ()


def total_in(frame: pl.DataFrame, label: pl.Series, numbers: Mapping[str, Ints]) -> object:
    """The label whose rows are the sums of all others, in every combination of the other labels; None if none is.

    It is called a total, or has a code of those. `numbers` are the columns that may hold counts; such as hide some have
    fewer numbers than rows.
    """
    if label.name in numbers and not 2 <= label.n_unique() <= _CODES:
        return None
    values = label.drop_nulls().unique().to_list()
    named = [one for one in values if is_total(str(one).strip(" :.*"))]
    coded = [one for code in _TOTAL_CODES for one in values if str(one) == code]
    if len(named) > 1 or not (named or coded):
        return None
    total = named[0] if named else coded[0]
    beside = [name for name in frame.columns if name != label.name and not _is_rate(frame[name])]
    others = [name for name in beside if name not in numbers or words_of(name) & PLACES]
    called = (label == total).fill_null(value=False).alias("\0total")
    zeros = pl.zeros(frame.height, pl.Int64, eager=True).alias("\0")
    for name in beside:
        if name in others or len(numbers[name]) < frame.height:
            continue
        cells = frame.with_columns(zeros, called, pl.Series("\0number", numbers[name]))
        sums = cells.group_by("\0", *others).agg(
            totals=pl.col("\0total").sum(),
            of_all=pl.col("\0number").filter("\0total").sum(),
            of_parts=pl.col("\0number").filter(~pl.col("\0total")).sum(),
            parts=(~pl.col("\0total")).sum(),
        )
        several = sums.filter((pl.col("parts") >= 2) & (pl.col("of_parts") > 0))
        told = several.filter((pl.col("totals") == 1) & (pl.col("of_all") == pl.col("of_parts")))
        if told.height > (not named) and told.height == several.height:
            return total
    return None


_CODES = 20
"""Values of a column of numbers that may be codes of categories, at most."""
_TOTAL_CODES = ("0", "T", "TOT", "_T", "9", "99", "999")
"""Codes of totals in the tables of statistical offices."""


def _headed_by_classes(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns of whole numbers that are called by classes of people, or by dates; none where rows are people."""
    whole = {name: number for name in frame.columns if (number := _numbers(frame[name])) is not None}
    full = [name for name, number in whole.items() if len(number) == frame.height and int(number.max(initial=0)) > 1]
    labels = frame.select(name for name in frame.columns if name not in whole)
    if (
        not labels.width
        or any(words_of(name) & _NAMES_PEOPLE for name in frame.columns)
        or labels.is_duplicated().any()
    ):
        return ()
    classes = [name for name in full if _is_class(name)]
    if len(classes) > 1 and len(classes) >= len(full) / 2:
        return tuple(classes)
    dates = [name for name in full if day_of(name) is not None]
    placed = any(words_of(name) & PLACES for name in labels.columns)
    if len(dates) >= _TIMELY and placed:
        grows = [(whole[after] >= whole[before]).all() for before, after in pairwise(dates)]
        return tuple(dates) if all(grows) else ()
    return ()


def _is_class(name: str) -> bool:
    """Whether a text denotes a class of ages or other numbers, or a sex."""
    text = re.sub(r"(?i)\b(years?|yrs?|jahre|ans|aged?|ages?)\b", "", name).strip()
    return read_cell(text)[0] == Kind.RANGE or bool(words_of(name) & _SEXES)
