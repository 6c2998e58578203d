"""Who is in which published group: what an adversary reads off a release and a table of everyone's QI values.

A *class* is all people with the same exact quasi-identifiers. For each class and group the adversary needs n_ig, how
many of the class stand in the group. The holder knows it. Whoever has only the release and the external table finds
it by elimination: rows published exactly belong to their class; a class that fits one box only has all its other
people there; a group whose candidates are just as many as its rows has them all. Where that does not end, a group
stays `open`. An external table of more people than were published has people who are absent; their number is known
for a group where all candidates fit nowhere else (the paper's matching cardinality is the case that nobody is absent).

Beside one of its groups a class may have values that are published as they are, and people in other groups.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl
from scipy.special import gammaln

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts, Domain, Margin, cells_of
from reissue.data.identifiers import identifier_texts
from reissue.data.table import Table, to_polars
from reissue.errors import CannotRunError, TaxonomyError
from reissue.people.presences import known_columns
from reissue.published import PublishedRelease
from reissue.published.boxes import BoxBounds, boxes_in
from reissue.published.joins import containment
from reissue.release.presences import Presences
from reissue.release.release import Release
from reissue.schema import Role, Schema

__all__ = ["Beside", "Linkage", "link", "link_known", "link_release", "linked_rows"]


@dataclass(frozen=True, eq=False)
class Linkage:
    """Classes of people, published groups, and how many of each class stand in each group."""

    of_row: Ints
    """Row of the external table to its class."""
    classes: int
    cls: Ints
    """Class of each link; links are sorted by group, and have somebody."""
    grp: Ints
    num: Ints
    """How many people of the class stand in the group, or may."""
    counts: Counts
    """The published histogram of every group."""
    plain: Bools
    """Group to whether it was published as it is: one class, exact values."""
    open: Bools
    """Group to whether it is not known who stands in it."""
    absent: Ints
    """Group to how many of the people who fit are not in the data."""
    coded: Table | None = None
    """A table in whose codes the sensitive values are."""

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Each sensitive column by itself, and all of them together where there are several."""
        return () if self.coded is None else self.coded.margins

    @property
    def domain(self) -> Domain:
        """The sensitive values, with their counts in the release."""
        return self.counts.domain

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.counts.total

    @cached_property
    def starts(self) -> Ints:
        """Group to its first link, and the number of links at the end."""
        return np.searchsorted(self.grp, np.arange(self.groups + 1))

    @cached_property
    def placed(self) -> Ints:
        """Class to its people who stand in some group."""
        return np.bincount(self.cls, self.num, self.classes).astype(np.int64)


def link_release(release: Release) -> Linkage:
    """The holder's own view: who stands where is known."""
    table, draft = release.table, release.draft
    if draft.counterfeits is not None:
        raise CannotRunError("the release holds counterfeits, so what its groups show is not the people's own.")
    kept = np.flatnonzero(draft.groups >= 0)
    groups = draft.groups[kept].astype(np.int64)
    published = (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    domain = Domain(np.bincount(published, minlength=table.domain.size), table.domain.taxonomy)
    counts = Counts(groups, published, domain, release.groups)
    apart = not draft.form.boxes
    exact = np.ones(release.groups, np.bool_) if apart else (release.boxes.lo == release.boxes.hi).all(axis=0)
    cells = cells_of(table.codes, table.sizes)
    return replace(linked_rows(cells.of_row, cells.of_row[kept], groups, counts, exact), coded=table)


def linked_rows(
    people: Ints, members: Ints, groups: Ints, counts: Counts, exact: Bools, times: Ints | None = None
) -> Linkage:
    """From the class and group of every published row, and how many records each stands for."""
    classes = int(max(people.max(initial=-1), members.max(initial=-1))) + 1
    keys, place = np.unique(groups * classes + members, return_inverse=True)
    num = np.bincount(place, times, len(keys)).astype(np.int64)
    grp, cls = keys // classes, keys % classes
    plain = exact & (np.bincount(grp, minlength=counts.total) == 1)
    nobody = np.zeros(counts.total, np.int64)
    return Linkage(people, classes, cls, grp, num, counts, plain, nobody > 0, nobody)


def link(release: PublishedRelease, population: Any) -> Linkage:
    """The view of someone with the published tables and a table of everyone's quasi-identifiers."""
    people = population if isinstance(population, Table) else _population(population, release.schema)
    if release.counterfeits.any():
        raise CannotRunError("the release holds counterfeits, so what its groups show is not the people's own.")
    boxes = boxes_in(release, people.codings)
    if not boxes.inhabited.all():
        raise CannotRunError("the external table lacks people whom the release shows: it is not of these people.")
    counts, coded = _counts(release, people)
    if not release.form.boxes and boxes.exact.all():
        return replace(_link_exact(release, people, boxes.lo, counts), coded=coded)
    return replace(_link_boxes(release, people, boxes, counts), coded=coded)


def link_known(release: PublishedRelease, known: Presences, population: Any) -> Linkage:
    """The view of someone who also knows who is in which group; the population must name its people.

    `Linkage.of_row` is about the rows of `known`.
    """
    schema = release.schema
    frame = population.frame if isinstance(population, Table) else to_polars(population, schema)[0]
    if schema.identifier is None or schema.identifier not in frame.columns:
        raise CannotRunError("the table of people needs their identifiers.", needs=["identifier"])
    place = {text: row for row, text in enumerate(identifier_texts(frame[schema.identifier]).to_list())}
    rows = [place.get(text) for text in identifier_texts(known.ids).to_list()]
    if None in rows:
        raise CannotRunError("the table of people lacks some who are in the releases.")
    people = _population(frame[[row for row in rows if row is not None]], schema)
    boxes = boxes_in(release, people.codings)
    exact = np.ones(release.groups, np.bool_)
    exact[release.looks.group[~boxes.exact]] = False
    counts, coded = _counts(release, people)
    of_row = cells_of(people.codes, people.sizes).of_row
    return replace(linked_rows(of_row, of_row, known.group, counts, exact), coded=coded)


def _population(data: Any, schema: Schema) -> Table:
    frame, _ = to_polars(data, schema)
    return Table.read(frame, known_columns(schema, frame.columns), repair=False)


def _counts(release: PublishedRelease, people: Table) -> tuple[Counts, Table]:
    """Published sensitive values by group, in the external table's coding where it has them; and their table."""
    schema = release.schema
    release.require(*schema.sensitive)
    there = np.flatnonzero(release.weights)
    frame, own, times = release.values.select(schema.sensitive)[there], people.frame.schema, release.weights[there]
    frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    shown = [_as_given(column, own[column.name]) if column.name in own else column for column in frame.iter_columns()]
    # A table needs a quasi-identifier, so it gets one that says nothing.
    nothing = schema.quasi[0]
    roles = {nothing: Role.QUASI} | dict.fromkeys(schema.sensitive, Role.SENSITIVE)
    secret = {name: schema.hierarchies[name] for name in schema.sensitive if name in schema.hierarchies}
    plain = pl.DataFrame([pl.repeat("-", frame.height, eager=True).alias(nothing), *shown])
    try:
        table = Table.read(
            plain,
            Schema(roles, secret, policy=schema.policy, folder=schema.folder),
            secrets=people.secrets,
        )
    except TaxonomyError:
        raise CannotRunError("the release shows sensitive values that the table of people does not know.") from None
    totals = np.bincount(table.sensitive, times, table.domain.size).astype(np.int64)
    domain = replace(table.domain, totals=totals)
    return Counts(release.value_group[there], table.sensitive, domain, release.groups, times), table


def _as_given(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """A published column in the external table's type, if all of it is."""
    try:
        cast = column.cast(kind, strict=False)
    except pl.exceptions.PolarsError:
        return column
    return cast if cast.null_count() == column.null_count() else column


def _link_exact(release: PublishedRelease, people: Table, codes: Codes, counts: Counts) -> Linkage:
    """Numbered groups with exact quasi-identifiers say themselves who stands where."""
    cells = cells_of(np.concatenate([people.codes, codes], axis=1), people.sizes)
    mine, theirs = cells.of_row[: people.rows], cells.of_row[people.rows :]
    everyone = np.ones(release.groups, np.bool_)
    return linked_rows(mine, theirs[release.looks.of_row], release.group, counts, everyone, release.row_times)


def _link_boxes(release: PublishedRelease, people: Table, boxes: BoxBounds, counts: Counts) -> Linkage:
    """A generalized release: who stands where is found by elimination, look by look."""
    looks, groups = release.looks, release.groups
    cells = cells_of(people.codes, people.sizes, people.times)
    cls, look = containment(cells.codes, boxes)
    exact = boxes.exact
    num, away = _eliminate(cls, look, cells.sizes, looks.rows, exact)
    unknown, plain = np.zeros(groups, np.bool_), np.ones(groups, np.bool_)
    unknown[looks.group[look[num < 0]]] = True
    plain[looks.group[~exact]] = False
    keys, place = np.unique(looks.group[look] * len(cells.sizes) + cls, return_inverse=True)
    total = np.bincount(place, np.maximum(num, 0), len(keys)).astype(np.int64)
    grp, cls = np.divmod(keys[total > 0], len(cells.sizes))
    plain &= np.bincount(grp, minlength=groups) <= 1
    absent = _sum(looks.group, away, groups)
    return Linkage(cells.of_row, len(cells.sizes), cls, grp, total[total > 0], counts, plain, unknown, absent)


def _eliminate(cls: Ints, grp: Ints, people: Ints, rows: Ints, exact: Bools) -> tuple[Ints, Ints]:
    """The people of each pair (class, group), -1 where that stays unknown; and the people who are absent by group."""
    num = np.where(exact[grp], rows[grp], -1)
    left = people - _sum(cls, np.maximum(num, 0), len(people))
    room = rows - _sum(grp, np.maximum(num, 0), len(rows))
    fits = np.bincount(cls, minlength=len(people)) > 0
    if (left < 0).any() or (room > 0)[np.bincount(grp, minlength=len(rows)) == 0].any():
        raise CannotRunError("the external table lacks people whom the release shows: it is not of these people.")
    everyone = int(left[fits].sum()) == int(room.sum())
    while True:
        unknown = num < 0
        choices = np.bincount(cls[unknown], minlength=len(people))
        wanting = _sum(grp[unknown], left[cls[unknown]], len(rows))
        sure = unknown & ((left[cls] == 0) | (room[grp] == 0) | ((choices[cls] == 1) & everyone))
        if not sure.any():
            # One group at a time: two that are filled may want the same class.
            full = unknown & (wanting[grp] == room[grp])
            sure = full & (grp == grp[full.argmax()]) if full.any() else full
        if not sure.any():
            break
        num[sure] = np.where(room[grp[sure]] == 0, 0, left[cls[sure]])
        left -= _sum(cls[sure], num[sure], len(people))
        room -= _sum(grp[sure], num[sure], len(rows))
        if (left < 0).any() or (room < 0).any():
            raise CannotRunError("the release and the external table contradict each other: not the same people.")
    return (num, np.zeros(len(rows), np.int64)) if everyone else _with_absent(cls, grp, num, left, room)


def _with_absent(cls: Ints, grp: Ints, num: Ints, left: Ints, room: Ints) -> tuple[Ints, Ints]:
    """More people than rows: where all candidates of a group fit nowhere else, the others are absent."""
    unknown = num < 0
    choices = np.bincount(cls[unknown], minlength=len(left))
    shared = np.zeros(len(room), np.bool_)
    shared[grp[unknown & (choices[cls] > 1)]] = True
    own = unknown & ~shared[grp]
    num[own] = left[cls[own]]
    absent = np.where(shared, 0, _sum(grp[own], num[own], len(room)) - room)
    return num, np.maximum(absent, 0)


def _sum(place: Ints, weights: Ints, total: int) -> Ints:
    return np.bincount(place, weights, total).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Beside:
    """Looks up the rest of a class."""

    linkage: Linkage

    @cached_property
    def _seen(self) -> tuple[Ints, Ints, Ints]:
        """Values that were published as they are, with their class and count, by class."""
        link, counts = self.linkage, self.linkage.counts
        plain = np.flatnonzero(link.plain[link.grp])
        owner = np.full(link.groups, -1)
        owner[link.grp[plain]] = link.cls[plain]
        of_triple = owner[counts.group]
        order = np.argsort(of_triple, kind="stable")[int((of_triple < 0).sum()) :]
        return of_triple[order], counts.value[order], counts.count[order]

    @cached_property
    def _elsewhere(self) -> tuple[Ints, Ints]:
        """The links to generalized groups, by class: class of each, and its number."""
        link = self.linkage
        numbers = np.flatnonzero(~link.plain[link.grp])
        order = np.argsort(link.cls[numbers], kind="stable")
        return link.cls[numbers][order], numbers[order]

    def seen(self, classes: Ints) -> tuple[Ints, Ints, Ints]:
        """Values of the given classes that are known: place of the class in the list, value, count."""
        of_class, value, count = self._seen
        place, at = _ranges(of_class, classes)
        return place, value[at], count[at]

    def away(self, classes: Ints, group: int) -> Ints:
        """How many people each class has in other generalized groups."""
        link = self.linkage
        of_class, numbers = self._elsewhere
        place, at = _ranges(of_class, classes)
        other = link.grp[numbers[at]] != group
        return np.bincount(place[other], link.num[numbers[at]][other], len(classes)).astype(np.int64)

    def chances(self, one: int, group: int, mask: Bools) -> Floats:
        """By 0, 1, ...: the chance that a class has this many values of a set in the other groups, in random worlds."""
        link = self.linkage
        of_class, numbers = self._elsewhere
        _, at = _ranges(of_class, np.array([one]))
        chances = np.ones(1)
        for number in numbers[at].tolist():
            there = int(link.grp[number])
            if there != group:
                people = int(link.counts.sizes[there])
                hits = self._holding(there, mask)
                taken = min(int(link.num[number]), people)
                chances = np.convolve(chances, _random(people, hits, taken))
        return chances

    def _holding(self, group: int, mask: Bools) -> int:
        value, count = self.histogram(group)
        return int(count[mask[value]].sum())

    @cached_property
    def _starts(self) -> Ints:
        return np.searchsorted(self.linkage.counts.group, np.arange(self.linkage.groups + 1))

    def histogram(self, group: int) -> tuple[Ints, Ints]:
        """A group's values and their counts."""
        counts = self.linkage.counts
        triples = slice(int(self._starts[group]), int(self._starts[group + 1]))
        return counts.value[triples], counts.count[triples]


@lru_cache(maxsize=4096)
def _random(people: int, hits: int, taken: int) -> Floats:
    """By 0, ..., taken: the chance that this many of those taken at random are hits."""
    j = np.arange(taken + 1)
    fits = (j <= hits) & (taken - j <= people - hits)
    logs = _choose(hits, j[fits]) + _choose(people - hits, taken - j[fits]) - _choose(people, np.array([taken]))
    chances = np.zeros(taken + 1)
    chances[fits] = np.exp(logs)
    return chances


def _choose(n: int, j: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1), np.float64)


def _ranges(keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Where sorted keys equal the wanted ones: place in `wanted`, and position in `keys`."""
    start, stop = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    number = stop - start
    place = np.repeat(np.arange(len(wanted)), number)
    return place, np.arange(len(place)) - np.repeat(np.cumsum(number) - number, number) + start[place]
