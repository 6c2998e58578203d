import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue import synth
from reissue.cli._app import run

PATIENTS = next(synth.Population(seed=5, people=600).months(1))


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Reissue = Callable[..., Outcome]


@pytest.fixture
def reissue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Reissue:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(arguments)
        written = capsys.readouterr()
        return Outcome(code, written.out, written.err)

    return call


@pytest.fixture
def hospital(tmp_path: Path) -> pl.DataFrame:
    """patients.csv and schema.toml in the folder."""
    PATIENTS.write_csv(tmp_path / "patients.csv")
    (tmp_path / "schema.toml").write_text(synth.schema().dumps(), encoding="utf-8")
    return PATIENTS


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
