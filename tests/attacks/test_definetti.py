"""The deFinetti attack: what it learns across groups, and that it learns nothing where there is nothing."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Table, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.papers.definetti.attack import NAME, ReleasePeople, _coarse, _Pairs, people_of, sharpen
from reissue.publishing.attack import attack
from reissue.publishing.series import anonymize_series
from reissue.schema import Schema

SCHEMA = Schema.of_columns(quasi=["age", "sex", "job"], sensitive=["ill"])


def clinic(rows: int = 3000, *, linked: bool = True) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age, sex = rng.integers(20, 80, rows), rng.choice(["m", "f"], rows)
    old = rng.random(rows) < 1 / (1 + np.exp(-(age - 50) / 6))
    young = np.where(sex == "f", rng.choice(["flu", "migraine"], rows), rng.choice(["flu", "fracture"], rows))
    ill = np.where(old, rng.choice(["heart", "stroke", "gout"], rows), young)
    ill = ill if linked else rng.permutation(ill)
    return pl.DataFrame({"age": age, "sex": sex, "job": rng.choice(list("abcdefgh"), rows), "ill": ill})


def test_anatomy_gives_a_link_away_and_not_where_there_is_none() -> None:
    linked = ri.anonymize(clinic(), SCHEMA, "l=3", method="anatomy", seed=0)
    found = attack([linked], SCHEMA, only="definetti")["definetti"]
    assert found.status == Status.EXPOSED
    assert found.details["baseline"] == pytest.approx(1 / 3, abs=0.01)
    assert found.details["accuracy"] > 0.5
    assert found.people == round((found.details["accuracy"] - found.details["baseline"]) * 3000)
    unlinked = ri.anonymize(clinic(linked=False), SCHEMA, "l=3", method="anatomy", seed=0)
    found = attack([unlinked], SCHEMA, only="definetti")["definetti"]
    assert found.status == Status.WITHSTOOD
    assert abs(found.details["accuracy"] - found.details["baseline"]) < 4 * found.details["error"]
    assert (found.worst or 0) <= (found.limit or 0)  # as a reader of the verdict expects


@pytest.mark.parametrize(
    ("method", "requirement", "options", "status"),
    [
        ("pool", "k=5 & l=3", {}, Status.WITHSTOOD),
        ("mondrian", "k=5 & l=3", {}, Status.WITHSTOOD),
        ("topdown", "k=5 & l=3", {}, Status.WITHSTOOD),
        ("incognito", "k=5 & l=3", {}, Status.EXPOSED),
        ("anatomy", "k=5 & l=3", {}, Status.EXPOSED),
        ("mask", "k=10 & simple-l=2", {}, Status.WITHSTOOD),
        ("mask", "k=10 & simple-l=2", {"tables": 2}, Status.WITHSTOOD),
    ],
)
def test_which_of_our_methods_withstand_it(
    method: str, requirement: str, options: dict[str, Any], status: Status
) -> None:
    """The table in docs/concepts/minimality.md: groups of similar people leave little to learn, mixed ones much."""
    release = ri.anonymize(clinic(), SCHEMA, requirement, method=method, seed=0, **options)
    assert attack([release], SCHEMA, only="definetti")["definetti"].status == status


def test_generalized_groups_that_mix_people_are_sharpened_too() -> None:
    """Groups by job alone mix ages; someone with an external table of ages sharpens."""
    plan = Schema.of_columns(quasi=["age", "sex", "job"], sensitive=["ill"])
    frame = clinic()
    release = ri.anonymize(frame, plan, "k=5 & l=3", method="mondrian", seed=0)
    shuffled = ReleasePeople(
        people_of(release).features,
        people_of(release).widths,
        np.random.default_rng(2).integers(0, 600, frame.height),
        release.table.sensitive,
        release.table.sensitive,
        release.table.domain.size,
        np.ones(frame.height, np.bool_),
    )
    outcome = sharpen(shuffled)
    assert outcome.accuracy > outcome.chance
    assert outcome.accuracy > outcome.baseline + 0.05


@pytest.mark.parametrize(("method", "requirement"), [("anatomy", "l=3"), ("mondrian", "k=5 & l=3")])
def test_published_tables_and_the_original_tell_the_same_as_the_holders_view(method: str, requirement: str) -> None:
    frame = clinic(900)
    release = ri.anonymize(frame, SCHEMA, requirement, method=method, seed=0)
    own = attack([release], SCHEMA, only="definetti")["definetti"]
    tables = dict(release.tables)
    knowledge = Knowledge(population=frame)
    other = attack([tables], SCHEMA, only="definetti", knowledge=knowledge)["definetti"]
    # People who are alike may stand in different groups: an outsider cannot tell who is where, and guesses less.
    assert own.details["baseline"] - 0.08 < other.details["baseline"] < own.details["baseline"] + 0.02
    assert own.details["accuracy"] - 0.15 < other.details["accuracy"] < own.details["accuracy"] + 0.02


def test_without_the_truth_there_is_no_accuracy() -> None:
    release = ri.anonymize(clinic(60), SCHEMA, "k=5", method="mondrian", seed=0)
    assert attack([release.tables["release"]], SCHEMA, only="definetti")["definetti"].status == Status.NOT_RUN


def test_a_limit_of_ones_own() -> None:
    release = ri.anonymize(clinic(), SCHEMA, "l=3", method="anatomy", seed=0)
    found = attack([release], SCHEMA, only="definetti", limits={"definetti": 0.9})["definetti"]
    assert (found.status, found.limit, found.people) == (Status.WITHSTOOD, 0.9, 0)


@st.composite
def groups(draw: st.DrawFn) -> ReleasePeople:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    number = sum(sizes)
    of_person = np.repeat(np.arange(len(sizes)), sizes)
    features = np.array(draw(st.lists(st.integers(0, 2), min_size=number, max_size=number)), np.int64)
    values = np.array(draw(st.lists(st.integers(0, 2), min_size=number, max_size=number)), np.int32)
    return ReleasePeople(features[np.newaxis], (3,), of_person, values, values, 3, np.ones(number, np.bool_))


@given(groups(), st.integers(0, 9))
def test_fitted_chances_give_everyone_one_value_and_groups_their_own(people: ReleasePeople, seed: int) -> None:
    pairs = _Pairs.of(people)
    number = len(people.groups)
    chances = pairs.fit(np.random.default_rng(seed).uniform(0.5, 2, len(pairs.person)))
    assert np.bincount(pairs.person, chances, number) == pytest.approx(np.ones(number))
    published = np.bincount(people.groups * 3 + people.published)
    fitted = np.bincount(people.groups[pairs.person] * 3 + pairs.value, chances, len(published))
    assert fitted == pytest.approx(published, abs=0.05)


@given(st.lists(st.floats(0.1, 5), min_size=4, max_size=4))
def test_for_two_people_and_two_values_the_odds_are_the_square_root_of_the_exact(weights: list[float]) -> None:
    both = np.array([0, 1])
    people = ReleasePeople(np.zeros((1, 2), np.int64), (1,), np.zeros(2, np.int64), both, both, 2, np.ones(2, np.bool_))
    pairs = _Pairs.of(people)
    chances = np.array(weights)
    for _ in range(50):
        chances = pairs.fit(chances, 0.0)
    given_worlds = {
        order: float(np.prod([weights[2 * person + value] for person, value in enumerate(order)]))
        for order in itertools.permutations([0, 1])
    }
    exact_odds = given_worlds[0, 1] / given_worlds[1, 0]
    assert chances[0] / chances[1] == pytest.approx(exact_odds**0.5, rel=1e-6)


def test_large_domains_are_taken_on_a_coarser_level() -> None:
    frame = pl.DataFrame({"age": range(500), "sex": "m", "job": "a", "ill": "flu"})
    table = Table.read(frame, SCHEMA)
    bins = _coarse(table.taxonomies[0])
    assert bins.max() < 40
    assert (np.diff(bins) >= 0).all()
    assert len(_coarse(table.taxonomies[1])) == 1


# --- several releases ------------------------------------------------------------------------------------------------


FOLLOWED = Schema.of_columns(quasi=["age", "sex", "job"], sensitive=["ill"], identifier="id")


def waves(*, linked: bool) -> list[ri.Release]:
    """Two releases in groups that are large enough to mix people; some leave and some come."""
    frame = clinic(3000, linked=linked).with_columns(id=pl.int_range(3000))
    parts = [frame[:2400], frame[600:]]
    return [ri.anonymize(one, FOLLOWED, "k=80", method="pool", seed=at) for at, one in enumerate(parts)]


def test_a_series_is_learnt_from_as_a_whole() -> None:
    found = attack(waves(linked=True), FOLLOWED, only="definetti")["definetti"]
    assert found.status == Status.EXPOSED
    more = found.details["accuracy"] - found.details["baseline"]
    assert more > 3 * found.details["error"]
    assert found.people == round(more * 3000)
    assert "all releases" in found.sentence
    above = found.details["above"]
    sure = f"Of the {above['people']:,} guessed with a probability above 0.75 {above['right']:,} are right."
    assert (sure in found.sentence) == (above["people"] > 0)


def test_nothing_is_learnt_from_a_series_where_nothing_goes_together() -> None:
    found = attack(waves(linked=False), FOLLOWED, only="definetti")["definetti"]
    assert found.status == Status.WITHSTOOD
    assert abs(found.details["accuracy"] - found.details["baseline"]) < 0.02


@pytest.mark.parametrize("releases", [1, 2])
def test_groups_made_by_value_teach_what_goes_with_a_value_and_not_how_they_were_made(releases: int) -> None:
    """Counterfeits are in them too: too few have a rare value for groups of three."""
    found = []
    for linked in (True, False):
        frame = clinic(900, linked=linked).with_columns(id=pl.int_range(900))
        frame = frame.filter((pl.col("ill") != "gout") | (pl.col("id") % 9 == 0))
        made = anonymize_series(
            [frame] * releases, FOLLOWED, "m-unique=4", method="invariance", ineligible="counterfeits", seed=0
        )
        assert made[0].draft.counterfeits is not None
        found.append(attack(made, FOLLOWED, only=NAME, knowledge=Knowledge(groups=True))[NAME])
    assert [one.status for one in found] == [Status.EXPOSED, Status.WITHSTOOD]
    learnt, chance = (one.details for one in found)
    assert learnt["baseline"] == pytest.approx(0.25, abs=0.08)  # without learning it is one in m
    assert learnt["accuracy"] > 0.35
    assert abs(chance["accuracy"] - chance["baseline"]) < 0.04


def test_where_the_papers_way_is_right_more_often_that_is_what_is_reported() -> None:
    frame = clinic(900).with_columns(id=pl.int_range(900))
    made = anonymize_series([frame] * 2, FOLLOWED, "m-unique=3", method="distinct", seed=0)
    assert made[0].draft.counterfeits is None
    found = attack(made, FOLLOWED, only=NAME)[NAME]
    assert found.details["accuracy"] > 0.45
    assert "releases" in found.details


def test_with_a_learnt_prior_confidences_about_cohorts_are_right_as_often_as_they_say(tmp_path: Path) -> None:
    """A synthetic hospital whose patients come, leave, return and change; slots carry on where somebody left."""
    synth.updates().write_csv(tmp_path / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path)
    tables = list(synth.Population(seed=20, people=900, hospitals=4).months(5))
    made = anonymize_series(tables, schema, "k=5 & l=3", method="cohorts", seed=0)
    found = attack(made, schema, only=NAME)[NAME]
    assert found.details["accuracy"] > found.details["baseline"] + found.details["error"]
    large = [one for one in found.details["calibration"] if one["people"] >= 100]
    assert len(large) >= 3
    for one in large:
        off = 0.05 + 2 * np.sqrt(one["claim"] * (1 - one["claim"]) / one["people"])
        assert one["claim"] == pytest.approx(one["right"], abs=off), one


@pytest.mark.parametrize("together", [False, True])
def test_only_people_with_a_protected_value_count(together: bool) -> None:
    """By hand: the guesses of everybody, of which those are counted whose true value is protected."""
    frame = clinic(600).with_row_index("id") if together else clinic(600)
    plan = Schema.of_columns(quasi=["age", "sex", "job"], sensitive=["ill"], identifier="id" if together else None)
    harmless = replace(plan, policy={"harmless_values": ["flu", "migraine", "fracture"]})
    months = [frame, frame] if together else [frame]
    found, every = (
        attack([ri.anonymize(one, its, "l=3", method="anatomy", seed=0) for one in months], its, only=NAME)[NAME]
        for its in (harmless, plan)
    )
    ill = frame["ill"].is_in(["heart", "stroke", "gout"])
    assert found.population == ill.sum() < (every.population or 0) == frame.height
    if not together:
        guesses = sharpen(people_of(ri.anonymize(frame, plan, "l=3", method="anatomy", seed=0)))
        release = ri.anonymize(frame, plan, "l=3", method="anatomy", seed=0)
        right = pl.Series(guesses.guess == release.table.sensitive[release.draft.groups >= 0])
        kept = ill.filter(pl.Series(release.draft.groups >= 0))
        assert found.details["accuracy"] == pytest.approx(right.filter(kept).mean())


def test_where_nobody_has_a_protected_value_it_is_not_run() -> None:
    harmless = replace(SCHEMA, policy={"sensitive_values": ["nothing of the kind"]})
    found = attack([ri.anonymize(clinic(300), harmless, "l=3", method="anatomy", seed=0)], harmless, only=NAME)[NAME]
    assert found.status == Status.NOT_RUN
    assert "needs protection" in (found.reason or "")
