"""Attacks: one per file, each a function from releases and knowledge to findings."""

from reissue.attacks._base import Attack, CannotRunError, Knowledge, attack, find, registered
from reissue.attacks._series import Published, Series

__all__ = ["Attack", "CannotRunError", "Knowledge", "Published", "Series", "attack", "find", "registered"]
