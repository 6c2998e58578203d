"""Every policy that `plan` and `init` write publishes at least as many further waves as they saw."""

from pathlib import Path

import pytest

from reissue.ledger import Ledger
from reissue.publishing.plan import plan
from reissue.publishing.plan.beginning import begin_series
from reissue.publishing.plan.policy_text import policy_toml, with_policy
from reissue.publishing.publish import publish_next
from reissue.schema import Schema
from tests.publishing.populations import POPULATIONS, SCHEMA


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


@pytest.mark.parametrize("name", POPULATIONS)
def test_a_planned_policy_publishes_as_many_waves_again(tmp_path: Path, name: str) -> None:
    goes_on(tmp_path, name, people=150, waves=3, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_a_planned_policy_publishes_as_many_waves_again_of_more_people(tmp_path: Path, name: str) -> None:
    goes_on(tmp_path, name, people=400, waves=3, seed=0)


@pytest.mark.parametrize("name", ["both, a little"])
def test_a_policy_from_one_wave_publishes_a_second(tmp_path: Path, name: str) -> None:
    first = POPULATIONS[name].waves(150, 1, 0)[0]
    first.write_csv(tmp_path / "first.csv")
    made = begin_series([tmp_path / "first.csv"], title="A schema", sensitive=["ill"])
    assert made.plan is not None
    assert made.plan.guess
    assert any("When the second is" in line for line in made.advice)
    assert published(tmp_path, Schema.loads(made.text), name, 150, 2, 0) == 2
