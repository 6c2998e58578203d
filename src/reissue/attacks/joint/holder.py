"""How values change, as the holder's own tables show: what a ledger carries on for it from release to release.

Of the newest release: who was in which group, and the values of the groups, as the ledger keeps both anyway. Of all
releases together: sums over people, by value (`Moments`). Nobody's true value is kept.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.texts import MISSING
from reissue.people.index import PersonIndex
from reissue.release.presences import Presences
from reissue.solver.transition_regression import Followed, Moments

__all__ = ["HolderSteps"]


def _nobody() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class HolderSteps:
    """What is known of steps by the holder's tables."""

    moments: Moments
    person: Ints
    """The places of the people of the newest release; nobody where its groups do not show true values."""
    group: Ints
    """Their groups."""
    cell_group: Ints
    """The histogram of the groups."""
    cell_value: Ints
    cell_count: Ints

    @classmethod
    def none(cls) -> "HolderSteps":
        """Before the first release."""
        return cls(Moments.none(), *(_nobody() for _ in range(5)))

    def with_truth(self, truth: Ints | None, values: int) -> "HolderSteps":
        """With today's true values, by place; -1 for whoever is not there. None: nobody knows them."""
        kept = replace(self, moments=self.moments.grown(values))
        if truth is None:
            return kept
        known = self.person < len(truth)
        known[known] = truth[self.person[known]] >= 0
        if not known.any():
            return kept
        now = truth[self.person[known]]
        seen = Followed(self.group[known], now, self.cell_group, self.cell_value, self.cell_count)
        return replace(self, moments=self.moments.more(seen, values))

    def of_release(self, known: Presences | None, index: PersonIndex, names: list[str | None]) -> "HolderSteps":
        """With the groups of the release that was added; none of one that published other values than the true ones."""
        if known is None:
            return HolderSteps(self.moments, *(_nobody() for _ in range(5)))
        everyone, ids = index.people[index.order], known.ids.cast(pl.Int64).to_numpy()
        number = {name: place for place, name in enumerate(names)}
        shown = known.histogram
        value = np.array([number[None if name == MISSING else name] for name in shown.names], np.int64)
        return HolderSteps(
            self.moments,
            index.order[np.searchsorted(everyone, ids)].astype(np.int64),
            known.group.astype(np.int64),
            shown.group.astype(np.int64),
            value[shown.value],
            shown.count.astype(np.int64),
        )
