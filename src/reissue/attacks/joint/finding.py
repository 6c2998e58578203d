"""From everyone's posterior to a finding: who is exposed by confidence, calibrated where the truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.joint.confidence import Calibration, Confidences, Marginal, calibrate, tenths
from reissue.errors import CannotRunError
from reissue.language import counted, localized, text
from reissue.protection import LIMIT, Protection, average_of
from reissue.published.series import Series
from reissue.solver import Posterior
from reissue.solver.posterior import TIED

__all__ = [
    "LIMIT",
    "NAME",
    "AssumedKnowledge",
    "AverageGuess",
    "Judgment",
    "Worst",
    "exposed_of",
    "finding_of",
    "limit_of",
    "protection_of",
]

NAME = "joint"
_INTERVALS = 20
"""Of the distribution of people's highest posteriors."""


@dataclass(frozen=True, eq=False)
class AssumedKnowledge:
    """What the adversary of a series is taken to know."""

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
    """Whether departure rates are estimated."""
    learns: bool = False
    """Whether it is also learned which people tend to have which value."""

    @property
    def prior(self) -> str:
        """What is expected of people, as a policy says it."""
        return "learned" if self.learns else "leaving" if self.leaving else "common"


@dataclass(frozen=True, eq=False)
class Judgment:
    """Confidences about everyone, and how they compare with the truth."""

    adversary: AssumedKnowledge
    posterior: Posterior
    marginals: tuple[Marginal, ...]
    """The same of each sensitive column, and of all together."""
    confidences: Confidences
    apart: tuple[Confidences, ...]
    """The same for each marginal alone."""
    right: Bools | None
    """Person to whether the surest guess is right; None where the truth of some release is not known."""
    by_lot: Floats | None
    """Person to how likely it is where equally sure values are guessed alike; None as before."""
    plain: int
    """How many of the marginals are those of someone who does not learn; they come first."""
    unlearned: Floats
    """Person to the highest score without learning."""
    calibration: Calibration | None = None
    """None where the truth is not known at all."""
    before: Bools | None = None
    """Person to whether earlier releases exposed the person already; None: nobody."""
    tested: "tuple[Floats, Floats, Bools] | None" = None
    """Of people in releases whose truth is known: the largest confidence about a value there, its weight, if right."""

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        marginals: Sequence[Marginal],
        adversary: AssumedKnowledge,
        truth: Sequence[Ints | None],
        people: int,
        insiders: Ints | None = None,
        learned: Sequence[Marginal] = (),
    ) -> "Judgment":
        """Judge what was found; `truth` has for each release the true value of each person, -1 where absent.

        `insiders` are people whose values the adversary knew before: nothing is claimed about them. `learned` is what
        someone finds who also learns which people tend to have which value: of two confidences the larger counts.
        """
        known = [place for place, one in enumerate(truth) if one is not None]
        common, every = _common(posterior, truth), (*marginals, *learned)
        confidences = Confidences.of(every, people, common=common).without(insiders)
        apart = tuple(Confidences.of([marginal], people, common=common).without(insiders) for marginal in every)
        unlearned = np.max([one.score for one in apart[: len(marginals)]], axis=0)
        made = cls(adversary, posterior, every, confidences, apart, None, None, len(marginals), unlearned)
        if not known:
            return made
        tested = Confidences.of(every, people, known, common).without(insiders)
        some, right = (tested.release >= 0) & (tested.value >= 0), tested.right(every, truth)
        chance, hits = tested.chance[some], right[some]
        guesses = chance, tested.weight[some], hits
        made = replace(made, calibration=calibrate(chance, hits), tested=guesses)
        if len(known) < len(truth):
            return made
        return replace(made, right=right, by_lot=tested.right_by_lot(every, truth))

    @cached_property
    def worth(self) -> Floats:
        """Person to the larger of the confidence and the calibrated confidence, as scores."""
        worth = self._worth_of(self.confidences.chance, self.confidences.weight)
        return np.where(self.confidences.value >= 0, worth, self.confidences.score)

    def by_learning(self, exposed: Bools, limit: float) -> Bools:
        """Person to whether the person is exposed, and only to someone who learns."""
        return np.asarray(exposed & (self.unlearned <= limit + TIED) & (self.confidences.marginal >= self.plain))

    def confirmed(self, limit: float) -> tuple[int, int] | None:
        """Confidences above the limit whose truth is known, and how many are right; None: no truth."""
        if self.tested is None:
            return None
        chance, weight, right = self.tested
        sure = self._worth_of(chance, weight) > limit + TIED
        return int(sure.sum()), int(right[sure].sum())

    @property
    def today(self) -> tuple[int, float, float] | None:
        """Of the likeliest values whose truth is known: how many, their mean confidence, and the share right."""
        if self.tested is None or not len(self.tested[0]):
            return None
        chance, _, right = self.tested
        return len(chance), float(chance.mean()), float(right.mean())

    def _worth_of(self, chance: Floats, weight: Floats) -> Floats:
        return weight * (chance if self.calibration is None else np.maximum(chance, self.calibration.of(chance)))


def limit_of(series: Series) -> float:
    """The default limit: the caller's, else the policy's, else three quarters."""
    return protection_of(series).limit


def protection_of(series: Series) -> Protection:
    """Which values are protected, and how: as the policy says, with the caller's limit instead of its default."""
    found = Protection.of(series.schema.policy, series.schema.sensitive, series.limit(NAME))
    if found.vacuous:
        raise CannotRunError(
            "the policy permits everything, by a limit of 1 or as no value is protected: nobody could be exposed. "
            "Set `limit` below 1; values that need no protection are named by `harmless_values`.",
            needs=("a limit below 1",),
        )
    return found


def exposed_of(judged: Judgment, limit: float) -> Bools:
    """Person to whether the confidence or the calibrated confidence is above the limit, and was not before."""
    exposed = (judged.confidences.release >= 0) & (judged.worth > limit + TIED)
    return np.asarray(exposed if judged.before is None else exposed & ~judged.before)


def finding_of(judged: Judgment, series: Series, numbers: Sequence[int] | None = None) -> Finding:
    """The finding, without its story; `numbers` are the releases that were judged, else all of the series."""
    protection = protection_of(series)
    limit = protection.strictest
    everyone = judged.confidences.release >= 0
    exposed = exposed_of(judged, limit)
    number, worst = int(exposed.sum()), Worst.of(judged, limit)
    guesses = AverageGuess.of(judged, average_of(series.schema.policy))
    said = _sentence(judged, exposed, protection, worst) + _before(judged) + _strangers(judged.adversary.strangers)
    return Finding(
        NAME,
        Status.EXPOSED if number or guesses.too_many else Status.WITHSTOOD,
        said + guesses.sentence,
        tuple(dict.fromkeys(series.numbers if numbers is None else numbers)),
        people=number,
        population=int(everyone.sum()),
        measure="posterior: the probability of a sensitive value for a person, all releases solved together",
        worst=worst.posterior,
        limit=worst.limit,
        details=_details(judged, exposed, limit, worst) | guesses.as_dict(),
    )


@dataclass(frozen=True)
class AverageGuess:
    """How many of the surest guesses about the newest release are right: one of a protected value for each person."""

    average: float
    """As the adversary expects, or as it is where the truth is known and more are right."""
    without: float
    """Of guesses without the releases: all of the commonest value."""
    allowed: float | None
    """By the policy's `average`."""

    @classmethod
    def of(cls, judged: Judgment, allowed: float | None) -> "AverageGuess":
        """From the posterior of the values of all columns together."""
        marginal, place = judged.marginals[-1], len(judged.posterior.releases) - 1
        chance = marginal.largest(place)[2]
        if not len(chance):
            return cls(0.0, 0.0, allowed)
        right = 0.0 if judged.today is None else judged.today[2]
        common = np.where(marginal.view.protected, marginal.priors[place], 0.0)
        return cls(max(float(chance.mean()), right), float(common.max(initial=0.0)), allowed)

    @property
    def too_many(self) -> bool:
        """Whether more are right than the policy allows."""
        return self.allowed is not None and self.average > self.allowed + TIED

    @property
    def sentence(self) -> str:
        """What the policy allows, beside what is found; nothing where it allows any."""
        if self.allowed is None:
            return ""
        return (
            f" The surest guess is right for {self.average:.1%} of people on average, without the releases for "
            f"{self.without:.1%} (allowed: {self.allowed:.1%})."
        )

    def as_dict(self) -> dict[str, object]:
        """For the details of the finding."""
        return {"average": self.average, "without": self.without, "average_limit": self.allowed}


@dataclass(frozen=True)
class Worst:
    """Whoever is worst off: the confidence that comes closest to its limit, or exceeds it most."""

    column: str
    """The sensitive column, or several that are judged together; empty where the confidence is an older release's."""
    posterior: float
    prior: float | None
    """The share of the value among the records of the release; None as the column is empty."""
    limit: float
    """How sure the confidence may be: by the value's own limit, or by `gain`."""

    @classmethod
    def of(cls, judged: Judgment, strictest: float) -> "Worst":
        """The first person of the highest worth."""
        worth, confidences = judged.worth, judged.confidences
        if not len(worth):
            return cls("", 0.0, None, strictest)
        person = int(worth.argmax())
        weight = float(confidences.weight[person])
        value, place = int(confidences.value[person]), int(confidences.release[person])
        if value < 0:
            return cls("", min(float(worth[person]), 1.0), None, strictest)
        marginal = judged.marginals[int(confidences.marginal[person])]
        prior = float(marginal.priors[place][value])
        return cls(
            marginal.view.column,
            float(worth[person]) / weight,
            prior,
            float(marginal.view.limits(marginal.priors[place])[value]),
        )

    @property
    def gain(self) -> float | None:
        """Posterior odds over prior odds; None where one of them is not known, or the value was certain before."""
        if self.prior is None or not 0 < self.prior < 1 or self.posterior >= 1:
            return None
        return self.posterior / (1 - self.posterior) * (1 - self.prior) / self.prior

    def as_dict(self) -> dict[str, object]:
        """For the details of the finding."""
        return {
            "column": self.column,
            "posterior": self.posterior,
            "prior": self.prior,
            "limit": self.limit,
            "gain": self.gain,
        }


def _details(judged: Judgment, exposed: Bools, limit: float, worst: Worst) -> dict[str, object]:
    posterior, confidences, right = judged.posterior, judged.confidences, judged.right
    risks = [_risk(judged.marginals, place) for place in range(len(posterior.releases))]
    made: dict[str, object] = {
        "risk": float(confidences.chance.max(initial=0.0)),
        "sure": int(confidences.sure.sum()),
        "right": None if right is None else int(right[exposed].sum()),
        "knowledge": judged.adversary.knowledge,
        "totals": judged.adversary.totals,
        "strangers": judged.adversary.strangers,
        "fits": round(judged.adversary.fits, 2),
        "risks": risks,
        "spread": _spread(judged, limit),
        "claimed": int((confidences.score > limit + TIED).sum()),
        "equal": len(posterior.equal),
        "contradicted": len(posterior.contradicted),
        "count_error": posterior.fit.worst,
        "elsewhere": posterior.fit.elsewhere,
        "converged": posterior.fit.converged,
        "sweeps": posterior.fit.sweeps,
        "updates": judged.adversary.updates,
        "counterfeits_learnt": posterior.shares_estimated,
        "leaving": _leaving(posterior),
        "prior": judged.adversary.prior,
        "by_learning": int(judged.by_learning(exposed, limit).sum()),
        "components": posterior.components,
        "components_left": posterior.left,
        "before": 0 if judged.before is None else int(judged.before.sum()),
        "surest": worst.as_dict(),
        "columns": _by_column(judged, limit),
    }
    known = judged.confirmed(limit)
    if right is None and known is not None:
        guesses = (0, 0.0, 0.0) if judged.today is None else judged.today
        tested = dict(zip(("guesses", "claim", "share_right"), guesses, strict=True))
        made["today"] = {"people": known[0], "right": known[1], **tested}
    by_lot = judged.by_lot
    if by_lot is not None:
        some = (confidences.release >= 0) & (confidences.value >= 0)
        made["calibration"] = tenths(confidences.chance[some], by_lot[some])
    return made


def _common(posterior: Posterior, truth: Sequence[Ints | None]) -> Floats | None:
    """Share of each value among people whose truth is known, by which an adversary breaks ties; None: nobody."""
    true = [np.empty(0, np.int64), *(one[one >= 0] for one in truth if one is not None)]
    values = 1 + max(
        [int(one.value.max(initial=-1)) for one in posterior.releases] + [int(one.max(initial=-1)) for one in true]
    )
    counts = np.bincount(np.concatenate(true), minlength=values)
    return counts / counts.sum() if counts.any() else None


def _leaving(posterior: Posterior) -> str:
    """Where it comes from how soon people with each value leave."""
    if posterior.departures is None or not posterior.departures_differ:
        return "alike"
    return "known" if posterior.departures.known else "learnt"


def _by_learning(judged: Judgment, exposed: Bools, limit: float) -> str:
    """How many only someone can link who also learns; nothing where nobody does."""
    number = int(judged.by_learning(exposed, limit).sum())
    learning = " ({count} of them only by learning which people tend to have which value)"
    return text(learning, count=localized(f"{number:,}")) if number else ""


def _before(judged: Judgment) -> str:
    """That some people were exposed before: no release can take that back."""
    number = 0 if judged.before is None else int(judged.before.sum())
    one, many = (
        "Beside them {count} person was exposed by earlier releases already.",
        "Beside them {count} people were exposed by earlier releases already.",
    )
    return f" {counted(number, one, many)}" if number else ""


def _strangers(number: int) -> str:
    """That the adversary does not know the people of some records: nothing bounds how far confidences are off."""
    one, many = (
        "{count} record is of people whom the register lacks: how far this is off has no bound.",
        "{count} records are of people whom the register lacks: how far this is off has no bound.",
    )
    return f" {counted(number, one, many)}" if number else ""


def _spread(judged: Judgment, limit: float) -> dict[str, list[float]]:
    """How many people have a highest posterior in each interval, as it counts against the limit, which parts two."""
    worth = np.clip(judged.worth[judged.confidences.release >= 0], 0, 1)
    edges = np.union1d(np.linspace(0, 1, _INTERVALS + 1).round(6), limit)
    ends = np.concatenate([[0.0], edges[1:-1] + TIED, [1.0]])
    return {"edges": edges.tolist(), "counts": np.histogram(worth, ends)[0].tolist()}


def _risk(marginals: Sequence[Marginal], place: int) -> float:
    """The largest posterior of a protected value in one release."""
    return max((float(marginal.largest(place)[2].max(initial=0.0)) for marginal in marginals), default=0.0)


def _by_column(judged: Judgment, limit: float) -> dict[str, dict[str, object]]:
    """Of each sensitive column by itself, and of all together: how many people, and the highest probability."""
    return {
        marginal.view.column: {
            "people": int((mine.score > limit + TIED).sum()),
            "posterior": float(mine.chance[mine.score.argmax()]) if len(mine.score) else 0.0,
            "protected": int(marginal.view.protected.sum()),
            "values": len(marginal.view.names),
        }
        for marginal, mine in zip(judged.marginals, judged.apart, strict=True)
    }


def _compared(judged: Judgment) -> str:
    """How far guesses of which some are tested can be relied on."""
    if judged.today is None:
        return text("Whether the guesses are right is not known here.")
    number, confidence, right = judged.today
    said = (
        "Whether these are right is not known here: they are about values in earlier releases. Of the likeliest values "
        "of {count} people today, with a mean probability of {mean}, {right} are right."
    )
    shares = {"mean": localized(f"{confidence:.0%}"), "right": localized(f"{right:.0%}")}
    return text(said, count=localized(f"{number:,}"), **shares)


def _sentence(judged: Judgment, exposed: Bools, protection: Protection, worst: Worst) -> str:
    limit, number, everyone = protection.strictest, int(exposed.sum()), int((judged.confidences.release >= 0).sum())
    limited = localized(f"{protection.limit:.3g}") if protection.uniform else text("its limit")
    value = text("a value" if protection.every_value else "a protected value")
    if not any(marginal.view.protected.any() for marginal in judged.marginals):
        return text("No value that the policy protects occurs in these releases, so nobody can be linked to one.")
    if not number:
        nobody = (
            "Nobody can be linked to {value} with a probability above {limit}, all releases solved for everyone at "
            "once."
        )
        said = text(nobody, value=value, limit=limited) + _at_worst(worst, protection)
        unhelpful = text("Learning which people tend to have which value does not help.")
        return said if not judged.adversary.learns else f"{said} {unhelpful}"
    sure, learnt = int(judged.confidences.sure.sum()), _by_learning(judged, exposed, limit)
    surely = "; " + counted(sure, "the value of {count} is certain", "the value of {count} is certain") if sure else ""
    column = text(" of '{column}'", column=worst.column) if worst.column and len(protection.columns) > 1 else ""
    said = "{part} of {whole} people can be linked to {value} with a probability above {limit}{more}."
    part, whole = localized(f"{number:,}"), localized(f"{everyone:,}")
    linked = text(said, part=part, whole=whole, value=value + column, limit=limited, more=learnt + surely)
    linked += _at_worst(worst, protection)
    known = judged.confirmed(limit)
    if judged.right is None and known is not None and known[0]:
        today = "Of {count} guesses about today's values that are as sure {right} are right."
        return f"{linked} {text(today, count=localized(f'{known[0]:,}'), right=localized(f'{known[1]:,}'))}"
    if judged.right is None:
        return f"{linked} {_compared(judged)}"
    hits = int(judged.right[exposed].sum())
    right = text("Of these {count} guesses {right} are right.", count=part, right=localized(f"{hits:,}"))
    return f"{linked} {right}"


def _at_worst(worst: Worst, protection: Protection) -> str:
    """The surest link beside what anybody would guess without the releases."""
    if worst.prior is None:
        return ""
    own = "" if protection.uniform else text(" (limit {limit})", limit=localized(_share(worst.limit)))
    said = "At worst the posterior is {posterior}, where the prior is {prior}."
    highest, before = localized(_share(worst.posterior)) + own, localized(_share(worst.prior))
    return f" {text(said, posterior=highest, prior=before)}"


def _share(share: float) -> str:
    """Two digits; never 1 or 0 for what is only near it."""
    text = f"{share:.2f}"
    if text not in {"1.00", "0.00"} or share in {0.0, 1.0}:
        return text
    return f"{share:.2g}" if share < 0.5 else f"{np.floor(share * 1e6) / 1e6:g}"
