"""The demo, played once: what it finds, what it writes, what it refuses, how it is told."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from reissue import demo
from reissue.demo import _clear
from reissue.ledger import Ledger
from reissue.ledger.head import SecondHeads
from reissue.ledger.store import address_of
from reissue.schema import Schema
from tests.cli.conftest import Reissue, files
from tests.pages import ROOT, blocks, shell, words


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> demo.Story:
    """Both acts, over what is left of an earlier demo."""
    out = tmp_path_factory.mktemp("demo") / "out"
    (out / "ledger").mkdir(parents=True)
    (out / "README.txt").write_text("Written by `reissue demo`: an older one.")
    (out / "ledger" / "stale").write_text("")
    (out / "notes.txt").write_text("mine")
    shares: list[float] = []
    played = demo.play(out, force=True, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    return played


def test_act_one_exposes_hundreds_and_act_two_nobody(story: demo.Story) -> None:
    one, two = story.one.findings, story.two.findings
    assert one["joint"].people > one["updates"].people
    assert one["joint"].details["right"] > 0.95 * one["joint"].people
    assert one["joint"].details["case"]["picture"]["kind"] == "equations"
    assert one["updates"].people > 500
    assert one["updates"].details["certain"] > 100
    found = two[demo.JUDGE]
    assert [one.attack for one in two] == [demo.JUDGE]
    assert len(two.timeline[demo.JUDGE]) == demo.MONTHS
    assert (found.status, found.people) == ("withstood", 0)
    assert found.worst is not None
    assert found.worst <= demo.LIMIT
    assert {one["name"] for one in found.details["adversaries"]} == {"people alike", "departure rates"}
    assert story.cohorts_found.details["knowledge"] == story.theirs_found.details["knowledge"] == "groups"


def test_an_adversary_with_the_original_months_is_right_as_often_as_the_policy_says(story: demo.Story) -> None:
    """The guess of whoever takes published diseases for true is right for as many people as values are true."""
    for release in story.two.releases:
        assert release.drawn is not None
        true = (release.drawn.true == release.drawn.published).mean()
        assert 0.4 < true <= demo.LIMIT


def test_every_month_of_act_one_meets_what_it_says_by_itself(story: demo.Story) -> None:
    from reissue import check

    schema = Schema.load(story.out / "schema.toml")
    for path in sorted(story.one.folder.glob("month-??.csv")):
        assert check(path, schema, demo.REQUIREMENT).met


def test_what_it_cost_is_measured_in_both_acts(story: demo.Story) -> None:
    one, two = story.one.cost, story.two.cost
    shown = sum(release.table.rows - release.suppressed for release in story.two.releases)
    assert one["rows"] == two["rows"] == shown + two["suppressed"]
    assert one["counterfeits"] == two["counterfeits"] == 0
    assert one["suppressed"] == two["suppressed"] == 0
    assert 0 < one["query_error"] < two["query_error"] < 0.07


def test_true_values_cost_more_and_the_papers_method_gives_more_away(story: demo.Story) -> None:
    two, cohorts, theirs = story.two.cost, demo.cost_of(story.cohorts), demo.cost_of(story.theirs)
    assert two["query_error"] < cohorts["query_error"] < theirs["query_error"]
    assert two["counterfeits"] < cohorts["counterfeits"] < theirs["counterfeits"]
    assert not story.cohorts_found.people
    assert story.theirs_found.people > 500


def test_everything_is_written(story: demo.Story) -> None:
    months = {f"month-{number:02d}.csv" for number in range(1, demo.MONTHS + 1)}
    for folder in ("original", "who", "act-one", "act-two"):
        assert months <= files(story.out / folder)
    who = pl.read_csv(story.out / "who" / "month-01.csv")
    assert who.columns == ["patient", "age", "zip", "sex", "job"]
    assert Schema.load(story.out / "schema.toml").sensitive == ("disease",)
    for act in (story.one, story.two):
        assert "<title>" in act.report.read_text(encoding="utf-8")
    assert (story.out / "notes.txt").read_text() == "mine"
    assert not (story.out / "ledger" / "stale").exists()
    with Ledger.open(story.out / "ledger") as ledger:
        assert len(ledger.releases) == demo.MONTHS
        assert not ledger.verify()
        assert ledger.policy.method == demo.POLICY["method"]
        assert not ledger.differs(Schema.load(story.out / "ledger.toml"))


def test_it_is_told_in_words_and_in_json(story: demo.Story, reissue: Reissue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "play", lambda *_, **__: story)  # the story is the real one: it need not be played again
    outcome = reissue("demo")
    assert outcome.code == 0, outcome.err
    found = story.one.findings["updates"]
    text = " ".join(outcome.out.split())
    assert f"{found.people:,} of {found.population:,} people" in text
    assert "ACT ONE" in text
    assert "ACT TWO" in text
    assert "mechanism: not tried" in text
    for finding in story.two.findings:
        assert finding.sentence in text
    answer = reissue("demo", "--json").json
    assert answer["act_one"]["verdict"] == "exposed"
    assert answer["act_two"]["verdict"] == "withstood"
    assert answer["act_two"]["cost"]["counterfeits"] == story.two.cost["counterfeits"]
    assert answer["left_out"].keys() == demo.LEFT_OUT.keys()


def test_the_readme_s_command_finds_the_same_with_the_files_alone(
    story: demo.Story, reissue: Reissue, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = (story.out / "README.txt").read_text().splitlines()[-1]
    monkeypatch.chdir(story.out)
    months = [str(path.relative_to(story.out)) for path in sorted((story.out / "act-one").glob("*.csv"))]
    words = [word for word in line.split()[1:] if word != "act-one/*.csv"]
    outcome = reissue(words[0], *months, *words[1:], "--only", "updates", "--json")
    assert outcome.code == 1
    (found,) = outcome.json["findings"]
    assert found["population"] == story.people
    assert found["people"] > 500
    assert 100 < max(found["details"]["certains"]) <= story.one.findings["updates"].details["certain"]


@pytest.mark.slow
def test_the_tutorials_commands_run_and_print_what_the_pages_show(story: demo.Story, tmp_path: Path) -> None:
    """Every tutorial with commands begins with the demo, which was played."""
    pages = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
    for page in [one for one in pages if "```sh" in one.read_text(encoding="utf-8")]:
        commands = "\n".join(blocks(page, "sh"))
        assert commands.startswith("reissue demo --out demo-out\n")
        folder = tmp_path / page.stem
        folder.mkdir()
        shutil.copytree(story.out, folder / "demo-out")
        printed = words(shell(commands.partition("\n")[2], folder))
        for line in "".join(blocks(page, "text")).splitlines():
            assert words(line) in printed, line
    assert (tmp_path / "first-release" / "release.csv").is_file()
    assert (tmp_path / "first-audit" / "audit.html").is_file()


def test_it_replaces_nothing_that_is_not_its_own(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.txt").write_text("my own")
    before = files(tmp_path)
    without, forced = reissue("demo", "--out", "mine"), reissue("demo", "--out", "mine", "--force")
    assert without.code == forced.code == 2
    assert "--force" in without.err
    assert "other files than a demo's" in " ".join(forced.err.split())
    (tmp_path / "file").write_text("")
    assert reissue("demo", "--out", "file", "--force").code == 2
    assert files(tmp_path) == before | {"file"}


def test_what_is_left_of_an_earlier_ledger_does_not_stop_the_demo(tmp_path: Path) -> None:
    """The second head of the earlier demo's ledger, in the user's folder for state, is forgotten with it."""
    heads = SecondHeads.of(address_of(tmp_path / "out" / "ledger"))
    assert heads is not None
    mine, other = heads.own("a" * 16), heads.folder / "b-c.head"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("")
    other.write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "README.txt").write_text("Written by `reissue demo`: an older one.")
    _clear(tmp_path / "out", force=True)
    assert not mine.exists()
    assert other.exists()
