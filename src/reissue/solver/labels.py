"""Who has which label: slots of a panel that are alike but for what is known of some of them.

Slots of the same history have the labels of that history, each one of them, in some order. Before anything is known all
orders are equally likely. Whoever knows the value of a slot in some release knows that its label showed it then; and
what one slot has no other has. The posterior is a ratio of permanents: exact by sums over subsets for up to `EXACT`
slots, by iterative scaling beyond.
"""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.solver.observations import Layer, Observation

__all__ = ["matched", "with_known_labels"]

EXACT = 12
_ROUNDS = 200


def matched(weights: Floats) -> Floats:
    """Slots x labels: how likely each slot has each label, if a way to give them out weighs the product of these."""
    size = len(weights)
    if size > EXACT:
        return _scaled(weights)
    subset = np.arange(1 << size)
    labels = np.bitwise_count(subset)
    before, after = np.zeros((2, size + 1, 1 << size))
    before[0, 0] = after[size, 0] = 1.0
    for slot in range(size):
        _add(before[slot + 1], before[slot], weights[slot], subset, labels == slot)
        back = size - 1 - slot
        _add(after[back], after[back + 1], weights[back], subset, labels == slot)
    found, whole = np.zeros((size, size)), len(subset) - 1
    for slot in range(size):
        for label in range(size):
            some = subset[(labels == slot) & (subset >> label & 1 == 0)]
            others = whole ^ some ^ (1 << label)
            found[slot, label] = weights[slot, label] * (before[slot, some] * after[slot + 1, others]).sum()
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _add(into: Floats, of: Floats, weights: Floats, subset: Ints, chosen: Bools) -> None:
    """The ways in which one slot more has a label."""
    for label, weight in enumerate(weights):
        free = subset[chosen & (subset >> label & 1 == 0)]
        into[free | 1 << label] += weight * of[free]


def _scaled(weights: Floats) -> Floats:
    made = weights.astype(np.float64)
    for _ in range(_ROUNDS):
        made = made / np.maximum(made.sum(axis=0), 1e-300)
        made = made / np.maximum(made.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(made)


def with_known_labels(
    series: Sequence[Observation], layers: Sequence[Layer], chances: Sequence[Floats]
) -> tuple[Floats, ...]:
    """The posterior of each entry, where values of some slots of a panel are known; groups are histories.

    Histories of which nothing is known stay as they are.
    """
    found = [chance.copy() for chance in chances]
    values = 1 + max(int(seen.label_value.max(initial=-1)) for seen in series)
    homes = _members(series)
    told = np.unique(np.concatenate([seen.known_person for seen in series]))
    for slots, labels in homes:
        if not np.isin(slots, told).any() or len(slots) != len(labels):
            continue
        chance = matched(_weights(series, slots, labels))
        for place, (seen, layer) in enumerate(zip(series, layers, strict=True)):
            if np.isin(labels, seen.label).all():
                shown = seen.label_value[np.searchsorted(seen.label, labels)]
                table = np.stack([np.bincount(shown, row, values).astype(np.float64) for row in chance])
                _put(found[place], layer, slots, table)
    return tuple(found)


def _members(series: Sequence[Observation]) -> list[tuple[Ints, Ints]]:
    """History to its slots and its labels, both sorted."""
    made: dict[tuple[int, ...], tuple[Ints, Ints]] = {}
    for seen in series:
        for group in range(seen.groups):
            slots, labels = seen.person[seen.group == group], seen.label[seen.label_group == group]
            made[tuple(labels.tolist())] = np.sort(slots), labels
    return list(made.values())


def _weights(series: Sequence[Observation], slots: Ints, labels: Ints) -> Floats:
    """Slots x labels: 1 where nothing that is known rules it out."""
    made = np.ones((len(slots), len(labels)))
    for seen in series:
        known = np.flatnonzero(np.isin(seen.known_person, slots))
        if len(known) and np.isin(labels, seen.label).all():
            shown = seen.label_value[np.searchsorted(seen.label, labels)]
            at = np.searchsorted(slots, seen.known_person[known])
            made[at] *= shown == seen.known_value[known][:, np.newaxis]
    return made


def _put(chance: Floats, layer: Layer, slots: Ints, table: Floats) -> None:
    """Write what is found of some slots in a layer."""
    entries = np.flatnonzero(np.isin(layer.person[layer.row], slots))
    row = np.searchsorted(slots, layer.person[layer.row[entries]])
    chance[entries] = table[row, layer.value[entries]]
