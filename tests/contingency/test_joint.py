"""Tables of counts in the solver and in the joint attack: against all worlds, and calibrated on synthetic hospitals."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks.counts import ROLES, months, published

import reissue as ri
from reissue._arrays import Floats, Ints
from reissue.schema import Schema
from reissue.solver import Model, Observation, solve
from reissue.solver import classes as classes_module

STEPS = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9]])


@dataclass(frozen=True)
class Seen:
    """One margin: when, who is in which class, and the bounds of its cells."""

    time: int
    people: Ints
    group: Ints
    low: Ints
    high: Ints

    @property
    def observation(self) -> Observation:
        group, value = np.nonzero(self.high > 0)
        free = np.zeros(len(self.low), np.int64)
        high, low = self.high[group, value], self.low[group, value]
        return Observation(self.people, self.group, group, value, high, free, cell_least=low)


def protected(counts: Ints, how: str, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Published bounds of counts."""
    if how == "suppressed":
        small = (counts > 0) & (counts < 3)
        return np.where(small, 1, counts), np.where(small, 2, counts)
    if how == "rounded":
        near = (np.rint(counts / 3) * 3).astype(np.int64)
        return np.maximum(near - 1, 0), near + 1
    if how == "noise":
        near = np.maximum(counts + rng.integers(-1, 2, counts.shape), 0)
        return np.maximum(near - 1, 0), near + 1
    return counts, counts


def world(rng: np.random.Generator, how: str, *, changing: bool, microdata: bool) -> tuple[list[Seen], Floats]:
    """Five people in two releases of two tables each, or of a table and a microdata release."""
    people, values, dates = 5, 3, 2
    prior = rng.dirichlet(np.full(values, 2.0))
    true = np.zeros((dates, people), np.int64)
    true[0] = rng.choice(values, people, p=prior)
    true[1] = [rng.choice(values, p=STEPS[one]) for one in true[0]] if changing else true[0]
    series = []
    for time in range(dates):
        there = np.flatnonzero(rng.random(people) < 0.85) if time else np.arange(people)
        there = there if len(there) else np.array([0])
        for table in range(2):
            group = np.unique(rng.integers(0, 2, people)[there], return_inverse=True)[1].reshape(-1)
            counts = np.zeros((group.max() + 1, values), np.int64)
            np.add.at(counts, (group, true[time, there]), 1)
            exact = microdata and table == 1
            series.append(Seen(time, there, group, *protected(counts, "exact" if exact else how, rng)))
    return series, prior


def enumerated(series: Sequence[Seen], prior: Floats, model: Model) -> Floats:
    """Posterior of everyone's value at each time, over all worlds (times x people x values)."""
    people, values = 5, len(prior)
    at = {person: sorted({one.time for one in series if person in one.people}) for person in range(people)}
    ways = []
    for times in at.values():
        own = []
        for path in itertools.product(range(values), repeat=len(times)):
            weight = prior[path[0]] if path else 1.0
            for (before, now), (then, later) in zip(itertools.pairwise(path), itertools.pairwise(times), strict=True):
                weight *= model.after(later - then)[before, now]
            own.append((dict(zip(times, path, strict=True)), weight))
        ways.append([way for way in own if way[1] > 0])
    found = np.zeros((2, people, values))
    for chosen in itertools.product(*ways):
        if all(_fits(one, [way[0] for way in chosen]) for one in series):
            weight = np.prod([way[1] for way in chosen])
            for person, (values_at, _) in enumerate(chosen):
                for time, value in values_at.items():
                    found[time, person, value] += weight
    return np.asarray(found / np.maximum(found.sum(axis=2, keepdims=True), 1e-300))


def _fits(one: Seen, paths: Sequence[dict[int, int]]) -> bool:
    counts = np.zeros_like(one.low)
    for person, group in zip(one.people.tolist(), one.group.tolist(), strict=True):
        counts[group, paths[person][one.time]] += 1
    return bool((counts >= one.low).all() and (counts <= one.high).all())


@pytest.mark.parametrize("how", ["exact", "suppressed", "rounded", "noise"])
@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("microdata", [False, True])
def test_posteriors_are_those_of_all_worlds(how: str, *, changing: bool, microdata: bool) -> None:
    rng = np.random.default_rng([len(how), changing, microdata])
    model = Model(3, STEPS if changing else None)
    for _ in range(3):
        series, prior = world(rng, how, changing=changing, microdata=microdata)
        expected = enumerated(series, prior, model)
        times = [one.time for one in series]
        found = solve([one.observation for one in series], model, prior=np.tile(prior, (5, 1)), times=times)
        for one, release, chance in zip(series, found.releases, found.chance, strict=True):
            mine = np.zeros((5, 3))
            mine[release.person[release.row], release.value] = chance
            truth = expected[one.time, one.people]
            assert np.abs(mine[one.people] - truth).max() < 0.03
            certain = (mine[one.people] > 0).sum(axis=1) == 1
            assert (truth.max(axis=1)[certain] > 1 - 1e-9).all(), "nothing is certain that is not"


# --- a hospital that publishes three two-way tables every month -------------------------------------------------------


@pytest.mark.parametrize(("seed", "threshold"), [(11, 0), (12, 5)])
def test_repetition_is_the_leak_and_posteriors_are_calibrated(seed: int, threshold: int) -> None:
    tables = months(seed, 300, 5)
    releases = [published(month, threshold) for month in tables]
    known = ri.Knowledge(members=tables)
    found = ri.attack(releases, Schema.read(ROLES), only="joint", knowledge=known)["joint"]
    alone = ri.attack(releases[:1], Schema.read(ROLES), only="joint", knowledge=ri.Knowledge(members=tables[:1]))
    assert found.people > 3 * alone["joint"].people
    assert found.details["right"] >= 0.9 * found.people
    steps = " ".join(found.details["case"]["steps"])
    assert "subtracting one release from the next" in steps
    without = ri.Knowledge(members=[month.drop("disease") for month in tables])
    plain = ri.attack(releases, Schema.read(ROLES), only="joint", knowledge=without)["joint"]
    assert plain.details["right"] is None
    assert plain.people > 0


def test_a_table_and_a_microdata_release_are_solved_together() -> None:
    month = months(3, 80, 1)[0]
    schema = Schema.read(ROLES)
    micro = ri.anonymize(month, schema, "k=5 & l=3", seed=1)
    both = ri.attack([micro, published(month)], schema, only="joint", knowledge=ri.Knowledge(members=[month, month]))
    apart = ri.attack([micro], schema, only="joint")["joint"]
    found = both["joint"]
    assert found.releases == (1, 2)
    assert found.people > apart.people, "the table says more of the same people"


def test_without_a_register_the_joint_attack_says_what_it_needs() -> None:
    found = ri.attack([published(months(3, 80, 1)[0])], Schema.read(ROLES), only="joint")["joint"]
    assert found.reason is not None
    assert "give a table of people" in found.reason
    assert set(found.needs) == {"members", "people"}


def test_people_whom_no_release_tells_apart_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = months(5, 200, 2)
    releases, known = [published(month) for month in tables], ri.Knowledge(members=tables)
    asked = {"only": "joint", "knowledge": known}
    each = ri.attack(releases, Schema.read(ROLES), **asked)["joint"]  # type: ignore[arg-type]
    monkeypatch.setattr(classes_module, "_FEWEST", 0)
    monkeypatch.setattr(classes_module, "_WORTH", 1.0)
    merged = ri.attack(releases, Schema.read(ROLES), **asked)["joint"]  # type: ignore[arg-type]
    assert abs(merged.people - each.people) <= 0.05 * each.population
    assert merged.population == each.population
