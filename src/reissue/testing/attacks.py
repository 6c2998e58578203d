"""What every attack must keep: run on a small invented series, or on releases that are given."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

from reissue import synth
from reissue.attacks import Attack, Knowledge, find
from reissue.attacks.findings import Finding, Status
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack as run
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.testing.contract import expect

__all__ = ["check_attack"]


def check_attack(
    name: str, releases: Sequence[Any] | None = None, schema: Schema | None = None, knowledge: Knowledge | None = None
) -> Finding:
    """Check a registered attack, and give what it found: a finding that says what it must and nothing it must not.

    `releases` (two or more, with a schema) are for attacks that need something particular; by default invented patients
    of three months, published with k = 3. `knowledge` is what its adversary knows.
    """
    attack, known = find(name), knowledge or Knowledge()
    given, plan = (_invented(), None) if releases is None else (list(releases), schema)
    before = [_frames(one) for one in given]
    shares: list[float] = []
    patient = replace(known, progress=shares.append)
    _check_registration(attack)
    found = run(given, plan, only=name, knowledge=patient)[name]
    _check_finding(found, name, len(given))
    _check_silence(found, given)
    expect(run(given, plan, only=name, knowledge=known)[name] == found, "the same releases give the same finding")
    expect([_frames(one) for one in given] == before, "the releases are not changed")
    expect(all(0 <= share <= 1 + 1e-9 for share in shares), "progress is a share of the work")
    _check_parts(attack, given, plan, known, found)
    return found


def _check_registration(attack: Attack) -> None:
    expect(attack.summary.endswith("."), "the summary of an attack is a sentence")
    expect(attack.fewest >= 1, "an attack needs a release")
    expect(not (attack.per_release and attack.fewest > 1), "who judges each release by itself does not need two")


def _check_finding(found: Finding, name: str, releases: int) -> None:
    expect(found.attack == name, "a finding is called as its attack")
    expect(set(found.releases) <= set(range(1, releases + 1)), "releases are numbered from 1")
    expect(0 <= found.people <= found.population, "no more people are exposed than there are")
    expect((found.status == Status.EXPOSED) == (found.people > 0), "exposed means that somebody is")
    expect(found.sentence.endswith("."), "what was found is a sentence")
    json.dumps(found.as_dict())


def _check_silence(found: Finding, releases: Sequence[Any]) -> None:
    """Sentences end in logs: no identifier, no sensitive value. Plain numbers may be counts, and are not looked for."""
    text = f"{found.sentence} {found.reason or ''}"
    for one in releases:
        if isinstance(one, Release):
            hidden = [*filter(None, [one.schema.identifier]), *one.schema.sensitive]
            values = {str(value) for name in hidden for value in one.table.frame[name].unique() if value is not None}
            private = [value for value in values if not value.isdigit()]
            said = any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) for value in private)
            expect(not said, "a sentence never has a value of the data")


def _check_parts(attack: Attack, given: list[Any], plan: Schema | None, known: Knowledge, found: Finding) -> None:
    """Fewer releases: one alone, and what an adversary holds who did not get all."""
    held = run(given, plan, only=attack.name, knowledge=replace(known, holds=(1,)))[attack.name]
    expect(held.releases == (1,), "who holds one release is judged by that one")
    if attack.fewest > 1:
        expect(held.status == Status.NOT_RUN, "with too few releases it is not run")
    if attack.per_release and found.status != Status.NOT_RUN:
        each = [run([one], plan, only=attack.name, knowledge=known)[attack.name].status for one in given]
        alike = (Status.EXPOSED in each) == (found.status == Status.EXPOSED)
        expect(alike or Status.NOT_RUN in each, "releases are judged by themselves: together they expose as much")


def _frames(one: Any) -> dict[str, list[Any]]:
    tables = one.tables if isinstance(one, Release) else one if isinstance(one, dict) else {"release": one}
    frames = {name: table for name, table in tables.items() if isinstance(table, pl.DataFrame)}
    return {name: frame.rows() for name, frame in frames.items()}


@cache
def _invented() -> list[Any]:
    named = pl.format("person-{}", "patient").alias("patient")
    months = [month.with_columns(named) for month in synth.Population(seed=4, people=60).months(3)]
    return [anonymize(month, synth.schema(), "k=3", seed=9) for month in months]
