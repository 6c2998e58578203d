"""Who is in which group of which release, over a whole series, and what the groups show.

Known membership is what attacks over a series start from: the adversary knows who was in the data, and finds the group
by the quasi-identifiers. Read from our own releases; from files that kept the identifier column (a holder's private
copy); or from tables of people, one per release, by which published group their quasi-identifiers fall into. Whoever
fits several groups is left out, and a group's other records, counterfeits too, are people nobody knows. In a private
copy those with the same published quasi-identifiers are taken for the same from release to release; with tables of
people each is one of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import cells_of
from reissue.counting.hashing import mix
from reissue.counting.histogram import Histogram, counted
from reissue.counting.keys import distinct_keys, stable_order
from reissue.counting.texts import ranked_texts
from reissue.data.identifiers import identifier_texts
from reissue.data.table import Table, to_polars
from reissue.errors import CannotRunError, InputError
from reissue.people.containment import containment
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease, TextCounts, joined_texts
from reissue.published.series import Series
from reissue.release.presences import Presences
from reissue.release.release import Form
from reissue.schema import Role
from reissue.taxonomy.notation import parse_column
from reissue.taxonomy.ranges import is_range

__all__ = [
    "Arrivals",
    "Membership",
    "arrivals",
    "counted_texts",
    "fitting",
    "membership",
    "mix",
    "named_membership",
    "published_boxes",
]

_PERSON, _RELEASE, _GROUP, _VALUE, _COUNT, _REAL = "person", "release", "group", "value", "count", "real"
_STRANGER = "\0"
"""How the name of a record that nobody knows begins."""
_FIRST = 10**18
"""Numbers of people begin here: all have as many digits, so their texts sort as they do."""
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

    @property
    def people(self) -> int:
        """How many known people there are."""
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
        """How many different values each group has."""
        return self.histogram.lengths

    def _classes(self, count: Ints | Codes) -> Ints:
        keys = mix(self.histogram.value.astype(np.uint64) * np.uint64(1 << 32) + count.astype(np.uint64))
        sums = np.zeros(len(self.release), np.uint64)
        np.add.at(sums, self.histogram.group, keys)
        return np.unique(sums, return_inverse=True)[1].astype(np.int64)

    def only(self, release: int) -> "tuple[Membership, Ints]":
        """One release alone, and its people's numbers among all."""
        first, last = np.searchsorted(self.release, [release, release + 1])
        here = slice(*np.searchsorted(self.group, [first, last]))
        person, again = np.unique(self.person[here], return_inverse=True)
        members = Membership(
            again.reshape(-1),
            self.group[here] - first,
            np.zeros(last - first, np.int64),
            self.histogram.between(int(first), int(last)),
            self.real[person],
            self.names,
            self.label[first:last],
        )
        return members, person


def membership(series: Series, knowledge: Knowledge, *, strangers: bool = True) -> Membership:
    """Who stands where in all releases of a series; without strangers, groups keep all their values all the same."""
    return _numbered(*_gathered(series, knowledge, strangers=strangers))


def named_membership(
    series: Series, knowledge: Knowledge | None = None, *, strangers: bool = True
) -> tuple[Membership, Ints, Ints]:
    """The same, and a number for every known person: its identifier, if these are whole numbers as in a ledger.

    And of people nobody knows the number that they keep; -1 for those who are in one release only.
    """
    presences, values = _gathered(series, knowledge or Knowledge(), strangers=strangers)
    return _numbered(presences, values), *_lasting_numbers(presences[_PERSON].unique().sort())


def _lasting_numbers(names: pl.Series) -> tuple[Ints, Ints]:
    """The number of every known person, and the one that each person nobody knows keeps; -1 for the others."""
    strange = names.str.starts_with(_STRANGER)
    lasting = names.set(~strange | names.str.starts_with(_ALONE), None).str.strip_prefix(_STRANGER)
    return _whole_numbers(names.set(strange, None)), _whole_numbers(lasting)


def _whole_numbers(names: pl.Series) -> Ints:
    """Identifiers as numbers, -1 for none; if they are no whole numbers, numbers whose texts are in their order."""
    numbers = names.cast(pl.Int64, strict=False)
    if not names.equals(numbers.cast(pl.String)):
        return np.where(names.is_null().to_numpy(), -1, _FIRST + np.arange(len(names)))
    return numbers.fill_null(-1).to_numpy()


@dataclass(frozen=True, eq=False)
class Arrivals:
    """One release's members, with numbers by which they are known in other releases."""

    members: Membership
    known: Ints
    """Person to its identifier, a whole number; -1 for those whom nobody knows."""
    strangers: Ints
    """Person nobody knows to the number that it keeps; -1 if it is in this release only, or somebody known."""
    truth: tuple[Ints, pl.Series] | None = None
    """People, and the text of each one's true value; None where the holder does not know."""


def arrivals(series: Series, knowledge: Knowledge) -> Iterator[Arrivals]:
    """Each release of a series."""
    presences, values = _gathered(series, knowledge, strangers=True)
    members = _numbered(presences, values)
    names = presences[_PERSON].unique().sort()
    known, strangers = _lasting_numbers(names)
    for place, release in enumerate(series.releases):
        part, person = members.only(place) if len(series) > 1 else (members, np.arange(len(names)))
        truth = None if knowledge.members is not None else _truth(release, names.gather(person))
        yield Arrivals(part, known[person], strangers[person], truth)
        if len(series) > 1:
            knowledge.progress((place + 1) / len(series))


def _truth(release: PublishedRelease, names: pl.Series) -> tuple[Ints, pl.Series] | None:
    """Which of some people the holder knows the true values of, and these; values that a method changed tell none."""
    kept, source = release.presences, release.source
    if kept is not None:
        if kept.truth is None or (source is not None and source.draft.sensitive is not None):
            return None
        ids, texts = kept.ids, kept.truth
    elif release.keeps_identifier and release.form in {Form.GENERALIZED, Form.NUMBERED}:
        given, row = release.named
        there = given.is_not_null()
        ids, texts = given.filter(there), joined_texts(release.main, release.schema.sensitive).gather(row).filter(there)
    else:
        return None
    own = pl.DataFrame({_PERSON: identifier_texts(ids), _VALUE: texts}).unique(_PERSON)
    found = pl.DataFrame({_PERSON: names}).with_row_index("place").join(own, on=_PERSON, maintain_order="left")
    return found["place"].to_numpy().astype(np.int64), found[_VALUE]


def _gathered(series: Series, knowledge: Knowledge, *, strangers: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of all releases: person, group and whether it is known; and the values of each group with their counts."""
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    given = knowledge.members
    if given is not None and len(given) != len(series):
        raise InputError(f"`members` must have one table for each of the {len(series)} releases.")
    parts, values = [], []
    for number, release in enumerate(series.releases):
        presences, shown = _presences(release, None if given is None else given[number])
        presences = presences if strangers else presences.filter(_REAL)
        alone = pl.col(_PERSON).str.starts_with(_ALONE)
        names = pl.when(alone).then(pl.col(_PERSON) + f"\1{number}").otherwise(_PERSON)
        parts.append(presences.with_columns(names.alias(_PERSON), pl.lit(number).alias(_RELEASE)))
        values.append(shown.with_columns(pl.lit(number).alias(_RELEASE)))
    return pl.concat(parts), pl.concat(values)


def _numbered(presences: pl.DataFrame, values: pl.DataFrame) -> Membership:
    """People, groups and values as numbers."""
    width = 1 + max(int(np.max(frame[_GROUP].to_numpy(), initial=0)) for frame in (presences, values))
    shown, placed = (_whole(frame, _RELEASE) * width + _whole(frame, _GROUP) for frame in (values, presences))
    groups, of_shown = distinct_keys(shown, int(shown.max(initial=-1)) + 1)
    names, value = ranked_texts(values[_VALUE])
    counts = counted(of_shown, value, len(groups), len(names), _whole(values, _COUNT))
    group = np.searchsorted(groups, placed)
    shows = np.append(groups, -1)[group] == placed  # nobody is in a group that shows nothing
    presences, group = (presences, group) if shows.all() else (presences.filter(shows), group[shows])
    identifiers, person = ranked_texts(presences[_PERSON])
    real = np.zeros(len(identifiers), np.bool_)
    real[person] = presences[_REAL].to_numpy()
    order = stable_order(person, max(len(identifiers), 1))
    order = order[stable_order(group[order], max(len(groups), 1))]
    return Membership(
        person[order], group[order], groups // width, counts, real, tuple(names.to_list()), groups % width
    )


def _whole(frame: pl.DataFrame, column: str) -> Ints:
    """A column of whole numbers."""
    return frame[column].to_numpy().astype(np.int64)


def _presences(release: PublishedRelease, members: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One release: person, group and whether it is known; and the values of each group with their counts."""
    if members is None and release.presences is not None:
        return _own(release.presences)
    if not release.main.height:
        raise CannotRunError("a release has no rows.")
    values = counted_texts(release.histogram)
    if members is not None:
        return _with_strangers(_matched(release, members), release), values
    if not release.keeps_identifier:
        raise CannotRunError(
            "it starts from who is in which group: give our own releases, files that kept the identifier column, "
            "or a table of people for each release.",
            needs=["members"],
        )
    given, row = release.named
    ids = given.alias(_PERSON)
    known = pl.DataFrame([ids, pl.Series(_GROUP, release.group[row])]).filter(ids.is_not_null())
    return _with_strangers(known, release), values


def counted_texts(histogram: TextCounts) -> pl.DataFrame:
    """Group, value as text, and count."""
    names = pl.Series(_VALUE, histogram.names, dtype=pl.String).gather(histogram.value)
    return pl.DataFrame([pl.Series(_GROUP, histogram.group), names, pl.Series(_COUNT, histogram.count)])


def _own(known: Presences) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The holder's own release: everybody's group, and the counterfeits as people nobody knows."""
    lasting, alone = known.lasting, np.arange(len(known.records) - len(known.ids))
    mark, numbers = (_ALONE, alone) if lasting is None else (_STRANGER, lasting)
    names = pl.select(pl.lit(mark) + pl.Series(numbers).cast(pl.String)).to_series()
    presences = pl.DataFrame(
        {
            _PERSON: pl.concat([identifier_texts(known.ids).alias(_PERSON), names.alias(_PERSON)]),
            _GROUP: known.records,
            _REAL: np.arange(len(known.records)) < len(known.ids),
        }
    )
    return presences, counted_texts(known.histogram)


def _with_strangers(known: pl.DataFrame, release: PublishedRelease) -> pl.DataFrame:
    """The known people of each group, and for its other records people nobody knows."""
    missing = release.sizes - np.bincount(known[_GROUP].to_numpy(), minlength=release.groups)
    if (missing < 0).any():
        raise CannotRunError("more people than records were found in a group: the tables are not of these releases.")
    if release.keeps_identifier:
        strangers = _lasting(release)
    else:
        alone = pl.DataFrame({_GROUP: np.repeat(np.arange(release.groups), missing)})
        turn = pl.int_range(pl.len()).cast(pl.String)
        strangers = alone.with_columns((pl.lit(_ALONE) + turn).alias(_PERSON))
    columns = [_PERSON, _GROUP]
    return pl.concat(
        [
            known.select(columns).with_columns(pl.lit(value=True).alias(_REAL)),
            strangers.select(columns).with_columns(pl.lit(value=False).alias(_REAL)),
        ]
    )


def _lasting(release: PublishedRelease) -> pl.DataFrame:
    """Records without a name that look the same from release to release are one person."""
    given, row = release.named
    nobody = row[given.is_null().to_numpy()]
    looks = joined_texts(release.main, release.schema.quasi).gather(nobody).alias("looks")
    marked = pl.DataFrame([looks, pl.Series(_GROUP, release.group[nobody])])
    turn = pl.int_range(pl.len()).over("looks").cast(pl.String)
    return marked.with_columns((pl.lit(_STRANGER) + pl.col("looks") + pl.lit("\3") + turn).alias(_PERSON))


def _matched(release: PublishedRelease, members: Any) -> pl.DataFrame:
    """The people whose quasi-identifiers fall into exactly one published group."""
    ids, of_row, pairs = fitting(release, members)
    total = int(of_row.max(initial=-1)) + 1
    only = np.bincount(pairs[0], minlength=total) == 1
    where = np.full(total, -1, np.int64)
    where[pairs[0]] = pairs[1]
    rows_known = np.flatnonzero(only[of_row])
    return pl.DataFrame([ids.gather(rows_known), pl.Series(_GROUP, where[of_row[rows_known]])])


def fitting(release: PublishedRelease, members: Any) -> tuple[pl.Series, Ints, Ints]:
    """Which published groups people fit: their names, the class of each, and the pairs (class, group), sorted.

    A class is all people with the same exact quasi-identifiers.
    """
    schema = release.schema
    if schema.identifier is None:
        raise CannotRunError(
            "the schema names no identifier, by which people could be told from each other.", needs=["identifier"]
        )
    frame, _ = to_polars(members, schema)
    used = {schema.identifier, *schema.quasi}
    table = Table.read(frame, schema.with_roles({name: Role.DROP for name in schema.columns if name not in used}))
    lo, hi = published_boxes(release, table)
    somebody: Bools = np.asarray((lo <= hi).all(axis=0))
    if not somebody.any():
        raise CannotRunError("none of the people fits any published group: the tables are not of these releases.")
    cells = cells_of(table.codes, table.sizes)
    cell, look = containment(cells.codes, lo[:, somebody], hi[:, somebody])
    pairs = np.unique(np.stack([cell, release.looks.group[somebody][look]]), axis=1)
    return identifier_texts(table.frame[schema.identifier]).alias(_PERSON), cells.of_row, pairs


def published_boxes(release: PublishedRelease, people: Table) -> tuple[Codes, Codes]:
    """Quasi-identifiers x looks: the published intervals in people's codes; an empty one has none of these people.

    Where quasi-identifiers are published as they are, a value that none of the people has is somebody else's, or
    nobody's. A name in a generalized release, or beside ranges, may include some of them: it must be in the taxonomy.
    """
    looks, exact = release.looks, not release.form.boxes
    columns = [(looks.texts[name], coding) for name, coding in zip(release.schema.quasi, people.codings, strict=True)]
    read = [
        parse_column(texts, coding, partial=True, strange=exact and not _shows_ranges(texts))
        for texts, coding in columns
    ]
    return np.stack([part.lo for part in read]), np.stack([part.hi for part in read])


def _shows_ranges(texts: pl.Series) -> bool:
    return any(map(is_range, texts.drop_nulls().unique()))
