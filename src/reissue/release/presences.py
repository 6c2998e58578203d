"""Presences: who may be in which group of one release, and what the groups show.

The one carrier of presences. The holder's own release yields it (`presences_of`), so does what a ledger keeps of a
release (which has no quasi-identifiers and does not say who has which value of a group), a file that kept the
identifier, and a register of people with exact quasi-identifiers (`reissue.people.presences`). Attacks that follow
people, the ledger and the joint solver's input all start from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.histogram import counted
from reissue.counting.keys import distinct_keys
from reissue.counting.texts import SEPARATOR, TextCounts, joined_texts, ranked_texts
from reissue.data.table import Table
from reissue.release.release import Release

__all__ = ["Presences", "SeatLabels", "presences_of"]


@dataclass(frozen=True, eq=False)
class SeatLabels:
    """The seats that a panel publishes: numbers that last, without saying who is in which."""

    label: Ints
    group: Ints
    text: pl.Series
    """Label to its value."""


@dataclass(frozen=True, eq=False)
class Presences:
    """People, one a row, and the groups of one release that each may be in."""

    ids: pl.Series
    """Row to the person's identifier."""
    row: Ints
    """Pairs of a row and a group that the person fits, sorted by row; one each where groups are known."""
    group: Ints
    histogram: TextCounts
    """How often each value occurs in each group, whoever has it."""
    counterfeits: Ints
    """Group to its records that are known to be nobody's."""
    groups_known: bool = True
    """Whether each person's group is known, rather than the published combinations that the person fits."""
    complete: bool = True
    """Whether everyone here is in the release; otherwise the register is larger."""
    others: Ints | None = None
    """The group of each record that is no known person's; None where only numbers are known."""
    lasting: pl.Series | None = None
    """The name that each of these records keeps from release to release; None: each is in this release only."""
    seats: Ints | None = None
    """For cohorts, the seat of each person, then of each other record."""
    labels: SeatLabels | None = None
    """For a panel."""
    table: Table | None = None
    """Row to the person's record: the holder's, or at least its quasi-identifiers. A ledger does not keep it."""
    truth: pl.Series | None = None
    """Row to the true value as text, where the holder knows it."""
    insider: Bools | None = None
    """Row to whether the adversary knows the value: a coalition's own records."""
    totals: Mapping[str, int] | None = None
    """Value to the number of people who have it, where the adversary knows; nobody has any other value."""
    as_published: bool = False
    """Whether groups are numbered as a recipient reads them, not as the holder does."""
    least: Ints | None = None
    """Of a table of counts, the least that each count of the histogram may be, which has the most; None: exact."""
    of_group: Ints | None = None
    """Group to one of the holder's own groups that are published in this way, if these are numbered otherwise."""

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.histogram.groups

    @property
    def records(self) -> Ints:
        """The group of each record, people first, where everyone's group is known."""
        return self.group if self.others is None else np.concatenate([self.group, self.others])

    @property
    def of_people(self) -> int:
        """The number of records that are somebody's, at least."""
        shown = self.histogram.count if self.least is None else self.least
        return int(np.sum(shown)) - int(self.counterfeits.sum())

    def of_sensitive(self, place: int, table: Table | None) -> "Presences":
        """Restrict the values to one of several sensitive columns.

        `place` is its position, `table` the holder's table with that column alone.
        """
        texts = pl.Series([name.split(SEPARATOR)[place] for name in self.histogram.names], dtype=pl.String)
        names, label = ranked_texts(texts)
        before = self.histogram
        found = counted(before.group, label[before.value], before.groups, len(names), before.count)
        histogram = TextCounts(found.starts, found.value, found.count, len(names), tuple(names.to_list()))
        labels = self.labels
        if labels is not None:
            labels = replace(labels, text=labels.text.str.split(SEPARATOR).list.get(place))
        return replace(self, histogram=histogram, labels=labels).with_table(table)

    def with_table(self, table: Table | None) -> "Presences":
        """Add the holder's records of these people, in order, which tell their true values."""
        truth = None if table is None else joined_texts(table.decode(table.sensitive), table.schema.sensitive)
        return replace(self, table=table, truth=truth)


def presences_of(release: Release) -> Presences | None:
    """The presences of our own release: everyone's group and true value are known.

    None if its schema names no identifier, or no sensitive column that groups could show.
    """
    table, draft = release.table, release.draft
    if table.ids is None or not table.schema.sensitive:
        return None
    kept = np.flatnonzero(draft.groups >= 0)
    codes = (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    group, fakes = draft.groups[kept].astype(np.int64), draft.counterfeits
    others = np.empty(0, np.int64) if fakes is None else fakes.groups.astype(np.int64)
    if fakes is not None:
        codes = np.concatenate([codes, fakes.sensitive])
    seats = None if draft.slots is None else np.delete(draft.slots, np.flatnonzero(draft.groups < 0))
    labels = None
    if draft.form.seats and seats is not None:
        texts = joined_texts(table.decode(codes), table.schema.sensitive)
        labels = SeatLabels(seats, np.concatenate([group, others]), texts)
    histogram = _histogram(table, codes, np.concatenate([group, others]))
    return Presences(
        table.ids.gather(kept),
        np.arange(len(kept)),
        group,
        histogram,
        np.bincount(others, minlength=histogram.groups),
        others=others,
        lasting=None if fakes is None or fakes.names is None else pl.Series(fakes.names),
        seats=seats,
        labels=labels,
    ).with_table(table if len(kept) == table.rows else table.some(kept))


def _histogram(table: Table, codes: Codes, groups: Ints) -> TextCounts:
    """Each text is made once; codes of one text are one value."""
    distinct, of_row = distinct_keys(codes.astype(np.int64), table.domain.size)
    names, value = ranked_texts(joined_texts(table.decode(distinct.astype(np.int32)), table.schema.sensitive))
    found = counted(groups, value[of_row], int(groups.max(initial=-1)) + 1, len(names))
    return TextCounts(found.starts, found.value, found.count, len(names), tuple(names.to_list()))
