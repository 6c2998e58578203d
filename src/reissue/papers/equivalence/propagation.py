"""Equivalence attacks on fine groups by propagation: what two groups of the same values do not share cancels out.

The groups go in release by release, and what they show grows with them (see `groups`). Linear combinations of
more than two groups are not looked for: what is reported is there, but there may be more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Bools, Ints
from reissue.counting.segments import ranges
from reissue.papers.equivalence import groups as groups_module
from reissue.papers.equivalence.groups import Shown, ValueGroups, apart_of, tokens_of
from reissue.papers.tracking.membership import Membership

__all__ = ["Equivalences", "apart_from", "falling", "groups_of", "propagate", "propagations", "rests"]

_SEEDS = 10
"""Classes from which values are followed to others."""


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


def rests(members: Membership, classes: Ints) -> NDArray[np.uint64]:
    """Presence to a number for its group without it: equal where the kind and the other members' classes are."""
    return groups_module.rests(groups_of(members, classes))


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
