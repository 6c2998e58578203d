"""Series whose values change, from the command line: anonymize, attack, check."""

import json
from pathlib import Path

import polars as pl
import pytest

from reissue.cli._app import run
from tests.papers.test_updates import TABLE_3, TABLE_4, TABLE_5

SCHEMA = """
[columns]
name = "identifier"
zip = "quasi"
hours = "quasi"
disease = "sensitive"
[taxonomy.disease.tree]
Lungs = ["Flu", "Pneumonia", "Lung Cancer"]
Stomach = ["Dyspepsia", "Gastritis"]
Eye = ["Glaucoma", "Cataract"]
[updates]
taxonomy = true
"""


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for number, table in enumerate((TABLE_3, TABLE_4, TABLE_5), start=3):
        table.write_csv(tmp_path / f"table{number}.csv")
    return tmp_path


def test_anonymize_with_star_and_risk(hospital: Path) -> None:
    frame = pl.DataFrame(
        {
            "name": ["Ken", "Julia", "Tom", "Harry", "Lily", "Ben"],
            "zip": [14, 16, 24, 26, 29, 31],
            "hours": [20, 23, 32, 35, 17, 19],
            "disease": TABLE_3["disease"],
        }
    )
    frame.write_csv(hospital / "one.csv")
    common = ["-s", str(hospital / "schema.toml"), "--method", "distinct", "--m", "2", "--star", "--risk", "0.7"]
    common += ["--memory", str(hospital / "memory"), "--option", "ineligible=counterfeits"]
    assert run(["anonymize", str(hospital / "one.csv"), *common]) == 0
    frame.write_csv(hospital / "two.csv")
    assert run(["anonymize", str(hospital / "two.csv"), *common]) == 0
    assert (hospital / "two.release.csv").is_file()


def test_attack_and_check_tables_3_and_4(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(hospital / f"table{number}.csv") for number in (3, 4)]
    schema = ["-s", str(hospital / "schema.toml")]
    assert run(["attack", *files, *schema, "--only", "updates", "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["details"]["certains"] == [5, 3]
    assert run(["check", *files, *schema, "--series"]) == 0
    assert "rule values out, so it is not m-Distinct" in " ".join(capsys.readouterr().out.split())


def test_check_tables_3_and_5(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(hospital / f"table{number}.csv") for number in (3, 5)]
    schema = ["-s", str(hospital / "schema.toml")]
    assert run(["check", *files, *schema, "--series", "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["m_distinct"], outcome["m_distinct_star"], outcome["risk"]) == (2, 2, pytest.approx(0.6))
    assert run(["check", *files, *schema, "--series", "--require", "k=2"]) == 2
