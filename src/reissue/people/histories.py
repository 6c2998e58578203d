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
from reissue.counting.texts import ranked_texts
from reissue.errors import CannotRunError, InputError
from reissue.people.knowledge import Knowledge
from reissue.people.membership import Membership, counted_texts, fitting, membership
from reissue.published.series import Series
from reissue.solver.forward_backward import ValueDistributions

__all__ = ["PersonHistories", "histories_of_members", "link_people"]

_PERSON, _GROUP, _VALUE, _COUNT = "person", "group", "value", "count"


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
    if len(knowledge.members) != len(series):
        raise InputError(f"`members` must have one table for each of the {len(series)} releases.")
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    parts, shown, first = [], [], 0
    for number, (release, people) in enumerate(zip(series.releases, knowledge.members, strict=True)):
        ids, of_row, pairs = fitting(release, people)
        place, histogram = _mixtures(pairs, int(of_row.max(initial=-1)) + 1, counted_texts(release.histogram))
        here = place[of_row]
        at = np.where(here < 0, -1, here + first)
        only = _only(pairs, len(place))[of_row]
        parts.append(pl.DataFrame({_PERSON: ids, "place": at, _GROUP: only, "release": number}))
        shown.append(histogram.with_columns(pl.col("place") + first))
        first += int(place.max(initial=-1)) + 1
    return _joined(pl.concat(parts).filter(pl.col("place") >= 0), pl.concat(shown), first, len(series))


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
    return PersonHistories(table, places, tuple(None if name == "\0" else name for name in names), groups)


def _only(pairs: Ints, classes: int) -> Ints:
    """Class to the group that it fits, -1 if none or several."""
    only = np.full(classes, -1, np.int64)
    only[pairs[0]] = pairs[1]
    only[np.bincount(pairs[0], minlength=classes) != 1] = -1
    return only


def _mixtures(pairs: Ints, classes: int, values: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """Class to its place, -1 for none; and the records of each place: place, value as text, count."""
    key = np.zeros(classes, np.uint64)
    np.add.at(key, pairs[0], mix(pairs[1].astype(np.uint64) + np.uint64(1)))
    fits = np.bincount(pairs[0], minlength=classes) > 0
    place = np.full(classes, -1, np.int64)
    _, first, of_class = np.unique(key[fits], return_index=True, return_inverse=True)
    place[fits] = of_class.reshape(-1)
    chosen = np.zeros(classes, np.bool_)
    chosen[np.flatnonzero(fits)[first]] = True
    own = pairs[:, chosen[pairs[0]]]
    records = pl.DataFrame({"place": place[own[0]], _GROUP: own[1]}).join(values, on=_GROUP)
    return place, records.group_by("place", _VALUE).agg(pl.col(_COUNT).sum())


def _joined(presences: pl.DataFrame, shown: pl.DataFrame, places: int, releases: int) -> PersonHistories:
    """People and values as numbers."""
    names = shown[_VALUE].unique().sort()
    numbers = pl.DataFrame({_VALUE: names, "n": pl.Series(range(len(names)), dtype=pl.Int64)})
    triples = shown.join(numbers, on=_VALUE).sort("place", "n")
    _, person = ranked_texts(presences[_PERSON])
    table = np.full((int(person.max(initial=-1)) + 1, releases), -1, np.int64)
    groups = np.full_like(table, -1)
    at = person, presences["release"].to_numpy()
    table[at], groups[at] = presences["place"].to_numpy(), presences[_GROUP].to_numpy()
    held = ValueDistributions.of(
        triples["place"].to_numpy(), triples["n"].to_numpy(), triples[_COUNT].to_numpy(), places
    )
    return PersonHistories(table, held, tuple(None if name == "\0" else name for name in names.to_list()), groups)
