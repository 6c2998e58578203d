"""Running an attack for an adversary: on the releases at hand, without the coalition's own records."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from reissue.attacks.findings import Finding, not_run
from reissue.attacks.fold import fold_over, some_members
from reissue.attacks.registry import Attack
from reissue.errors import CannotRunError, InputError
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = ["cannot_run", "judged_at", "run_attack"]


def run_attack(
    attack: Attack, series: Series, knowledge: Knowledge, early: Callable[[int, Finding], None] | None = None
) -> Finding:
    """Run an attack on the releases that the adversary holds.

    `early` is called with what the attack finds after each of them, by its place from 0, where judging costs little.
    """
    if not len(series):
        raise InputError("There is nothing to attack: give one release or more.")
    held = knowledge.held(len(series))
    try:
        _one_row_each(attack, series)
        _same_columns(attack, series)
        return _run(attack, *_seen(attack, series, knowledge, held), early if attack.fold.judges_each else None)
    except CannotRunError as obstacle:
        return cannot_run(attack.name, held, obstacle)


def _one_row_each(attack: Attack, series: Series) -> None:
    """Stop where people have several rows, and the attack would take each row for a person."""
    if series.schema.several_rows and not attack.several_rows:
        raise CannotRunError(
            "it needs one row per person, and the schema says that people have several: it would take every row for a "
            "person."
        )


def _same_columns(attack: Attack, series: Series) -> None:
    """Stop where some releases lack quasi-identifiers that others show, and the attack needs the same in all."""
    quasi = set(series.schema.quasi)
    lacking = [quasi.intersection(one.lacking if one.tables.frames else ()) for one in series.releases]
    everywhere = set.intersection(*lacking) if lacking else set()
    if attack.any_columns or everywhere or not any(lacking):
        return  # a column that no release has is a mistake in the schema, which says so itself
    some = [
        f"release {number} lacks {', '.join(sorted(one))}"
        for number, one in zip(series.numbers, lacking, strict=True)
        if one
    ]
    raise CannotRunError(f"it needs the same quasi-identifiers in every release: {'; '.join(some)}.")


def judged_at(attack: Attack, series: Series, knowledge: Knowledge, places: Collection[int]) -> Iterator[Finding]:
    """What the attack finds after some of the releases held, or in each of them if it judges them by themselves."""
    held = knowledge.held(len(series))
    seen, knowing = _seen(attack, series, knowledge, held)
    for place, state in fold_over(attack.fold, seen, knowing, apart=attack.per_release):
        if place in places:
            yield _judged(attack, state, seen, held[place : place + 1] if attack.per_release else held[: place + 1])


def _run(attack: Attack, series: Series, knowledge: Knowledge, early: Callable[[int, Finding], None] | None) -> Finding:
    for place, added in fold_over(attack.fold, series, knowledge):
        state = added
        if early is not None:
            early(place, _judged(attack, state, series, series.numbers[: place + 1]))
    return attack.fold.explain(state, attack.fold.judge(state, series), series, knowledge)


def _judged(attack: Attack, state: object, series: Series, releases: Sequence[int]) -> Finding:
    try:
        return attack.fold.judge(state, series)
    except CannotRunError as obstacle:
        return cannot_run(attack.name, releases, obstacle)


def _seen(attack: Attack, series: Series, knowledge: Knowledge, held: Sequence[int]) -> tuple[Series, Knowledge]:
    """The releases at hand as this attack sees them, and the knowledge that goes with them."""
    if len(held) < len(series):
        members = some_members(knowledge.members, [number - 1 for number in held], len(series))
        series, knowledge = series.of(held), replace(knowledge, members=members)
    if knowledge.coalition and not attack.insiders:
        from reissue.attacks.coalition.records import without

        series = without(series, knowledge.coalition)
    return series, knowledge


def cannot_run(attack: str, releases: Sequence[int], obstacle: CannotRunError) -> Finding:
    """The attack was not run, and why."""
    return not_run(attack, releases, str(obstacle), why=obstacle.why, needs=obstacle.needs)
