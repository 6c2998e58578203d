"""How algorithms are registered and found: the built-in ones the same way as anyone's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from reissue._arrays import Ints
from reissue.data.table import Table
from reissue.errors import InputError, nearest
from reissue.release.release import Draft, Release
from reissue.requirements import Requirement

__all__ = ["Algorithm", "Job", "Option", "algorithm", "find", "registered"]


def _silent(_: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Job:
    """What an algorithm is asked to do."""

    table: Table
    requirement: Requirement
    rng: np.random.Generator
    suppress: float = 0.0
    """The share of rows that may be left out."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The method's own options, by name; all of them, with defaults filled in."""
    progress: Callable[[float], None] = _silent
    """Told the share of the work that is done, from 0 to 1."""
    memory: Mapping[str, Any] = field(default_factory=dict)
    """What the method remembered after the release before; empty for a first release."""
    people: Ints | None = None
    """Row to its person's number, which lasts over a series; for methods that remember."""
    lasting: Ints | None = None
    """Sensitive code to its value's number, which lasts over a series; for methods that remember."""

    @property
    def spare(self) -> int:
        """How many rows may be left out."""
        return int(self.suppress * self.table.rows + 1e-9)


@dataclass(frozen=True)
class Option:
    """One option of a method: its default, and what it does in one sentence."""

    default: Any
    help: str
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Algorithm:
    """A registered method."""

    name: str
    run: Callable[[Job], Draft]
    summary: str
    """One sentence for people who choose a method."""
    options: Mapping[str, Option] = field(default_factory=dict)
    suppresses: bool = False
    """Whether it makes use of rows that may be left out."""
    remembers: bool = False
    """Whether it follows people through a series, and so needs identifiers and its memory."""
    carries: bool = False
    """Whether its option `after` may be what a ledger carried on of the earlier releases (a Past) instead of them."""
    blind: bool = False
    """Whether it looks at sensitive values through the requirement only: asked for k alone, it does not at all."""
    changes_values: bool = False
    """Whether it publishes sensitive values that nobody has, so that the table itself need not meet what it asks."""
    joinable: bool = False
    """Whether groups of its release may be joined afterwards: any partition that meets the requirement would do."""
    recheck: Callable[[Release, Mapping[str, Any]], Mapping[str, Any] | None] | None = None
    """Checks what it promises beyond the requirement, from the published tables; raises InternalError.

    May return a memory of this release, for a ledger to keep.
    """

    def refuse_impossible(self, requirement: Requirement, table: Table, suppress: float = 0.0) -> None:
        """Stop before work starts if it can make no release of this table that meets a requirement."""
        requirement.fits(table.domain)
        for part in requirement.parts():
            if not (self.changes_values and part.sensitive):
                part.refuse_impossible(table.whole(), suppressing=self.suppresses and suppress > 0)

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The given options checked, with defaults for the others."""
        for name, value in given.items():
            if name not in self.options:
                raise InputError(f"The method '{self.name}' has no option '{name}'." + nearest(name, self.options))
            choices = self.options[name].choices
            if choices and value not in choices:
                raise InputError(f"The option '{name}' must be one of {', '.join(map(str, choices))}.")
        return {name: given.get(name, option.default) for name, option in self.options.items()}


BUILT_IN = {
    "anatomy": "reissue.algorithms.anatomy",
    "correspondence": "reissue.algorithms.correspondence.method",
    "distinct": "reissue.algorithms.distinct.method",
    "equivalence": "reissue.algorithms.equivalence.method",
    "incognito": "reissue.algorithms.lattice.incognito",
    "invariance": "reissue.algorithms.invariance.method",
    "mask": "reissue.algorithms.mask",
    "mondrian": "reissue.algorithms.partition.mondrian",
    "pool": "reissue.algorithms.partition.pool",
    "providers": "reissue.algorithms.providers.method",
    "topdown": "reissue.algorithms.lattice.topdown",
}
"""Built-in methods and their modules, which are imported when they are asked for."""

_REGISTRY: dict[str, Algorithm] = {}


def algorithm(
    name: str,
    summary: str,
    *,
    options: Mapping[str, Option] | None = None,
    suppresses: bool = False,
    remembers: bool = False,
    carries: bool = False,
    blind: bool = False,
    changes_values: bool = False,
    joinable: bool = False,
    recheck: Callable[[Release, Mapping[str, Any]], Mapping[str, Any] | None] | None = None,
) -> Callable[[Callable[[Job], Draft]], Callable[[Job], Draft]]:
    """Register a function as a method: `anonymize(..., method=name)` and the command line find it."""

    def keep(run: Callable[[Job], Draft]) -> Callable[[Job], Draft]:
        _REGISTRY[name] = Algorithm(
            name,
            run,
            summary,
            dict(options or {}),
            suppresses,
            remembers,
            carries,
            blind,
            changes_values,
            joinable,
            recheck,
        )
        return run

    return keep


def registered() -> dict[str, Algorithm]:
    """All methods by name."""
    for module in BUILT_IN.values():
        import_module(module)
    return dict(_REGISTRY)


def find(name: str) -> Algorithm:
    """The method of this name; a built-in one is imported when it is asked for."""
    if name not in _REGISTRY and name in BUILT_IN:
        import_module(BUILT_IN[name])
    if name not in _REGISTRY:
        raise InputError(f"There is no method '{name}'." + nearest(name, {*_REGISTRY, *BUILT_IN}))
    return _REGISTRY[name]
