"""Randomized values after exact releases: against the sum over all worlds, and in a ledger that goes on."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue._arrays import Floats, Ints
from reissue.attacks.findings import Status
from reissue.cli._app import run
from reissue.publishing.after_exact import ExactReleases
from reissue.randomized import (
    Adversary,
    ProtectedEvents,
    PublicRecord,
    StartingBeliefs,
    TrueValues,
    exact_posteriors,
    mechanism,
    publish,
    remembered_from,
)
from reissue.randomized.adversaries import normalized
from reissue.solver import Model, Observation, solve
from reissue.synth import Population, schema, updates
from tests.effort import examples
from tests.randomized.worlds import KEY, changes, shares


def exact_release(values: Ints) -> Observation:
    """One group of everybody."""
    shown, count = np.unique(values, return_counts=True)
    alone = np.zeros(len(values), np.int64)
    return Observation(
        np.arange(len(values)), alone, np.zeros(len(shown), np.int64), shown, count, np.zeros(1, np.int64)
    )


def record_of(published: Ints, chance: Floats, size: int) -> PublicRecord:
    """The last exact release, and randomized ones (releases x people)."""
    before = np.full((1, published.shape[1]), size)
    ones = np.ones((1, *chance.shape[1:]))
    return PublicRecord(
        np.arange(-1, len(published)),
        np.concatenate([before, published]),
        np.arange(published.shape[1]),
        np.concatenate([ones, chance]),
    )


def all_worlds(exact: list[Ints], step: Floats, published: Ints, chance: Floats) -> Floats:
    """Releases (the last exact one, then randomized ones) x people x values, by the sum over everybody's histories."""
    people, size = published.shape[1], len(step)
    length = len(exact) + len(published)
    histories = list(product(range(size), repeat=length))
    weights = np.array(
        [[_weight(h, len(exact), step, published[:, i], chance[:, i]) for h in histories] for i in range(people)]
    )
    counts = [np.bincount(one, minlength=size) for one in exact]
    found = np.zeros((1 + len(published), people, size))
    for world in product(range(len(histories)), repeat=people):
        weight = np.prod([weights[i, h] for i, h in enumerate(world)])
        if not weight:
            continue
        values = np.array([histories[h] for h in world])
        if all((np.bincount(values[:, t], minlength=size) == one).all() for t, one in enumerate(counts)):
            for t in range(1 + len(published)):
                found[t, np.arange(people), values[:, len(exact) - 1 + t]] += weight
    return np.asarray(found / found.sum(2, keepdims=True))


def _weight(history: tuple[int, ...], exact: int, step: Floats, published: Ints, chance: Floats) -> float:
    weight = 1.0
    for time in range(1, len(history)):
        before, now, drawn = history[time - 1], history[time], time - exact
        weight *= step[before, now]
        if drawn == 0 or (drawn > 0 and before != now):
            weight *= chance[drawn, now]
        elif drawn > 0:
            weight *= published[drawn] == published[drawn - 1]
    return weight


@given(st.integers(0, 10_000))
@examples(25)
def test_a_mixed_series_is_solved_as_the_sum_over_all_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    people, size = 3, 2
    step = 0.8 * changes(rng, size) + 0.2 / size  # every record is possible
    exact = [rng.integers(0, size, people)]
    moved = np.array([rng.choice(size, p=step[value]) for value in exact[0]])
    exact += [moved] if seed % 2 else []
    published = rng.integers(0, size, (2, people))
    chance = 0.05 + 0.9 * rng.random((2, people, size))
    known = Adversary("joint", np.full((people, size), 1 / size), step)
    record = record_of(published, chance, size)
    likelihood = exact_posteriors(known, record)[0]
    series, model = [exact_release(one) for one in exact], Model(size, step)
    found = solve(series, model, evidence=likelihood, exact=True)
    last = np.zeros((people, size))
    last[found.releases[-1].person[found.releases[-1].row], found.releases[-1].value] = found.chance[-1]
    cavity = normalized(np.divide(last, likelihood, out=np.zeros_like(last), where=likelihood > 0))
    mine = exact_posteriors(Adversary("joint", cavity, step), record)
    np.testing.assert_allclose(mine, all_worlds(exact, step, published, chance), atol=1e-6)


@given(st.integers(0, 10_000))
@examples(25)
def test_beliefs_that_start_from_exact_releases_are_those_of_the_record_and_stay_within_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, people = 3, np.arange(40)
    step = changes(rng, size)
    adversary = Adversary("class", shares(rng, 1, size), step, rng.random(size) * 0.3 if seed % 2 else None)
    belief = 0.1 / size + 0.9 * shares(rng, len(people), size)
    events = ProtectedEvents.of_values(size, 0.8)
    made = mechanism([adversary], events)
    seen = -rng.integers(1, 3, len(people))
    before = remembered_from(made, StartingBeliefs(people, belief, seen), key=KEY)
    shown, values = [], np.array([rng.choice(size, p=one) for one in belief])
    for release in range(4):
        values = np.array([rng.choice(size, p=step[one]) for one in values])
        here = np.flatnonzero(rng.random(len(people)) < 0.8)
        rows = TrueValues(people[here], values[here], np.zeros(len(here), np.int64))
        some = publish(made, before, release, rows, key=KEY)
        before = some.remembered
        shown.append((here, some))
    times = [-2, -1, 0, 1, 2, 3]
    published, chance = np.full((6, len(people)), -1), np.ones((6, len(people), size))
    published[2 + seen, people] = size
    for release, (here, some) in enumerate(shown):
        published[2 + release, here], chance[2 + release, here] = some.published, some.chance
    record = PublicRecord(np.array(times), published, people, chance)
    blank = PublicRecord(np.array(times), np.where(published >= 0, size, -1), people, np.ones_like(chance))
    known = Adversary("joint", belief, step, adversary.departs)
    posterior, prior = exact_posteriors(known, record), exact_posteriors(known, blank)
    here, some = shown[-1]
    np.testing.assert_allclose(some.belief()[:], posterior[-1, here], atol=1e-5)
    fine = (prior <= 0.8).all((0, 2))
    assert (posterior[:, fine] <= 0.8 + 1e-5).all()
    first = np.array([next((t for t in range(2, 6) if published[t, i] >= 0), -1) for i in people])
    for person in np.flatnonzero(first >= 0):
        at = first[person]
        moved = belief[person] @ np.linalg.matrix_power(step, times[at] - seen[person])
        if moved.max() > 0.8 + 1e-3 and adversary.departs is None:
            assert np.ptp(chance[at, person]) < 1e-9  # nothing is told of who is above the limit already


POLICY = '\n[updates]\nfile = "updates.csv"\n[policy]\nrequire = "k=5 & l=3"\nmethod = "cohorts"\nattacks = ["joint"]\n'
DRAWN = '\n[updates]\nfile = "updates.csv"\n[policy]\nrequire = "k=5"\nmethod = "pool"\nvalues = "randomized"\n'


def test_a_ledger_of_exact_releases_goes_on_from_the_shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tables = list(Population(seed=5, people=250).months(5))
    updates().write_csv(tmp_path / "updates.csv")
    for name, policy in (("exact", POLICY), ("drawn", DRAWN)):
        (tmp_path / f"{name}.toml").write_text(schema().dumps() + policy)
    for number, table in enumerate(tables, 1):
        table.write_csv(tmp_path / f"{number}.csv")
    place = str(tmp_path / "x.ledger")
    assert run(["publish", str(tmp_path / "1.csv"), "--ledger", place, "--schema", str(tmp_path / "exact.toml")]) == 0
    assert run(["publish", str(tmp_path / "2.csv"), "--ledger", place]) == 0
    assert run(["ledger", "amend", place, "--schema", str(tmp_path / "drawn.toml")]) == 0
    for number in (3, 4):
        assert run(["publish", str(tmp_path / f"{number}.csv"), "--ledger", place]) == 0
    with ri.Ledger.open(place) as ledger:
        for release in ledger.releases[2:]:
            finding = release.findings["posterior"]
            assert finding.status == Status.WITHSTOOD
            assert finding.details["exact_releases"] == 2
            assert "began with 2 exact releases" in finding.sentence
        assert not ledger.verify()
        exact = ExactReleases.of(ledger, ledger.releases[:2], ledger.schema, ledger.policy)
        people = ledger.key.pseudonyms(tables[1]["patient"]).to_numpy()
        known = exact.known(exact.names)
        order = np.argsort(known.pseudonyms)
        row = order[np.searchsorted(known.pseudonyms, people, sorter=order)]
        truth = np.array([exact.names.index(text) for text in tables[1]["disease"].cast(pl.String)])
        assert (known.seen[row] == -1).all()
        assert known.belief[row, truth].min() > 1e-9  # nobody's true value is ruled out
    assert run(["ledger", "amend", place, "--schema", str(tmp_path / "exact.toml")]) == 0
    assert run(["publish", str(tmp_path / "5.csv"), "--ledger", place]) != 0
    assert "would undo that protection" in capfd.readouterr().err
