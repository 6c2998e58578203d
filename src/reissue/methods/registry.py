"""How algorithms are registered and found: the built-in ones the same way as anyone's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from typing import Any, Literal

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue._plugins import all_registered, find_registered, keep_registered
from reissue.counting.cells import Domain
from reissue.data.table import Table
from reissue.errors import InputError, nearest
from reissue.published import PublishedRelease
from reissue.release.memory import MethodState
from reissue.release.release import Draft, Release
from reissue.requirements import Requirement
from reissue.schema import Options
from reissue.taxonomy.codings import Coding

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
    "register",
    "registered",
]

SeveralRows = Literal["", "together", "apart"]


def _silent(_: float) -> None:
    """Nobody watches."""


class Trait(Flag):
    """What a method does beside dividing rows into groups that meet a requirement."""

    NONE = 0
    SUPPRESSES = auto()
    """It makes use of rows that may be suppressed."""
    RANDOM = auto()
    """What it makes depends on random numbers, so that it cannot be run again for the same release."""
    BLIND = auto()
    """It looks at sensitive values through the requirement only: asked for k alone, it does not at all."""
    CHANGES_VALUES = auto()
    """It publishes sensitive values that nobody has, so that the table itself need not meet what it asks."""
    CONSTANT_VALUES = auto()
    """It refuses a sensitive value that changes while a person stays."""
    GROUPS_BY_VALUE = auto()
    """It makes groups of different values, which are those of all sensitive columns taken together: each column by
    itself may then fall short, and the release is refused."""
    JOINABLE = auto()
    """Groups of its release may be joined afterwards: any partition that meets the requirement would do."""
    COUNTED_ROWS = auto()
    """It decides on cuts from a table of different rows with their numbers (`Table.times`)."""


@dataclass(frozen=True)
class Job:
    """What an algorithm is asked to do."""

    table: Table
    requirement: Requirement
    rng: np.random.Generator
    suppress: float = 0.0
    """Maximum share of suppressed records."""
    options: Options = field(default_factory=dict)
    """The method's own options, by name; all of them, with defaults filled in."""
    progress: Callable[[float], None] = _silent
    """Called with the share of the work that is done, from 0 to 1."""
    state: Any = None
    """What the method left after the release before, of the class that it registered; None for a first release."""
    people: Ints | None = None
    """Row to its person's number, which stays the same over a series; for stateful methods."""
    stable_code: Ints | None = None
    """Sensitive code to its value's number, which stays the same over a series; for stateful methods."""

    @property
    def spare(self) -> int:
        """How many rows may be suppressed."""
        return int(self.suppress * self.table.records + 1e-9)

    @property
    def otherwise(self) -> str:
        """The method to try where no generalization does; none where people have several rows."""
        return ", or try the method 'anatomy', which publishes two tables" if self.table.people is None else ""


@dataclass(frozen=True)
class Option:
    """One option of a method: its default, and what it does in one sentence."""

    default: Any
    help: str
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """The policy with which a series by a method may begin, and when `reissue init` proposes it."""

    suits: Callable[[Mapping[str, bool]], bool]
    """Whether it suits the answers to `reissue init`'s questions."""
    rank: int
    """Of several that suit, the one of the smallest rank is proposed."""
    why: str
    require: str
    attacks: tuple[str, ...]
    skewed: str = ""
    """What is required instead where one value is too frequent for that; empty: the same."""
    options: str = ""
    """As TOML; empty for none."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Attack to its limit, where the method does not promise it by itself."""
    suppress: float = 0.05
    """The share of rows that may be suppressed: of people whom no group keeps below the limit."""
    unminded: tuple[str, ...] = ()
    """Attacks of the list that the method does nothing against."""
    counterfeits: float | None = None
    """The most counterfeits, as a share of people, where the method needs more than a policy allows by itself."""
    for_providers: str = ""
    """Options as TOML where several parties contribute, if the method can see to it that none of them learns more."""

    def suiting(self, answers: Mapping[str, bool]) -> "Suggestion":
        """The same for the answers that were given."""
        if not (self.for_providers and answers["providers"]):
            return self
        why = f"{self.why}; every group holds one party's people, so that no coalition learns more than a reader"
        return replace(self, options=self.for_providers, attacks=(*self.attacks, "coalition"), why=why)


def _always(_: Options) -> str:
    """Nothing speaks against it."""
    return ""


def _left_out(requirement: Requirement, suppress: float) -> str:
    if not (suppress and requirement.relative):
        return ""
    return f"{requirement} compares with the rows that are published, which changes with every row that is suppressed"


def _as_asked(requirement: Requirement, _: Options, __: Domain, ___: int) -> Requirement:
    return requirement


@dataclass(frozen=True)
class ByRegions:
    """How a method makes the same release of a table region by region.

    A region is a part that strict Mondrian would split off (`partition.regions`).
    """

    refusal: Callable[[Options], str] = _always
    """Why it cannot with these options; empty if it can."""
    judged: Callable[[Requirement, Options, Domain, int], Requirement] = _as_asked
    """What regions must meet: from what is asked for, the options, the values' domain and the number of providers."""
    one: Callable[[Requirement, float], str] = _left_out
    """Why the table must stay one region, from what is asked and the share that may be suppressed; empty if not."""
    any_order: bool = False
    """Whether what it makes of a region does not depend on the order of its rows, the order of what is made aside."""
    by_provider: bool = False
    """Whether it looks at who gave a record: regions are then counted by provider and value."""


def _never(_: Options) -> bool:
    return False


@dataclass(frozen=True)
class Algorithm:
    """A registered method."""

    name: str
    run: Callable[[Job], Draft]
    summary: str
    """One sentence for people who choose a method."""
    options: Mapping[str, Option] = field(default_factory=dict)
    traits: Trait = Trait.NONE
    """What it does beside dividing rows into groups."""
    state: type[MethodState] | None = None
    """What it leaves for the next release, if it follows people through a series."""
    by_regions: ByRegions | None = None
    """How it works region by region; None if it never can."""
    whole_table: str = ""
    """Why it cannot work by regions or by cells: what it needs the codes of all rows for, in one place."""
    draws: Callable[[Options], bool] = _never
    """Whether, with these options, of rows with equal quasi-identifiers some may go one way and some the other: who
    does is drawn by lot."""
    several_rows: SeveralRows = ""
    """What it does where people have several rows: "together" groups people with all their rows, "apart" counts the
    people of each group, who may be in several; empty if it needs one row each (see `methods.several_rows`)."""
    unforced: str = ""
    """Why nothing follows from what it generalized, where it does not generalize only what it must."""
    m_requirement: str = ""
    """The requirement that a number m alone stands for (`--m`); empty if it has none such."""
    remedies: Mapping[str, str] = field(default_factory=dict)
    """Attack to why this method prevents it: what a holder is advised whose release was refused."""
    suggestion: Suggestion | None = None
    """The policy with which a series by it may begin; None if it is not proposed for series."""
    left_out_with: Callable[[Release, pl.Series], Bools] | None = None
    """A release and identifiers to the rows that must go with them, where suppressing a person alone is not enough."""
    recheck: Callable[[Release, Options], None] | None = None
    """Checks what it promises beyond the requirement, from the published tables; raises InternalError."""
    recheck_counted: Callable[[PublishedRelease, Sequence[Coding], Requirement, Options], None] | None = None
    """The same of a release that an engine counted, with the codings of the table that it was made of."""

    @property
    def in_parts(self) -> bool:
        """Whether it can make a release of a table of which it never sees all rows, not even as codes."""
        return self.by_regions is not None or Trait.COUNTED_ROWS in self.traits

    @property
    def stateful(self) -> bool:
        """Whether it follows people through a series, and so needs identifiers and its memory."""
        return self.state is not None

    def refuse_several_rows(self, requirement: Requirement, table: Table) -> None:
        """Stop before work starts where people have several rows, and the method or the requirement needs one each."""
        if table.people is None:
            return
        if not self.several_rows:
            able = ", ".join(name for name, other in registered().items() if other.several_rows)
            raise InputError(
                f"The method '{self.name}' needs one row per person, and the schema says that people have several. "
                f"Use one of {able}, or bring the table to one row per person."
            )
        requirement.refuse_several_rows(table.domain)

    def refuse_impossible(self, requirement: Requirement, table: Table, suppress: float = 0.0) -> None:
        """Stop before work starts if it can make no release of this table that meets a requirement."""
        requirement.fits(table.domain)
        # People who are in several groups have some of their values in each: the whole table says nothing about shares.
        apart = table.people is not None and self.several_rows == "apart"
        for part in requirement.parts():
            if not ((Trait.CHANGES_VALUES in self.traits or apart) and part.sensitive):
                part.refuse_impossible(table.whole(), suppressing=(Trait.SUPPRESSES in self.traits) and suppress > 0)

    def settle(self, given: Options) -> dict[str, Any]:
        """The given options checked, with defaults for the others."""
        for name, value in given.items():
            if name not in self.options:
                raise InputError(f"The method '{self.name}' has no option '{name}'." + nearest(name, self.options))
            choices = self.options[name].choices
            if choices and value not in choices:
                raise InputError(f"The option '{name}' must be one of {', '.join(map(str, choices))}.")
        return {name: given.get(name, option.default) for name, option in self.options.items()}


BUILT_IN = {
    "anatomy": "reissue.methods.anatomy",
    "cohorts": "reissue.methods.cohorts.method",
    "correspondence": "reissue.papers.correspondence.method",
    "distinct": "reissue.papers.distinct.method",
    "equivalence": "reissue.papers.equivalence.method",
    "incognito": "reissue.methods.lattice.incognito",
    "invariance": "reissue.methods.invariance.method",
    "mask": "reissue.papers.mask",
    "microaggregation": "reissue.methods.microaggregation",
    "mondrian": "reissue.methods.partition.mondrian",
    "pool": "reissue.methods.partition.pool",
    "providers": "reissue.papers.providers",
    "topdown": "reissue.methods.lattice.topdown",
}
"""Built-in methods and their modules, which are imported when they are asked for."""

GROUP = "reissue.algorithms"
"""The entry points by which other packages bring their own."""

_REGISTRY: dict[str, Algorithm] = {}


def algorithm(
    name: str,
    summary: str,
    *,
    options: Mapping[str, Option] | None = None,
    traits: Trait = Trait.NONE,
    state: type[MethodState] | None = None,
    by_regions: ByRegions | None = None,
    whole_table: str = "",
    draws: Callable[[Options], bool] = _never,
    several_rows: SeveralRows = "",
    unforced: str = "",
    m_requirement: str = "",
    remedies: Mapping[str, str] | None = None,
    suggestion: Suggestion | None = None,
    left_out_with: Callable[[Release, pl.Series], Bools] | None = None,
    recheck: Callable[[Release, Options], None] | None = None,
    recheck_counted: Callable[[PublishedRelease, Sequence[Coding], Requirement, Options], None] | None = None,
) -> Callable[[Callable[[Job], Draft]], Callable[[Job], Draft]]:
    """Register a function as a method: `anonymize(..., method=name)` and the command line find it."""

    def keep(run: Callable[[Job], Draft]) -> Callable[[Job], Draft]:
        known = Algorithm(
            name,
            run,
            summary,
            dict(options or {}),
            traits=traits,
            state=state,
            by_regions=by_regions,
            whole_table=whole_table,
            draws=draws,
            several_rows=several_rows,
            unforced=unforced,
            m_requirement=m_requirement,
            remedies=dict(remedies or {}),
            suggestion=suggestion,
            left_out_with=left_out_with,
            recheck=recheck,
            recheck_counted=recheck_counted,
        )
        register(known)
        return run

    return keep


def register(algorithm: Algorithm) -> None:
    """Register a method. Nobody replaces a built-in one."""
    keep_registered(algorithm.name, algorithm, "method", BUILT_IN, _REGISTRY)


def registered() -> dict[str, Algorithm]:
    """All methods by name, in the order of their names."""
    return all_registered(GROUP, BUILT_IN, _REGISTRY)


def look_up(name: object) -> Algorithm | None:
    """The method of this name, if it is one: whoever publishes may use a method of their own."""
    try:
        return find(name) if isinstance(name, str) else None
    except InputError:
        return None


def find(name: str) -> Algorithm:
    """The method of this name; a built-in one is imported when it is asked for."""
    return find_registered(name, "method", GROUP, BUILT_IN, _REGISTRY)
