"""`reissue anonymize` over a folder of snapshots, with a memory file."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue.files import staging
from reissue.release.memory import load_memory, save_memory
from tests.cli.conftest import Reissue, files
from tests.hospital import SCHEMA, T1, T2, T3

WORK = ("--schema", "schema.toml", "--method", "equivalence", "--m", "2", "--e", "2")


@pytest.fixture(autouse=True)
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "months").mkdir()
    for number, frame in enumerate((T1, T2), start=1):
        frame.write_csv(tmp_path / "months" / f"{number}.csv")
    T3.write_csv(tmp_path / "next.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps())


def test_a_folder_then_one_more_snapshot(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue("anonymize", "months", *WORK, "--memory", "memory", "--seed", "3")
    assert outcome.code == 0, outcome.err
    assert "7 rows published in 2 groups, with 1 counterfeit" in outcome.out
    assert files(tmp_path / "months.release") == {"1.csv", "2.csv", "2.counterfeits.csv"}
    published = pl.read_csv(tmp_path / "months.release" / "2.csv")
    assert published.columns == ["group", "age", "zip", "disease"]
    outcome = reissue("anonymize", "next.csv", *WORK, "--memory", "memory", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["releases"][0]["counterfeits"] == 3
    assert outcome.json["releases"][0]["files"] == ["next.release.csv", "next.release.counterfeits.csv"]


def test_the_same_run_once_more_gives_the_same_releases(reissue: Reissue, tmp_path: Path) -> None:
    """Without a seed too; so somebody who was killed cannot send out two versions of one table."""
    begin = ("anonymize", "months", *WORK, "--memory", "memory")
    go_on = ("anonymize", "next.csv", *WORK, "--memory", "memory")
    for command, out in ((begin, "months.release/2.csv"), (go_on, "next.release.csv")):
        assert reissue(*command).code == 0
        kept = [(tmp_path / name).read_bytes() for name in (out, "memory")]
        outcome = reissue(*command, "--force")
        assert (outcome.code, "the same releases, not the next ones" in outcome.out) == (0, True), outcome.err
        assert [(tmp_path / name).read_bytes() for name in (out, "memory")] == kept
    outcome = reissue("anonymize", "next.csv", *WORK, "--memory", "memory", "--seed", "5", "--out", "more.csv")
    assert (outcome.code, "the same releases" in outcome.out) == (0, False), "asked for otherwise it is the next one"


def test_a_run_that_cannot_be_placed_leaves_the_memory_as_it_was(
    reissue: Reissue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, move = ("anonymize", "months", *WORK, "--memory", "memory"), staging._move

    def fail(file: Any) -> Path | None:
        if file.place.name != "memory":
            raise OSError(28, "full")
        return move(file)

    with monkeypatch.context() as broken:
        broken.setattr(staging, "_move", fail)
        assert reissue(*command).code == 2
    assert files(tmp_path) == {"months", "months/1.csv", "months/2.csv", "next.csv", "schema.toml"}
    assert reissue(*command).code == 0
    before = (tmp_path / "memory").read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(staging, "_move", fail)
        assert reissue("anonymize", "next.csv", *command[2:]).code == 2
    assert (tmp_path / "memory").read_bytes() == before


def test_memories_of_earlier_versions_are_gone_on_with(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("anonymize", "months", *WORK, "--memory", "memory").code == 0
    save_memory(load_memory(tmp_path / "memory"), tmp_path / "memory", force=True)
    outcome = reissue("anonymize", "next.csv", *WORK, "--memory", "memory", "--json")
    assert (outcome.code, outcome.json["again"]) == (0, False)


def test_a_panel_is_published_attacked_and_compared(reissue: Reissue, tmp_path: Path) -> None:
    """Rows carry a slot; files alone are enough to follow it; transitions are those of the slots."""
    people = pl.DataFrame({"owner": range(24), "age": [20 + one for one in range(24)], "zip": [5] * 24})
    for number, shift in enumerate((0, 1), start=1):
        sick = pl.Series(
            "disease", [["flu", "cold", "ulcer"][(one + (shift if one < 6 else 0)) % 3] for one in range(24)]
        )
        people.with_columns(sick).write_csv(tmp_path / "months" / f"{number}.csv")
    asked = ("--schema", "schema.toml", "--method", "cohorts", "--require", "k=4 & l=2", "--memory", "memory")
    wrong = reissue("anonymize", "months", *asked, "--form", "panels")
    assert (wrong.code, "panel" in wrong.err) == (2, True)
    outcome = reissue("anonymize", "months", *asked, "--form", "panel")
    assert outcome.code == 0, outcome.err
    releases = ("months.release/1.csv", "months.release/2.csv")
    slots = [pl.read_csv(tmp_path / one)["slot"].sort().to_list() for one in releases]
    assert slots[0] == slots[1]
    found = reissue("attack", *releases, "--schema", "schema.toml", "--only", "trajectory", "--limit", "trajectory=4")
    assert (found.code, "followed by their numbers" in found.out) == (0, True), found.err
    moved = reissue(
        *("measure", "months/2.csv", releases[1], "--schema", "schema.toml", "--queries", "0", "--json"),
        *("--before", "months/1.csv", releases[0]),
    )
    assert moved.json["transitions"]["linked"]
    assert moved.json["transitions"]["stay"]["published"] == moved.json["transitions"]["stay"]["true"] == 0.75


@pytest.mark.parametrize("m", ["2", "4"])
def test_refused_means_nothing_is_written(reissue: Reissue, tmp_path: Path, m: str) -> None:
    T2.with_columns(disease=pl.lit("flu")).write_csv(tmp_path / "months" / "2.csv")
    work = ("--schema", "schema.toml", "--method", "invariance", "--m", m)
    outcome = reissue("anonymize", "months", *work, "--memory", "memory")
    assert outcome.code == 2
    assert "Snapshot" in outcome.err
    assert "Alice" not in outcome.err
    assert files(tmp_path) == {"months", "months/1.csv", "months/2.csv", "next.csv", "schema.toml"}


def test_another_series_memory_is_refused(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("anonymize", "months", *WORK, "--memory", "memory").code == 0
    before = (tmp_path / "memory").read_bytes()
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps().replace('zip = "quasi"', 'zip = "drop"'))
    outcome = reissue("anonymize", "next.csv", *WORK, "--memory", "memory")
    assert (outcome.code, "another series" in outcome.err) == (2, True)
    assert (tmp_path / "memory").read_bytes() == before
    assert "next.release.csv" not in files(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("next.csv", "--schema", "schema.toml", "--method", "invariance", "--m", "2"), "give --memory"),
        (("months", "--schema", "schema.toml", "--require", "k=2"), "one at a time"),
        (("next.csv", "--schema", "schema.toml", "--m", "2"), "--m is for the methods"),
        (("next.csv", "--schema", "schema.toml"), "--require 'k=5 & l=3'"),
        (("months", *WORK, "--require", "simple-l=2"), "not both"),
        (("months", *WORK, "--out", "months"), "not that of the data"),
        (("months", *WORK, "--out", "nowhere/out"), "does not exist"),
        (("next.csv", *WORK, "--memory", "schema.toml"), "replace the schema itself"),
        (("next.csv", *WORK, "--memory", "notes.txt"), "not a memory file"),
        (("next.csv", *WORK, "--memory", "x.csv", "--out", "x.csv"), "the same file"),
        (("next.csv", *WORK, "--memory", "x.counterfeits.csv", "--out", "x.csv"), "the same file"),
        (("next.csv", *WORK, "--memory", "x.sensitive.csv", "--out", "x.csv"), "the same file"),
        (("next.csv", *WORK, "--memory", "memory", "--out", "next.csv", "--force"), "replace the data itself"),
    ],
)
def test_what_cannot_be_is_refused(reissue: Reissue, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    outcome = reissue("anonymize", *arguments)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err


def test_a_full_folder_is_not_written_into(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("anonymize", "months", *WORK).code == 0
    outcome = reissue("anonymize", "months", *WORK)
    assert (outcome.code, "not empty" in outcome.err) == (2, True)
    assert reissue("anonymize", "months", *WORK, "--force").code == 0
    (tmp_path / "empty").mkdir()
    assert "has no file" in reissue("anonymize", "empty", *WORK).err


def test_published_files_are_attacked_with_a_folder_of_members(reissue: Reissue) -> None:
    assert reissue("anonymize", "months", "--schema", "schema.toml", "--method", "invariance", "--m", "2").code == 0
    releases = ("months.release/1.csv", "months.release/2.csv")
    outcome = reissue("attack", *releases, "--schema", "schema.toml", "--only", "equivalence", "--json")
    assert outcome.json["findings"][0]["status"] == "not_run"
    for members in ("months", "months/1.csv, months/2.csv"):
        knows = ("--knowledge", f"members={members}")
        outcome = reissue("attack", *releases, "--schema", "schema.toml", "--only", "equivalence", "--json", *knows)
        assert outcome.json["findings"][0]["status"] in {"withstood", "exposed"}
