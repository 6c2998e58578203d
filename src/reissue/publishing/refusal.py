"""Why a release was refused: what would have leaked, and what would help."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reissue import methods
from reissue.attacks import find, names, registered
from reissue.attacks.findings import FIRST, Finding, Findings, Status
from reissue.attacks.run import is_of_published
from reissue.errors import RiskError, Why
from reissue.methods.registry import Trait
from reissue.policy import Policy
from reissue.publishing.changes import Advice, Change
from reissue.publishing.price import TriedChange
from reissue.release.release import Release
from reissue.words import plural

__all__ = ["RefusedError", "Report", "problems_of", "refusal", "short_series", "too_costly", "warnings_of"]

_CHANCE = 3.0
"""Standard deviations by which fewer guesses must be right than claimed, so that it is no chance."""
_K = re.compile(r"\bk=\d")
_MOST = 3
"""Pieces of advice, at most: the first help most."""


@dataclass(frozen=True)
class Report:
    """What a holder reads when a release was refused."""

    release: int
    """The number that it would have had."""
    problems: tuple[str, ...]
    steps: tuple[Advice, ...]
    """What would help, the most effective first; three at most."""
    findings: Findings
    ledger: str = ""
    """The ledger, where a change of its schema has to be recorded before the next attempt."""

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, in words."""
        return tuple(one.sentence for one in self.steps)

    @property
    def only_not_run(self) -> bool:
        """Whether all that stands against the release is that attacks were not run: safer settings do not help then."""
        attacks = tuple(f"{one.attack}: " for one in self.findings.of(Status.NOT_RUN))
        return bool(attacks) and all(problem.startswith(attacks) for problem in self.problems)

    @property
    def text(self) -> str:
        """In plain words."""
        lines = [f"Release {self.release} was refused. Nothing was published, nothing was recorded.", ""]
        lines += ["Why:", *(f"- {problem}" for problem in self.problems), ""]
        lines += ["What would help:"] if self.steps else []
        for one in self.steps:
            said = [] if one.change is None else [f"    {line}" for line in one.change.text.splitlines() if line]
            said = [f"    {one.command}"] if one.command else said
            lines += [f"- {one.sentence}{' In the schema file:' if said and not one.command else ''}", *said]
        if any(one.sentence.endswith(f"{_UNTRIED}.") for one in self.steps):
            lines += ["`reissue publish --dry-run` tries such changes and says which ones suffice."]
        if self.ledger and any(one.change is not None for one in self.steps):
            lines += [f"After a change of the schema file: reissue ledger amend {self.ledger} --schema FILE"]
        lines += [""] if self.steps else []
        if len(self.findings):
            lines += ["All attacks:", *(f"- {one.attack} {_ended(one)}: {one.sentence}" for one in self.findings)]
        return "\n".join(lines).rstrip() + "\n"

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        said = {"refused": self.release, "problems": list(self.problems), "advice": list(self.advice)}
        return {**said, **self.findings.as_dict()}


class RefusedError(RiskError):
    """A release was refused; `report` says what would have leaked and what would help."""

    def __init__(self, report: Report) -> None:
        """With the report as its message."""
        super().__init__(report.text.rstrip())
        self.report = report

    def helped_by(self, tried: Sequence[TriedChange], untried: Sequence[Change], ledger: str) -> "RefusedError":
        """The same, with changes that were tried and suffice before all other advice, and untried ones behind it.

        They are recorded in a ledger that has begun; its name is empty for one that has not.
        """
        known = [Advice(_SUFFICES.format(change=one.change.sentence, loss=one.loss), one.change) for one in tried]
        open_ = [Advice(f"{one.sentence}{_UNTRIED}.", one) for one in untried]
        steps = (*known, *self.report.steps, *open_)[:_MOST]
        return RefusedError(replace(self.report, steps=steps, ledger=ledger))


def _ended(finding: Finding) -> str:
    return {Status.EXPOSED: "exposes people", Status.WITHSTOOD: "withstood", Status.NOT_RUN: "was not run"}[
        finding.status
    ]


def _single(finding: Finding) -> bool:
    """Whether it needs several releases, and somebody holds only one."""
    return len(finding.releases) == 1 and find(finding.attack).fewest > 1


def problems_of(
    release: Release | None, findings: Findings, policy: Policy, uncompared: Sequence[Sequence[int]] = ()
) -> list[str]:
    """All that stands against a release; `uncompared` are earlier ones held with it that no attack compared it with.

    Without the release itself: all but its counterfeits.
    """
    exposing = [one for one in findings.of(Status.EXPOSED) if not is_of_published(one)]
    problems = [f"{one.attack}: {one.sentence}" for one in exposing]
    if policy.not_run is not True:
        fine = set(policy.not_run or ())
        asked = set(names() if policy.attacks is None else policy.attacks)
        missing = [
            one
            for one in findings.of(Status.NOT_RUN)
            if (one.attack in asked or one.why == Why.TOO_LARGE) and one.attack not in fine and not _single(one)
        ]
        why = _ALL_ASKED if policy.attacks is None else "The policy asks for this attack."
        problems += [f"{one.attack}: {one.sentence} {why}" for one in missing]
    problems += [_UNCOMPARED.format(releases=_listed(numbers)) for numbers in uncompared]
    rows = 0 if release is None else release.table.rows - release.suppressed
    if release is not None and release.counterfeits > policy.counterfeits * rows:
        problems.append(
            f"{_COUNTERFEITS}: the release would hold {release.counterfeits:,} counterfeit records beside {rows:,} of "
            f"people, a share of {release.counterfeits / max(rows, 1):.3f}; the policy allows {policy.counterfeits:g}."
        )
    return problems


def warnings_of(policy: Policy, earlier: Sequence[int], withdrawn: Sequence[int]) -> list[str]:
    """What is left unseen, to be said at every publication: by the policy, and of releases that were withdrawn.

    All are given by their numbers; `earlier` are the other earlier releases.
    """
    found = (
        [_WITHDRAWN.format(releases=_listed(withdrawn).capitalize(), were="was" if len(withdrawn) == 1 else "were")]
        if withdrawn
        else []
    )
    if policy.alone:
        return [_ALONE, *found]
    unseen = () if policy.look_back is None else earlier[: -policy.look_back]
    if unseen:
        found.append(
            f"The policy looks back {policy.look_back:,} releases (`look_back`): {_listed(unseen)} may be unseen."
        )
    return found


_WITHDRAWN = "{releases} {were} never sent, by the ledger (withdrawn). No attack can check that."


_ALONE = (
    "The policy says that nobody ever holds two releases of this series (`alone`): they were not compared. Whoever "
    "puts two of them together may learn what neither shows."
)
_ALL_ASKED = "The policy names no attacks, so all are asked for."
_UNCOMPARED = (
    "No attack compared it with {releases}, which the same people hold. The difference of two releases may show what "
    "each of them hides."
)


_ANOTHER = "Another method"
_PLAN = "reissue plan WAVE1 WAVE2 --schema schema.toml --policy plan.toml"
_SUFFICES = "{change}: tried, and nobody is exposed; {loss:.1%} of what the table says would be lost."
_UNTRIED = " (not tried)"
_PRICE = "price"
_COUNTERFEITS = "counterfeits"
_COMPARE = (
    "An attack that compares releases and can run on them, under `attacks` in the policy: one of {attacks}. Only where "
    "nobody ever holds two releases: `alone = true` in the policy."
)


def _listed(numbers: Sequence[int]) -> str:
    """Release 1; releases 1 and 2; releases 1 to 12."""
    if len(numbers) == 1:
        return f"release {numbers[0]}"
    between = " and " if len(numbers) == 2 else " to "
    if len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"releases {numbers[0]}{between}{numbers[-1]}"
    return f"releases {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def too_costly(loss: float, most: float, costliest: str, lost: float) -> str:
    """Why a release is refused that loses too much."""
    return (
        f"{_PRICE}: the release would lose {loss:.1%} of what the table says; at most {most:.1%} is allowed "
        f"(`max_loss`). '{costliest}' loses most: {lost:.1%}."
    )


_SHORT = (
    "A smaller m or e, coarser sensitive values, or more `counterfeits` in the policy; or fewer `releases`.",
    'Randomized values (`values = "randomized"`), which invent no records.',
)


def short_series(number: int, how_it_goes: str, asked: int) -> RefusedError:
    """What says that a series would end before it has the releases that the policy asks for."""
    problem = f"releases: {how_it_goes} The policy asks for {plural(asked, 'release')} (`releases`)."
    return RefusedError(Report(number, (problem,), tuple(Advice(one) for one in _SHORT), Findings(())))


def refusal(
    number: int, problems: Sequence[str], findings: Findings, policy: Policy, release: Release | None, price: str = ""
) -> RefusedError:
    """What says no, with advice that fits; `price` says why it was not repaired, if that was too costly."""
    others = [problem for problem in problems if not problem.startswith((_UNCOMPARED.partition("{")[0], _PRICE))]
    advice = []
    if any(problem.startswith(_UNCOMPARED.partition("{")[0]) for problem in problems):
        comparing = [f"'{name}'" for name, attack in sorted(registered().items()) if attack.compares]
        advice.append(_COMPARE.format(attacks=", ".join(comparing)))
    if release is not None and any(problem.startswith(_COUNTERFEITS) for problem in others):
        advice.append(_fewer_counterfeits(policy, release))
        others = [problem for problem in others if not problem.startswith(_COUNTERFEITS)]
    if price:
        problems = [*problems, f"repair: {price} ({policy.repair:g} more)."]
        advice.append(
            f"A larger `repair` than {policy.repair:g} in the policy, or a larger `suppress`: {policy.suppress:g} now."
        )
    if others:
        advice += _advice(findings, policy, release, {problem.partition(":")[0] for problem in others})
    steps = tuple(Advice(one, command=_PLAN if one.startswith(_ANOTHER) else "") for one in dict.fromkeys(advice))[
        :_MOST
    ]
    return RefusedError(Report(number, tuple(problems), steps, findings))


def _stricter(policy: Policy) -> list[str]:
    """A stricter requirement, named by the number that makes it so; a larger k is offered as a change."""
    m = max((part.invariant_m or 0 for part in policy.require.parts()), default=0)
    if m and methods.find(policy.method).m_requirement:
        return [f"A larger m than {m}, in a new series: groups then have more values."]
    return [] if _K.search(str(policy.require)) else ["A stricter requirement, for example with a larger k."]


def _remedies(methods: Mapping[str, str]) -> list[str]:
    """Methods and why each helps, those with the same reason together."""
    reasons = dict.fromkeys(methods.values())
    return [f"{' or '.join(name for name in sorted(methods) if methods[name] == why)}; {why}" for why in reasons]


def _by_the_truth(exposing: Finding, findings: Findings) -> list[str]:
    """That a policy need not ask for a paper's measure, where the attack on which the verdict rests was withstood."""
    why = find(exposing.attack).no_probability
    if not why or FIRST not in [one.attack for one in findings.of(Status.WITHSTOOD)]:
        return []
    return [
        (
            f"'{exposing.attack}' is a measure, no probability: {why}. '{FIRST}', which solves for everyone at once, "
            f"was withstood: the policy may do without '{exposing.attack}' (`attacks`), or give it another limit."
        )
    ]


_LEAVING = (
    "People with some values leave sooner than others, and the adversary sees who leaves. Larger groups with more "
    'values hide them. Only where nobody can know who is in which release, `prior = "common"` in the policy sets '
    "departures aside."
)

_CHANGES = {
    "none": "Values were taken never to change.",
    "releases": "How values change was learned from the releases.",
    "tables": "How values change was estimated from your tables.",
}
_LEARNED = {"releases", "tables"}
"""Where values were found to change."""
_SAY_HOW = "If you know better, say it in `[updates]` of the schema: `reissue plan` on your waves writes it."


def _changing(exposing: Finding) -> list[str]:
    """Where nobody has said how values change: to say it; and whether the true values contradict the guesses."""
    how = _CHANGES.get(str(exposing.details.get("updates")))
    if how is None:
        return []
    today = exposing.details.get("today") or {}
    number, claim = int(today.get("guesses", 0)), float(today.get("claim", 0.0))
    short = claim - float(today.get("share_right", 0.0))
    if short <= _CHANCE * math.sqrt(claim * (1 - claim) / max(number, 1)):
        return [f"{how} {_SAY_HOW}"]
    contradicted = (
        "Your true values contradict that: fewer of the likeliest values are right than their probabilities say."
    )
    return [f"{how} {contradicted} {_SAY_HOW}"]


def _named(policy: Policy) -> str:
    """That a policy can say which attacks it asks for; for its method those with which a series may begin."""
    suggestion = methods.find(policy.method).suggestion
    fitting = "" if suggestion is None else f"; for '{policy.method}' {list(suggestion.attacks)} is what init proposes"
    return f"Name the attacks that a release must withstand, `attacks` in the policy{fitting}."


def _advice(findings: Findings, policy: Policy, release: Release | None, blocking: Collection[str]) -> list[str]:
    """What would help against what was found, the most effective first."""
    advice, known, exposing = [], methods.registered(), findings.of(Status.EXPOSED)
    if any(one.attack in blocking for one in findings.of(Status.NOT_RUN)):
        named = [_named(policy)] if policy.attacks is None else []
        advice += [
            *named,
            "Of attacks that were not run: remove the reason, or list them under `not_run` in the policy.",
        ]
    for one in exposing:
        helping = {
            name: its.remedies[one.attack]
            for name, its in known.items()
            if one.attack in its.remedies and not (its.m_requirement and one.details.get("updates") in _LEARNED)
        }  # a method with a requirement of its own keeps a person's possible values: not where values change
        advice += _by_the_truth(one, findings)
        if policy.method not in helping:
            advice += [f"{_ANOTHER}: {line}." for line in _remedies(helping)] or find(one.attack).prevention[:1]
        advice += _changing(one)
        if one.details.get("leaving") == "learnt":
            advice.append(_LEAVING)
    return [*advice, *_stricter(policy)] if exposing or release is None else advice


def _fewer_counterfeits(policy: Policy, release: Release) -> str:
    """What would help against too many counterfeits."""
    share = math.ceil(1000 * release.counterfeits / max(release.table.rows - release.suppressed, 1)) / 1000
    more = (
        f", or `suppress` above {policy.suppress:g}" if Trait.SUPPRESSES in methods.find(policy.method).traits else ""
    )
    allow = f" If recipients can live with them: `counterfeits = {share:g}` in the policy." if share <= 1 else ""
    return (
        f"Fewer counterfeits: a smaller m or e in a new series, coarser sensitive values{more}; or another method, "
        f"such as 'pool' with a larger k where values change often.{allow}"
    )
