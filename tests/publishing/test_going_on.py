"""Every policy that `plan` and `init` write publishes at least as many further waves as they saw."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.cli._app import run
from reissue.ledger import Ledger
from reissue.policy import Policy
from reissue.publishing.plan import begin_series, plan, policy_toml, with_policy
from reissue.publishing.publish import publish_next
from reissue.schema import Schema
from tests.publishing.populations import POPULATIONS, SCHEMA

SOME = ("people come and go, values stay",)
"""The others are among the slow tests."""


def published(place: Path, schema: Schema, name: str, people: int, waves: int, seed: int) -> int:
    """How many waves of a population go out."""
    with Ledger.create(place / "x.ledger", schema) as ledger:
        for frame in POPULATIONS[name].waves(people, waves, seed):
            publish_next(frame, ledger)
        return len(ledger.releases)


def goes_on(place: Path, name: str, people: int, waves: int, seed: int) -> None:
    made = plan(POPULATIONS[name].waves(people, waves, seed), SCHEMA)
    text = policy_toml(made)
    assert text is not None, made.sentences
    schema = Schema.loads(with_policy(SCHEMA.dumps(), text, force=False, updates=bool(made.updates)))
    assert published(place, schema, name, people, 2 * waves, seed) == 2 * waves


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOME else pytest.mark.slow) for name in POPULATIONS]
)
def test_a_planned_policy_publishes_as_many_waves_again(tmp_path: Path, name: str) -> None:
    goes_on(tmp_path, name, people=150, waves=3, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_a_planned_policy_publishes_as_many_waves_again_of_more_people(tmp_path: Path, name: str) -> None:
    goes_on(tmp_path, name, people=400, waves=3, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["both, a little"])
def test_a_policy_from_one_wave_publishes_a_second(tmp_path: Path, name: str) -> None:
    first = POPULATIONS[name].waves(150, 1, 0)[0]
    first.write_csv(tmp_path / "first.csv")
    made = begin_series([tmp_path / "first.csv"], title="A schema", sensitive=["ill"])
    assert made.plan is not None
    assert made.plan.guess
    assert any("When the second is" in line for line in made.advice)
    assert published(tmp_path, Schema.loads(made.text), name, 150, 2, 0) == 2


SKEWED = {
    "most have the same": [0.6, 0.2, 0.1, 0.1],
    "two values": [0.72, 0.28],
    "nearly all have the same": [0.95, 0.03, 0.02],
    "no sensitive column": [],
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", SKEWED)
def test_what_init_writes_goes_on_though_nearly_nothing_can_be_hidden(tmp_path: Path, name: str, named: bool) -> None:
    """Three waves of people who come and go: with the sensitive column named a plan on them, without it answers."""
    rng, shares, waves = np.random.default_rng(0), SKEWED[name], []
    for frame in POPULATIONS["both, a little"].waves(150, 3, 0):
        drawn = pl.Series(rng.choice(len(shares), frame.height, p=shares)) if shares else None
        waves.append(frame.drop("ill") if drawn is None else frame.with_columns(diagnosis="v" + drawn.cast(pl.String)))
        waves[-1] = waves[-1].drop("ill", strict=False).rename({"p": "person_id"})
    if named and shares:
        schema = Schema.loads(begin_series(waves, title="A schema", sensitive=["diagnosis"]).text)
    else:
        schema = ri.propose(waves[0]).schema
    with Ledger.create(tmp_path / "x.ledger", schema) as ledger:
        for frame in waves:
            publish_next(frame, ledger)
        assert len(ledger.releases) == 3


def test_answers_are_for_one_table_and_are_not_passed_over(tmp_path: Path) -> None:
    """A plan on simulated waves gives way to answers; of several waves nobody is asked."""
    for number, frame in enumerate(POPULATIONS["both, a little"].waves(150, 2, 0)):
        frame.write_csv(tmp_path / f"{number}.csv")
    files, out = [str(tmp_path / f"{number}.csv") for number in (0, 1)], str(tmp_path / "schema.toml")
    easy = ["--sensitive", "ill", "--answer", "removed=no", "--answer", "changes=no", "--out", out]
    assert run(["init", files[0], *easy]) == 0
    assert Policy.of(Schema.read(out)).method == "correspondence"
    assert run(["init", *files, *easy, "--force"]) == 2
