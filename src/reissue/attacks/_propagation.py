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
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Ints
from reissue.attacks._membership import Membership, mix

__all__ = ["Equivalences", "apart_from", "domino", "propagate", "rests"]

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
    mine, rest = classes[members.person], rests(members, classes)
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


def rests(members: Membership, classes: Ints) -> NDArray[np.uint64]:
    """Presence to a number for its group without it: equal where the kind and the other members' classes are."""
    scattered = mix(classes[members.person].astype(np.uint64) + np.uint64(1))
    total = np.zeros(len(members.release), np.uint64)
    np.add.at(total, members.group, scattered)
    kinds = mix(members.kinds[members.group].astype(np.uint64) << np.uint64(32))
    return np.asarray(total[members.group] - scattered + kinds, np.uint64)


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
    """Presence to (class, how many of the class came before in the group), as numbers, rare ones first."""
    mine = classes[members.person]
    size = int(classes.max(initial=0)) + 1
    keys = members.group * size + mine
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    turn = np.empty(len(keys), np.int64)
    turn[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    _, token, often = np.unique(turn * size + mine, return_inverse=True, return_counts=True)
    rank = np.empty(len(often), np.int64)
    rank[np.argsort(often, kind="stable")] = np.arange(len(often))
    return rank[token]


def _pairs(tokens: Ints, group: Ints, kinds: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of groups of one kind that share one of the given tokens, each pair once, in chunks."""
    order = np.lexsort((group, kinds[group], tokens))
    tokens, group = tokens[order], group[order]
    kind = kinds[group]
    begins = np.append(True, (tokens[1:] != tokens[:-1]) | (kind[1:] != kind[:-1]))
    run = np.cumsum(begins) - 1
    # Each presence is paired with all that come after it in its run.
    after = np.append(np.flatnonzero(begins)[1:], len(group))[run] - np.arange(len(group)) - 1
    found = [np.empty(0, np.int64)]
    for first, last in _portions(after):
        one = np.repeat(np.arange(first, last), after[first:last])
        step = np.arange(len(one)) - np.repeat(np.cumsum(after[first:last]) - after[first:last], after[first:last])
        found.append(np.unique(group[one] * len(kinds) + group[one + step + 1]))
    packed = np.unique(np.concatenate(found))
    for begin in range(0, len(packed), _CHUNK):
        part = packed[begin : begin + _CHUNK]
        yield part // len(kinds), part % len(kinds)


def _portions(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of places whose sizes add up to about a million."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + 5 * _CHUNK, "right")), first + 1)
        yield first, last
        first = last


def _apart(one: Ints, other: Ints, tokens: Ints, starts: Ints, sizes: Ints) -> Ints:
    """In how many tokens the groups of each pair differ; both have the same size."""
    apart = np.zeros(len(one), np.int64)
    for size in np.unique(sizes[one]).tolist():
        here = np.flatnonzero(sizes[one] == size)
        # All with all, so many pairs at a time that the comparisons fit in memory.
        for part in np.array_split(here, max(len(here) * size * size // 20_000_000, 1)):
            mine, theirs = (tokens[starts[which[part]][:, np.newaxis] + np.arange(size)] for which in (one, other))
            shared = sum((mine == theirs[:, place : place + 1]).sum(axis=1) for place in range(size))
            apart[part] = size - np.asarray(shared)
    return apart


def apart_from(members: Membership, classes: Ints, group: int) -> tuple[Ints, Ints]:
    """All groups of a group's kind, and in how many classes each differs from it."""
    starts = np.cumsum(members.sizes) - members.sizes
    others = np.flatnonzero(members.kinds == members.kinds[group])
    return others, _apart(np.full(len(others), group), others, _tokens(members, classes), starts, members.sizes)


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
