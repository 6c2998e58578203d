"""Estimates of population uniqueness: each model against its own definition, and the rule which one to use."""

import numpy as np
import pytest
from scipy import stats

from reissue._arrays import Ints
from reissue.verify.risk.uniqueness import estimate_uniqueness, pitman, snb, zayatz


def counted(sizes: Ints) -> tuple[Ints, Ints]:
    size, classes = np.unique(sizes[sizes > 0], return_counts=True)
    return size, classes


def test_zayatz_is_bayes_with_hypergeometric_sampling() -> None:
    size, classes = np.array([1, 2, 5, 40]), np.array([30, 11, 4, 1])
    sample, fraction = int(size @ classes), 0.25
    chance = stats.hypergeom(round(sample / fraction), size, sample).pmf(1)
    conditional = classes[0] * chance[0] / (classes @ chance)
    assert zayatz(size, classes, fraction) == pytest.approx(30 * conditional / fraction)


def test_snb_finds_the_parameters_that_made_the_counts() -> None:
    """Counts of classes as the model expects them give its own number of uniques back."""
    alpha, beta, total, fraction = 0.7, 0.2, 1e6, 0.3
    people = np.arange(1, 400)
    chance = stats.nbinom(alpha, beta).pmf(people - 1)
    records = np.arange(1, 60)
    seen = [total * float(chance @ stats.binom(people, fraction).pmf(number)) for number in records]
    found = snb(records, np.array(seen), fraction)
    # Shlosser's number of classes is an estimate too.
    assert found == pytest.approx(total * beta**alpha, rel=0.1)


def restaurant(people: int, alpha: float, theta: float, rng: np.random.Generator) -> Ints:
    """Classes of people by Pitman's model itself: everyone joins a class, or opens one."""
    table, sizes = np.empty(people, np.int64), [0]
    sizes.clear()
    for number in range(people):
        if rng.random() * (number + theta) < theta + alpha * len(sizes):
            table[number] = len(sizes)
            sizes.append(1)
            continue
        while True:  # a random earlier person's class, kept with probability (size - alpha) / size
            place = int(table[rng.integers(number)])
            if rng.random() * sizes[place] < sizes[place] - alpha:
                break
        table[number] = place
        sizes[place] += 1
    return table


def test_pitman_on_its_own_population() -> None:
    rng = np.random.default_rng(5)
    table = restaurant(40_000, 0.6, 50.0, rng)
    alone = int((np.bincount(table) == 1).sum())
    found = [
        pitman(*counted(np.bincount(rng.permutation(table)[:number])), number / len(table)) for number in (2000, 8000)
    ]
    assert found == [pytest.approx(alone, rel=0.1), pytest.approx(alone, rel=0.1)]


def test_pitman_has_no_answer_where_all_are_alone() -> None:
    assert pitman(np.array([1]), np.array([50]), 0.1) is None
    assert snb(np.array([1, 3]), np.array([50, 2]), 0.1) is None


def test_the_rule() -> None:
    sizes = np.repeat([1, 2, 3, 10], [60, 20, 10, 3])
    few, many = estimate_uniqueness(sizes, 0.05), estimate_uniqueness(sizes, 0.4)
    assert few.model == "pitman"
    assert few.people == few.estimates["pitman"]
    known = {name: many.estimates[name] for name in ("snb", "zayatz")}
    assert many.people == min(value for value in known.values() if value is not None)
    assert many.share == pytest.approx(many.people / (sizes.sum() / 0.4))
    only = estimate_uniqueness(np.ones(20, np.int64), 0.05)
    assert only.model == "zayatz"
    assert only.people == pytest.approx(400)


def test_nothing_to_estimate() -> None:
    assert estimate_uniqueness(np.array([2, 3]), 0.1).people == 0
    whole = estimate_uniqueness(np.array([1, 1, 2]), 1.0)
    assert (whole.model, whole.people, whole.share) == ("sample", 2, 0.5)
