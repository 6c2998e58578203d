import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import PATIENTS, Reissue, files
from tests.papers.test_correspondence import R1, R2, SCHEMA

PAPER = ("attack", "r1.csv", "r2.csv", "--schema", "paper.toml", "--only", "correspondence")


@pytest.fixture
def paper(tmp_path: Path) -> None:
    """The paper's tables 1 and 2 as files."""
    R1.write_csv(tmp_path / "r1.csv")
    R2.write_csv(tmp_path / "r2.csv")
    (tmp_path / "paper.toml").write_text(SCHEMA.dumps(), encoding="utf-8")


@pytest.mark.usefixtures("paper")
def test_an_attack_that_succeeds_ends_with_one(reissue: Reissue, tmp_path: Path) -> None:
    before = files(tmp_path)
    outcome = reissue(*PAPER)
    assert outcome.code == 1
    assert "EXPOSED" in outcome.out
    assert "5 records that look alike are only 4" in outcome.out
    assert "Exposed" in outcome.out
    assert not outcome.err
    assert files(tmp_path) == before


@pytest.mark.usefixtures("paper")
def test_an_attack_that_fails_ends_with_zero(reissue: Reissue) -> None:
    outcome = reissue(*PAPER, "--limit", "correspondence=4")
    assert outcome.code == 0
    assert "Withstood" in outcome.out


@pytest.mark.usefixtures("paper")
def test_the_json_is_the_contract(reissue: Reissue) -> None:
    outcome = reissue(*PAPER, "--json", "--exact")
    assert outcome.code == 1
    assert outcome.json["verdict"] == "exposed"
    (finding,) = outcome.json["findings"]
    assert finding["attack"] == "correspondence"
    assert finding["releases"] == [1, 2]
    assert {key: finding["details"][key] for key in ("FA", "CA", "BA")} == {"FA": 4, "CA": 4, "BA": 4}
    assert json.loads(outcome.out) == outcome.json


@pytest.mark.usefixtures("paper")
def test_where_nothing_could_be_tested_the_exit_code_is_3(reissue: Reissue) -> None:
    one = reissue("attack", "r1.csv", "--schema", "paper.toml", "--only", "correspondence")
    assert one.code == 3
    assert "Not run: it compares releases" in one.out
    assert "Nothing shown: No attack could be run" in one.out
    assert reissue("attack", "r1.csv", "-s", "paper.toml", "--only", "correspondence", "--strict").code == 3


@pytest.mark.usefixtures("paper")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("attack", "r1.csv", "r3.csv", "-s", "paper.toml"), "no file"),
        ((*PAPER[:-1], "correspondense"), "Did you mean 'correspondence'"),
        ((*PAPER, "--limit", "correspondence"), "name=value"),
        ((*PAPER, "--limit", "correspondence=many"), "--limit attack=number"),
        ((*PAPER, "--limit", "correspond=4"), "no attack"),
    ],
)
def test_bad_input_ends_with_two(reissue: Reissue, arguments: tuple[str, ...], message: str) -> None:
    outcome = reissue(*arguments)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.usefixtures("hospital")
def test_the_next_release_after_earlier_ones(reissue: Reissue, tmp_path: Path) -> None:
    PATIENTS[:300].write_csv(tmp_path / "half.csv")
    make = ("--schema", "schema.toml", "--require", "k=5", "--method", "correspondence")
    assert reissue("anonymize", "half.csv", *make, "--out", "one.csv").code == 0
    made = reissue("anonymize", "patients.csv", *make, "--after", "one.csv", "--out", "two.csv")
    assert made.code == 0, made.err
    published = ("one.csv", "two.csv", "--schema", "schema.toml", "--only", "correspondence")
    assert reissue("attack", *published, "--limit", "correspondence=5").code == 0
    third = reissue("anonymize", "half.csv", *make, "--after", "two.csv", "--out", "three.csv")
    assert third.code == 2
    assert "lacks" in third.err
    assert not (tmp_path / "three.csv").exists()
    other = reissue("anonymize", "patients.csv", *make[:-1], "mondrian", "--after", "one.csv")
    assert other.code == 2
    assert "has no option 'after'" in other.err


@pytest.mark.usefixtures("hospital")
def test_too_few_new_records_end_with_one(reissue: Reissue, tmp_path: Path) -> None:
    PATIENTS[:-2].write_csv(tmp_path / "most.csv")
    make = ("--schema", "schema.toml", "--require", "k=5", "--method", "correspondence")
    reissue("anonymize", "most.csv", *make, "--out", "one.csv")
    outcome = reissue("anonymize", "patients.csv", *make, "--after", "one.csv", "--out", "two.csv")
    assert outcome.code == 1
    assert "only 2 of 5 records" in outcome.err
    assert not (tmp_path / "two.csv").exists()
    assert pl.read_csv(tmp_path / "one.csv").height == PATIENTS.height - 2
