"""How attacks are registered and found, the built-in ones the same way as anyone's, and what an adversary knows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from reissue._arrays import State
from reissue.attacks.findings import Finding
from reissue.errors import InputError, nearest
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = [
    "Attack",
    "Carried",
    "Run",
    "attack",
    "find",
    "registered",
]


Run = Callable[[Series, Knowledge], Finding]
"""An attack: releases and knowledge to what it found. Where it does not apply it raises CannotRunError."""


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


BUILT_IN = {
    "coalition": "reissue.attacks.coalition.attack",
    "correspondence": "reissue.attacks.correspondence.attack",
    "definetti": "reissue.attacks.definetti.attack",
    "equivalence": "reissue.attacks.equivalence.attack",
    "joint": "reissue.attacks.joint.attack",
    "mechanism": "reissue.attacks.mechanism.attack",
    "minimality": "reissue.attacks.minimality.attack",
    "updates": "reissue.attacks.updates.attack",
}
"""Built-in attacks and their modules, which are imported when they are asked for."""

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
    for module in BUILT_IN.values():
        import_module(module)
    return dict(_REGISTRY)


def find(name: str) -> Attack:
    """The attack of this name; a built-in one is imported when it is asked for."""
    if name not in _REGISTRY and name in BUILT_IN:
        import_module(BUILT_IN[name])
    if name not in _REGISTRY:
        raise InputError(f"There is no attack '{name}'." + nearest(name, {*_REGISTRY, *BUILT_IN}))
    return _REGISTRY[name]
