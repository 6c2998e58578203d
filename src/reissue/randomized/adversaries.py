"""Adversaries, what is protected from them, and what they will see later.

An adversary links every published row to its person, has all releases, and knows how values are randomized. Adversaries
differ in their prior, in how they take values to change, and in whether they know departure rates.

Every requirement of this package has one form. Let b be the posterior of a person's present value, o(v) the
likelihood of something observed later, and f(v) the probability of an *event* given v, as a share of the event's
limit. No more than the limit is allowed for the event: sum over v of b(v) o(v) (f(v) - 1) is at most 0. It is linear
in b.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from reissue._arrays import Bools, Floats
from reissue.errors import InputError

__all__ = ["Adversary", "Foreseen", "ProtectedEvents", "foreseen", "normalized"]

_AHEAD = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 60, 120)
"""Departures after so many releases are foreseen. What lies between two of them is a mixture of both, nearly."""
_AWAY, _BETWEEN = (2, 5), (0, 1, 5)
"""Absences of so many releases are foreseen, before and after runs of presence (places in `_AHEAD`)."""
_NEARLY = 1e-3
"""How far something foreseen may be from a mixture of the rest."""
_CLOSE = 0.02
"""Priors move a little while people stay."""
_ROUND = 1e-6
_LEAST = 1e-9
"""The least limit."""


def normalized(weights: Floats) -> Floats:
    """Weights divided by their sum along the last axis; all 0 where the sum is 0."""
    total = weights.sum(-1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0), np.float64)


@dataclass(frozen=True, eq=False)
class Adversary:
    """What someone believes before the first release.

    Parameters
    ----------
    name
        How findings call this adversary.
    prior
        Classes x values: the shares of the values among people of each class. Equal rows if people are taken for alike.
    change
        Values x values: how likely each value is to become another by the next release.
    departs
        How likely people with each value are to be absent from the next release, if the adversary knows that.

    """

    name: str
    prior: Floats
    change: Floats
    departs: Floats | None = None

    def __post_init__(self) -> None:
        size = self.prior.shape[-1]
        if self.prior.ndim != 2 or self.change.shape != (size, size):
            raise InputError(
                "An adversary needs a prior of classes x values and a matrix of changes of values x values."
            )
        for shares in (self.prior, self.change):
            if not np.isfinite(shares).all() or (shares < 0).any() or np.abs(shares.sum(1) - 1).max(initial=0) > _ROUND:
                raise InputError("Each row of a prior and of a matrix of changes must be shares that sum to 1.")
        if self.departs is not None and (
            self.departs.shape != (size,) or not ((self.departs >= 0) & (self.departs < 1)).all()
        ):
            raise InputError("Departure rates must be one number for each value, at least 0 and below 1.")

    def seen(self, gap: int) -> Floats:
        """The likelihood of the value at the last sight, now that the person is seen again after `gap` releases."""
        if self.departs is None:
            return np.ones(len(self.change))
        return 1 - self.departs if gap == 1 else self.departs

    def power(self, gap: int) -> Floats:
        """Values x values: the probabilities of changes over `gap` releases."""
        return np.asarray(np.linalg.matrix_power(self.change, gap), np.float64)


@dataclass(frozen=True, eq=False)
class ProtectedEvents:
    """What nobody may be too sure of: sets of values, each with a limit.

    For one sensitive column each value is an event. For several columns, coded as combinations, the events are the
    combinations and the values of every single column.

    Parameters
    ----------
    member
        Events x values: which values make up each event.
    limit
        Event to the largest posterior allowed; 1 if it need not be protected.
    gain
        The posterior odds allowed, as a multiple of the prior odds.
    margin
        Limits hold for all priors that make the odds of an event up to so many times those of the adversary's prior.
    """

    member: Bools
    limit: Floats
    gain: float = float("inf")
    margin: float = 1.0

    def __post_init__(self) -> None:
        if self.member.ndim != 2 or self.limit.shape != (len(self.member),) or not self.member.any(1).all():
            raise InputError("Protected events need a limit each, and at least one value each.")
        if not ((self.limit > 0) & (self.limit <= 1)).all() or not (self.gain >= 1 and 1 <= self.margin < np.inf):
            raise InputError("A limit must be above 0 and at most 1, a gain and a margin at least 1.")

    @classmethod
    def of_values(
        cls, size: int, limit: float | Floats, gain: float = float("inf"), margin: float = 1.0
    ) -> "ProtectedEvents":
        """Each value of one column is an event of its own."""
        limits = np.broadcast_to(np.asarray(limit, np.float64), (size,))
        return cls(np.eye(size, dtype=np.bool_), limits, gain, margin)

    @classmethod
    def of_columns(cls, codes: Sequence[Sequence[int]], limit: float, gain: float = float("inf")) -> "ProtectedEvents":
        """Every combination and every value of each column; `codes` are the combinations, a tuple of codes each."""
        table = np.asarray(codes, np.int64)
        events = [np.eye(len(table), dtype=np.bool_)]
        events += [column == np.unique(column)[:, np.newaxis] for column in table.T if table.shape[1] > 1]
        member = np.concatenate(events)
        return cls(member, np.full(len(member), limit), gain)

    def shares(self, belief: Floats) -> Floats:
        """The probability of each event (... x events) under a distribution of values (... x values)."""
        return belief @ self._weights

    def limits(self, prior: Floats) -> Floats:
        """The limit of each event for people with this prior (... x values): by number, margin and gain.

        There is no room for the margin where the prior alone is within it.
        """
        share = np.clip(self.shares(prior), 1e-12, 1 - 1e-12)
        inner = np.where(share < self._inner, self._inner, self.limit)
        odds = share / (1 - share)
        return inner if np.isinf(self.gain) else np.minimum(inner, self.gain * odds / (1 + self.gain * odds))

    def within(self, margin: float) -> "ProtectedEvents":
        """The same with limits whose odds are smaller by this margin, whatever the prior."""
        return replace(self, limit=np.maximum(_smaller(self.limit, margin), _LEAST), margin=1.0)

    @cached_property
    def _inner(self) -> Floats:
        """Limits whose odds are smaller by the margin."""
        return _smaller(self.limit, self.margin)

    @cached_property
    def _weights(self) -> Floats:
        return self.member.T.astype(np.float64)


def _smaller(limit: Floats, margin: float) -> Floats:
    """Limits whose odds are smaller by a margin."""
    return np.asarray(limit / (limit + margin * (1 - limit)), np.float64)


@dataclass(frozen=True, eq=False)
class Foreseen:
    """Something that an adversary may observe after a release, though nothing new is published."""

    path: Floats
    """Values x values: from the present value, the probability of the observation and of the value at that time."""
    now: Floats
    """Present value to the probability of the observation."""


def foreseen(adversary: Adversary, protected: ProtectedEvents, *, changes: bool, returns: int) -> list[Foreseen]:
    """What an adversary may observe later: people stay, leave, and come back at most `returns` times.

    With `changes`, also that the value changes by the next release, visibly: if no adversary may be too sure even
    then, a change can be published when it comes.
    """
    if adversary.departs is None:
        paths = [adversary.power(ahead) for ahead in _AHEAD]
        stays = adversary.change
    else:
        stays = (1 - adversary.departs)[:, np.newaxis] * adversary.change
        paths = _presence(adversary, stays, returns)
    if changes:
        paths.append(stays * (1 - np.eye(len(stays))))
    scaled = [path / path.sum(1).max() for path in paths if path.any()]
    enough = [_prior_is_enough(adversary, protected, path) for path in scaled]
    mixed = _extreme([path for path, one in zip(scaled, enough, strict=True) if not one])
    chosen = mixed + [path for path, one in zip(scaled, enough, strict=True) if one]
    return [Foreseen(path, path.sum(1)) for path in chosen]


def _prior_is_enough(adversary: Adversary, protected: ProtectedEvents, path: Floats) -> bool:
    """Whether some prior makes some event likelier than its limit when this is observed, or nearly.

    That requirement cannot be met, so it cannot stand for mixtures either.
    """
    limits = protected.limits(adversary.prior)
    then = protected.shares(normalized(adversary.prior @ path))
    now = protected.shares(normalized(adversary.prior * path.sum(1)))
    return bool((np.maximum(then, now) > limits - _CLOSE).any())


def _presence(adversary: Adversary, stays: Floats, returns: int) -> list[Floats]:
    """Paths of presence: people stay, leave, come back, stay, ... and are seen or leave in the end."""
    departs = np.zeros(len(stays)) if adversary.departs is None else adversary.departs
    runs = [np.asarray(np.linalg.matrix_power(stays, ahead)) for ahead in _AHEAD]
    found = [run * departs for run in runs] + runs
    away = [departs[:, np.newaxis] * adversary.power(gap) for gap in _AWAY]
    short = [runs[at] for at in _BETWEEN]
    ways = short
    for _ in range(returns):
        ways = [way @ gone @ run for way in ways for gone in away for run in short]
        found += ways + [way * departs for way in ways]
    return found


def _extreme(paths: list[Floats]) -> list[Floats]:
    """Those that are no mixture of the others, but for a little: what holds for some holds for their mixtures."""
    if not paths:
        return []
    columns = np.stack([path.ravel() for path in paths], axis=1)
    kept = list(range(len(paths)))
    for one in reversed(range(1, len(paths))):
        others = [at for at in kept if at != one]
        left = nnls(columns[:, others], columns[:, one])[1]
        if left < _NEARLY * np.linalg.norm(columns[:, one]):
            kept = others
    return [paths[at] for at in kept]
