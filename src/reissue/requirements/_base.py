"""What a requirement is, how requirements compose, and how they are written: `k=5 & l=3`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, TypeVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue._plugins import load_plugin, load_plugins
from reissue.counting.cells import Counts, Domain
from reissue.errors import InternalError, RequirementError, nearest
from reissue.requirements._subsets import Subsets
from reissue.requirements._values import Sets, masks, split

__all__ = [
    "BELOW",
    "Adapter",
    "All",
    "Loss",
    "Remaining",
    "Requirement",
    "arguments",
    "fitness",
    "number",
    "over",
    "parse",
    "register",
    "registered",
]

BELOW = 1 - 1e-6
"""The largest fitness of a group that does not meet its requirement."""
_BEST = 1e6
"""The largest fitness, in place of infinity."""


@dataclass(frozen=True, eq=False)
class Loss:
    """What a coalition of providers can take out of groups, at most."""

    taken: Ints
    """Group to how many records."""
    owned: Callable[[], Ints]
    """How many of each triple of a group's counts; only some requirements ask for it."""


@dataclass(frozen=True, eq=False)
class Remaining:
    """What must remain of a group's values: at least `least` of those that count, and some of each of the `losses`."""

    counted: Bools
    """Which of a group's values count."""
    least: int
    losses: Bools
    """Sets x values that count."""


@dataclass(frozen=True)
class Requirement(ABC):
    """A predicate on groups' counts; judges all groups at once."""

    name: ClassVar[str]
    """How it is written before the equals sign."""
    example: ClassVar[str] = ""
    """How it is written as a whole, for messages."""
    sensitive: ClassVar[bool] = True
    """Whether it looks at sensitive values at all."""
    monotone: ClassVar[bool] = True
    """Whether the union of two groups that meet it meets it too (generalizing never breaks it)."""
    growing: ClassVar[bool] = False
    """Whether adding records to a group never breaks it ("EG monotone")."""
    relative: ClassVar[bool] = False
    """Whether it compares a group with the whole table."""
    by_size: ClassVar[bool] = False
    """Whether having at least `least` rows is all that it asks of a group."""
    by_values: ClassVar[bool] = False
    """Whether having at least `least` different values is all that it asks of a group."""
    across: ClassVar[bool] = False
    """Whether it is asked of a release as a whole: groups that each meet `holds` are enough for it, but not needed."""
    capped: ClassVar[bool] = False
    """Whether `cap` and `least` say all that it asks of a group."""
    by_people: ClassVar[bool] = False
    """Whether it is defined where people have several rows: of people in a group, and people who have a value."""
    any_value: ClassVar[bool] = False
    """Whether it bounds how often any value occurs in a group, whichever that is. Records whose value needs no
    protection then count as if each had a value of its own; where it is False they count as they are."""

    @property
    def least(self) -> int:
        """A number of rows below which no group can meet it."""
        return 1

    @property
    def least_people(self) -> int:
        """A number of people below which no group can meet it, where each may have several values."""
        return self.least

    @property
    def group_size(self) -> int | None:
        """How many rows it asks for whatever their values; None where it does not ask for rows as such."""
        return max((part.least for part in self.parts() if part.by_size and not part.across), default=None)

    @property
    def share_limit(self) -> float | None:
        """How surely it means anybody to be linked to a value, at most; None where it means no such limit."""
        return None

    @property
    def excess_limit(self) -> float | None:
        """Groups of which no more than this share of rows is in excess of the table's shares of values meet it.

        None where that says nothing of it.
        """
        return None

    def stricter(self, part: float) -> "Requirement":
        """The same with this part of its `excess_limit`; itself where it has none."""
        del part
        return self

    @property
    def invariant_m(self) -> int | None:
        """The m of m-invariance with which it is met; None where that is not known."""
        return None

    @property
    def fewest_values(self) -> int:
        """How many different sensitive values a group needs to meet it, as far as it says so."""
        return 1

    @property
    def named_values(self) -> Sets:
        """The sensitive values, or sets of them, that it is asked of; none if it is asked of every single value."""
        return ()

    @property
    def written(self) -> "Requirement":
        """What a user wrote, where this is that requirement asked of several columns."""
        return self

    def named_masks(self, domain: Domain) -> Bools:
        """Which values belong to each of its `named_values`: items x values."""
        return masks(domain, self.named_values) if self.named_values else np.zeros((0, domain.size), np.bool_)

    @abstractmethod
    def holds(self, counts: Counts) -> Bools:
        """Which groups meet it. Groups without rows are not asked about: their answer means nothing."""

    @classmethod
    @abstractmethod
    def parse(cls, argument: str) -> "Requirement":
        """From the text after the equals sign."""

    @abstractmethod
    def __str__(self) -> str:
        """As `parse` reads it."""

    def parts(self) -> "tuple[Requirement, ...]":
        """The requirements it is made of."""
        return (self,)

    @property
    def in_groups(self) -> "Requirement | None":
        """What of it is asked of each group; None if nothing is."""
        parts = tuple(part for part in self.parts() if not part.across)
        return All(parts) if len(parts) > 1 else next(iter(parts), None)

    def holds_across(self, shown: Ints, sizes: Ints) -> Bools:
        """Which groups are fine in a release as a whole, by what it shows (attributes x groups) and their sizes."""
        fine = np.ones(len(sizes), np.bool_)
        for part in self.parts():
            if part.across:
                fine &= part.holds_across(shown, sizes)
        return fine

    def __and__(self, other: "Requirement") -> "Requirement":
        """Both must be met."""
        return All(self.parts() + other.parts())

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above it (1 or more) or below; see the module `fitness`."""
        return np.where(self.holds(counts), 1.0, BELOW)

    def capped_sets(self, codes: Ints, domain: Domain) -> Bools:
        """Sets x values: those that touch some values and whose rows `cap` bounds, where it is `capped`."""
        if self.named_values:
            return self.named_masks(domain)
        found = np.zeros((len(codes), domain.size), np.bool_)
        found[np.arange(len(codes)), codes] = True
        return found

    def cap(self, sizes: Ints) -> Ints:
        """Size of a group to the most rows that a value (or set) it is asked of may have; -1 where it is too small."""
        return sizes

    # Of a group whose own providers look at it without records of their own, see papers.coalition:

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """Which groups still meet it whatever is lost: a bound, never wrong when it says yes."""
        del loss
        return np.zeros(whole.total, np.bool_)

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Whether everything that a coalition can look at meets it; None if that is not known."""
        if self.growing:
            return subsets.smallest(self.holds)
        sets = self.worst_sets(subsets.values, subsets.domain)
        return subsets.every(self.holds) if sets is None else subsets.raised(self.holds, sets)

    def worst_sets(self, values: Ints, domain: Domain) -> Bools | None:
        """Sets x values such that a worst coalition owns most outside one of them, and leaves all inside it.

        None if that is not known: then coalitions are searched.
        """
        del domain
        return np.zeros((1, len(values)), np.bool_) if self.by_size else None

    def share_bounds(self, values: Ints, domain: Domain) -> tuple[Ints, Floats] | None:
        """Sets x values as 0 and 1, and the share above which each of them breaks it, if that is all it asks."""
        del values, domain
        return None

    def remaining(self, values: Ints, domain: Domain) -> Remaining | None:
        """What must remain of a group's values, if that is all it asks."""
        del domain
        if not self.by_values:
            return None
        return Remaining(np.ones(len(values), np.bool_), self.least, np.zeros((0, len(values)), np.bool_))

    def refuse_impossible(self, whole: Counts, *, suppressing: bool = False) -> None:
        """Stop before work starts if no release of this table can meet it (`whole` is the table in one group).

        Where rows may be left out, only what no fewer rows could mend is refused.
        """
        for part in self.parts():
            part.fits(whole.domain)
            if not (suppressing and not part.growing) and not part.possible(whole):
                unit = "people" if whole.by_people else "rows"
                raise RequirementError(
                    f"No release of this table can meet {part}: even all its {int(whole.sizes[0]):,} {unit} in one "
                    f"group do not{part.why(whole)}."
                )

    def refuse_several_rows(self, domain: Domain) -> None:
        """Stop where people have several rows, and it is not defined for that."""
        if not self.by_people:
            able = ", ".join(name for name, kind in registered().items() if kind.by_people)
            raise RequirementError(
                f"The requirement '{self.name}' is not defined where people have several rows, as the schema says: "
                f"it takes every row for somebody with one value. Defined are: {able}."
            )
        if self.named_values and (masks(domain, self.named_values).sum(axis=1) > 1).any():
            raise RequirementError(
                f"The requirement '{self.name}' names values that are taken together, in braces or by a node of a "
                "taxonomy. Where people have several rows, name single values."
            )

    def fits(self, domain: Domain) -> None:
        """Refuse sensitive values that it cannot judge: without order, tree or numbers, or without a value it names."""
        del domain

    def possible(self, whole: Counts) -> bool:
        """Whether some release of a table may meet it; for a monotone one the whole table in one group decides."""
        return not self.monotone or bool(self.holds(whole)[0])

    def why(self, whole: Counts) -> str:
        """What the whole table has instead, for the message above; starts with a space or a comma."""
        del whole
        return ""


@dataclass(frozen=True)
class All(Requirement):
    """Several requirements at once."""

    name: ClassVar[str] = "&"
    requirements: tuple[Requirement, ...]

    def __repr__(self) -> str:
        return sentence(self)

    @property
    def sensitive(self) -> bool:  # type: ignore[override]
        """Whether any part looks at sensitive values."""
        return any(part.sensitive for part in self.requirements)

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether all parts are monotone."""
        return all(part.monotone for part in self.requirements)

    @property
    def growing(self) -> bool:  # type: ignore[override]
        """Whether all parts are growing."""
        return all(part.growing for part in self.requirements)

    @property
    def relative(self) -> bool:  # type: ignore[override]
        """Whether any part compares with the whole table."""
        return any(part.relative for part in self.requirements)

    @property
    def across(self) -> bool:  # type: ignore[override]
        """Whether any part is asked of a release as a whole."""
        return any(part.across for part in self.requirements)

    @property
    def least(self) -> int:
        """What the most demanding part needs."""
        return max(part.least for part in self.requirements)

    @property
    def least_people(self) -> int:
        """What the most demanding part needs."""
        return max(part.least_people for part in self.requirements)

    @property
    def share_limit(self) -> float | None:
        """The strictest that a part means."""
        return min((limit for part in self.requirements if (limit := part.share_limit) is not None), default=None)

    @property
    def excess_limit(self) -> float | None:
        """The strictest of its parts; whether other parts are met is another question."""
        return min((limit for part in self.requirements if (limit := part.excess_limit) is not None), default=None)

    def stricter(self, part: float) -> Requirement:
        """Every part with this part of its limit."""
        return All(tuple(one.stricter(part) for one in self.requirements))

    @property
    def fewest_values(self) -> int:
        """What the most demanding part needs."""
        return max(part.fewest_values for part in self.requirements)

    @property
    def named_values(self) -> Sets:
        """Those of the first part that names any."""
        return next((part.named_values for part in self.requirements if part.named_values), ())

    def named_masks(self, domain: Domain) -> Bools:
        """Those of the first part that names any."""
        return next((part for part in self.requirements if part.named_values), self.requirements[0]).named_masks(domain)

    def holds(self, counts: Counts) -> Bools:
        """Which groups meet every part."""
        return reduce(np.logical_and, (part.holds(counts) for part in self.requirements))

    @classmethod
    def parse(cls, argument: str) -> Requirement:
        """From the whole text."""
        return parse(argument)

    def parts(self) -> tuple[Requirement, ...]:
        """The requirements it is made of."""
        return self.requirements

    def fits(self, domain: Domain) -> None:
        """Refuse sensitive values that any part cannot judge."""
        for part in self.requirements:
            part.fits(domain)

    def refuse_several_rows(self, domain: Domain) -> None:
        """Stop where people have several rows, and a part is not defined for that."""
        for part in self.requirements:
            part.refuse_several_rows(domain)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return " & ".join(str(part) for part in self.requirements)


@dataclass(frozen=True, eq=False)
class Adapter(Requirement):
    """Another requirement, asked of groups that are counted in another way; nobody writes it."""

    name: ClassVar[str] = "asking"
    asked: Requirement

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.asked.name)

    def __repr__(self) -> str:
        return repr(self.asked)

    @property
    def sensitive(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.sensitive

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.monotone

    @property
    def growing(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.growing

    @property
    def relative(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.relative

    @property
    def least(self) -> int:
        """As what is asked."""
        return self.asked.least

    @classmethod
    def parse(cls, argument: str) -> Requirement:
        """Nobody writes it."""
        del argument
        raise InternalError("This requirement is made of another one, and never read. Please report this.")

    def __str__(self) -> str:
        """As what is asked."""
        return str(self.asked)


_REGISTRY: dict[str, type[Requirement]] = {}
GROUP = "reissue.requirements"
"""The entry points by which other packages bring their own."""
_MOST = 10**15
"""No table has so many rows; larger numbers would not fit the arrays that they are compared with."""
_Kind = TypeVar("_Kind", bound=type[Requirement])


def sentence(requirement: Requirement) -> str:
    """A requirement in words, for whoever prints one."""
    return f"Requirement {requirement}."


def register(kind: _Kind) -> _Kind:
    """Make a requirement known to `parse`, and so to the command line. Nobody replaces a built-in one."""
    there = _REGISTRY.get(kind.name)
    if there is not None and there.__module__.startswith(__package__) and there.__module__ != kind.__module__:
        raise RequirementError(f"There is a built-in requirement '{kind.name}'. Choose another name.")
    _REGISTRY[kind.name] = kind
    kind.__repr__ = sentence  # type: ignore[method-assign, assignment]
    return kind


def registered() -> dict[str, type[Requirement]]:
    """All known requirements by name."""
    load_plugins(GROUP, _REGISTRY)
    return dict(sorted(_REGISTRY.items()))


def parse(text: str) -> Requirement:
    """Read a requirement such as `k=5 & l=3`."""
    parts = [_parse_one(part) for part in split(text, "&")]
    return parts[0] if len(parts) == 1 else All(tuple(p for part in parts for p in part.parts()))


def _parse_one(text: str) -> Requirement:
    name, equals, argument = (piece.strip() for piece in text.partition("="))
    if name not in _REGISTRY and not load_plugin(GROUP, name, _REGISTRY):
        raise RequirementError("There is no requirement of that name." + nearest(name, _REGISTRY))
    if not equals or not argument:
        raise RequirementError(f"The requirement '{name}' needs a value{_example(_REGISTRY[name])}.")
    return _REGISTRY[name].parse(argument)


def _example(kind: type[Requirement]) -> str:
    return f", for example {kind.example}" if kind.example else ""


def arguments(kind: type[Requirement], text: str, count: int) -> list[str]:
    """The numbers of a requirement that takes several, still as text."""
    pieces = text.split(",")
    if len(pieces) != count:
        raise RequirementError(f"The requirement '{kind.name}' needs {count} numbers{_example(kind)}.")
    return pieces


def over(bound: float, share: Floats) -> Floats:
    """The fitness of a share that may not be above a bound."""
    return np.asarray(np.minimum(bound / np.maximum(share, 1e-12), _BEST), np.float64)


def number(
    kind: type[Requirement], text: str, read: Callable[[str], float], least: float, most: float = np.inf
) -> float:
    """One number of a requirement's argument, within its bounds."""
    try:
        value = read(text.strip())
    except ValueError:
        value = np.nan
    most = min(most, _MOST) if read is int else most
    if not least <= value <= most or value == np.inf:
        bounds = f"at least {least:g}" if np.isinf(most) else f"between {least:g} and {most:g}"
        whole = "a whole number" if read is int else "a number"
        raise RequirementError(f"The value of '{kind.name}' must be {whole} {bounds}.")
    return value


BEST = 1e6
"""In place of infinity, where nothing could be better."""


def fitness(requirement: Requirement, counts: Counts) -> Floats:
    """The score of each group."""
    growing = [part for part in requirement.parts() if part.growing]
    scores = [part.fitness(counts) for part in requirement.parts() if not part.growing]
    if growing:
        scores.append(np.mean([part.fitness(counts) for part in growing], axis=0))
    score = np.minimum(reduce(np.minimum, scores), BEST)
    return np.where(requirement.holds(counts), np.maximum(score, 1), np.minimum(score, BELOW))
