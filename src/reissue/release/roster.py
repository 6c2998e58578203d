"""Roster: who is in which group of one of our own releases, and what the groups show; all that following people takes.

It is made from a Release, or from what a ledger kept of one, which holds no quasi-identifiers and does not say which
person of a group has which of its values.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.histogram import counted
from reissue.counting.keys import distinct_keys
from reissue.counting.texts import SEPARATOR, TextCounts, joined_texts, ranked_texts
from reissue.data.table import Table
from reissue.release.release import Release
from reissue.requirements import Requirement

__all__ = ["Labels", "Roster", "roster_of"]


@dataclass(frozen=True, eq=False)
class Labels:
    """What a panel shows of its slots: their numbers, which last; it does not say who is in which."""

    label: Ints
    group: Ints
    text: pl.Series
    """Label to its value."""


@dataclass(frozen=True, eq=False)
class Roster:
    """The people of a release, then the counterfeits and others whom nobody knows."""

    ids: pl.Series
    """Person to the identifier."""
    group: Ints
    """Person to the group."""
    nobody: Ints
    """The groups of records that are no known person's."""
    lasting: Ints | None
    """Of these records the number that each keeps from release to release; None: they are in this one only."""
    histogram: TextCounts
    """How often each value occurs in each group, whoever has it."""
    requirement: Requirement
    """What the release was made to meet."""
    slots: Ints | None = None
    """Person, then other record, to the slot that it fills, for cohorts."""
    e: int | None = None
    """How few people at least may be shown to have the same values, where the method promises it."""
    labels: Labels | None = None
    """Of a panel."""
    table: Table | None = None
    """Person to the record, where the holder has brought the table again: a ledger does not keep it."""

    @property
    def records(self) -> Ints:
        """Record to its group: of people, then of the others."""
        return np.concatenate([self.group, self.nobody])

    def of_sensitive(self, place: int, table: Table | None) -> "Roster":
        """The same by one of several sensitive columns: its place, and the table where that column is the only one."""
        texts = pl.Series([name.split(SEPARATOR)[place] for name in self.histogram.names], dtype=pl.String)
        names, label = ranked_texts(texts)
        before = self.histogram
        found = counted(before.group, label[before.value], before.groups, len(names), before.count)
        histogram = TextCounts(found.starts, found.value, found.count, len(names), tuple(names.to_list()))
        labels = self.labels
        if labels is not None:
            own = labels.text.str.split(SEPARATOR).list.get(place)
            labels = replace(labels, text=own)
        return replace(self, histogram=histogram, labels=labels, table=table)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.histogram.groups


def roster_of(release: Release) -> Roster | None:
    """Of our own release; None if its schema names no identifier, or no sensitive column that groups could show."""
    table, draft = release.table, release.draft
    if table.ids is None or not table.schema.sensitive:
        return None
    kept = np.flatnonzero(draft.groups >= 0)
    codes = (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    group, fakes = draft.groups[kept].astype(np.int64), draft.counterfeits
    nobody = np.empty(0, np.int64) if fakes is None else fakes.groups.astype(np.int64)
    if fakes is not None:
        codes = np.concatenate([codes, fakes.sensitive])
    slots = None if draft.slots is None else np.delete(draft.slots, np.flatnonzero(draft.groups < 0))
    labels = None
    if draft.panel and slots is not None:
        texts = joined_texts(table.decode(codes), table.schema.sensitive)
        labels = Labels(slots, np.concatenate([group, nobody]), texts)
    return Roster(
        table.ids.gather(kept),
        group,
        nobody,
        None if fakes is None else fakes.names,
        _histogram(table, codes, np.concatenate([group, nobody])),
        release.requirement,
        slots,
        draft.e,
        labels,
    )


def _histogram(table: Table, codes: Codes, groups: Ints) -> TextCounts:
    """Each text is made once; codes of one text are one value."""
    distinct, of_row = distinct_keys(codes.astype(np.int64), table.domain.size)
    names, value = ranked_texts(joined_texts(table.decode(distinct.astype(np.int32)), table.schema.sensitive))
    found = counted(groups, value[of_row], int(groups.max(initial=-1)) + 1, len(names))
    return TextCounts(found.starts, found.value, found.count, len(names), tuple(names.to_list()))
