"""Estimating how values change from the groups of one release and the true values of the next (least squares).

The holder of a series has today's table. Of the release before a ledger keeps who was in which group and how often each
group has each value, and never who had which. That is enough: whoever was in group g has value b today with probability
sum over a of s_g(a) P(a, b), where s_g(a) is the share of g that had a. Over people this is a linear regression of
today's values on the shares of their groups, and P its coefficients. What it needs of any number of releases are two
sums over people, value x value: of s_g(a) s_g(a') and of s_g(a) [b]. No person can be found in them, and sums of
several pairs of releases add up, so that the estimate is consistent.

The coefficients are held by a few people of each value, as if these had changed as all values do on average: of a value
that few people have little is known. O(people + groups x values of a group squared), and O(values cubed) a step.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from reissue._arrays import Floats, Ints
from reissue.solver.transition_learning import FEWEST, MOST, staying

__all__ = ["Followed", "Moments"]

_HELD = 5.0
"""People of each value by whom the estimate is held: fewer say next to nothing about a row of probabilities."""


@dataclass(frozen=True, eq=False)
class Followed:
    """People who are in two releases that follow each other: their groups in the first, their values in the second."""

    group: Ints
    """Person to the group."""
    now: Ints
    """Person to the true value in the second release."""
    cell_group: Ints
    """The histogram of the groups."""
    cell_value: Ints
    cell_count: Ints

    def tables(self, values: int) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Group x value: how often the first release has it, and how many of these people have it in the second."""
        shape = (int(max(self.cell_group.max(initial=0), self.group.max(initial=0))) + 1, values)
        counts = self.cell_count.astype(np.float64), np.ones(len(self.now))
        had = sparse.csr_array((counts[0], (self.cell_group, self.cell_value)), shape)
        has = sparse.csr_array((counts[1], (self.group, self.now)), shape)
        return had, has


@dataclass(frozen=True, eq=False)
class Moments:
    """What all pairs of releases so far say together."""

    before: Floats
    """Value x value: over people the sum of the shares of both values in their groups."""
    after: Floats
    """Value x value: over people who have the second value now, the sum of the shares of the first in their groups."""
    changed: int = 0
    """How many people must have changed: more people of a group have a value than the group had it before."""

    @classmethod
    def none(cls) -> "Moments":
        """Before any two releases."""
        return cls(np.empty((0, 0)), np.empty((0, 0)))

    @property
    def people(self) -> float:
        """How many steps of people are in it."""
        return float(self.after.sum())

    def grown(self, values: int) -> "Moments":
        """With room for further values."""
        more = ((0, values - len(self.before)),) * 2
        return Moments(np.pad(self.before, more), np.pad(self.after, more), self.changed)

    def renumbered(self, place: Ints, values: int) -> "Moments":
        """With other numbers for the values; -1 for those that are unknown now."""
        known = np.flatnonzero(place >= 0)
        made = Moments(np.zeros((values, values)), np.zeros((values, values)), self.changed)
        for new, old in ((made.before, self.before), (made.after, self.after)):
            new[np.ix_(place[known], place[known])] = old[np.ix_(known, known)]
        return made

    def more(self, seen: Followed, values: int) -> "Moments":
        """With one more pair of releases."""
        had, has = seen.tables(values)
        share = sparse.diags_array(1 / np.maximum(had.sum(axis=1), 1)) @ had
        people = sparse.diags_array(has.sum(axis=1))
        kept = self.grown(values)
        return Moments(
            kept.before + (share.T @ people @ share).toarray(),
            kept.after + (share.T @ has).toarray(),
            kept.changed + int((has - had).maximum(0).sum()),
        )

    def steps(self) -> Floats | None:
        """Value x value: how likely each becomes which; None where nobody need have changed."""
        from scipy.optimize import nnls

        if not self.changed:
            return None
        size = len(self.before)
        often = self.after.sum(axis=0) + 1
        average = staying(often / often.sum(), self._drawn(often / often.sum()))
        before = self.before + _HELD * np.eye(size)
        after = self.after + _HELD * average
        root = np.linalg.cholesky(before)
        told = np.linalg.solve(root, after)
        made = np.stack([nnls(root.T, one)[0] for one in told.T], axis=1)
        return np.asarray(made / made.sum(axis=1, keepdims=True))

    def _drawn(self, often: Floats) -> float:
        """The share of values that are drawn anew, by least squares where that is the only unknown."""
        away = often - np.eye(len(often))
        along = float((away * (self.before @ away)).sum())
        share = float((away * (self.after - self.before)).sum()) / along if along > 0 else 0.0
        return min(max(share, FEWEST), MOST)
