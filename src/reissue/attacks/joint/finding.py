"""From everyone's posterior to a finding: who is exposed by claim, and by calibrated claim where the truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.joint.calibration import Calibration, calibrate, tenths
from reissue.attacks.joint.claims import Claims
from reissue.attacks.joint.solving.beliefs import Beliefs
from reissue.errors import SchemaError
from reissue.published.series import Series

__all__ = ["LIMIT", "NAME", "Judged", "Reader", "exposed_of", "finding_of", "limit_of"]

NAME = "joint"
LIMIT = 0.75
"""How surely a person may be linked to a value where nobody says otherwise."""
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Reader:
    """What the reader of a series is taken to know."""

    knowledge: str
    """"groups", or "register"."""
    fits: float
    """How many groups a person fits, on average."""
    updates: str
    """Where the update model comes from: "schema", "tables", "releases" or "none"."""
    totals: bool = False
    """Whether it is known how many people have each value."""
    strangers: int = 0
    """Records of people whom the register lacks."""
    leaving: bool = True
    """Whether it is learnt how soon people with each value leave."""
    learns: bool = False
    """Whether it is also learnt which people tend to have which value."""

    @property
    def prior(self) -> str:
        """What is expected of people, as a policy says it."""
        return "learned" if self.learns else "leaving" if self.leaving else "common"


@dataclass(frozen=True, eq=False)
class Judged:
    """Claims about everyone, and how they compare with the truth."""

    reader: Reader
    beliefs: Beliefs
    claims: Claims
    right: Bools | None
    """Person to whether the surest guess is right; None where the truth of some release is not known."""
    by_lot: Floats | None
    """Person to how likely it is where equally sure values are guessed alike; None as before."""
    calibration: Calibration | None
    """None where the truth is not known at all."""
    before: Bools | None = None
    """Person to whether earlier releases exposed the person already; None: nobody."""
    without: "Judged | None" = None
    """Where the reader learns: the same of one who does not; of two claims about a person the surer one counts."""
    tested: "tuple[Floats, Bools] | None" = None
    """Of people in releases whose truth is known: the surest claim about a value there, and whether it is right."""

    @classmethod
    def of(
        cls,
        beliefs: Beliefs,
        reader: Reader,
        truth: Sequence[Ints | None],
        people: int,
        insiders: Ints | None = None,
    ) -> "Judged":
        """Judge what was found; `truth` has for each release the true value of each person, -1 where absent.

        `insiders` are people whose values the reader knew before: nothing is claimed about them.
        """
        known = [place for place, one in enumerate(truth) if one is not None]
        common = _common(beliefs, truth)
        claims = Claims.of(beliefs, people, common=common).without(insiders)
        if not known:
            return cls(reader, beliefs, claims, None, None, None)
        tested = Claims.of(beliefs, people, known, common).without(insiders)
        some, right = tested.release >= 0, tested.right(truth)
        guesses = tested.chance[some], right[some]
        made = cls(reader, beliefs, claims, None, None, calibrate(*guesses), tested=guesses)
        if len(known) < len(truth):
            return made
        return replace(made, right=right, by_lot=tested.right_by_lot(beliefs, truth))

    def learning(self, beliefs: Beliefs, truth: Sequence[Ints | None], insiders: Ints | None = None) -> "Judged":
        """The same reader, who has also learnt which people tend to have which value."""
        reader = replace(self.reader, learns=True)
        return replace(Judged.of(beliefs, reader, truth, len(self.claims.chance), insiders), without=self)

    @property
    def every(self) -> tuple[Beliefs, ...]:
        """What is believed with learning, if there is any, and without."""
        return (self.beliefs,) if self.without is None else (self.beliefs, self.without.beliefs)

    @property
    def surer(self) -> "Judged":
        """Of both ways the one that says most about somebody."""
        other = self.without
        return self if other is None or self._own_worth.max(initial=0.0) > other.worth.max(initial=0.0) else other

    @cached_property
    def worth(self) -> Floats:
        """Person to the larger of the claim and the calibrated claim."""
        worth = self._own_worth
        return worth if self.without is None else np.maximum(worth, self.without.worth)

    @cached_property
    def surest(self) -> Claims:
        """Of the claims with and without learning the one that is worth more."""
        if self.without is None:
            return self.claims
        other, mine = self.without.claims, self._learnt
        return Claims(
            np.where(mine, self.claims.chance, other.chance),
            np.where(mine, self.claims.release, other.release),
            np.where(mine, self.claims.value, other.value),
            self.claims.sure | other.sure,
        )

    @property
    def hits(self) -> Bools | None:
        """Person to whether the surest claim is right; None where the truth of some release is not known."""
        if self.without is None or self.right is None or self.without.right is None:
            return self.right
        return np.where(self._learnt, self.right, self.without.right)

    @property
    def hits_by_lot(self) -> Floats | None:
        """The same where equally sure values are guessed alike."""
        if self.without is None or self.by_lot is None or self.without.by_lot is None:
            return self.by_lot
        return np.where(self._learnt, self.by_lot, self.without.by_lot)

    def confirmed(self, limit: float) -> tuple[int, int] | None:
        """Claims about values whose truth is known that are above the limit, and how many are right; None: no truth."""
        if self.tested is None:
            return None
        chance, right = self.tested
        sure = self._worth_of(chance) > limit + _SLACK
        return int(sure.sum()), int(right[sure].sum())

    @cached_property
    def _own_worth(self) -> Floats:
        return self._worth_of(self.claims.chance)

    def _worth_of(self, chance: Floats) -> Floats:
        return chance if self.calibration is None else np.maximum(chance, self.calibration.of(chance))

    @property
    def _learnt(self) -> Bools:
        """Person to whether the claim with learning is worth more."""
        return np.asarray(self.without is None or self._own_worth > self.without.worth)


def limit_of(series: Series) -> float:
    """The caller's, else the policy's, else three quarters."""
    policy = series.schema.policy
    given = series.limit(NAME) or policy.get("limit") or policy.get("risk") or LIMIT
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SchemaError("The limit of the joint attack, `limit` in the policy, must be above 0 and at most 1.")
    return float(given)


def exposed_of(judged: Judged, limit: float) -> Bools:
    """Person to whether the claim or the calibrated claim is above the limit, and was not before."""
    exposed = (judged.surest.release >= 0) & (judged.worth > limit + _SLACK)
    return np.asarray(exposed if judged.before is None else exposed & ~judged.before)


def finding_of(judged: Judged, series: Series, numbers: Sequence[int] | None = None) -> Finding:
    """The finding, without its story; `numbers` are the releases that were judged, else all of the series."""
    limit = limit_of(series)
    everyone = judged.surest.release >= 0
    exposed = exposed_of(judged, limit)
    number = int(exposed.sum())
    return Finding(
        NAME,
        Status.EXPOSED if number else Status.WITHSTOOD,
        _sentence(judged, exposed, limit) + _before(judged) + _strangers(judged.reader.strangers),
        tuple(series.numbers if numbers is None else numbers),
        people=number,
        population=int(everyone.sum()),
        measure="posterior: how surely a person is linked to a sensitive value, all releases solved for everyone",
        worst=float(judged.worth.max(initial=0.0)),
        limit=limit,
        details=_details(judged, exposed, limit),
    )


def _details(judged: Judged, exposed: Bools, limit: float) -> dict[str, object]:
    beliefs, claims, right = judged.beliefs, judged.surest, judged.hits
    risks = [float(beliefs.largest(place)[0].max(initial=0.0)) for place in range(len(beliefs.layers))]
    made: dict[str, object] = {
        "risk": float(claims.chance.max(initial=0.0)),
        "sure": int(claims.sure.sum()),
        "right": None if right is None else int(right[exposed].sum()),
        "knowledge": judged.reader.knowledge,
        "totals": judged.reader.totals,
        "strangers": judged.reader.strangers,
        "fits": round(judged.reader.fits, 2),
        "risks": risks,
        "claimed": int((claims.chance > limit + _SLACK).sum()),
        "equal": len(beliefs.equal),
        "contradicted": len(beliefs.contradicted),
        "count_error": beliefs.scaled.worst,
        "elsewhere": beliefs.scaled.elsewhere,
        "converged": beliefs.scaled.converged,
        "sweeps": beliefs.scaled.sweeps,
        "updates": judged.reader.updates,
        "long_run": beliefs.long_run,
        "counterfeits_learnt": beliefs.counterfeits_learnt,
        "leaving": _leaving(beliefs),
        "prior": judged.reader.prior,
        "by_learning": int(_only_learnt(judged, exposed, limit).sum()),
        "components": beliefs.components,
        "components_left": beliefs.left,
        "before": 0 if judged.before is None else int(judged.before.sum()),
    }
    known = judged.confirmed(limit)
    if right is None and known is not None:
        made["today"] = {"people": known[0], "right": known[1]}
    by_lot = judged.hits_by_lot
    if by_lot is not None:
        some = claims.release >= 0
        made["calibration"] = tenths(claims.chance[some], by_lot[some])
    return made


def _common(beliefs: Beliefs, truth: Sequence[Ints | None]) -> Floats | None:
    """Value to its share of the people whose truth is known: what a reader who knows it names first; None: nobody."""
    true = [np.empty(0, np.int64), *(one[one >= 0] for one in truth if one is not None)]
    values = 1 + max(
        [int(layer.value.max(initial=-1)) for layer in beliefs.layers] + [int(one.max(initial=-1)) for one in true]
    )
    counts = np.bincount(np.concatenate(true), minlength=values)
    return counts / counts.sum() if counts.any() else None


def _leaving(beliefs: Beliefs) -> str:
    """Where it comes from how soon people with each value leave."""
    if beliefs.leaving is None or not beliefs.leaving_learnt:
        return "alike"
    return "known" if beliefs.leaving.known else "learnt"


def _only_learnt(judged: Judged, exposed: Bools, limit: float) -> Bools:
    """Person to whether only someone who learns can link the person."""
    return np.zeros_like(exposed) if judged.without is None else exposed & (judged.without.worth <= limit + _SLACK)


def _by_learning(judged: Judged, exposed: Bools, limit: float) -> str:
    """How many only someone can link who also learns; nothing where nobody does."""
    number = int(_only_learnt(judged, exposed, limit).sum())
    if judged.without is None:
        return ""
    return f" ({number:,} of them only by learning which people tend to have which value)" if number else ""


def _before(judged: Judged) -> str:
    """That some people were exposed before: no release can take that back."""
    number = 0 if judged.before is None else int(judged.before.sum())
    people = "1 person was" if number == 1 else f"{number:,} people were"
    return f" Beside them {people} exposed by earlier releases already." if number else ""


def _strangers(number: int) -> str:
    """That some records are of people whom the reader does not know: then nothing bounds how far claims are off."""
    records = "1 record is" if number == 1 else f"{number:,} records are"
    return f" {records} of people whom the register lacks: how far this is off has no bound." if number else ""


def _sentence(judged: Judged, exposed: Bools, limit: float) -> str:
    number, everyone = int(exposed.sum()), int((judged.surest.release >= 0).sum())
    if not number:
        learnt = "" if judged.without is None else " Learning which people tend to have which value does not help."
        return (
            f"Nobody can be linked to a value more surely than {limit:.3g}, all releases solved for everyone at once."
            + learnt
        )
    sure, learnt = int(judged.surest.sure.sum()), _by_learning(judged, exposed, limit)
    surely = f"; the value of {sure:,} is certain" if sure else ""
    linked = f"{number:,} of {everyone:,} people can be linked to a value more surely than {limit:.3g}{learnt}{surely}."
    known = judged.confirmed(limit)
    if judged.hits is None and known is not None and known[0]:
        return f"{linked} Of {known[0]:,} guesses about today's values that are as sure {known[1]:,} are right."
    if judged.hits is None:
        return f"{linked} Whether the guesses are right is not known here."
    hits = int(judged.hits[exposed].sum())
    return f"{linked} Of these {number:,} guesses {hits:,} are right."
