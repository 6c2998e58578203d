"""Attacks: one package each, a function from releases and knowledge to a finding."""

from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import (
    Accepts,
    Attack,
    Heading,
    Runs,
    attack,
    by_default,
    find,
    look_up,
    names,
    registered,
    running,
)
from reissue.attacks.run import run_attack
from reissue.errors import CannotRunError
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = [
    "Accepts",
    "Attack",
    "CannotRunError",
    "Finding",
    "Heading",
    "Knowledge",
    "Runs",
    "Series",
    "Status",
    "attack",
    "by_default",
    "find",
    "look_up",
    "names",
    "registered",
    "run_attack",
    "running",
]
