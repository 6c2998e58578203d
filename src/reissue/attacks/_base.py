"""How attacks are registered and found, the built-in ones the same way as anyone's, and what an adversary knows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from reissue import attacks
from reissue.attacks._series import Series
from reissue.errors import InputError, ReissueError, nearest
from reissue.findings import Finding, Why, not_run
from reissue.requirements import Requirement
from reissue.requirements._values import Names

__all__ = [
    "Attack",
    "CannotCarryError",
    "CannotRunError",
    "Carried",
    "Knowledge",
    "Run",
    "State",
    "attack",
    "find",
    "registered",
]


class CannotRunError(ReissueError):
    """An attack cannot be run on these releases; the message, a whole sentence, becomes the finding's reason.

    It does not apply, unless inputs are named that it `needs`, or the work is `too_large`.
    """

    def __init__(self, reason: str, *, needs: Sequence[str] = (), too_large: bool = False) -> None:
        super().__init__(reason)
        self.needs = tuple(needs)
        self.why = Why.TOO_LARGE if too_large else Why.NEEDS_INPUT if needs else Why.DOES_NOT_APPLY

    def finding(self, attack: str, releases: Sequence[int]) -> Finding:
        """The attack was not run, and why."""
        return not_run(attack, releases, str(self), why=self.why, needs=self.needs)


class CannotCarryError(ReissueError):
    """What an attack carried on does not tell about these releases; all of them at once do."""


@dataclass(frozen=True)
class Knowledge:
    """What an adversary has: always the target's quasi-identifiers and when the target arrived, and this."""

    holds: tuple[int, ...] | None = None
    """The releases at hand, numbered from 1; all of them by default."""
    population: Any = None
    """A table of everyone's quasi-identifiers (frame, path or Table); of our own releases the original by default."""
    algorithm: str | Callable[..., Any] | None = None
    """How the releases were made: a method's name or a function; of our own releases known by default."""
    requirement: Requirement | str | None = None
    """What the algorithm was asked to meet; of our own releases known by default."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The algorithm's options."""
    members: Sequence[Any] | None = None
    """A table of people for each release (identifier and quasi-identifiers); of our own releases known by default."""
    coalition: Sequence[str] = ()
    """Providers who collude: they take their own records out of every release before they attack."""
    groups: bool = False
    """Whether everyone's published group is known even where the form of a release does not show it."""
    m: int | None = None
    """How many providers may collude, whichever they are (for the attack 'coalition'; 1 if not said)."""
    values: Names = ()
    """The sensitive value sets that nobody should be linked to; every value by default."""

    progress: Callable[[float], None] = field(default=lambda _: None, compare=False, repr=False)
    """Not knowledge but patience: told how far a long attack is, from 0 to 1."""

    def __post_init__(self) -> None:
        if self.holds is not None and (not self.holds or min(self.holds) < 1 or len(set(self.holds)) < len(self.holds)):
            raise InputError("`holds` must list different numbers of releases, counted from 1.")

    def held(self, total: int) -> tuple[int, ...]:
        """The numbers of the releases at hand, in order of publication."""
        if self.holds is None:
            return tuple(range(1, total + 1))
        if max(self.holds) > total:
            raise InputError(f"`holds` names release {max(self.holds)}, but there are only {total}.")
        return tuple(sorted(self.holds))


Run = Callable[[Series, Knowledge], Finding]
"""An attack: releases and knowledge to what it found. Where it does not apply it raises CannotRunError."""

State = Mapping[str, Any]
"""What an attack carries from release to release: arrays, numbers and texts by name; people are numbers in it."""


@dataclass(frozen=True)
class Carried:
    """An attack that carries on from release to release: the same findings as over all of them at once.

    `take` makes the state after one more release of the state before (None before the first); people's identifiers must
    be whole numbers, as a ledger's pseudonyms are. `judge` says what all releases taken so far give away. Both get a
    series of the newest release alone, and raise CannotRunError where the attack does not apply, CannotCarryError where
    only all releases at once tell.
    """

    take: Callable[[State | None, Series], State]
    judge: Callable[[State, Series], Finding]
    tells: bool = False
    """Whether what `judge` finds tells its worst case already; else all releases at once are asked for it."""


@dataclass(frozen=True)
class Attack:
    """A registered attack."""

    name: str
    run: Run
    summary: str
    """One sentence for people who read a list of attacks."""
    insiders: bool = False
    """Whether it takes a coalition's own records into account itself; they are taken out for all others."""
    alone: bool = False
    """Whether it judges every release by itself: what else was published does not matter to it."""
    fewest: int = 1
    """How many releases it needs: with fewer there is nothing for it to do."""
    carried: Carried | None = None
    """How it carries on from release to release, if it does; else it begins anew with all of them."""
    needs: str = ""
    """What must be given for it to run: "It needs ...", in plain words."""
    story: str = ""
    """What such an adversary has and does, for people who read no papers."""
    prevention: tuple[str, ...] = ()
    """What would prevent it, in plain sentences."""
    heavy: bool = False
    """Whether it takes so long that a timeline looks at a few places of a series only."""

    @property
    def compares(self) -> bool:
        """Whether it looks at releases together, where there are several."""
        return not self.alone

    def __call__(self, series: Series, knowledge: Knowledge) -> Finding:
        """Run it on the releases that the adversary holds."""
        held = knowledge.held(len(series))
        try:
            seen = series
            if len(held) < len(series):
                seen = series.of(held)
                knowledge = replace(knowledge, members=_of_held(knowledge.members, held, len(series)))
            if knowledge.coalition and not self.insiders:
                from reissue.attacks._coalition_records import without

                seen = without(seen, knowledge.coalition)
            return self.run(seen, knowledge)
        except CannotRunError as obstacle:
            return obstacle.finding(self.name, held)


def _of_held(members: Sequence[Any] | None, held: Sequence[int], total: int) -> Sequence[Any] | None:
    """The tables of people for the releases at hand, where there is one for every release."""
    return members if members is None or len(members) != total else [members[number - 1] for number in held]


_REGISTRY: dict[str, Attack] = {}


def attack(
    name: str,
    summary: str,
    *,
    insiders: bool = False,
    alone: bool = False,
    fewest: int = 1,
    carried: Carried | None = None,
    needs: str = "",
    story: str = "",
    prevention: Sequence[str] = (),
    heavy: bool = False,
) -> Callable[[Run], Run]:
    """Register a function as an attack: `reissue.attack(...)` and the command line find it.

    Reports tell what it `needs`, the `story` of its adversary and the `prevention`; an attack may leave them out.
    """

    def keep(run: Run) -> Run:
        _REGISTRY[name] = Attack(
            name, run, summary, insiders, alone, fewest, carried, needs, story, tuple(prevention), heavy
        )
        return run

    return keep


def registered() -> dict[str, Attack]:
    """All attacks by name."""
    for name in _built_in():
        import_module(f"reissue.attacks.{name}")
    return dict(_REGISTRY)


def find(name: str) -> Attack:
    """The attack of this name; a built-in one is imported when it is asked for."""
    if name not in _REGISTRY and name in _built_in():
        import_module(f"reissue.attacks.{name}")
    if name not in _REGISTRY:
        raise InputError(f"There is no attack '{name}'." + nearest(name, {*_REGISTRY, *_built_in()}))
    return _REGISTRY[name]


def _built_in() -> list[str]:
    """Each built-in attack has a module of its name."""
    return [module.name for module in iter_modules(attacks.__path__) if not module.name.startswith("_")]
