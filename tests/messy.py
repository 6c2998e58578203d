"""Tables as stewards have them: office exports, timestamps, names, remarks, codes, copies, gaps; in any format.

Invented ones, and real ones that are public, written out as offices and statistics packages do.
"""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from reissue import Dialect
from reissue.errors import InputError
from reissue.files.tables import csv_bytes, write_file

__all__ = ["DATA", "FORMS", "REAL", "Messy", "messy", "real"]

Cells = list[Any]
DATA = Path(os.environ.get("REISSUE_DATA", Path(__file__).parents[2] / "shared" / "data"))
"""Where the public tables are."""
REAL = {"adult": "adult/test.csv", "census": "census/census.csv.gz", "panel": "panel/1986.csv"}
FORMS = (".xlsx", ".csv", ".sav", ".dta")
_ROWS = 1200
_FIRST = ["Jörg", "Zoë", "Anna", "Emre", "Łucja", "José", "Bob", "Ève"]
_LAST = ["Müller", "O'Brien", "Öztürk", "van der Berg", "Weiß", "Smith-Jones", "García"]
_TOWNS = ["Köln", "Ulm", "Bad Soden", "Lyon", "Gent", "Graz"]
_ICD = ["J45.0", "E11.9", "I10", "F32.1", "C50.9", "M54.5", "K21.0", "B20"]
_WORDS = [
    "kommt",
    "wieder",
    "ruft",
    "an",
    "Termin",
    "verschoben",
    "wartet",
    "auf",
    "Befund",
    "will",
    "umziehen",
    "nach",
    "Anruf",
    "abgesagt",
    "Kontrolle",
]


@dataclass(frozen=True)
class Messy:
    """One table and the file that holds it."""

    path: Path
    frame: pl.DataFrame
    """Its cells as they are meant."""
    dropped: frozenset[str]
    """Columns that must not go out: names, remarks, what is empty."""


def messy(seed: int, folder: Path) -> Messy:
    """The table of a seed."""
    rng = random.Random(seed)  # noqa: S311
    rows = rng.choice([60, 90, 150])
    age = [rng.randrange(18, 95) for _ in range(rows)]
    columns: dict[str, Cells] = {rng.choice(["Patientennummer", "patient_id", "id"]): rng.sample(range(10**5), rows)}
    chosen = [*rng.sample(_QUASI, 3), rng.choice(_SENSITIVE), *rng.sample(_TROUBLE, rng.randrange(1, 5))]
    dropped: set[str] = set()
    for names, cells, out in chosen:
        name = rng.choice(names)
        columns[name] = cells(rng, rows, age)
        dropped |= {name} if out else set()
    frame = pl.DataFrame(columns, strict=False)
    frame = frame.select(rng.sample(frame.columns, frame.width))
    return Messy(_laid(frame, rng, folder / f"messy{seed}"), frame, frozenset(dropped))


def _laid(frame: pl.DataFrame, rng: random.Random, stem: Path) -> Path:
    """The table as a file of some format; texts in Windows-1252 only where it has their letters."""
    german = Dialect(";", rng.choice(["utf-8", "cp1252"]), ",", "dd.mm.yyyy", bom=rng.random() < 0.3)
    plain = Dialect(rng.choice([",", "\t", "|"]), "utf-8", ".", "yyyy-mm-dd")
    kind = rng.choice([".csv", ".csv", ".csv.gz", ".csv", ".parquet", ".parquet", ".xlsx", ".feather"])
    path = stem.with_name(stem.name + kind)
    if kind.startswith((".csv", ".xlsx")):  # formats in which people type what they like
        mark = rng.choice(["NA", "k.A.", "-", "#NV", "."])
        frame = frame.with_columns(pl.col(name).cast(pl.String).fill_null(mark) for name in _MARKED & {*frame.columns})
    if not kind.startswith(".csv"):
        write_file(frame, path)
        return path
    dialect = rng.choice([german, german, plain])
    try:
        content = csv_bytes(frame, dialect, packed=kind.endswith(".gz"))
    except InputError:
        content = csv_bytes(frame, plain, packed=kind.endswith(".gz"))
    path.write_bytes(content)
    return path


def real(name: str, form: str, folder: Path) -> Messy:
    """The first rows of a public table as an export: a workbook, a German office's CSV, a file of SPSS or Stata."""
    frame = pl.read_csv(DATA / REAL[name], n_rows=_ROWS)
    frame = frame.rename({column: column.replace("-", "_") for column in frame.columns})
    path = folder / f"{name}{form}"
    if form == ".csv":
        path.write_bytes(csv_bytes(frame, Dialect(";", "cp1252", ",", "dd.mm.yyyy")))
    else:
        write_file(frame, path)
    return Messy(path, frame, frozenset())


def _some(values: list[Any], gaps: float = 0.0) -> Callable[[random.Random, int, Cells], Cells]:
    return lambda rng, rows, _: [None if rng.random() < gaps else rng.choice(values) for _ in range(rows)]


def _days(rng: random.Random, rows: int, age: Cells) -> Cells:
    return [date(2024, 1, 1) - timedelta(days=365 * years + rng.randrange(365)) for years in age]


def _times(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [
        datetime.fromisoformat("2024-01-01T00:00:00") + timedelta(minutes=rng.randrange(400_000)) for _ in range(rows)
    ]


def _money(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [round(rng.uniform(900, 9000), 2) for _ in range(rows)]


def _clock(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [time(rng.randrange(7, 19), rng.choice([0, 15, 30, 45])) for _ in range(rows)]


def _codes(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [f"{rng.randrange(1000, 99999):05d}" for _ in range(rows)]


def _names(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [f"{rng.choice(_FIRST)} {rng.choice(_LAST)}" for _ in range(rows)]


def _remarks(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [" ".join(rng.choices(_WORDS, k=rng.randrange(2, 9))) if rng.random() < 0.8 else None for _ in range(rows)]


def _nearly(rng: random.Random, rows: int, _: Cells) -> Cells:
    return [f"{rng.choice('ABX')}-{rng.randrange(10**6)}" for _ in range(rows)]


def _same_as_age(_: random.Random, __: int, age: Cells) -> Cells:
    return [2024 - years for years in age]


def _group_of_age(_: random.Random, __: int, age: Cells) -> Cells:
    return [f"{years // 10 * 10}er" for years in age]


_QUASI: list[tuple[list[str], Callable[[random.Random, int, Cells], Cells], bool]] = [
    (["Alter", "age"], lambda _, __, age: age, False),
    (["Geschlecht", "sex"], _some(["m", "w", "d"], 0.02), False),
    (["PLZ", "zip code"], _codes, False),
    (["Geburtsdatum", "date_of_birth"], _days, False),
    (["Wohnort", "city"], _some(_TOWNS), False),
    (["Aufnahme", "admitted at"], _times, False),
    (["Größe (m)", "height"], lambda rng, rows, _: [round(rng.gauss(1.7, 0.1), 2) for _ in range(rows)], False),
]
_SENSITIVE: list[tuple[list[str], Callable[[random.Random, int, Cells], Cells], bool]] = [
    (["Diagnose", "ICD", "disease"], _some(_ICD), False),
    (["Gehalt", "salary"], _money, False),
]
_TROUBLE: list[tuple[list[str], Callable[[random.Random, int, Cells], Cells], bool]] = [
    (["Nachname", "Name", "surname"], _names, True),
    (["Bemerkung", "remarks", "Notiz"], _remarks, True),
    (["leer", "unused"], lambda _, rows, __: [None] * rows, True),
    (["Vorgang", "case code"], _nearly, True),
    (["Geburtsjahr", "yob"], _same_as_age, False),
    (["Altersgruppe", "age group"], _group_of_age, False),
    (["Telefon", "phone"], lambda rng, rows, _: [f"0{rng.randrange(10**9)}" for _ in range(rows)], True),
    (["Status", "=flag"], _some(["=A1", "+offen", "-", "@x"]), False),
    (["Jahr", "year"], lambda _, rows, __: [2024] * rows, True),
    (["aktiv", "active"], _some([True, False]), False),
    (["Kosten", "costs"], _money, False),
    (["Uhrzeit", "arrived"], _clock, False),
    (["Punkte", "score"], _some(list(range(1, 40)), 0.1), False),
]
_MARKED = {"Punkte", "score"}
"""Columns whose missing cells have a mark, where a format has room for one."""
