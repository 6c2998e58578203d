"""Findings: what attacks found, one Finding each, and the gate that turns a finding into an error when asked.

An attack ends in *exposed* (somebody is worse off than the limit allows), *withstood* (it ran, and nobody is), or
*not run*, with a reason. What was not run has shown nothing: it is never counted as withstood.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from reissue._notebook import notebook
from reissue.errors import InputError, RiskError, Why, nearest
from reissue.words import plural

__all__ = [
    "ALONE",
    "FIRST",
    "POSTERIOR",
    "AttackedRelease",
    "Finding",
    "Findings",
    "Point",
    "Status",
    "Verdict",
    "not_run",
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
POSTERIOR = "posterior"
"""The attack that decides where values are randomized: it knows their exact posterior."""


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
    """The outcome of one attack.

    `status` is exposed, withstood or not_run; `people` says how many people are exposed, `worst` and `limit` compare
    the measure with what it may be, `sentence` says it in words, `details` has what is particular to the attack.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> release = ri.anonymize(patients, schema(), "k=5 & l=3", seed=1)
    >>> finding = ri.attack([release], schema(), only="disclosure")["disclosure"]
    >>> finding.status.value
    'withstood'
    >>> finding.worst <= finding.limit
    True
    """

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
    """The outcomes of all attacks.

    A mapping-like collection: `findings["joint"]` is one attack's `Finding`, `verdict` what all say together.
    `raise_for_risk` makes an error of a verdict that is not good enough, for use in pipelines.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> months = Population(seed=1, people=200).months(2)
    >>> releases = [ri.anonymize(month, schema(), "k=5 & l=3", seed=1) for month in months]
    >>> findings = ri.attack(releases, schema(), only="joint")
    >>> str(findings.verdict)
    'exposed'
    >>> findings.raise_for_risk()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    reissue.errors.RiskError: ...
    """

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
        return notebook(self)


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
