"""People followed through a series: the distribution of values that each one stands for in each release.

Known membership gives the person's group. From tables of people and quasi-identifiers, one per release, a person who
fits several groups stands for the records of all of them, each as likely as the others: the mixture of the groups by
their sizes. Whoever fits no group is taken to be absent.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.hashing import mix
from reissue.counting.histogram import Histogram, counted
from reissue.counting.segments import ranges
from reissue.counting.texts import MISSING, ranked_texts
from reissue.data.identifiers import identifier_texts
from reissue.people.knowledge import Knowledge
from reissue.people.membership import Membership, known_presences, membership, texts_of
from reissue.published.series import Series
from reissue.release.presences import Presences
from reissue.solver.forward_backward import ValueDistributions

__all__ = ["PersonHistories", "histories_of_members", "link_people"]


@dataclass(frozen=True, eq=False)
class PersonHistories:
    """Where each known person is in each release."""

    table: Ints
    """People x releases: the place, -1 where the person is absent."""
    places: ValueDistributions
    names: tuple[str | None, ...]
    """Value to its text."""
    groups: Ints | None = None
    """People x releases: the number of the person's group in the release, -1 if absent or not just one; if kept."""

    def of_people(self, rows: Ints) -> "PersonHistories":
        """Some of the people."""
        return replace(self, table=self.table[rows], groups=None if self.groups is None else self.groups[rows])

    def of_first(self, releases: int) -> "PersonHistories":
        """The first releases, and who is in one of these."""
        if releases == self.table.shape[1]:
            return self
        groups = None if self.groups is None else self.groups[:, :releases]
        first = replace(self, table=self.table[:, :releases], groups=groups)
        return first.of_people(np.flatnonzero((first.table >= 0).any(axis=1)))


def link_people(series: Series, knowledge: Knowledge) -> PersonHistories:
    """Everybody whom the adversary knows."""
    if knowledge.members is None:
        return histories_of_members(membership(series, knowledge, strangers=False))
    releases = known_presences(series, knowledge)
    names, numbers = texts_of([one.histogram for one in releases])
    _, person = ranked_texts(pl.concat([identifier_texts(one.ids) for one in releases]))
    table = np.full((int(person.max(initial=-1)) + 1, len(releases)), -1, np.int64)
    groups, shown, first, place = np.full_like(table, -1), [], 0, 0
    for number, one in enumerate(releases):
        who = person[first : first + len(one.ids)]
        mixture, histogram = _mixtures(one, numbers[number], len(names))
        table[who, number] = mixture + place
        groups[who, number] = _only(one)
        shown.append(histogram)
        first, place = first + len(one.ids), place + histogram.groups
    starts = np.cumsum([0, *(one.groups for one in shown)])
    places = ValueDistributions.of(
        np.concatenate([one.group + start for one, start in zip(shown, starts[:-1], strict=True)]),
        np.concatenate([one.value for one in shown]),
        np.concatenate([one.count for one in shown]),
        int(starts[-1]),
    )
    return PersonHistories(table, places, tuple(None if name == MISSING else name for name in names), groups)


def histories_of_members(members: Membership) -> PersonHistories:
    """From known membership; groups with the same distribution of values are one place."""
    known = np.flatnonzero(members.real[members.person])
    person = np.unique(members.person[known], return_inverse=True)[1].reshape(-1)
    group = members.group[known]
    table = np.full((int(person.max(initial=-1)) + 1, int(members.release.max(initial=-1)) + 1), -1, np.int64)
    table[person, members.release[group]] = members.shapes[group]
    groups = None
    if len(members.label):
        groups = np.full(table.shape, -1, np.int64)
        groups[person, members.release[group]] = members.label[group]
    shown = members.histogram.pick(np.unique(members.shapes, return_index=True)[1])
    places = ValueDistributions.of(shown.group, shown.value, shown.count, shown.groups)
    names = members.names or tuple(str(value) for value in range(shown.values))
    return PersonHistories(table, places, tuple(None if name == MISSING else name for name in names), groups)


def _only(known: Presences) -> Ints:
    """Row to the group that the person fits, -1 if several."""
    only = np.full(len(known.ids), -1, np.int64)
    only[known.row] = known.group
    only[np.bincount(known.row, minlength=len(only)) != 1] = -1
    return only


def _mixtures(known: Presences, number: Ints, values: int) -> tuple[Ints, Histogram]:
    """Row to the number of its mixture of groups, and what each mixture holds; `number` are the values' numbers."""
    key = np.zeros(len(known.ids), np.uint64)
    np.add.at(key, known.row, mix(known.group.astype(np.uint64) + np.uint64(1)))
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    of_row = np.full(len(known.ids), -1, np.int64)
    of_row[first] = np.arange(len(first))
    own = np.flatnonzero(of_row[known.row] >= 0)
    shown = known.histogram
    lengths = shown.lengths[known.group[own]]
    entry = ranges(shown.starts[known.group[own]], lengths)
    mixture = np.repeat(of_row[known.row[own]], lengths)
    return place.reshape(-1), counted(mixture, number[shown.value[entry]], len(first), values, shown.count[entry])
