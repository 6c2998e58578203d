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
    """A part of a requirement, and the column that it is asked of."""

    asked: Requirement
    margin: Margin
    apart: bool
    """Whether records whose value needs no protection count as values of their own."""

    def counts(self, counts: Counts) -> Counts:
        """Groups as the part judges them."""
        own = self.margin.of(counts)
        return own.apart(self.margin.harmless) if self.apart else own

    def columns(self, values: Ints, domain: Domain, counts: Ints) -> tuple[Ints, Ints, Domain]:
        """A table of counts, whose columns are values, as the part judges it: its counts, values and their domain."""
        labels = self.margin.labels(domain)
        seen = (values if labels is None else labels.of_value[values]).astype(np.int64)
        own, place = np.unique(seen, return_inverse=True)
        merged = np.zeros((len(counts), len(own)), np.int64)
        np.add.at(merged.T, place.reshape(-1), counts.T)
        inner = domain if labels is None else labels.domain
        return _apart(merged, own, inner, self.margin.harmless) if self.apart else (merged, own, inner)


def _apart(counts: Ints, values: Ints, domain: Domain, harmless: Bools) -> tuple[Ints, Ints, Domain]:
    """The same, where each record with a value that needs no protection has a column of its own."""
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
    """A part of a requirement, asked of sensitive columns each by itself, and of all of them together."""

    views: tuple[ColumnView, ...]

    @property
    def across(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.across

    @property
    def by_people(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.by_people

    @property
    def least_people(self) -> int:
        """As what is asked."""
        return self.asked.least_people

    @property
    def share_limit(self) -> float | None:
        """As what is asked."""
        return self.asked.share_limit

    @property
    def capped(self) -> bool:  # type: ignore[override]
        """As what is asked: `capped_sets` are those of every column."""
        return self.asked.capped

    def cap(self, sizes: Ints) -> Ints:
        """As what is asked."""
        return self.asked.cap(sizes)

    def capped_sets(self, codes: Ints, domain: Domain) -> Bools:
        """Those of every column, but for values that need no protection: each of their records is by itself."""
        found = []
        for view in self.views:
            labels, inner = view.margin.labels(domain), view.margin.domain(domain)
            own = np.unique((codes if labels is None else labels.of_value[codes]).astype(np.int64))
            sets = view.asked.capped_sets(own[~view.margin.harmless[own]] if view.apart else own, inner)
            found.append(sets if labels is None else sets[:, labels.of_value])
        return np.concatenate(found)

    @property
    def invariant_m(self) -> int | None:
        """As what is asked: of one column. Whether groups of several columns meet it is judged when they are made."""
        return self.asked.invariant_m

    @property
    def fewest_values(self) -> int:
        """As what is asked, unless records without a value that needs protection do."""
        return 1 if any(view.apart and view.margin.harmless.any() for view in self.views) else self.asked.fewest_values

    @property
    def named_values(self) -> Sets:
        """As what is asked."""
        return self.asked.named_values

    @property
    def written(self) -> Requirement:
        """What is asked."""
        return self.asked

    def named_masks(self, domain: Domain) -> Bools:
        """Which values of all columns together have one of its `named_values` in a column that it is asked of."""
        found = []
        for view in self.views:
            labels, own = view.margin.labels(domain), view.asked.named_masks(view.margin.domain(domain))
            found.append(own if labels is None else own[:, labels.of_value])
        return np.concatenate(found)

    def holds(self, counts: Counts) -> Bools:
        """Groups that meet it in every column."""
        return reduce(np.logical_and, (view.asked.holds(view.counts(counts)) for view in self.views))

    def fitness(self, counts: Counts) -> Floats:
        """Of the worst column."""
        return reduce(np.minimum, (view.asked.fitness(view.counts(counts)) for view in self.views))

    def holds_across(self, shown: Ints, sizes: Ints) -> Bools:
        """As what is asked."""
        return self.asked.holds_across(shown, sizes)

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Whether everything that a coalition can look at meets it in every column."""
        found = [view.asked.holds_between(_seen(view, subsets)) for view in self.views]
        return False if False in found else None if None in found else True

    def refuse_several_rows(self, domain: Domain) -> None:
        """Stop where people have several rows, and what is asked is not defined for that."""
        for view in self.views:
            view.asked.refuse_several_rows(view.margin.domain(domain))

    def possible(self, whole: Counts) -> bool:
        """Whether some release may meet it, as far as each column says by itself."""
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
    """What a coalition can look at, in a column: any of its records may go, those of one value or of several."""
    both = np.stack([subsets.rest, subsets.whole - subsets.rest])
    counts, values, domain = view.columns(subsets.values, subsets.domain, both)
    return Subsets(counts[0], counts.sum(axis=0), values, domain)


def needs_columns(margins: Sequence[Margin], domain: Domain) -> bool:
    """Whether requirements have to be asked by column: of one column only where some value needs no protection."""
    return len(margins) > 1 or any(bool((one.harmless & (domain.totals > 0)).any()) for one in margins)


def by_column(requirement: Requirement, margins: Sequence[Margin], domain: Domain) -> Requirement:
    """The same requirement, asked of each sensitive column by itself and of all of them together.

    Parameters
    ----------
    requirement
        What is asked, as a user writes it.
    margins
        The columns, of the values of all of them together.
    domain
        Of these values.

    Returns
    -------
    Requirement
        Itself where there is one column and all its values need protection.

    Raises
    ------
    RequirementError
        Where a part fits no column: it names values that none has, or needs an order that none has.

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
    """A requirement asked of people who have sets of values, where groups are counted by the numbers of the sets.

    Groups that are united have no person in common, so it is as monotone as what is asked.
    """

    sets: ValueSets

    @property
    def least(self) -> int:
        """The fewest people of a group."""
        return self.asked.least_people

    def holds(self, counts: Counts) -> Bools:
        """Which groups meet it."""
        return self.asked.holds(self.sets.expand(counts))

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above it or below."""
        return self.asked.fitness(self.sets.expand(counts))


def of_people(requirement: Requirement, sets: ValueSets) -> Requirement:
    """The requirement, asked of people whose values are sets; what looks at no value needs no sets."""
    parts = [_OfPeople(part, sets) if part.sensitive else part for part in requirement.parts()]
    return parts[0] if len(parts) == 1 else All(tuple(parts))
