"""attack: what releases give away together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reissue.attacks import by_default, find
from reissue.attacks.findings import Finding, Findings, Point
from reissue.attacks.run import deciding, run_attack
from reissue.engines.registry import MEMORY
from reissue.errors import SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.people.knowledge import Knowledge
from reissue.proposing.guess import GuessedSchema, guess
from reissue.published.series import Series
from reissue.publishing.registers import check_registers
from reissue.publishing.timeline import attacked, timeline_of
from reissue.schema import Schema

__all__ = ["asked_for", "attack"]


def attack(
    releases: Sequence[Any],
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    only: str | Sequence[str] | None = None,
    exact: bool = False,
    knowledge: Knowledge | None = None,
    limits: Mapping[str, float] | None = None,
    dialect: Dialect = FOUND,
    timeline: bool = False,
    engine: str = MEMORY,
    progress: Callable[[float], None] = lambda _: None,
) -> Findings:
    """Attack releases the way someone who holds them would.

    `releases` are paths, dataframes or Release objects, in the order they were published; anyone's files will do.
    Without a schema one is guessed from them, and `assumptions` of the findings tells what was taken for granted.
    `only` names the attacks to run; by default all that are quick, and what the schema's policy names. `exact` asks for
    the slower exact way of those that have one,
    `limits` sets an attack's limit, by its name, where the schema's policy does not. With `timeline` it is
    judged for the first releases too, to show how the risk grew. `progress` is called with the share of the work
    that is done.

    `engine` says who reads: "memory", or "stream" and "spark" for releases larger than that, of which the different
    rows are counted. Attacks that decide on counts run so (`correspondence`, `coalition`, `disclosure`, `minimality`),
    and those that follow people in the holder's copies (`joint`, `updates`, `trajectory`), all given to the same
    engine; others are not run. A table of people is counted by it too.
    """
    for name in limits or {}:
        find(name)
    known = knowledge or Knowledge()
    if engine != MEMORY and schema is None:
        raise SchemaError("A schema is guessed from tables in memory: releases that an engine counts need one.")
    guessed = GuessedSchema(Schema.read(schema)) if schema is not None else _guess(releases, known, dialect)
    if not guessed.schema.quasi:
        raise SchemaError(
            "An attack needs a quasi-identifier: a column that others may know, and the schema names none."
        )
    read: dict[str, Any] = {"exact": exact, "limits": limits, "dialect": dialect, "engine": engine}
    names = [only] if isinstance(only, str) else asked_for(guessed.schema) if only is None else list(only)
    chosen = [find(name) for name in names]
    series = Series.read(guessed.tables or releases, guessed.schema, **read)
    known = check_registers(known, series, engine)
    found: dict[str, Finding] = {}
    grown = {}
    # By name, whatever the order asked for: whoever comes first leaves what others need too (`joint/solution`).
    for number, one in enumerate(sorted(chosen, key=lambda one: one.name)):

        def within(share: float, number: int = number) -> None:
            progress((number + share) / len(chosen))

        found[one.name] = run_attack(one, series, replace(known, progress=within))
        points: tuple[Point, ...] = timeline_of(one, found[one.name], series, known) if timeline else ()
        if points:
            grown[one.name] = points
        progress((number + 1) / len(chosen))
    findings = [found[one.name] for one in chosen]
    named = series.schema.policy.get("attacks") or ()
    blurred = any(release.has_counterfeits for release in series.releases)
    findings = deciding(findings, named, series.limit, blurred=blurred)
    return Findings(tuple(findings), attacked(series), grown, guessed.assumed)


def asked_for(schema: Schema) -> list[str]:
    """The attacks that are run where nobody names any: the quick ones, and what the policy names beside them."""
    named = schema.policy.get("attacks")
    named = [name for name in named if isinstance(name, str)] if isinstance(named, list | tuple) else []
    return sorted({*by_default(), *named})


def _guess(releases: Sequence[Any], known: Knowledge, dialect: Dialect) -> GuessedSchema:
    return guess(releases, members=known.members, population=known.population, dialect=dialect)
