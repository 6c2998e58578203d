"""The update attack: what a person's groups through a series say together (paper 002, definitions 3 and 4).

A person's update graph has, for each release it is in, the values of its group, each with its share; and an edge for
each update that can have happened in between. The posterior of a value is the weight of the paths through it over the
weight of all paths: a forward and a backward pass of small products, all people at once, those with the same groups
only once. Where values do not change (no update model) the graph has one edge from each value to itself, and the attack
is the intersection of groups: value association across releases, which m-invariance withstands.

It starts from known membership (see `_membership`). O(people's different histories x releases x values).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks._base import CannotRunError, Knowledge, attack
from reissue.attacks._membership import Membership, membership
from reissue.attacks._series import Series
from reissue.findings import Finding, Status

__all__ = ["Posteriors", "posteriors", "updates"]

NAME = "updates"
_SLACK = 1e-9
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class Posteriors:
    """For each release and each known person in it the largest posterior of a value, and how many values are left."""

    person: Ints
    release: Ints
    largest: Floats
    left: Ints


def posteriors(members: Membership, steps: Floats | None = None) -> Posteriors:
    """Everybody's posterior in every release; `steps` is the probability of each update, by old and new value."""
    shares = _shares(members)
    sequences, of_person = _sequences(members)
    person, release = _presences(members)
    largest, left = np.empty(len(person)), np.empty(len(person), np.int64)
    row = of_person[person]
    order = np.argsort(row, kind="stable")
    for begin, end in _chunks(len(sequences), sequences.shape[1] * max(shares.shape[1], 1)):
        posterior = _forward_backward(sequences[begin:end], shares, steps)
        here = order[np.searchsorted(row[order], begin) : np.searchsorted(row[order], end)]
        found = posterior[row[here] - begin, release[here]]
        largest[here], left[here] = found.max(axis=1), (found > _SLACK).sum(axis=1)
    return Posteriors(person, release, largest, left)


def _shares(members: Membership) -> Floats:
    """Groups x values: the share of each value; the last row, for a release without the person, says nothing."""
    shares = np.zeros((len(members.release) + 1, int(members.value.max(initial=-1)) + 1))
    shares[members.value_group, members.value] = members.count
    shares[:-1] /= shares[:-1].sum(axis=1, keepdims=True)
    shares[-1] = 1
    return shares


def _sequences(members: Membership) -> tuple[Ints, Ints]:
    """The different histories (a group for each release, -1 where the person is absent), and who has which."""
    table = np.full((len(members.real), int(members.release.max(initial=-1)) + 1), -1, np.int64)
    table[members.person, members.release[members.group]] = members.group
    sequences, of_person = np.unique(table, axis=0, return_inverse=True)
    return sequences, of_person.reshape(-1).astype(np.int64)


def _presences(members: Membership) -> tuple[Ints, Ints]:
    known = np.flatnonzero(members.real[members.person])
    return members.person[known], members.release[members.group[known]]


def _chunks(total: int, width: int) -> Iterator[tuple[int, int]]:
    size = max(_CHUNK // max(width, 1), 1)
    for begin in range(0, total, size):
        yield begin, min(begin + size, total)


def _forward_backward(sequences: Ints, shares: Floats, steps: Floats | None) -> Floats:
    """Histories x releases x values: the posterior of each value in each release."""
    seen = shares[sequences]
    forward, backward = seen.copy(), np.ones_like(seen)
    for release in range(1, seen.shape[1]):
        before = forward[:, release - 1]
        forward[:, release] *= _scaled(before if steps is None else before @ steps)
    for release in range(seen.shape[1] - 2, -1, -1):
        after = backward[:, release + 1] * seen[:, release + 1]
        backward[:, release] = _scaled(after if steps is None else after @ steps.T)
    return _scaled(forward * backward)


def _scaled(weights: Floats) -> Floats:
    """Weights that sum to 1, or stay 0: only ratios matter, and long series would underflow."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


@attack(NAME, "Follows people through their groups: which values are left, and how likely each is.")
def updates(series: Series, knowledge: Knowledge) -> Finding:
    """Find everybody's largest posterior in all releases together."""
    if series.schema.updates:
        raise CannotRunError("the schema's update model is not read yet; without it values are taken not to change.")
    members = membership(series, knowledge)
    found = posteriors(members)
    if not len(found.person):
        raise CannotRunError("nobody's group is known.")
    if not found.left.all():
        raise CannotRunError(
            "somebody's groups have no value in common: values do change here, and the schema has no update model."
        )
    limit = float(series.limits.get(NAME) or 1 / int(members.distinct.min()))
    risk, certain = _per_release(found, len(series))
    exposed = np.unique(found.person[found.largest > limit + _SLACK])
    return Finding(
        NAME,
        Status.SUCCEEDED if len(exposed) else Status.FAILED,
        _sentence(len(exposed), members.people, found, limit),
        tuple(series.numbers),
        people=len(exposed),
        population=members.people,
        measure="posterior: how surely a person is linked to a sensitive value",
        worst=float(found.largest.max()),
        limit=limit,
        details={"risk": float(found.largest.max()), "certain": max(certain), "risks": risk, "certains": certain},
    )


def _per_release(found: Posteriors, releases: int) -> tuple[list[float], list[int]]:
    """The largest posterior in each release, and how many people are known for sure."""
    risk = [float(found.largest[found.release == number].max(initial=0.0)) for number in range(releases)]
    certain = np.bincount(found.release[found.left == 1], minlength=releases)
    return risk, certain.tolist()


def _sentence(exposed: int, everyone: int, found: Posteriors, limit: float) -> str:
    certain = len(np.unique(found.person[found.left == 1]))
    if not exposed:
        return f"Nobody's value is more likely than {limit:.3g}, whoever follows people through their groups."
    surely = f"; of {certain:,} it is known for sure" if certain else ""
    return f"The values of {exposed:,} of {everyone:,} people are more likely than {limit:.3g}{surely}."
