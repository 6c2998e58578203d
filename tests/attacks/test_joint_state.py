"""The joint attack carried on: the same as over all releases while they fit the window, and close to it beyond."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.attacks import Knowledge, Series, find, run_attack
from reissue.attacks.joint import state as carried
from reissue.attacks.joint.finding import Judgment, finding_of
from reissue.attacks.joint.state import JointState, Recent
from reissue.attacks.joint.window import Past
from reissue.ledger import Ledger
from reissue.publishing.publish import publish_next
from reissue.publishing.series import anonymize_series
from reissue.release.release import Release
from reissue.release.states import pack_state, unpack_state
from reissue.schema import Schema
from reissue.solver import Observation


def series(tmp_path: Path, months: int, require: str) -> tuple[Schema, list[Release]]:
    synth.updates().write_csv(tmp_path / "updates.csv")
    plan = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path, policy={"knowledge": "groups"})
    frames = list(synth.Population(seed=3, people=250).months(months))
    number = {name: place for place, name in enumerate(pl.concat(frames)["patient"].unique().sort().to_list())}
    coded = [frame.with_columns(pl.col("patient").replace_strict(number)) for frame in frames]
    return plan, [ri.anonymize(frame, plan, require, seed=turn) for turn, frame in enumerate(coded)]


def added(plan: Schema, releases: list[Release]) -> JointState:
    kept: JointState | None = None
    for number, release in enumerate(releases, start=1):
        newest = replace(Series.read([release], plan), numbers=(number,))
        kept = unpack_state(JointState, pack_state(carried.add(kept, newest)))
    assert kept is not None
    return kept


def whole(plan: Schema, releases: list[Release]) -> ri.Finding:
    return run_attack(find("joint"), Series.read(releases, plan), Knowledge(groups=True))


def exposed(finding: ri.Finding) -> int:
    """By this release or by earlier ones."""
    return int(finding.people + finding.details["before"])


def test_within_the_window_it_is_the_whole_attack(tmp_path: Path) -> None:
    plan, releases = series(tmp_path, 4, "k=5 & l=3")
    one, other = added(plan, releases).finding, whole(plan, releases)
    assert one.details["sure"] == other.details["sure"] > 0
    assert one.population == other.population
    assert abs(exposed(one) - exposed(other)) <= 0.07 * other.people


def test_beyond_the_window_little_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the releases are messages and no longer scaled: today's posteriors hardly change, to neither side.

    The error that the page states: 0.01 on average for today's values, 0.03 for the surest value of the whole series.
    """
    plan, releases = series(tmp_path, 8, "k=8 & simple-l=3")
    judged: list[Judgment] = []
    real = finding_of

    def kept(found: Judgment, of: Series) -> ri.Finding:
        judged.append(found)
        return real(found, of)

    monkeypatch.setattr(carried, "finding_of", kept)
    states, ends = [], []
    for window in (12, 4):
        monkeypatch.setattr(carried, "WINDOW", window)
        states.append(added(plan, releases))
        ends.append(judged[-1])
    full, short = states
    assert len(short.window) == 4
    assert short.window[-1].time == full.window[-1].time == 7
    people = [exposed(one.finding) for one in (short, full)]
    assert abs(people[0] - people[1]) <= 0.1 * people[1]
    today = [one.posterior.largest(len(one.posterior.releases) - 1)[0] for one in ends]
    surest = [one.confidences.chance for one in ends]
    for bar, (one, other) in ((0.01, today), (0.03, surest)):
        assert np.abs(one - other).mean() < bar
        assert abs(np.mean(one - other)) < bar / 2


def test_a_state_keeps_no_true_value_and_no_quasi_identifier(tmp_path: Path) -> None:
    plan, releases = series(tmp_path, 2, "k=5 & l=3")
    kept = added(plan, releases)
    assert all(not len(one.seen.known_person) and not len(one.seen.known_value) for one in kept.window)
    assert not any("truth" in one.name for kind in (JointState, Recent, Past, Observation) for one in fields(kind))


def test_people_whom_the_joint_attack_exposes_are_left_out(tmp_path: Path) -> None:
    """Few are exposed and the policy lets rows go: the release is repaired, and says so."""
    values = ["flu", "asthma", "gout"] * 8
    people = pl.DataFrame({"p": range(25), "age": [40] * 25, "ill": [*values, "HIV"]})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="p")
    plan = replace(plan, policy={"require": "k=5 & l=2", "method": "mondrian", "suppress": 0.1, "attacks": []})
    with Ledger.create(tmp_path / "x.ledger", plan) as ledger:
        publish_next(people.head(24), ledger)
        made = publish_next(people, ledger)
        assert any(one.startswith("1 person was left out") for one in made.warnings)
        assert made.release.tables["release"].height == 24
        assert ledger.release(2).record.suppressed == 1
        assert publish_next(people, ledger).again
    assert np.isclose(made.findings["joint"].worst or 0, 1 / 3)


def test_who_was_exposed_before_does_not_stop_later_releases(tmp_path: Path) -> None:
    """No release can take back what an earlier one gave away: it is said, and only new exposures are refused."""
    people = pl.DataFrame({"p": range(12), "age": [30] * 6 + [60] * 6, "ill": ["flu"] * 6 + ["HIV", "gout"] * 3})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="p")
    policy = {"require": "k=3", "method": "mondrian", "attacks": []}
    with Ledger.create(
        tmp_path / "x.ledger", replace(plan, policy={**policy, "sensitive_values": ["none of these"]})
    ) as ledger:
        publish_next(people, ledger)
        ledger.amend(replace(plan, policy={**policy, "limit": 0.75}))
        found = publish_next(people, ledger, unchanged=True).findings["joint"]
    assert found.status == "withstood"
    assert found.details["before"] == 6
    assert "6 people were exposed by earlier releases already" in found.sentence


def test_companions_of_people_in_slots_are_people(tmp_path: Path) -> None:
    """Also of those who have left: whoever was in a group with them when they were last there."""
    plan, plain = series(tmp_path, 2, "k=5 & l=3")
    memory, releases = None, []
    for number, one in enumerate(plain):
        releases.append(
            ri.anonymize(
                one.table.frame, plan, "k=5 & l=3", method="cohorts", memory=memory, newcomers=True, seed=number
            )
        )
        memory = releases[-1].draft.memory
    kept = added(plan, releases)
    first, second = (one.table.frame["patient"].to_numpy() for one in releases)
    gone = np.setdiff1d(first, second)[:3]
    assert len(gone)
    group = releases[0].draft.groups
    for person, beside in zip(gone, kept.companions(gone), strict=True):
        assert set(beside.tolist()) == set(first[group == group[first == person]].tolist())


def test_groups_made_by_value_are_judged_with_groups_known(tmp_path: Path) -> None:
    """A register alone made confidences about an m-invariant series creep up, release by release, beyond 1/m."""
    rng = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "who": np.arange(600),
            "age": rng.integers(0, 60, 600),
            "town": rng.integers(0, 20, 600),
            "illness": [f"v{one}" for one in rng.integers(0, 12, 600)],
        }
    )
    plan = replace(
        Schema.of_columns(quasi=["age", "town"], sensitive=["illness"], identifier="who"),
        policy={"require": "m-unique=3", "method": "invariance", "attacks": ["joint"]},
    )
    with Ledger.create(tmp_path / "a.ledger", plan) as ledger:
        for _ in range(4):
            here = people.filter(pl.Series(rng.random(600) < 0.9))
            found = publish_next(here, ledger).findings["joint"]
    assert found.details["knowledge"] == "groups"
    assert found.details["risk"] <= 1 / 3 + 1e-6


# --- adversaries who learn -------------------------------------------------------------------------------------------


CLINIC = Schema.of_columns(quasi=["age", "town"], sensitive=["ill"], identifier="p")
FILLED: dict[str, Any] = {"ineligible": "counterfeits"}
BY_VALUE = {"require": "m-unique=3", "method": "invariance", "options": FILLED, "attacks": ["joint"], "limit": 0.6}


def clinic(months: int) -> list[pl.DataFrame]:
    """The old have other illnesses than the young; a tenth stay away each month."""
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, 600)
    old, young = rng.choice(["heart", "stroke", "gout"], 600), rng.choice(["flu", "migraine", "asthma"], 600)
    frame = pl.DataFrame({"p": range(600), "age": age, "town": rng.integers(0, 30, 600)})
    frame = frame.with_columns(ill=pl.Series(np.where(age > 50, old, young)))
    return [frame.filter(pl.Series(rng.random(600) < 0.9)) for _ in range(months)]


def learnt(prior: str, months: int) -> JointState:
    plan = replace(CLINIC, updates={"none": True}, policy={**BY_VALUE, "prior": prior})
    made = anonymize_series(clinic(months), plan, "m-unique=3", method="invariance", seed=0, **FILLED)
    return added(plan, made)


def test_a_policy_may_ask_for_readers_who_learn() -> None:
    """Groups of one signature stay at one in three; the young hardly ever have what the old have."""
    plain, more = learnt("common", 3), learnt("learned", 3)
    assert plain.finding.details["prior"] == "common"
    assert plain.finding.status == "withstood"
    assert plain.finding.worst == pytest.approx(1 / 3, abs=1e-3)
    assert more.finding.details["prior"] == "learned"
    assert len(more.exposed) + len(more.before) > 50
    assert "only by learning which people tend to have which value" in more.finding.sentence
    assert "stayed as long" in " ".join(more.finding.details["case"]["steps"])


def test_what_is_kept_of_people_who_are_learnt_from_is_coarse_and_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    full = learnt("learned", 4)
    assert [int(one.max()) <= 10 for one in full.traits.bins] == [True, True]
    assert full.traits.stay.max() == 4
    assert not len(learnt("common", 1).traits.arrival)
    monkeypatch.setattr(carried, "WINDOW", 2)
    short = learnt("learned", 4)
    assert len(short.window) == 2
    people = [len(one.exposed) + len(one.before) for one in (short, full)]
    assert abs(people[0] - people[1]) <= 0.15 * people[1]


def test_a_ledger_refuses_what_who_leaves_gives_away(tmp_path: Path) -> None:
    """Small cohorts of a hospital, where the acutely ill leave soon; the same tables go out if nobody looks at that."""
    synth.updates().write_csv(tmp_path / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path)
    policy = {"require": "k=5 & l=3", "method": "cohorts", "counterfeits": 0.15, "attacks": ["joint"]}
    *months, last = synth.Population(seed=4, people=1_000).months(5)
    alike = {**policy, "suppress": 0.05, "prior": "common"}
    with Ledger.create(tmp_path / "a.ledger", replace(schema, policy=alike)) as ledger:
        for month in (*months, last):
            assert publish_next(month, ledger, seed=1).findings["joint"].details["leaving"] == "alike"
    with Ledger.create(tmp_path / "b.ledger", replace(schema, policy=policy)) as ledger:
        for month in months:
            publish_next(month, ledger, seed=1)
        with pytest.raises(ri.RiskError, match="linked to a value with a probability above") as refused:
            publish_next(last, ledger, seed=1)
        assert "leave sooner than others" in str(refused.value)


def test_a_ledger_refuses_what_only_learning_gives_away(tmp_path: Path) -> None:
    """The same tables go out where adversaries are not taken to learn."""
    first, second = clinic(2)
    with Ledger.create(tmp_path / "a.ledger", replace(CLINIC, policy=BY_VALUE)) as ledger:
        publish_next(first, ledger)
        publish_next(second, ledger)
    plan = replace(CLINIC, policy={**BY_VALUE, "prior": "learned"})
    with Ledger.create(tmp_path / "b.ledger", plan) as ledger:
        publish_next(first, ledger)
        with pytest.raises(ri.RiskError, match="only by learning"):
            publish_next(second, ledger)
