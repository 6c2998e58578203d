"""Records of what check, attack and publish did: each command's own evidence for the file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reissue.attacks.findings import Findings
from reissue.files.dialect import Dialect
from reissue.policy import Policy
from reissue.published import read_published
from reissue.publishing.series import snapshots
from reissue.publishing.turn import Publication
from reissue.report.evidence.record import Record, record_of
from reissue.schema import Schema
from reissue.verify.check import Check, check
from reissue.verify.risk import find_preset

__all__ = ["attack_record", "check_record", "publish_record"]


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


def publish_record(made: Publication, policy: Policy) -> Record:
    """The record of a release that goes out."""
    release = made.release
    schema = release.table.schema
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
        schema,
        [check(release, schema, release.requirement)],
        before={"the original": check(release.table.frame, schema)},
        findings=made.findings,
        criteria=criteria,
    )
