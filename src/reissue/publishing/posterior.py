"""The gate of randomized values: everybody's exact posterior, for every adversary of the policy.

`randomized.series` carries beliefs forward from release to release; its posteriors of the present are exact, those of
the past exact or bounds above. Here they are computed once more from the public record alone, by other code: for
everybody where the series is short, else for the people of whom most is known and for a sample of the others.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import POSTERIOR, Finding, Status
from reissue.errors import InternalError
from reissue.policy import Policy
from reissue.publishing.after_exact import ExactReleases
from reissue.publishing.assumed import protected_events
from reissue.publishing.drawn_states import ShownValues
from reissue.publishing.randomizing import Drawn
from reissue.publishing.value_lists import texts_of
from reissue.randomization import ALIKE, CLASS_PRIOR, DEPARTURES
from reissue.randomized import Adversary, ProtectedEvents, PublicRecord, exact_posteriors, public_record
from reissue.words import plural

__all__ = ["Judged", "judge"]

_CELLS = 100_000_000
"""Releases x people x values^2 up to which everybody is computed again: some seconds."""
_EXTREMES, _SAMPLE = 500, 500
"""Beyond: so many people of whom most is known, and so many others."""
_SLACK = 1e-6
_AGREES = 1e-5
"""Two computations of a posterior differ by rounding only: past events are kept in single precision."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What the adversaries of a policy know once a release is out."""

    finding: Finding
    exposed: Ints
    """Pseudonyms of the people above a limit."""
    above: Ints
    """Pseudonyms of those whose prior alone is above a limit."""

    def without_exposed(self) -> "Judged":
        """The same once those above a limit are left out of the release."""
        finding = self.finding
        kept = (
            finding.details["average_limit"] is None or finding.details["average"] <= finding.details["average_limit"]
        )
        details = {**finding.details, "left_out": finding.people}
        status = Status.WITHSTOOD if kept else finding.status
        sentence = f"{finding.sentence} They are left out of this release."
        return replace(self, finding=replace(finding, status=status, people=0, sentence=sentence, details=details))


@dataclass(frozen=True, eq=False)
class _Known:
    """What one adversary knows of some people: people x releases where not said otherwise."""

    adversary: Adversary
    exposed: Bools
    """Person to whether some event is likelier than its limit, though the prior is not."""
    prior_above: Bools
    worst: tuple[float, float, float]
    """The largest posterior as a share of its limit, of those who are not above by the prior; itself; and its limit."""


def judge(
    drawn: Drawn, policy: Policy, read: Callable[[int], ShownValues], *, exact: ExactReleases | None = None
) -> Judged:
    """Judge a table whose values were drawn; `read` gives what an earlier release showed, by its number.

    `exact` are the exact releases with which the series began: then the whole series is solved for everyone at once.
    """
    events = protected_events(drawn.table.schema, drawn.state.values)
    shown = [read(int(number)) for number in drawn.state.releases[:-1]] + [drawn.shown]
    people, checked = _chosen(drawn, events, shown)
    found = [_known_to(number, drawn, events, shown, people, exact) for number in range(len(drawn.made.views))]
    exposed = people[np.any([one.exposed for one in found], axis=0)]
    above = people[np.any([one.prior_above for one in found], axis=0)]
    before = 0 if exact is None else len(exact.series)
    return Judged(_finding(drawn, policy, events, found, (exposed, above), checked, before), exposed, above)


def _chosen(drawn: Drawn, events: ProtectedEvents, shown: list[ShownValues]) -> tuple[Ints, int]:
    """Who is computed again: today's people and those who have just left, or some of them.

    Of some, those with the largest score and a sample; past values of people whose published value is kept for good
    have no score, so they are in the sample alone.
    """
    everyone = np.union1d(drawn.people, shown[-2].people) if len(shown) > 1 else np.sort(drawn.people)
    size = events.member.shape[1]
    if len(shown) * len(everyone) * size**2 <= _CELLS:
        return everyone, len(everyone)
    score = np.max([one.score for one in drawn.release.judgements], axis=0)
    most = drawn.people[np.argsort(-score, kind="stable")[:_EXTREMES]]
    rng = np.random.default_rng(len(shown))
    some = np.union1d(most, rng.choice(everyone, min(_SAMPLE, len(everyone)), replace=False))
    over = drawn.people[score > 1]
    some = np.union1d(some, over)
    return some, len(some)


def _adversary(drawn: Drawn, number: int) -> Adversary:
    """One adversary, with the priors of all epochs one after the other, and what exact releases told of people."""
    own, known = drawn.made.views[number].adversary, drawn.state.known.belief
    priors = [*drawn.state.priors[:, number], *([known] if len(known) else [])]
    return Adversary(own.name, np.concatenate(priors), own.change, own.departs)


def _records(drawn: Drawn, shown: list[ShownValues], people: Ints) -> tuple[PublicRecord, PublicRecord]:
    """The public record of some people, and the same of presence alone.

    Of exact releases only the last with each person is in it, without a published value: the person's prior is of that.
    """
    known, size = drawn.state.known, drawn.state.values.height
    classes = len(drawn.state.priors) * drawn.state.priors.shape[2] + np.arange(len(known.pseudonyms))
    before = [np.flatnonzero(known.seen == time) for time in np.unique(known.seen)]
    numbers = [*np.unique(known.seen).tolist(), *range(len(shown))]
    exact = [(known.pseudonyms[rows], np.full(len(rows), size), np.ones((len(rows), size))) for rows in before]
    drawn_ = [(one.people, one.published, one.chance[one.row]) for one in shown]
    silent = [(one.people, np.zeros_like(one.published), np.ones((len(one.people), size))) for one in shown]
    own = [*(classes[rows] for rows in before), *(one.classes for one in shown)]
    return (
        public_record(people, numbers, [*exact, *drawn_], own),
        public_record(people, numbers, [*exact, *silent], own),
    )


def _known_to(
    number: int,
    drawn: Drawn,
    events: ProtectedEvents,
    shown: list[ShownValues],
    people: Ints,
    exact: ExactReleases | None,
) -> _Known:
    """What one adversary knows; checked against the beliefs that were carried forward."""
    adversary = _adversary(drawn, number)
    record, silent = _records(drawn, shown, people)
    posterior, prior = exact_posteriors(adversary, record), exact_posteriors(adversary, silent)
    _check(drawn, number, people, posterior[-1])
    there = record.published >= 0
    limits = events.limits(prior)
    lost = np.asarray(((events.shares(prior) > limits + _SLACK) & there[..., np.newaxis]).any((0, 2)))
    shares, told = events.shares(posterior), np.zeros(len(people), np.bool_)
    if exact is not None:
        adversary, exposed = _with_everybody(adversary, drawn, shown, exact)
        shares = np.maximum(shares, events.shares(exact_posteriors(adversary, record)))
        told = np.isin(people, exposed)
    over = np.asarray(((shares > limits + _SLACK) & there[..., np.newaxis]).any((0, 2)))
    return _Known(adversary, (over | told) & ~lost, lost, _worst(shares[:, ~lost], limits[:, ~lost]))


def _with_everybody(
    adversary: Adversary, drawn: Drawn, shown: list[ShownValues], exact: ExactReleases
) -> tuple[Adversary, Ints]:
    """The adversary with what everybody else's records tell of each person, and who is newly exposed in exact releases.

    The joint attack solves the exact releases with the likelihoods of all randomized ones.
    """
    known, size = drawn.state.known, drawn.state.values.height
    record, _ = _records(drawn, shown, known.pseudonyms)
    blank = replace(adversary, prior=np.full_like(adversary.prior, 1 / size))
    first = np.searchsorted(np.unique(known.seen), known.seen)
    likelihood = exact_posteriors(blank, record)[first, np.arange(len(first))]
    cavities, exposed = exact.moved(known.pseudonyms, likelihood, texts_of(drawn.state.values))
    return replace(adversary, prior=np.concatenate([adversary.prior[: -len(first)], cavities])), exposed


def _worst(shares: Floats, limits: Floats) -> tuple[float, float, float]:
    """The largest share of its limit, with the posterior and the limit."""
    score = shares / limits
    if not score.size:
        return 0.0, 0.0, 1.0
    at = np.unravel_index(int(score.argmax()), score.shape)
    return float(score[at]), float(shares[at]), float(limits[at])


def _check(drawn: Drawn, number: int, people: Ints, posterior: Floats) -> None:
    """Stop where two computations of today's posteriors differ."""
    order = np.argsort(drawn.people)
    at = np.minimum(np.searchsorted(drawn.people, people, sorter=order), len(order) - 1)
    row = order[at]
    there = drawn.people[row] == people
    carried = drawn.release.belief(number)[row[there]]
    if np.abs(carried - posterior[there]).max(initial=0.0) > _AGREES:
        raise InternalError(
            "Posteriors of randomized values were computed twice, and differ. Nothing was published. Please report "
            "this."
        )


def _finding(
    drawn: Drawn,
    policy: Policy,
    events: ProtectedEvents,
    found: list[_Known],
    who: tuple[Ints, Ints],
    checked: int,
    exact: int,
) -> Finding:
    """What is known in numbers and in a sentence."""
    exposed, above = who
    average, without, right = _averages(drawn, events)
    _, worst, limit = max(one.worst for one in found)
    too_many = policy.average is not None and average > policy.average + _SLACK
    details: dict[str, Any] = {
        "average": average,
        "average_limit": policy.average,
        "without": without,
        "right": right,
        "prior_above": len(above),
        "adversaries": [{"name": one.adversary.name, "worst": one.worst[1]} for one in found],
        "odds": drawn.made.odds,
        "epsilon": _epsilon(drawn),
        "true": float((drawn.values.true == drawn.values.published).mean()),
        "strangers": drawn.strangers,
        "checked": checked,
        "classes": len(drawn.state.classes),
        "exact_releases": exact,
    }
    status = Status.EXPOSED if len(exposed) or too_many else Status.WITHSTOOD
    return Finding(
        POSTERIOR,
        status,
        _sentence(policy, details, len(exposed), worst, limit),
        tuple(drawn.state.releases.tolist()),
        people=len(exposed),
        population=len(drawn.people),
        measure="largest posterior of a protected value",
        worst=worst,
        limit=limit,
        details=details,
    )


def _averages(drawn: Drawn, events: ProtectedEvents) -> tuple[float, float, float]:
    """The share of surest guesses that are right, as the adversary who knows most expects; without the releases; truly.

    Guesses are of protected values, of several columns together.
    """
    protected = events.member.any(0)
    found = []
    for number in range(len(drawn.made.views)):
        belief = np.where(protected, drawn.release.belief(number), 0.0)
        prior = np.where(protected, drawn.release.prior(number), 0.0)
        hits = belief.argmax(1) == drawn.values.true
        found.append((float(belief.max(1).mean()), float(prior.max(1).mean()), float(hits.mean())))
    return max(found)


def _epsilon(drawn: Drawn) -> float | None:
    """By how much the odds between two present values have changed for anybody, as a logarithm; None: without bound."""
    most = max(float(one.epsilon.max()) for one in drawn.release.judgements)
    return most if np.isfinite(most) else None


_KNOWN = {
    ALIKE: "how common values are",
    CLASS_PRIOR: "how common they are in each class of people",
    DEPARTURES: "how soon people with each value leave",
}
"""What each adversary knows beside the releases."""


def _sentence(policy: Policy, details: dict[str, Any], exposed: int, worst: float, limit: float) -> str:
    who = " or ".join(dict.fromkeys(_KNOWN[one["name"]] for one in details["adversaries"]))
    guesses = (
        f"The surest guess is right for {details['average']:.1%} of people on average, without the releases for "
        f"{details['without']:.1%}"
    )
    guesses += "." if policy.average is None else f" (allowed: {policy.average:.1%})."
    lost = details["prior_above"]
    apart = (
        f" {plural(lost, 'person is', 'people are')} above the limit by the prior alone, and counted apart."
        if lost
        else ""
    )
    if before := details["exact_releases"]:
        apart += (
            f" The series began with {plural(before, 'exact release')}: posteriors start from what the joint attack "
            "finds in them, and it was run again over all releases together."
        )
    if exposed:
        return (
            f"An adversary who links every record to its person and knows {who} has a posterior above the limit for "
            f"{plural(exposed, 'person', 'people')}: at most {worst:.3f}, and {limit:g} is allowed. {guesses}{apart}"
        )
    return (
        f"An adversary who links every record to its person and knows {who} is never surer of anybody's true value "
        f"than {worst:.3f}; {limit:g} is allowed. {guesses}{apart}"
    )
