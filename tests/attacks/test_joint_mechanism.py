"""The joint posterior of a series for someone who knows the algorithm, against its definition: every world."""

from collections import Counter
from itertools import product
from math import prod
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.errors import InputError
from reissue.papers.mechanism.series_worlds import Condition, SeriesWorlds, conditioned
from reissue.release.release import Release
from reissue.schema import Role, Schema
from reissue.synth import Population
from reissue.synth import schema as synth_schema
from tests.attacks.cases import sound
from tests.effort import examples

SCHEMA = Schema.of_columns(
    identifier="who",
    quasi=["place", "age"],
    sensitive=["ill"],
    taxonomies={"place": Hierarchy("tree", tree={"A": ["a1", "a2"], "B": ["b1", "b2"]})},
)
REQUIREMENT = "simple-l=2:HIV"
Frames = list[pl.DataFrame]


@st.composite
def series(draw: st.DrawFn) -> Frames:
    """Two tables of at most eight people, who keep their values; some are in one table only."""
    size = draw(st.integers(5, 8))
    people = pl.DataFrame(
        {
            "who": [f"p{number}" for number in range(size)],
            "place": draw(st.lists(st.sampled_from(["a1", "a2", "b1", "b2"]), min_size=size, max_size=size)),
            "age": draw(st.lists(st.integers(30, 33), min_size=size, max_size=size)),
            "ill": draw(st.lists(st.sampled_from(["HIV", "flu"]), min_size=size, max_size=size)),
        }
    )
    out = draw(st.integers(0, 1))
    return [people.head(size - out), people.tail(size - draw(st.integers(0, 1)))]


def released(frame: pl.DataFrame, method: str) -> Release | None:
    try:
        return ri.anonymize(frame, SCHEMA, REQUIREMENT, method=method, seed=5)
    except InputError:
        return None


def view(release: Release) -> tuple[Any, ...]:
    """What someone sees who knows where everyone stands: everyone's box, and the values of each group."""
    groups = release.draft.groups
    place = np.concatenate([release.boxes.lo, release.boxes.hi])[:, groups]
    return place.tobytes(), Counter(zip(groups.tolist(), release.table.frame["ill"], strict=True))


def worlds_of(frames: Frames, releases: list[Release]) -> list[dict[str, str]]:
    """Everyone's values, wherever every group of every release shows what its people have."""
    everyone = sorted(set().union(*(frame["who"] for frame in frames)))
    found = []
    for values in product(["HIV", "flu"], repeat=len(everyone)):
        world = dict(zip(everyone, values, strict=True))
        shown = all(
            Counter(zip(one.draft.groups.tolist(), (world[who] for who in frame["who"]), strict=True))
            == Counter(zip(one.draft.groups.tolist(), frame["ill"], strict=True))
            for frame, one in zip(frames, releases, strict=True)
        )
        if shown:
            found.append(world)
    return found


def by_hand(worlds: list[dict[str, str]], kept: list[bool], frames: Frames) -> dict[str, float]:
    """Everyone's posterior of HIV: worlds weigh as their values' shares of all records."""
    records = pl.concat(frames)["ill"].to_list()
    share = {value: records.count(value) / len(records) for value in ("HIV", "flu")}
    weights = [prod(share[value] for value in world.values()) * keep for world, keep in zip(worlds, kept, strict=True)]
    ill = {
        who: [weight for weight, world in zip(weights, worlds, strict=True) if world[who] == "HIV"] for who in worlds[0]
    }
    return {who: sum(some) / sum(weights) for who, some in ill.items()}


def found_by(releases: list[Any], **knowledge: Any) -> Finding:
    return ri.attack(releases, SCHEMA, only="joint-mechanism", knowledge=Knowledge(**knowledge))["joint-mechanism"]


@pytest.mark.parametrize("method", ["mondrian", "pool", "topdown", "incognito"])
@given(frames=series())
@examples(15)
def test_running_equals_the_definition(method: str, frames: Frames) -> None:
    made = [released(frame, method) for frame in frames]
    assume(all(made))
    releases = [one for one in made if one is not None]
    worlds = worlds_of(frames, releases)
    kept = []
    for world in worlds:
        again = [released(frame.with_columns(ill=frame["who"].replace_strict(world)), method) for frame in frames]
        kept.append(all(b is not None and view(a)[0] == view(b)[0] for a, b in zip(releases, again, strict=True)))
    expected = by_hand(worlds, kept, frames)
    found = found_by(releases)
    assert found.status != Status.NOT_RUN, found.reason
    agrees(found, expected, by_hand(worlds, [True] * len(worlds), frames))


def agrees(found: Finding, expected: dict[str, float], alone: dict[str, float]) -> None:
    assert found.status != Status.NOT_RUN, found.reason
    assert found.worst == pytest.approx(max(expected.values()), abs=1e-9)
    assert found.people == sum(value > 0.5 + 1e-9 for value in expected.values())
    assert found.details["without"] == pytest.approx(max(alone.values()))
    assert found.details["people_without"] == sum(value > 0.5 + 1e-9 for value in alone.values())


# --- by the requirement alone, from files ----------------------------------------------------------------------------

PLACES = SCHEMA.with_roles({"age": Role.DROP})
PARENT = {"a1": "A", "a2": "A", "b1": "B", "b2": "B"}


@given(frames=series(), wide=st.lists(st.sets(st.sampled_from("AB")), min_size=2, max_size=2))
@examples(60)
def test_minimality_equals_the_definition(frames: Frames, wide: list[set[str]]) -> None:
    """Of files, someone who knows the requirement: each generalized group has a class of more than half HIV."""
    frames = [frame.drop("age") for frame in frames]
    files = [
        frame.with_columns(place=pl.Series([PARENT[one] if PARENT[one] in up else one for one in frame["place"]]))
        for frame, up in zip(frames, wide, strict=True)
    ]
    everyone = pl.concat(frames).unique("who", maintain_order=True).drop("ill")
    worlds = [
        world
        for values in product(["HIV", "flu"], repeat=everyone.height)
        if all(shows(world, file) for world in [dict(zip(everyone["who"], values, strict=True))] for file in files)
        for world in [dict(zip(everyone["who"], values, strict=True))]
    ]
    pairs = list(zip(files, frames, strict=True))
    kept = [all(forced(world, file, frame) for file, frame in pairs) for world in worlds]
    known = Knowledge(population=everyone, requirement=REQUIREMENT, values=("HIV",))
    found = ri.attack(files, PLACES, only="joint-mechanism", knowledge=known)["joint-mechanism"]
    if not any(kept):
        assert "none of the worlds" in (found.reason or "")
        return
    agrees(found, by_hand(worlds, kept, frames), by_hand(worlds, [True] * len(worlds), frames))


def shows(world: dict[str, str], file: pl.DataFrame) -> bool:
    own = zip(file["place"], (world[who] for who in file["who"]), strict=True)
    return Counter(own) == Counter(zip(file["place"], file["ill"], strict=True))


def forced(world: dict[str, str], file: pl.DataFrame, frame: pl.DataFrame) -> bool:
    """Whether every generalized group has an exact place where more than half have HIV."""
    shares = {
        place: [world[who] == "HIV" for who in frame.filter(pl.col("place") == place)["who"]]
        for place in frame["place"].unique()
    }
    exact = dict(zip(file["place"], frame["place"], strict=True))
    inside = {group: {b for a, b in zip(file["place"], frame["place"], strict=True) if a == group} for group in exact}
    return all(
        any(2 * sum(shares[one]) > len(shares[one]) for one in inside[group]) for group in "AB" if group in exact
    )


# --- worlds, walks and refusals --------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn) -> tuple[SeriesWorlds, np.ndarray[Any, Any]]:
    """Groups of up to seven people in three releases, and their true values."""
    people, values = draw(st.integers(2, 7)), 3
    truth = np.array(draw(st.lists(st.integers(0, values - 1), min_size=people, max_size=people)), np.int32)
    rows = [draw(st.lists(st.integers(-1, 2), min_size=people, max_size=people)) for _ in range(3)]
    rows[0] = [max(one, 0) for one in rows[0]]
    groups, stock, first = np.full((3, people), -1), [], 0
    for turn, row in enumerate(rows):
        for number in sorted({*row} - {-1}):
            groups[turn, [one == number for one in row]] = first
            stock.append(np.bincount(truth[groups[turn] == first], minlength=values))
            first += 1
    return SeriesWorlds(groups, np.array(stock)), truth


def every(series: SeriesWorlds) -> np.ndarray[Any, Any]:
    people, values = series.groups.shape[1], series.stock.shape[1]
    found = []
    for world in product(range(values), repeat=people):
        counts = np.zeros_like(series.stock)
        for row in series.groups:
            there = row >= 0
            np.add.at(counts, (row[there], np.array(world)[there]), 1)
        if (counts == series.stock).all():
            found.append(world)
    return np.array(found)


@given(worlds(), st.integers(0, 2), st.data())
@examples(80)
def test_conditions_are_those_of_the_definition(
    drawn: tuple[SeriesWorlds, np.ndarray[Any, Any]], number: int, data: st.DataObject
) -> None:
    """Conditions on some people each: a random half of their worlds fit, among them the true one."""
    series, truth = drawn
    people, values = series.groups.shape[1], series.stock.shape[1]
    conditions, keep = [], np.ones(len(all_worlds := every(series)), bool)
    for turn in range(number):
        some = np.array(sorted(data.draw(st.sets(st.integers(0, people - 1), min_size=1))))

        def fits(own: np.ndarray[Any, Any], some: Any = some, turn: int = turn) -> np.ndarray[Any, Any]:
            here = truth[some]
            return np.array([(own_ == here).all() or hash((turn, *own_.tolist())) % 2 == 0 for own_ in own], bool)

        conditions.append(Condition(some, fits))
        keep &= fits(all_worlds[:, some])
    weight = np.prod(series.shares[all_worlds], axis=1)
    for mask, side in ((keep, 0), (np.ones(len(keep), bool), 1)):
        expected = (
            np.stack(
                [((all_worlds == value) * (weight * mask)[:, None]).sum(axis=0) for value in range(values)], axis=1
            )
            / (weight * mask).sum()
        )
        found = conditioned(series, conditions, budget=10**6)
        assert (found[0].posterior, found[1])[side] == pytest.approx(expected)
    assert found[0].known.all()


def test_a_walk_believes_what_enumeration_does() -> None:
    """Six groups of two people: the condition asks for an even number of exchanged groups, which one part never is."""
    pairs = 12
    groups = np.arange(2 * pairs)[np.newaxis] // 2
    series = SeriesWorlds(groups, np.ones((pairs, 2), np.int64))
    truth = np.tile([0, 1], pairs).astype(np.int32)

    def few(own: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray((own[:, ::2] == 1).sum(axis=1) <= 1)

    condition = [Condition(np.arange(2 * pairs), few)]
    whole, alone = conditioned(series, condition, budget=10**6)
    assert alone == pytest.approx(np.full((2 * pairs, 2), 0.5))
    assert whole.posterior[::2, 1] == pytest.approx(np.full(pairs, 1 / 13))
    walked, _ = conditioned(series, condition, budget=3_000, truth=truth)
    assert walked.walked
    assert walked.known.any()
    assert np.abs(walked.posterior - whole.posterior)[walked.known].max() < 0.1
    drawn, _ = conditioned(series, condition, budget=3_000)
    assert not drawn.known.any(), "one world in 315 fits: too few are drawn, and there is no world to walk from"


def test_too_many_worlds_are_not_solved() -> None:
    series = SeriesWorlds(np.zeros((1, 12), np.int64), np.full((1, 6), 2, np.int64))
    found, _ = conditioned(series, [], budget=100)
    assert not found.known.any()


def test_large_groups_are_not_run_and_say_so() -> None:
    months = Population(seed=3, people=300).months(2)
    releases = [ri.anonymize(month, synth_schema(), "k=40 & simple-l=2", method="mondrian", seed=0) for month in months]
    plain = Schema(synth_schema().columns, synth_schema().hierarchies)
    found = ri.attack(releases, plain, only="joint-mechanism")["joint-mechanism"]
    assert found.status == Status.NOT_RUN


def test_what_each_release_hides_both_give_away_to_someone_who_knows_the_algorithm() -> None:
    """Table I of Wong et al. with one person more in the second release, by the method that is used by default.

    The groups alone say at most 1/2; but a group with two HIV was only formed because the first two had them.
    """
    born = Hierarchy("tree", tree={"Quarter": ["november", "december"]})
    plan = Schema.of_columns(identifier="who", quasi=["born"], sensitive=["ill"], taxonomies={"born": born})
    people = pl.DataFrame(
        {
            "who": [f"patient-{number}" for number in range(9)],
            "born": ["november"] * 2 + ["december"] * 7,
            "ill": ["HIV"] * 2 + ["flu"] * 7,
        }
    )
    releases = [ri.anonymize(some, plan, REQUIREMENT, method="pool", seed=0) for some in (people.head(8), people)]
    found = ri.attack(releases, plan, only="joint-mechanism")["joint-mechanism"]
    assert (found.status, found.people, found.worst) == (Status.EXPOSED, 2, 1.0)
    assert found.details["by"] == ["runs", "runs"]
    assert found.details["without"] <= 0.5
    assert found.details["people_without"] == 0
    sound(found, secrets=["november", "patient-"])
    assert "without the algorithm" in str(found.details["case"])


def test_values_that_change_are_not_followed() -> None:
    frame = pl.DataFrame({"who": list("abcd"), "place": ["a1"] * 4, "age": [30] * 4, "ill": ["HIV", "flu"] * 2})
    later = frame.with_columns(ill=pl.Series(["flu", "HIV"] * 2))
    releases = [ri.anonymize(one, SCHEMA, "simple-l=2", method="pool", seed=0) for one in (frame, later)]
    found = found_by(releases)
    assert found.status == Status.NOT_RUN
    assert "somebody's value changed" in (found.reason or "")


def test_without_identifiers_nobody_is_followed() -> None:
    frame = pl.DataFrame({"place": ["a1"] * 4, "age": [30] * 4, "ill": ["HIV", "flu"] * 2})
    nameless = Schema({name: role for name, role in SCHEMA.columns.items() if name != "who"}, SCHEMA.hierarchies)
    releases = [ri.anonymize(frame, nameless, "simple-l=2", method="pool", seed=0) for _ in range(2)]
    found = ri.attack(releases, nameless, only="joint-mechanism")["joint-mechanism"]
    assert found.status == Status.NOT_RUN
    assert "identifier" in (found.reason or "")
