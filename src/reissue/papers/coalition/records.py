"""Who gave which record of a release: counted by published group, provider and sensitive value.

A coalition knows everybody of whom one of its members has a record. So it can take out all records of these people,
those that others gave too: what is left is people whom nobody of the coalition knows. People are counted, not rows, and
people with the same set of providers are alike to every coalition.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.attacks.insiders import frame_of, people_of_rows, provider_column, repeated
from reissue.attacks.stories import Shown, box_text, row_texts, shown
from reissue.counting.cells import Domain, Margin
from reissue.counting.keys import pack, rank
from reissue.counting.people import ValueSets, value_sets
from reissue.data.table import Table, code_column, column_margins
from reissue.errors import CannotRunError, DataError, RequirementError
from reissue.papers.coalition.contributions import Contributions
from reissue.published import PublishedRelease
from reissue.release.release import Boxes, Draft, Release
from reissue.requirements import Requirement, by_column
from reissue.requirements.adapters import of_people
from reissue.schema import Schema
from reissue.words import listed

__all__ = ["Held", "ProviderRecords", "groups_seen", "held", "read_records"]


@dataclass(frozen=True, eq=False)
class Held:
    """People by group, set of providers and value."""

    contributions: Contributions
    """Of sets of providers, as if each were one provider."""
    holders: Bools
    """Sets of providers x providers."""
    sets: ValueSets | None
    """What the values of `contributions` stand for, where somebody has several in one group."""


def held(groups: Ints, providers: Ints, values: Ints, people: Ints, domain: Domain, total: int) -> Held:
    """Count people: rows (of no group: -1) with the numbers of their provider, value and person."""
    inside = groups >= 0
    groups, providers, values, people = groups[inside], providers[inside], values[inside], rank(people[inside])[0]
    has = np.zeros((int(people.max(initial=-1)) + 1, total), np.bool_)
    has[people, providers] = True
    holders, of_person = np.unique(has, axis=0, return_inverse=True)
    there, place = np.unique(np.stack([groups, people]), axis=1, return_inverse=True)
    sets = value_sets(place.reshape(-1), values.astype(np.int32), domain)
    several = bool((sets.lengths > 1).any())
    code = sets.of_person.astype(np.int64) if several else sets.values[sets.starts[sets.of_person]]
    counted = Domain(np.bincount(code, minlength=sets.number if several else domain.size).astype(np.int64))
    whole = counted if several or domain.taxonomy is None else Domain(counted.totals, domain.taxonomy)
    contributions = Contributions.of_rows(there[0], of_person.reshape(-1)[there[1]], code, whole)
    return Held(contributions, holders, sets if several else None)


@dataclass(frozen=True, eq=False)
class ProviderRecords:
    """What a release's providers gave, by published group."""

    contributions: Contributions
    """Of each provider; of sets of providers, where several of them have records of the same people."""
    names: Sequence[str]
    """The providers' names by number."""
    margins: Sequence[Margin]
    """Each sensitive column by itself, and all of them together where there are several."""
    look: Callable[[int], tuple[Shown, dict[int, str]]]
    """Group to its quasi-identifiers as published, if generalized, and to the texts of its sensitive values."""
    holders: Bools | None = None
    """Sets of providers x providers; None where every person is in the records of one provider only."""
    sets: ValueSets | None = None
    """What the values of `contributions` stand for, where somebody has several in one group."""
    domain: Domain | None = None
    """Of the sensitive values, where those of `contributions` are sets."""
    identified: bool = True
    """Whether it is known which records of different providers are the same person's; else each is taken for one."""

    def known_to(self, members: Sequence[int]) -> list[int]:
        """What a coalition of providers can take out, as numbers of `contributions`."""
        if self.holders is None:
            return list(members)
        known: list[int] = np.flatnonzero(self.holders[:, list(members)].any(axis=1)).tolist()
        return known

    @property
    def gave(self) -> Ints:
        """Provider to the number of records that it can take out."""
        held_ = np.bincount(self.contributions.provider, self.contributions.count).astype(np.int64)
        if self.holders is None:
            return np.append(held_, np.zeros(len(self.names) - len(held_), np.int64))
        return np.asarray(held_ @ self.holders, np.int64)

    def asked(self, requirement: Requirement) -> Requirement:
        """The requirement, of people; CannotRunError where it is not defined for people with several values."""
        domain = self.domain or self.contributions.domain
        judged = by_column(requirement, self.margins, domain)
        judged.fits(domain)
        if self.sets is None or self.domain is None:
            return judged
        try:
            requirement.refuse_several_rows(self.domain)
        except RequirementError as obstacle:
            raise CannotRunError(str(obstacle)) from None
        return of_people(judged, self.sets)


def read_records(published: PublishedRelease, schema: Schema) -> ProviderRecords:
    """Count a release by group, provider and sensitive value."""
    if published.source is not None:
        return _of_release(published.source)
    frame = frame_of(published, schema)
    providers, names = _numbered(frame[provider_column(schema)])
    texts = [frame[name].cast(pl.String).rank("dense").fill_null(0).to_numpy() for name in schema.quasi]
    groups, _ = rank(pack(texts, [int(text.max(initial=0)) + 1 for text in texts])[0])
    codings = [code_column(_typed(frame[name]), schema) for name in schema.sensitive]
    columns = [c.encode(_typed(frame[n]))[0] for c, n in zip(codings, schema.sensitive, strict=True)]
    if len(columns) == 1:
        totals = np.bincount(columns[0], published.weights, codings[0].taxonomy.size).astype(np.int64)
        domain = Domain(totals, codings[0].taxonomy)
        values = columns[0].astype(np.int64)
        joint = np.arange(domain.size, dtype=np.int32)[np.newaxis]
    else:
        packed = pack(columns, [c.taxonomy.size for c in codings])[0] if columns else np.zeros(frame.height, np.int64)
        values, _ = rank(packed)
        domain = Domain(np.bincount(values, published.weights).astype(np.int64))
        first = np.unique(values, return_index=True)[1]
        joint = np.array([column[first] for column in columns], np.int32).reshape(len(columns), domain.size)
    margins = column_margins(schema, codings, joint)

    def look(group: int) -> tuple[Shown, dict[int, str]]:
        mine = np.flatnonzero(groups == group)
        rows = frame[mine].cast(pl.String)
        texts = {name: rows[name][0] for name in schema.quasi}
        return shown(texts), dict(zip(values[mine].tolist(), row_texts(rows.select(schema.sensitive)), strict=True))

    people = people_of_rows(published)
    if people is not None and repeated(people[0]):
        who, row = people
        found = held(groups[row], providers[row], values[row], who, domain, len(names))
        return _of_people(found, names, margins, look, domain)
    identified = people is not None or schema.several_rows is False or len(names) == 1
    given = Contributions.of_rows(groups, providers, values, domain, published.weights)
    return ProviderRecords(given, names, margins, look, identified=identified)


def _of_people(
    found: Held,
    names: Sequence[str],
    margins: Sequence[Margin],
    look: Callable[[int], tuple[Shown, dict[int, str]]],
    domain: Domain,
) -> ProviderRecords:
    """Of people, some of whom several providers have records of, or one provider several."""
    sets = found.sets
    if sets is None:
        return ProviderRecords(found.contributions, names, margins, look, found.holders)

    def together(group: int) -> tuple[Shown, dict[int, str]]:
        published, texts = look(group)
        each = np.split(sets.values, sets.starts[1:-1])
        known = {code: [texts[one] for one in own.tolist() if one in texts] for code, own in enumerate(each)}
        return published, {code: listed(own) for code, own in known.items() if own}

    return ProviderRecords(found.contributions, names, margins, together, found.holders, sets, domain)


def groups_seen(table: Table, draft: Draft, boxes: Boxes) -> Codes:
    """Row to its group as a reader tells groups apart: those with the same box are one, unless they are numbered."""
    if draft.form.numbered:
        return draft.groups
    return np.where(draft.groups >= 0, _alike(table, boxes)[draft.groups], -1).astype(np.int32)


def _alike(table: Table, boxes: Boxes) -> Ints:
    """Group to a number that groups with the same box share."""
    ends = [ends[place] for place in range(len(table.sizes)) for ends in (boxes.lo, boxes.hi)]
    return rank(pack(ends, [size for size in table.sizes for _ in range(2)])[0])[0]


COUNTERFEITS = "(who knows the counterfeits)"
"""The name of the provider of counterfeits in groups of several providers."""


def _of_release(release: Release) -> ProviderRecords:
    """From what stays with the holder; groups with the same box are one group to a reader, unless numbered."""
    draft, table = release.draft, release.table
    if table.providers is None:
        raise CannotRunError(
            'nobody knows who gave which record: the schema names no column as "provider".', needs=["providers"]
        )
    providers, names = _numbered(table.providers)
    sensitive = table.sensitive if draft.sensitive is None else draft.sensitive
    totals = np.bincount(sensitive[draft.groups >= 0], minlength=table.domain.size)
    number = _alike(table, release.boxes)
    groups = groups_seen(table, draft, release.boxes)

    def look(group: int) -> tuple[Shown, dict[int, str]]:
        mine = np.flatnonzero(groups == group)
        codes = np.unique(sensitive[mine])
        return box_text(release, int(draft.groups[mine[0]])), dict(
            zip(codes.tolist(), row_texts(table.decode(codes)), strict=True)
        )

    given = groups.astype(np.int64), providers, sensitive.astype(np.int64)
    fakes = draft.counterfeits
    if table.people is not None:
        domain = replace(table.domain, totals=totals)
        return _of_people(held(*given, table.people, domain, len(names)), names, table.margins, look, domain)
    if fakes is not None:
        of_fake = fakes.groups if draft.form.numbered else number[fakes.groups]
        given, mixed = _with_counterfeits(given, of_fake.astype(np.int64), fakes.sensitive.astype(np.int64), len(names))
        names += [COUNTERFEITS] if mixed else []
        totals = totals + np.bincount(fakes.sensitive, minlength=len(totals))
    identified = table.schema.identifier is not None or table.schema.several_rows is False or len(names) == 1
    contributions = Contributions.of_rows(*given, replace(table.domain, totals=totals))
    return ProviderRecords(contributions, names, table.margins, look, identified=identified)


def _with_counterfeits(
    given: tuple[Ints, Ints, Ints], of_fake: Ints, value: Ints, nobody: int
) -> tuple[tuple[Ints, Ints, Ints], bool]:
    """With counterfeits, and whether some are in groups of several providers.

    They count as records of the provider to whom all people of their group belong. In a group of several providers they
    are those of one more, `nobody`, who may collude like the others: someone who can tell counterfeits from people, as
    whoever made the release can. Without such a member they remain, and hide people as any record of others does.
    """
    groups, providers, sensitive = given
    here = groups >= 0
    low, high = (np.full(int(groups.max(initial=-1)) + 1, none) for none in (len(providers), -1))
    np.minimum.at(low, groups[here], providers[here])
    np.maximum.at(high, groups[here], providers[here])
    mixed = low[of_fake] != high[of_fake]
    columns = zip((groups, providers, sensitive), (of_fake, np.where(mixed, nobody, low[of_fake]), value), strict=True)
    groups, providers, sensitive = (np.concatenate(both) for both in columns)
    return (groups, providers, sensitive), bool(mixed.any())


def _numbered(column: pl.Series) -> tuple[Ints, list[str]]:
    """Providers as numbers, in the order of their names."""
    if column.null_count():
        raise DataError(f"The provider is missing in {column.null_count()} rows.")
    names = column.cast(pl.String)
    listed = names.unique().sort()
    numbers = names.rank("dense").to_numpy().astype(np.int64) - 1
    return numbers, listed.to_list()


def _typed(column: pl.Series) -> pl.Series:
    """A column that was read as text, as numbers where all of it are numbers."""
    if column.dtype != pl.String:
        return column
    for kind in (pl.Int64, pl.Float64):
        cast = column.cast(kind, strict=False)
        if cast.null_count() == column.null_count():
            return cast
    return column
