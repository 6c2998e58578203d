"""Workbooks, files of statistics packages, Arrow and databases: in and out, by the libraries that wrote them."""

import shutil
import sqlite3
from datetime import date, datetime, time
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pyreadstat
import pytest
import xlsxwriter

from reissue import Dialect
from reissue.errors import DataError, InputError
from reissue.files import extras
from reissue.files.databases import database_table
from reissue.files.dialect import FOUND
from reissue.files.places import default_output, part_of
from reissue.files.tables import detect_dialect, detect_dialect_here, read_file, read_here, write_file, write_files
from tests.silence import refused

READS_ANOTHER = "select * from read_csv('{}')"
MADE = Path(__file__).parent / "made"
"""Files that only their own programs write: see the README there."""
FRAME = pl.DataFrame(
    {"name": ["=zebra()", "yak"], "age": [31, 45], "day": [date(2024, 2, 3), date(1999, 1, 1)], "x": [1.5, None]}
)


def book(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    with xlsxwriter.Workbook(str(path), {"default_date_format": "dd.mm.yyyy"}) as made:
        for name, rows in sheets.items():
            sheet = made.add_worksheet(name)
            for place, row in enumerate(rows):
                for column, cell in enumerate(row):
                    sheet.write(place, column, cell)
    return path


@pytest.mark.parametrize("ending", [".xlsx", ".parquet", ".arrow", ".feather", ".csv", ".tsv", ".txt", ".tsv.gz"])
def test_every_format_gives_back_what_it_was_given(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    write_file(FRAME, path)
    again = read_file(path)
    assert again.with_columns(pl.col("day").cast(pl.String)).equals(FRAME.with_columns(pl.col("day").cast(pl.String)))


def test_no_cell_of_a_workbook_is_a_formula(tmp_path: Path) -> None:
    import zipfile

    write_file(FRAME, tmp_path / "out.xlsx")
    with zipfile.ZipFile(tmp_path / "out.xlsx") as packed:
        sheet = packed.read("xl/worksheets/sheet1.xml").decode()
        texts = packed.read("xl/sharedStrings.xml").decode()
    assert "<f>" not in sheet
    assert "'=zebra()" in texts


def test_a_workbook_as_offices_have_it(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["Auswertung 2024"],
        [],
        ["Name", "Gehalt", "Geburtstag", "PLZ"],
        ["Jörg", "1.234,50", "03.02.1980", "01234"],
        ["Zoë", "987,00", "31.12.1999", "80331"],
    ]
    path = book(tmp_path / "in.xlsx", {"Deckblatt": [["leer"]], "Tabelle 1": rows})
    dialect = detect_dialect(f"{path}#Tabelle 1")
    assert dialect.sentence == "the sheet 'Tabelle 1', column names in row 3"
    frame = read_file(f"{path}#Tabelle 1")
    assert frame.rows() == [
        ("Jörg", 1234.5, date(1980, 2, 3), "01234"),
        ("Zoë", 987.0, date(1999, 12, 31), "80331"),
    ]
    assert read_file(path, dialect=Dialect(sheet="Tabelle 1")).equals(frame)
    assert "Known: Deckblatt" in refused(DataError, lambda: read_file(f"{path}#zebra"))


def test_a_workbook_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "in.xlsx").write_bytes(b"zebra")
    assert "whole workbook" in refused(DataError, lambda: read_file(tmp_path / "in.xlsx"), ["zebra"])
    twice = book(tmp_path / "twice.xlsx", {"a": [["x", "x"], [1, 2]]})
    assert "more than once" in refused(DataError, lambda: read_file(twice))
    empty = book(tmp_path / "empty.xlsx", {"a": []})
    refused(DataError, lambda: read_file(empty))


@pytest.mark.parametrize("ending", [".xlsx", ".xls", ".ods"])
def test_a_workbook_of_a_real_office(ending: str) -> None:
    path = MADE / f"patienten{ending}"
    assert detect_dialect(path).sentence == "the sheet 'Patienten 2024', column names in row 3"
    frame = read_file(path)
    assert frame.height == 12
    assert frame.columns[:4] == ["Patientennummer", "Geburtsdatum", "PLZ", "Größe (m)"]
    assert frame.row(4) == (4715, date(1948, 9, 4), "50667", 1.63, datetime(2024, 3, 7, 3, 42), "J45.0", 5276.24)  # noqa: DTZ001
    assert frame.row(5)[-1] is None
    assert frame.row(6)[2] == "01234"


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_value_labels_become_the_values(tmp_path: Path, ending: str) -> None:
    raw = pl.DataFrame({"sex": [1.0, 2.0, 1.0], "age": [31.0, -9.0, 45.0], "town": ["Ulm", "", "Köln"]})
    labels: dict[str, dict[int | float, str]] = {"sex": {1: "male", 2: "female"}, "age": {-9: "refused"}}
    path = tmp_path / f"in{ending}"
    write = pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav
    write(raw, str(path), variable_value_labels=labels)
    frame = read_file(path)
    assert frame.rows() == [("male", 31, "Ulm"), ("female", -9, None), ("male", 45, "Köln")]
    write_file(frame, tmp_path / f"out{ending}")
    assert read_file(tmp_path / f"out{ending}").equals(frame)
    assert read_file(path, only=["age"], as_text=None).rows() == [("31",), ("-9",), ("45",)]


def test_sas_has_its_labels_in_a_catalog(tmp_path: Path) -> None:
    rows = [("male", 31, "Ulm", date(2024, 2, 3)), ("female", 62, None, date(2000, 1, 1)), ("male", 45, "Köln", None)]
    assert read_file(MADE / "patients.sas7bdat").rows() == rows
    shutil.copy(MADE / "patients.sas7bdat", tmp_path)
    assert read_file(tmp_path / "patients.sas7bdat")["sex"].to_list() == [1, 2, 1]
    shutil.copy(MADE / "formats.sas7bcat", tmp_path / "patients.sas7bcat")
    assert read_file(tmp_path / "patients.sas7bdat").rows() == rows
    (tmp_path / "patients.sas7bcat").write_bytes(b"zebra")
    refused(DataError, lambda: read_file(tmp_path / "patients.sas7bdat"), ["zebra"])


def test_what_sas_takes_from_others(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [31, 45], "x": [1.5, None], "town": ["Ulm", "Köln"], "day": [date(2024, 2, 3), None]})
    write_file(frame, tmp_path / "out.xpt")
    assert read_file(tmp_path / "out.xpt").equals(frame)


def test_a_statistics_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "in.sav").write_bytes(b"zebra")
    refused(DataError, lambda: read_file(tmp_path / "in.sav"), ["zebra"])


def test_what_is_read_only_goes_out_as_something_else() -> None:
    assert default_output(Path("a/data.ods"), "release") == Path("a/data.release.xlsx")
    assert default_output(Path("book.xlsx#Mai"), "release") == Path("book.release.xlsx")
    assert default_output(Path("data.CSV.gz"), "release") == Path("data.release.CSV.gz")
    assert part_of(Path("a#b.csv")) == (Path("a#b.csv"), None)


# --- databases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_tables_of_a_database(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"clinic.{kind}"
    place = database_table(f"{kind}:///{file}?table=patients")
    write_files([(FRAME, place)])
    assert place.frame.equals(FRAME)
    assert read_file(f"{file}#patients").height == 2
    assert "exists already" in refused(DataError, lambda: write_files([(FRAME, place)]))
    write_files([(FRAME.head(1), place)], force=True)
    assert database_table(f"{kind}:///{file}?table=patients").frame.height == 1
    message = refused(DataError, lambda: database_table(f"{kind}:///{file}?table=zebra").frame)
    assert "none of this name" in message
    refused(DataError, lambda: database_table(f"{kind}:///{tmp_path}/none.{kind}?table=t").frame)
    assert not (tmp_path / f"none.{kind}").exists()
    assert "clinic" in refused(InputError, lambda: read_file(file))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_and_files_are_written_together_or_not_at_all(tmp_path: Path, kind: str) -> None:
    place = database_table(f"{kind}:///{tmp_path}/clinic.{kind}?table=patients")
    bad = pl.DataFrame({"a": [[1, 2]]})
    refused(InputError, lambda: write_files([(FRAME, place), (bad, tmp_path / "bad.csv")]))
    refused(DataError, lambda: place.frame)
    assert not (tmp_path / "bad.csv").exists()


def test_no_message_has_a_password() -> None:
    gone, bad = "postgresql://me:hunter2@nowhere.invalid:1/x?table=t", "postgresql://me:hunter2@[bad/x?table=t"
    refused(DataError, lambda: database_table(gone).frame, ["hunter2"])
    refused(InputError, lambda: database_table(bad).frame, ["hunter2"])
    assert "hunter2" not in repr(database_table("postgresql://me:hunter2@host/x?table=t"))
    assert "?table=" in refused(InputError, lambda: database_table("sqlite:///x.db"))


def test_a_table_that_others_made(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute('create table "Patienten 2024" (name text, age integer)')
        connection.executemany('insert into "Patienten 2024" values (?, ?)', [("Jörg", 31), (None, 45)])
    connection.close()
    assert read_file(f"{tmp_path}/a.db#Patienten 2024").rows() == [("Jörg", 31), (None, 45)]
    with duckdb.connect(str(tmp_path / "a.duckdb")) as other:
        other.execute("create table t as select 1 a, date '2024-01-02' d")
    assert read_file(f"{tmp_path}/a.duckdb#t").rows() == [(1, date(2024, 1, 2))]


def test_an_extra_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    path = book(tmp_path / "in.xlsx", {"a": [["x"], [1]]})
    monkeypatch.setattr(extras, "import_module", absent)
    assert "pip install 'reissue[excel]'" in refused(InputError, lambda: detect_dialect_here(path, FOUND))
    (tmp_path / "in.sav").touch()
    sav = tmp_path / "in.sav"
    said = refused(InputError, lambda: read_here(sav, text=(), as_text=(), dialect=FOUND, only=()))
    assert "pip install 'reissue[stats]'" in said


def test_an_empty_sheet_is_named_with_those_beside_it(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(str(tmp_path / "book.xlsx")) as book:
        book.add_worksheet("leer")
        book.add_worksheet("Patienten").write_row(0, 0, ["a", "b"])
    with pytest.raises(DataError, match=r"The sheet 'leer' is empty\. There is also 'Patienten'\."):
        read_file(tmp_path / "book.xlsx#leer")


def test_times_of_day_come_back_from_a_sheet_and_go_out_plainly(tmp_path: Path) -> None:
    times = pl.DataFrame({"arrived": [time(8, 30), None, time(23, 59, 1)], "n": [1, 2, 3]})
    write_file(times, tmp_path / "t.xlsx")
    assert read_file(tmp_path / "t.xlsx").equals(times)
    write_file(times, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "arrived,n\n08:30:00,1\n,2\n23:59:01,3\n"


def test_a_view_that_reads_other_files_is_not_followed_unasked(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("name,age\nzebra,31\n")
    with duckdb.connect(str(tmp_path / "in.duckdb")) as made:
        made.execute("create view away as " + READS_ANOTHER.format(tmp_path / "other.csv"))
        made.execute("create view text as select content from read_text('/etc/hostname')")
        made.execute("create table own as select 'yak' as name, 45 as age")
        made.execute("create view near as select * from own")
    assert read_file(f"{tmp_path / 'in.duckdb'}#near").rows() == [("yak", 45)]
    for view in ("away", "text"):
        place = f"{tmp_path / 'in.duckdb'}#{view}"
        said = refused(DataError, partial(read_file, place), ["zebra", "other.csv"])
        assert "enable_external_access=true" in said
    url = f"duckdb:///{tmp_path / 'in.duckdb'}?table=away"
    refused(DataError, lambda: database_table(f"{url}&enable_external_access=false").frame)
    assert database_table(f"{url}&enable_external_access=true").frame.rows() == [("zebra", 31)]
    refused(InputError, lambda: database_table(f"{url}&enable_external_access=perhaps"))
    refused(InputError, lambda: database_table("sqlite:///in.sqlite?table=a&enable_external_access=true"))
    with duckdb.connect(str(tmp_path / "in.duckdb"), read_only=True) as held:
        assert read_file(f"{tmp_path / 'in.duckdb'}#own").height == held.sql("select * from own").shape[0]
