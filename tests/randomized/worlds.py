"""Small random worlds, and a second way to every posterior: enumerate all histories of a person."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from reissue._arrays import Floats
from reissue.randomized.adversaries import Adversary
from reissue.randomized.series import Mechanism, Randomized, TrueValues, publish

KEY = b"sixteen bytes..."


def shares(rng: np.random.Generator, *shape: int) -> Floats:
    return np.asarray(rng.dirichlet(np.ones(shape[-1]), shape[:-1]))


def changes(rng: np.random.Generator, size: int, stays: float = 0.7) -> Floats:
    """Some changes are impossible; values mostly stay."""
    can = rng.random((size, size)) < 0.6
    weights = rng.random((size, size)) * can * (1 - np.eye(size))
    total = weights.sum(1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    moves = (1 - stays) * rng.random((size, 1)) * (total > 0)
    return np.asarray(moves * weights + np.diag(1 - moves[:, 0]))


def adversaries(rng: np.random.Generator, size: int, classes: int) -> list[Adversary]:
    """One who takes people for alike, and one who knows classes and departure rates; both know the changes."""
    step, alike = changes(rng, size), shares(rng, size)
    return [
        Adversary("alike", np.tile(alike, (classes, 1)), step),
        Adversary("class, departures", shares(rng, classes, size), step, rng.random(size) * 0.5),
    ]


@dataclass
class Played:
    """A series: the releases, and the columns that each was made from."""

    releases: list[int]
    columns: list[TrueValues]
    made: list[Randomized]

    def record(self, person: int) -> list[tuple[int, int, Floats] | None]:
        """(release, published value, likelihood by value) of each release, None where the person is absent."""
        found: list[tuple[int, int, Floats] | None] = []
        for release, columns, one in zip(self.releases, self.columns, self.made, strict=True):
            row = np.flatnonzero(columns.pseudonyms == person)
            found.append((release, int(one.published[row[0]]), one.chance[row[0]]) if len(row) else None)
        return found

    def class_of(self, person: int) -> int:
        for columns in self.columns:
            row = np.flatnonzero(columns.pseudonyms == person)
            if len(row):
                return int(columns.classes[row[0]])
        raise LookupError


def lives(rng: np.random.Generator, adversary: Adversary, people: int, releases: list[int]) -> list[TrueValues]:
    """People who live as the adversary believes; half are in the first release, and somebody is away now and then."""
    size = len(adversary.change)
    classes = rng.integers(0, len(adversary.prior), people)
    value = np.array([rng.choice(size, p=adversary.prior[one]) for one in classes])
    start, found = rng.integers(0, 2, people), []
    for number in range(releases[-1] + 1):
        if number:
            value = np.array([rng.choice(size, p=adversary.change[one]) for one in value])
        if number in releases:
            here = np.flatnonzero((rng.random(people) < 0.8) & (start <= number))
            found.append(TrueValues(here + 100, value[here], classes[here]))
    return found


def played(made: Mechanism, columns: list[TrueValues], releases: list[int], key: bytes = KEY) -> Played:
    before, found = None, []
    for release, some in zip(releases, columns, strict=True):
        found.append(publish(made, before, release, some, key=key))
        before = found[-1].remembered
    return Played(releases, columns, found)


def enumerated(adversary: Adversary, record: list[tuple[int, int, Floats] | None], group: int, until: int) -> Floats:
    """Releases x values: posteriors given releases 0 to `until`, by the sum over all histories of values.

    Absence is told only if `until` is the last release, as `exact_posteriors` has it.
    """
    size = len(adversary.change)
    seen = [at for at in range(until + 1) if record[at] is not None]
    found = np.zeros((until + 1, size))
    for path in product(range(size), repeat=len(seen)):
        weight, last = 1.0, None
        for at, value in zip(seen, path, strict=True):
            one = record[at]
            assert one is not None
            if last is None:
                weight *= adversary.prior[group, value] * one[2][value]
            else:
                earlier, before = last
                gap = one[0] - earlier[0]
                step = np.linalg.matrix_power(adversary.change, gap)[before, value]
                if adversary.departs is not None:
                    step *= adversary.departs[before] if gap > 1 else 1 - adversary.departs[before]
                told = float(one[1] == earlier[1]) if value == before else one[2][value]
                weight *= step * told
            last = (one, value)
        if adversary.departs is not None and seen[-1] < until:
            weight *= adversary.departs[path[-1]]
        for at, value in zip(seen, path, strict=True):
            found[at, value] += weight
    return np.asarray(found / np.maximum(found.sum(1, keepdims=True), 1e-300), np.float64)
