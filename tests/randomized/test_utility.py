"""`utility` reads randomized releases: true values beside published ones and what these are corrected to."""

from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue import synth
from reissue.cli._app import run

PATIENTS = next(synth.Population(seed=3, people=2_000).months(1))
HEART = "disease[hypertension] ~ age"


@pytest.fixture(scope="module")
def release() -> ri.Release:
    return ri.anonymize(PATIENTS, synth.schema(), "k=5", values="randomized", seed=1)


def test_a_release_is_measured_against_true_values_by_estimates(release: ri.Release) -> None:
    exact = ri.measure(ri.anonymize(PATIENTS, synth.schema(), "k=5", seed=1), queries=300, seed=1)
    found = ri.measure(release, queries=300, seed=1, models=[HEART], means=["disease[hypertension] ~ sex"])
    assert exact.queries is not None
    assert found.queries is not None
    assert exact.queries.median < found.queries.median < 0.15
    for one in (*found.models, *found.means):
        for line in one.lines:
            assert line.true is not None
            assert line.estimated is not None
            assert line.estimated.low < line.true.value < line.estimated.high


def test_files_say_the_same_as_the_release(
    release: ri.Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release.write(tmp_path / "out.csv")
    found = ri.measure(PATIENTS, tmp_path / "out.csv", synth.schema(), queries=300, seed=1, models=[HEART])
    direct = ri.measure(release, queries=300, seed=1, models=[HEART])
    assert found.queries == direct.queries
    lines = zip(found.models[0].lines, direct.models[0].lines, strict=True)
    for one, other in lines:
        assert one.estimated is not None
        assert other.estimated is not None
        assert one.estimated.value == pytest.approx(other.estimated.value)
    estimated = ri.estimate(tmp_path / "out.csv", tmp_path / "out.side.csv", models=[HEART]).analyses[0].lines[1]
    again = found.models[0].lines[1].estimated
    assert again is not None
    assert np.sign(estimated.value) == np.sign(again.value)
    PATIENTS.write_csv(tmp_path / "patients.csv")
    (tmp_path / "s.toml").write_text(synth.schema().dumps())
    files = [str(tmp_path / name) for name in ("patients.csv", "out.csv", "s.toml")]
    assert run(["utility", *files[:2], "--schema", files[2], "--queries", "50", "--model", HEART]) == 0
    assert "estimated" in capsys.readouterr().out
