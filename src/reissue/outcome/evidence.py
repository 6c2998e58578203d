"""Record: figures and methods for whoever must account for a release, in the order of a dossier.

What was published; who gets it under which conditions, and who answers for it; what was done to each column; criteria
and thresholds; what an adversary is taken to have; risk before and after, under the three headings of the Article 29
Working Party's Opinion 05/2014 (singling out, linkability, inference); what was tried against it and what came of that;
when to look again. It never says whether data are anonymous in law.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from reissue._version import __version__
from reissue.attacks import look_up
from reissue.attacks.findings import Finding, Findings, Status
from reissue.attacks.registry import Heading
from reissue.errors import CannotRunError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.ledger import Ledger
from reissue.outcome.dossier import EVERYONE, Dossier, dossier_of
from reissue.policy import Policy
from reissue.published import PublishedRelease, read_published
from reissue.publishing.series import snapshots
from reissue.publishing.turn import PublicationInMemory
from reissue.schema import Role, Schema
from reissue.taxonomy.notation import coding_of, parse_column
from reissue.verify.check import Check, check
from reissue.verify.risk import find_preset
from reissue.words import plural

__all__ = [
    "ColumnRecord",
    "Figure",
    "PublishedRecord",
    "Record",
    "TestRecord",
    "attack_record",
    "check_record",
    "publish_record",
    "record_of",
]

FORMAT = 2
"""The version of the record's JSON."""
_BY_HEADING = {
    Heading.SINGLING_OUT: {"k", "prosecutor", "k^m"},
    Heading.LINKABILITY: {
        "journalist",
        "marketer",
        "k-map",
        "delta-presence",
        "population uniqueness",
        "households",
    },
    Heading.INFERENCE: {"l", "confidence", "t", "beta"},
}
"""Which numbers of `check` belong under which heading."""
_LIBRARIES = ("numpy", "polars", "scipy")
REVIEW = (
    "before the next release about the same people: what is safe alone may not be safe together",
    "when another table or register about the same people becomes known",
    "when the schema, the criteria or the thresholds change, or a new attack becomes known",
)


@dataclass(frozen=True)
class PublishedRecord:
    """One table that was published."""

    name: str
    rows: int
    groups: int
    smallest: int
    """Records of the smallest group."""
    sha256: str | None = None
    """Of the file, where it was one file."""


@dataclass(frozen=True)
class Figure:
    """One number, with how it came about in words."""

    heading: str
    release: str
    name: str
    value: float | None
    sentence: str


@dataclass(frozen=True)
class TestRecord:
    """One adversarial test, and its result."""

    heading: str
    attack: str
    outcome: str
    sentence: str
    releases: tuple[int, ...]
    people: int
    population: int
    measure: str | None
    worst: float | None
    limit: float | None
    method: str
    """What such an adversary does."""


@dataclass(frozen=True)
class ColumnRecord:
    """One column of the schema: its role, and what was done to it."""

    column: str
    role: str
    technique: str


@dataclass(frozen=True)
class Record:
    """Everything, in the order in which a dossier asks for it."""

    command: str
    made: str
    """When, by the clock of whoever made it."""
    versions: Mapping[str, str]
    published: tuple[PublishedRecord, ...]
    columns: tuple[ColumnRecord, ...]
    criteria: Mapping[str, str]
    verdicts: tuple[str, ...] = ()
    """Whether the criteria are met, in words."""
    initial: tuple[Figure, ...] = ()
    """Risk of the original tables, where they were given."""
    residual: tuple[Figure, ...] = ()
    tests: tuple[TestRecord, ...] = ()
    assumptions: tuple[str, ...] = ()
    review: tuple[str, ...] = REVIEW
    dossier: Dossier = field(default_factory=Dossier)
    """What the steward states, and what is left to fill in."""
    adversary: tuple[str, ...] = ()
    """What an adversary was taken to have, in sentences."""
    chain: Mapping[str, str] = field(default_factory=dict)
    """Where the record belongs in a ledger: the release's number, and the hash of the entry that it follows."""
    format: int = FORMAT

    def as_dict(self) -> dict[str, Any]:
        """For JSON; numbers that are none are null."""
        found: dict[str, Any] = _plain(asdict(self))
        return {**found, "to_fill_in": list(self.dossier.open)}

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def record_of(
    command: str,
    releases: Mapping[str, Any],
    schema: Schema,
    checks: Sequence[Check],
    *,
    before: Mapping[str, Check] | None = None,
    findings: Findings | None = None,
    criteria: Mapping[str, str] | None = None,
    dialect: Dialect = FOUND,
    when: datetime | None = None,
    held: Mapping[str, Sequence[int]] | None = None,
    adversary: Sequence[str] = (),
    chain: Mapping[str, str] | None = None,
) -> Record:
    """The record of releases by name, each with what `check` says of it; `before`: of original tables by name.

    `held` are the numbers of the releases that each recipient holds; by default those that `[evidence]` names hold all.
    """
    last = read_published(list(releases.values())[-1], schema, dialect=dialect).of_its_columns()
    found = findings or Findings()
    return Record(
        command,
        (when or datetime.now(UTC)).isoformat(timespec="seconds"),
        {"reissue": __version__, "python": python_version(), **{name: version(name) for name in _LIBRARIES}},
        tuple(_published(name, one, check) for (name, one), check in zip(releases.items(), checks, strict=True)),
        columns_of(last),
        dict(criteria or {}),
        tuple(verdict.sentence for check in checks for verdict in check.verdicts),
        tuple(figure for name, check in (before or {}).items() for figure in _figures(name, check)),
        tuple(figure for name, check in zip(releases, checks, strict=True) for figure in _figures(name, check)),
        tuple(_test(one) for one in found),
        found.assumptions,
        dossier=dossier_of(schema.evidence, held or _all_hold(schema, len(releases))),
        adversary=tuple(adversary) or _knowing(found),
        chain=dict(chain or {}),
    )


def _all_hold(schema: Schema, total: int) -> dict[str, tuple[int, ...]]:
    """Whoever is named in `[evidence]` is taken to hold all releases; where nobody is, everyone is."""
    named = schema.evidence.get("recipients", {})
    names = list(named) if isinstance(named, Mapping) and named else [EVERYONE]
    return dict.fromkeys(names, tuple(range(1, total + 1)))


_KNOWING = {
    "groups": "knows who is in the releases, everyone's quasi-identifiers, and everyone's group",
    "register": "knows who is in the releases, and everyone's quasi-identifiers",
    "files": "has the files alone, and does not know who is in them",
}
_PRIORS = {
    "common": "knows how common each value is",
    "leaving": "knows how common each value is, and learns how soon people with it leave",
    "learned": "knows how common each value is, learns how soon people with it leave and which people tend to have it",
}


def _knowing(findings: Findings) -> tuple[str, ...]:
    """What attacks say of their adversary's knowledge."""
    known = [(one.attack, one.details.get("knowledge")) for one in findings if one.status != Status.NOT_RUN]
    return tuple(f"{attack}: {_KNOWING[knowledge]}." for attack, knowledge in known if knowledge in _KNOWING)


def _assumed(policy: Policy, findings: Findings) -> tuple[str, ...]:
    """What a policy takes an adversary to have."""
    said = [*_knowing(findings), f"The adversary {_PRIORS[policy.prior]}."]
    said += ["The adversary knows how many people of each release have each value."] * ("totals" in policy.knowledge)
    if policy.look_back is not None:
        said.append(f"Attacks look back {plural(policy.look_back, 'release')}; earlier ones are taken to be lost.")
    if policy.collude is not None:
        groups = "; ".join(" and ".join(group) for group in policy.collude) or "nobody"
        said.append(f"Recipients who combine what they hold: {groups}. Others keep it to themselves.")
    if policy.alone:
        said.append("Nobody ever holds two releases: they were not compared.")
    return tuple(said)


def _published(name: str, one: Any, check: Check) -> PublishedRecord:
    smallest = int(check["k"] or 0)
    return PublishedRecord(name, check.rows, check.groups, smallest, _digest(one))


def _digest(one: Any) -> str | None:
    paths = [one] if isinstance(one, str | Path) else one if isinstance(one, list | tuple) else []
    if len(paths) != 1 or not isinstance(paths[0], str | Path) or not Path(paths[0]).is_file():
        return None
    return sha256(Path(paths[0]).read_bytes()).hexdigest()


def _figures(release: str, check: Check) -> list[Figure]:
    """What was measured of one table, under its headings."""
    numbers = [(one.name, one.value, one.sentence) for one in check.measures]
    numbers += [(one.name, one.value, one.sentence) for one in (() if check.risk is None else check.risk.figures)]
    return [
        Figure(str(heading), release, name, value, sentence)
        for heading, names in _BY_HEADING.items()
        for name, value, sentence in numbers
        if name in names
    ]


def _test(finding: Finding) -> TestRecord:
    about = look_up(finding.attack)
    return TestRecord(
        str(Heading.INFERENCE if about is None else about.heading),
        finding.attack,
        str(finding.status).replace("_", " "),
        finding.sentence,
        finding.releases,
        finding.people,
        finding.population,
        finding.measure,
        finding.worst,
        finding.limit,
        "" if about is None else about.summary,
    )


# --- what was done to each column ------------------------------------------------------------------------------------


def columns_of(release: PublishedRelease) -> tuple[ColumnRecord, ...]:
    """Every column of the schema in its order."""
    return tuple(
        ColumnRecord(name, str(role), _technique(release, name, role)) for name, role in release.schema.columns.items()
    )


def _technique(release: PublishedRelease, name: str, role: Role) -> str:
    there = name in release.main.columns or name in release.values.columns
    if not there:
        return "not published"
    if role == Role.QUASI:
        return _generalized(release, name)
    if role == Role.SENSITIVE:
        source = release.source
        changed = source is not None and source.draft.sensitive is not None
        return "published with some values changed" if changed else release.form.values_are
    return "published as it is"


def _generalized(release: PublishedRelease, name: str) -> str:
    """How many records show a value that stands for several, and how many different values there are."""
    looks, hierarchy = release.looks, release.schema.hierarchy(name)
    texts = looks.texts[name]
    different = texts.n_unique()
    try:
        coding = coding_of([texts], hierarchy)
    except CannotRunError:
        return f"generalized by ranges, beside texts that cannot be read; {different:,} different values"
    read = parse_column(texts, coding, partial=True)
    wide = int(looks.rows[read.lo != read.hi].sum())
    share = wide / max(int(looks.rows.sum()), 1)
    if not wide:
        return f"published as it is; {different:,} different values"
    how = {"auto": "ranges or groups of values"}.get(hierarchy.kind, f"a taxonomy ({hierarchy.kind})")
    return f"generalized by {how} in {share:.1%} of the records; {different:,} different values"


# --- the records of commands -----------------------------------------------------------------------------------------


def check_record(
    published: Sequence[Path],
    schema: Schema,
    outcome: Check,
    original: Path | None,
    asked: Mapping[str, Any],
    dialect: Dialect,
    assumed: Sequence[str] = (),
) -> Record:
    """The record of one release that was checked; of a schema that was guessed, what was assumed."""
    guessed = Findings(assumptions=tuple(assumed))
    before = {} if original is None else {original.name: check(original, schema, dialect=dialect)}
    criteria = {name: str(value) for name, value in asked.items() if value is not None}
    if asked.get("preset") is not None:
        criteria["where the preset comes from"] = find_preset(asked["preset"]).source
    name = ", ".join(path.name for path in published)
    return record_of(
        "check",
        {name: published},
        schema,
        [outcome],
        before=before,
        findings=guessed,
        criteria=criteria,
        dialect=dialect,
    )


def attack_record(
    findings: Findings, tables: Sequence[Any], schema: Schema, originals: Path | None, dialect: Dialect
) -> Record:
    """The record of releases that were attacked together, each measured by itself too."""
    if any(getattr(one, "counts", ()) for one in tables):
        raise InputError(
            "A record measures releases of people's records, and some of these are tables of counts: give the others "
            "alone, or write the record of a table with `reissue check-output --record`."
        )
    names = [f"{one.number}: {one.name}" for one in findings.releases]
    shown = [read_published(one, schema, dialect=dialect, as_text=False).of_its_columns() for one in tables]
    checks = [check(one, one.schema) for one in shown]
    before = [] if originals is None else snapshots(originals)
    return record_of(
        "attack",
        dict(zip(names, tables, strict=True)),
        schema,
        checks,
        before={f"original {place}": check(one, schema, dialect=dialect) for place, one in enumerate(before, start=1)},
        findings=findings,
        criteria={f"limit of {one.attack}": f"{one.limit:g}" for one in findings if one.limit is not None},
        dialect=dialect,
    )


def publish_record(made: PublicationInMemory, ledger: Ledger, recipients: Sequence[str] = ()) -> Record:
    """The record of a release that goes out to recipients, before it is recorded in its ledger."""
    release, policy, schema = made.release, ledger.policy, ledger.schema
    limits = {f"limit of {one.attack}": f"{one.limit:g}" for one in made.findings if one.limit is not None}
    criteria = {
        "requirement": str(policy.require),
        "method": policy.method,
        "suppressed records at most": f"{policy.suppress:.1%}",
        "counterfeits at most": f"{policy.counterfeits:.1%} of the people",
        "suppressed records": f"{release.suppressed:,}",
        "counterfeits": f"{release.counterfeits:,}",
        **limits,
    }
    return record_of(
        "publish",
        {f"release {made.number}": release},
        replace(release.table.schema, evidence=schema.evidence),
        [check(release, release.table.schema, release.requirement)],
        before={"the original": check(release.table.frame, release.table.schema)},
        findings=made.findings,
        criteria=criteria,
        held=_held(ledger, made.number, recipients),
        adversary=_assumed(policy, made.findings),
        chain=_place(made, ledger),
    )


def _place(made: PublicationInMemory, ledger: Ledger) -> dict[str, str]:
    """Where a release stands in its ledger's chain."""
    entries = ledger.entries()
    own = [one.entry.hash for one in ledger.releases if made.again and one.number == made.number]
    before = entries[: [one.hash for one in entries].index(own[0])] if own else entries
    return {"release": f"{made.number}", "follows": before[-1].hash} if before else {}


def _held(ledger: Ledger, number: int, recipients: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The numbers of the releases that each recipient of a release then holds; what everyone got, everyone has."""
    before = [one for one in ledger.releases if one.withdrawn is None and one.number < number]
    return {
        name: (*(one.number for one in before if not one.recipients or name in one.recipients), number)
        for name in sorted(set(recipients)) or [EVERYONE]
    }
