"""Dirty tables: what is found in each, that nothing else changes, and that each leads to a second release."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.cli._app import run
from tests.cleaning.corpus import CASES, Case, people

pytestmark = pytest.mark.filterwarnings("ignore::reissue.errors.ReadingNote")


def texts(column: pl.Series) -> list[str | None]:
    return [None if cell is None else str(cell) for cell in column.to_list()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_defect_is_found_and_nothing_else_changes(case: Case, tmp_path: Path) -> None:
    rows = people(1)
    found = ri.clean(case.write(tmp_path / "january", rows))
    assert {one.name for one in found.recommended} == case.found, found
    assert {one.name for one in found.hints} == case.hints
    frame = found.frame
    assert frame.height == len(rows) - case.gone
    frame = frame.sort(frame.columns[frame.columns.index("Patientennummer")])
    assert texts(frame["Patientennummer"]) == [row[0] for row in rows]
    assert texts(frame["PLZ"]) == [row[3] for row in rows]
    if frame["Geburtsdatum"].dtype == pl.Date:
        known = [
            (is_day, row[1]) for is_day, row in zip(frame["Geburtsdatum"], rows, strict=True) if is_day is not None
        ]
        assert all(shown == meant for shown, meant in known)
    else:
        assert case.name == "an index of pandas"
    for column in case.lost:
        assert 0 < frame[column].null_count() < 0.2 * frame.height
    assert not any(frame[name].null_count() for name in frame.columns if name in _NEEDED - case.lost)


_NEEDED = {"Patientennummer", "Geburtsdatum", "Geschlecht", "PLZ", "Gewicht", "Diagnose"}


def test_dates_are_dates_from_everywhere(tmp_path: Path) -> None:
    kinds = set()
    for case in CASES:
        if not case.lost and case.name != "an index of pandas":
            kinds.add(ri.clean(case.write(tmp_path / "january", people(1))).frame["Geburtsdatum"].dtype)
    assert kinds == {pl.Date}
    assert isinstance(people(1)[0][1], date)


def walk(case: Case, folder: Path) -> None:
    """From the file to a checked second release, by commands that ask nothing and with no file edited."""
    january, february = (case.write(folder / name, people(month)) for name, month in (("january", 1), ("february", 2)))
    schema, ledger, out = folder / "schema.toml", folder / "clinic.ledger", folder / "second.csv"
    commands = [
        ["clean", january],
        ["init", january, "--out", schema],
        [
            "publish",
            january,
            "--schema",
            schema,
            "--ledger",
            ledger,
            "--out",
            folder / "first.csv",
            "--date",
            "2024-01-31",
        ],
        ["publish", february, "--ledger", ledger, "--out", out, "--date", "2024-02-29"],
        ["check", out, "--schema", schema, "--require", "k=5"],
    ]
    codes = [run([str(one) for one in command]) for command in commands]
    assert codes == [0] * len(commands)
    released = ri.Ledger.open(ledger).releases
    assert [one.record.rows for one in released] == [len(people(1)), len(people(2))]
    if case.found:
        assert released[0].record.repairs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_from_a_dirty_file_to_a_second_release(case: Case, tmp_path: Path) -> None:
    walk(case, tmp_path)
