"""Visits with several rows a person: from a CSV file to a checked release by the command line alone."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue import synth
from tests.cli.conftest import Reissue, reissue

__all__ = ["reissue"]

QUASI = ("age", "zip", "sex")
VISITS = pl.concat(synth.Population(seed=8, people=400).months(3)).drop("hospital", "job")
ASKED = "k=5 & confidence=0.6"


@pytest.fixture
def visits(tmp_path: Path) -> None:
    """visits.csv, as the hospital has it."""
    VISITS.write_csv(tmp_path / "visits.csv")


def truth(frame: pl.DataFrame) -> tuple[int, float]:
    """The fewest people of a group, and the largest share of a group's people who have one value."""
    groups: dict[Any, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in frame.iter_rows(named=True):
        groups[tuple(row[name] for name in QUASI)][row["patient"]].add(row["disease"])
    shares = [
        sum(value in own for own in people.values()) / len(people)
        for people in groups.values()
        for value in set().union(*people.values())
    ]
    return min(map(len, groups.values())), max(shares)


@pytest.mark.usefixtures("visits")
@pytest.mark.parametrize("method", ["pool", "mondrian", "topdown", "incognito"])
def test_the_verdict_on_a_release_is_the_truth(reissue: Reissue, tmp_path: Path, method: str) -> None:
    assert reissue("init", "visits.csv", "--sensitive", "disease", "--out", "visits.toml").code == 0
    work = ("anonymize", "visits.csv", "-s", "visits.toml", "-r", ASKED, "--suppress", "0.1", "--method", method)
    made = reissue(*work, "--out", "release.csv", "--private", "private.csv")
    assert made.code == 0, made.err
    assert "different people" in made.out

    copy = pl.read_csv(tmp_path / "private.csv", infer_schema=False)
    people, share = truth(copy)
    assert people >= 5
    assert share <= 0.6
    published = pl.read_csv(tmp_path / "release.csv", infer_schema=False)
    assert published.equals(copy.drop("patient"))

    found = reissue("check", "private.csv", "-s", "visits.toml", "-r", ASKED, "--json").json
    measured = {one["name"]: one["value"] for one in found["measures"]}
    assert found["met"]
    assert (measured["k"], measured["confidence"]) == (people, pytest.approx(share))
    assert found["people"] == copy["patient"].n_unique()
    assert reissue("check", "private.csv", "-s", "visits.toml", "-r", f"k={people + 1}").code == 1


@pytest.mark.usefixtures("visits")
def test_no_policy_is_proposed_that_would_be_refused(reissue: Reissue, tmp_path: Path) -> None:
    made = reissue("init", "visits.csv", "--out", "visits.toml", "--answer", "removed=no", "--answer", "changes=yes")
    assert made.code == 0, made.err
    assert "[policy]" not in (tmp_path / "visits.toml").read_text()
    assert "no policy was proposed" in " ".join(made.out.split())


@pytest.mark.usefixtures("visits")
def test_counting_rows_would_have_been_wrong(reissue: Reissue, tmp_path: Path) -> None:
    """A release that is 5-anonymous by rows has smaller groups of people, and the check by people says so."""
    reissue("init", "visits.csv", "--sensitive", "disease", "--out", "visits.toml")
    text = (tmp_path / "visits.toml").read_text()
    rows = text.replace("[person]\nseveral_rows = true", "").replace('patient = "identifier"', 'patient = "keep"')
    (tmp_path / "rows.toml").write_text(rows)
    assert reissue("anonymize", "visits.csv", "-s", "rows.toml", "-r", "k=5", "--out", "rows.csv").code == 0
    assert reissue("check", "rows.csv", "-s", "rows.toml", "-r", "k=5").code == 0
    found = reissue("check", "rows.csv", "-s", "visits.toml", "-r", "k=5", "--json")
    people, _ = truth(pl.read_csv(tmp_path / "rows.csv", infer_schema=False))
    assert people < 5
    assert found.code == 1
    assert {one["name"]: one["value"] for one in found.json["measures"]}["k"] == people


@pytest.mark.usefixtures("visits")
def test_what_cannot_be_done_is_said_before_anything_is_written(reissue: Reissue, tmp_path: Path) -> None:
    reissue("init", "visits.csv", "--sensitive", "disease", "--out", "visits.toml")
    with_policy = (tmp_path / "visits.toml").read_text() + '\n[policy]\nrequire = "k=5"\n'
    (tmp_path / "policy.toml").write_text(with_policy)
    before = set(tmp_path.iterdir())
    for work in (
        ("anonymize", "visits.csv", "-s", "visits.toml", "-r", "k=5 & l=2", "--method", "anatomy"),
        ("anonymize", "visits.csv", "-s", "visits.toml", "--m", "2", "--method", "invariance", "--memory", "m.bin"),
        ("publish", "visits.csv", "-s", "policy.toml", "--ledger", "x.ledger"),
        ("plan", "visits.csv", "visits.csv", "-s", "visits.toml"),
    ):
        outcome = reissue(*work)
        assert (outcome.code, "one row per person" in outcome.err) == (2, True), outcome.err
        assert set(tmp_path.iterdir()) == before
    refused = reissue("anonymize", "visits.csv", "-s", "visits.toml", "-r", "t=0.3")
    assert (refused.code, "not defined where people have several rows" in refused.err) == (2, True)
    quick = ("--option", "effort=fast")  # whose groups expose somebody
    reissue("anonymize", "visits.csv", "-s", "visits.toml", "-r", "k=5", *quick, "--seed", "1", "--out", "release.csv")
    blind = reissue("check", "release.csv", "-s", "visits.toml", "-r", "k=5")
    assert (blind.code, "may all be one person's" in blind.err) == (2, True)
    assert reissue("attack", "release.csv", "-s", "visits.toml", "--only", "composition").code == 3
    found = reissue("attack", "release.csv", "release.csv", "-s", "visits.toml")
    assert (found.code, "nothing says whose they are: records were counted" in " ".join(found.out.split())) == (1, True)
