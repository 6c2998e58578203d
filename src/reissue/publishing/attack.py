"""attack: what releases give away together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reissue.attacks import find, registered
from reissue.attacks.findings import Finding, Findings, Point
from reissue.attacks.run import deciding, run
from reissue.engines.registry import MEMORY
from reissue.errors import SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.people.knowledge import Knowledge
from reissue.proposing.guess import Guessed, guess
from reissue.published.series import Series
from reissue.publishing.registers import check_registers
from reissue.publishing.timeline import attacked, places_of, timeline_of
from reissue.schema import Schema

__all__ = ["attack", "tested"]


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
    `only` names the attacks to run (all by default), `exact` asks for the slower exact way of those that have one,
    `limits` sets an attack's limit, by its name, where the schema's policy does not. With `timeline` it is
    judged for the first releases too, to show how the risk grew. `progress` is called with the share of the work
    that is done.

    `engine` says who reads: "memory", or "stream" and "spark" for releases larger than that, of which the different
    rows are counted. Attacks that decide on counts run so (`correspondence`, `coalition`, `minimality`), and those that
    follow people in the holder's copies (`joint`, `updates`, `trajectory`), all releases given to the same engine;
    others are not run. A table of people is counted by it too.
    """
    names = [only] if isinstance(only, str) else list(only) if only is not None else list(registered())
    chosen = [find(name) for name in names]
    for name in limits or {}:
        find(name)
    known = knowledge or Knowledge()
    if engine != MEMORY and schema is None:
        raise SchemaError("A schema is guessed from tables in memory: releases that an engine counts need one.")
    guessed = Guessed(Schema.read(schema)) if schema is not None else _guess(releases, known, dialect)
    if not guessed.schema.quasi:
        raise SchemaError(
            "An attack needs a quasi-identifier: a column that others may know, and the schema names none."
        )
    read: dict[str, Any] = {"exact": exact, "limits": limits, "dialect": dialect, "engine": engine}
    series = Series.read(guessed.tables or releases, guessed.schema, **read)
    known = check_registers(known, series, engine)
    found: dict[str, Finding] = {}
    grown = {}
    # By name, whatever the order asked for: whoever comes first leaves what others need too (`joint/solution`).
    for number, one in enumerate(sorted(chosen, key=lambda one: one.name)):

        def within(share: float, number: int = number) -> None:
            progress((number + share) / len(chosen))

        ran = run(one, series, replace(known, progress=within), places_of(series, known) if timeline else ())
        found[one.name] = ran.finding
        points: tuple[Point, ...] = timeline_of(ran) if timeline else ()
        if points:
            grown[one.name] = points
        progress((number + 1) / len(chosen))
    findings = [found[one.name] for one in chosen]
    named = series.schema.policy.get("attacks") or ()
    return Findings(tuple(deciding(findings, named, series.limit)), attacked(series), grown, guessed.assumed)


def _guess(releases: Sequence[Any], known: Knowledge, dialect: Dialect) -> Guessed:
    return guess(releases, members=known.members, population=known.population, dialect=dialect)


def tested(findings: Findings) -> bool:
    """Whether an attack that compares the releases ran; where none was asked for, or there is one release, any."""
    known = registered()
    ran = [one.attack for one in findings if one.reason is None]
    comparing = [one.attack for one in findings if one.attack not in known or known[one.attack].compares]
    several = len(findings.releases) > 1 and bool(comparing)
    return any(name in comparing for name in ran) if several else bool(ran)
