"""Several providers from the shell: one file with a column for them, or a folder with a file for each."""

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Reissue
from tests.papers.test_coalition import PATIENTS, SCHEMA

RULE = ("--schema", "schema.toml", "--method", "providers", "--require", "k=3 & l=2")


@pytest.fixture
def hospitals(tmp_path: Path) -> pl.DataFrame:
    """patients.csv, a folder with a file for each hospital, and schema.toml."""
    PATIENTS.write_csv(tmp_path / "patients.csv")
    (tmp_path / "together").mkdir()
    for (name,), part in PATIENTS.group_by("hospital"):
        part.drop("hospital").write_csv(tmp_path / "together" / f"{name}.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps(), encoding="utf-8")
    return PATIENTS


@pytest.mark.parametrize(
    ("data", "target"), [("patients.csv", "patients.release.csv"), ("together", "together.release.csv")]
)
def test_anonymize_for_several_providers(reissue: Reissue, hospitals: pl.DataFrame, data: str, target: str) -> None:
    outcome = reissue("anonymize", data, *RULE, "--m", "2", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["files"] == [target]
    assert outcome.json["groups"] == 1
    assert pl.read_csv(target).columns == ["age", "disease"]


def test_nothing_is_private_against_three(reissue: Reissue, hospitals: pl.DataFrame) -> None:
    outcome = reissue("anonymize", "patients.csv", *RULE, "--m", "3")
    assert outcome.code == 2
    assert "k=3 & l=2 against any 3 of its providers" in " ".join(outcome.err.split())


def test_m_needs_a_method_that_has_it(reissue: Reissue, hospitals: pl.DataFrame) -> None:
    outcome = reissue("anonymize", "patients.csv", "--schema", "schema.toml", "--m", "2", "--method", "pool")
    assert outcome.code == 2
    assert "--m is for the methods" in outcome.err
    outcome = reissue("anonymize", "patients.csv", "--schema", "schema.toml", "--m", "1", "--method", "invariance")
    assert outcome.code == 2
    assert "at least 2" in outcome.err
