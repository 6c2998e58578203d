"""Knowledge: what an adversary has in addition to the published files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reissue.errors import InputError, SchemaError
from reissue.requirements import Requirement
from reissue.requirements._values import Names
from reissue.schema import Options, Section

__all__ = ["PRIORS", "Knowledge", "assumed", "learns", "prior_of", "sees_leaving"]

_KNOWN = ("form", "groups", "totals")
PRIORS = ("common", "leaving", "learned")
"""Priors that an adversary may have, each stronger than the one before; the second where a policy says nothing."""


@dataclass(frozen=True, repr=False)
class Knowledge:
    """What an adversary knows in addition to the releases.

    Every adversary knows the target's quasi-identifiers and when the target arrived.

    Examples
    --------
    Someone who knows everyone's group, against the default, a register:

    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> release = ri.anonymize(patients, schema(), "k=5 & l=3", seed=1)
    >>> known = ri.Knowledge(groups=True)
    >>> ri.attack([release], schema(), only="joint", knowledge=known)["joint"].details["knowledge"]
    'groups'
    """

    holds: tuple[int, ...] | None = None
    """The releases at hand, numbered from 1; all of them by default."""
    population: Any = None
    """A table of everyone's quasi-identifiers (frame, path or Table); of our own releases the original by default."""
    algorithm: str | Callable[..., Any] | None = None
    """How the releases were made: a method's name or a function; of our own releases known by default."""
    requirement: Requirement | str | None = None
    """What the algorithm was asked to meet; of our own releases known by default."""
    options: Options = field(default_factory=dict)
    """The algorithm's options."""
    members: Sequence[Any] | None = None
    """A table of people for each release (identifier and quasi-identifiers); of our own releases known by default."""
    coalition: Sequence[str] = ()
    """Providers who collude: they take their own records out of every release before they attack."""
    groups: bool = False
    """Whether everyone's published group is known even where the form of a release does not show it."""
    totals: Any = None
    """How many people of each release have each value, as a yearbook says: a table (frame or path) of the sensitive
    columns, `count` and, of several releases, `release`; True: as our own true tables have it; None: not known."""
    leaving: Any = None
    """How soon people with each value leave, as a physician knows: a table (frame or path) of the sensitive columns and
    `leaves`, the share who are gone in the next release; True: as our own true tables have it; None: not known."""
    m: int | None = None
    """How many providers may collude, whichever they are (for the attack 'coalition'; 1 if not said)."""
    values: Names = ()
    """The sensitive value sets that nobody should be linked to; every value by default."""

    progress: Callable[[float], None] = field(default=lambda _: None, compare=False, repr=False)
    """Not knowledge, but a callback: called with the progress of a long attack, from 0 to 1."""

    def __post_init__(self) -> None:
        if self.holds is not None and (not self.holds or min(self.holds) < 1 or len(set(self.holds)) < len(self.holds)):
            raise InputError("`holds` must list different numbers of releases, counted from 1.")

    def __repr__(self) -> str:
        """The names of what is known; the tables themselves hold personal data."""
        default = Knowledge.__dataclass_fields__
        named = [name for name in default if name != "progress" and getattr(self, name) not in (None, (), {}, False)]
        return f"Knowledge of {', '.join(named)}." if named else "Knowledge of nothing but the releases."

    def held(self, total: int) -> tuple[int, ...]:
        """The numbers of the releases at hand, in order of publication."""
        if self.holds is None:
            return tuple(range(1, total + 1))
        if max(self.holds) > total:
            raise InputError(f"`holds` names release {max(self.holds)}, but there are only {total}.")
        return tuple(sorted(self.holds))


def assumed(section: Section) -> tuple[str, ...]:
    """What the adversary is taken to know beside what the form of a release shows, as a policy says it."""
    given = section.get("knowledge", "form")
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or any(name not in _KNOWN for name in names):
        raise SchemaError(
            '[policy] `knowledge` must be "form" (what a release shows), "groups" (always known), "totals" (how many '
            'people have each value), or a list such as ["groups", "totals"].'
        )
    return tuple(name for name in _KNOWN[1:] if name in names)


def prior_of(section: Section) -> str:
    """The prior that a policy assumes."""
    given = section.get("prior", PRIORS[1])
    if given not in PRIORS:
        raise SchemaError(
            '[policy] `prior` must be "leaving" (readers learn how soon people with each value leave), "learned" '
            '(also which people tend to have which value: who are alike, or came together) or "common" (neither).'
        )
    return str(given)


def learns(section: Section) -> bool:
    """Whether a policy assumes that the adversary learns which people tend to have which value."""
    return prior_of(section) == "learned"


def sees_leaving(section: Section) -> bool:
    """Whether a policy assumes that the adversary learns departure rates."""
    return prior_of(section) != "common"
