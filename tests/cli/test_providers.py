"""Several providers from the shell: one file with a column for them, or a folder with a file for each."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue.schema import Role
from tests.cli.conftest import Outcome, Reissue
from tests.papers.test_coalition import PATIENTS, RELEASE_A, RELEASE_B, SCHEMA

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


@pytest.fixture
def copies(tmp_path: Path, hospitals: pl.DataFrame) -> None:
    """The holder's copies of releases a and b, and a schema that does not say who the providers are."""
    RELEASE_A.write_csv(tmp_path / "a.csv")
    RELEASE_B.write_csv(tmp_path / "b.csv")
    plain = SCHEMA.with_roles({"hospital": Role.DROP, "name": Role.DROP})
    (tmp_path / "plain.toml").write_text(plain.dumps() + '\n[policy]\nrequire = "k=3 & l=2"\n', encoding="utf-8")


ATTACK = ("--schema", "plain.toml", "--providers", "hospital", "--json")


def finding(outcome: Outcome, name: str = "coalition") -> dict[str, Any]:
    found: list[dict[str, Any]] = [one for one in outcome.json["findings"] if one["attack"] == name]
    return found[0]


def test_attack_by_providers(reissue: Reissue, copies: None) -> None:
    outcome = reissue("attack", "a.csv", *ATTACK, "--only", "coalition")
    assert outcome.code == 1, outcome.err
    assert finding(outcome)["details"]["smallest_coalition"] == ["P1"]
    outcome = reissue("attack", "b.csv", *ATTACK, "--only", "coalition", "--m", "2")
    assert outcome.code == 0, outcome.err
    assert finding(outcome)["details"]["largest_m"] == 2
    assert reissue("attack", "b.csv", *ATTACK, "--only", "coalition", "--m", "3").code == 1


def test_a_coalition_runs_every_attack(reissue: Reissue, copies: None) -> None:
    alone = reissue("attack", "b.csv", "b.csv", *ATTACK, "--only", "correspondence")
    outcome = reissue("attack", "b.csv", "b.csv", *ATTACK, "--coalition", "P1,P2", "--only", "correspondence")
    assert finding(alone, "correspondence")["worst"] == 10
    assert finding(outcome, "correspondence")["worst"] == 4
    assert finding(reissue("attack", "a.csv", *ATTACK, "--coalition", "P1", "--only", "coalition"))["people"] == 1


def test_a_coalition_that_cannot_be(reissue: Reissue, copies: None) -> None:
    for wrong, words in {"P9": "names 1 providers", ",": "between commas"}.items():
        outcome = reissue("attack", "a.csv", "a.csv", *ATTACK, "--coalition", wrong)
        assert outcome.code == 2
        assert words in outcome.json["error"]["message"]
        assert "P9" not in outcome.json["error"]["message"]
    assert reissue("attack", "a.csv", *ATTACK, "--coalition", "P1", "--m", "1").code == 2


def test_a_ledger_says_who_contributed_and_what_a_coalition_would_see(
    reissue: Reissue, hospitals: pl.DataFrame, tmp_path: Path
) -> None:
    policy = '[policy]\nrequire = "k=3 & l=2"\nmethod = "providers"\noptions = { m = 1 }\nattacks = ["coalition"]\n'
    (tmp_path / "policy.toml").write_text(f"{SCHEMA.dumps()}\n{policy}", encoding="utf-8")
    assert reissue("publish", "patients.csv", "--ledger", "x.ledger", "--schema", "policy.toml").code == 0
    (said,) = reissue("ledger", "providers", "x.ledger", "--json").json["releases"]
    assert said["contributed"] == {"P1": 3, "P2": 3, "P3": 2, "P4": 2}
    assert said["told"][-1] == "It withstood the attack by any one provider who takes its own records out."
    assert "P1" in reissue("ledger", "providers", "x.ledger").out
    asked = ("ledger", "providers", "x.ledger", "--table", "patients.csv")
    found = reissue(*asked, "--coalition", "P1, P2", "--json").json
    assert [one["members"] for one in found["coalitions"]] == [["P1", "P2"]]
    assert found["contributed"] == said["contributed"]
    assert "P1 and P2 take" in " ".join(reissue(*asked).out.split())
    assert reissue(*asked, "--coalition", "P9").code == 2


def test_a_ledger_says_what_a_coalition_would_see_over_the_series(
    reissue: Reissue, hospitals: pl.DataFrame, tmp_path: Path
) -> None:
    policy = '[policy]\nrequire = "k=3 & l=2"\nmethod = "providers"\nattacks = ["coalition"]\nlimit = 0.9\n'
    (tmp_path / "policy.toml").write_text(f"{SCHEMA.dumps()}\n{policy}", encoding="utf-8")
    assert reissue("publish", "patients.csv", "--ledger", "x.ledger", "--schema", "policy.toml").code == 0
    asked = ("ledger", "providers", "x.ledger", "--tables", "patients.csv")
    found = reissue(*asked, "--coalition", "P1, P2", "--json").json
    assert found["releases"] == [1]
    assert [one["members"] for one in found["coalitions"]] == [["P1", "P2"]]
    assert found["coalitions"][0]["population"] == 4
    assert "Somebody who gave no record" in " ".join(reissue(*asked).out.split())
    assert reissue(*asked, "--table", "patients.csv").code == 2
    assert reissue(*asked, "--coalition", "P9").code == 2
    hospitals.reverse().with_columns(pl.lit("flu").alias("disease")).write_csv("other.csv")
    other = reissue("ledger", "providers", "x.ledger", "--tables", "other.csv", "--json")
    assert other.code == 2
    assert "release 1" in other.json["error"]["message"]
