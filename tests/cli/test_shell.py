"""compare, explain, completion: what helps at the prompt."""

import os
import subprocess
import sys

import polars as pl
import pytest

from reissue import attacks
from reissue.attacks.findings import Status
from reissue.cli.commands.about.explain import glossary
from reissue.methods import registered
from reissue.requirements import registered as requirements
from reissue.schema import Role
from tests.cli.conftest import Reissue


def test_compare_shows_loss_by_method_and_k(reissue: Reissue, hospital: pl.DataFrame) -> None:
    outcome = reissue(
        "compare-settings", "patients.csv", "-s", "schema.toml", "--method", "pool", "--method", "mondrian"
    )
    assert outcome.code == 0, outcome.err
    assert "k=50" in outcome.out
    assert "█" in outcome.out
    answer = reissue(
        "compare-settings", "patients.csv", "-s", "schema.toml", "--method", "pool", "-r", "l=2", "--json"
    ).json
    losses = [answer["loss"]["pool"][str(k)] for k in (2, 3, 5, 10, 20, 50)]
    assert losses == sorted(losses)
    assert 0 < losses[0] < losses[-1] <= 1


def test_compare_says_what_cannot_be_met_and_what_was_not_tried(reissue: Reissue, hospital: pl.DataFrame) -> None:
    hospital.head(12).write_csv("few.csv")
    answer = reissue("compare-settings", "few.csv", "-s", "schema.toml", "--method", "pool", "--json").json
    assert answer["loss"]["pool"]["50"] is None
    outcome = reissue(
        "compare-settings", "patients.csv", "-s", "schema.toml", "--method", "pool", "--budget", "0.0001s"
    )
    assert "Not tried, for time was over" in outcome.out
    assert reissue("compare-settings", "patients.csv", "-s", "schema.toml", "--method", "zebra").code == 2


@pytest.mark.parametrize("word", ["m-unique", "joint", "pool", "quasi-identifier", "k=5", "Counterfeit", "withstood"])
def test_explain(reissue: Reissue, word: str) -> None:
    outcome = reissue("explain", word)
    assert outcome.code == 0, outcome.err
    assert len(outcome.out) > 20


def test_every_word_that_screens_show_is_explained(reissue: Reissue) -> None:
    shown = [*Role, *registered(), *attacks.registered(), *requirements(), *Status, "wave", "ledger", "policy", "k^m"]
    shown += ["discernibility", "prosecutor", "marketer", "group", "information loss", "counterfeits", "taxonomy"]
    for word in shown:
        outcome = reissue("explain", str(word).replace("_", " "))
        assert outcome.code == 0, word
        assert "](" not in outcome.out
    every = reissue("explain", "--json").json["words"]
    assert {"joint", "pool", "k", "group"} <= set(every)
    assert "`reissue explain` without a word" in reissue("explain", "qwertz").err


def test_explain_what_nobody_knows(reissue: Reissue) -> None:
    outcome = reissue("explain", "counterfiet")
    assert outcome.code == 2
    assert "Did you mean 'counterfeit'?" in outcome.err
    assert reissue("explain", "joint", "--json").json["word"] == "joint"
    assert not set(glossary()) & set(registered()) - {"providers", "cohorts", "microaggregation"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(reissue: Reissue, shell: str) -> None:
    outcome = reissue("completion", shell)
    assert outcome.code == 0, outcome.err
    assert "_REISSUE_COMPLETE" in outcome.out
    assert reissue("completion", "tcsh").code == 2


def test_a_shell_completes_commands() -> None:
    asked = {"_REISSUE_COMPLETE": "complete_bash", "COMP_WORDS": "reissue anon", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "reissue"], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["anonymize"]
