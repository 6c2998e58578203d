"""The judge of releases is judged itself: what it lets pass, and what it notices."""

import gzip
from pathlib import Path

import pytest

from tests.fuzz.case import Case, Command
from tests.fuzz.drive import drive
from tests.fuzz.judge import Asked, Column, as_filed, judge, judge_series, read_csv

AGES = Column("age", "quasi", ("20", "21", "30", "31", None), "number")
DAYS = Column("day", "quasi", ("2024-01-05", "2024-02-05", "2024-04-01", "2024-12-31", "2023-01-01"), "date")
ILLS = Column("ill", "sensitive", ("flu", "gout", "flu", "burn", "flu"), "tree")
SCHEMA = b'[columns]\nage = "quasi"\nill = "sensitive"\n'
GOOD = 'age,ill\n"[20, 21]",flu\n"[20, 21]",gout\n*,flu\n*,burn\n*,flu\n'


def judged(folder: Path, text: str, requirement: str = "k=2", *, suppress: float = 0.0, second: str = "") -> list[str]:
    (folder / "out.csv").write_text(text, encoding="utf-8")
    if second:
        (folder / "out.sensitive.csv").write_text(second, encoding="utf-8")
    return judge(Asked((AGES, ILLS), "out.csv", requirement, "pool", suppress=suppress), folder)


def test_the_judge_is_content_with_a_good_release(tmp_path: Path) -> None:
    assert judged(tmp_path, GOOD, "k=2 & l=2 & simple-l=1.5 & entropy-l=1.8") == []


@pytest.mark.parametrize(
    ("text", "requirement", "what"),
    [
        (GOOD, "k=3", "k=3 is not met"),
        (GOOD, "l=3", "l=3 is not met"),
        (GOOD, "simple-l=2", "simple-l=2 is not met"),
        (GOOD, "m-unique=2", "m-unique=2 is not met"),
        (GOOD.replace("*,flu\n", "", 1), "k=2", "4 rows published with 0 counterfeits, of 5"),
        (GOOD.replace("*,burn", "*,cold"), "k=2", "1 published rows stand for 0 originals"),
        (GOOD.replace("[20, 21]", "[20, 20]"), "k=1", "1 published rows stand for 0 originals"),
        (GOOD.replace("age", "name"), "k=1", "columns that the schema does not publish"),
    ],
)
def test_the_judge_notices(tmp_path: Path, text: str, requirement: str, what: str) -> None:
    assert what in judged(tmp_path, text, requirement)


def test_the_judge_counts_groups_by_their_number(tmp_path: Path) -> None:
    exact = "group,age\n1,20\n1,21\n2,30\n2,31\n2,\n"
    values = "group,ill,count\n1,flu,1\n1,gout,1\n2,flu,2\n2,burn,1\n"
    assert judged(tmp_path, exact, "k=2 & l=2", second=values) == []
    assert judged(tmp_path, exact, "l=2", second=values.replace("burn", "flu")) == ["l=2 is not met"]
    assert judged(tmp_path, exact, "k=2", second=values.replace("2,burn,1\n", "")) == ["the two tables do not add up"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("2024", 4),
        ("2024-Q1", 2),
        ("2024-01", 1),
        ("[2024-01, 2024-02]", 2),
        ("[2023-01-01, 2024-Q2]", 4),
        ("[2023, 2024]", 5),
        ("2024-01-05", 1),
    ],
)
def test_the_judge_reads_dates(tmp_path: Path, text: str, rows: int) -> None:
    (tmp_path / "out.csv").write_text("day\n" + f'"{text}"\n' * rows, encoding="utf-8")
    asked = Asked((DAYS,), "out.csv", "k=1", "pool", suppress=0.99)
    assert judge(asked, tmp_path) == []
    (tmp_path / "out.csv").write_text("day\n" + f'"{text}"\n' * (rows + 1), encoding="utf-8")
    assert judge(asked, tmp_path) != []


def test_missing_and_empty_are_told_apart() -> None:
    assert list(read_csv('a,"b ""c""",\n"",x\r\n"1\n2",')) == [["a", 'b "c"', None], ["", "x"], ["1\n2", None]]


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        (b"age,ill\n20,flu\n21,go", [("20", "21"), ("flu", "go")]),
        (b"age,ill\n20", [("20",), (None,)]),
        (b"age,ill\n", [(), ()]),
        (gzip.compress(b"age,ill\n20,flu\n"), [("20",), ("flu",)]),
        (b"age\r20", [AGES.cells, ILLS.cells]),
        (b"", [AGES.cells, ILLS.cells]),
        (gzip.compress(b"age,ill\n20,flu\n")[:20], [AGES.cells, ILLS.cells]),
    ],
    ids=["cut row", "cut cell", "header only", "gzip", "one line", "empty", "cut gzip"],
)
def test_the_judge_expects_what_the_file_holds(content: bytes, cells: list[tuple[str | None, ...]]) -> None:
    """A file that was cut has fewer rows than were drawn."""
    assert [column.cells for column in as_filed((AGES, ILLS), content)] == cells


def test_how_a_file_was_read_is_said_and_no_fault() -> None:
    """The driver took the note for an error, as it does other warnings."""
    files = {"data.csv": b"age,ill\n20,flu\n20,gout\nn/a,flu\nn/a,gout\n", "s.toml": SCHEMA}
    command = Command(("check", "data.csv", "--schema", "s.toml", "--require", "k=2"))
    assert drive(Case(0, files, (command,))) == []
    shown = drive(Case(0, files, (command,), persons=("read as missing",)))
    assert ["a message shows data" in problem.what for problem in shown] == [True]


PEOPLE = Column("id", "identifier", ("p1", "p2", "p3", "p4"))
TOWNS = Column("age", "quasi", ("20", "21", "30", "31"), "number")
VALUES = Column("ill", "sensitive", ("flu", "gout", "flu", "burn"), "tree")


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ("group,age,ill\n1,20,flu\n1,21,gout\n2,30,flu\n2,31,burn\n", []),
        ("group,age,ill\n1,20,flu\n1,31,burn\n2,30,flu\n2,21,gout\n", ["somebody's value is known for sure"]),
        ("group,age,ill\n1,20,cold\n1,21,gout\n2,30,flu\n2,31,burn\n", ["somebody's own value is ruled out"]),
    ],
)
def test_the_judge_crosses_out_over_a_series(tmp_path: Path, second: str, what: list[str]) -> None:
    first = "group,age,ill\n1,20,flu\n1,21,gout\n2,30,flu\n2,31,burn\n"
    asked = [Asked((PEOPLE, TOWNS, VALUES), f"r{number}.csv", "m-unique=2", "invariance") for number in (1, 2)]
    for one, text in zip(asked, (first, second), strict=True):
        (tmp_path / one.path).write_text(text, encoding="utf-8")
    assert judge_series(asked, tmp_path) == what
