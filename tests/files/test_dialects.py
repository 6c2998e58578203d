"""CSV as offices write it: found, said in one line, read without a lost character, and written the same way again."""

import gzip
import tempfile
from datetime import date, datetime
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Dialect
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, dialect_from
from reissue.files.tables import csv_bytes, detect_dialect, read_file, write_file
from tests.effort import examples
from tests.silence import refused

GERMAN = "Name;Gehalt;Größe;Geburtstag;PLZ\nJörg;1.234,50;1,75;03.02.1980;01234\nZoë;987,00;1,6;31.12.1999;80331\n"


def lay(folder: Path, content: str | bytes, name: str = "in.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_german_office_export(tmp_path: Path) -> None:
    path = lay(tmp_path, GERMAN.encode("cp1252"))
    assert detect_dialect(path).sentence == "; between cells, Windows-1252, decimal commas, dates as dd.mm.yyyy"
    frame = read_file(path)
    assert frame.to_dict(as_series=False) == {
        "Name": ["Jörg", "Zoë"],
        "Gehalt": [1234.5, 987.0],
        "Größe": [1.75, 1.6],
        "Geburtstag": [date(1980, 2, 3), date(1999, 12, 31)],
        "PLZ": ["01234", "80331"],
    }


def test_it_goes_out_as_it_came_in(tmp_path: Path) -> None:
    path = lay(tmp_path, GERMAN.encode("cp1252"))
    frame, dialect = read_file(path), detect_dialect(path)
    write_file(frame, tmp_path / "out.csv", dialect=dialect)
    assert (tmp_path / "out.csv").read_bytes().decode("cp1252") == GERMAN.replace("1.234,50", "1234,5").replace(
        "987,00", "987,0"
    )
    assert read_file(tmp_path / "out.csv").equals(frame)
    assert detect_dialect(tmp_path / "out.csv") == dialect


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    content = "name,cost\nÄ€ß,5\n".encode(encoding)
    path = lay(tmp_path, gzip.compress(content) if packed else content, "in.csv.gz" if packed else "in.csv")
    assert read_file(path).to_dict(as_series=False) == {"name": ["Ä€ß"], "cost": [5]}
    assert detect_dialect(path).bom == (encoding == "utf-8-sig")


def test_an_encoding_may_be_named(tmp_path: Path) -> None:
    path = lay(tmp_path, "name,n\nJürgen,1\n".encode("cp850"))
    message = refused(DataError, lambda: read_file(path), ["rgen"])
    assert "encoding='cp850'" in message
    assert read_file(path, dialect=Dialect(encoding="cp850"))["name"].to_list() == ["Jürgen"]
    assert "not text in" in refused(DataError, lambda: read_file(path, dialect=Dialect(encoding="ascii")), ["rgen"])


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2"], [1.5, 2.0]),
        (["1.234,5", "2"], [1234.5, 2.0]),
        (["-0,5", "+3"], [-0.5, 3.0]),
        (["1'234,5", "1 234,5", "1\u00a0234,5"], [1234.5] * 3),
        (["1,234.5", "2"], [1234.5, 2.0]),
        (["1,234,567", "2"], [1_234_567, 2]),
        (["1,5", "2.5"], ["1,5", "2.5"]),
        (["1,5", "x"], ["1,5", "x"]),
        (["01,5", "2,5"], ["01,5", "2,5"]),
        (["1.2.3", "4.5.6"], ["1.2.3", "4.5.6"]),
        (["12:30", "1,5"], ["12:30", "1,5"]),
        (["1.5", "2.25"], [1.5, 2.25]),
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, cells: list[str], values: list[object]) -> None:
    path = lay(tmp_path, "a\tb\n" + "".join(f"{cell}\tx\n" for cell in cells))
    assert read_file(path)["a"].to_list() == values


def test_what_can_be_read_in_two_ways_goes_with_the_other_columns(tmp_path: Path) -> None:
    for mark, expected in (("1,5", [1234, 5678]), ("1.5", [1.234, 5.678])):
        path = lay(tmp_path, f"a;b\n1.234;{mark}\n5.678;{mark}\n")
        assert read_file(path)["a"].to_list() == expected
    path = lay(tmp_path, "a;b\n1.234;x\n5.678;y\n")
    assert detect_dialect(path).decimal == ","
    assert read_file(path)["a"].to_list() == [1234, 5678]
    assert read_file(path, dialect=Dialect(decimal="."))["a"].to_list() == [1.234, 5.678]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["03.02.2024", "3.2.1999"], [date(2024, 2, 3), date(1999, 2, 3)]),
        (["31/12/2024", "01/02/2024"], [date(2024, 12, 31), date(2024, 2, 1)]),
        (["12/31/2024", "01/02/2024"], [date(2024, 12, 31), date(2024, 1, 2)]),
        (
            ["03.02.2024 07:30", "04.02.2024 08:00"],
            [datetime.fromisoformat("2024-02-03T07:30"), datetime.fromisoformat("2024-02-04T08:00")],
        ),
        (["01/02/2024", "03/04/2024"], ["01/02/2024", "03/04/2024"]),
        (["03.02.2024", "soon"], ["03.02.2024", "soon"]),
        (["30.02.2024"], ["30.02.2024"]),
        (["2024-02-03"], [date(2024, 2, 3)]),
    ],
)
def test_dates_as_people_write_them(tmp_path: Path, cells: list[str], values: list[object]) -> None:
    path = lay(tmp_path, "a;b\n" + "".join(f"{cell};x\n" for cell in cells))
    assert read_file(path)["a"].to_list() == values


def test_of_two_ways_to_read_dates_one_may_be_named(tmp_path: Path) -> None:
    path = lay(tmp_path, "a;b\n01/02/2024;x\n")
    assert read_file(path, dialect=Dialect(dates="mm/dd/yyyy"))["a"].to_list() == [date(2024, 1, 2)]


def test_texts_in_standard_writing(tmp_path: Path) -> None:
    path = lay(tmp_path, "d;n;code;mixed\n03.02.2024;1.234,5;1,5;1,5\n04.02.2024;2,5;2,5;[1, 2]\n")
    frame = read_file(path, text=("code",), as_text=("d", "n", "mixed"))
    assert frame.rows() == [("2024-02-03", "1234.5", "1,5", "1,5"), ("2024-02-04", "2.5", "2,5", "[1, 2]")]
    assert read_file(path, as_text=None).rows()[1] == ("2024-02-04", "2.5", "2.5", "[1, 2]")


def test_a_delimiter_that_a_file_does_not_have_gives_way(tmp_path: Path) -> None:
    """An original and its release may differ; what is given is for the one that has it."""
    path = lay(tmp_path, "a,b\n1,2\n")
    assert read_file(path, dialect=Dialect(";")).columns == ["a", "b"]


def test_a_character_within_cells_is_no_delimiter(tmp_path: Path) -> None:
    path = lay(tmp_path, 'a,"b;c",d\n1,2;3,4\n')
    assert read_file(path).columns == ["a", "b;c", "d"]
    path = lay(tmp_path, "note\na;b\nc\n")
    assert read_file(path).columns == ["note"]


def test_a_column_without_a_name_keeps_none(tmp_path: Path) -> None:
    assert read_file(lay(tmp_path, ";b\nx;1,5\n")).to_dict(as_series=False) == {"": ["x"], "b": [1.5]}


def test_what_a_dialect_may_be() -> None:
    for wrong in ({"decimal": ";"}, {"dates": "soon"}, {"encoding": "klingon"}, {"header": 0}, {"delimiter": ";;"}):
        refused(DataError, partial(Dialect, **wrong))
    assert dialect_from({"delimiter": "tab"}).delimiter == "\t"
    assert "Did you mean 'encoding'?" in refused(InputError, lambda: dialect_from({"encodng": "x"}))
    assert FOUND.sentence == ""


def test_letters_that_an_encoding_lacks() -> None:
    frame = pl.DataFrame({"a": ["日本語"]})
    assert "--write encoding=utf-8" in refused(
        InputError, lambda: csv_bytes(frame, Dialect(encoding="cp1252")), ["日本語"]
    )


@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 2)), min_size=1, max_size=8),
    st.lists(st.dates(date(1000, 1, 1), date(2999, 1, 1)), min_size=1, max_size=8),
    st.sampled_from([Dialect(";", "cp1252", ",", "dd.mm.yyyy"), Dialect("\t", "utf-8", ",", "dd.mm.yyyy")]),
)
@examples(60)
def test_numbers_and_dates_come_back(numbers: list[float], days: list[date], dialect: Dialect) -> None:
    size = min(len(numbers), len(days))
    frame = pl.DataFrame({"n": numbers[:size], "d": days[:size], "t": ["ä"] * size})
    with tempfile.TemporaryDirectory() as folder:
        path = lay(Path(folder), csv_bytes(frame, dialect))
        assert read_file(path).equals(frame)


def test_a_first_name_that_begins_with_the_mark_keeps_it(tmp_path: Path) -> None:
    frame = pl.DataFrame({"\ufeffage": [30, 40], "ill": ["flu", "gout"]})
    write_file(frame, tmp_path / "a.csv")
    assert read_file(tmp_path / "a.csv").columns == frame.columns
