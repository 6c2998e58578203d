"""The joint attack where nobody says how values change: learned from the releases, or none if they stay."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.attacks import Knowledge, Series, find, run_attack
from reissue.attacks.findings import Status
from reissue.attacks.joint.confidence import Confidences, plain_marginal
from reissue.attacks.joint.holder import HolderSteps
from reissue.attacks.joint.sight import see
from reissue.attacks.joint.state import add
from reissue.attacks.joint.update_model import ObservedSeries, _counted, base_rates, grown, update_model
from reissue.ledger import Ledger
from reissue.people.series import SeriesPresences
from reissue.publishing.anonymize import anonymize
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.schema import Schema
from reissue.solver import Model, solve
from reissue.solver.transition_learning import smoothed

COLUMNS = Schema.of_columns(quasi=["age", "town"], sensitive=["illness"], identifier="who")


def panel(changes: float, *, people: int = 700, waves: int = 5, values: int = 8) -> list[pl.DataFrame]:
    """Waves of a panel: a share of the values changes from wave to wave, mostly to the next one."""
    rng = np.random.default_rng(3)
    age, town, true = rng.integers(20, 80, people), rng.integers(0, 6, people), rng.integers(0, values, people)
    made = []
    for _ in range(waves):
        here = rng.random(people) < 0.9
        ill = pl.Series([f"v{one}" for one in true])
        frame = pl.DataFrame({"who": np.arange(people), "age": age, "town": town}).with_columns(illness=ill)
        made.append(frame.filter(pl.Series(here)))
        moved, age = rng.random(people) < changes, age + 1
        true = np.where(moved, (true + rng.integers(1, 3, people)) % values, true)
    return made


def published(waves: list[pl.DataFrame], require: str = "k=4 & l=3") -> list[Any]:
    return [anonymize(wave, COLUMNS, require, seed=1) for wave in waves]


def anonymous(releases: list[Any]) -> Series:
    """With identifiers, without the true values: as somebody reads them who knows everyone's group."""
    return Series.read(releases, COLUMNS)


def unaware(crowd: SeriesPresences) -> ObservedSeries:
    """What somebody learns from who does not have the true tables."""
    releases = crowd.observations
    return ObservedSeries.of(releases, crowd.names, [None] * len(releases), range(len(releases)))


def above(crowd: SeriesPresences, model: Model) -> int:
    """How many people can be linked to a value with a probability above three quarters."""
    rates = base_rates(crowd.observations, crowd.values)
    prior = np.broadcast_to(rates, (crowd.people, crowd.values))
    found = solve(crowd.observations, model, prior=prior)
    return int((Confidences.of([plain_marginal(found)], crowd.people).chance > 0.75).sum())


@pytest.mark.parametrize("changes", [0.05, 0.15, 0.3])
@pytest.mark.parametrize("knows", [True, False])
def test_what_is_learned_is_close(knows: bool, changes: float) -> None:
    """How many values stay is learned as well from a register as from known groups, by an auditor as by the holder."""
    crowd = see(anonymous(published(panel(changes))), Knowledge(groups=knows))
    counts = _counted(crowd.truth, crowd.values)
    assert counts is not None
    chosen = update_model(COLUMNS, unaware(crowd))
    assert chosen.source == "releases"
    assert chosen.model.steps is not None
    assert np.diag(chosen.model.steps).mean() == pytest.approx(1 - changes, abs=0.035)
    assert np.abs(chosen.model.steps - smoothed(counts)).sum(axis=1).mean() / 2 < 0.14
    # The true matrix knows that values move to the next one or two; less of that is learned from so few people, and so
    # confidences are fewer. They are never many more.
    learned, best = (above(crowd, model) for model in (chosen.model, Model(crowd.values, smoothed(counts))))
    assert 0.35 * best <= learned <= 1.1 * best
    holder = update_model(COLUMNS, replace(unaware(crowd), truth=crowd.truth))
    assert holder.source == "tables"
    assert holder.model.steps is not None
    assert np.diag(holder.model.steps).mean() == pytest.approx(1 - changes, abs=0.02)


@pytest.mark.parametrize(("changes", "source"), [(0.0, "none"), (0.02, "releases"), (0.3, "releases")])
@pytest.mark.parametrize("require", ["k=4 & l=3", "k=12 & l=4"])
def test_values_are_taken_to_stay_just_where_they_do(changes: float, source: str, require: str) -> None:
    crowd = see(anonymous(published(panel(changes), require)), Knowledge(groups=True))
    assert update_model(COLUMNS, unaware(crowd)).source == source


def test_a_ledger_s_attack_refines_what_it_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody knows the true values of any release, as of adopted ones."""
    releases = published(panel(0.15))
    monkeypatch.setattr(HolderSteps, "with_truth", lambda self, _, __: self)
    state, whole = None, run_attack(find("joint"), Series.read(releases, COLUMNS), Knowledge(groups=True))
    for number, release in enumerate(releases, 1):
        strong = replace(COLUMNS, policy={"knowledge": "groups"})
        state = add(state, replace(Series.read([release], strong), numbers=(number,)))
    assert state is not None
    found = state.finding
    assert found.details["updates"] == "releases"
    assert state.past.steps.shape == (8, 8)
    assert whole.details["updates"] == "tables"
    assert found.people + found.details["before"] == pytest.approx(whole.people, rel=0.4)


def test_a_learned_model_has_room_for_new_values() -> None:
    steps = np.array([[0.9, 0.1], [0.3, 0.7]])
    wide = grown(steps, 3)
    assert wide.sum(axis=1) == pytest.approx(1)
    assert (wide > 0).all()
    assert wide[2, 2] > 0.7


def test_a_schema_that_says_what_is_not_so_is_contradicted() -> None:
    """Values that are said to stay and do not: no posterior is given, for it would mean nothing."""
    schema = replace(COLUMNS, updates={"none": True})
    restless = [anonymize(wave, schema, "k=4 & l=3", seed=1) for wave in panel(0.4)]
    found = run_attack(find("joint"), Series.read(restless, schema), Knowledge(groups=True))
    assert found.status == Status.NOT_RUN
    assert found.reason is not None
    assert "contradicts these releases" in found.reason
    staying = [anonymize(wave, schema, "k=4 & l=3", seed=1) for wave in panel(0.0)]
    assert run_attack(find("joint"), Series.read(staying, schema), Knowledge(groups=True)).reason is None


def test_the_gate_says_that_the_schema_is_contradicted_and_what_to_do(tmp_path: Path) -> None:
    """Values that are said to stay and do not: the release is refused until the schema no longer says so."""
    policy = {"require": "k=40 & l=3", "attacks": ["joint"], "knowledge": "groups"}
    said = replace(COLUMNS, updates={"none": True}, policy=policy)
    first, second = panel(0.6, waves=2)
    with Ledger.create(tmp_path / "a.ledger", said) as ledger:
        publish_next(first, ledger)
        with pytest.raises(RefusedError, match="contradicts these releases") as refused:
            publish_next(second, ledger)
        assert "reissue ledger amend" in str(refused.value)
        ledger.amend(replace(said, updates={}))
        assert publish_next(second, ledger).findings["joint"].status == Status.WITHSTOOD
