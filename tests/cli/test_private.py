"""`reissue attack --private`: each person's results, for the holder alone."""

from pathlib import Path

import polars as pl
import pytest

from reissue.papers.personal import PRIVATE
from tests.cli.conftest import Reissue
from tests.papers.test_updates import SCHEMA, TABLE_3, TABLE_4

COMMAND = ("attack", "one.csv", "two.csv", "--schema", "s.toml", "--only", "updates", "--private", "people.csv")


@pytest.fixture(autouse=True)
def paper(tmp_path: Path) -> None:
    """Tables III and IV of Li and Zhou as files."""
    TABLE_3.write_csv(tmp_path / "one.csv")
    TABLE_4.write_csv(tmp_path / "two.csv")
    (tmp_path / "s.toml").write_text(SCHEMA.dumps(), encoding="utf-8")


def test_the_file_is_private_and_the_command_says_so(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue(*COMMAND)
    assert outcome.code == 1
    assert PRIVATE in " ".join(outcome.out.split())
    people = tmp_path / "people.csv"
    assert people.stat().st_mode & 0o077 == 0
    assert pl.read_csv(people).filter(person="Julia")["disclosure_risk"].to_list() == [1.0, 0.5]
    assert reissue(*COMMAND).code == 2, "an existing file is not replaced unasked"
    assert reissue(*COMMAND, "--force").code == 1


def test_where_nobody_can_be_followed_nothing_is_written(reissue: Reissue, tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        pl.read_csv(tmp_path / name).drop("name").write_csv(tmp_path / name)
    outcome = reissue(*COMMAND)
    assert outcome.code == 2
    assert "no per-person results" in outcome.err
    assert not (tmp_path / "people.csv").exists()
