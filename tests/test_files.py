"""Files in and out: nothing lost, nothing half-written, nothing that a spreadsheet would run."""

import gzip
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Dialect
from reissue.errors import DataError, InputError
from reissue.files import tables
from reissue.files.places import refuse_existing, second_path
from reissue.files.tables import escape_formulas, read_file, write_file, write_files, write_text
from tests.effort import examples
from tests.silence import refused

FRAME = pl.DataFrame({"name": ["zebra", "yak"], "age": [1, 2]})


def read(tmp_path: Path, content: str | bytes, **options: Any) -> pl.DataFrame:
    path = tmp_path / "in.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_file(path, **options)


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-5", ""], pl.Int64, [1, -5, None]),
        (["007", "12"], pl.String, ["007", "12"]),
        (["+1", "2"], pl.String, ["+1", "2"]),
        (["1", "2 "], pl.String, ["1", "2 "]),
        (["1.5", "2", "-.5"], pl.Float64, [1.5, 2.0, -0.5]),
        (["01.5", "2"], pl.String, ["01.5", "2"]),
        (["1e3", "2"], pl.Int64, [1000, 2]),
        (["9223372036854775807", "1"], pl.Int64, [9223372036854775807, 1]),
        (["9223372036854775808", "1"], pl.String, ["9223372036854775808", "1"]),
        (["9007199254740993", "1.5"], pl.String, ["9007199254740993", "1.5"]),
        (["1" * 50, "1"], pl.String, ["1" * 50, "1"]),
        (["true", "False"], pl.String, ["true", "False"]),
        (["2024-01-31", "x"], pl.String, ["2024-01-31", "x"]),
        (['""', "", "x"], pl.String, ["", None, "x"]),
        (["", ""], pl.String, [None, None]),
        (["nil", "1"], pl.String, ["nil", "1"]),
    ],
)
def test_what_a_column_is(tmp_path: Path, cells: list[str], kind: Any, values: list[Any]) -> None:
    frame = read(tmp_path, "x,y\n" + "".join(f"{cell},q\n" for cell in cells))
    assert frame.schema == {"x": kind, "y": pl.String}
    assert frame["x"].to_list() == values


def test_not_a_number_is_a_number(tmp_path: Path) -> None:
    column = read(tmp_path, "x,y\n1.5,q\nNaN,q\n")["x"].to_list()
    assert column[0] == 1.5
    assert math.isnan(column[1])


def test_text_stays_text_where_asked(tmp_path: Path) -> None:
    assert read(tmp_path, "x,y\n12,3\n", text=("x", "not there")).schema == {"x": pl.String, "y": pl.Int64}


def test_only_some_columns(tmp_path: Path) -> None:
    content = "a,b,c\n1,2,3\n4,5,\n"
    assert read(tmp_path, content, only=("c", "a")).columns == ["a", "c"]
    assert read(tmp_path, content, only=("c", "z")).columns == ["a", "b", "c"]
    FRAME.write_parquet(tmp_path / "in.parquet")
    assert read_file(tmp_path / "in.parquet", only=("age",)).columns == ["age"]
    assert read_file(tmp_path / "in.parquet", only=("age", "z")).columns == ["name", "age"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_dialects(tmp_path: Path, delimiter: str, ending: str, mark: bytes) -> None:
    lines = ['"a ""b"""', "n"], ['"x, y; z\tw|v "', "1"], ['"two\nlines"', "2"]
    content = mark + ending.join(delimiter.join(line) for line in lines).encode()
    frame = read(tmp_path, content, dialect=Dialect(delimiter))
    assert frame.to_dict(as_series=False) == {'a "b"': ["x, y; z\tw|v ", "two\nlines"], "n": [1, 2]}
    path = tmp_path / "IN.CSV.GZ"
    path.write_bytes(gzip.compress(content))
    assert read_file(path, dialect=Dialect(delimiter)).equals(frame)


@pytest.mark.parametrize("content", ["a,b\n1,zebra\n2,\n\n\n", "\n\na,b\n1,zebra\n2,\n", 'a,b\n"1",zebra\n2,\n\n'])
def test_blank_lines_around_the_rows(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content).rows() == [(1, "zebra"), (2, None)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b,c\n1,2,3\n1,zebra\n4,5,6\n", "row 2"),
        ('a,b\n"1",2\nzebra\n4,5\n', "row 2"),
        ("a,b\n1,zebra\n\n3,4\n", "row 2"),
        ("a,b\n1,2\n1,zebra,3\n", "more cells"),
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,zebra,a\n1,2,3\n", "more than once"),
        ("a,b\nzebra,caf\x81\n".encode("latin1"), "encoding='cp850'"),
        ("a,b\nzebra,1\n".encode("utf-16-le"), "encoding='utf-16'"),
        ('a,b\n"zebra,2\ny,3\n', "quotes"),
        (b"\x1f\x8b\x08\0zebra", "is its ending wrong?"),
    ],
)
def test_files_that_are_no_table(tmp_path: Path, content: str | bytes, expected: str) -> None:
    message = refused(DataError, lambda: read(tmp_path, content), ["zebra", "caf"])
    assert expected in message
    assert "in.csv" in message


def test_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    frame = read(tmp_path, "a,b\n")
    assert (frame.height, frame.columns) == (0, ["a", "b"])


@pytest.mark.parametrize("delimiter", ["", ";;", "·", '"', "\n"])
def test_delimiters_that_are_none(tmp_path: Path, delimiter: str) -> None:
    refused(DataError, lambda: read(tmp_path, "a,b\nzebra,2\n", dialect=Dialect(delimiter)), ["zebra"])


def test_broken_packages(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\nzebra,2\n" * 1000)
    spoiled = bytearray(whole)
    spoiled[20] ^= 0xFF
    for content in (whole[:-20], bytes(spoiled), b"a,b\nzebra,2\n"):
        (tmp_path / "in.csv.gz").write_bytes(content)
        refused(DataError, lambda: read_file(tmp_path / "in.csv.gz"), ["zebra"])
    (tmp_path / "in.parquet").write_bytes(b"PAR1zebra")
    refused(DataError, lambda: read_file(tmp_path / "in.parquet"), ["zebra"])


def test_files_that_are_not_there(tmp_path: Path) -> None:
    refused(DataError, lambda: read_file(tmp_path / "none.csv"))
    refused(DataError, lambda: read_file(tmp_path))
    (tmp_path / "in.doc").touch()
    assert ".parquet" in refused(DataError, lambda: read_file(tmp_path / "in.doc"))


def test_brackets_in_a_name_are_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "in1.csv").write_text("other\n1\n")
    (tmp_path / "in[1].csv").write_text("this\n1\n")
    assert read_file(tmp_path / "in[1].csv").columns == ["this"]
    FRAME.write_parquet(tmp_path / "in[1].parquet")
    assert read_file(tmp_path / "in[1].parquet").equals(FRAME)


def test_a_table_with_no_columns(tmp_path: Path) -> None:
    pl.DataFrame().write_parquet(tmp_path / "in.parquet")
    refused(DataError, lambda: read_file(tmp_path / "in.parquet"))


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_round_trips(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {
            "text": ["zebra", None, "", " x ", 'a "b", c', "two\nlines", "007"],
            "whole": [1, None, 3, -4, 5, 6, 2**62],
            "real": [0.1, None, 1e300, -0.5, 1.5, 2.5, 3.5],
        }
    )
    write_file(frame, tmp_path / f"out{ending}")
    assert read_file(tmp_path / f"out{ending}").equals(frame)
    assert [path.name for path in tmp_path.iterdir()] == [f"out{ending}"]


def test_missing_values_of_a_single_column(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["a", None, "", None]})
    write_file(frame, tmp_path / "out.csv")
    assert read_file(tmp_path / "out.csv").equals(frame)


CELLS = st.text("=+-@'\t\r\n ＝1a,\".\u200b\x1b", max_size=5) | st.none()


@examples(200)
@given(st.lists(CELLS, min_size=1, max_size=6), st.text("=+-@'1a", min_size=1, max_size=3))
def test_no_cell_runs_and_every_cell_comes_back(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str | None], name: str
) -> None:
    path = tmp_path_factory.mktemp("out") / "out.csv"
    frame = pl.DataFrame({name: pl.Series(cells, dtype=pl.String), "y": ["q"] * len(cells)})
    write_file(frame, path)
    for cell in [*pl.read_csv(path, infer_schema=False).columns, *escape_formulas(frame).to_series(0).drop_nulls()]:
        bare = cell.strip(" \u200b\x1b")
        assert not bare.startswith(("\t", "\r", "\n"))
        bare = bare.strip(" \u200b\x1b\t\r\n")
        assert not bare.startswith(("=", "@", "＝")) or len(bare) == 1
        assert not bare.startswith(("+", "-")) or set(bare) <= set("+-") or _is_number(bare)
    again = read_file(path, text=(name,))
    assert again.columns == frame.columns
    assert again[name].to_list() == cells


def _is_number(text: str) -> bool:
    return text[0] in "+-" and set(text[1:]) <= set("0123456789., ") and any(sign.isdigit() for sign in text)


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["=1", "-5", "a", "'=1"])])
def test_formulas_in_columns_of_every_kind(tmp_path: Path, kind: Any) -> None:
    frame = pl.DataFrame({"=x": pl.Series(["=1", "-5", "a", "'=1", None], dtype=kind)})
    assert escape_formulas(frame).cast(pl.String).to_dict(as_series=False) == {"'=x": ["'=1", "-5", "a", "''=1", None]}
    write_file(frame, tmp_path / "out.csv")
    assert read_file(tmp_path / "out.csv").equals(frame.cast(pl.String))


def test_what_is_no_formula_stays() -> None:
    cells = ["-5", "+1.5", "-1e3", "x=1", "[-5, 3]", "'quoted'", "", "-", "--", "+", "=", "@", "- ", " -", "-1,234.50"]
    cells += ["-5%", "- 5", "-.5", "+1E-05", "'-", "'-5", "-\u200b", "\u200b-", "a-b", "–", "—", "\u2212x"]
    frame = pl.DataFrame({"a": cells, "b": [-1] * len(cells)})
    assert escape_formulas(frame).equals(frame)


RUN = ["=1+1", "==", "-1+cmd|' /C calc'!A0", "+A1", "-A1", "-x", "@SUM(1)", "+1-2", "-5 EUR", "-2024-01-31", "=-", "@x"]
RUN += ["\t1", "\r-", "\n", "+-1", "＝1", "－A1", "-inf", "-5\n=1"]


@pytest.mark.parametrize(
    "before", ["", " ", "\u200b", "\ufeff", "\u2060", "\0", "\x1b", "\xa0", "\xad", "\u3164\u200b"]
)
def test_what_a_spreadsheet_runs_is_guarded_behind_invisible_characters_too(tmp_path: Path, before: str) -> None:
    frame = pl.DataFrame({"a": [before + cell for cell in RUN]})
    assert escape_formulas(frame)["a"].to_list() == ["'" + cell for cell in frame["a"]]
    write_file(frame, tmp_path / "out.csv")
    assert read_file(tmp_path / "out.csv").equals(frame)


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("precious")
    assert "force=True" in refused(InputError, lambda: write_file(FRAME, path), ["zebra"])
    assert path.read_text() == "precious"
    write_file(FRAME, path, force=True)
    assert path.read_text().startswith("name,age")


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device"), RuntimeError("zebra"), KeyboardInterrupt()]
)
def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    def half(frame: pl.DataFrame, path: Path, kind: str, dialect: Dialect) -> None:
        path.write_text("half")
        raise problem

    monkeypatch.setattr(tables, "_write", half)
    path = tmp_path / "out.csv"
    path.write_text("precious")
    with pytest.raises(InputError if isinstance(problem, OSError) else type(problem)):
        write_file(FRAME, path, force=True)
    with pytest.raises(InputError if isinstance(problem, OSError) else type(problem)):
        write_file(FRAME, tmp_path / "new.csv")
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_or_none(tmp_path: Path) -> None:
    nested = pl.DataFrame({"x": [["zebra"]]})
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    refused(InputError, lambda: write_files([(FRAME, paths[0]), (nested, paths[1])]), ["zebra"])
    assert not list(tmp_path.iterdir())
    paths[1].write_text("precious")
    refused(InputError, lambda: write_files([(FRAME, paths[0]), (FRAME, paths[1])]), ["zebra"])
    assert list(tmp_path.iterdir()) == [paths[1]]
    write_files([(FRAME, paths[0]), (FRAME, paths[1])], force=True)
    assert all(read_file(path).equals(FRAME) for path in paths)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    refused(InputError, lambda: write_file(FRAME, tmp_path / "none" / "out.csv"))
    refused(DataError, lambda: write_file(FRAME, tmp_path / "out.doc"))
    refused(InputError, lambda: write_file(FRAME, tmp_path / "out.ods"))
    (tmp_path / "dir.csv").mkdir()
    refused(InputError, lambda: refuse_existing(tmp_path / "dir.csv", force=True))


def test_packed_files_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_file(FRAME, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_text_files(tmp_path: Path) -> None:
    write_text("é", tmp_path / "x.toml")
    assert (tmp_path / "x.toml").read_text(encoding="utf-8") == "é"
    refused(InputError, lambda: write_text("other", tmp_path / "x.toml"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [("out.csv", "out.s.csv"), ("a.b/out.CSV.GZ", "a.b/out.s.CSV.GZ"), ("x.y.parquet", "x.y.s.parquet")],
)
def test_second_paths(path: str, expected: str) -> None:
    assert second_path(path, "s") == expected
