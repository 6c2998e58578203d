from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import PATIENTS, Reissue, files

pytestmark = pytest.mark.usefixtures("hospital")
CHECK = ("--schema", "schema.toml")


def test_the_raw_table_does_not_do_and_the_release_does(reissue: Reissue) -> None:
    raw = reissue("check", "patients.csv", *CHECK, "--require", "k=5 & l=3")
    assert raw.code == 1
    assert "NOT MET  k=5" in raw.out
    reissue("anonymize", "patients.csv", *CHECK, "--require", "k=5 & l=3", "--out", "out.csv")
    released = reissue("check", "out.csv", *CHECK, "--require", "k=5 & l=3")
    assert released.code == 0
    assert "k=5 is met." in released.out
    assert "600 rows in" in released.out
    assert not released.err


def test_without_a_requirement_it_only_tells(reissue: Reissue) -> None:
    outcome = reissue("check", "patients.csv", *CHECK)
    assert outcome.code == 0
    for name in ("k", "l", "entropy-l", "t", "confidence"):
        assert f"\n {name} " in outcome.out


def test_json_has_measures_and_verdicts(reissue: Reissue) -> None:
    outcome = reissue("check", "patients.csv", *CHECK, "--require", "k=5", "--json")
    assert outcome.code == 1
    answer = outcome.json
    keys = {"rows", "groups", "measures", "verdicts", "form", "risk", "people", "met", "warnings"}
    assert set(answer) == keys | {"columns", "unprotected"}
    assert answer["met"] is False
    assert answer["rows"] == 600
    assert answer["verdicts"][0]["requirement"] == "k=5"
    assert {"name", "value", "sentence", "column"} == set(answer["measures"][0])


def test_what_was_asked_is_answered_and_the_rest_offered(reissue: Reissue) -> None:
    asked = reissue("check", "patients.csv", *CHECK, "--require", "k=1").out
    assert asked.splitlines()[1].startswith("met      k=1")
    assert "prosecutor: largest 1" in asked
    assert "Also measured: k 1" in asked
    assert "anonymity holds for" not in asked
    assert "anonymity holds for" in reissue("check", "patients.csv", *CHECK, "--require", "k=1", "--all").out


def test_risk_by_register_sampling_and_preset(reissue: Reissue) -> None:
    reissue("anonymize", "patients.csv", *CHECK, "--require", "k=5", "--out", "out.csv")
    by_register = reissue("check", "out.csv", *CHECK, "--population", "patients.csv", "--preset", "0.2", "--json")
    assert by_register.code == 0, by_register.err
    risk = by_register.json["risk"]
    assert risk["register"]["k_map"] >= 5
    assert [one["name"] for one in risk["attackers"]] == ["prosecutor", "journalist", "marketer"]
    assert reissue("check", "out.csv", *CHECK, "--preset", "cell-11").code == 1
    sampled = reissue("check", "out.csv", *CHECK, "--preset", "cell-11", "--sampling", "0.05", "--known", "3")
    assert sampled.code == 0
    assert "any 3 quasi-identifiers" in sampled.out
    for wrong in (["--sampling", "2"], ["--preset", "cell"], ["--weights", "w"], ["--series", "--preset", "0.2"]):
        outcome = reissue("check", "out.csv", *CHECK, *wrong)
        assert (outcome.code, outcome.out) == (2, ""), wrong


def test_the_two_tables_of_a_release_belong_together(reissue: Reissue, tmp_path: Path) -> None:
    made = reissue("anonymize", "patients.csv", *CHECK, "-r", "l=3", "--method", "anatomy", "-o", "out.csv", "--json")
    assert made.json["files"] == ["out.csv", "out.sensitive.csv"]
    both = reissue("check", "out.csv", "out.sensitive.csv", *CHECK, "--require", "l=3")
    assert both.code == 0, both.err
    assert reissue("check", "out.csv", *CHECK, "--require", "l=3").out == both.out
    (tmp_path / "out.sensitive.csv").rename(tmp_path / "elsewhere.csv")
    assert reissue("check", "out.csv", *CHECK).code == 2
    assert reissue("check", "out.csv", "elsewhere.csv", *CHECK, "--require", "l=3").out == both.out
    assert reissue("check", "out.csv", "out.sensitive.csv", "out.csv", *CHECK).code == 2


def test_anyones_file_will_do(reissue: Reissue, tmp_path: Path) -> None:
    rows = {"age": ["20-29"] * 3 + ["30-39"] * 3, "zip": ["53***"] * 6, "sex": ["*"] * 6, "job": ["*"] * 6}
    pl.DataFrame({**rows, "disease": list("aabccd")}).write_csv(tmp_path / "theirs.csv", separator=";")
    (tmp_path / "plain.toml").write_text(
        '[columns]\nage = "quasi"\nzip = "quasi"\nsex = "quasi"\njob = "quasi"\ndisease = "sensitive"\n'
    )
    answer = reissue("check", "theirs.csv", "-s", "plain.toml", "--read", "delimiter=;", "--json").json
    values = {measure["name"]: measure["value"] for measure in answer["measures"]}
    assert values["k"] == 3
    assert values["l"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", *CHECK], "no file"),
        (["patients.csv", "-s", "none.toml"], "does not exist"),
        (["patients.csv", *CHECK, "-r", "k"], "needs a value"),
        (["patients.csv", *CHECK, "-r", "entropi-l=3"], "entropy-l"),
        (["patients.csv", "--engine", "stream"], "needs --schema"),
        (["patients.csv", *CHECK, "--quasi", "age"], "Give --schema, or --quasi"),
        (["renamed.csv", *CHECK], "Did you mean 'zap'?"),
        (["empty.csv", *CHECK], "no rows"),
    ],
)
def test_bad_input(reissue: Reissue, tmp_path: Path, arguments: list[str], message: str) -> None:
    PATIENTS.rename({"zip": "zap"}).write_csv(tmp_path / "renamed.csv")
    PATIENTS.clear().write_csv(tmp_path / "empty.csv")
    before = files(tmp_path)
    for as_json in ([], ["--json"]):
        outcome = reissue("check", *arguments, *as_json)
        assert outcome.code == 2
        assert message in (outcome.json["error"]["message"] if as_json else outcome.err)
    assert files(tmp_path) == before


def test_a_larger_table_is_streamed_with_the_same_outcome(reissue: Reissue) -> None:
    reissue("anonymize", "patients.csv", *CHECK, "--require", "k=5 & l=3", "--out", "out.parquet")
    asked = ("check", "out.parquet", *CHECK, "--require", "k=5 & l=3", "--json")
    one, other = (reissue(*asked, "--engine", engine) for engine in ("memory", "stream"))
    assert one.code == other.code == 0
    assert one.json == other.json


def test_an_engine_that_cannot_do_it_says_why(reissue: Reissue) -> None:
    assert "reads Parquet" in reissue("check", "patients.csv", *CHECK, "--engine", "stream").err
    assert "Did you mean 'stream'" in reissue("check", "patients.csv", *CHECK, "--engine", "steam").err
    reissue("anonymize", "patients.csv", *CHECK, "--require", "k=5", "--out", "out.parquet")
    refused = reissue("check", "out.parquet", *CHECK, "--engine", "stream", "--record", "record.json")
    assert refused.code == 2
    assert "--engine memory" in refused.err
    assert not Path("record.json").exists()
