"""What one solution teaches the next: who leaves; of groups made by value, what newcomers and counterfeits have.

Expectation maximization (Dempster, Laird and Rubin 1977): solve, count what people are found to have, expect that, and
solve again. O(entries) a turn, beside the solution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Floats
from reissue.attacks.joint.solving.beliefs import Beliefs, Unsolved
from reissue.solver.learning.leaving import Leaving
from reissue.solver.learning.made_by_value import Expected, learn_by_value
from reissue.solver.learning.newcomers import Latecomers
from reissue.solver.transitions import Pairing, pairings

__all__ = ["Lessons"]


@dataclass(frozen=True, eq=False)
class Lessons:
    """What is learnt from one solution to the next: who leaves, and what newcomers and counterfeits have."""

    prior: Floats
    pairs: Sequence[Pairing]
    leaving: Leaving | None
    newcomers: Latecomers | None
    """Where groups were made by value; else what they have is learnt while counts are scaled."""
    expected: Expected
    solutions: int = 0
    """How many it was learnt from."""

    @classmethod
    def of(cls, unsolved: Unsolved, prior: Floats, newcomers: Latecomers | None, leaving: Leaving | None) -> "Lessons":
        """Before anything is learnt from these releases."""
        alike = Expected.alike(unsolved.part.model.values)
        return cls(prior, pairings(unsolved.layers, unsolved.part.times), leaving, newcomers, alike)

    @property
    def begun(self) -> bool:
        """Whether it was learnt before who leaves."""
        return self.leaving is not None and bool(len(self.leaving.rates))

    def after(self, found: Beliefs) -> "Lessons":
        """What a solution teaches."""
        layers, chance, values = found.layers, found.chance, len(self.expected.rates)
        leaving, expected = self.leaving, self.expected
        if leaving is not None:
            leaving = leaving.learnt(layers, chance, values)
        if self.newcomers is not None:
            expected = learn_by_value(layers, self.pairs, chance, self.newcomers.people, values)
        return replace(self, leaving=leaving, expected=expected, solutions=self.solutions + 1)

    def moved(self, before: "Lessons") -> float:
        """How far what is expected is from what was before."""
        moved = 0.0 if self.leaving is None or before.leaving is None else self.leaving.moved(before.leaving)
        return moved if self.newcomers is None else max(moved, self.expected.moved(before.expected))

    def put(self, unsolved: Unsolved) -> Unsolved:
        """What is solved with it."""
        first = self.prior
        if self.leaving is not None:
            unsolved = unsolved.with_leaving(self.leaving)
        if self.newcomers is not None:
            first = np.where(self.newcomers.people[:, np.newaxis], self.expected.rates, self.prior)
            unsolved = unsolved.sharing(self.expected.shares)
        return unsolved.expecting(first)

    def recorded_in(self, found: Beliefs) -> Beliefs:
        """A solution with what it was solved with."""
        if self.newcomers is None or not self.solutions:
            return replace(found, leaving=self.leaving)
        scaled = replace(found.scaled, rates=self.expected.rates)
        return replace(found, leaving=self.leaving, scaled=scaled, counterfeits_learnt=True)
