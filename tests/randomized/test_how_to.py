"""The how-to for analysts: its SQL and pandas give what `ri.estimate` gives."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

import reissue as ri
from reissue import synth

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "analyse-randomized.md"
HEART = "disease[angina|heart attack|hypertension|heart failure]"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_sql_and_pandas_give_what_reissue_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    patients = next(synth.Population(seed=3, people=2_000).months(1))
    ri.anonymize(patients, synth.schema(), "k=5", values="randomized", seed=1).write("release.csv")
    found = ri.estimate("release.csv", "release.side.csv", counts=["disease"], models=[f"{HEART} ~ age"])
    with duckdb.connect() as database:
        counted = {name: (people, error) for name, people, error in database.execute(block("sql")).fetchall()}
    for line in found.analyses[0].lines:
        assert counted[line.name] == pytest.approx((line.value, line.error))
    told: dict[str, Any] = {}
    exec(block("python"), told)  # noqa: S102
    lines = found.analyses[1].lines
    # Reissue takes the mean of the others for an age of `*`; the how-to leaves those rows out.
    assert told["slope"] == pytest.approx([line.value for line in lines], rel=0.1)
    assert told["error"] == pytest.approx([line.error for line in lines], rel=0.1)
