"""`reissue init` at a real terminal: the questions are asked there, and the answers lead to the policy."""

from pathlib import Path

import pytest

from reissue.proposing import ASSUMED, QUESTIONS
from reissue.schema import Schema
from tests.cli.terminal import Terminal


@pytest.mark.usefixtures("hospital")
@pytest.mark.parametrize(
    ("answers", "method"),
    [
        ({"removed": "y", "changes": "n", "providers": "n", "known": "n"}, "equivalence"),
        ({"removed": "y", "changes": "y", "providers": "n", "known": "n"}, "cohorts"),
    ],
)
def test_the_questions_are_asked_and_answered(tmp_path: Path, answers: dict[str, str], method: str) -> None:
    with Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml") as terminal:
        for asked in ("correct for it?", "their values change?"):
            terminal.wait_for(asked)
            terminal.wait_for("[Y/n]")
            terminal.type("n")
        for name, question in QUESTIONS.items():
            if name == "untrue":
                continue
            terminal.wait_for(question.split()[-1])
            terminal.wait_for("[Y/n]" if ASSUMED[name] else "[y/N]")
            terminal.type(answers[name])
        assert terminal.end() == 0, terminal.shown
    for question in QUESTIONS.values():
        assert " ".join(question.split()) in " ".join(terminal.shown.split())
    assert "follows from your answers" in terminal.shown
    assert Schema.load(tmp_path / "guess.toml").policy["method"] == method


@pytest.mark.usefixtures("hospital")
def test_what_was_answered_is_not_asked_and_nonsense_is_asked_again(tmp_path: Path) -> None:
    first, *others = QUESTIONS
    with Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml", "--answer", f"{first}=no") as terminal:
        for line in ["perhaps", *("n" for _ in others)]:
            terminal.wait_for("]:")
            terminal.type(line)
        assert terminal.end() == 0, terminal.shown
    assert QUESTIONS[first] not in " ".join(terminal.shown.split())
    assert "invalid" in terminal.shown
    assert "[policy]" in (tmp_path / "guess.toml").read_text()


@pytest.mark.usefixtures("hospital")
def test_one_question_is_enough(tmp_path: Path) -> None:
    with Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml") as terminal:
        terminal.wait_for("[Y/n]")
        terminal.type("")
        assert terminal.end() == 0, terminal.shown
    assert terminal.shown.count("]:") == 1
    assert "takes the harder case" in terminal.shown
    policy = Schema.load(tmp_path / "guess.toml").policy
    assert (policy["method"], policy["values"]) == ("pool", "randomized")


@pytest.mark.usefixtures("hospital")
def test_who_gives_up_leaves_nothing(tmp_path: Path) -> None:
    with Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml") as terminal:
        terminal.wait_for("[Y/n]")
        terminal.type("\x04", end="")  # the end of what is typed
        assert terminal.end() != 0
    assert not (tmp_path / "guess.toml").exists()
    assert "Traceback" not in terminal.shown
