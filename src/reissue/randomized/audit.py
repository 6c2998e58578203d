"""The exact posterior of every value of a series, from the published record alone: a second computation.

`series` carries bounded beliefs forward. Here the whole record of a person is kept and solved by forward-backward in
the plainest form: O(releases x values^2) for each person, growing with the series. Use it for a sample, for the
people whom bounded beliefs make most exposed, or for everybody where series are short.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.randomized.adversaries import Adversary, normalized

__all__ = ["PublicRecord", "exact_posteriors", "log_odds", "public_record"]


@dataclass(frozen=True, eq=False)
class PublicRecord:
    """What everybody can know of some people: releases x people, and what each published value was drawn from."""

    releases: Ints
    published: Ints
    """-1 where the person is absent; any number beyond the values where nothing was drawn (exact releases)."""
    classes: Ints
    """Of each person, at the first publication."""
    chance: Floats
    """Releases x people x values: the likelihood of the published value, at a first publication by true value, later if
    the true value has changed to this one. If it has not changed, the published value is that of the last sight."""


def public_record(
    people: Ints,
    releases: Sequence[int],
    shown: Sequence[tuple[Ints, Ints, Floats]],
    classes: Sequence[Ints],
) -> PublicRecord:
    """Collect the record of `people` from (pseudonyms, published values, chance) and classes of every release."""
    size = shown[0][2].shape[1]
    published = np.full((len(shown), len(people)), -1)
    chance = np.ones((len(shown), len(people), size))
    own = np.full(len(people), -1)
    for at, ((pseudonyms, values, likely), some) in enumerate(zip(shown, classes, strict=True)):
        order = np.argsort(pseudonyms)
        place = np.minimum(np.searchsorted(pseudonyms, people, sorter=order), len(order) - 1)
        row = order[place]
        there = np.flatnonzero(pseudonyms[row] == people)
        published[at, there], chance[at, there] = values[row[there]], likely[row[there]]
        fresh = there[own[there] < 0]
        own[fresh] = some[row[fresh]]
    return PublicRecord(np.asarray(releases), published, own, chance)


def exact_posteriors(adversary: Adversary, record: PublicRecord) -> Floats:
    """Releases x people x values: the posterior of each value given the whole record; all 0 where a person is absent.

    Whoever is absent from the last release has left after the last sight: an adversary who knows departure rates learns
    from that too.
    """
    found = np.zeros(record.chance.shape)
    there = record.published >= 0
    for pattern in np.unique(there, axis=1).T:
        rows = np.flatnonzero((there == pattern[:, np.newaxis]).all(0))
        seen = np.flatnonzero(pattern)
        if len(seen):
            found[np.ix_(seen, rows)] = _solved(adversary, record, rows, seen)
    return found


def _solved(adversary: Adversary, record: PublicRecord, rows: Ints, seen: Ints) -> Floats:
    """Forward-backward for people who are in the same releases."""
    first = adversary.prior[record.classes[rows]] * record.chance[seen[0], rows]
    forward, kernels = [normalized(first)], []
    for before, after in pairwise(seen):
        gap = int(record.releases[after] - record.releases[before])
        kept = np.asarray(record.published[after, rows] == record.published[before, rows], np.float64)[:, np.newaxis]
        kept = np.where(_nothing_drawn(record, before, rows)[:, np.newaxis], record.chance[after, rows], kept)
        kernel = adversary.power(gap) * record.chance[after, rows][:, np.newaxis, :]
        everyone, values = np.arange(len(rows))[:, np.newaxis], np.arange(len(adversary.change))
        kernel[everyone, values, values] = adversary.power(gap).diagonal() * kept
        kernel *= adversary.seen(gap)[:, np.newaxis]
        kernels.append(kernel)
        forward.append(normalized(np.einsum("nu,nuv->nv", forward[-1], kernel)))
    backward = np.ones_like(first)
    if adversary.departs is not None and seen[-1] < len(record.releases) - 1:
        backward = backward * adversary.departs
    posteriors = [normalized(forward[-1] * backward)]
    for kernel, before in zip(reversed(kernels), reversed(forward[:-1]), strict=True):
        backward = normalized(np.einsum("nuv,nv->nu", kernel, backward))
        posteriors.append(normalized(before * backward))
    return np.stack(posteriors[::-1])


def _nothing_drawn(record: PublicRecord, release: int, rows: Ints) -> Bools:
    """Whether what these people showed in a release was not drawn: the next value is drawn whatever happened."""
    return np.asarray(record.published[release, rows] >= record.chance.shape[2])


def log_odds(posterior: Floats, prior: Floats) -> Floats:
    """Epsilon: the logarithm of the most that odds between two values changed (distributions along the last axis).

    For an adversary with any other prior of this value, who takes values to change in the same way, the odds between
    any two values change by the same factor, so by no more than e to this.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(posterior) - np.log(prior)
    possible = prior > 0
    most = np.where(possible, ratio, -np.inf).max(-1)
    return np.asarray(most - np.where(possible, ratio, np.inf).min(-1))
