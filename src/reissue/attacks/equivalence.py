"""The equivalence attack (He, Barman and Naughton, "Preventing equivalence attacks in updated, anonymized data").

Values do not change while a record lives, so groups of the same values can be subtracted from each other: what is left
shows two sets of e people to have the same values, one as the other (definition 6). With e = 1 one person's value gives
away the other's, and so on through a whole class: the domino. The attack succeeds if it finds an e below the limit:
the e that our own releases promise, else the smallest number of values in a group, below which no single release is.

It starts from known membership (see `_membership`). Whole buckets are attacked exactly, by an integer program for each
(`_equivalence_exact`); fine groups, of m-invariance or anyone's, by propagation (`_propagation`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Ints
from reissue.attacks._base import CannotRunError, Knowledge, attack
from reissue.attacks._case_equivalence import Told, of_bucket, of_groups
from reissue.attacks._equivalence_exact import Bucket, buckets, cheapest
from reissue.attacks._membership import Membership, membership
from reissue.attacks._propagation import Equivalences, domino, propagate
from reissue.attacks._series import Series
from reissue.attacks.updates import posteriors
from reissue.errors import InputError
from reissue.findings import Finding, Status

__all__ = ["Exposure", "equivalence", "exposure"]

NAME = "equivalence"


@dataclass(frozen=True, eq=False)
class Exposure:
    """The outcome for everybody."""

    least: Ints
    """Person to the smallest e of an attack that it is in; 0 if there is none below the limit."""
    exact: bool
    """Whether that is certain, for whole buckets; for fine groups there may be smaller ones."""
    found: Equivalences
    worst: tuple[Bucket, int] | None = None
    """Of whole buckets: one with the smallest e, and a pattern of its people."""

    @property
    def minimum(self) -> int | None:
        """The smallest e of all; None if there is none below the limit."""
        return int(self.least[self.least > 0].min()) if (self.least > 0).any() else None

    def by_e(self, members: Membership, limit: int) -> dict[int, int]:
        """How many known people are in an attack with at most e, by e."""
        mine = self.least[members.real]
        return {e: int(((mine > 0) & (mine <= e)).sum()) for e in range(1, limit)}


def exposure(members: Membership, limit: int) -> Exposure:
    """Everybody's smallest e below the limit."""
    found = propagate(members, limit)
    whole = buckets(members)
    if whole is None:
        return Exposure(found.least, exact=False, found=found)
    least, certain = found.least.copy(), True
    smallest, worst = limit, None
    for bucket in whole:
        of_pattern = cheapest(bucket, limit)
        below = np.where(of_pattern > 0, of_pattern, limit)
        if below.min(initial=limit) < smallest:
            smallest, worst = int(below.min()), (bucket, int(below.argmin()))
        certain &= not (of_pattern < 0).any()
        of_person = np.repeat(of_pattern, bucket.weights)
        smaller = (of_person > 0) & ((least[bucket.people] == 0) | (least[bucket.people] > of_person))
        least[bucket.people[smaller]] = of_person[smaller]
    return Exposure(least, exact=certain, found=found, worst=worst)


@attack(
    NAME,
    "Subtracts groups of the same values from each other: who has the same value as whom.",
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
    """Find everybody's smallest e in all releases together, and how it grew release by release."""
    if len(series) < 2:
        raise CannotRunError("it compares releases, and there is only one.")
    members = membership(series, knowledge)
    _refuse_changes(series, members)
    limit = _limit(series, members)
    outcome = exposure(members, limit)
    parts = [members.until(number) for number in range(1, len(series))]
    grown = [int((exposure(part, limit).least[part.real] > 0).sum()) for part in parts]
    in_class, falling = domino(members, outcome.found)
    people = int((outcome.least[members.real] > 0).sum())
    details = {
        "minimum": outcome.minimum,
        "people_by_e": {str(e): number for e, number in outcome.by_e(members, limit).items()},
        "people_by_release": [*grown, people],
        "exact": outcome.exact,
        "domino": {"same_value": in_class, "known_with_it": falling},
    }
    told = _case(Told(series, knowledge, members, limit, falling), outcome)
    details |= {"case": told} if told else {}
    return Finding(
        NAME,
        Status.SUCCEEDED if people else Status.FAILED,
        _sentence(people, members.people, outcome, limit, falling),
        tuple(series.numbers),
        people=people,
        population=members.people,
        measure="e: how few people are shown to have the same values as as many others",
        worst=outcome.minimum,
        limit=limit,
        details=details,
    )


def _case(told: Told, outcome: Exposure) -> dict[str, Any] | None:
    """The smallest e that was found, if it can be shown."""
    if outcome.minimum is None:
        return None
    shown = of_bucket(told, *outcome.worst, outcome.minimum) if outcome.worst else None
    return shown or of_groups(told, outcome.found, outcome.minimum)


def _refuse_changes(series: Series, members: Membership) -> None:
    """Groups cancel only while values stay as they are."""
    if series.schema.updates and series.schema.updates.get("none") is not True:
        raise CannotRunError("the schema says that sensitive values change; this attack is about values that stay.")
    if (posteriors(members).left == 0).any():
        raise CannotRunError(
            "somebody's groups have no value in common: values change here, and this attack is about values that stay."
        )


def _limit(series: Series, members: Membership) -> int:
    """What was asked for, what our own releases promise, or what a single release gives."""
    asked = series.limits.get(NAME)
    if asked is not None and (asked < 1 or asked != int(asked)):
        raise InputError(
            "The limit of the equivalence attack must be a whole number, 1 or more: the smallest e allowed."
        )
    sources = [release.source for release in series.releases]
    promised = [int(s.draft.memory["state"]["e"]) for s in sources if s and "e" in s.draft.memory.get("state", {})]
    return int(asked or min(promised, default=int(members.distinct.min())))


def _sentence(people: int, everyone: int, outcome: Exposure, limit: int, falling: int) -> str:
    if not people:
        certain = "" if outcome.exact else " that pairs of groups could show"
        return f"No two sets of fewer than {limit} people{certain} have the same values."
    worst = "single people" if outcome.minimum == 1 else f"sets of {outcome.minimum} people"
    others = "1 other" if falling == 1 else f"{falling:,} others"
    chain = f" If the value of one person becomes known, so does that of {others}." if falling else ""
    return (
        f"{people:,} of {everyone:,} people are in sets of fewer than {limit} that are shown to have the same values, "
        f"down to {worst}.{chain}"
    )
