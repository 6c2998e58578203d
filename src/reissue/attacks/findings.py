"""Findings: what attacks found, one Finding each, and the gate that turns a finding into an error when asked.

An attack ends in *exposed* (somebody is worse off than the limit allows), *withstood* (it ran, and nobody is), or
*not run*, with a reason. What was not run has shown nothing: it is never counted as withstood.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from reissue._notebook import card
from reissue.errors import InputError, RiskError, Why, nearest
from reissue.words import number, plural

__all__ = [
    "ALONE",
    "FIRST",
    "HINT",
    "AttackedRelease",
    "Finding",
    "Findings",
    "Point",
    "Status",
    "Verdict",
    "VerdictText",
    "bound",
    "gravity",
    "not_run",
    "not_tried",
    "outcome",
    "people",
    "tried",
    "verdict",
]


class Status(StrEnum):
    """How an attack ended."""

    EXPOSED = "exposed"
    WITHSTOOD = "withstood"
    NOT_RUN = "not_run"

    @classmethod
    def _missing_(cls, value: object) -> "Status | None":
        """The words of ledgers that were written before."""
        return {"succeeded": cls.EXPOSED, "failed": cls.WITHSTOOD}.get(str(value))


FIRST = "joint"
"""The attack that is the verdict; the papers' attacks follow it as what their adversaries see."""


ALONE = "disclosure"
"""The attack that judges each release by itself, whatever else is known."""


class Verdict(StrEnum):
    """What all findings say together."""

    EXPOSED = "exposed"
    """At least one attack exposes somebody."""
    WITHSTOOD = "withstood"
    """Every attack that applies ran, and none exposes anybody."""
    INCOMPLETE = "incomplete"
    """None exposes anybody, but one that applies could not be run, or nothing compared the releases."""


@dataclass(frozen=True, repr=False)
class Finding:
    """One attack's outcome."""

    attack: str
    status: Status
    sentence: str
    """The outcome in one plain sentence, without any person's values."""
    releases: tuple[int, ...]
    """Which releases were used, numbered from 1 in the order given."""
    reason: str | None = None
    """Why it was not run, in a sentence."""
    why: Why | None = None
    """The same as one of three words."""
    needs: tuple[str, ...] = ()
    """The inputs that would let it run."""
    people: int = 0
    """How many people it exposes, at most."""
    population: int = 0
    """Out of how many."""
    measure: str | None = None
    """What `worst` and `limit` count."""
    worst: float | None = None
    """The measure for the person who is worst off."""
    limit: float | None = None
    """What the measure must keep to."""
    at_least: bool = False
    """Whether `worst` must reach the limit; else it must not exceed it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What is particular to the attack; see docs/reference/attacks.md."""
    decides: bool = True
    """Whether the verdict counts it: a paper's measure does not where everyone at once was solved for beside it."""
    compares: bool = True
    """Whether it looked at releases together; else at each one by itself."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", Status(self.status))
        if (self.status == Status.NOT_RUN) != (self.reason is not None):
            raise InputError("A finding needs a `reason` exactly when its attack was not run.")
        if self.status == Status.NOT_RUN:
            object.__setattr__(self, "why", Why(self.why or Why.DOES_NOT_APPLY))
        object.__setattr__(self, "needs", tuple(self.needs))

    @property
    def mark(self) -> str:
        """`bad`, `good` or `unsure`: how it looks."""
        if self.status == Status.EXPOSED:
            return "bad" if self.decides else "unsure"
        return "good" if self.status == Status.WITHSTOOD else "unsure"

    @property
    def bounded(self) -> bool:
        """Whether nobody is known to be exposed, and `people` says how many could be."""
        return bool(self.details.get("at_most"))

    def __str__(self) -> str:
        """One line."""
        return f"{self.attack} {str(self.status).replace('_', ' ')}: {self.reason or self.sentence}"

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """As the JSON of `reissue attack --json` has it."""
        plain = {"status": str(self.status), "releases": list(self.releases), "needs": list(self.needs)}
        return {**asdict(self), **plain, "why": None if self.why is None else str(self.why)}


@dataclass(frozen=True)
class AttackedRelease:
    """One of the releases that were attacked."""

    number: int
    name: str
    """What it was called: its file, or its number."""
    rows: int
    groups: int
    """How many groups of records that look alike it has."""
    smallest: int
    """Records in the smallest of them."""
    unique: int = 0
    """Records that look like no other."""
    share: float | None = None
    """The largest share of one sensitive value in a group; None where the schema names none."""


@dataclass(frozen=True)
class Point:
    """What an attack finds once a release is out: with all earlier ones, or in it alone."""

    release: int
    people: int
    population: int
    worst: float | None


@dataclass(frozen=True, repr=False)
class Findings:
    """What all attacks found."""

    findings: tuple[Finding, ...] = ()
    releases: tuple[AttackedRelease, ...] = ()
    """What was attacked."""
    timeline: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    """How the risk grew, by attack; only if asked for."""
    assumptions: tuple[str, ...] = ()
    """What was taken for granted because nobody said it, in whole sentences."""

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, attack: str) -> Finding:
        """The finding of the attack of this name."""
        for finding in self.findings:
            if finding.attack == attack:
                return finding
        raise InputError(f"No attack '{attack}' was asked for." + nearest(attack, [f.attack for f in self.findings]))

    def of(self, status: Status) -> tuple[Finding, ...]:
        """The findings that ended in this way."""
        return tuple(finding for finding in self.findings if finding.status == status)

    @property
    def exposing(self) -> tuple[Finding, ...]:
        """The findings of exposed people that decide."""
        return tuple(finding for finding in self.of(Status.EXPOSED) if finding.decides)

    @property
    def verdict(self) -> Verdict:
        """Exposed if any attack that decides exposes somebody; incomplete if one was not run; else withstood."""
        if self.exposing:
            return Verdict.EXPOSED
        lacking = [one for one in self.of(Status.NOT_RUN) if one.why != Why.DOES_NOT_APPLY]
        idle = not (self.of(Status.WITHSTOOD) and self.tested)
        return Verdict.INCOMPLETE if lacking or idle else Verdict.WITHSTOOD

    @property
    def tested(self) -> bool:
        """Whether an attack that compares the releases ran; where none was asked for, or there is one release, any."""
        ran = [one for one in self.findings if one.status != Status.NOT_RUN]
        several = len(self.releases) > 1 and any(one.compares for one in self.findings)
        return any(one.compares for one in ran) if several else bool(ran)

    def raise_for_risk(self, *, allow_not_run: bool | Sequence[str] = False) -> None:
        """Raise RiskError if an attack exposes somebody, or was not run and is not allowed to be (True allows all)."""
        blocking = list(self.exposing)
        if allow_not_run is not True:
            allowed = set(allow_not_run or ())
            blocking += [finding for finding in self.of(Status.NOT_RUN) if finding.attack not in allowed]
        if blocking:
            raise RiskError("\n".join(f"{finding.attack}: {finding.sentence}" for finding in blocking))

    @property
    def people(self) -> int:
        """How many people are exposed, at least: those of the attack that exposes most."""
        return max((one.people for one in self.exposing if not one.bounded), default=0)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: `verdict` and `findings`, and what else is known."""
        more = {
            "releases": [asdict(one) for one in self.releases],
            "timeline": {name: [asdict(point) for point in points] for name, points in self.timeline.items()},
            "assumed": list(self.assumptions),
        }
        content = {"verdict": str(self.verdict), "findings": [finding.as_dict() for finding in self.findings]}
        return content | {key: value for key, value in more.items() if value}

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        """The verdict, and a line for each attack."""
        return "\n".join([f"{self.verdict}", *(str(finding) for finding in self.findings)])

    def __repr__(self) -> str:
        """The verdict, and how many attacks found somebody."""
        exposed, lacking = [finding.attack for finding in self.exposing], self.of(Status.NOT_RUN)
        said = f"exposed by {', '.join(exposed)}" if exposed else "nobody was found exposed"
        skipped = f"; {len(lacking)} more not run" if lacking else ""
        return f"Findings of {plural(len(self.findings) - len(lacking), 'attack')}, {self.verdict}: {said}{skipped}."

    def _repr_html_(self) -> str:
        """For a notebook."""
        text = verdict(self, None)
        headings = ["attack", "outcome", "people exposed", "worst", "must be", "in words"]
        rows = [
            [one.attack, outcome(one), people(one), number(one.worst), bound(one), one.sentence]
            for one in sorted(self, key=gravity)
        ]
        lines = {name: [(point.release, point.people) for point in points] for name, points in self.timeline.items()}
        return card(f"{text.word}. {text.sentence}", headings, rows, mark=text.mark, lines=lines)


def gravity(finding: Finding) -> tuple[bool, int, bool, bool, int]:
    """Sorts findings: first the one that is the verdict, then those who expose people, the most first, then bounds."""
    ran = finding.status != Status.NOT_RUN
    place = list(Status).index(finding.status)
    return (finding.attack != FIRST or not ran, place, not finding.decides, finding.bounded, -finding.people)


def tried(findings: Findings) -> str:
    """What was run, and with which knowledge: `joint (with a register) and updates`."""
    ran = sorted((one for one in findings if one.status != Status.NOT_RUN), key=gravity)
    knows = {
        "groups": " (everyone's group known)",
        "register": " (with a register of people)",
        "files": " (from the files alone)",
    }
    return _named([f"{one.attack}{knows.get(one.details.get('knowledge', ''), '')}" for one in ran])


def not_tried(findings: Findings) -> str:
    """A sentence on what was not run, which has shown nothing; empty where all was."""
    names = sorted(one.attack for one in findings.of(Status.NOT_RUN))
    has = "has" if len(names) == 1 else "have"
    return f" Not run: {_named(names)}, which {has} shown nothing." if names else ""


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def not_run(
    attack: str,
    releases: Sequence[int],
    reason: str,
    details: Mapping[str, Any] | None = None,
    *,
    why: Why = Why.DOES_NOT_APPLY,
    needs: Sequence[str] = (),
) -> Finding:
    """The finding of an attack that could not be run; `reason` is a whole sentence."""
    return Finding(
        attack,
        Status.NOT_RUN,
        f"Not run: {reason}",
        tuple(releases),
        reason=reason,
        why=why,
        needs=tuple(needs),
        details=dict(details or {}),
    )


@dataclass(frozen=True)
class VerdictText:
    """A verdict: how it is marked, one word, one sentence."""

    mark: str
    """`bad`, `good` or `unsure`: how it looks."""
    word: str
    sentence: str


def people(finding: Finding) -> str:
    """How many people of how many."""
    return "–" if finding.status == Status.NOT_RUN else f"{finding.people:,} of {finding.population:,}"


def outcome(finding: Finding) -> str:
    """How an attack ended, in a few words."""
    if not finding.decides:
        return "not counted"
    if finding.why is None:
        return str(finding.status)
    if finding.why == Why.NEEDS_INPUT and finding.needs:
        return f"needs {', '.join(finding.needs)}"
    return "needs input" if finding.why == Why.NEEDS_INPUT else str(finding.why).replace("_", " ")


def bound(finding: Finding) -> str:
    """What the measure must keep to: `at most 0.75`, or `at least 5`."""
    if finding.limit is None:
        return "–"
    return f"at {'least' if finding.at_least else 'most'} {number(finding.limit)}"


def verdict(findings: Findings, refused: int | None) -> VerdictText:
    """The first sentence that anybody reads."""
    if refused is not None:
        return VerdictText(
            "bad", "Refused", f"Release {refused} was refused: nothing was published, nothing was recorded."
        )
    ran = len(findings) - len(findings.of(Status.NOT_RUN))
    if findings.verdict == Verdict.EXPOSED:
        return _exposed(findings)
    held = _held(findings, any(one.compares for one in findings if one.status != Status.NOT_RUN))
    begin = f"{held[0].upper()}{held[1:]} {_verb(findings, 'expose')} nobody"
    if findings.verdict == Verdict.WITHSTOOD:
        return VerdictText("good", "Withstood", f"{begin}. Tried: {tried(findings)}.{not_tried(findings)}")
    if not ran:
        nothing = f"No attack could be run on {_held(findings, together=None)}, so nothing was shown."
        return VerdictText("unsure", "Nothing shown", nothing)
    lacking = sum(one.why != Why.DOES_NOT_APPLY for one in findings.of(Status.NOT_RUN))
    others = f"; {plural(lacking, 'other attack')} could not be run and {_has(lacking)} shown nothing"
    alone = "" if findings.tested else " Nothing compared the releases: what they give away together is not known."
    said = f"{begin} as far as was tried: {tried(findings)}{others if lacking else ''}.{alone}"
    return VerdictText("unsure", "Incomplete", said)


def _exposed(findings: Findings) -> VerdictText:
    """That people are exposed, by the attack that comes first."""
    worst = min(findings.exposing, key=gravity)
    one, many = not worst.compares and _many(findings) > 1, f"{worst.people:,} of {worst.population:,} people."
    held = f"One of these {_many(findings):,} releases by itself" if one else _held(findings)
    verb = "expose" if worst.people else "give"
    verb = f"{verb}s" if one else _verb(findings, verb)
    said = f"{verb} {many if worst.people else 'away too much.'}"
    said = f"may expose up to {many} {HINT}" if worst.people and worst.bounded else said
    return VerdictText("bad", "Exposed", f"{held[0].upper()}{held[1:]} {said}")


HINT = "Files alone do not say who is in them; a register or lists of members would say who it is."
"""What would make certain what is only bounded."""


def _many(findings: Findings) -> int:
    """How many releases were looked at together; 0 where nobody says."""
    return len(findings.releases) or max((len(one.releases) for one in findings), default=0)


def _held(findings: Findings, together: bool | None = True) -> str:
    """What was attacked, and whether releases were compared; None: nothing was."""
    many = _many(findings)
    how = {True: ", put together,", False: ", each by itself,", None: ""}[together]
    return "this release" if many == 1 else f"these {many:,} releases{how}" if many else "these releases"


def _verb(findings: Findings, verb: str) -> str:
    return f"{verb}s" if _many(findings) == 1 else verb


def _has(count: int) -> str:
    return "has" if count == 1 else "have"
