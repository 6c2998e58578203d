"""`reissue publish --engine stream`: a folder in, a folder out, a ledger between; and what must be left out."""

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Reissue
from tests.ledger.series import MONTHS, schema

POLICY = {"require": "k=6", "method": "mondrian", "attacks": ["joint"], "sensitive_values": ["none of these"]}
STREAM = ("publish", "register", "--ledger", "x.ledger", "--engine", "stream")


@pytest.fixture(autouse=True)
def register(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema(POLICY).dumps())
    (tmp_path / "register").mkdir()
    for number in range(2):
        MONTHS[0][number::2].write_parquet(tmp_path / "register" / f"{number}.parquet")


def test_a_folder_is_published_to_a_folder(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue(*STREAM, "--schema", "schema.toml", "--out", "release", "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert (found["release"], found["recorded"], found["rows"], found["files"]) == (1, True, 150, ["release"])
    parts = sorted((tmp_path / "release").glob("*.parquet"))
    assert sum(pl.read_parquet(one).height for one in parts) == found["rows"]
    assert (tmp_path / "release" / "_manifest.json").is_file()
    outcome = reissue(*STREAM, "--out", "again")
    assert outcome.code == 0, outcome.err
    assert "it is the same release" in outcome.out
    outcome = reissue("ledger", "export", "x.ledger", "1", "--out", "third")
    assert outcome.code == 0, outcome.err
    first, third = (sorted(one.read_bytes() for one in (tmp_path / name).iterdir()) for name in ("release", "third"))
    assert first == third


def test_what_must_be_left_out_and_what_must_be_said(reissue: Reissue, tmp_path: Path) -> None:
    begin = (*STREAM, "--schema", "schema.toml")
    cases = [
        ((), "name it with --out"),
        (("--out", "register"), "register"),
        (("--out", "o", "--record", "r.json"), "--record: only with --engine memory"),
    ]
    for arguments, words in cases:
        outcome = reissue(*begin, *arguments)
        assert outcome.code == 2, outcome.err
        assert words in " ".join(outcome.err.split())
    assert not (tmp_path / "x.ledger").exists()
    outcome = reissue(*begin, "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "A dry run" in outcome.out
    assert not (tmp_path / "x.ledger").exists()


def test_methods_that_look_at_all_rows(reissue: Reissue, tmp_path: Path) -> None:
    """A series by a memory file, then one by a ledger; a further table lies beside the first."""
    make = ("--schema", "schema.toml", "--require", "k=5", "--method", "cohorts", "--engine", "stream")
    more = ("--suppress", "0.3", "--option", "counterfeits=1")
    outcome = reissue("anonymize", "register", *make, *more, "--out", "first")
    assert outcome.code == 2
    assert "give --memory FILE" in " ".join(outcome.err.split())
    MONTHS[1].write_parquet(tmp_path / "next.parquet")
    for data, out in (("register", "first"), ("next.parquet", "second")):
        outcome = reissue("anonymize", data, *make, *more, "--memory", "kept", "--out", out)
        assert outcome.code == 0, outcome.err
        assert (tmp_path / out).is_dir()
    assert (tmp_path / "second.counterfeits").is_dir()
    outcome = reissue("check", "second", "--schema", "schema.toml", "--require", "k=5", "--engine", "stream")
    assert outcome.code == 0, outcome.err
    policy = {
        "require": "k=5",
        "method": "cohorts",
        "attacks": ["joint"],
        "sensitive_values": ["none of these"],
        "suppress": 0.3,
    }
    (tmp_path / "schema.toml").write_text(schema({**policy, "counterfeits": 1}).dumps())
    for number, data in enumerate(("register", "next.parquet")):
        begin = ("--schema", "schema.toml") if number == 0 else ()
        outcome = reissue("publish", data, *STREAM[2:], *begin, "--out", f"release{number}")
        assert outcome.code == 0, outcome.err
    assert (tmp_path / "release1.counterfeits" / "_manifest.json").is_file()


def test_a_release_in_two_tables_is_said_and_checked_whole(reissue: Reissue) -> None:
    asked = ("--schema", "schema.toml", "--require", "simple-l=2", "--engine", "stream")
    made = reissue("anonymize", "register", *asked, "--method", "anatomy", "--suppress", "0.3", "--out", "two")
    assert made.code == 0, made.err
    assert "two.sensitive" in made.out
    checked = reissue("check", "two", *asked)
    assert checked.code == 0, checked.err
