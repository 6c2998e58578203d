"""Attacks: one per file, each a function from releases and knowledge to findings."""

from reissue.attacks._base import Attack, CannotRunError, Carried, Knowledge, State, attack, find, registered
from reissue.attacks._series import Published, Series

__all__ = [
    "Attack",
    "CannotRunError",
    "Carried",
    "Knowledge",
    "Published",
    "Series",
    "State",
    "attack",
    "find",
    "registered",
]
