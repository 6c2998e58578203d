"""Running an attack for an adversary: on the releases at hand, without the coalition's own records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reissue.attacks.findings import Finding, not_run
from reissue.attacks.registry import Attack
from reissue.errors import CannotRunError
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = ["cannot_run", "run_attack"]


def run_attack(attack: Attack, series: Series, knowledge: Knowledge) -> Finding:
    """Run an attack on the releases that the adversary holds."""
    held = knowledge.held(len(series))
    try:
        seen = series
        if len(held) < len(series):
            seen = series.of(held)
            knowledge = replace(knowledge, members=_of_held(knowledge.members, held, len(series)))
        if knowledge.coalition and not attack.insiders:
            from reissue.attacks.coalition.records import without

            seen = without(seen, knowledge.coalition)
        return attack.run(seen, knowledge)
    except CannotRunError as obstacle:
        return cannot_run(attack.name, held, obstacle)


def cannot_run(attack: str, releases: Sequence[int], obstacle: CannotRunError) -> Finding:
    """The attack was not run, and why."""
    return not_run(attack, releases, str(obstacle), why=obstacle.why, needs=obstacle.needs)


def _of_held(members: Sequence[Any] | None, held: Sequence[int], total: int) -> Sequence[Any] | None:
    """The tables of people for the releases at hand, where there is one for every release."""
    return members if members is None or len(members) != total else [members[number - 1] for number in held]
