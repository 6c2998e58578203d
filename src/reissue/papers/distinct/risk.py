"""A limit on what m-Distinct releases tell: everybody's posterior is computed, and kept at or below it.

The largest posterior of *any* candidate value counts, not that of the true one: so the grouping depends on nothing that
readers do not see, and whoever knows the algorithm learns nothing from it.

A person above the limit first changes places with somebody of the same bucket and value, whose groups show other
values: nothing else changes by that. If no such change helps, a counterfeit with the same value takes the place, and
the person stands among counterfeits whose values are chosen to bring the posterior down. If that does not help either
the person is left out of this release, if so many may be; else the release is refused: an unlucky history cannot always
be mended.

Everybody's past is remembered for this, as far as it matters to later releases (`papers/tracking`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InputError, NotMetError
from reissue.methods.invariance.register import RegisterState
from reissue.methods.registry import Job
from reissue.papers.distinct.repair import Formed, Repair, even, multisets
from reissue.papers.tracking.forward_backward import ValueDistributions
from reissue.papers.tracking.incremental import Distributions
from reissue.papers.tracking.person_tracker import (
    BeliefTracker,
    KnownPast,
    PersonTracker,
    TrackedRisk,
    TrajectoryTracker,
    begun,
)
from reissue.updates import UpdateModel, fingerprint_of

__all__ = ["DistinctState", "Exposed", "RiskLimit", "RiskOutcome"]

_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class DistinctState(RegisterState):
    """What is left for the next release; a line of `signatures` are its values, and -1 beyond the last."""

    star: int
    updates: Bools
    """Value x value: what can become what."""
    past: BeliefTracker | TrajectoryTracker | None
    """Everybody's past, if there is a limit."""
    model: str
    """A mark of the update model by which that was looked at."""


class Exposed(Exception):  # noqa: N818
    """People above the limit, for whom no other places were found."""

    def __init__(self, rows: Ints, limit: "RiskLimit") -> None:
        super().__init__()
        self.rows, self.limit = rows, limit


@dataclass(frozen=True, eq=False)
class RiskLimit:
    """The limit, if there is one, and everybody's past."""

    limit: float | None
    model: UpdateModel
    past: PersonTracker
    release: int
    """The number of the release that is being made, from 0."""

    @classmethod
    def of(cls, job: Job, model: UpdateModel, m: int) -> "RiskLimit":
        """From a method's options and memory."""
        limit = job.options["risk"]
        number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (number and 0 < limit <= 1):
            raise InputError("The option 'risk' must be a number above 0 and at most 1.")
        if limit is not None and limit * m < 1 - _SLACK:
            raise InputError(
                f"A limit on risk below 1/{m} cannot be kept by groups of {m}: a single release tells more. Choose m "
                "to be 1/risk or more."
            )
        if limit is None or job.state is None:
            return cls(limit, model, begun(job.table.schema, model, m), 0)
        return cls(limit, model, _remembered(job.state, model), job.state.register.release)

    def keep_to(
        self, formed: Formed, people: Ints, rng: np.random.Generator, spare: int
    ) -> "tuple[Formed, RiskOutcome | None]":
        """The groups with nobody above the limit, and what is known of everyone then; raises Exposed if some are."""
        if self.limit is None:
            return formed, None
        view = self.past.look(people, self.release)
        outcome = self._outcome(view, formed)
        bad = np.flatnonzero(outcome.judged.largest > self._most)
        if len(bad):
            repair = Repair(formed, outcome.of_group, outcome.shown.places, self._largest(view), self._most, rng)
            repair.mend(bad, spare)
            outcome = self._outcome(view, formed)
        above = np.flatnonzero(outcome.judged.largest > self._most)
        if len(above):
            raise Exposed(above, self)
        return formed, outcome

    def refusal(self, rows: Ints, spare: int) -> NotMetError:
        """Why there is no release, and what would help."""
        first = ", ".join(str(row + 1) for row in rows[:5].tolist())
        allowed = f"more than the {spare:,} that may be left out" if spare else "and none may be left out"
        return NotMetError(
            f"The values of {len(rows):,} people would be more likely than {self.limit:g} (first rows: {first}), "
            f"{allowed}; no other places were found for all of them. Nothing was published. Allow a larger share of "
            "rows to be left out (`suppress`), or raise the limit."
        )

    def _outcome(self, view: KnownPast, formed: Formed) -> "RiskOutcome":
        """What is known of every row, this release too."""
        number, listed = multisets(formed.groups, formed.values)
        shown, at = self.past.shown.joined(even(listed))
        place = at[number[formed.groups[: formed.rows]]]
        return RiskOutcome(shown, at[number], place, self.past.judged(view, place, shown.places, self.model))

    @property
    def _most(self) -> float:
        return (self.limit or 1.0) + _SLACK

    def _largest(self, view: KnownPast) -> Callable[[Ints, Ints, ValueDistributions], Floats]:
        """What would be known of some people, who may repeat, at other places."""

        def largest(rows: Ints, at: Ints, shown: ValueDistributions) -> Floats:
            some: KnownPast = self.past.picked(view, rows)
            return self.past.judged(some, at, shown, self.model).largest

        return largest

    def after(self, outcome: "RiskOutcome | None", people: Ints) -> PersonTracker | None:
        """Everybody's past after a release; None if there is no limit."""
        if outcome is None:
            return None
        return self.past.after(people, self.release, outcome.place, outcome.shown, outcome.judged, self.model)


@dataclass(frozen=True, eq=False)
class RiskOutcome:
    """Where everybody stands in the release, and what is known then."""

    shown: Distributions
    of_group: Ints
    """Group to its place."""
    place: Ints
    """Row to its place."""
    judged: TrackedRisk

    @property
    def risk(self) -> float:
        """The largest posterior of anyone."""
        return float(self.judged.largest.max(initial=0.0))


def _remembered(state: DistinctState, model: UpdateModel) -> PersonTracker:
    """Everybody's past as it was kept."""
    if state.past is None:
        raise InputError("This series was begun without a limit on risk, so nobody's past is remembered.")
    if isinstance(state.past, BeliefTracker) and state.model != fingerprint_of(model):
        raise InputError(
            "The table has sensitive values that change the update model itself, so that the past would have to be "
            "looked at anew. Nothing was published. Let the model list all values that can occur, and begin the series "
            "anew, or leave out the option 'risk'."
        )
    return state.past
