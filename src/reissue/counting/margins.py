"""The sensitive columns of groups that were counted by all of these columns together, each column by itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain, Relabelling
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Margin", "margins_of"]


@dataclass(frozen=True, eq=False)
class Margin:
    """One sensitive column of values that stand for several columns, or all columns together."""

    column: str
    """The column's name, or all names where columns are taken together."""
    label: Codes | Ints | None
    """Value of all columns together to the column's own value; None: they are the same."""
    size: int
    """How many values the column has."""
    taxonomy: Taxonomy | None
    """The tree over the column's values."""
    harmless: Bools
    """The column's values to whether they need no protection."""

    def labels(self, whole: Domain) -> Relabelling | None:
        """The column's values for those of all columns together; None where they are the same."""
        return None if self.label is None else _labels(self, whole)

    def domain(self, whole: Domain) -> Domain:
        """Of the column's values, from that of all columns together."""
        labels = self.labels(whole)
        return whole if labels is None else labels.domain

    def of(self, counts: Counts) -> Counts:
        """Groups counted by the column's values, from those counted by values of all columns together."""
        labels = self.labels(counts.domain)
        return counts if labels is None else counts.relabelled(labels)

    def some(self, values: Codes | Ints) -> "Margin":
        """The same where values of all columns together are numbered anew: new number to old one."""
        if self.label is not None:
            return Margin(self.column, self.label[values], self.size, self.taxonomy, self.harmless)
        return Margin(self.column, None, len(values), None, self.harmless[values])


@lru_cache(maxsize=256)
def _labels(margin: Margin, whole: Domain) -> Relabelling:
    label = np.arange(whole.size) if margin.label is None else margin.label
    totals = np.bincount(label, whole.totals, margin.size).astype(np.int64)
    return Relabelling(label, Domain(totals, margin.taxonomy))


def margins_of(
    columns: Sequence[str],
    labels: Sequence[Codes | Ints],
    taxonomies: Sequence[Taxonomy | None],
    harmless: Callable[[str, int], Bools],
    together: str,
) -> tuple[Margin, ...]:
    """The margins of values that stand for some columns: each column, and all of them together where there are several.

    Parameters
    ----------
    columns
        Their names.
    labels
        For each column: value of all columns together to the column's own value.
    taxonomies
        The tree over each column's values; None where it is not known.
    harmless
        A column and its place to which of its own values need no protection.
    together
        What to call all of them together.

    """
    spared = [harmless(column, place) for place, column in enumerate(columns)]
    made = [
        Margin(column, label if len(columns) > 1 else None, len(own), taxonomy, own)
        for column, label, taxonomy, own in zip(columns, labels, taxonomies, spared, strict=True)
    ]
    if len(columns) < 2:
        return tuple(made)
    every = np.logical_and.reduce([own[label] for own, label in zip(spared, labels, strict=True)])
    return (*made, Margin(together, None, len(every), None, np.asarray(every)))
