"""The deFinetti attack on a series: everyone at once, with a prior that is learnt from the posterior itself.

It learns as the joint attack does (`solver.learned_prior`); here guesses with and without it are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.attack import solve_crowd
from reissue.attacks.joint.confidence import Confidences, plain_marginal, tenths
from reissue.attacks.joint.sight import see, with_histories
from reissue.attacks.joint.window import traits_of, with_learned_features
from reissue.attacks.stories import Bars, Case, case
from reissue.errors import CannotRunError
from reissue.people.knowledge import Knowledge
from reissue.people.series import SeriesPresences
from reissue.protection import Protection
from reissue.published.series import Series
from reissue.solver.observation import made_by_value
from reissue.solver.posterior import of_occupants
from reissue.words import percent

__all__ = ["LIMIT", "Learnt", "guess_together", "holds_counterfeits"]

LIMIT = 0.75
"""What counts as a sure guess."""
_LEARNT = (
    "Across groups, some quasi-identifiers, times of arrival and lengths of stay go with some values more often than "
    "with others. That is learnt from what was solved, of each person from other people's groups only, and everything "
    "is solved again with it."
)
_WAYS = 20_000_000
"""Ways of people to be in groups, at most: it is solved three times."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """Surest guesses about everyone, without and with what was learnt."""

    after: Confidences
    right_before: Floats
    """Person to how likely the surest guess is right, of equally sure values any."""
    right: Floats
    """The same with what was learnt."""
    by_value: bool
    """Whether groups were made by value."""
    guarded: Bools
    """Person to whether the true value, where the guess is about, needs protection."""

    @property
    def everyone(self) -> Bools:
        """Person to whether the person is in some release, with a value that needs protection."""
        return np.asarray(self.after.release >= 0) & self.guarded

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.everyone.sum())

    @property
    def baseline(self) -> float:
        """The share of people of whom the surest guess is right, solved for everyone without learning."""
        return float(self.right_before[self.everyone].mean())

    @property
    def accuracy(self) -> float:
        """The same with learning."""
        return float(self.right[self.everyone].mean())

    @property
    def error(self) -> float:
        """The standard error of the difference: only people of whom one guess is right and the other is not matter."""
        moved = float(np.abs(self.right - self.right_before)[self.everyone].sum())
        return float(np.sqrt(max(moved, 1.0)) / max(self.people, 1))

    @property
    def chance(self) -> float:
        """What guesses without learning reach by chance, once in a thousand times."""
        return self.baseline + 3 * self.error

    @property
    def calibration(self) -> list[dict[str, float]]:
        """For confidences in tenths: people, mean confidence, share that is right."""
        some = self.everyone
        return tenths(self.after.chance[some], self.right[some])

    @property
    def above(self) -> dict[str, int]:
        """People with a probability above three quarters, and how many of these guesses are right."""
        some = self.everyone & (self.after.chance > LIMIT)
        return {"people": int(some.sum()), "right": round(float(self.right[some].sum()))}

    def case(self, limit: float) -> Case:
        """The case in steps, with bars for both ways to guess."""
        more = round((self.accuracy - self.baseline) * self.people)
        gained = f"{more:,} people more than" if more > 0 else "no more people than"
        alone = f"{percent(self.baseline)} of {self.people:,} people's surest guesses are right"
        steps = [
            "The adversary knows who is in which release, with everyone's quasi-identifiers.",
            f"All releases solved for everyone at once, {alone}.",
            _LEARNT,
            f"Then {percent(self.accuracy)} are right, {gained} without learning; the limit is {percent(limit)}.",
        ]
        shares = {"with learning": [self.accuracy], "without": [self.baseline]}
        picture: Bars = {
            "kind": "bars",
            "labels": ["all releases"],
            "series": shares,
            "unit": "share of people",
            "limit": None,
        }
        return case(steps, picture)


def holds_counterfeits(series: Series) -> bool:
    """Whether some record of our own releases is nobody's."""
    return any(one.source is not None and one.source.draft.counterfeits is not None for one in series.releases)


def guess_together(series: Series, knowledge: Knowledge) -> Learnt | None:
    """Guess everyone's value in a series; None where people cannot be followed or the truth is not known."""
    if any(one.source is None or (len(series) > 1 and one.source.table.ids is None) for one in series.releases):
        return None
    known = see(series, knowledge)
    crowd = with_histories(known)
    truth = [one for one in crowd.truth if one is not None]
    if len(truth) < len(series) or any(one.table is None for one in crowd.releases):
        return None
    if sum(seen.assignments for seen in crowd.observations) > _WAYS:
        if not holds_counterfeits(series):
            return None
        raise CannotRunError(
            f"people fit {crowd.fits:.0f} groups of a release on average: too many to learn from all of them.",
            too_large=True,
        )
    begun = replace(knowledge, progress=lambda done: knowledge.progress(2 * done / 3))
    # Guesses are compared with and without learning, which has no exact way.
    solution = solve_crowd(crowd, replace(series, exact=False), begun)
    seen = solution.series

    def later(done: float) -> None:
        knowledge.progress((2 + done) / 3)

    last = with_learned_features(solution, traits_of(crowd), progress=later)
    before, after = (of_occupants(one, seen) for one in (solution.posterior, last))
    first_marginal, last_marginal = [plain_marginal(before)], [plain_marginal(after)]
    confidences = Confidences.of(last_marginal, crowd.people)
    right_before = Confidences.of(first_marginal, crowd.people).right_by_lot(first_marginal, truth)
    guarded = _guarded(crowd, truth, confidences, series)
    if not guarded.any():
        raise CannotRunError("nobody has a value that needs protection.")
    right = confidences.right_by_lot(last_marginal, truth)
    return Learnt(confidences, right_before, right, made_by_value(seen), guarded)


def _guarded(crowd: SeriesPresences, truth: Sequence[Ints], guesses: Confidences, series: Series) -> Bools:
    """Person to whether the true value needs protection in the release about which the guess is."""
    protected = Protection.of(series.schema.policy, series.schema.sensitive).guarded(crowd.names)
    value = np.stack(truth)[np.maximum(guesses.release, 0), np.arange(crowd.people)]
    return (value >= 0) & protected[np.maximum(value, 0)]
