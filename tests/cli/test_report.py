"""`--report`: a page beside the terminal's words."""

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Reissue, files
from tests.ledger.series import INVARIANCE, JUDGED, MONTHS, POOL, schema
from tests.papers.test_correspondence import R1, R2, SCHEMA

PAPER = ("attack", "r1.csv", "r2.csv", "--schema", "paper.toml", "--only", "correspondence")


@pytest.fixture
def paper(tmp_path: Path) -> None:
    R1.write_csv(tmp_path / "r1.csv")
    R2.write_csv(tmp_path / "r2.csv")
    (tmp_path / "paper.toml").write_text(SCHEMA.dumps(), encoding="utf-8")


@pytest.fixture
def months(tmp_path: Path) -> None:
    for number, month in enumerate(MONTHS, start=1):
        month.write_csv(tmp_path / f"{number}.csv")


@pytest.mark.usefixtures("paper")
def test_an_attack_writes_a_report(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue(*PAPER, "--report", "out.html")
    assert outcome.code == 1
    assert "Written: out.html" in outcome.out
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "exposed by these 2 releases together" in page
    assert "r1.csv" in page
    assert "Step by step" in page


@pytest.mark.usefixtures("paper")
def test_an_existing_file_is_kept(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "out.html").write_text("mine")
    outcome = reissue(*PAPER, "--report", "out.html")
    assert outcome.code == 2
    assert (tmp_path / "out.html").read_text() == "mine"
    assert reissue(*PAPER, "--report", "out.html", "--force").code == 1
    assert (tmp_path / "out.html").read_text() != "mine"


@pytest.mark.usefixtures("paper")
def test_the_json_with_a_report_has_the_timeline(reissue: Reissue) -> None:
    told = reissue(*PAPER, "--report", "out.html", "--json").json
    assert [point["release"] for point in told["timeline"]["correspondence"]] == [2]
    assert [one["name"] for one in told["releases"]] == ["r1.csv", "r2.csv"]


def test_with_originals_the_report_tells_what_was_lost(reissue: Reissue, tmp_path: Path) -> None:
    originals = tmp_path / "originals"
    originals.mkdir()
    (tmp_path / "schema.toml").write_text(schema(POOL).dumps())
    for number, month in enumerate(MONTHS[:2], start=1):
        month.write_csv(originals / f"{number}.csv")
        made = reissue(
            "anonymize", f"originals/{number}.csv", "-s", "schema.toml", "--require", "k=3", "-o", f"{number}.csv"
        )
        assert made.code == 0, made.err
    attack = ("attack", "1.csv", "2.csv", "-s", "schema.toml", "--only", "correspondence", "--report", "out.html")
    assert reissue(*attack, "--originals", "originals").code in {0, 1, 3}
    assert "of what the tables said" in (tmp_path / "out.html").read_text(encoding="utf-8")
    refused = reissue(*attack, "--force", "--originals", "1.csv")
    assert refused.code == 2
    pl.read_csv(originals / "1.csv").write_csv(originals / "3.csv")
    refused = reissue(*attack, "--force", "--originals", "originals")
    assert refused.code == 2
    assert "2 releases and 3 original tables" in refused.err


@pytest.mark.usefixtures("months")
def test_publish_writes_a_page_for_what_went_out(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema(INVARIANCE).dumps())
    outcome = reissue("publish", "1.csv", "--ledger", "x.ledger", "-s", "schema.toml", "--report", "out.html")
    assert outcome.code == 0, outcome.err
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Release 1, attacked together with all earlier ones" in page
    assert "of what the tables said" in page


@pytest.mark.usefixtures("months")
def test_a_refusal_can_be_a_page(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema(JUDGED).dumps())
    assert reissue("publish", "1.csv", "--ledger", "x.ledger", "-s", "schema.toml").code == 0
    before = files(tmp_path)
    outcome = reissue("publish", "2.csv", "--ledger", "x.ledger", "--report", "why.html")
    assert outcome.code == 1
    assert {name for name in files(tmp_path) if not name.startswith("x.ledger")} - before == {"why.html"}
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "Release 2 was refused" in page
    assert '<h2 id="why">Why' in page
    assert "What to do" in page
