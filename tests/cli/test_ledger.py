"""`reissue ledger` from the shell."""

from pathlib import Path

import polars as pl
import pytest

from reissue.publishing.anonymize import anonymize
from tests.cli.conftest import Reissue
from tests.ledger.series import MONTHS, POOL, schema


@pytest.fixture(autouse=True)
def months(tmp_path: Path) -> None:
    for number, month in enumerate(MONTHS, start=1):
        month.write_csv(tmp_path / f"{number}.csv")
    (tmp_path / "schema.toml").write_text(schema(POOL).dumps())


@pytest.fixture
def published(reissue: Reissue) -> None:
    for number in (1, 2):
        outcome = reissue("publish", f"{number}.csv", "--ledger", "x.ledger", "--schema", "schema.toml")
        assert outcome.code == 0, outcome.err


@pytest.mark.usefixtures("published")
def test_list_and_show(reissue: Reissue) -> None:
    assert "everyone" in reissue("ledger", "list", "x.ledger").out
    listed = reissue("ledger", "list", "x.ledger", "--json").json
    assert [one["release"] for one in listed["releases"]] == [1, 2]
    assert "updates" in reissue("ledger", "show", "x.ledger", "2").out
    shown = reissue("ledger", "show", "x.ledger", "2", "--json").json
    assert (shown["method"], shown["hash"]) == ("pool", listed["head"])
    assert reissue("ledger", "show", "x.ledger", "3").code == 2


@pytest.mark.usefixtures("published")
def test_export_gives_the_same_bytes(reissue: Reissue, tmp_path: Path) -> None:
    for number in (1, 2):
        assert reissue("ledger", "export", "x.ledger", str(number), "--out", f"again{number}.csv").code == 0
        again = (tmp_path / f"again{number}.csv").read_bytes()
        assert again == (tmp_path / f"{number}.release.csv").read_bytes()


@pytest.mark.usefixtures("published")
def test_verify_says_no(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("ledger", "verify", "x.ledger", "--json").json["whole"]
    next((tmp_path / "x.ledger" / "files").glob("*.parquet")).write_bytes(b"")
    outcome = reissue("ledger", "verify", "x.ledger")
    assert (outcome.code, "was changed" in outcome.out) == (1, True)


@pytest.mark.usefixtures("published")
def test_amend(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("ledger", "amend", "x.ledger", "--schema", "schema.toml", "--json").json == {"changed": False}
    (tmp_path / "schema.toml").write_text(schema({**POOL, "require": "k=6"}).dumps())
    assert reissue("publish", "3.csv", "--ledger", "x.ledger", "--schema", "schema.toml").code == 2
    assert reissue("ledger", "amend", "x.ledger", "--schema", "schema.toml").code == 0
    outcome = reissue("publish", "3.csv", "--ledger", "x.ledger", "--json")
    assert outcome.json["requirement"] == "k=6"


def test_who_adopts_the_same_again_after_a_crash_adds_nothing(reissue: Reissue) -> None:
    totals = []
    for given in (("1.csv", "--schema", "schema.toml"), ("2.csv",), ("2.csv",), ("1.csv", "2.csv"), ("1.csv",)):
        outcome = reissue("ledger", "adopt", "x.ledger", *given, "--json")
        assert outcome.code == 0, outcome.err
        totals.append(outcome.json["releases"])
    assert totals == [1, 2, 2, 2, 3]
    assert reissue("ledger", "withdraw", "x.ledger", "3", "--never-sent", "a mistake").code == 0
    assert reissue("ledger", "adopt", "x.ledger", "1.csv", "--json").json["releases"] == 4


def test_adopted_releases_bind_the_next_one(reissue: Reissue, tmp_path: Path) -> None:
    plan = schema({**POOL, "attacks": ["correspondence"]})
    (tmp_path / "schema.toml").write_text(plan.dumps())
    grown = pl.concat(MONTHS[:2]).unique("patient", keep="first", maintain_order=True)
    grown.write_csv(tmp_path / "grown.csv")
    anonymize(MONTHS[0], plan, "k=5", method="topdown", seed=1).write(str(tmp_path / "old.csv"))
    outcome = reissue("ledger", "adopt", "x.ledger", "old.csv", "--schema", "schema.toml", "--json")
    assert outcome.json == {"adopted": 1, "releases": 1}, outcome.err
    assert reissue("ledger", "export", "x.ledger", "1", "--out", "same.csv").code == 0
    assert (tmp_path / "same.csv").read_bytes() == (tmp_path / "old.csv").read_bytes()
    outcome = reissue("publish", "grown.csv", "--ledger", "x.ledger", "--json", "--dry-run")
    assert outcome.code == 1
    assert outcome.json["findings"][0]["releases"] == [1, 2]
    (tmp_path / "schema.toml").write_text(
        schema({"require": "k=5", "method": "correspondence", "attacks": ["correspondence"]}).dumps()
    )
    assert reissue("ledger", "amend", "x.ledger", "--schema", "schema.toml").code == 0
    outcome = reissue("publish", "grown.csv", "--ledger", "x.ledger", "--json")
    # Of adopted files nobody knows the people: the joint attack could not be run, and it is said.
    assert (outcome.code, outcome.json["verdict"]) == (0, "incomplete")
    outcome = reissue("ledger", "adopt", "x.ledger", "old.csv")
    assert (outcome.code, "only before" in outcome.err) == (2, True)


@pytest.mark.usefixtures("published")
def test_what_each_release_lost_is_listed_as_utility_measures_it(reissue: Reissue) -> None:
    listed = reissue("ledger", "list", "x.ledger", "--json").json["releases"]
    for number, one in enumerate(listed, start=1):
        tables = (f"{number}.csv", f"{number}.release.csv")
        measured = reissue("measure", *tables, "--schema", "schema.toml", "--queries", "0", "--json").json["loss"]
        assert one["loss"] == pytest.approx(measured, abs=1e-6)
    assert reissue("ledger", "recipients", "x.ledger", "--json").json == {"everyone": [1, 2]}


def test_who_holds_what(reissue: Reissue) -> None:
    for number, more in ((1, ["--recipient", "ministry"]), (2, [])):
        place = ("--ledger", "y.ledger", "--schema", "schema.toml")
        assert reissue("publish", f"{number}.csv", *place, *more).code == 0
    assert reissue("ledger", "recipients", "y.ledger", "--json").json == {"ministry": [1, 2], "everyone": [2]}
    assert "ministry" in reissue("ledger", "recipients", "y.ledger").out
