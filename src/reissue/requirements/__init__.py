"""Requirements: predicates on groups' counts, one family per file. They compose with `&` and parse from text."""

from reissue.requirements._base import All, Requirement, parse, register, registered
from reissue.requirements.anonymity import KAnonymity
from reissue.requirements.diversity import LDiversity

__all__ = ["All", "KAnonymity", "LDiversity", "Requirement", "parse", "register", "registered"]
