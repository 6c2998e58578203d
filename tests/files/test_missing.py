"""NA, N/A, k.A. and the like: missing where all else is numbers or dates, said, and to be overridden."""

import re
import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Dialect
from reissue.errors import ReadingNote
from reissue.files.dialect import MARKS
from reissue.files.tables import read_file, write_file
from reissue.proposing import propose, read_proposed

OFFICE = """id;Alter;Gehalt;geboren;Aufnahme;PLZ;Note;Wert
1;20;1.234,50;01.02.1990;2024-01-01;01067;gut;1
2;NA;k.A.;-;NA;01069;NA;-9
3;40;2.234,50;01.03.1990;2024-01-02;k.A.;-;999
4; na ;3.000,00;13.03.1990;2024-01-03;01067;schlecht;4
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    path = tmp_path / "office.csv"
    path.write_text(OFFICE, encoding="utf-8")
    return path


def test_marks_in_numbers_and_dates_are_missing_and_said(office: Path) -> None:
    with pytest.warns(ReadingNote) as said:
        frame = read_file(office)
    assert frame["Alter"].to_list() == [20, None, 40, None]
    assert frame["Gehalt"].to_list() == [1234.5, None, 2234.5, 3000.0]
    assert frame["geboren"].dtype == pl.Date
    assert frame["Aufnahme"].to_list() == [date(2024, 1, 1), None, date(2024, 1, 2), date(2024, 1, 3)]
    assert str(said[0].message) == (
        "office.csv: 'NA' in 3 cells, 'k.A.' in 1 cell, '-' in 1 cell read as missing, for all else in their 4 columns "
        "is numbers or dates. With dialect=Dialect(missing='') it is text."
    )


@pytest.mark.filterwarnings("ignore::reissue.errors.ReadingNote")
def test_texts_codes_and_numbers_keep_what_looks_like_a_mark(office: Path) -> None:
    frame = read_file(office)
    assert frame["Note"].to_list() == ["gut", "NA", "-", "schlecht"]
    assert frame["PLZ"].to_list() == ["01067", "01069", "k.A.", "01067"]
    assert frame["Wert"].to_list() == [1, -9, 999, 4]


def test_what_is_published_is_read_as_it_stands(office: Path) -> None:
    assert read_file(office, as_text=None)["Alter"].to_list() == ["20", "NA", "40", " na "]
    assert read_file(office, as_text=["Gehalt", "geboren", "Aufnahme"], text=["Alter"])["Alter"].to_list()[1] == "NA"


def test_it_can_be_switched_off(office: Path) -> None:
    frame = read_file(office, dialect=Dialect(missing=""))
    assert frame["Alter"].to_list() == ["20", "NA", "40", " na "]
    assert frame["Gehalt"].dtype == pl.String


def test_numbers_are_marks_where_they_are_named(office: Path) -> None:
    with pytest.warns(ReadingNote) as said:
        frame = read_file(office, dialect=Dialect(missing="-9, 999,NA"))
    assert frame["Wert"].to_list() == [1, None, None, 4]
    assert frame["Alter"].to_list() == [20, None, 40, None]
    assert frame["Gehalt"].to_list()[1] == "k.A."
    assert any("'-9' in 1 cell, '999' in 1 cell" in str(one.message) for one in said)


@pytest.mark.parametrize("kind", [".parquet", ".xlsx", ".sav"])
def test_numbers_that_are_named_are_marks_in_any_format(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"waves{kind}"
    write_file(pl.DataFrame({"score": [1, -9, 3], "word": ["-9", "a", "b"]}), path)
    assert read_file(path)["score"].to_list() == [1, -9, 3]
    with pytest.warns(ReadingNote, match="'-9' in 1 cell"):
        frame = read_file(path, dialect=Dialect(missing="-9"))
    assert frame["score"].to_list() == [1, None, 3]
    assert frame["word"].to_list() == ["-9", "a", "b"]


def test_a_sheet_with_marks_among_its_numbers(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate([["Alter", "Ort"], [20, "Ulm"], ["#NV", "NA"], [40, "Ulm"]]):
            sheet.write_row(row, 0, cells)
    with pytest.warns(ReadingNote, match=r"book.xlsx: '#NV' in 1 cell read as missing"):
        frame = read_file(path)
    assert frame["Alter"].to_list() == [20, None, 40]
    assert frame["Ort"].to_list() == ["Ulm", "NA", "Ulm"]


def test_the_command_line_says_it_once_and_advises_options(office: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [
        Path(sys.executable).parent / "reissue",
        "init",
        office,
        "--out",
        tmp_path / "s.toml",
        "--force",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert "  missing: 2 cells of 'Alter'" in done.stdout
    assert not done.stderr
    done = subprocess.run([*command, "--as-it-is"], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr.count("read as missing") == 1
    assert "With --read missing= it is text." in done.stderr
    done = subprocess.run([*command, "--read", "missing="], capture_output=True, text=True, check=True)  # noqa: S603
    assert not done.stderr
    assert "missing:" not in done.stdout


@pytest.mark.filterwarnings("ignore::reissue.errors.ReadingNote")
def test_a_proposal_takes_such_columns_for_numbers(tmp_path: Path) -> None:
    rows = "\n".join(f"{n},{20 + n % 40},{'NA' if n % 9 == 0 else 1000 + n}" for n in range(60))
    path = tmp_path / "t.csv"
    path.write_text(f"id,age,amount\n{rows}\n")
    guesses = {one.column: one for one in propose(read_proposed(path))}
    assert guesses["amount"].hierarchy is not None
    assert guesses["amount"].hierarchy.kind == "ranges"


@given(cells=st.lists(st.sampled_from(["1", "-2", "30", "NA", "-", "k.A.", "x", "007", ""]), min_size=1, max_size=7))
def test_marks_by_the_plainest_rule(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "marks.csv"
    path.write_text("name,cell\n" + "".join(f"a,{cell}\n" for cell in cells))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingNote)
        read = read_file(path)["cell"].to_list()
    usual = {mark.lower() for mark in MARKS}
    known = [cell for cell in cells if cell and cell.lower() not in usual]
    numbers = bool(known) and all(re.fullmatch(r"-?[1-9]\d*", cell) for cell in known)
    assert read == [int(c) if numbers and c in known else None if numbers or not c else c for c in cells]


def test_python_says_it_too(office: Path) -> None:
    roles = {"Alter": "quasi", "Gehalt": "sensitive"}
    with pytest.warns(ReadingNote, match="Dialect"):
        ri.anonymize(office, roles, "k=2")


def test_columns_that_are_not_used_are_not_spoken_of(tmp_path: Path) -> None:
    cells = {"Alter": ["20", "30", "40"], "Gehalt": ["1,5", "k.A.", "2,5"]}
    for kind in (".csv", ".xlsx"):
        path = tmp_path / f"t{kind}"
        write_file(pl.DataFrame(cells), path, dialect=Dialect(";"))
        assert read_file(path, only=["Alter"]).columns == ["Alter"]
