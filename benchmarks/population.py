"""Population uniqueness estimated from samples of simulated populations whose uniques are known: bias and spread.

Four superpopulations of 100,000 people: two that are what a model assumes (Pitman's, slide negative binomial), one
with lognormal class sizes, and one of people with five independent columns, as microdata have. From each, samples of
1, 5 and 20% are drawn. The relative error is (estimate - truth) / truth; its median over the samples is the bias, the
range of its middle half the spread. The last column is the model that the rule of Dankar et al. chooses.
"""

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.verify.risk.uniqueness import estimate_uniqueness

PEOPLE = 100_000
FRACTIONS = (0.01, 0.05, 0.2)
MODELS = ("pitman", "zayatz", "snb", "rule")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="population", description=__doc__)
    parser.add_argument("--draws", type=int, default=40, help="samples of each population and fraction")
    draws = parser.parse_args(arguments).draws
    print(f"{'population':<26}{'unique':>8}{'sample':>8}" + "".join(f"{name:>22}" for name in MODELS) + "  chosen")
    for name, make in POPULATIONS.items():
        rng = np.random.default_rng(20)
        classes = make(rng)
        truth = int((np.bincount(classes) == 1).sum())
        for fraction in FRACTIONS:
            found = [sampled(classes, fraction, truth, rng) for _ in range(draws)]
            errors = {model: np.array([one[0][model] for one in found]) for model in MODELS}
            chosen = Counter(one[1] for one in found).most_common(1)[0][0]
            cells = "".join(f"{shown(errors[model]):>22}" for model in MODELS)
            print(f"{name:<26}{truth / PEOPLE:>8.1%}{fraction:>8.0%}{cells}  {chosen}", flush=True)


def sampled(classes: Ints, fraction: float, truth: int, rng: np.random.Generator) -> tuple[dict[str, float], str]:
    """The relative error of each model on one sample, and the model that the rule chooses."""
    some = rng.permutation(len(classes))[: round(fraction * len(classes))]
    sizes = np.bincount(classes[some])
    found = estimate_uniqueness(sizes[sizes > 0], fraction)
    estimates = {**found.estimates, "rule": found.people}
    errors = {name: np.nan if value is None else (value - truth) / truth for name, value in estimates.items()}
    return {model: errors.get(model, np.nan) for model in MODELS}, found.model


def shown(errors: Floats) -> str:
    """Median and middle half, and how often there was no answer."""
    known = errors[~np.isnan(errors)]
    if not len(known):
        return "no answer"
    low, middle, high = np.percentile(known, [25, 50, 75])
    without = f" ({len(errors) - len(known)} none)" if len(known) < len(errors) else ""
    return f"{middle:+.0%} [{low:+.0%} {high:+.0%}]{without}"


# --- populations -----------------------------------------------------------------------------------------------------


def by_pitman(rng: np.random.Generator) -> Ints:
    """Everyone joins a class or opens one, with alpha 0.6 and theta 100."""
    alpha, theta = 0.6, 100.0
    classes, sizes = np.empty(PEOPLE, np.int64), list[int]()
    for person in range(PEOPLE):
        if rng.random() * (person + theta) < theta + alpha * len(sizes):
            classes[person] = len(sizes)
            sizes.append(1)
            continue
        while True:
            place = int(classes[rng.integers(person)])
            if rng.random() * sizes[place] < sizes[place] - alpha:
                break
        classes[person] = place
        sizes[place] += 1
    return classes


def by_sizes(sizes: Ints) -> Ints:
    """People of classes of these sizes, as many as fit."""
    return np.repeat(np.arange(len(sizes)), sizes)[:PEOPLE]


def by_snb(rng: np.random.Generator) -> Ints:
    """Class sizes are 1 + negative binomial: four in ten classes are one person."""
    return by_sizes(1 + rng.negative_binomial(0.5, 0.15, PEOPLE))


def by_lognormal(rng: np.random.Generator) -> Ints:
    """People fall into 50,000 cells whose chances are lognormal."""
    chance = rng.lognormal(0, 2, 50_000)
    return np.asarray(rng.choice(50_000, PEOPLE, p=chance / chance.sum()), np.int64)


def by_columns(rng: np.random.Generator) -> Ints:
    """People with an age, an area, a sex, a job and a country of birth, independent of each other."""
    age = np.clip(rng.normal(42, 20, PEOPLE), 0, 99).astype(np.int64) // 2
    area = np.minimum(rng.zipf(1.7, PEOPLE), 60)
    sex = rng.integers(0, 2, PEOPLE)
    job = np.minimum(rng.zipf(1.8, PEOPLE), 40)
    country = np.minimum(rng.zipf(2.5, PEOPLE), 30)
    keys = (((age * 61 + area) * 2 + sex) * 41 + job) * 31 + country
    return np.asarray(np.unique(keys, return_inverse=True)[1], np.int64).reshape(-1)


POPULATIONS: dict[str, Callable[[np.random.Generator], Ints]] = {
    "Pitman": by_pitman,
    "slide negative binomial": by_snb,
    "lognormal": by_lognormal,
    "five columns": by_columns,
}
