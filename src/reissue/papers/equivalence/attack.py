"""The equivalence attack (He, Barman and Naughton, "Preventing equivalence attacks in updated, anonymized data").

Values do not change while a record lives, so groups of the same values can be subtracted from each other: what is left
shows two sets of e people to have the same values, one as the other (definition 6). With e = 1 one person's value gives
away the other's, and so on through a whole class: the domino. Somebody is exposed if it finds an e below the limit:
the e that our own releases promise, else the smallest number of values in a group, below which no single release is.
People whose value the policy declares harmless are not counted: whoever learns it learns nothing that is protected.
Where the true value is not known, those count who may have a protected one.

It starts from known membership (`tracking.membership`). Fine groups, of m-invariance or anyone's, are attacked by
propagation (`groups`), whole buckets exactly, by an integer program for each (`exact`), and what all groups say
together is solved for small components (`components`): of the first two releases, of the first three, and so on while
that is little work, and of all of them. What a component showed once stays true, and components of few releases are
small. Values that cannot have stayed are recognized by groups that contradict each other (`fixed_values`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.counting.texts import MISSING
from reissue.errors import CannotRunError, InputError
from reissue.papers.equivalence.case import CaseContext, case_of
from reissue.papers.equivalence.components import contradicts_truth, no_values_fit, solve
from reissue.papers.equivalence.exact import BucketHistory, buckets, cheapest
from reissue.papers.equivalence.groups import Equivalences, Shown, falling, groups_of, propagations, smaller
from reissue.papers.second_look import confirm_buckets
from reissue.papers.tracking.membership import Membership, histories_of_members, membership, true_values
from reissue.papers.updates.attack import risks
from reissue.people.knowledge import Knowledge
from reissue.protection import Protection
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.updates import UpdateModel

__all__ = ["SmallestSets", "domino", "equivalence", "exposure", "smallest_sets"]

NAME = "equivalence"
_CHANGING = "the schema says that sensitive values change; this attack is about values that stay."
_CONTRADICTING = (
    "values change here, and this attack is about values that stay: no value each, the same in every release, could "
    "give what all groups show."
)
_NOTHING_BELOW = (
    "it looks for sets of fewer people than a group has values at least, and some group has one value only. Name "
    "another limit: how few people may be shown to have the same values as as many others."
)


_PRESENCES = 100_000
"""Presences of people in groups, at most, that are put together."""
_STEPS = 1_000_000
"""Steps after which only all releases together are still solved: some seconds."""
_BUCKETS = 500
"""Buckets whose values are compared all together, at most."""


@attack(
    NAME,
    "Subtracts groups of the same values from each other: who has the same value as whom.",
    fewest=2,
    each_column=True,
    accepts=Accepts.ROSTERS,
    confirm=confirm_buckets,
    needs=(
        "at least two releases, values that do not change, and to know who is in each release: our own, files that "
        "kept the identifier, or `--knowledge members=FOLDER`"
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
    """Find everyone's smallest e in all releases together."""
    members, limit, found = smallest_sets(series, knowledge)
    fallen = domino(members, found.pairs)
    finding = _finding(series, members, found, limit, fallen)
    if not finding.people:
        return finding
    context, e = CaseContext(series, knowledge, members, limit, fallen[1]), int(found.below(members).min())
    story = case_of(context, e, found.pairs, found.buckets)
    return replace(finding, details={**finding.details, "case": story}) if story else finding


def smallest_sets(series: Series, knowledge: Knowledge) -> tuple[Membership, int, "SmallestSets"]:
    """Who is in which group, the limit on e, and everybody's smallest e below it."""
    members = membership(series, knowledge)
    if series.schema.updates and not series.schema.values_stay:
        raise CannotRunError(_CHANGING)
    promises = [one for one in map(_promise, series.releases) if one is not None]
    limit = _limit(series, min(promises, default=None), int(members.distinct.min()))
    truths = true_values(series, knowledge, members)
    found = replace(exposure(members, limit, truths), counted=_counted(series, members, truths))
    if limit < 2 and not promises and series.limits.get(NAME) is None:
        raise CannotRunError(_NOTHING_BELOW)
    return members, limit, found


def _counted(series: Series, members: Membership, truths: Sequence[Ints]) -> Bools:
    """Person to whether a protected value is at stake: the true one, or, where nobody knows it, one of any group."""
    names = [None if name == MISSING else name for name in members.names]
    guarded = Protection.of(series.schema.policy, series.schema.sensitive).guarded(names)
    shown = np.zeros(len(members.release), np.bool_)
    shown[members.histogram.group[guarded[members.histogram.value]]] = True
    possible = np.ones(len(members.real), np.bool_)
    np.logical_and.at(possible, members.person, shown[members.group])
    truth = np.max(truths, axis=0, initial=-1)
    known = (truth >= 0) & (truth < len(guarded))
    return np.where(known, guarded[np.where(known, truth, 0)], possible)


# --- what is found ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SmallestSets:
    """The outcome for everybody."""

    least: Ints
    """Person, known or not, to the smallest e of an attack below the limit; 0 for none."""
    exact: bool
    """Whether there is no smaller e, in any world."""
    linear: bool
    """Whether there is none that sums of groups show."""
    pairs: Equivalences
    """What pairs of groups show."""
    buckets: Sequence[tuple[BucketHistory, Ints]] = ()
    """The whole buckets, each with the smallest e of its patterns."""
    counted: Bools | None = None
    """Person to whether a protected value is at stake; None: everybody's is."""

    def below(self, members: Membership) -> Ints:
        """The smallest e of each known person who is in an attack, and whose value is protected."""
        least = self.least[members.real if self.counted is None else members.real & self.counted]
        return least[least > 0]


def exposure(members: Membership, limit: int, truths: Sequence[Ints]) -> SmallestSets:
    """Everybody's smallest e below the limit; CannotRunError where values must have changed.

    `truths` are everybody's true values in each release, by the membership's numbers; -1 where nobody knows.
    """
    _refuse_nothing_in_common(members)
    counted = bool((members.histogram.sizes == members.sizes).all())
    releases, solved = int(members.release.max(initial=-1)) + 1, _Together.nothing(len(members.real))
    for number, shown in enumerate(propagations(members, limit), start=1):
        if counted and number > 1 and (solved.steps < _STEPS or number == releases):
            solved = _together(members, shown, limit, truths[number - 1], solved)
    found = _with_buckets(members, Equivalences(shown.classes, shown.least(limit)), limit)
    return replace(
        found, least=smaller(found.least, solved.least), exact=solved.exact, linear=found.linear or solved.linear
    )


def _refuse_nothing_in_common(members: Membership) -> None:
    """Stop where somebody's groups have no value in common."""
    if (risks(histories_of_members(members), UpdateModel.none(members.names)).left == 0).any():
        raise CannotRunError(_CONTRADICTING)


def _with_buckets(members: Membership, pairs: Equivalences, limit: int) -> SmallestSets:
    """What pairs of groups show, and what whole buckets show if all groups are such."""
    whole = buckets(members)
    if whole is None:
        return SmallestSets(pairs.least, exact=False, linear=False, pairs=pairs)
    least, certain, judged = pairs.least, True, []
    for bucket in whole:
        of_pattern = cheapest(bucket, limit)
        judged.append((bucket, of_pattern))
        certain &= not (of_pattern < 0).any()
        of_bucket = np.zeros(len(least), np.int64)
        of_bucket[bucket.people] = np.repeat(np.maximum(of_pattern, 0), bucket.weights)
        least = smaller(least, of_bucket)
    return SmallestSets(least, exact=False, linear=certain and _apart(members), pairs=pairs, buckets=judged)


def _apart(members: Membership) -> bool:
    """Whether an attack on all buckets is one on each: nobody was in two, and no bucket's values are a sum of others'.

    No where there are too many buckets to tell.
    """
    people = np.unique(np.stack([members.person, members.shapes[members.group]]), axis=1)
    _, first = np.unique(members.shapes, return_index=True)
    if people.shape[1] > len(members.real) or len(first) > _BUCKETS:
        return False
    shown = members.histogram.pick(first)
    counts = np.zeros((shown.groups, shown.values))
    counts[shown.group, shown.value] = shown.reduced
    return int(np.linalg.matrix_rank(counts)) == shown.groups


@dataclass(frozen=True, eq=False)
class _Together:
    """What all groups of some first releases say together."""

    least: Ints
    """Person to the smallest e that a component showed; 0 for none."""
    exact: bool
    linear: bool
    steps: int

    @classmethod
    def nothing(cls, people: int) -> "_Together":
        return cls(np.zeros(people, np.int64), exact=False, linear=False, steps=0)


def _together(members: Membership, shown: Shown, limit: int, truth: Ints, before: _Together) -> _Together:
    """What the releases so far say together, while they have few presences, beside what fewer releases said."""
    groups = shown.groups
    kinds, first = np.unique(members.kinds, return_index=True)
    shows = members.histogram.pick(first[np.searchsorted(kinds, groups.kind)])
    if len(groups.member) > _PRESENCES:
        return replace(before, exact=False, linear=False, steps=_STEPS)
    sizes = np.bincount(shown.classes, minlength=len(shown.apart))
    of_class = np.full(len(sizes), -1, np.int64)
    of_class[shown.classes] = truth  # of one class all have the same, or the next line tells that they have not
    if contradicts_truth(groups, shows, shown.classes, truth) or no_values_fit(groups, shows, of_class):
        raise CannotRunError(_CONTRADICTING)
    found = solve(groups, shows, sizes, limit)
    if found.contradicted:
        raise CannotRunError(_CONTRADICTING)
    least = smaller(before.least, found.least[shown.classes])
    return _Together(least, found.exact, found.linear, before.steps + found.steps)


def domino(members: Membership, pairs: Equivalences) -> tuple[int, int]:
    """How many people's values become known with one person's, in the largest class and at worst."""
    known = np.flatnonzero(members.real)
    return falling(groups_of(members, pairs.classes), pairs.classes, known)


# --- in words --------------------------------------------------------------------------------------------------------


def _finding(series: Series, members: Membership, found: SmallestSets, limit: int, fallen: tuple[int, int]) -> Finding:
    below, people = found.below(members), members.people
    minimum = int(below.min()) if len(below) else None
    return Finding(
        NAME,
        Status.EXPOSED if len(below) else Status.WITHSTOOD,
        _exposing(below, people, limit, fallen[1]) if len(below) else _nobody(found, limit),
        series.numbers,
        people=len(below),
        population=people,
        measure="e: how few people are shown to have the same values as as many others",
        worst=minimum,
        limit=limit,
        at_least=True,
        details={
            "minimum": minimum,
            "people_by_e": {str(e): int((below <= e).sum()) for e in range(1, limit)},
            "exact": found.exact,
            "linear": found.exact or found.linear,
            "domino": {"same_value": fallen[0], "known_with_it": fallen[1]},
        },
    )


def _nobody(found: SmallestSets, limit: int) -> str:
    spared = found.counted is not None and bool((found.least[~found.counted] > 0).any())
    sets = f"two sets of fewer than {limit} people" + (" with a protected value" if spared else "")
    if found.exact:
        return f"No {sets} have the same values."
    if found.linear:
        return f"No {sets} are shown to have the same values by sums and differences of groups."
    return (
        f"No {sets} were found to have the same values. Pairs of groups, whole buckets and small parts of the "
        "data were compared; larger parts were not solved, so that there may be some."
    )


def _exposing(below: Ints, people: int, limit: int, falling: int) -> str:
    minimum = int(below.min())
    worst = "single people" if minimum == 1 else f"sets of {minimum} people"
    others = "1 other" if falling == 1 else f"{falling:,} others"
    chain = f" If the value of one person becomes known, so does that of {others}." if falling else ""
    return (
        f"{len(below):,} of {people:,} people are in sets of fewer than {limit} that are shown to "
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
