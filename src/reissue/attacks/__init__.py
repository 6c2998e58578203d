"""Attacks: one package each, a function from releases and knowledge to what it found."""

from reissue.attacks.fold import Fold
from reissue.attacks.registry import Attack, attack, by_default, find, registered
from reissue.attacks.run import run_attack
from reissue.errors import CannotCarryError, CannotRunError
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = [
    "Attack",
    "CannotCarryError",
    "CannotRunError",
    "Fold",
    "Knowledge",
    "Series",
    "attack",
    "by_default",
    "find",
    "registered",
    "run_attack",
]
