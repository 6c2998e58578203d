"""Groups made by value: what newcomers and counterfeits have is counted, near the truth, and makes nothing certain."""

from dataclasses import replace

import numpy as np
import pytest

from reissue._arrays import Floats, Ints
from reissue.solver import Model, Observation, Posterior, solve
from reissue.solver.estimation import PriorShares
from reissue.solver.transitions import pairings
from tests.solver.series import tiny
from tests.solver.worlds import observed

VALUES = 6
COMING = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
STEPS = 0.92 * np.eye(VALUES) + 0.08 * COMING
"""Most keep their value from one release to the next: how common values are in the long run says little."""


@pytest.mark.parametrize("seed", range(20))
def test_what_is_learnt_is_what_newcomers_and_counterfeits_are_found_to_have(seed: int) -> None:
    case = tiny(np.random.default_rng(seed), people=8, releases=3, counterfeits=0.6)
    found = solve(case.series, Model(case.values, case.steps))
    newcomers = np.arange(8) % 2 == 1
    begun = PriorShares.before(newcomers, None, case.values)
    learned = begun.estimated(found.releases, pairings(found.releases), found.chance)
    first, nobody, met = np.zeros(case.values), np.zeros(case.values), set[int]()
    for release, chance in zip(found.releases, found.chance, strict=True):
        nobody += np.bincount(release.cell_value, release.count, case.values)
        for row, person in enumerate(release.person.tolist()):
            for entry in range(release.starts[row], release.starts[row + 1]):
                nobody[release.value[entry]] -= chance[entry]
                if newcomers[person] and person not in met:
                    first[release.value[entry]] += chance[entry]
            met.add(person)
    for counted, expected in ((first, learned.newcomers), (np.maximum(nobody, 0), learned.counterfeits)):
        shares = (counted + 100 / case.values) / (counted.sum() + 100)
        assert expected == pytest.approx(1 / 3 / case.values + 2 / 3 * shares, abs=1e-6)


def test_it_comes_nearer_to_the_truth_and_claims_do_too() -> None:
    series, first, truth = slowly()
    without, learned = solved(series, first, learn=False), solved(series, first)
    begun = np.bincount([truth[time][one] for one, time in enumerate(first) if time > 0], minlength=VALUES)
    invented = sum(
        np.bincount(seen.cell_value, seen.cell_count, VALUES) - np.bincount(true[true >= 0], minlength=VALUES)
        for seen, true in zip(series, truth, strict=True)
    )
    assert learned.shares is not None
    for found, counts in ((learned.shares.newcomers, begun), (learned.shares.counterfeits, np.asarray(invented))):
        assert apart(found, counts) < 0.8 * apart(np.full(VALUES, 1 / VALUES), counts)
    assert surprise(learned, truth) < 0.8 * surprise(without, truth)


def test_nothing_is_certain_or_impossible_by_it() -> None:
    series, first, _ = slowly()
    without, learned = solved(series, first, learn=False), solved(series, first)
    for one, other in zip(without.chance, learned.chance, strict=True):
        assert np.array_equal(one > 0, other > 0)


def test_few_records_move_what_is_expected_so_little_that_it_is_not_solved_again() -> None:
    series = [observed([([0, 1], {0: 1, 1: 1}, 0), ([2], {0: 1, 1: 1}, 1)]), observed([([0, 3], {0: 1, 1: 1}, 0)])]
    first = first_times(series, 4)
    found, without = solved(series, first), solved(series, first, learn=False)
    assert not found.shares_estimated
    assert all(np.array_equal(*one) for one in zip(found.chance, without.chance, strict=True))


def test_progress_goes_on_to_the_end_while_it_is_solved_again() -> None:
    series, first, _ = slowly()
    seen: list[float] = []
    solved(series, first, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert sum(one > 1 / 3 for one in seen) >= 2


def test_how_far_it_moved_is_of_newcomers_or_of_counterfeits_whichever_is_more() -> None:
    before, after = (
        PriorShares.before(np.ones(1, np.bool_), None, 2),
        PriorShares(np.ones(1, np.bool_), np.array([0.6, 0.4]), np.array([0.2, 0.8]), np.full(2, 0.5)),
    )
    assert after.moved(before) == pytest.approx(0.3)


def slowly() -> tuple[list[Observation], Ints, list[Ints]]:
    """Groups of one record of each value. One person in five is new each time."""
    rng = np.random.default_rng(7)
    here, born = np.arange(400), 400
    value = rng.choice(VALUES, 400, p=COMING)
    lives = [(here, value)]
    for _ in range(5):
        value = np.array([rng.choice(VALUES, p=STEPS[one]) for one in value])
        goes = np.flatnonzero(rng.random(400) < 0.2)
        here = here.copy()
        here[goes], value[goes] = born + np.arange(len(goes)), rng.choice(VALUES, len(goes), p=COMING)
        born += len(goes)
        lives.append((here, value))
    series = [by_value(here, value, rng) for here, value in lives]
    truth = [np.full(born, -1) for _ in lives]
    for true, (there, had) in zip(truth, lives, strict=True):
        true[there] = had
    return series, first_times(series, born), truth


def first_times(series: list[Observation], people: int) -> Ints:
    first = np.full(people, -1)
    for place in reversed(range(len(series))):
        first[series[place].people] = place
    return first


def by_value(here: Ints, value: Ints, rng: np.random.Generator) -> Observation:
    """Groups of one record of each of the three values that most are left of, and counterfeits for what lacks."""
    queues = [rng.permutation(here[value == one]).tolist() for one in range(VALUES)]
    groups = []
    while any(queues):
        shown = sorted(range(VALUES), key=lambda one: -len(queues[one]))[:3]
        members = [queues[one].pop() for one in shown if queues[one]]
        groups.append((members, dict.fromkeys(shown, 1), 3 - len(members)))
    return observed(groups)


def solved(series: list[Observation], first: Ints, *, learn: bool = True, **more: object) -> Posterior:
    return solve(series, Model(VALUES, STEPS), late=first > 0 if learn else None, **more)  # type: ignore[arg-type]


def apart(shares: Floats, counts: Floats | Ints) -> float:
    return float(np.abs(shares / shares.sum() - counts / counts.sum()).sum()) / 2


def surprise(found: Posterior, truth: list[Ints]) -> float:
    """The mean of minus the logarithm of what is claimed for the true value."""
    claimed = [
        release.sums(chance * (release.value == true[release.person[release.row]]))
        for release, chance, true in zip(found.releases, found.chance, truth, strict=True)
    ]
    return float(-np.log(np.concatenate(claimed)).mean())


def test_it_is_estimated_only_where_values_change_and_it_is_known_who_is_there() -> None:
    even = [observed([([0, 1], {0: 1, 1: 1}, 0)]), observed([([1, 2], {0: 1, 1: 1}, 0)])]
    odd = [observed([([0, 1, 3], {0: 2, 1: 1}, 0)]), observed([([1, 2, 3], {0: 2, 1: 1}, 0)])]
    told = [replace(one, counterfeits=np.array([0, 1])) for one in even]
    seats = [replace(one, occupant=one.person) for one in even]
    late, changing = np.array([False, False, True, False]), Model(2, np.array([[0.8, 0.2], [0.3, 0.7]]))
    assert solve(even, changing, late=late).shares is not None
    for series, model in ((even, Model(2)), (odd, changing), (told, changing), (seats, changing)):
        assert solve(series, model, late=late).shares is None
