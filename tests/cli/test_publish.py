"""`reissue publish` from the shell."""

from pathlib import Path

import polars as pl
import pytest

from reissue.ledger import Ledger
from reissue.schema import Schema
from tests.cli.conftest import Reissue, files
from tests.ledger.series import INVARIANCE, JUDGED, MONTHS, POOL, schema

WORK = ("--ledger", "x.ledger")


@pytest.fixture(autouse=True)
def months(tmp_path: Path) -> None:
    for number, month in enumerate(MONTHS, start=1):
        month.write_csv(tmp_path / f"{number}.csv")
    (tmp_path / "schema.toml").write_text(schema(INVARIANCE).dumps())


def test_month_after_month(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue("publish", "1.csv", *WORK, "--schema", "schema.toml")
    assert outcome.code == 0, outcome.err
    assert "Release 1: 150 rows" in outcome.out
    outcome = reissue("publish", "2.csv", *WORK, "--json", "--out", "second.parquet")
    assert outcome.code == 0, outcome.err
    assert outcome.json["release"] == 2
    assert outcome.json["verdict"] == "withstood"
    assert pl.read_parquet(tmp_path / "second.parquet").height >= 150
    verified = reissue("ledger", "verify", "x.ledger", "--head", outcome.json["head"])
    assert verified.code == 0
    assert "Proven: Nothing was changed" in verified.out
    assert "has no date" in outcome.json["warnings"][-1]
    outcome = reissue("publish", "3.csv", *WORK, "--json", "--date", "2026-03-31")
    assert "has no date" not in " ".join(outcome.json["warnings"])
    outcome = reissue("publish", "1.csv", *WORK, "--date", "2026-04-30", "--out", "again.csv")
    assert (outcome.code, "wrong month" in outcome.err, "say so: --unchanged" in outcome.err) == (2, True, True)
    assert reissue("publish", "1.csv", *WORK, "--date", "2026-04-30", "--unchanged", "--dry-run").code in {0, 1}


def test_the_same_table_twice_is_one_release(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("publish", "1.csv", *WORK, "--schema", "schema.toml").code == 0
    first = (tmp_path / "1.release.csv").read_bytes()
    (tmp_path / "1.release.csv").unlink()
    outcome = reissue("publish", "1.csv", *WORK)
    assert outcome.code == 0, outcome.err
    assert "published before" in outcome.out
    assert (tmp_path / "1.release.csv").read_bytes() == first


@pytest.mark.parametrize("begun", [True, False])
def test_a_dry_run_leaves_nothing(reissue: Reissue, tmp_path: Path, begun: bool) -> None:
    if begun:
        assert reissue("publish", "1.csv", *WORK, "--schema", "schema.toml").code == 0
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in files(tmp_path) if (tmp_path / name).is_file()}
    outcome = reissue("publish", "2.csv", *WORK, *(() if begun else ("--schema", "schema.toml")), "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "nothing was recorded" in outcome.out
    after = {name: (tmp_path / name).stat().st_mtime_ns for name in files(tmp_path) if (tmp_path / name).is_file()}
    assert before == after


def test_a_refused_release_leaves_a_report_and_nothing_else(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema(JUDGED).dumps())
    assert reissue("publish", "1.csv", *WORK, "--schema", "schema.toml").code == 0
    before = files(tmp_path)
    outcome = reissue("publish", "2.csv", *WORK, "--json")
    assert outcome.code == 1
    assert outcome.json["verdict"] == "exposed"
    assert any(line.startswith("Suppress up to") for line in outcome.json["advice"])
    assert files(tmp_path) - before == {"2.csv.refused.txt"}
    text = (tmp_path / "2.csv.refused.txt").read_text()
    assert "Why:" in text
    assert "Another method: equivalence or invariance;" in text
    assert reissue("publish", "2.csv", *WORK).code == 1
    assert reissue("ledger", "verify", "x.ledger").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2.csv", "--ledger", "nowhere"), "no ledger"),
        (("2.csv", *WORK, "--schema", "other.toml"), "not what the ledger"),
        (("2.csv", *WORK, "--out", "2.csv", "--force"), "replace the data"),
        (("2.csv", *WORK, "--date", "tomorrow"), "2026-03-31"),
        (("2.csv", *WORK, "--date", "2026-01-01"), "must be later"),
        (("2.csv", *WORK, "--key", "schema.toml"), "not the key"),
        (("2.csv", *WORK, "--out", "nowhere/out.csv"), "does not exist"),
    ],
)
def test_what_cannot_be_is_refused(reissue: Reissue, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "other.toml").write_text(schema(POOL).dumps())
    (tmp_path / "schema.toml").chmod(0o600)  # it is given as a key once, and a key that others can read is warned of
    assert reissue("publish", "1.csv", *WORK, "--schema", "schema.toml", "--date", "2026-01-31").code == 0
    outcome = reissue("publish", *arguments)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert "2.release.csv" not in files(tmp_path)


def test_a_policy_is_needed(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(Schema(schema(POOL).columns).dumps())
    outcome = reissue("publish", "1.csv", *WORK, "--schema", "schema.toml")
    assert (outcome.code, "[policy]" in outcome.err) == (2, True)


def test_init_asks_and_publish_goes_by_the_answers(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue("init", "1.csv", "--out", "x.toml", "--answer", "removed=yes")
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "x.toml").read_text()
    assert "# Are records ever removed from one release to the next? Yes." in text
    for number in (1, 2):
        outcome = reissue("publish", f"{number}.csv", *WORK, "--schema", "x.toml")
        assert outcome.code == 0, outcome.err
        assert ("keep it safe and apart" in outcome.out) == (number == 1)
    assert reissue("init", "1.csv", "--out", "y.toml").code == 0
    assert ", assumed." in (tmp_path / "y.toml").read_text()


def test_before_the_first_release_a_policy_may_still_change(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema({**JUDGED, "limits": {"updates": 0.01}}).dumps())
    assert reissue("publish", "1.csv", *WORK, "--schema", "schema.toml").code == 1
    (tmp_path / "schema.toml").write_text(schema(POOL).dumps())
    outcome = reissue("publish", "1.csv", *WORK, "--schema", "schema.toml")
    assert outcome.code == 0, outcome.err


def test_what_should_be_known_before_it_goes_out_is_said_everywhere(reissue: Reissue, tmp_path: Path) -> None:
    """Exact quasi-identifiers, and releases that are never compared."""
    exact = {"require": "simple-l=2", "method": "anatomy", "attacks": [], "alone": True}
    (tmp_path / "schema.toml").write_text(schema(exact).dumps())
    sentences = ("Quasi-identifiers are exact: this shows who is in the table.", "nobody ever holds two releases")
    first = reissue("publish", "1.csv", *WORK, "--schema", "schema.toml", "--report", "page.html")
    assert first.code == 0, first.err
    second = reissue("publish", "2.csv", *WORK, "--json", "--out", "second.csv")
    shown = reissue("ledger", "show", "x.ledger", "2").out
    page = (tmp_path / "page.html").read_text()
    for sentence in sentences:
        assert all(sentence in text for text in (first.out, shown, page, " ".join(second.json["warnings"])))
    assert sentences[0] in reissue("check", "second.csv", "--schema", "schema.toml").out
    assert "earlier releases" not in first.out


def test_the_very_same_command_again_says_so_and_changes_nothing(reissue: Reissue, tmp_path: Path) -> None:
    command = ("publish", "1.csv", *WORK, "--schema", "schema.toml", "--date", "2026-01-31")
    with_pages = (*command, "--out", "out.csv", "--report", "page.html", "--record", "page.json")
    assert reissue(*with_pages).code == 0
    assert {"page.html", "page.json", "page.record.html"} <= set(files(tmp_path))
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path) if (tmp_path / name).is_file()}
    outcome = reissue(*with_pages)
    assert outcome.code == 0, outcome.err
    assert "it is the same release, not another one" in outcome.out
    assert "There already, and left as it is: out.csv" in outcome.out
    shown = reissue(*with_pages, "--json").json
    assert (shown["again"], shown["files"]) == (True, ["out.csv"])
    assert before == {name: (tmp_path / name).read_bytes() for name in files(tmp_path) if (tmp_path / name).is_file()}


def test_another_file_at_the_place_of_a_release_is_not_replaced(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("publish", "1.csv", *WORK, "--schema", "schema.toml", "--out", "out.csv").code == 0
    (tmp_path / "other.csv").write_text("something else\n")
    for data, out in (("1.csv", "other.csv"), ("2.csv", "other.csv"), ("2.csv", "out.csv")):
        held = (tmp_path / out).read_bytes()
        outcome = reissue("publish", data, *WORK, "--out", out)
        assert (outcome.code, "exists already" in outcome.err) == (2, True), outcome.err
        assert (tmp_path / out).read_bytes() == held
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert len(ledger.releases) == 1
