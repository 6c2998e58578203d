"""Membership: everyone's group in every release of a series, and what the groups show.

Derived from presences, for the attacks of the papers, which follow one person at a time through known groups. Whoever
fits several groups is left out. A group's other records, counterfeits included, are people nobody knows: in a private
copy those with the same published quasi-identifiers are taken for the same person in every release; with tables of
people each is in one release only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.hashing import mix
from reissue.counting.histogram import Histogram, counted
from reissue.counting.keys import stable_order
from reissue.counting.segments import ranges
from reissue.counting.texts import MISSING, TextCounts, joined_texts, ranked_texts
from reissue.data.identifiers import identifier_texts
from reissue.errors import CannotRunError, InputError
from reissue.papers.tracking.forward_backward import ValueDistributions
from reissue.people.knowledge import Knowledge
from reissue.people.presences import known_presences
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.release.presences import Presences

__all__ = [
    "Membership",
    "PersonHistories",
    "histories_of_members",
    "link_people",
    "membership",
    "true_values",
]

_UNKNOWN = "\0"
"""How the name of a record that nobody knows begins."""
_ALONE = "\0#"
"""How a record that nobody knows, and that is in one release only, is named for a while."""


@dataclass(frozen=True, eq=False)
class Membership:
    """Presences of people in groups, sorted by group; and the groups' values."""

    person: Ints
    """Presence to person 0, 1, ..."""
    group: Ints
    """Presence to group; groups are numbered over all releases, in order of release."""
    release: Ints
    """Group to its release 0, 1, ..."""
    histogram: Histogram
    """How often each group holds each value."""
    real: Bools
    """Person to whether it is somebody whom the adversary knows."""
    names: tuple[str, ...] = ()
    """Value to its text; several sensitive columns are joined, and a missing value is a mark."""
    label: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Group to its number in its own release; none if nobody knows."""
    identifiers: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    """Person to its identifier as text, or, of a record that nobody knows, to a name of its own."""

    @property
    def people(self) -> int:
        """The number of known people."""
        return int(self.real.sum())

    @cached_property
    def sizes(self) -> Ints:
        """Records of each group."""
        return np.bincount(self.group, minlength=len(self.release))

    @cached_property
    def kinds(self) -> Ints:
        """Group to the number of its multiset of values."""
        return self._classes(self.histogram.count)

    @cached_property
    def shapes(self) -> Ints:
        """Group to the number of its distribution of values: multisets that are multiples of each other share one."""
        return self._classes(self.histogram.reduced)

    @property
    def distinct(self) -> Ints:
        """The number of different values in each group."""
        return self.histogram.lengths

    def _classes(self, count: Ints | Codes) -> Ints:
        keys = mix(self.histogram.value.astype(np.uint64) * np.uint64(1 << 32) + count.astype(np.uint64))
        sums = np.zeros(len(self.release), np.uint64)
        np.add.at(sums, self.histogram.group, keys)
        return np.unique(sums, return_inverse=True)[1].astype(np.int64)


def membership(series: Series, knowledge: Knowledge | None = None, *, others: bool = True) -> Membership:
    """Everybody's group in every release; without `others` only people whom the adversary knows."""
    return _numbered(_known_presences(series, knowledge or Knowledge()), others=others)


def true_values(series: Series, knowledge: Knowledge, members: Membership) -> list[Ints]:
    """Release to everybody's true value, by the membership's numbers; a value that no group shows is one more.

    -1 where the person is not in the release, or the holder does not know it. Values that a method changed tell none.
    """
    place = {name: number for number, name in enumerate(members.names)}
    person = pl.DataFrame({"person": members.identifiers}).with_row_index("number")
    found = []
    for release in series.releases:
        truth = np.full(len(members.real), -1, np.int64)
        known = None if knowledge.members is not None else _truth(release)
        if known is not None:
            ids, texts = known
            own = pl.DataFrame({"person": identifier_texts(ids), "value": texts}).unique("person")
            here = own.join(person, on="person")
            truth[here["number"].to_numpy()] = [place.get(text, len(place)) for text in here["value"].to_list()]
        found.append(truth)
    return found


def _truth(release: PublishedRelease) -> tuple[pl.Series, pl.Series] | None:
    """Whose true values the holder knows, and these."""
    own, source = release.presences, release.source
    if own is not None:
        changed = source is not None and source.draft.sensitive is not None
        return None if own.truth is None or changed else (own.ids, own.truth)
    if release.keeps_identifier and release.form.boxes and not release.form.seats:
        given, row = release.named
        there = given.is_not_null()
        texts = joined_texts(release.main, release.schema.sensitive).gather(row)
        return given.filter(there), texts.filter(there)
    return None


# --- from presences --------------------------------------------------------------------------------------------------


def _known_presences(series: Series, knowledge: Knowledge) -> list[Presences]:
    """The presences in each release: our own, of tables of people, or of files that kept the identifier."""
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    given = knowledge.members
    if given is not None and len(given) != len(series):
        raise InputError(f"`members` must have one table for each of the {len(series)} releases.")
    return [_known(release, None if given is None else given[place]) for place, release in enumerate(series.releases)]


def _known(release: PublishedRelease, members: Any) -> Presences:
    if not release.main.height and release.presences is None:
        raise CannotRunError("a release has no rows.")
    if release.presences is None:
        release.require(*release.schema.sensitive)
    if members is not None and release.schema.identifier is None:
        raise CannotRunError(
            "the schema names no identifier, by which people could be told from each other.", needs=["identifier"]
        )
    known = known_presences(release, members)
    if known is None:
        raise CannotRunError(
            "it starts from who is in which group: give our own releases, files that kept the identifier column, "
            "or a table of people for each release.",
            needs=["members"],
        )
    if not len(known.ids) and members is not None:
        raise CannotRunError("none of the people fits any published group: the tables are not of these releases.")
    return known


def _texts_of(counts: Sequence[TextCounts]) -> tuple[pl.Series, list[Ints]]:
    """The values of several releases in order, and the number among them of each release's own."""
    names, number = ranked_texts(pl.concat([pl.Series(one.names, dtype=pl.String) for one in counts]))
    return names, np.split(number, np.cumsum([len(one.names) for one in counts])[:-1])


def _numbered(releases: Sequence[Presences], *, others: bool) -> Membership:
    """People, groups and values as numbers."""
    names, numbers = _texts_of([one.histogram for one in releases])
    shown = [np.flatnonzero(one.histogram.lengths) for one in releases]  # nobody is in a group that shows nothing
    starts = np.cumsum([0, *(len(one) for one in shown)])
    here = [_places(one, some, first) for one, some, first in zip(releases, shown, starts.tolist(), strict=False)]
    parts = [_records(one, place, with_others=others) for place, one in enumerate(releases)]
    identifiers, person = ranked_texts(pl.concat([ids for ids, _, _ in parts]))
    group = np.concatenate([place[group] for place, (_, group, _) in zip(here, parts, strict=True)])
    real = np.zeros(len(identifiers), np.bool_)
    real[person] = np.concatenate([known for _, _, known in parts])
    order = stable_order(person, max(len(identifiers), 1))
    order = order[stable_order(group[order], max(int(starts[-1]), 1))]
    histogram = counted(
        np.concatenate([place[one.histogram.group] for place, one in zip(here, releases, strict=True)]),
        np.concatenate([number[one.histogram.value] for number, one in zip(numbers, releases, strict=True)]),
        int(starts[-1]),
        len(names),
        np.concatenate([np.asarray(one.histogram.count, np.int64) for one in releases]),
    )
    return Membership(
        person[order],
        group[order],
        np.repeat(np.arange(len(releases)), np.diff(starts)),
        histogram,
        real,
        tuple(names.to_list()),
        np.concatenate(shown),
        identifiers,
    )


def _places(known: Presences, shown: Ints, first: int) -> Ints:
    """Group of a release to its number among the groups of all releases."""
    place = np.full(known.groups, -1)
    place[shown] = first + np.arange(len(shown))
    return place


def _records(known: Presences, release: int, *, with_others: bool) -> tuple[pl.Series, Ints, Bools]:
    """The records of a release: whose each is, its group, and whether that is somebody known."""
    only = (np.bincount(known.row, minlength=len(known.ids)) == 1) & known.ids.is_not_null().to_numpy()
    ids, group = identifier_texts(known.ids.filter(only)), known.group[only[known.row]]
    if not with_others:
        return ids, group, np.ones(len(group), np.bool_)
    others = known.others
    if others is None:
        missing = known.histogram.sizes - np.bincount(group, minlength=known.groups)
        if (missing < 0).any():
            raise CannotRunError(
                "more people than records were found in a group: the tables are not of these releases."
            )
        others = np.repeat(np.arange(known.groups), missing)
    names = pl.concat([ids, _names_of_others(known, len(others), release).alias(ids.name)])
    return names, np.concatenate([group, others]), np.arange(len(names)) < len(ids)


def _names_of_others(known: Presences, number: int, release: int) -> pl.Series:
    """Names of the records of a release that are no known person's."""
    if known.lasting is not None:
        return _UNKNOWN + known.lasting.cast(pl.String)
    return _ALONE + pl.Series(range(number), dtype=pl.Int64).cast(pl.String) + f"\1{release}"


# --- people through a series ----------------------------------------------------------------------------------------


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
    ids: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    """Person to the identifier as text."""

    def of_people(self, rows: Ints) -> "PersonHistories":
        """Some of the people."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(
            self, table=self.table[rows], groups=groups, ids=self.ids.gather(rows) if len(self.ids) else self.ids
        )

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
        return histories_of_members(membership(series, knowledge, others=False))
    releases = _known_presences(series, knowledge)
    names, numbers = _texts_of([one.histogram for one in releases])
    ids, person = ranked_texts(pl.concat([identifier_texts(one.ids) for one in releases]))
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
    return PersonHistories(table, places, tuple(None if name == MISSING else name for name in names), groups, ids)


def histories_of_members(members: Membership) -> PersonHistories:
    """From known membership; groups with the same distribution of values are one place."""
    known = np.flatnonzero(members.real[members.person])
    people, person = np.unique(members.person[known], return_inverse=True)
    person, group = person.reshape(-1), members.group[known]
    table = np.full((int(person.max(initial=-1)) + 1, int(members.release.max(initial=-1)) + 1), -1, np.int64)
    table[person, members.release[group]] = members.shapes[group]
    groups = None
    if len(members.label):
        groups = np.full(table.shape, -1, np.int64)
        groups[person, members.release[group]] = members.label[group]
    shown = members.histogram.pick(np.unique(members.shapes, return_index=True)[1])
    places = ValueDistributions.of(shown.group, shown.value, shown.count, shown.groups)
    names = members.names or tuple(str(value) for value in range(shown.values))
    ids = members.identifiers.gather(people) if len(members.identifiers) else members.identifiers
    return PersonHistories(table, places, tuple(None if name == MISSING else name for name in names), groups, ids)


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
