"""What providers find over a series: the same from a ledger whose tables are brought again as from releases at hand."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.errors import CannotRunError, InputError
from reissue.ledger import Ledger
from reissue.ledger.originals import find_originals
from reissue.papers.coalition.views import ProvidersOverSeries, views_over_series
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series
from reissue.publishing.attack import attack
from reissue.publishing.publish import attack_by_providers, publish_next
from reissue.release.release import Release
from reissue.schema import Role, Schema

Held = tuple[Path, list[pl.DataFrame], list[Release], Schema]


def _published(folder: Path, policy: dict[str, object], people: int, months: int) -> Held:
    synth.updates().write_csv(folder / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=folder, policy=policy)
    frames = list(synth.Population(seed=5, people=people, hospitals=3).months(months + 1))
    with Ledger.create(folder / "x.ledger", schema) as ledger:
        made = [publish_next(frame, ledger).release for frame in frames[:months]]
        schema = replace(schema, policy={key: policy[key] for key in policy if key != "sensitive_values"})
        ledger.amend(schema)
    return folder / "x.ledger", frames, made, schema


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """Three months, each pooled by itself: over the series that gives much away."""
    policy: dict[str, object] = {
        "require": "k=5 & l=2",
        "method": "pool",
        "attacks": ["joint"],
        "sensitive_values": ["none of these"],
        "knowledge": "groups",
    }
    return _published(tmp_path_factory.mktemp("pooled"), policy, 200, 3)


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """Three months in cohorts, whose slots live on."""
    policy: dict[str, object] = {
        "require": "k=5 & l=3",
        "method": "cohorts",
        "suppress": 0.05,
        "counterfeits": 0.3,
        "attacks": ["joint"],
        "sensitive_values": ["none of these"],
        "knowledge": "groups",
    }
    return _published(tmp_path_factory.mktemp("cohorts"), policy, 300, 3)


def found(held: Held, *coalition: str) -> ProvidersOverSeries:
    place, frames, made, _ = held
    with Ledger.open(place) as ledger:
        return attack_by_providers(ledger, [*reversed(frames[: len(made)])], coalition)


@pytest.mark.parametrize("which", ["pooled", "cohorts"])
def test_tables_brought_again_give_what_releases_at_hand_give(which: str, request: pytest.FixtureRequest) -> None:
    held: Held = request.getfixturevalue(which)
    _, _, made, schema = held
    said = found(held, "Hospital 1")
    for view in (said.outsider, *said.coalitions):
        knows = Knowledge(coalition=view.members, groups=True)
        (right,) = attack(made, schema, only=["joint"], knowledge=knows)
        assert (view.people, view.population, view.right) == (right.people, right.population, right.details["right"])
        assert view.worst == pytest.approx(right.worst, abs=1e-9)
        assert view.certain == right.details["sure"]
    own = sum((one.table.frame["hospital"] == "Hospital 1").sum() for one in made if not one.suppressed)
    if not any(one.suppressed for one in made):
        assert said.coalitions[0].own == own


def test_insiders_find_more_about_others_than_nobody_s_records_allow(pooled: Held) -> None:
    """Whoever knows a third of all values is surer of the rest: nobody's link gets weaker on the whole."""
    said = found(pooled)
    assert [one.members for one in said.coalitions][:3] == [(name,) for name in said.contributed]
    assert len(said.coalitions) == 6
    pair = max(said.coalitions, key=lambda one: len(one.members))
    assert pair.certain >= 1
    assert "people of others" in pair.sentence or "nobody" in pair.sentence
    assert said.as_dict()["coalitions"][0]["sentence"] == said.coalitions[0].sentence


def test_one_table_more_is_the_next_release(pooled: Held) -> None:
    place, frames, made, _ = pooled
    with Ledger.open(place) as ledger:
        said = attack_by_providers(ledger, frames, ["Hospital 2"])
        assert said.releases == (1, 2, 3, 4)
        assert len(ledger.releases) == len(made)


def test_each_release_gets_the_table_it_was_made_of(pooled: Held) -> None:
    place, frames, made, _ = pooled
    with Ledger.open(place) as ledger:
        known = find_originals(ledger, [frames[1], frames[3], frames[2], frames[0]])
        for release, one in zip(made, known.releases, strict=True):
            people = one.presences
            assert people is not None
            assert people.table is not None
            assert release.table.ids is not None
            truth = dict(zip(release.table.ids.to_list(), release.table.frame["disease"].to_list(), strict=True))
            assert [truth[who] for who in people.ids.to_list()] == people.table.frame["disease"].to_list()
        assert known.next is frames[3]


def test_what_is_missing_or_fits_nothing_is_refused(pooled: Held) -> None:
    place, frames, _, _ = pooled
    with Ledger.open(place) as ledger:
        with pytest.raises(InputError, match="of release 2"):
            attack_by_providers(ledger, [frames[0], frames[2]])
        with pytest.raises(InputError, match="2 tables of those given fit no release"):
            attack_by_providers(ledger, [*frames, frames[3]])
        changed = frames[1].with_columns(disease=pl.col("disease").reverse())
        with pytest.raises(InputError, match="of release 2"):
            attack_by_providers(ledger, [frames[0], changed, frames[2]])
        with pytest.raises(InputError, match="1 provider who gave no record") as problem:
            attack_by_providers(ledger, frames[:3], ["Nobody's"])
        assert "Nobody" not in str(problem.value)


def test_without_providers_nothing_can_be_said() -> None:
    schema = replace(synth.schema().with_roles({"hospital": Role.DROP}), updates={"none": True})
    release = ri.anonymize(next(synth.Population(seed=1, people=50).months(1)), schema, "k=5", seed=1)
    with pytest.raises(CannotRunError, match="provider"):
        views_over_series(Series.read([release], schema))
