"""The equivalence attack (He, Barman and Naughton, "Preventing equivalence attacks in updated, anonymized data").

Values do not change while a record lives, so groups of the same values can be subtracted from each other: what is left
shows two sets of e people to have the same values, one as the other (definition 6). With e = 1 one person's value gives
away the other's, and so on through a whole class: the domino. Somebody is exposed if it finds an e below the limit:
the e that our own releases promise, else the smallest number of values in a group, below which no single release is.

It starts from known membership (`tracking.membership`). Whole buckets are attacked exactly, by an integer program for
each (`exact`); fine groups, of m-invariance or anyone's, by propagation (`propagation`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from reissue._arrays import Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.errors import CannotRunError, InputError
from reissue.papers.equivalence.case import CaseContext, case_of
from reissue.papers.equivalence.state import Evidence, NumberedCrowd, arrive, domino_of, with_arrival
from reissue.papers.second_look import confirm_buckets
from reissue.papers.tracking.membership import Arrivals, arrivals, named_membership
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series

__all__ = ["EquivalenceState", "equivalence"]

NAME = "equivalence"
_ONLY_ONE = "it compares releases, and there is only one."
_CHANGING = "the schema says that sensitive values change; this attack is about values that stay."
_CONTRADICTING = (
    "values change here, and this attack is about values that stay: no value each, the same in every release, could "
    "give what all groups show."
)
_NOTHING_BELOW = (
    "it looks for sets of fewer people than a group has values at least, and some group has one value only. Name "
    "another limit: how few people may be shown to have the same values as as many others."
)


@dataclass(frozen=True, eq=False)
class SeenBuckets:
    """One release."""

    series: Series
    """It alone."""
    arrivals: Arrivals | None
    obstacle: str = ""
    """Why there is none."""


@dataclass(frozen=True, eq=False)
class EquivalenceState:
    """What is kept of all releases so far."""

    VERSION: ClassVar[int] = 1

    numbers: tuple[int, ...]
    """What they are called."""
    obstacle: str = ""
    """Why the attack is not about these releases: what stands in the way once does so forever."""
    evidence: Evidence | None = None
    """What they show, if nothing stands in the way."""
    promised: int | None = None
    """The smallest e that they promise; None if none does."""
    distinct: int = 0
    """The smallest number of values in a group."""
    grown: tuple[int, ...] = ()
    """How many people were exposed after each release, by the limit at that time."""


def see(series: Series, knowledge: Knowledge) -> Iterator[SeenBuckets]:
    """Who stands where in each release."""
    try:
        for number, one in zip(series.numbers, arrivals(series, knowledge), strict=True):
            yield SeenBuckets(series.of([number]), one)
    except CannotRunError as obstacle:
        if len(series) > 1:
            raise
        yield SeenBuckets(series, None, str(obstacle))


def add(state: EquivalenceState | None, seen: SeenBuckets) -> EquivalenceState:
    """All that was shown, with one more release."""
    before, series = state or EquivalenceState(()), seen.series
    numbers = before.numbers + series.numbers
    if before.obstacle or seen.arrivals is None:
        return EquivalenceState(numbers, before.obstacle or seen.obstacle)
    if series.schema.updates and not series.schema.values_stay:
        return EquivalenceState(numbers, _CHANGING)
    arrival = arrive(NumberedCrowd() if before.evidence is None else before.evidence.crowd, seen.arrivals)
    promises = [one for one in (_promise(series.releases[0]), before.promised) if one is not None]
    promised, distinct = min(promises, default=None), int(arrival.members.distinct.min())
    distinct = distinct if before.evidence is None else min(distinct, before.distinct)
    evidence = with_arrival(before.evidence, arrival, _limit(series, promised, distinct))
    return EquivalenceState(numbers, "", evidence, promised, distinct, (*before.grown, len(evidence.below)))


def judge(state: EquivalenceState, series: Series) -> Finding:
    """What the releases so far show."""
    if len(state.numbers) < 2:
        raise CannotRunError(_ONLY_ONE)
    if state.evidence is None:
        raise CannotRunError(state.obstacle)
    evidence = state.evidence
    if evidence.changing:
        raise CannotRunError(_CONTRADICTING)
    if evidence.limit < 2 and state.promised is None and series.limits.get(NAME) is None:
        raise CannotRunError(_NOTHING_BELOW)
    people, certain = len(evidence.crowd.who), (evidence.exact, evidence.linear)
    found = _Found(evidence.below, people, evidence.limit, state.grown, *certain, domino_of(evidence))
    return found.finding(state.numbers)


def explain(state: EquivalenceState, found: Finding, series: Series, knowledge: Knowledge) -> Finding:
    """With the case of somebody whose e is smallest, if it can be shown: from who stands where in all releases."""
    if state.evidence is None or not len(state.evidence.below):
        return found
    members, known, strangers = named_membership(series, knowledge)
    falling = int(found.details["domino"]["known_with_it"])
    context = CaseContext(series, knowledge, members, state.evidence.limit, falling)
    story = case_of(context, state.evidence, known, strangers)
    return replace(found, details={**found.details, "case": story}) if story else found


@attack(
    NAME,
    "Subtracts groups of the same values from each other: who has the same value as whom.",
    fewest=2,
    each_column=True,
    accepts=Accepts.ROSTERS,
    confirm=confirm_buckets,
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
)
def equivalence(series: Series, knowledge: Knowledge) -> Finding:
    """Find everyone's smallest e in all releases together, and how it fell release by release."""
    state = None
    for seen in see(series, knowledge):
        state = add(state, seen)
    if state is None or len(series) < 2:
        raise CannotRunError(_ONLY_ONE)
    return explain(state, judge(state, series), series, knowledge)


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
    linear: bool
    fallen: tuple[int, int]

    def finding(self, numbers: Sequence[int]) -> Finding:
        below = self.below
        minimum = int(below.min()) if len(below) else None
        details = {
            "minimum": minimum,
            "people_by_e": {str(e): int((below <= e).sum()) for e in range(1, self.limit)},
            "people_by_release": list(self.grown),
            "exact": self.exact,
            "linear": self.exact or self.linear,
            "domino": {"same_value": self.fallen[0], "known_with_it": self.fallen[1]},
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
            at_least=True,
            details=details,
        )

    def _sentence(self, minimum: int | None) -> str:
        if minimum is None:
            sets = f"two sets of fewer than {self.limit} people"
            if self.exact:
                return f"No {sets} have the same values."
            if self.linear:
                return f"No {sets} are shown to have the same values by sums and differences of groups."
            return (
                f"No {sets} were found to have the same values. Pairs of groups, whole buckets and small parts of the "
                "data were compared; larger parts were not solved, so that there may be some."
            )
        worst = "single people" if minimum == 1 else f"sets of {minimum} people"
        falling = self.fallen[1]
        others = "1 other" if falling == 1 else f"{falling:,} others"
        chain = f" If the value of one person becomes known, so does that of {others}." if falling else ""
        return (
            f"{len(self.below):,} of {self.people:,} people are in sets of fewer than {self.limit} that are shown to "
            f"have the same values, down to {worst}.{chain}"
        )


def _promise(release: PublishedRelease) -> int | None:
    """The e that our own release promises."""
    return release.e


def _limit(series: Series, promised: int | None, distinct: int) -> int:
    asked = series.limits.get(NAME)
    if asked is not None and (asked < 1 or asked != int(asked)):
        raise InputError(
            "The limit of the equivalence attack must be a whole number, 1 or more: the smallest e allowed."
        )
    return int(asked or (distinct if promised is None else promised))
