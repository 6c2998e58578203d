"""The equivalence attack (He, Barman and Naughton, "Preventing equivalence attacks in updated, anonymized data").

Values do not change while a record lives, so groups of the same values can be subtracted from each other: what is left
shows two sets of e people to have the same values, one as the other (definition 6). With e = 1 one person's value gives
away the other's, and so on through a whole class: the domino. The attack succeeds if it finds an e below the limit:
the e that our own releases promise, else the smallest number of values in a group, below which no single release is.

It starts from known membership (see `people.membership`). Whole buckets are attacked exactly, by an integer program for
each (`exact`); fine groups, of m-invariance or anyone's, by propagation (`propagation`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Ints, State
from reissue.attacks.equivalence.case import Told, of_bucket, of_groups
from reissue.attacks.equivalence.exact import Bucket, buckets, cheapest
from reissue.attacks.equivalence.propagation import Equivalences, domino, propagate, propagations
from reissue.attacks.equivalence.state import arrive, domino_of, state_with
from reissue.attacks.findings import Finding, Status
from reissue.attacks.fold import Fold, one_by_one
from reissue.attacks.registry import attack
from reissue.attacks.updates.attack import posteriors
from reissue.attacks.updates.beliefs import contradicted
from reissue.errors import CannotRunError, InputError
from reissue.people.knowledge import Knowledge
from reissue.people.membership import Membership, membership
from reissue.published import PublishedRelease
from reissue.published.series import Series

__all__ = ["Exposure", "equivalence", "exposure", "exposures"]

NAME = "equivalence"
_ONLY_ONE = "it compares releases, and there is only one."


@dataclass(frozen=True, eq=False)
class Exposure:
    """The outcome for everybody."""

    least: Ints
    """Person to the smallest e of an attack that it is in; 0 if there is none below the limit."""
    exact: bool
    """Whether that is certain, for whole buckets; for fine groups there may be smaller ones."""
    found: Equivalences
    judged: Sequence[tuple[Bucket, Ints]] = ()
    """The whole buckets, each with the smallest e of its patterns."""

    @property
    def minimum(self) -> int | None:
        """The smallest e of all; None if there is none below the limit."""
        return int(self.least[self.least > 0].min()) if (self.least > 0).any() else None


def exposure(members: Membership, limit: int) -> Exposure:
    """Everybody's smallest e below the limit."""
    return _with_buckets(propagate(members, limit), buckets(members), limit)


def exposures(members: Membership, limits: Sequence[int]) -> Iterator[Exposure]:
    """The same after each release, with a limit for each."""
    for number, shown in enumerate(propagations(members, limits), start=1):
        found = Equivalences(shown.classes, shown.least(limits[number - 1]))
        yield _with_buckets(found, buckets(members, number), limits[number - 1])


def _with_buckets(found: Equivalences, whole: Iterable[Bucket] | None, limit: int) -> Exposure:
    """What pairs of groups show, and what whole buckets show if all groups are such."""
    if whole is None:
        return Exposure(found.least, exact=False, found=found)
    least, certain = found.least.copy(), True
    judged = []
    for bucket in whole:
        of_pattern = cheapest(bucket, limit)
        judged.append((bucket, of_pattern))
        certain &= not (of_pattern < 0).any()
        of_person = np.repeat(of_pattern, bucket.weights)
        smaller = (of_person > 0) & ((least[bucket.people] == 0) | (least[bucket.people] > of_person))
        least[bucket.people[smaller]] = of_person[smaller]
    return Exposure(least, exact=certain, found=found, judged=judged)


# --- carried on from release to release ------------------------------------------------------------------------------


def _take(state: State | None, series: Series) -> State:
    """All that was shown, with one release more. What stands in the way once does so forever."""
    numbers = [*([] if state is None else state["numbers"]), *series.numbers]
    if state is not None and "obstacle" in state:
        return {**state, "numbers": numbers}
    try:
        arrival = arrive(state, series)
        _refuse_changing(series)
    except CannotRunError as obstacle:
        return {"obstacle": str(obstacle), "numbers": numbers}
    own = [one for one in (_promise(series.releases[0]), (state or {}).get("promised")) if one is not None]
    promised, distinct = min(own, default=None), int(arrival.members.distinct.min())
    distinct = distinct if state is None else min(distinct, state["distinct"])
    limit = _limit(series, promised, distinct)
    after, below = state_with(state, arrival, limit)
    grown = [*([] if state is None else state["grown"]), len(below)]
    more = {"promised": promised, "distinct": distinct, "grown": grown, "below": below.astype(np.int32)}
    return {**after, **more, "numbers": numbers}


def _judge(state: State, series: Series) -> Finding:
    """What the state comes to; the same finding as of all releases at once, but for the case that it tells."""
    del series
    if len(state["numbers"]) < 2:
        raise CannotRunError(_ONLY_ONE)
    if "obstacle" in state:
        raise CannotRunError(state["obstacle"])
    _refuse_contradicting(contradicting=contradicted(state))
    people = len(state["people"])
    found = _Found(state["below"], people, state["limit"], state["grown"], state["exact"], domino_of(state))
    return found.finding(state["numbers"], {})


@attack(
    NAME,
    "Subtracts groups of the same values from each other: who has the same value as whom.",
    fewest=2,
    needs=(
        "at least two releases, values that do not change, and to know who is in each release: our own, files that "
        "kept the identifier, or `--knows members=FOLDER`"
    ),
    story=(
        "Someone who knows who is in which group subtracts groups with the same values from each other. The people "
        "who are left over on both sides must have the same values; once one of these is known, others follow like "
        "dominoes."
    ),
    prevention=(
        (
            "Publish the series with the method `equivalence`: whole buckets, in which fewer than e people are never "
            "shown to have the same values as as many others."
        ),
    ),
    kept=Fold(one_by_one, _take, _judge),
    follows=True,
)
def equivalence(series: Series, knowledge: Knowledge) -> Finding:
    """Find everybody's smallest e in all releases together, and how it grew release by release."""
    if len(series) < 2:
        raise CannotRunError(_ONLY_ONE)
    members = membership(series, knowledge)
    _refuse_changing(series)
    _refuse_contradicting(contradicting=bool((posteriors(members).left == 0).any()))
    limits = _limits(series, members)
    grown = []
    for outcome in exposures(members, limits):
        grown.append(int((outcome.least[members.real] > 0).sum()))
        knowledge.progress(len(grown) / len(series))
    fallen = domino(members, outcome.found)
    told = _case(Told(series, knowledge, members, limits[-1], fallen[1]), outcome)
    least = outcome.least[members.real]
    found = _Found(least[least > 0], len(least), limits[-1], grown, outcome.exact, fallen)
    return found.finding(series.numbers, {"case": told} if told else {})


@dataclass(frozen=True, eq=False)
class _Found:
    """What a finding tells."""

    below: Ints
    """The smallest e of each known person who is in an attack."""
    people: int
    """How many known people there are."""
    limit: int
    grown: Sequence[int]
    """How many people were exposed after each release, by the limit at that time."""
    exact: bool
    fallen: tuple[int, int]

    def finding(self, numbers: Sequence[int], story: Mapping[str, object]) -> Finding:
        below = self.below
        minimum = int(below.min()) if len(below) else None
        details = {
            "minimum": minimum,
            "people_by_e": {str(e): int((below <= e).sum()) for e in range(1, self.limit)},
            "people_by_release": list(self.grown),
            "exact": self.exact,
            "domino": {"same_value": self.fallen[0], "known_with_it": self.fallen[1]},
            **story,
        }
        return Finding(
            NAME,
            Status.EXPOSED if len(below) else Status.WITHSTOOD,
            self._sentence(minimum),
            tuple(numbers),
            people=len(below),
            population=self.people,
            measure="e: how few people are shown to have the same values as as many others",
            worst=minimum,
            limit=self.limit,
            details=details,
        )

    def _sentence(self, minimum: int | None) -> str:
        if minimum is None:
            certain = "" if self.exact else " that pairs of groups could show"
            return f"No two sets of fewer than {self.limit} people{certain} have the same values."
        worst = "single people" if minimum == 1 else f"sets of {minimum} people"
        falling = self.fallen[1]
        others = "1 other" if falling == 1 else f"{falling:,} others"
        chain = f" If the value of one person becomes known, so does that of {others}." if falling else ""
        return (
            f"{len(self.below):,} of {self.people:,} people are in sets of fewer than {self.limit} that are shown to "
            f"have the same values, down to {worst}.{chain}"
        )


def _case(told: Told, outcome: Exposure) -> dict[str, Any] | None:
    """The smallest e of somebody who is known, if it can be shown."""
    real = told.members.real
    below = outcome.least[real & (outcome.least > 0)]
    if not len(below):
        return None
    e = int(below.min())
    for bucket, of_pattern in outcome.judged:
        of_person = np.repeat(np.arange(len(of_pattern)), bucket.weights)
        hit = np.flatnonzero((of_pattern[of_person] == e) & real[bucket.people])
        if len(hit):
            return of_bucket(told, bucket, int(of_person[hit[0]]), e)
    return of_groups(told, outcome.found, e)


def _refuse_changing(series: Series) -> None:
    """Groups cancel only while values stay as they are."""
    if series.schema.updates and series.schema.updates.get("none") is not True:
        raise CannotRunError("the schema says that sensitive values change; this attack is about values that stay.")


def _refuse_contradicting(*, contradicting: bool) -> None:
    if contradicting:
        raise CannotRunError(
            "somebody's groups have no value in common: values change here, and this attack is about values that stay."
        )


def _limits(series: Series, members: Membership) -> list[int]:
    """After each release, what was asked for, what our own releases promise, or what a single release gives."""
    distinct = np.minimum.accumulate(
        [int(members.distinct[members.release == number].min()) for number in range(len(series))]
    ).tolist()
    promised: list[int | None] = [_promise(release) for release in series.releases]
    before = [[one for one in promised[: number + 1] if one is not None] for number in range(len(series))]
    return [_limit(series, min(own, default=None), least) for own, least in zip(before, distinct, strict=True)]


def _promise(release: PublishedRelease) -> int | None:
    """The e that our own release promises."""
    state = release.source.draft.memory.get("state", {}) if release.source else {}
    return int(state["e"]) if "e" in state else None


def _limit(series: Series, promised: int | None, distinct: int) -> int:
    asked = series.limits.get(NAME)
    if asked is not None and (asked < 1 or asked != int(asked)):
        raise InputError(
            "The limit of the equivalence attack must be a whole number, 1 or more: the smallest e allowed."
        )
    return int(asked or (distinct if promised is None else promised))
