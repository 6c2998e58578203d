"""What one release shows by itself: the shares of sensitive values in its groups, and how small the groups are.

O(rows) for each sensitive column and for all of them together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.disclosure.limits import limit_by_value
from reissue.counting.texts import TextCounts, count_texts, joined_texts
from reissue.errors import DataError
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.requirements import parse

__all__ = ["ColumnShares", "ReleaseDisclosure", "disclosed"]

UNIQUE = 2
"""The group size that is asked of a release without sensitive columns where no requirement says one."""
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ColumnShares:
    """The values of one sensitive column in the groups of a release, or of all sensitive columns together."""

    columns: tuple[str, ...]
    counts: TextCounts
    sizes: Ints
    """People of each group, those whose value is missing included."""
    limits: Floats
    """Value to the largest posterior that it may have."""

    @cached_property
    def share(self) -> Floats:
        """Entry to its value's share of the group: the posterior of whoever is in it."""
        return np.asarray(self.counts.count / np.maximum(self.sizes[self.counts.group], 1))

    @cached_property
    def prior(self) -> Floats:
        """Value to its share of the whole release."""
        return np.bincount(self.counts.value, self.counts.count, self.counts.values) / max(int(self.sizes.sum()), 1)

    @cached_property
    def judged(self) -> Bools:
        """Entry to whether its value can expose anybody."""
        return np.isfinite(self.limits[self.counts.value])

    @cached_property
    def exposed(self) -> Bools:
        """Group to whether some value has a larger share than it may."""
        return self._groups(self.share > self.limits[self.counts.value] + _SLACK)

    @cached_property
    def homogeneous(self) -> Bools:
        """Exposed groups in which everyone has the same value."""
        return self.exposed & self._groups(self.judged & (self.share > 1 - _SLACK))

    @cached_property
    def worst(self) -> int | None:
        """The entry that is furthest above its limit, or nearest to it; of several that in the largest group."""
        entries = np.flatnonzero(self.judged)
        if not len(entries):
            return None
        share, group = self.share[entries], self.counts.group[entries]
        above = share > self.limits[self.counts.value[entries]] + _SLACK
        return int(entries[np.lexsort((self.sizes[group], np.round(share, 9), above))[-1]])

    @property
    def worst_share(self) -> float:
        """The posterior of that entry."""
        return 0.0 if self.worst is None else float(self.share[self.worst])

    def _groups(self, entries: Bools) -> Bools:
        return np.bincount(self.counts.group[entries], minlength=len(self.sizes)) > 0


@dataclass(frozen=True, eq=False)
class ReleaseDisclosure:
    """What one release gives away by itself."""

    number: int
    published: PublishedRelease
    sizes: Ints
    """People of each group."""
    columns: tuple[ColumnShares, ...]
    lacking: tuple[str, ...]
    """Sensitive columns of the schema that the release does not show."""
    k: int | None
    """How many people a group must have; None where nothing asks for it."""
    by_people: bool
    """Whether people were counted; else records, of which a person may have several."""

    @property
    def population(self) -> int:
        """The people of the release."""
        return int(self.sizes.sum())

    @cached_property
    def linked(self) -> Bools:
        """Group to whether a value is likelier in it than allowed."""
        return np.asarray(np.any([np.zeros(len(self.sizes), np.bool_), *(one.exposed for one in self.columns)], axis=0))

    @cached_property
    def small(self) -> Bools:
        """Group to whether it has fewer people than it must."""
        return (self.sizes > 0) & (self.sizes < (self.k or 0))

    @property
    def people(self) -> int:
        """How many people are exposed, each counted once."""
        return self.people_in(self.linked | self.small)

    @property
    def worst(self) -> ColumnShares | None:
        """The column whose worst value is worst of all; the first of several."""
        some = [one for one in self.columns if one.worst is not None]
        return max(some, key=lambda one: (bool(one.exposed.any()), round(one.worst_share, 9)), default=None)

    def people_in(self, groups: Bools) -> int:
        """How many people are in these groups."""
        return int(self.sizes[groups].sum())


def disclosed(release: PublishedRelease, series: Series, knowledge: Knowledge) -> ReleaseDisclosure:
    """Count what a release shows; a column by itself, and where there are several all of them together."""
    release = release.of_its_columns()
    number = series.numbers[next(place for place, one in enumerate(series.releases) if one.tables is release.tables)]
    shown = [name for name in release.schema.sensitive if name in release.shown]
    together = [tuple(shown)] if len(shown) > 1 else []
    if not release.consistent:
        raise DataError("The two tables do not belong together: the sizes of their groups differ.")
    people = _people(release)
    sizes = release.sizes if people is None else _distinct(release.group, people, release.groups)
    columns = [_shares(release, series, one, sizes, people) for one in [*((name,) for name in shown), *together]]
    lacking = tuple(name for name in release.schema.sensitive if name not in shown)
    # A coalition's records were taken out: what must be left then is the question of the attack `coalition`.
    k = None if knowledge.coalition else _k(series, release) or (None if shown else UNIQUE)
    by_people = people is not None or not release.schema.several_rows
    return ReleaseDisclosure(number, release, sizes, tuple(columns), lacking, k, by_people)


def _k(series: Series, release: PublishedRelease) -> int | None:
    """How many records a group must have: what the policy says, else what our own release promises."""
    require = series.schema.policy.get("require")
    if require:
        return parse(str(require)).group_size
    own = release.source or release.roster
    return None if own is None else own.requirement.group_size


def _shares(
    release: PublishedRelease, series: Series, columns: Sequence[str], sizes: Ints, people: Ints | None
) -> ColumnShares:
    texts = joined_texts(release.values, columns)
    if people is None:
        counts = count_texts(release.value_group, texts, release.weights, release.groups)
    else:
        first = pl.DataFrame({"person": people, "group": release.group, "text": texts}).to_struct().is_first_distinct()
        counts = count_texts(release.group, texts, first.to_numpy().astype(np.int64), release.groups)
    return ColumnShares(tuple(columns), counts, sizes, limit_by_value(series, columns, counts.names))


def _people(release: PublishedRelease) -> Ints | None:
    """Row to the number of its person, where people have several rows and the release says whose they are."""
    counted = release.tables.times is not None or release.tables.apart
    if not release.schema.several_rows or counted or not release.keeps_identifier:
        return None
    marks = release.main[str(release.schema.identifier)].cast(pl.String)
    alone = pl.Series(np.arange(len(marks))).cast(pl.String)
    known = pl.select(pl.when(marks.is_null()).then("\0" + alone).otherwise("\1" + marks)).to_series()
    return known.rank("dense").cast(pl.Int64).to_numpy()


def _distinct(group: Ints, people: Ints, groups: int) -> Ints:
    """How many different people each group has."""
    return np.bincount(np.unique(np.stack([group, people]), axis=1)[0], minlength=groups)
