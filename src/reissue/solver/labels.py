"""Who has which label: seats of a panel that are alike but for what is known of some of them.

Seats of the same history have the labels of that history, each one of them, in some order. Before anything is known all
orders are equally likely. Whoever knows the value of a seat in some release knows that its label showed it then; and
what one seat has no other has. The posterior is a ratio of permanents (`permanents`); of many seats it is found by
iterative scaling.
"""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.solver.observation import Observation
from reissue.solver.permanents import MOST_VALUES, others
from reissue.solver.states import TINY, ReleaseStates

__all__ = ["matched", "with_known_labels"]

_ROUNDS = 200
"""Rounds of scaling."""


def matched(weights: Floats) -> Floats:
    """Seats x labels: how likely each seat has each label, if a way to give them out weighs the product of these."""
    made = weights.astype(np.float64)
    if len(weights) <= MOST_VALUES:
        made = made * others(made[np.newaxis], np.ones(len(weights), np.int64))[0]
    else:
        for _ in range(_ROUNDS):
            made = made / np.maximum(made.sum(axis=0), TINY)
            made = made / np.maximum(made.sum(axis=1, keepdims=True), TINY)
    return np.asarray(made / np.maximum(made.sum(axis=1, keepdims=True), TINY))


def with_known_labels(
    series: Sequence[Observation], releases: Sequence[ReleaseStates], chances: Sequence[Floats]
) -> tuple[Floats, ...]:
    """The posterior of each state, where values of some seats of a panel are known; groups are histories.

    Histories of which nothing is known stay as they are.
    """
    found = [chance.copy() for chance in chances]
    values = 1 + max(int(seen.label_value.max(initial=-1)) for seen in series)
    cohorts = _members(series)
    told = np.unique(np.concatenate([seen.known_person for seen in series]))
    for seats, labels in cohorts:
        if not np.isin(seats, told).any() or len(seats) != len(labels):
            continue
        chance = matched(_weights(series, seats, labels))
        for place, (seen, release) in enumerate(zip(series, releases, strict=True)):
            if np.isin(labels, seen.label).all():
                shown = seen.label_value[np.searchsorted(seen.label, labels)]
                table = np.stack([np.bincount(shown, row, values).astype(np.float64) for row in chance])
                _put(found[place], release, seats, table)
    return tuple(found)


def _members(series: Sequence[Observation]) -> list[tuple[Ints, Ints]]:
    """History to its seats and its labels, both sorted."""
    made: dict[tuple[int, ...], tuple[Ints, Ints]] = {}
    for seen in series:
        for group in range(seen.groups):
            seats, labels = seen.person[seen.group == group], seen.label[seen.label_group == group]
            made[tuple(labels.tolist())] = np.sort(seats), labels
    return list(made.values())


def _weights(series: Sequence[Observation], seats: Ints, labels: Ints) -> Floats:
    """Seats x labels: 1 where nothing that is known rules it out."""
    made = np.ones((len(seats), len(labels)))
    for seen in series:
        known = np.flatnonzero(np.isin(seen.known_person, seats))
        if len(known) and np.isin(labels, seen.label).all():
            shown = seen.label_value[np.searchsorted(seen.label, labels)]
            at = np.searchsorted(seats, seen.known_person[known])
            made[at] *= shown == seen.known_value[known][:, np.newaxis]
    return made


def _put(chance: Floats, release: ReleaseStates, seats: Ints, table: Floats) -> None:
    """Write what is found of some seats in a release."""
    states = np.flatnonzero(np.isin(release.person[release.row], seats))
    row = np.searchsorted(seats, release.person[release.row[states]])
    chance[states] = table[row, release.value[states]]
