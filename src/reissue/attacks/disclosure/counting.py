"""What one release shows by itself: the shares of sensitive values in its groups, and how small the groups are.

O(rows) for each sensitive column and for all of them together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import ALONE, FIRST
from reissue.counting.histogram import Histogram, counted
from reissue.counting.texts import MISSING, TextCounts, joined_texts, ranked_texts
from reissue.errors import DataError
from reissue.people.knowledge import Knowledge
from reissue.protection import Protection, ValueView
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.requirements import parse

__all__ = ["ColumnShares", "ReleaseDisclosure", "disclosed", "protection_of"]

UNIQUE = 2
"""The group size that is asked of a release without sensitive columns where no requirement says one."""
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ColumnShares:
    """The values of one sensitive column in the groups of a release, or of all sensitive columns together."""

    view: ValueView
    counts: Histogram
    """The number of people of each group with each label of the view."""
    sizes: Ints
    """People of each group, including those whose value is missing."""
    share: Floats
    """Entry to its value's share of the group: the posterior of everyone in it."""
    prior: Floats
    """Label to its share of the whole release."""
    limit: Floats
    """Entry to the largest posterior that its value may have; infinite where it needs no protection."""
    exposed: Bools
    """Group to whether some value has a larger share than it may."""
    homogeneous: Bools
    """Exposed groups in which everyone has the same value."""
    worst: int | None
    """The entry that is furthest above its limit, or nearest to it; of several that in the largest group."""

    @classmethod
    def of(cls, view: ValueView, counts: Histogram, sizes: Ints) -> "ColumnShares":
        """Compare the shares of values with their limits."""
        share = np.asarray(counts.count / np.maximum(sizes[counts.group], 1))
        prior = np.bincount(counts.value, counts.count, counts.values) / max(int(sizes.sum()), 1)
        limit = view.limits(prior)[counts.value]
        above = share > limit + _SLACK
        worst = None
        if np.isfinite(limit).any():
            worst = int(np.lexsort((sizes[counts.group], np.round(share / limit, 9)))[-1])
        exposed = np.bincount(counts.group[above], minlength=len(sizes)) > 0
        homogeneous = np.bincount(counts.group[above & (share > 1 - _SLACK)], minlength=len(sizes)) > 0
        return cls(view, counts, sizes, share, prior, limit, exposed, homogeneous, worst)

    @property
    def largest(self) -> float:
        """The largest share of a protected value."""
        return float(self.share[np.isfinite(self.limit)].max(initial=0.0))

    @property
    def score(self) -> float:
        """The share of the worst entry over its limit: above 1 where somebody is exposed."""
        return 0.0 if self.worst is None else float(self.share[self.worst] / self.limit[self.worst])


@dataclass(frozen=True, eq=False)
class ReleaseDisclosure:
    """What one release discloses by itself."""

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
    """Whether people were counted; otherwise records, of which a person may have several."""

    @property
    def population(self) -> int:
        """The number of people of the release."""
        return int(self.sizes.sum())

    @property
    def linked(self) -> Bools:
        """Group to whether a value has a larger share in it than allowed."""
        return np.asarray(np.any([np.zeros(len(self.sizes), np.bool_), *(one.exposed for one in self.columns)], axis=0))

    @property
    def small(self) -> Bools:
        """Group to whether it has fewer people than it must."""
        return (self.sizes > 0) & (self.sizes < (self.k or 0))

    @property
    def people(self) -> int:
        """The number of people exposed, each counted once."""
        return self.people_in(self.linked | self.small)

    @property
    def worst(self) -> ColumnShares | None:
        """The column whose worst value is worst of all; the first of several."""
        some = [one for one in self.columns if one.worst is not None]
        return max(some, key=lambda one: round(one.score, 9), default=None)

    def people_in(self, groups: Bools) -> int:
        """The number of people in these groups."""
        return int(self.sizes[groups].sum())


def disclosed(release: PublishedRelease, series: Series, knowledge: Knowledge) -> ReleaseDisclosure:
    """Count what a release shows; a column by itself, and where there are several all of them together."""
    release = release.of_its_columns()
    number = series.numbers[next(place for place, one in enumerate(series.releases) if one.tables is release.tables)]
    kept = None if release.tables.frames else release.presences
    sensitive = release.schema.sensitive
    shown = [name for name in sensitive if kept is not None or name in release.shown]
    if kept is None and not release.consistent:
        raise DataError("The two tables do not belong together: the sizes of their groups differ.")
    people = None if kept is not None else _people(release)
    if kept is not None:
        sizes, values = kept.histogram.sizes, _Values.of_presences(kept.histogram)
    elif people is not None:
        sizes, values = _distinct(release.group, people, release.groups), _Values.of_rows(release, shown)
    else:
        sizes, values = release.sizes, _Values.of_rows(release, shown)
    columns = _columns(values, shown, protection_of(series), sizes, people) if shown else ()
    lacking = tuple(name for name in sensitive if name not in shown)
    # A coalition's records were taken out: what must be left then is the question of the attack `coalition`.
    k = None if knowledge.coalition else _k(series, release) or (None if shown else UNIQUE)
    by_people = people is not None or not release.schema.several_rows
    return ReleaseDisclosure(number, release, sizes, columns, lacking, k, by_people)


def _k(series: Series, release: PublishedRelease) -> int | None:
    """How many records a group must have: what the policy says, else what our own release promises."""
    require = series.schema.policy.get("require")
    if require:
        return parse(str(require)).group_size
    return None if release.requirement is None else release.requirement.group_size


def protection_of(series: Series) -> Protection:
    """Which values are protected, and how: the caller's limit of this attack, else that of the joint one."""
    own = series.limit(ALONE)
    limit = series.limit(FIRST) if own is None else own
    return Protection.of(series.schema.policy, series.schema.sensitive, limit)


@dataclass(frozen=True, eq=False)
class _Values:
    """Sensitive values, all columns together: of every row, or as a ledger kept them of every group."""

    names: Sequence[str]
    value: Ints
    group: Ints
    weights: Ints

    @classmethod
    def of_rows(cls, release: PublishedRelease, shown: Sequence[str]) -> "_Values":
        names, value = ranked_texts(joined_texts(release.values, shown))
        return cls(names.to_list(), value, release.value_group, release.weights)

    @classmethod
    def of_presences(cls, counts: TextCounts) -> "_Values":
        return cls(counts.names, counts.value, counts.group, np.asarray(counts.count, np.int64))


def _columns(
    values: _Values, shown: Sequence[str], protection: Protection, sizes: Ints, people: Ints | None
) -> tuple[ColumnShares, ...]:
    """The columns that a release shows, each by itself, and where there are several all of them together."""
    texts = [None if len(shown) == 1 and name == MISSING else name for name in values.names]
    made = []
    for view in replace(protection, columns=tuple(shown)).views(texts):
        label, weights = view.label[values.value], values.weights
        if people is not None:
            rows = pl.DataFrame({"person": people, "group": values.group, "label": label})
            weights = rows.to_struct().is_first_distinct().to_numpy().astype(np.int64)
        some = weights > 0
        counts = counted(values.group[some], label[some], len(sizes), len(view.names), weights[some])
        made.append(ColumnShares.of(view, counts, sizes))
    return tuple(made)


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
