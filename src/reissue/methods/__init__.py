"""Algorithms: one method per file, each a function from a table and a requirement to a Draft."""

from reissue.methods.registry import (
    Algorithm,
    ByRegions,
    Job,
    Option,
    Suggestion,
    Trait,
    algorithm,
    find,
    look_up,
    registered,
)

__all__ = [
    "Algorithm",
    "ByRegions",
    "Job",
    "Option",
    "Suggestion",
    "Trait",
    "algorithm",
    "find",
    "look_up",
    "registered",
]
