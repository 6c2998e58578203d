"""The adversary's confidence about everyone: the posterior of the value that comes closest to its limit, or exceeds it.

The joint attack solves for the values of all sensitive columns together. A *marginal* is what it finds of one column,
the sum over all values that agree in it, or of all columns. Every probability is weighed by how strict its limit is:
confidences are compared by *score*, the probability times the strictest limit over the value's own limit. Where all
values have one limit, scores are probabilities. A value that needs no protection scores 0.

Where the truth is known confidences are *calibrated*: people are sorted by confidence, and monotone regression gives
the share that is right at each size of confidence, in blocks of at least thirty people, of which the lower confidence
bound counts. So confidences that are too modest do not make a series look safer than it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import betaincinv

from reissue._arrays import Bools, Floats, Ints
from reissue.protection import Protection, ValueView
from reissue.solver import Observation, Posterior
from reissue.solver.posterior import TIED
from reissue.solver.states import ReleaseStates

__all__ = ["Calibration", "Confidences", "Marginal", "calibrate", "marginals_of", "plain_marginal", "tenths"]

_BLOCK = 30
"""People of a block of the calibration, at least."""
_DOUBT = 0.05
"""Probability at most with which a block's true share is below its bound."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """Everyone's posterior of the labels of one view, by release."""

    view: ValueView
    releases: tuple[ReleaseStates, ...]
    chance: tuple[Floats, ...]
    """Probability of each state, by release; states have labels for values."""
    priors: tuple[Floats, ...]
    """Share of each label among the records published, by release."""
    weights: tuple[Floats, ...]
    """Strictest limit over the limit of each label, by release; 0 where it needs no protection."""

    @cached_property
    def _scores(self) -> list[Floats]:
        pairs = zip(self.releases, self.chance, self.weights, strict=True)
        return [chance * weight[release.value] for release, chance, weight in pairs]

    def largest(self, place: int, common: Floats | None = None) -> tuple[Floats, Ints, Floats]:
        """Largest score of each row of a release, the label that has it, and its probability.

        Of labels that score alike the one that is `common`est among the values of the true tables; else the first.
        """
        release, score = self.releases[place], self._scores[place]
        if not len(release.person):
            return np.empty(0), np.empty(0, np.int64), np.empty(0)
        top = np.maximum.reduceat(score, release.starts[:-1])
        known = np.zeros(len(self.view.names)) if common is None else self._of_labels(common)
        rank = np.where(self.as_sure(place, top), 1.0 + known[release.value], 0.0)
        hits = np.flatnonzero(rank == np.maximum.reduceat(rank, release.starts[:-1])[release.row])[::-1]
        state = np.empty(len(release.person), np.int64)
        state[release.row[hits]] = hits
        label = release.value[state]
        return top, label, np.where(self.view.protected[label], self.chance[place][state], 0.0)

    def as_sure(self, place: int, top: Floats) -> Bools:
        """Whether each state of a release scores as high as its row's highest, but for rounding."""
        return np.asarray(self._scores[place] >= top[self.releases[place].row] * (1 - TIED))

    def certain(self, place: int) -> Bools:
        """Whether only one label is possible for each row of a release, and needs protection."""
        release, chance = self.releases[place], self.chance[place]
        possible = release.sums((chance > 0).astype(np.float64)) == 1
        guarded = release.sums(((chance > 0) & self.view.protected[release.value]).astype(np.float64)) > 0
        return np.asarray(possible & guarded)

    def _of_labels(self, common: Floats) -> Floats:
        """Label to how common it is, from the same of values; there may be more or fewer values than in the view."""
        known = common[: len(self.view.label)]
        return np.bincount(self.view.label[: len(known)], known, len(self.view.names)).astype(np.float64)

    def labels(self, values: Ints) -> Ints:
        """The labels of some values, -1 for none."""
        return np.where((values >= 0) & (values < len(self.view.label)), self._label_of(values), -1)

    def _label_of(self, values: Ints) -> Ints:
        return self.view.label[np.clip(values, 0, max(len(self.view.label) - 1, 0))]


def marginals_of(
    posterior: Posterior, series: Sequence[Observation], protection: Protection, names: Sequence[str | None]
) -> tuple[Marginal, ...]:
    """The posterior of the values of each column, and of all together; `names` are the texts of the values."""
    counts = [_shown(seen, len(names)) for seen in series]
    return tuple(_marginal(posterior, view, counts, protection.strictest) for view in protection.views(names))


def plain_marginal(posterior: Posterior) -> Marginal:
    """The posterior of all values, each with the same limit."""
    values = 1 + max((int(one.value.max(initial=-1)) for one in posterior.releases), default=-1)
    view = ValueView("", (None,) * values, np.arange(values), np.ones(values), np.inf)
    ones = (np.ones(values),) * len(posterior.releases)
    return Marginal(view, posterior.releases, posterior.chance, ones, ones)


def _shown(seen: Observation, values: int) -> Floats:
    """Value to how many records of it are published."""
    return np.bincount(seen.cell_value, seen.likely_count, values).astype(np.float64)


def _marginal(posterior: Posterior, view: ValueView, counts: Sequence[Floats], strictest: float) -> Marginal:
    priors = tuple(view.shares(one) for one in counts)
    weights = tuple(strictest / np.maximum(view.limits(prior), 1e-12) for prior in priors)
    pairs = zip(posterior.releases, posterior.chance, strict=True)
    merged = [(release, chance) if view.whole else _merged(release, chance, view) for release, chance in pairs]
    return Marginal(view, tuple(one for one, _ in merged), tuple(one for _, one in merged), priors, weights)


def _merged(release: ReleaseStates, chance: Floats, view: ValueView) -> tuple[ReleaseStates, Floats]:
    """States of a person with one label as one state."""
    keys = release.row.astype(np.int64) * len(view.names) + view.label[release.value]
    distinct, place = np.unique(keys, return_inverse=True)
    row, label = np.divmod(distinct, max(len(view.names), 1))
    starts = np.searchsorted(row, np.arange(len(release.person) + 1))
    # Sums of probabilities may round above 1.
    return replace(release, starts=starts, value=label), np.minimum(np.bincount(place, chance, len(distinct)), 1.0)


# --- confidences ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Confidences:
    """For each person the confidence of the highest score, in whichever release and about whichever column."""

    score: Floats
    """The probability, weighed by how strict the value's limit is: see `marginals`."""
    chance: Floats
    """The probability itself."""
    release: Ints
    """Place of the release; -1 of people who are in none."""
    value: Ints
    """The label that is named, as its marginal numbers labels; -1 where nothing that needs protection is possible."""
    marginal: Ints
    """The number of the marginal."""
    sure: Bools
    """Whether a value of the person that needs protection is certain, in some release."""

    @property
    def weight(self) -> Floats:
        """Score over probability: 1 where every value has the strictest limit."""
        return np.where(self.chance > 0, self.score / np.maximum(self.chance, 1e-300), 1.0)

    def right(self, marginals: Sequence[Marginal], truth: "Sequence[Ints | None]") -> Bools:
        """Person to whether the named value is the true one, where the truth of its release is known."""
        right = np.zeros(len(self.chance), np.bool_)
        for number, marginal in enumerate(marginals):
            for place, one in enumerate(truth):
                mine = np.flatnonzero((self.release == place) & (self.marginal == number) & (self.value >= 0))
                if one is not None and len(mine):
                    right[mine] = marginal.labels(one[mine]) == self.value[mine]
        return right

    def right_by_lot(self, marginals: Sequence[Marginal], truth: "Sequence[Ints | None]") -> Floats:
        """Person to how likely a guess is right that takes any of the values that score alike.

        A confidence of one fifth about each of five values says just that, however common one of them is.
        """
        right = np.zeros(len(self.chance))
        for number, marginal in enumerate(marginals):
            for place, (release, true) in enumerate(zip(marginal.releases, truth, strict=True)):
                mine = (self.release[release.person] == place) & (self.marginal[release.person] == number)
                if true is None or not mine.any():
                    continue
                sure = marginal.as_sure(place, marginal.largest(place)[0]).astype(np.float64)
                hit = release.value == marginal.labels(true[release.person])[release.row]
                right[release.person[mine]] = (release.sums(sure * hit) / release.sums(sure))[mine]
        return right

    @classmethod
    def of(
        cls,
        marginals: Sequence[Marginal],
        people: int,
        places: Sequence[int] | None = None,
        common: Floats | None = None,
    ) -> "Confidences":
        """Over all releases, or some of them; of values that score alike the `common`est is named."""
        score, chance = np.full(people, -1.0), np.zeros(people)
        release, value, marginal = (np.full(people, -1, np.int64) for _ in range(3))
        sure = np.zeros(people, np.bool_)
        for number, one in enumerate(marginals):
            for place in range(len(one.releases)) if places is None else places:
                person = one.releases[place].person
                top, best, probable = one.largest(place, common)
                sure[person] |= one.certain(place)
                more = top > score[person]
                mine = person[more]
                score[mine], chance[mine], release[mine] = top[more], probable[more], place
                value[mine], marginal[mine] = np.where(top[more] > 0, best[more], -1), number
        return cls(np.maximum(score, 0.0), chance, release, value, marginal, sure)

    def without(self, people: Ints | None) -> "Confidences":
        """No confidence about some people."""
        if people is None or not len(people):
            return self
        score, chance, release, sure = self.score.copy(), self.chance.copy(), self.release.copy(), self.sure.copy()
        score[people], chance[people], release[people], sure[people] = 0.0, 0.0, -1, False
        return replace(self, score=score, chance=chance, release=release, sure=sure)


# --- calibration -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calibration:
    """Steps: from each confidence on, the share that is surely right."""

    confidence: Floats
    """Where each block begins; sorted."""
    right: Floats
    """The lower bound of the share of right guesses in the block."""

    def of(self, confidences: Floats) -> Floats:
        """What confidences of these sizes are worth; 0 below the first block."""
        at = np.searchsorted(self.confidence, _rounded(confidences), side="right") - 1
        return (
            np.where(at >= 0, self.right[np.maximum(at, 0)], 0.0)
            if len(self.confidence)
            else np.zeros(len(confidences))
        )


def calibrate(confidences: Floats, right: Bools) -> Calibration:
    """Learn it from confidences whose truth is known."""
    from scipy.optimize import isotonic_regression

    if len(confidences) < _BLOCK:
        return Calibration(np.empty(0), np.empty(0))
    confidences = _rounded(confidences)
    order = np.argsort(confidences, kind="stable")
    blocks = np.asarray(isotonic_regression(right[order].astype(np.float64)).blocks)
    starts = _large(_untied(confidences[order], blocks), len(order))
    ends = np.append(starts[1:], len(order))
    number, hits = ends - starts, np.add.reduceat(right[order].astype(np.int64), starts)
    bound = np.where(hits > 0, betaincinv(np.maximum(hits, 1), number - hits + 1, _DOUBT), 0.0)
    return Calibration(confidences[order][starts], np.maximum.accumulate(bound))


def _rounded(confidences: Floats) -> Floats:
    """Confidences that differ only by the order in which they were computed are equal."""
    return np.asarray(np.round(confidences / TIED) * TIED)


def _untied(confidences: Floats, blocks: Ints) -> Ints:
    """Beginnings of blocks, moved so that equal confidences are in one."""
    return np.unique(np.searchsorted(confidences, confidences[blocks[:-1]], side="left"))


def _large(starts: Ints, total: int) -> Ints:
    """Blocks of thirty people at least: the surest people stay together at the end."""
    kept, end = [], total
    for start in starts[::-1]:
        if end - start >= _BLOCK:
            kept.append(int(start))
            end = int(start)
    if kept and kept[-1] != 0:
        kept[-1] = 0
    return np.array(kept[::-1] or [0], np.int64)


def tenths(confidences: Floats, right: Floats) -> list[dict[str, float]]:
    """For confidences in tenths: people, mean confidence, share that is right; `right` is how likely each one is."""
    band = np.minimum((confidences * 10).astype(np.int64), 9)
    return [
        {
            "from": tenth / 10,
            "people": int((band == tenth).sum()),
            "claim": float(confidences[band == tenth].mean()),
            "right": float(right[band == tenth].mean()),
        }
        for tenth in range(10)
        if (band == tenth).any()
    ]
