"""attack: what releases give away together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reissue.attacks import by_default, find
from reissue.attacks.findings import POSTERIOR, Finding, Findings, Point
from reissue.attacks.registry import on_counts
from reissue.attacks.run import as_published, deciding, run_attack
from reissue.contingency.cells import CountRules
from reissue.engines.registry import MEMORY
from reissue.errors import InputError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.people.knowledge import Knowledge
from reissue.proposing.from_releases import GuessedSchema, guess
from reissue.published import Tables, open_counts
from reissue.published.series import Series
from reissue.publishing.registers import check_registers
from reissue.publishing.timeline import attacked, timeline_of
from reissue.release.release import SIDE
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
    counts: CountRules | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Findings:
    """Attack releases as someone who holds them would.

    Parameters
    ----------
    releases
        Paths, dataframes or Release objects, in the order in which they were published. Anyone's files will do.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path. Without it, a schema is guessed
        from the releases, and `assumptions` of the result says what was assumed.
    only
        The attacks to run; by default all that are quick, and those that the schema's policy names.
    exact
        Whether attacks that have a slower exact way take it.
    knowledge
        What the adversary knows in addition to the releases.
    limits
        Limits of attacks by name, where the schema's policy does not set them.
    dialect
        How the cells of text files are written; what is not given is detected.
    timeline
        Whether to judge also after each of the earlier releases, to show how the risk grew.
    engine
        Who reads: "memory", or "stream" and "spark" for larger releases, of which distinct rows are counted. Attacks
        that need every row are then not run.
    counts
        How the counts of published tables of counts were protected: rounded, perturbed, suppressed. Such tables are
        recognized; where this is given, whatever could be one is taken for one.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Findings
        One finding per attack, and a verdict.

    Raises
    ------
    InputError
        If a release cannot be read, or the releases do not belong together.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> months = Population(seed=1, people=200).months(2)
    >>> releases = [ri.anonymize(month, schema(), "k=5 & l=3", seed=1) for month in months]
    >>> findings = ri.attack(releases, schema(), only=["joint", "disclosure"])
    >>> [finding.attack for finding in findings]
    ['joint', 'disclosure']
    >>> findings["joint"].people > 0
    True
    """
    for name in limits or {}:
        find(name)
    if not isinstance(knowledge, Knowledge | None):
        raise InputError("What the adversary knows is given as a ri.Knowledge: ri.Knowledge(groups=True), for example.")
    known = knowledge or Knowledge()
    given = None if schema is None else Schema.read(schema)
    if engine == MEMORY and isinstance(releases, Sequence) and not isinstance(releases, str):
        releases = open_counts(releases, given, rules=counts, dialect=dialect)
    if engine != MEMORY and schema is None:
        raise SchemaError("A schema is guessed from tables in memory: releases that an engine counts need one.")
    guessed = GuessedSchema(given, _counted(releases)) if given is not None else _guess(releases, known, dialect)
    if not guessed.schema.quasi:
        raise SchemaError(
            "An attack needs a quasi-identifier: a column that others may know, and the schema names none."
        )
    read: dict[str, Any] = {"exact": exact, "limits": limits, "dialect": dialect, "engine": engine}
    series = Series.read(guessed.tables or releases, guessed.schema, **read)
    names = [only] if isinstance(only, str) else asked_of(series) if only is None else list(only)
    chosen = [find(name) for name in names]
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
    if all(SIDE in release.tables.frames for release in series.releases):
        findings = [one if one.attack == POSTERIOR else as_published(one, series.schema) for one in findings]
    return Findings(tuple(findings), attacked(series), grown, guessed.assumed)


def asked_for(schema: Schema) -> list[str]:
    """The attacks that are run where nobody names any: the quick ones, and what the policy names beside them."""
    named = schema.policy.get("attacks")
    named = [name for name in named if isinstance(name, str)] if isinstance(named, list | tuple) else []
    return sorted({*by_default(), *named})


def asked_of(series: Series) -> list[str]:
    """The attacks that are run on some releases where nobody names any."""
    counted = any(release.counts for release in series.releases)
    randomized = any(SIDE in release.tables.frames for release in series.releases)
    more = [*(on_counts() if counted else ()), *([POSTERIOR] if randomized else ())]
    return sorted({*asked_for(series.schema), *more})


def _counted(releases: Sequence[Any]) -> tuple[str, ...]:
    """What was assumed of tables of counts."""
    tables = [one for release in releases if isinstance(release, Tables) for one in release.counts]
    return tuple(dict.fromkeys(sentence for one in tables for sentence in one.assumed))


def _guess(releases: Sequence[Any], known: Knowledge, dialect: Dialect) -> GuessedSchema:
    return guess(releases, members=known.members, population=known.population, dialect=dialect)
