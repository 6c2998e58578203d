"""Adapters: a requirement asked of each sensitive column by itself, or of the value sets of people.

**Several sensitive columns.** Groups are counted by the combinations of their values. The counts of a single column
follow from these (`counting.cells.Margin`), so that one adapter around a requirement judges all columns, and methods
and attacks need not know; the worst column decides. The groups of each column are groups of an ordinary table with one
sensitive column. A property that a requirement has for every table (it survives unions, it survives added records)
therefore holds for the adapter too.

Records whose value needs no protection count as if each had a value of its own, where a requirement bounds how often
*any* value occurs (`Requirement.any_value`): that is an ordinary table as well. Shortcuts that ask for a single set of
values (`by_values`, `excess_limit`) are not offered; coalitions are judged view by view (`views`).
O(columns x triples); for values that need no protection O(records with them).

**People with several records.** Groups are counted by the numbers of their people's value sets, and expanded before the
requirement sees them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain, Margin
from reissue.counting.people import ValueSets
from reissue.errors import RequirementError
from reissue.protection import TOGETHER
from reissue.requirements._base import Adapter, All, Requirement
from reissue.requirements._subsets import Subsets
from reissue.requirements._values import Sets

__all__ = ["ByColumn", "ColumnView", "by_column", "needs_columns", "of_people"]


@dataclass(frozen=True, eq=False)
class ColumnView:
    """A part of a requirement, and the column that it applies to."""

    asked: Requirement
    margin: Margin
    apart: bool
    """Whether records whose value needs no protection count as values of their own."""

    def counts(self, counts: Counts) -> Counts:
        """Return groups as the part judges them."""
        own = self.margin.of(counts)
        return own.apart(self.margin.harmless) if self.apart else own

    def columns(self, values: Ints, domain: Domain, counts: Ints) -> tuple[Ints, Ints, Domain]:
        """Return a table of counts (its columns are values) as the part judges it, with its values and their domain."""
        labels = self.margin.labels(domain)
        seen = (values if labels is None else labels.of_value[values]).astype(np.int64)
        own, place = np.unique(seen, return_inverse=True)
        merged = np.zeros((len(counts), len(own)), np.int64)
        np.add.at(merged.T, place.reshape(-1), counts.T)
        inner = domain if labels is None else labels.domain
        return _apart(merged, own, inner, self.margin.harmless) if self.apart else (merged, own, inner)


def _apart(counts: Ints, values: Ints, domain: Domain, harmless: Bools) -> tuple[Ints, Ints, Domain]:
    """The same, with a column of its own for each record whose value needs no protection."""
    spared = harmless[values]
    row, column = np.nonzero(counts * spared)
    row = np.repeat(row, counts[row, column])
    single = np.zeros((len(counts), len(row)), np.int64)
    single[row, np.arange(len(row))] = 1
    totals = np.append(np.where(harmless, 0, domain.totals), np.ones(len(row), np.int64))
    own = np.append(values[~spared], domain.size + np.arange(len(row)))
    return np.hstack([counts[:, ~spared], single]), own, Domain(totals)


@dataclass(frozen=True, eq=False)
class ByColumn(Adapter):
    """A part of a requirement, applied to each sensitive column by itself and to all of them together."""

    views: tuple[ColumnView, ...]

    @property
    def across(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement."""
        return self.asked.across

    @property
    def by_people(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement."""
        return self.asked.by_people

    @property
    def least_people(self) -> int:
        """As in the adapted requirement."""
        return self.asked.least_people

    @property
    def share_limit(self) -> float | None:
        """As in the adapted requirement."""
        return self.asked.share_limit

    @property
    def capped(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement; `capped_sets` are those of every column."""
        return self.asked.capped

    def cap(self, sizes: Ints) -> Ints:
        """As in the adapted requirement."""
        return self.asked.cap(sizes)

    def capped_sets(self, codes: Ints, domain: Domain) -> Bools:
        """The sets of every column, except for values that need no protection, whose records count separately."""
        found = []
        for view in self.views:
            labels, inner = view.margin.labels(domain), view.margin.domain(domain)
            own = np.unique((codes if labels is None else labels.of_value[codes]).astype(np.int64))
            sets = view.asked.capped_sets(own[~view.margin.harmless[own]] if view.apart else own, inner)
            found.append(sets if labels is None else sets[:, labels.of_value])
        return np.concatenate(found)

    @property
    def invariant_m(self) -> int | None:
        """As in the adapted requirement, for one column; groups of several columns are judged when they are made."""
        return self.asked.invariant_m

    @property
    def fewest_values(self) -> int:
        """As in the adapted requirement, unless records without a protected value suffice."""
        return 1 if any(view.apart and view.margin.harmless.any() for view in self.views) else self.asked.fewest_values

    @property
    def named_values(self) -> Sets:
        """As in the adapted requirement."""
        return self.asked.named_values

    @property
    def written(self) -> Requirement:
        """The adapted requirement."""
        return self.asked

    def named_masks(self, domain: Domain) -> Bools:
        """Which joint values have one of `named_values` in a column that it applies to."""
        found = []
        for view in self.views:
            labels, own = view.margin.labels(domain), view.asked.named_masks(view.margin.domain(domain))
            found.append(own if labels is None else own[:, labels.of_value])
        return np.concatenate(found)

    def holds(self, counts: Counts) -> Bools:
        """Groups that meet it in every column."""
        return reduce(np.logical_and, (view.asked.holds(view.counts(counts)) for view in self.views))

    def fitness(self, counts: Counts) -> Floats:
        """The fitness in the worst column."""
        return reduce(np.minimum, (view.asked.fitness(view.counts(counts)) for view in self.views))

    def holds_across(self, shown: Ints, sizes: Ints) -> Bools:
        """As in the adapted requirement."""
        return self.asked.holds_across(shown, sizes)

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Whether everything that a coalition can look at meets it in every column."""
        found = [view.asked.holds_between(_seen(view, subsets)) for view in self.views]
        return False if False in found else None if None in found else True

    def refuse_several_rows(self, domain: Domain) -> None:
        """Refuse a table with repeated records, if the adapted requirement is not defined for it."""
        for view in self.views:
            view.asked.refuse_several_rows(view.margin.domain(domain))

    def possible(self, whole: Counts) -> bool:
        """Whether some release may meet it, as far as each column shows by itself."""
        return self._failing(whole) is None

    def why(self, whole: Counts) -> str:
        """What the first column that cannot meet it has instead."""
        view = self._failing(whole) or self.views[0]
        column = view.margin.column
        named = "the sensitive columns taken together" if TOGETHER in column else f"the column '{column}'"
        return f" in {named}{view.asked.why(view.counts(whole))}"

    def _failing(self, whole: Counts) -> ColumnView | None:
        return next((view for view in self.views if not view.asked.possible(view.counts(whole))), None)


def _seen(view: ColumnView, subsets: Subsets) -> Subsets:
    """What a coalition can look at in a column: it may remove any of its records, of one value or of several."""
    both = np.stack([subsets.rest, subsets.whole - subsets.rest])
    counts, values, domain = view.columns(subsets.values, subsets.domain, both)
    return Subsets(counts[0], counts.sum(axis=0), values, domain)


def needs_columns(margins: Sequence[Margin], domain: Domain) -> bool:
    """Whether requirements must be applied by column; with one column, only if some value needs no protection."""
    return len(margins) > 1 or any(bool((one.harmless & (domain.totals > 0)).any()) for one in margins)


def by_column(requirement: Requirement, margins: Sequence[Margin], domain: Domain) -> Requirement:
    """Apply a requirement to each sensitive column by itself and to all of them together.

    Parameters
    ----------
    requirement
        The requirement as a user writes it.
    margins
        The columns of the joint values.
    domain
        The domain of the joint values.

    Returns
    -------
    Requirement
        The requirement itself, if there is one column and all its values need protection.

    Raises
    ------
    RequirementError
        If a part fits no column: it names values that no column has, or needs an order that no column has.

    """
    if not needs_columns(margins, domain):
        return requirement
    parts = tuple(_wrapped(part, margins, domain) if part.sensitive else part for part in requirement.parts())
    return parts[0] if len(parts) == 1 else All(parts)


def _wrapped(part: Requirement, margins: Sequence[Margin], domain: Domain) -> Requirement:
    if isinstance(part, ByColumn):
        return part
    views, problems = [], []
    for margin in margins:
        try:
            part.fits(margin.domain(domain))
        except RequirementError as problem:
            problems.append(problem)
        else:
            views.append(ColumnView(part, margin, part.any_value))
    if not views:
        raise problems[0]
    return ByColumn(part, tuple(views))


@dataclass(frozen=True, eq=False)
class _OfPeople(Adapter):
    """A requirement applied to people with value sets, where groups are counted by the numbers of the sets.

    United groups have no person in common, so it is as monotone as the adapted requirement.
    """

    sets: ValueSets

    @property
    def least(self) -> int:
        """The minimum number of people in a group."""
        return self.asked.least_people

    def holds(self, counts: Counts) -> Bools:
        """Which groups meet it."""
        return self.asked.holds(self.sets.expand(counts))

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above or below it."""
        return self.asked.fitness(self.sets.expand(counts))


def of_people(requirement: Requirement, sets: ValueSets) -> Requirement:
    """Apply a requirement to people whose values are sets; parts that ignore values stay as they are."""
    parts = [_OfPeople(part, sets) if part.sensitive else part for part in requirement.parts()]
    return parts[0] if len(parts) == 1 else All(tuple(parts))
