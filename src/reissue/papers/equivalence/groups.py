"""What groups of the same values show of each other, as release after release brings more of them.

Two groups with one multiset of values that differ in one person each show these two to have the same value
(1-equivalence): they become one class. That makes other groups more alike, so it is repeated until nothing changes. All
pairs of groups that differ in one are found at once: a group without one of its members, as a sum of scattered
numbers, is a key, and equal keys are neighbours when sorted. O(presences log presences) a round.

Groups that differ in e classes give e-equivalences. Two sets of s that share s - e members share one of the first e + 1
in any order of all members, so only groups that do are compared.

Earlier groups need not be gone through again. Two of them become more alike only if classes of theirs become
one, so whatever is new has to do with a new group, or with one whose classes changed: only those are compared, with the
groups that share a class with them. Groups of the same values and the same classes show the same from then on, and are
kept once: where much is known, little is kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Ints
from reissue.counting.hashing import mix
from reissue.counting.segments import ranges
from reissue.papers.tracking.membership import Membership

__all__ = [
    "Equivalences",
    "Shown",
    "ValueGroups",
    "apart_from",
    "falling",
    "groups_of",
    "propagate",
    "propagations",
    "rests",
    "smaller",
]

_SEEDS = 10
"""Classes from which values are followed to others."""

_CHUNK = 200_000
_PAIR = 2


@dataclass(frozen=True, eq=False)
class ValueGroups:
    """Groups of classes, and what kind of values each has."""

    starts: Ints
    """Group to its first member, and the number of all members at the end."""
    member: Ints
    """Members to their class, group by group; a class may be there twice."""
    kind: Ints
    """Group to a number for its multiset of values."""

    @cached_property
    def sizes(self) -> Ints:
        """How many members each group has."""
        return np.diff(self.starts)

    @cached_property
    def of_member(self) -> Ints:
        """Member to its group."""
        return np.repeat(np.arange(len(self.kind)), self.sizes)

    def some(self, groups: Ints) -> "ValueGroups":
        """Some of the groups; kinds are numbered anew."""
        sizes = self.sizes[groups]
        kind = np.unique(self.kind[groups], return_inverse=True)[1].reshape(-1)
        return ValueGroups(np.append(0, np.cumsum(sizes)), self.member[ranges(self.starts[groups], sizes)], kind)

    def and_more(self, more: "ValueGroups") -> "ValueGroups":
        """These and those after them."""
        return ValueGroups(
            np.concatenate([self.starts[:-1], more.starts + self.starts[-1]]),
            np.concatenate([self.member, more.member]),
            np.concatenate([self.kind, more.kind]),
        )

    def kept(self, groups: Bools) -> "ValueGroups":
        """Those of the groups that are kept."""
        if groups.all():
            return self
        inside = np.repeat(groups, self.sizes)
        return ValueGroups(np.append(0, np.cumsum(self.sizes[groups])), self.member[inside], self.kind[groups])

    def beside(self, chosen: Bools, classes: int) -> Ints:
        """The chosen groups and those of their kinds that share a class with one of them.

        Groups of one member differ in one from each other, whatever their classes: they are beside each other.
        """
        alike = np.flatnonzero(np.isin(self.kind, np.unique(self.kind[chosen])))
        part, near = self.some(alike), chosen[alike]
        touched = np.zeros(classes, np.bool_)
        touched[part.member[np.repeat(near, part.sizes)]] = True
        single = (part.sizes == 1) & (near & (part.sizes == 1)).any()
        near[part.of_member[touched[part.member]]] = True
        return np.asarray(alike[near | single])


@dataclass(frozen=True, eq=False)
class Shown:
    """Who was shown to have the same value as whom, and by what."""

    classes: Ints
    """Person to the number of its class: people shown to have one and the same value."""
    apart: Ints
    """Class to the smallest difference of two groups that it is in, from 2 on; 0 if there is none below the limit."""
    groups: ValueGroups
    """All groups, those that show the same only once."""

    @classmethod
    def nothing(cls, people: int = 0) -> "Shown":
        """Before the first release."""
        none = ValueGroups(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
        return cls(np.arange(people), np.zeros(people, np.int64), none)

    def and_groups(self, more: ValueGroups, limit: int) -> "Shown":
        """With the groups of one more release, whose members are people; differences below `limit` are looked for."""
        kind = self.groups.member.dtype
        groups = self.groups.and_more(replace(more, member=self.classes[more.member].astype(kind)))
        new = np.arange(len(groups.kind)) >= len(self.groups.kind)
        classes, apart, changed = self.classes, self.apart, new.copy()
        while True:
            labels = _merged(groups.some(groups.beside(new, len(apart))), len(apart))
            if labels is None:
                break
            one = np.bincount(labels) > 1
            merged = np.zeros(len(one), np.int64)
            np.maximum.at(merged, labels, apart)
            classes, apart, groups = labels[classes], merged, replace(groups, member=labels.astype(kind)[groups.member])
            new = np.zeros(len(groups.kind), np.bool_)
            new[groups.of_member[one[groups.member]]] = True
            changed |= new
        once = _once(groups, changed, len(apart))
        groups, changed = groups.kept(once), changed[once]
        if limit > _PAIR:
            near = groups.beside(changed, len(apart))
            apart = smaller(apart, _compared(groups.some(near), changed[near], limit, len(apart)))
        return Shown(classes, apart, groups)

    def least(self, limit: int) -> Ints:
        """Person to the smallest e of an attack that it is in; 0 if there is none below the limit."""
        several = np.bincount(self.classes, minlength=len(self.apart)) > 1
        below = np.where(self.apart < limit, self.apart, 0)
        return np.where(several, int(limit > 1), below)[self.classes]


def smaller(one: Ints, other: Ints) -> Ints:
    """The smaller of two numbers of which 0 stands for none."""
    return np.where((one == 0) | ((other > 0) & (other < one)), other, one)


# --- differences of one ----------------------------------------------------------------------------------------------


def rests(groups: ValueGroups) -> NDArray[np.uint64]:
    """Member to a number for its group without it: equal where the kind and the other members' classes are."""
    scattered = mix(groups.member.astype(np.uint64) + np.uint64(1))
    keys = mix(groups.kind.astype(np.uint64) << np.uint64(32))
    return np.asarray((_sums(groups, scattered) + keys)[groups.of_member] - scattered, np.uint64)


def _sums(groups: ValueGroups, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of each group's numbers; no group is empty."""
    return np.add.reduceat(numbers, groups.starts[:-1]) if len(groups.kind) else numbers[:0]


def _merged(groups: ValueGroups, classes: int) -> Ints | None:
    """One round of 1-equivalences: class to its coarser class, or None if nothing changes."""
    rest = rests(groups)
    order = np.argsort(rest)
    same = rest[order[1:]] == rest[order[:-1]]
    one, other = groups.member[order[:-1]][same], groups.member[order[1:]][same]
    differ = one != other
    if not differ.any():
        return None
    links = coo_array((np.ones(int(differ.sum())), (one[differ], other[differ])), shape=(classes, classes))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _once(groups: ValueGroups, changed: Bools, classes: int) -> Bools:
    """Which groups to keep: of those that show the same the first; those that did not change differ already."""
    near = groups.beside(changed, classes)
    part = groups.some(near)
    keys = _sums(part, mix(part.member.astype(np.uint64) + np.uint64(1)))
    keys = keys + mix(part.kind.astype(np.uint64) << np.uint64(32))
    again = np.ones(len(near), np.bool_)
    again[np.unique(keys, return_index=True)[1]] = False
    once = np.ones(len(groups.kind), np.bool_)
    once[near[again]] = False
    return once


# --- larger differences ----------------------------------------------------------------------------------------------


def _compared(groups: ValueGroups, fresh: Bools, limit: int, classes: int) -> Ints:
    """Class to the smallest difference below the limit of two groups, one of them fresh, that it is in; 0 if none."""
    tokens = tokens_of(groups)
    order = np.lexsort((tokens, groups.of_member))
    tokens, member, group = tokens[order], groups.member[order], groups.of_member[order]
    first = np.flatnonzero(np.arange(len(tokens)) - groups.starts[group] < limit)
    found = np.full(classes, limit)
    for one, other in _pairs(tokens[first], group[first], groups.kind, fresh):
        apart = apart_of(one, other, tokens, groups)
        close = np.flatnonzero((apart > 0) & (apart < limit))
        for size, some in _by_size(groups.sizes[one[close]], close):
            mine, theirs = (groups.starts[which[some]][:, np.newaxis] + np.arange(size) for which in (one, other))
            alike = tokens[mine][:, :, np.newaxis] == tokens[theirs][:, np.newaxis, :]
            for at, odd in ((mine, ~alike.any(axis=2)), (theirs, ~alike.any(axis=1))):
                np.minimum.at(found, member[at[odd]], np.broadcast_to(apart[some][:, np.newaxis], at.shape)[odd])
    return np.where(found < limit, found, 0)


def tokens_of(groups: ValueGroups) -> Ints:
    """Member to (class, how many of the class are before it in the group), as numbers, rare ones first."""
    size = int(groups.member.max(initial=0)) + 1
    keys = groups.of_member * size + groups.member
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    _, token, often = np.unique(rank * size + groups.member, return_inverse=True, return_counts=True)
    rank = np.empty(len(often), np.int64)
    rank[np.argsort(often, kind="stable")] = np.arange(len(often))
    return rank[token]


def _pairs(tokens: Ints, group: Ints, kinds: Ints, fresh: Bools) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of groups of one kind, one of them fresh, that share one of the tokens, each pair once, in chunks."""
    order = np.lexsort((group, ~fresh[group], kinds[group], tokens))
    tokens, group = tokens[order], group[order]
    kind = kinds[group]
    begins = np.append(True, (tokens[1:] != tokens[:-1]) | (kind[1:] != kind[:-1]))
    run = np.cumsum(begins) - 1
    # The fresh ones come first: each of them is paired with all that come after it in its run.
    after = np.append(np.flatnonzero(begins)[1:], len(group))[run] - np.arange(len(group)) - 1
    after[~fresh[group]] = 0
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


def apart_of(one: Ints, other: Ints, tokens: Ints, groups: ValueGroups) -> Ints:
    """In how many tokens the groups of each pair differ; both have the same size."""
    apart = np.zeros(len(one), np.int64)
    for size, part in _by_size(groups.sizes[one], np.arange(len(one))):
        mine, theirs = (tokens[groups.starts[w[part]][:, np.newaxis] + np.arange(size)] for w in (one, other))
        shared = sum((mine == theirs[:, place : place + 1]).sum(axis=1) for place in range(size))
        apart[part] = size - np.asarray(shared)
    return apart


def _by_size(sizes: Ints, pairs: Ints) -> Iterator[tuple[int, Ints]]:
    """Pairs whose groups have one size, so many at a time that comparing all with all fits in memory."""
    for size in np.unique(sizes).tolist():
        here = pairs[sizes == size]
        for part in np.array_split(here, max(len(here) * size * size // 20_000_000, 1)):
            yield size, part


# --- of a membership -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Equivalences:
    """Who was shown to have the same value as whom."""

    classes: Ints
    """Person to the number of its class: people shown to have one and the same value."""
    least: Ints
    """Person to the smallest e of an attack that it is in; 0 if there is none below the limit."""


def propagate(members: Membership, limit: int) -> Equivalences:
    """All e-equivalences with e < limit that pairs of groups show."""
    shown = list(propagations(members, limit))[-1]
    return Equivalences(shown.classes, shown.least(limit))


def propagations(members: Membership, limit: int) -> Iterator[Shown]:
    """What is shown after each release."""
    shown, groups = Shown.nothing(len(members.real)), groups_of(members, np.arange(len(members.real)))
    for release in range(int(members.release.max(initial=-1)) + 1):
        shown = shown.and_groups(groups.kept(members.release == release), limit)
        yield shown


def groups_of(members: Membership, classes: Ints) -> ValueGroups:
    """All groups of all releases, of classes of people."""
    starts = np.append(0, np.cumsum(members.sizes))
    return ValueGroups(starts, classes[members.person], members.kinds)


def apart_from(members: Membership, classes: Ints, group: int) -> tuple[Ints, Ints]:
    """All groups of a group's kind, and in how many classes each differs from it."""
    groups = groups_of(members, classes)
    others = np.flatnonzero(members.kinds == members.kinds[group])
    return others, apart_of(np.full(len(others), group), others, tokens_of(groups), groups)


# --- what follows from one value -------------------------------------------------------------------------------------


def falling(groups: ValueGroups, classes: Ints, known: Ints) -> tuple[int, int]:
    """If one person's value becomes known: in the largest class, and at worst, how many others' become known with it.

    Their own class at once; then the last unknown class of any group, and so on. The worst is looked for among the ten
    largest classes, of equal ones those with the first people. `known` are the people whom somebody knows.
    """
    size = int(max(groups.member.max(initial=-1), classes.max(initial=-1))) + 1
    people = np.bincount(classes[known], minlength=size)
    found, place = np.unique(classes[known], return_index=True)
    first = found[np.lexsort((place, -people[found]))][:_SEEDS]
    if not len(first):
        return 0, 0
    # Only a class of several people can be in a group twice.
    several = np.bincount(classes, minlength=size) > 1
    most = int(people[first[0]]) - 1
    if not several.any() and groups.sizes.min(initial=3) > 2:
        return most, most
    twice = several[groups.member]
    cells = np.unique(groups.of_member[twice] * size + groups.member[twice])
    group = np.concatenate([groups.of_member[~twice], cells // size])
    one = np.concatenate([groups.member[~twice], cells % size])
    hidden = np.bincount(group, minlength=len(groups.kind))
    if hidden.min(initial=3) > 2:
        return most, most
    order = np.argsort(one, kind="stable")
    graph = _Falls(np.searchsorted(one[order], np.arange(size + 1)), group[order], one[order], hidden)
    return most, max(graph.after(int(seed), people) for seed in first)


@dataclass(frozen=True, eq=False)
class _Falls:
    """Which classes are in which groups, each once: sorted by class."""

    starts: Ints
    group: Ints
    one: Ints
    hidden: Ints
    """Group to how many classes it has."""

    @cached_property
    def sums(self) -> Ints:
        """The numbers of each group's classes, added up: where one of them is left, that is the one."""
        return np.bincount(self.group, self.one, len(self.hidden)).astype(np.int64)

    def after(self, seed: int, people: Ints) -> int:
        """How many other people's values follow from those of one class."""
        hidden, sums = self.hidden.copy(), self.sums.copy()
        known: Bools = np.zeros(len(people), np.bool_)
        falling = np.array([seed])
        while len(falling):
            known[falling] = True
            at = ranges(self.starts[falling], np.diff(self.starts)[falling])
            np.subtract.at(hidden, self.group[at], 1)
            np.subtract.at(sums, self.group[at], self.one[at])
            falling = np.unique(sums[self.group[at][hidden[self.group[at]] == 1]])
        return max(int(people[known].sum()) - 1, 0)
