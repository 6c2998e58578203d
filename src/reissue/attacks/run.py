"""Running an attack for an adversary: on the releases at hand, without the coalition's own records."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from reissue.attacks.findings import ALONE, FIRST, Finding, Status, not_run
from reissue.attacks.fold import fold_over, some_members
from reissue.attacks.registry import Attack, registered
from reissue.errors import CannotRunError, InputError, Why
from reissue.people.knowledge import Knowledge
from reissue.protection import TOGETHER
from reissue.published.series import Series
from reissue.schema import Role

__all__ = ["Ran", "cannot_run", "deciding", "run", "run_attack"]


@dataclass(frozen=True, eq=False)
class Ran:
    """An attack that was run: what it found, and the states that it went through."""

    finding: Finding
    attack: Attack
    series: Series
    """The releases held, as the attack sees them."""
    knowledge: Knowledge
    states: Mapping[int, Any]
    """Place to the state after it: those asked for, and the last. None where the attack could not be run."""
    columns: "Mapping[str, Ran]" = field(default_factory=dict)
    """Where it was run for each sensitive column, and for all of them together: these runs."""

    def found_at(self, places: Sequence[int]) -> Iterator[Finding | None]:
        """What it finds after some of the releases, by the limit of them all; in each, if it judges them by themselves.

        None where it could not be run then.
        """
        if self.columns:
            each = zip(*(ran.found_at(places) for ran in self.columns.values()), strict=True)
            return (_worst(self.attack.name, dict(zip(self.columns, found, strict=True))) for found in each)
        limit, last = self.finding.limit, len(self.series) - 1
        series, grown = self.series, self.attack.fold.grown
        if self.attack.per_release:
            return self._each(places) if grown is None else grown(self.states[last], series, places)
        if limit is not None:
            series = replace(series, limits={**series.limits, self.attack.name: limit})
        earlier = [place for place in places if place != last]
        found = self._judged(earlier, series) if grown is None else grown(self.states[last], series, earlier)
        return chain(found, (self.finding for place in places if place == last))

    def _judged(self, places: Iterable[int], series: Series) -> Iterator[Finding | None]:
        return (_judged(self.attack, self.states[place], series) for place in places)

    def _each(self, places: Collection[int]) -> Iterator[Finding | None]:
        for place, state in fold_over(self.attack.fold, self.series, self.knowledge, apart=True):
            if place in places:
                yield _judged(self.attack, state, self.series)


def run_attack(attack: Attack, series: Series, knowledge: Knowledge) -> Finding:
    """What an attack finds in the releases that the adversary holds."""
    return run(attack, series, knowledge).finding


def run(attack: Attack, series: Series, knowledge: Knowledge, places: Collection[int] = ()) -> Ran:
    """Run an attack on the releases that the adversary holds, and keep its states after some of them.

    Where there are several sensitive columns, an attack that takes their values for one is run for each of them too.
    """
    if not len(series):
        raise InputError("There is nothing to attack: give one release or more.")
    columns = series.schema.sensitive
    if not attack.each_column or len(columns) < 2:
        return _run(attack, series, knowledge, places)
    seen = {column: series.of_sensitive(column) for column in columns} | {TOGETHER.join(columns): series}
    ran = {}
    for turn, (column, one) in enumerate(seen.items()):

        def within(share: float, turn: int = turn) -> None:
            knowledge.progress((turn + share) / len(seen))

        ran[column] = _run(attack, one, replace(knowledge, progress=within), places)
    worst = _worst(attack.name, {column: one.finding for column, one in ran.items()})
    assert worst is not None  # noqa: S101  # every run has a finding
    return replace(ran[TOGETHER.join(columns)], finding=worst, columns=ran)


def _worst(attack: str, found: Mapping[str, Finding | None]) -> Finding | None:
    """What an attack finds in the sensitive column that is worst off, and in short what it finds in the others."""
    known = {column: one for column, one in found.items() if one is not None}
    if not known:
        return None
    column = max(known, key=lambda name: _gravity(known[name]))
    worst, where = known[column], _where(column)
    brief = {name: _brief(one) for name, one in known.items()}
    details = {**worst.details, "column": column, "columns": brief}
    if worst.reason is None:
        said = f"{where}: {worst.sentence}"
        if worst.status == Status.WITHSTOOD:
            worst_off = f"Worst {said[0].lower()}{said[1:]}"
            said = f"Every sensitive column withstands it by itself, and so do all of them together. {worst_off}"
        return replace(worst, sentence=said, details=details)
    everywhere = len({one.reason for one in known.values()}) == 1
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


def _run(attack: Attack, series: Series, knowledge: Knowledge, places: Collection[int]) -> Ran:
    """The same of the values of all sensitive columns together."""
    held = knowledge.held(len(series))
    states: dict[int, Any] = {}
    ignored: Sequence[str] = ()
    try:
        _one_row_each(attack, series)
        _every_row(attack, series, knowledge)
        series, knowledge = _seen(attack, series, knowledge, held)
        series, ignored = _compared(attack, series)
        last = len(series) - 1
        wanted = {*places, last}
        states = {place: state for place, state in fold_over(attack.fold, series, knowledge) if place in wanted}
        found = attack.fold.judge(states[last], series)
        found = attack.fold.explain(states[last], found, series, knowledge)
    except CannotRunError as obstacle:
        found = cannot_run(attack.name, held, obstacle)
    return Ran(replace(_noted(found, ignored), compares=attack.compares), attack, series, knowledge, states)


def _one_row_each(attack: Attack, series: Series) -> None:
    """Stop where people have several rows, and the attack would take each row for a person."""
    if attack.several_rows:
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


def _every_row(attack: Attack, series: Series, knowledge: Knowledge) -> None:
    """Stop where equal rows were counted together, and the attack would take each kind of row for one record."""
    counted = [one for one in series.releases if one.tables.times is not None]
    if attack.by_cells or not counted:
        return
    registers = knowledge.members is not None or knowledge.population is not None
    if attack.by_people and (registers or all(one.tables.people is not None for one in counted)):
        return
    people = ", or give copies that kept the identifier, all of them to one engine" if attack.by_people else ""
    raise CannotRunError(f"it needs every row, and an engine counted equal ones together: use engine memory{people}.")


def _compared(attack: Attack, series: Series) -> tuple[Series, tuple[str, ...]]:
    """The releases by the columns that they share, where the attack needs the same in all; and those ignored."""
    schema, ignored = series.schema, list[str]()
    for names, any_will_do, what in (
        (schema.quasi, attack.any_columns, "quasi-identifiers"),
        (schema.sensitive, attack.any_values, "sensitive columns"),
    ):
        lacking = [{*names} - {*one.shown} if one.tables.frames else set() for one in series.releases]
        some = set().union(*lacking)
        if any_will_do or not some or set.intersection(*lacking):
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


def _noted(found: Finding, ignored: Sequence[str]) -> Finding:
    """A finding that says which columns were ignored."""
    if not ignored or found.status == Status.NOT_RUN:
        return found
    names = ", ".join(map(repr, ignored))
    note = f" Ignored, because some release lacks {'it' if len(ignored) == 1 else 'them'}: {names}."
    return replace(found, sentence=found.sentence + note, details={**found.details, "ignored": list(ignored)})


def _judged(attack: Attack, state: object, series: Series) -> Finding | None:
    try:
        return attack.fold.judge(state, series)
    except CannotRunError:
        return None


def _seen(attack: Attack, series: Series, knowledge: Knowledge, held: Sequence[int]) -> tuple[Series, Knowledge]:
    """The releases at hand as this attack sees them, and the knowledge that goes with them."""
    if len(held) < len(series):
        members = some_members(knowledge.members, [number - 1 for number in held], len(series))
        series, knowledge = series.of(held), replace(knowledge, members=members)
    if knowledge.coalition and not attack.insiders:
        from reissue.papers.coalition.records import without

        series = without(series, knowledge.coalition)
    return series, knowledge


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
    known = registered()
    return [
        replace(one, decides=False)
        if one.status == Status.EXPOSED
        and one.attack not in named
        and limit(one.attack) is None
        and any(
            {*one.releases} <= {*truth.releases}
            and (known[one.attack].no_probability or _solved_better(one, truth, blurred=blurred))
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
