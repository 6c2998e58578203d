"""What a ledger keeps of how values change, where no schema says it: sums over people, and nobody's value."""

from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.attacks.joint.holder import HolderSteps
from reissue.attacks.joint.state import JointState
from reissue.ledger import Ledger
from reissue.publishing.publish import publish_next
from reissue.release.states import unpack_state
from reissue.schema import Schema
from tests.attacks.test_joint_updates import COLUMNS, panel

POLICY: dict[str, Any] = {"require": "k=5 & l=3", "attacks": ["joint"], "limit": {"default": 1, "nobody": 0.5}}
SCHEMA = replace(COLUMNS, policy=POLICY)


def held(ledger: Ledger) -> JointState:
    state = unpack_state(JointState, ledger.store.read(ledger.releases[-1].files["state.joint"]))
    assert state is not None
    return state


def published(place: Path, waves: list[pl.DataFrame], schema: Schema = SCHEMA) -> Ledger:
    ledger = Ledger.create(place, schema)
    for wave in waves:
        publish_next(wave, ledger)
    return ledger


@pytest.mark.parametrize("changes", [0.1, 0.3])
def test_how_values_change_is_learned_from_the_holder_s_tables(tmp_path: Path, changes: float) -> None:
    """What the gate takes for granted is near the truth, though no release shows who had which value."""
    with published(tmp_path / "x.ledger", panel(changes)) as ledger:
        found = [one.findings["joint"].details["updates"] for one in ledger.releases]
        steps = held(ledger).holder.moments.steps()
    assert found == ["none", *["tables"] * 4]
    assert steps is not None
    assert np.diag(steps).mean() == pytest.approx(1 - changes, abs=0.05)


def test_values_that_stay_are_taken_to_stay(tmp_path: Path) -> None:
    with published(tmp_path / "x.ledger", panel(0.0)[:3]) as ledger:
        assert held(ledger).holder.moments.steps() is None
        assert ledger.releases[-1].findings["joint"].details["updates"] == "tables"


def test_what_a_schema_says_goes_first(tmp_path: Path) -> None:
    said = replace(SCHEMA, updates={"chances": {}, "rest": 0.3})
    with published(tmp_path / "x.ledger", panel(0.3)[:2], said) as ledger:
        assert ledger.releases[-1].findings["joint"].details["updates"] == "schema"


def test_nobody_s_value_is_kept(tmp_path: Path) -> None:
    """Of people it is kept which group they are in, as its presences say too; all else is sums."""
    waves = panel(0.2)[:3]
    with published(tmp_path / "x.ledger", waves) as ledger:
        kept, last = held(ledger).holder, ledger.releases[-1]
        known = ledger.presences(last, SCHEMA)
        people = held(ledger).index.people
    assert known is not None
    assert {one.name for one in fields(HolderSteps)} == {
        "moments", "person", "group", "cell_group", "cell_value", "cell_count"
    }  # fmt: skip
    assert dict(zip(people[kept.person].tolist(), kept.group.tolist(), strict=True)) == dict(
        zip(known.ids.to_list(), known.group.tolist(), strict=True)
    )
    assert kept.cell_count.tolist() == known.histogram.count.tolist()
    assert kept.moments.before.shape == kept.moments.after.shape == (8, 8)
    both = sum(len(set(one["who"]) & set(other["who"])) for one, other in pairwise(waves))
    assert kept.moments.people == pytest.approx(both)


def test_what_was_learned_outlives_a_changed_policy(tmp_path: Path) -> None:
    """The attack's state is made again from the releases, which do not say how values changed."""
    waves = panel(0.2)
    with published(tmp_path / "x.ledger", waves[:4]) as ledger:
        before = held(ledger).holder.moments
        ledger.amend(replace(SCHEMA, policy={**POLICY, "require": "k=6 & l=3"}))
        publish_next(waves[4], ledger)
        after = held(ledger).holder.moments
    assert before.people < after.people
    assert after.people == pytest.approx(before.people + len(set(waves[3]["who"]) & set(waves[4]["who"])))
