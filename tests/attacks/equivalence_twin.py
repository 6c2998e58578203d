"""The equivalence attack release by release, all components solved after each: the twin of the attack."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Ints
from reissue.attacks import CannotRunError, Knowledge, Series
from reissue.papers.equivalence.attack import (
    _CHANGING,
    _CONTRADICTING,
    _NOTHING_BELOW,
    _limit,
    _promise,
)
from reissue.papers.equivalence.components import contradicts_truth, no_values_fit, solve
from reissue.papers.equivalence.exact import BucketHistory, buckets, cheapest
from reissue.papers.equivalence.groups import Equivalences, groups_of, propagate, propagations, smaller
from reissue.papers.tracking.membership import Membership, membership, true_values
from tests.attacks.posteriors import posteriors

__all__ = ["Exposure", "exposure", "whole"]


@dataclass(frozen=True, eq=False)
class Exposure:
    """The outcome for everybody."""

    least: Ints
    """Person to the smallest e of an attack that it is in; 0 if there is none below the limit."""
    exact: bool
    """Whether that is certain, whatever worlds there are."""
    linear: bool
    """Whether that is certain of sums of groups."""
    found: Equivalences
    judged: Sequence[tuple[BucketHistory, Ints]] = ()
    """The whole buckets, each with the smallest e of its patterns."""

    @property
    def minimum(self) -> int | None:
        """The smallest e of all; None if there is none below the limit."""
        return int(self.least[self.least > 0].min()) if (self.least > 0).any() else None


def exposure(members: Membership, limit: int) -> Exposure:
    """Everybody's smallest e below the limit."""
    return _with_buckets(propagate(members, limit), buckets(members), limit)


def exposures(members: Membership, limit: int, truths: Sequence[Ints]) -> Iterator[Exposure]:
    """The same after each release; CannotRunError where values must have changed."""
    solved, changing = np.zeros(len(members.real), np.int64), False
    for number, shown in enumerate(propagations(members, limit), start=1):
        found = Equivalences(shown.classes, shown.least(limit))
        outcome = _with_buckets(found, buckets(members, number), limit)
        if number > 1 and not changing:
            some = np.flatnonzero(members.release < number)
            groups = groups_of(members, shown.classes).some(some)
            shows = members.histogram.pick(some)
            sizes = np.bincount(shown.classes, minlength=len(shown.apart))
            truth = truths[number - 1]
            of_class = np.full(len(sizes), -1, np.int64)
            of_class[shown.classes] = truth
            changing = contradicts_truth(groups, shows, shown.classes, truth)
            changing = changing or no_values_fit(groups, shows, of_class)
            together = solve(groups, shows, sizes, limit)
            changing |= together.contradicted
            solved = smaller(solved, together.least[shown.classes])
            least = smaller(outcome.least, np.where(solved < limit, solved, 0))
            outcome = replace(outcome, least=least, exact=together.exact, linear=together.linear)
        yield outcome
    if changing:
        raise CannotRunError(_CONTRADICTING)


def _with_buckets(found: Equivalences, whole: Iterable[BucketHistory] | None, limit: int) -> Exposure:
    """What pairs of groups show, and what whole buckets show if all groups are such."""
    if whole is None:
        return Exposure(found.least, exact=False, linear=False, found=found)
    least, certain = found.least.copy(), True
    judged = []
    for bucket in whole:
        of_pattern = cheapest(bucket, limit)
        judged.append((bucket, of_pattern))
        certain &= not (of_pattern < 0).any()
        of_person = np.repeat(of_pattern, bucket.weights)
        smaller = (of_person > 0) & ((least[bucket.people] == 0) | (least[bucket.people] > of_person))
        least[bucket.people[smaller]] = of_person[smaller]
    return Exposure(least, exact=False, linear=certain, found=found, judged=judged)


def whole(series: Series, knowledge: Knowledge) -> tuple[Exposure, Ints, int]:
    """The outcome of all releases, the smallest e of each exposed person, and how many people are known."""
    if len(series) < 2:
        raise CannotRunError("it compares releases, and there is only one.")
    members = membership(series, knowledge)
    if series.schema.updates and series.schema.updates.get("none") is not True:
        raise CannotRunError(_CHANGING)
    if (posteriors(members).left == 0).any():
        raise CannotRunError(_CONTRADICTING)
    limit = _limits(series, members)[-1]
    *_, outcome = exposures(members, limit, true_values(series, knowledge, members))
    least = outcome.least[members.real]
    if limit < 2 and series.limits.get("equivalence") is None and not any(map(_promise, series.releases)):
        raise CannotRunError(_NOTHING_BELOW)
    return outcome, least[least > 0], len(least)


def _limits(series: Series, members: Membership) -> list[int]:
    """What was asked for, what our own releases promise, or what a single release gives."""
    promised = min((one for one in map(_promise, series.releases) if one is not None), default=None)
    return [_limit(series, promised, int(members.distinct.min()))] * len(series)
