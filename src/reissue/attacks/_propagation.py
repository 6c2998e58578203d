"""Equivalence attacks on fine groups by propagation: what two groups of the same values do not share cancels out.

Two groups with one multiset of values that differ in one person each show these two to have the same value
(1-equivalence): they become one. That makes other groups more alike, so it is repeated until nothing changes. All
pairs of groups that differ in one are found at once: a group without one of its members, as a sum of scattered
numbers, is a key, and equal keys are neighbours when sorted. O(presences log presences) a round.

Groups that differ in e classes give e-equivalences. Two sets of s that share s - e members share one of the first e + 1
in any order of all members, so only groups that do are compared.

Linear combinations of more than two groups are not looked for: what is reported is there, but there may be more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Ints
from reissue.attacks._membership import Membership, mix

__all__ = ["Equivalences", "domino", "propagate"]

_CHUNK = 200_000


@dataclass(frozen=True, eq=False)
class Equivalences:
    """Who was shown to have the same value as whom."""

    classes: Ints
    """Person to the number of its class: people shown to have one and the same value."""
    least: Ints
    """Person to the smallest e of an attack that it is in; 0 if there is none below the limit."""
    rounds: int


def propagate(members: Membership, limit: int) -> Equivalences:
    """All e-equivalences with e < limit that pairs of groups show."""
    classes = np.arange(len(members.real))
    rounds = 0
    while True:
        rounds += 1
        merged = _merge(members, classes)
        if merged is None:
            break
        classes = merged
    least = np.zeros(len(classes), np.int64)
    if limit > 1:
        least[np.bincount(classes)[classes] > 1] = 1
    if limit > 2:
        _compare(members, classes, limit, least)
    return Equivalences(classes, least, rounds)


def _merge(members: Membership, classes: Ints) -> Ints | None:
    """One round of 1-equivalences: the coarser classes, or None if nothing changes."""
    mine = classes[members.person]
    scattered = mix(mine.astype(np.uint64) + np.uint64(1))
    total = np.zeros(len(members.release), np.uint64)
    np.add.at(total, members.group, scattered)
    rest = total[members.group] - scattered + mix(members.kinds[members.group].astype(np.uint64) << np.uint64(32))
    order = np.argsort(rest)
    same = rest[order[1:]] == rest[order[:-1]]
    one, other = mine[order[:-1]][same], mine[order[1:]][same]
    differ = one != other
    if not differ.any():
        return None
    size = int(classes.max()) + 1
    links = coo_array((np.ones(int(differ.sum())), (one[differ], other[differ])), shape=(size, size))
    _, labels = connected_components(links, directed=False)
    return np.asarray(labels[classes], np.int64)


def _compare(members: Membership, classes: Ints, limit: int, least: Ints) -> None:
    """Write down for the people in differences of up to limit - 1 the smallest difference that they are in."""
    tokens = _tokens(members, classes)
    order = np.lexsort((tokens, members.group))
    tokens, group = tokens[order], members.group[order]
    starts = np.cumsum(members.sizes) - members.sizes
    place = np.arange(len(tokens)) - starts[group]
    first = np.flatnonzero(place < limit)
    for one, other in _pairs(tokens[first], group[first], members.kinds):
        apart = _apart(one, other, tokens, starts, members.sizes)
        for pair in np.flatnonzero((apart > 0) & (apart < limit)).tolist():
            mine, theirs = (slice(starts[g], starts[g] + members.sizes[g]) for g in (one[pair], other[pair]))
            odd = [
                order[mine][~np.isin(tokens[mine], tokens[theirs])],
                order[theirs][~np.isin(tokens[theirs], tokens[mine])],
            ]
            people = members.person[np.concatenate(odd)]
            least[people] = np.where(least[people] == 0, apart[pair], np.minimum(least[people], apart[pair]))


def _tokens(members: Membership, classes: Ints) -> Ints:
    """Presence to (class, how many of the class came before in the group), as one number."""
    mine = classes[members.person]
    size = int(classes.max(initial=0)) + 1
    keys = members.group * size + mine
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    turn = np.empty(len(keys), np.int64)
    turn[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return np.asarray(turn * size + mine)


def _pairs(tokens: Ints, group: Ints, kinds: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of groups of one kind that share one of the given tokens, each pair once, in chunks."""
    keys = np.lexsort((group, tokens, kinds[group]))
    tokens, group = tokens[keys], group[keys]
    kind = kinds[group]
    seen = np.empty(0, np.int64)
    for step in range(1, len(group)):
        near = np.flatnonzero((tokens[step:] == tokens[:-step]) & (kind[step:] == kind[:-step]))
        if not len(near):
            return
        packed = np.unique(group[near] * len(kinds) + group[near + step])
        packed = np.setdiff1d(packed, seen, assume_unique=True)
        seen = np.union1d(seen, packed)
        for begin in range(0, len(packed), _CHUNK):
            part = packed[begin : begin + _CHUNK]
            yield part // len(kinds), part % len(kinds)


def _apart(one: Ints, other: Ints, tokens: Ints, starts: Ints, sizes: Ints) -> Ints:
    """In how many tokens the groups of each pair differ."""
    count = sizes[one]
    pair = np.repeat(np.arange(len(one)), count)
    inside = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    mine = np.stack([pair, tokens[starts[one][pair] + inside]])
    theirs = np.stack([pair, tokens[starts[other][pair] + inside]])
    both = np.concatenate([mine, theirs], axis=1)
    order = np.lexsort((both[1], both[0]))
    both = both[:, order]
    shared = (both[:, 1:] == both[:, :-1]).all(axis=0)
    return np.asarray(count - np.bincount(both[0, 1:][shared], minlength=len(one)))


def domino(members: Membership, found: Equivalences, seeds: int = 10) -> tuple[int, int]:
    """If one person's value becomes known: in the largest class, and at worst, how many others' become known with it.

    Their own class at once; then the last unknown class of any group, and so on. The worst is looked for among the
    `seeds` largest classes.
    """
    size = int(found.classes.max(initial=0)) + 1
    people = np.bincount(found.classes[members.real], minlength=size)
    largest = np.argsort(-people, kind="stable")[:seeds]
    cells = np.unique(members.group * size + found.classes[members.person])
    group, one = cells // size, cells % size
    worst = max((_falls(group, one, int(seed), people, len(members.release)) for seed in largest), default=0)
    return max(int(people[largest[0]]) - 1, 0) if len(largest) else 0, worst


def _falls(group: Ints, one: Ints, seed: int, people: Ints, groups: int) -> int:
    known: Bools = np.zeros(len(people), np.bool_)
    known[seed] = True
    while True:
        hidden = ~known[one]
        left = np.bincount(group[hidden], minlength=groups)
        falling = np.unique(one[hidden & (left[group] == 1)])
        if not len(falling):
            return max(int(people[known].sum()) - 1, 0)
        known[falling] = True
