"""Classes of people, and what is known of each: grown from quasi-identifiers; shares of values from noisy counts.

Matrices and priors belong to a class. They are public, so neither may give anybody away: classes are grown from
quasi-identifiers alone, and the counts behind a prior carry noise, or come from elsewhere. A prior from exact counts of
the very values that are protected does give away: someone who knows the values of everybody else solves the published
matrix for the last one (decision 0260).
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.hashing import siphash_words
from reissue.errors import InputError
from reissue.randomized.adversaries import normalized

__all__ = ["ValueClasses", "grow_classes", "noise_of", "noisy_counts", "shares_of"]

_LEAST = 1e-9
"""Added to every share, so that none is 0."""
_FLOOR = 0.05
"""The least that a count may leave of what was expected: noise can make counts negative."""


@dataclass(frozen=True, eq=False)
class ValueClasses:
    """A tree of splits of quasi-identifier codes: node to attribute, last code on the left, and children."""

    attribute: Ints
    """-1 at a leaf."""
    last: Ints
    left: Ints
    right: Ints
    number: Ints
    """The class of each leaf."""

    def __len__(self) -> int:
        return int((self.attribute < 0).sum())

    def of(self, codes: Ints) -> Ints:
        """The class of each person, by codes of quasi-identifiers (attributes x people)."""
        node = np.zeros(codes.shape[1], np.int64)
        everyone = np.arange(codes.shape[1])
        while (inner := self.attribute[node] >= 0).any():
            below = codes[self.attribute[node], everyone] <= self.last[node]
            node = np.where(inner, np.where(below, self.left[node], self.right[node]), node)
        return np.asarray(self.number[node], np.int64)

    def of_boxes(self, lo: Ints, hi: Ints) -> Ints:
        """The class of the middle of each published box, by codes of its corners (attributes x boxes).

        It is a function of what is published, so it may be published too: it narrows no box.
        """
        return self.of((lo.astype(np.int64) + hi) // 2)

    def cells(self) -> list[dict[int, tuple[int | None, int | None]]]:
        """Class to the attributes that bound it, each with its first and last code (None: no bound)."""
        found: list[dict[int, tuple[int | None, int | None]]] = [{} for _ in range(len(self))]
        waiting: list[tuple[int, dict[int, tuple[int | None, int | None]]]] = [(0, {})]
        while waiting:
            node, cell = waiting.pop()
            attribute, last = int(self.attribute[node]), int(self.last[node])
            if attribute < 0:
                found[int(self.number[node])] = cell
                continue
            first, end = cell.get(attribute, (None, None))
            waiting.append((int(self.left[node]), cell | {attribute: (first, last)}))
            waiting.append((int(self.right[node]), cell | {attribute: (last + 1, end)}))
        return found


def grow_classes(codes: Ints, least: int) -> ValueClasses:
    """Grow as many classes as possible of at least `least` people each.

    A class is split at the median of the attribute of which its people span the largest part of all codes, as long as
    both halves are large enough: O(people x attributes x depth). Codes follow the leaves of a hierarchy, so a split
    separates neighbouring branches. Whoever comes later falls into one of the classes.

    Parameters
    ----------
    codes
        Attributes x people: quasi-identifiers only.
    least
        The smallest class, above 0.

    Raises
    ------
    InputError
        If there are fewer people than that.
    """
    if least < 1 or codes.shape[1] < least:
        raise InputError(f"A class of {least} people needs at least as many people, and one at least.")
    span = np.maximum(codes.max(1) - codes.min(1), 1)
    nodes: list[list[int]] = [[-1, 0, 0, 0, 0]]
    waiting, classes = [(0, np.arange(codes.shape[1]))], 0
    while waiting:
        node, people = waiting.pop()
        found = _split(codes[:, people], span, least)
        if found is None:
            nodes[node][4] = classes
            classes += 1
            continue
        attribute, last = found
        below = codes[attribute, people] <= last
        nodes[node] = [attribute, last, len(nodes), len(nodes) + 1, 0]
        waiting += [(len(nodes), people[below]), (len(nodes) + 1, people[~below])]
        nodes += [[-1, 0, 0, 0, 0], [-1, 0, 0, 0, 0]]
    return ValueClasses(*np.array(nodes, np.int64).T)


def _split(codes: Ints, span: Ints, least: int) -> tuple[int, int] | None:
    """The attribute and code to split at; None if no split leaves two classes."""
    for attribute in np.argsort(-(codes.max(1) - codes.min(1)) / span, kind="stable").tolist():
        column = np.sort(codes[attribute])
        middle = int(column[(len(column) - 1) // 2])
        for last in (middle, middle - 1):
            below = int(np.searchsorted(column, last, "right"))
            if least <= below <= len(column) - least:
                return attribute, last
    return None


def noisy_counts(
    values: Ints, classes: Ints, shape: tuple[int, int], *, epsilon: float, key: bytes, release: int
) -> Floats:
    """Counts by class and value with two-sided geometric noise: epsilon-differentially private for a person's value.

    Count each person once in a series, at the first publication: then epsilon holds for the series. Noise is a function
    of key and release.
    """
    if not epsilon > 0:
        raise InputError("`epsilon` must be above 0.")
    counts = np.bincount(classes * shape[1] + values, minlength=shape[0] * shape[1]).reshape(shape)
    seed = siphash_words(np.arange(4), [release], key).view(np.uint64)
    rng = np.random.default_rng(seed.tolist())
    stop = 1 - np.exp(-epsilon / 2)  # one person's other value moves two counts by one
    return np.asarray(counts + rng.geometric(stop, shape) - rng.geometric(stop, shape), np.float64)


def noise_of(epsilon: float) -> float:
    """The variance of the noise in one of `noisy_counts`."""
    kept = np.exp(-epsilon / 2)
    return float(2 * kept / (1 - kept) ** 2)


def shares_of(counts: Floats, base: Floats | None = None, *, noise: float = 0.0) -> Floats:
    """Classes x values: shares by class, from counts of few people.

    Without `base` (residents, who are many) it is as if one more person were there for every value, spread as in all
    classes together. `base` are shares by class known from elsewhere, for newcomers, who are few: those are corrected
    twice, value by value in all classes together and then class by class. Each correction is shrunk as far as the
    counts are random (a gamma prior on the ratio to what was expected, its variance by moments): empirical Bayes.

    Parameters
    ----------
    counts
        Classes x values.
    base
        Shares of the same shape.
    noise
        The variance of the noise in a count; used with `base`.
    """
    size = counts.shape[1]
    if base is None:
        counts = np.maximum(counts, 0)
        every = counts.sum(0) + 1 / size
        return normalized(counts + size * every / every.sum())
    people = np.maximum(counts.sum(1, keepdims=True), 1)
    mean = normalized(base + _LEAST) * people
    pooled = _shrunk(counts.sum(0), mean.sum(0), noise * len(counts)) / mean.sum(0)
    mean = normalized(mean * pooled) * people
    return normalized(_shrunk(counts, mean, noise))


def _shrunk(counts: Floats, mean: Floats, noise: float) -> Floats:
    """Expected counts, moved towards the counts as far as those differ by more than chance and noise do."""
    chance = mean + noise
    spread = max(float(((counts - mean) ** 2 - chance).sum() / (mean**2).sum()), 0.0)
    weight = spread * mean**2 / (spread * mean**2 + chance)
    return np.maximum(mean + weight * (counts - mean), _FLOOR * mean)
