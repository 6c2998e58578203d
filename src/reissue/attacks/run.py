"""Running an attack for an adversary: on the releases held, without the coalition's own records, over time."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reissue.attacks.findings import ALONE, FIRST, Finding, Status, not_run
from reissue.attacks.insiders import refuse_outsiders, without
from reissue.attacks.registry import Accepts, Attack, find
from reissue.errors import CannotRunError, DataError, InputError, Why
from reissue.people.knowledge import Knowledge
from reissue.protection import TOGETHER
from reissue.published.series import Series
from reissue.schema import Role, Schema

__all__ = ["as_published", "cannot_run", "deciding", "is_of_published", "over_time", "run_attack"]

_OF_PUBLISHED = "published_values"
"""Marks the details of findings that take randomized values for true."""


def run_attack(attack: Attack, series: Series, knowledge: Knowledge) -> Finding:
    """Return what an attack finds in the releases that the adversary holds.

    Where there are several sensitive columns, an attack that takes their values for one is run for each of them too.

    Raises
    ------
    InputError
        If there are no releases, or a provider of the coalition gave no record to any of them.

    """
    if not len(series):
        raise InputError("There is nothing to attack: give one release or more.")
    if knowledge.coalition:
        refuse_outsiders(_of(series, knowledge.held(len(series))), knowledge.coalition)
    return _by_column(attack, series, knowledge)


def over_time(
    attack: Attack, found: Finding, series: Series, knowledge: Knowledge, places: Sequence[int]
) -> Iterator[Finding | None]:
    """Yield what somebody would find who stopped collecting earlier; None where the attack does not run then.

    `places` count the releases held, from 0: all up to each of them, or each by itself where the attack judges releases
    by themselves. `found` is what is found in all of them; every place is judged by its limit.
    """
    held, silent = knowledge.held(len(series)), replace(knowledge, progress=lambda _: None)
    for place in places:
        if place == len(held) - 1 and not attack.per_release:
            yield found
            continue
        holds = held[place : place + 1] if attack.per_release else held[: place + 1]
        try:
            yield _by_the_limit(attack, found, series, replace(silent, holds=holds))
        except DataError:
            yield None


def _by_the_limit(attack: Attack, whole: Finding, series: Series, knowledge: Knowledge) -> Finding | None:
    """What some of the releases give away, by the limit of them all; None where the attack does not run."""
    found = _by_column(attack, series, knowledge)
    moves = not attack.per_release and whole.limit is not None and found.limit != whole.limit
    if moves and found.status != Status.NOT_RUN:
        series = replace(series, limits={**series.limits, attack.name: float(whole.limit or 0)})
        found = _by_column(attack, series, knowledge)
    return None if found.status == Status.NOT_RUN else found


def _by_column(attack: Attack, series: Series, knowledge: Knowledge) -> Finding:
    """The finding of the sensitive column that is worst off, where each is attacked by itself."""
    columns = series.schema.sensitive
    if not attack.each_column or len(columns) < 2:
        return _found(attack, series, knowledge)
    seen = {column: series.of_sensitive(column) for column in columns} | {TOGETHER.join(columns): series}
    found = {}
    for turn, (column, one) in enumerate(seen.items()):

        def within(share: float, turn: int = turn) -> None:
            knowledge.progress((turn + share) / len(seen))

        found[column] = _found(attack, one, replace(knowledge, progress=within))
    return _worst(attack.name, found)


def _worst(attack: str, found: Mapping[str, Finding]) -> Finding:
    """The finding of the sensitive column that is worst off, with the others in brief."""
    column = max(found, key=lambda name: _gravity(found[name]))
    worst, where = found[column], _where(column)
    brief = {name: _brief(one) for name, one in found.items()}
    details = {**worst.details, "column": column, "columns": brief}
    if worst.reason is None:
        said = f"{where}: {worst.sentence}"
        if worst.status == Status.WITHSTOOD:
            worst_off = f"Worst {said[0].lower()}{said[1:]}"
            said = f"Every sensitive column withstands it by itself, and so do all of them together. {worst_off}"
        return replace(worst, sentence=said, details=details)
    everywhere = len({one.reason for one in found.values()}) == 1
    reason = worst.reason if everywhere else f"{where[0].lower()}{where[1:]}, {worst.reason}"
    why = worst.why or Why.DOES_NOT_APPLY
    made = not_run(attack, worst.releases, reason, details, why=why, needs=worst.needs)
    return replace(made, compares=worst.compares)


def _where(column: str) -> str:
    return "In the sensitive columns taken together" if TOGETHER in column else f"In the column '{column}'"


def _gravity(found: Finding) -> tuple[int, int, float]:
    """Who is exposed comes first, then what could not be run: that is never counted as withstood."""
    order = (Status.WITHSTOOD, Status.NOT_RUN, Status.EXPOSED)
    worst, limit = found.worst or 0.0, found.limit or 0.0
    return order.index(found.status), found.people, limit - worst if found.at_least else worst - limit


def _brief(found: Finding) -> dict[str, Any]:
    return {
        "status": str(found.status),
        "sentence": found.sentence,
        "reason": found.reason,
        "people": found.people,
        "worst": found.worst,
        "limit": found.limit,
    }


def _found(attack: Attack, series: Series, knowledge: Knowledge) -> Finding:
    """What the attack finds, or why it does not run."""
    held = knowledge.held(len(series))
    try:
        held = _of_people(attack, series, held)
        _refuse_repeated_records(attack, series)
        _refuse_counted_rows(attack, series, knowledge)
        _refuse_too_few(attack, held)
        series, knowledge = _held(attack, series, knowledge, held)
        series, ignored = _shared_columns(attack, series)
        found = _with_ignored(attack.run(series, knowledge), ignored)
    except CannotRunError as obstacle:
        found = cannot_run(attack.name, held, obstacle)
    return replace(found, compares=attack.compares)


def _of_people(attack: Attack, series: Series, held: Sequence[int]) -> tuple[int, ...]:
    """The releases held without tables of counts, unless the attack takes those."""
    if Accepts.COUNTS in attack.accepts:
        return tuple(held)
    kept = tuple(number for number in held if not series.releases[number - 1].counts)
    if not kept:
        raise CannotRunError("it reads people's records, and tables of counts have none.")
    return kept


def _refuse_too_few(attack: Attack, held: Sequence[int]) -> None:
    """Stop where there are fewer releases than the attack needs."""
    if len(held) < attack.fewest:
        there = "there is only one" if len(held) == 1 else f"there are only {len(held)}"
        raise CannotRunError(f"it compares releases, and {there}.")


def _refuse_repeated_records(attack: Attack, series: Series) -> None:
    """Stop where people have several rows, and the attack would take each row for a person."""
    if Accepts.REPEATED_RECORDS in attack.accepts:
        return
    if series.schema.several_rows:
        raise CannotRunError(
            "it needs one row per person, and the schema says that people have several: it would take every row for a "
            "person."
        )
    repeating = [number for number, one in zip(series.numbers, series.releases, strict=True) if one.repeats]
    if repeating:
        raise CannotRunError(
            f"it needs one row per person, and identifiers repeat in release {repeating[0]}: somebody has several rows "
            "there, or several providers gave records of the same person."
        )


def _refuse_counted_rows(attack: Attack, series: Series, knowledge: Knowledge) -> None:
    """Stop where equal rows were counted together, and the attack would take each kind of row for one record."""
    counted = [one for one in series.releases if one.tables.times is not None]
    if Accepts.COUNTED_ROWS in attack.accepts or not counted:
        return
    registers = knowledge.members is not None or knowledge.population is not None
    by_people = Accepts.COUNTED_PEOPLE in attack.accepts
    if by_people and (registers or all(one.tables.people is not None for one in counted)):
        return
    people = ", or give copies that kept the identifier, all of them to one engine" if by_people else ""
    raise CannotRunError(f"it needs every row, and an engine counted equal ones together: use engine memory{people}.")


def _shared_columns(attack: Attack, series: Series) -> tuple[Series, tuple[str, ...]]:
    """The releases by the columns that they share, where the attack needs the same in all; and those ignored."""
    schema, ignored = series.schema, list[str]()
    for names, others, what in (
        (schema.quasi, Accepts.OTHER_COLUMNS, "quasi-identifiers"),
        (schema.sensitive, Accepts.OTHER_VALUES, "sensitive columns"),
    ):
        lacking = [{*names} - {*one.shown} if one.tables.frames else set() for one in series.releases]
        some = set().union(*lacking)
        if others in attack.accepts or not some or set.intersection(*lacking):
            continue  # a column that no release has is a mistake in the schema, which says so itself
        if some == {*names} or any(one.source or one.presences for one in series.releases):
            raise CannotRunError(f"it needs the same {what} in every release: {_lack(series.numbers, lacking)}.")
        ignored += [name for name in names if name in some]
    if not ignored:
        return series, ()
    shared = schema.with_roles(dict.fromkeys(ignored, Role.DROP))
    return replace(series, releases=tuple(one.with_schema(shared) for one in series.releases), schema=shared), tuple(
        ignored
    )


def _lack(numbers: Sequence[int], lacking: Sequence[Collection[str]]) -> str:
    return "; ".join(
        f"release {number} lacks {', '.join(sorted(one))}" for number, one in zip(numbers, lacking, strict=True) if one
    )


def _with_ignored(found: Finding, ignored: Sequence[str]) -> Finding:
    """The finding, saying which columns were ignored."""
    if not ignored or found.status == Status.NOT_RUN:
        return found
    names = ", ".join(map(repr, ignored))
    note = f" Ignored, because some release lacks {'it' if len(ignored) == 1 else 'them'}: {names}."
    return replace(found, sentence=found.sentence + note, details={**found.details, "ignored": list(ignored)})


def _held(attack: Attack, series: Series, knowledge: Knowledge, held: Sequence[int]) -> tuple[Series, Knowledge]:
    """The releases held as this attack sees them, and the knowledge that goes with them."""
    if len(held) < len(series):
        members = knowledge.members
        if members is not None and len(members) == len(series):
            knowledge = replace(knowledge, members=[members[number - 1] for number in held])
        series = _of(series, held)
    if knowledge.coalition and Accepts.COALITIONS not in attack.accepts:
        series = without(series, knowledge.coalition)
    return series, knowledge


def _of(series: Series, held: Sequence[int]) -> Series:
    """The releases held, which are counted from 1."""
    return series.of([series.numbers[number - 1] for number in held])


def deciding(
    findings: Sequence[Finding],
    named: Collection[str],
    limit: Callable[[str], float | None],
    *,
    blurred: bool = False,
) -> list[Finding]:
    """Findings, of which those that decide nothing say so.

    Where everyone at once was solved for, a paper's measure that is no probability decides nothing, unless a policy
    named its attack or somebody set it a limit. Nor do shares of values in the groups of one release, where it was not
    known who is in which group, or which records are counterfeits (`blurred`).
    """
    truths = [
        one for one in findings if one.attack == FIRST and one.reason is None and one.details.get("converged", True)
    ]
    return [
        replace(one, decides=False)
        if one.status == Status.EXPOSED
        and one.attack not in named
        and limit(one.attack) is None
        and any(
            {*one.releases} <= {*truth.releases}
            and (find(one.attack).no_probability or _solved_better(one, truth, blurred=blurred))
            for truth in truths
        )
        else one
        for one in findings
    ]


def _solved_better(one: Finding, truth: Finding, *, blurred: bool) -> bool:
    """Whether an attack on the groups of one release links the very people of whom the truth says less.

    It does where people fit several groups, or groups hold counterfeits. Who is in which group, all of them people,
    cannot be linked less surely on average than by the group's shares.
    """
    if one.attack != ALONE or one.details.get("small") or truth.details["strangers"] or truth.details["contradicted"]:
        return False
    return blurred or bool(truth.details["fits"] > 1)


def cannot_run(attack: str, releases: Sequence[int], obstacle: CannotRunError) -> Finding:
    """The attack was not run, and why."""
    return not_run(attack, releases, str(obstacle), why=obstacle.why, needs=obstacle.needs)


# --- randomized values ---------------------------------------------------------------------------------------------


def as_published(finding: Finding, schema: Schema) -> Finding:
    """A finding of an attack that takes published values for true, where they are randomized: it decides nothing."""
    if not schema.sensitive or finding.status == Status.NOT_RUN:
        # What it would have found is about published values too: nothing is missing for the verdict.
        return replace(finding, why=Why.DOES_NOT_APPLY) if schema.sensitive else finding
    said = (
        "Values are randomized, and this attack takes published values for true; what it finds is about published "
        f"values. {finding.sentence}"
    )
    return replace(finding, sentence=said, decides=False, details={**finding.details, _OF_PUBLISHED: True})


def is_of_published(finding: Finding) -> bool:
    """Whether a finding takes randomized values for true."""
    return bool(finding.details.get(_OF_PUBLISHED))
