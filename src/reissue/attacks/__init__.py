"""Attacks: one per file, each a function from releases and knowledge to findings."""

from reissue.attacks._base import (
    Attack,
    CannotCarryError,
    CannotRunError,
    Carried,
    Knowledge,
    State,
    attack,
    find,
    registered,
)
from reissue.attacks._series import Series

__all__ = [
    "Attack",
    "CannotCarryError",
    "CannotRunError",
    "Carried",
    "Knowledge",
    "Series",
    "State",
    "attack",
    "find",
    "registered",
]
