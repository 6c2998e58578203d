"""`reissue init` at a real terminal: the questions are asked there, and the answers lead to the policy."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pytest

from reissue.proposing import ASSUMED, QUESTIONS
from reissue.schema import Schema

_PATIENCE = 60


class _Terminal:
    """A command at a pseudo-terminal: what it shows, and what is typed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._mine, its = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200", "NO_COLOR": "1"}
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", "from reissue.cli import main; main()", *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=folder,
            env=environment,
            close_fds=True,
        )
        os.close(its)
        self.shown = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._mine)

    def wait_for(self, text: str) -> None:
        """Read until a text is shown, after the last one that was waited for."""
        until = time.monotonic() + _PATIENCE
        while text not in self.shown[self._read_to :]:
            assert self._read(until), f"'{text}' was never shown, but: {self.shown}"
        self._read_to = self.shown.index(text, self._read_to) + len(text)

    def type(self, line: str, end: str = "\n") -> None:
        """What somebody types."""
        os.write(self._mine, f"{line}{end}".encode())

    def end(self) -> int:
        """Read all that is left; the exit code."""
        until = time.monotonic() + _PATIENCE
        while self._read(until):
            pass
        return self.process.wait(_PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._mine], [], [], max(until - time.monotonic(), 0))
        try:
            read = os.read(self._mine, 4096) if ready else b""
        except OSError:  # the other side is closed
            return False
        self.shown += read.decode(errors="replace")
        return bool(read)


@pytest.mark.usefixtures("hospital")
@pytest.mark.parametrize(
    ("answers", "method"),
    [
        ({"removed": "y", "changes": "n", "providers": "n", "known": "n"}, "equivalence"),
        ({"removed": "y", "changes": "y", "providers": "n", "known": "n"}, "cohorts"),
    ],
)
def test_the_questions_are_asked_and_answered(tmp_path: Path, answers: dict[str, str], method: str) -> None:
    with _Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml") as terminal:
        terminal.wait_for("again and again?")
        terminal.wait_for("[y/N]")
        terminal.type("y")
        for name, question in QUESTIONS.items():
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
    with _Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml", "--answer", f"{first}=no") as terminal:
        for line in ["perhaps", *("n" for _ in others)]:
            terminal.wait_for("]:")
            terminal.type(line)
        assert terminal.end() == 0, terminal.shown
    assert QUESTIONS[first] not in " ".join(terminal.shown.split())
    assert "invalid" in terminal.shown
    assert "[policy]" in (tmp_path / "guess.toml").read_text()


@pytest.mark.usefixtures("hospital")
def test_one_question_is_enough(tmp_path: Path) -> None:
    with _Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml") as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("")
        assert terminal.end() == 0, terminal.shown
    assert terminal.shown.count("]:") == 1
    assert "takes the harder case" in terminal.shown
    assert Schema.load(tmp_path / "guess.toml").policy["method"] == "cohorts"


@pytest.mark.usefixtures("hospital")
def test_who_gives_up_leaves_nothing(tmp_path: Path) -> None:
    with _Terminal(tmp_path, "init", "patients.csv", "--out", "guess.toml") as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("\x04", end="")  # the end of what is typed
        assert terminal.end() != 0
    assert not (tmp_path / "guess.toml").exists()
    assert "Traceback" not in terminal.shown
