"""Dirty tables: files as offices, clinics and export functions leave them, each with one defect met in practice.

Every case is two months of the same people, most of whom stay. What the tables mean is known, so that a test can say
whether a repair changed anything else.
"""

import gzip
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import xlsxwriter

__all__ = ["CASES", "Case", "People", "people"]

COLUMNS = ("Patientennummer", "Geburtsdatum", "Geschlecht", "PLZ", "Gewicht", "Diagnose")
_DIAGNOSES = ("E11.90", "J45.0", "I10", "C50.9", "F32.1", "M54.5")
_CODES = ("01067", "79100", "80331", "50667")
_STAY, _ALL = 110, 130
Row = list[Any]
People = list[Row]


def people(month: int) -> People:
    """The people of a month, one row each: number, birthday, sex, postal code, weight, diagnosis."""
    rows = []
    for number in range(_ALL):
        rng = random.Random(number)  # noqa: S311
        born = date(1935, 1, 1) + timedelta(days=rng.randrange(25_000))
        row = [f"P{number:04d}", born, rng.choice("mw"), rng.choice(_CODES), 45 + rng.randrange(600) / 10]
        values = [rng.choice(_DIAGNOSES), rng.choice(_DIAGNOSES)]
        changed = month == 2 and number % 9 == 0
        if (month == 1 and number < _STAY) or (month == 2 and number >= _ALL - _STAY):
            rows.append([*row, values[changed]])
    return rows


@dataclass(frozen=True)
class Case:
    """A dirty table: how it is written, and what is found in it."""

    name: str
    write: Callable[[Path, People], Path]
    """Writes the table with a name without an ending, and returns the file."""
    found: frozenset[str] = frozenset()
    """The repairs that are recommended."""
    hints: frozenset[str] = frozenset()
    gone: int = 0
    """How many people cannot be told from others, or have no number, and are left out."""
    lost: frozenset[str] = field(default_factory=frozenset)
    """Columns in which a few cells say nothing, and become missing."""


def _german(value: Any) -> str:
    if isinstance(value, date):
        return value.strftime("%d.%m.%Y")
    return str(value).replace(".", ",") if isinstance(value, float) else str(value)


def _lines(rows: People, mark: str = ";") -> list[str]:
    return [mark.join(COLUMNS), *(mark.join(map(_german, row)) for row in rows)]


def _text(path: Path, lines: list[str], encoding: str = "utf-8", end: str = "\n") -> Path:
    file = path.with_suffix(".csv")
    file.write_bytes((end.join(lines) + end).encode(encoding))
    return file


def _changed(change: Callable[[People], Any]) -> Callable[[Path, People], Path]:
    """A German CSV whose rows were changed."""

    def write(path: Path, rows: People) -> Path:
        return _text(path, _lines(change([list(row) for row in rows])))

    return write


def _cells(column: str, change: Callable[[int, Any], Any]) -> Callable[[Path, People], Path]:
    """A German CSV with some cells of a column changed."""
    place = COLUMNS.index(column)

    def changed(rows: People) -> People:
        return [[*row[:place], change(number, row[place]), *row[place + 1 :]] for number, row in enumerate(rows)]

    return _changed(changed)


def _around(before: list[str], after: list[str]) -> Callable[[Path, People], Path]:
    return lambda path, rows: _text(path, [*before, *_lines(rows), *after])


def _header(*lines: str) -> Callable[[Path, People], Path]:
    return lambda path, rows: _text(path, [*lines, *_lines(rows)[1:]])


def _some(every: int, odd: Any) -> Callable[[int, Any], Any]:
    return lambda number, value: odd if number % every == 3 else value


def _with_totals(rows: People) -> People:
    return [*rows[:50], ["Zwischensumme", "", "", "", 50, ""], *rows[50:], ["Summe", "", "", "", len(rows), ""]]


def _book(path: Path, fill: Callable[[Any, Any, People], None], rows: People) -> Path:
    file = path.with_suffix(".xlsx")
    with xlsxwriter.Workbook(str(file)) as book:
        fill(book, book.add_format({"num_format": "dd.mm.yyyy"}), rows)
    return file


def _workbook(fill: Callable[[Any, Any, People], None]) -> Callable[[Path, People], Path]:
    return lambda path, rows: _book(path, fill, rows)


def _put(sheet: Any, days: Any, rows: People, top: int = 0, left: int = 0, header: bool = True) -> None:
    """Rows on a sheet, under their names."""
    for place, name in enumerate(COLUMNS if header else ()):
        sheet.write(top, left + place, name)
    for number, row in enumerate(rows):
        for place, value in enumerate(row):
            at = top + 1 + number, left + place
            if isinstance(value, date):
                sheet.write_datetime(*at, value, days)
            elif isinstance(value, str) and value.startswith("="):
                sheet.write_formula(*at, value, None, "#N/A")
            elif isinstance(value, int | float) and not isinstance(value, bool):
                sheet.write_number(*at, value)
            else:
                sheet.write_string(*at, str(value))


def _plain_sheet(change: Callable[[People], People]) -> Callable[[Path, People], Path]:
    return _workbook(lambda book, days, rows: _put(book.add_worksheet("Daten"), days, change([list(r) for r in rows])))


def _titled(book: Any, days: Any, rows: People) -> None:
    sheet = book.add_worksheet("Bericht")
    sheet.merge_range(0, 0, 0, 5, "Monatsbericht Klinik am Park")
    sheet.write(1, 0, "Stand: Ende des Monats")
    _put(sheet, days, rows, top=3)
    sheet.write(len(rows) + 5, 0, "* Quelle: Klinikinformationssystem")


def _sheets(book: Any, days: Any, rows: People) -> None:
    book.add_worksheet("Deckblatt").write(0, 0, "Bericht der Station 3")
    _put(book.add_worksheet("Patienten"), days, rows)
    legend = book.add_worksheet("Legende")
    legend.write_row(0, 0, ["Code", "Bedeutung"])
    legend.write_row(1, 0, ["E11.90", "Diabetes"])


def _hidden(book: Any, days: Any, rows: People) -> None:
    sheet = book.add_worksheet("Listen")
    sheet.write_column(0, 0, ["Liste", "m", "w"])
    sheet.write_column(0, 1, ["Wort", "a", "b"])
    own = book.add_worksheet("Patienten")
    _put(own, days, rows)
    own.activate()
    own.set_first_sheet()
    sheet.hide()


def _two_lines(book: Any, days: Any, rows: People) -> None:
    sheet = book.add_worksheet("Daten")
    sheet.merge_range(0, 0, 0, 2, "Person")
    sheet.merge_range(0, 3, 0, 5, "Befund")
    _put(sheet, days, rows, top=1)


def _merged(book: Any, days: Any, rows: People) -> None:
    """People ordered by their postal code, which is written once for each block."""
    sheet, ordered = book.add_worksheet("Daten"), sorted(rows, key=lambda row: row[3])
    _put(sheet, days, ordered)
    for code in _CODES:
        block = [number for number, row in enumerate(ordered) if row[3] == code]
        sheet.merge_range(block[0] + 1, 3, block[-1] + 1, 3, code)


def _set(column: str, change: Callable[[int, Any], Any]) -> Callable[[People], People]:
    place = COLUMNS.index(column)
    return lambda rows: [[*r[:place], change(n, r[place]), *r[place + 1 :]] for n, r in enumerate(rows)]


def _serial(_number: int, day: date) -> int:
    return (day - date(1899, 12, 30)).days


def _as_frame(path: Path, rows: People) -> Path:
    """As pandas writes it: an index without a name, times after days, whole numbers as floats."""
    lines = [",".join(["", *COLUMNS])]
    lines += [f"{n},{r[0]},{r[1]} 00:00:00,{r[2]},{r[3]},{r[4]},{r[5]}" for n, r in enumerate(rows)]
    return _text(path, lines)


def _packed(path: Path, rows: People) -> Path:
    file = path.with_suffix(".csv.gz")
    file.write_bytes(gzip.compress(("\n".join(_lines(rows)) + "\n").encode("cp1252")))
    return file


def _case(name: str, write: Callable[[Path, People], Path], *found: str, **more: Any) -> Case:
    return Case(name, write, frozenset(found), **more)


def _thousands(number: int, _weight: float) -> str:
    return f"{1000 + number * 7:,}".replace(",", ".") + ",50"


def _lost(*columns: str) -> dict[str, frozenset[str]]:
    return {"lost": frozenset(columns)}


_SPELT = {3: "e11.90", 5: "I 10"}
CASES: tuple[Case, ...] = (
    _case("plain", lambda path, rows: _text(path, _lines(rows))),
    _case(
        "cp1252 umlauts",
        lambda path, rows: _text(
            path, [_lines(rows)[0].replace("Geschlecht", "Geschlächt"), *_lines(rows)[1:]], "cp1252"
        ),
    ),
    _case("byte order mark", lambda path, rows: _text(path, _lines(rows), "utf-8-sig")),
    _case("utf-16", lambda path, rows: _text(path, _lines(rows), "utf-16")),
    _case("tabs", lambda path, rows: _text(path, _lines(rows, "\t"))),
    _case("pipes", lambda path, rows: _text(path, _lines(rows, "|"))),
    _case("windows line ends", lambda path, rows: _text(path, _lines(rows), end="\r\n")),
    _case("packed", _packed),
    _case("an index of pandas", _as_frame, "names"),
    _case("title above", _around(["Bericht der Station 3", "Stand: 31.03.2024", ""], []), "notes"),
    _case("padded title", _around(["Bericht;;;;;", "Stand: 31.03.2024;;;;;", ";;;;;"], []), "notes"),
    _case("title with a comma", _around(["Klinik am Park, Station 3"], []), "notes"),
    _case("notes below", _around([], ["", "Quelle: Klinikinformationssystem", "* vorläufig;;;;;"]), "notes"),
    _case("units under the names", _header(";".join(COLUMNS), ";TT.MM.JJJJ;;Postleitzahl;in kg;ICD"), "header"),
    _case("groups over the names", _header("Person;;;Befund;;", ";".join(COLUMNS)), "header"),
    _case("blank names", _header("Patientennummer;Geburtsdatum;Geschlecht;PLZ;Gewicht;Diagnose;;"), "unnamed"),
    _case("empty column", _header(";".join([*COLUMNS, "Bemerkung"])), "ragged", "empty_columns"),
    _case(
        "delimiter at the end",
        lambda path, rows: _text(path, [f"{line};" for line in _lines(rows)]),
        "unnamed",
    ),
    _case(
        "empty rows", _changed(lambda rows: [*rows[:20], [""] * 6, *rows[20:40], [""] * 6, *rows[40:]]), "empty_rows"
    ),
    _case("totals", _changed(_with_totals), "totals"),
    _case("exact duplicates", _changed(lambda rows: [*rows, rows[3], rows[7], rows[50]]), "duplicates"),
    _case(
        "repeated numbers",
        _changed(lambda rows: [[*rows[5][:5], "I10"], [*rows[9][:4], 1.5, rows[9][5]], *rows]),
        "repeated",
    ),
    _case("no number", _changed(lambda rows: [*rows, ["", *rows[3][1:]], ["", *rows[9][1:]]]), "nameless"),
    _case("codes in both cases", _cells("Diagnose", lambda n, v: v.lower() if n % 11 == 0 else v), "spelling"),
    _case("blanks around codes", _cells("Diagnose", lambda n, v: f" {v} " if n % 11 == 0 else v), "blanks"),
    _case("fixed blanks", _cells("Diagnose", lambda n, v: f"{v}\u00a0" if n % 13 == 0 else v), "blanks"),
    _case(
        "short rows",
        lambda path, rows: _text(path, [*_lines([r for r in rows if r[5]])[:-1], ";".join(map(_german, rows[-1][:5]))]),
        "ragged",
        **_lost("Diagnose"),
    ),
    _case("no date", _cells("Geburtsdatum", _some(40, "ca. 1950")), "dates", **_lost("Geburtsdatum")),
    _case("unknown dates", _cells("Geburtsdatum", _some(40, "unbekannt")), "missing", **_lost("Geburtsdatum")),
    _case("impossible dates", _cells("Geburtsdatum", _some(40, "31.02.1950")), "dates", **_lost("Geburtsdatum")),
    _case("dates in two ways", _cells("Geburtsdatum", lambda n, v: v.isoformat() if n % 3 else v), "dates"),
    _case("serial days", _cells("Geburtsdatum", _serial), "dates"),
    _case("thousands", _cells("Gewicht", _thousands)),
    _case("units", _cells("Gewicht", lambda _n, v: f"{_german(v)} kg"), "numbers"),
    _case("percent", _cells("Gewicht", lambda n, v: f"{_german(v)} %" if n % 2 else v), "numbers"),
    _case("no number in numbers", _cells("Gewicht", _some(40, "nicht gewogen")), "numbers", **_lost("Gewicht")),
    _case("signs for missing", _cells("Gewicht", _some(40, "k.A.")), "missing", **_lost("Gewicht")),
    _case("failed formulas", _cells("Gewicht", _some(40, "#N/V")), "missing", **_lost("Gewicht")),
    _case("9999", _cells("Gewicht", _some(40, 9999)), hints=frozenset({"codes"})),
    _case(
        "several signs for missing",
        _cells("Geschlecht", lambda n, v: ("n/a", "-", "unbekannt", "")[n % 4] if n % 10 == 3 else v),
        "missing",
        **_lost("Geschlecht"),
    ),
    _case("yes and ja", _cells("Geschlecht", lambda n, _v: ("yes", "ja", "no", "nein", "Ja")[n % 5]), "yes_no"),
    _case("names twice", _header("Patientennummer;Geburtsdatum;Geschlecht;PLZ;Gewicht;Gewicht"), "names"),
    _case("text over lines", _changed(lambda rows: [[*row[:5], f'"{row[5]}\n(alt)"'] for row in rows])),
    _case("workbook", _plain_sheet(lambda rows: rows)),
    _case("workbook with a title", _workbook(_titled), "notes"),
    _case("several sheets", _workbook(_sheets)),
    _case("hidden sheet first", _workbook(_hidden)),
    _case("two header lines, merged", _workbook(_two_lines), "header"),
    _case("merged cells", _workbook(_merged), "merged"),
    _case(
        "far from the corner",
        _workbook(lambda book, days, rows: _put(book.add_worksheet("x"), days, rows, top=4, left=2)),
    ),
    _case("text for dates", _plain_sheet(_set("Geburtsdatum", lambda _n, v: _german(v)))),
    _case(
        "one text among dates",
        _plain_sheet(_set("Geburtsdatum", _some(40, "unbekannt"))),
        "missing",
        **_lost("Geburtsdatum"),
    ),
    _case("text and dates", _plain_sheet(_set("Geburtsdatum", lambda n, v: _german(v) if n % 4 == 0 else v)), "dates"),
    _case("days without a format", _plain_sheet(_set("Geburtsdatum", _serial)), "dates"),
    _case("numbers as text", _plain_sheet(_set("Gewicht", lambda _n, v: _german(v)))),
    _case(
        "numbers and text",
        _plain_sheet(_set("Gewicht", lambda n, v: f"{_german(v)} kg" if n % 7 == 0 else v)),
        "numbers",
    ),
    _case(
        "amounts half as text, with commas",
        _plain_sheet(_set("Gewicht", lambda n, v: f"{v:.1f}".replace(".", ",") if n % 2 else v)),
        "numbers",
    ),
    _case(
        "dates in two ways and unknown",
        _plain_sheet(_set("Geburtsdatum", lambda n, v: "unbekannt" if n % 40 == 3 else _german(v) if n % 3 else v)),
        "missing",
        "dates",
        **_lost("Geburtsdatum"),
    ),
    _case(
        "doubled rows above an empty one and a total",
        _plain_sheet(lambda rows: [*rows, rows[3], rows[50], [""] * 6, ["Summe", "", "", "", 7000, ""]]),
        "empty_rows",
        "totals",
        "duplicates",
    ),
    _case("failed formula in a workbook", _plain_sheet(_set("Gewicht", _some(40, "=NA()"))), **_lost("Gewicht")),
    _case("totals in a workbook", _plain_sheet(_with_totals), "totals"),
    _case(
        "codes in both cases in a workbook",
        _plain_sheet(_set("Diagnose", lambda n, v: f"{v.lower()} " if n % 11 == 0 else v)),
        "blanks",
        "spelling",
    ),
)
"""All dirty tables."""
