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
    """The most that a coalition of providers can remove from groups."""

    taken: Ints
    """Number of records that it can remove, by group."""
    owned: Callable[[], Ints]
    """Number of records that it can remove, by triple of a group's counts; computed on demand."""


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
    """A predicate on the counts of groups, evaluated for all groups at once."""

    name: ClassVar[str]
    """The part before the equals sign."""
    example: ClassVar[str] = ""
    """A complete example, for messages."""
    sensitive: ClassVar[bool] = True
    """Whether it depends on sensitive values."""
    monotone: ClassVar[bool] = True
    """Whether the union of two groups that meet it meets it too, so that generalizing never breaks it."""
    growing: ClassVar[bool] = False
    """Whether adding records to a group never breaks it ("EG monotone")."""
    relative: ClassVar[bool] = False
    """Whether it compares groups with the whole table."""
    by_size: ClassVar[bool] = False
    """Whether it only requires at least `least` rows per group."""
    by_values: ClassVar[bool] = False
    """Whether it only requires at least `least` different values per group."""
    across: ClassVar[bool] = False
    """Whether it applies to a release as a whole; groups that each meet `holds` suffice, but are not necessary."""
    capped: ClassVar[bool] = False
    """Whether `cap` and `least` express all that it requires of a group."""
    by_people: ClassVar[bool] = False
    """Whether it is defined for people with several records: by people in a group, and people who have a value."""
    any_value: ClassVar[bool] = False
    """Whether it bounds the frequency of any value in a group.

    Records whose value needs no protection then count as if each had a value of its own; otherwise they count as they
    are.
    """

    @property
    def least(self) -> int:
        """A number of rows below which no group can meet it."""
        return 1

    @property
    def least_people(self) -> int:
        """A number of people below which no group can meet it, if people may have several values."""
        return self.least

    @property
    def group_size(self) -> int | None:
        """The number of rows that it requires regardless of their values; None if it requires none."""
        return max((part.least for part in self.parts() if part.by_size and not part.across), default=None)

    @property
    def share_limit(self) -> float | None:
        """The largest posterior probability of a value that it intends to allow; None if it states none."""
        return None

    def value_bounds(self, domain: Domain) -> Floats | None:
        """Sensitive value to the largest share that it may have of a group, where rare values have smaller ones.

        None where bounds do not depend on the values' shares of the table.
        """
        del domain
        return None

    @property
    def excess_limit(self) -> float | None:
        """A share such that groups meet it if at most this share of their rows exceeds the table's shares of values.

        None if there is no such share.
        """
        return None

    def stricter(self, part: float) -> "Requirement":
        """The requirement with this fraction of its `excess_limit`, or of what `value_bounds` allow; else itself."""
        del part
        return self

    @property
    def invariant_m(self) -> int | None:
        """The m for which m-invariance implies it; None if unknown."""
        return None

    @property
    def fewest_values(self) -> int:
        """The number of different sensitive values that a group needs, as far as the requirement implies one."""
        return 1

    @property
    def named_values(self) -> Sets:
        """The sensitive values, or sets of them, that it is about; empty if it is about every single value."""
        return ()

    @property
    def written(self) -> "Requirement":
        """The requirement as the user wrote it, if this is its application to several columns."""
        return self

    def named_masks(self, domain: Domain) -> Bools:
        """Which values belong to each of `named_values`: items x values."""
        return masks(domain, self.named_values) if self.named_values else np.zeros((0, domain.size), np.bool_)

    @abstractmethod
    def holds(self, counts: Counts) -> Bools:
        """Which groups meet it. The answer for groups without rows is meaningless."""

    @classmethod
    @abstractmethod
    def parse(cls, argument: str) -> "Requirement":
        """Read the text after the equals sign."""

    @abstractmethod
    def __str__(self) -> str:
        """The text that `parse` reads."""

    def parts(self) -> "tuple[Requirement, ...]":
        """The requirements that it consists of."""
        return (self,)

    @property
    def in_groups(self) -> "Requirement | None":
        """The part of it that applies to each group; None if there is none."""
        parts = tuple(part for part in self.parts() if not part.across)
        return All(parts) if len(parts) > 1 else next(iter(parts), None)

    def holds_across(self, shown: Ints, sizes: Ints) -> Bools:
        """Which groups are acceptable in a release, given what it shows (attributes x groups) and their sizes."""
        fine = np.ones(len(sizes), np.bool_)
        for part in self.parts():
            if part.across:
                fine &= part.holds_across(shown, sizes)
        return fine

    def __and__(self, other: "Requirement") -> "Requirement":
        """Both requirements."""
        return All(self.parts() + other.parts())

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above (1 or more) or below the requirement; see the function `fitness`."""
        return np.where(self.holds(counts), 1.0, BELOW)

    def capped_sets(self, codes: Ints, domain: Domain) -> Bools:
        """Sets x values: the sets that contain some of these values and whose rows `cap` bounds, if it is `capped`."""
        if self.named_values:
            return self.named_masks(domain)
        found = np.zeros((len(codes), domain.size), np.bool_)
        found[np.arange(len(codes)), codes] = True
        return found

    def cap(self, sizes: Ints) -> Ints:
        """The maximum number of rows of a value (or set) in a group of each size; -1 if the group is too small."""
        return sizes

    # For groups that their own providers look at without their own records, see papers.coalition:

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """Which groups still meet it whatever is removed: a lower bound that is never wrong when it says yes."""
        del loss
        return np.zeros(whole.total, np.bool_)

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Whether everything that a coalition can look at meets it; None if unknown."""
        if self.growing:
            return subsets.smallest(self.holds)
        sets = self.worst_sets(subsets.values, subsets.domain)
        return subsets.every(self.holds) if sets is None else subsets.raised(self.holds, sets)

    def worst_sets(self, values: Ints, domain: Domain) -> Bools | None:
        """Sets x values, such that a worst coalition owns most outside one of them and removes nothing inside it.

        None if unknown: then coalitions are searched.
        """
        del domain
        return np.zeros((1, len(values)), np.bool_) if self.by_size else None

    def share_bounds(self, values: Ints, domain: Domain) -> tuple[Ints, Floats] | None:
        """Sets x values as 0 and 1, with the share above which each violates it, if that is all it requires."""
        del values, domain
        return None

    def remaining(self, values: Ints, domain: Domain) -> Remaining | None:
        """What must remain of a group's values, if that is all it requires."""
        del domain
        if not self.by_values:
            return None
        return Remaining(np.ones(len(values), np.bool_), self.least, np.zeros((0, len(values)), np.bool_))

    def refuse_impossible(self, whole: Counts, *, suppressing: bool = False) -> None:
        """Refuse a requirement that no release of this table can meet, before work starts.

        `whole` is the table as a single group. If records may be suppressed, only what no suppression could repair is
        refused.
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
        """Refuse a table with repeated records, if the requirement is not defined for it."""
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
        """Refuse sensitive values that it cannot judge: without an order, tree or numbers, or without a named value."""
        del domain

    def possible(self, whole: Counts) -> bool:
        """Whether some release of a table may meet it; if it is monotone, the whole table as one group decides."""
        return not self.monotone or bool(self.holds(whole)[0])

    def why(self, whole: Counts) -> str:
        """What the whole table has instead, for the message above; begins with a space or a comma."""
        del whole
        return ""


@dataclass(frozen=True)
class All(Requirement):
    """Several requirements that must all be met."""

    name: ClassVar[str] = "&"
    requirements: tuple[Requirement, ...]

    def __repr__(self) -> str:
        return sentence(self)

    @property
    def sensitive(self) -> bool:  # type: ignore[override]
        """Whether any part depends on sensitive values."""
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
        """Whether any part compares groups with the whole table."""
        return any(part.relative for part in self.requirements)

    @property
    def across(self) -> bool:  # type: ignore[override]
        """Whether any part applies to a release as a whole."""
        return any(part.across for part in self.requirements)

    @property
    def least(self) -> int:
        """The largest number of any part."""
        return max(part.least for part in self.requirements)

    @property
    def least_people(self) -> int:
        """The largest number of any part."""
        return max(part.least_people for part in self.requirements)

    @property
    def share_limit(self) -> float | None:
        """The strictest limit of any part."""
        return min((limit for part in self.requirements if (limit := part.share_limit) is not None), default=None)

    def value_bounds(self, domain: Domain) -> Floats | None:
        """The smallest bound of any part, value by value."""
        bounds = [one for part in self.requirements if (one := part.value_bounds(domain)) is not None]
        return np.minimum.reduce(bounds) if bounds else None

    @property
    def excess_limit(self) -> float | None:
        """The strictest limit of any part; whether other parts are met is a separate question."""
        return min((limit for part in self.requirements if (limit := part.excess_limit) is not None), default=None)

    def stricter(self, part: float) -> Requirement:
        """Every part with this fraction of its limit."""
        return All(tuple(one.stricter(part) for one in self.requirements))

    @property
    def fewest_values(self) -> int:
        """The largest number of any part."""
        return max(part.fewest_values for part in self.requirements)

    @property
    def named_values(self) -> Sets:
        """The values of the first part that names any."""
        return next((part.named_values for part in self.requirements if part.named_values), ())

    def named_masks(self, domain: Domain) -> Bools:
        """The masks of the first part that names any."""
        return next((part for part in self.requirements if part.named_values), self.requirements[0]).named_masks(domain)

    def holds(self, counts: Counts) -> Bools:
        """Which groups meet every part."""
        return reduce(np.logical_and, (part.holds(counts) for part in self.requirements))

    @classmethod
    def parse(cls, argument: str) -> Requirement:
        """Read the whole text."""
        return parse(argument)

    def parts(self) -> tuple[Requirement, ...]:
        """The requirements that it consists of."""
        return self.requirements

    def fits(self, domain: Domain) -> None:
        """Refuse sensitive values that any part cannot judge."""
        for part in self.requirements:
            part.fits(domain)

    def refuse_several_rows(self, domain: Domain) -> None:
        """Refuse a table with repeated records, if any part is not defined for it."""
        for part in self.requirements:
            part.refuse_several_rows(domain)

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return " & ".join(str(part) for part in self.requirements)


@dataclass(frozen=True, eq=False)
class Adapter(Requirement):
    """A requirement applied to groups that are counted differently; never written by users."""

    name: ClassVar[str] = "asking"
    asked: Requirement

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.asked.name)

    def __repr__(self) -> str:
        return repr(self.asked)

    @property
    def sensitive(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement."""
        return self.asked.sensitive

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement."""
        return self.asked.monotone

    @property
    def growing(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement."""
        return self.asked.growing

    @property
    def relative(self) -> bool:  # type: ignore[override]
        """As in the adapted requirement."""
        return self.asked.relative

    @property
    def least(self) -> int:
        """As in the adapted requirement."""
        return self.asked.least

    @classmethod
    def parse(cls, argument: str) -> Requirement:
        """Adapters have no text of their own."""
        del argument
        raise InternalError("This requirement is made of another one, and never read. Please report this.")

    def __str__(self) -> str:
        """As in the adapted requirement."""
        return str(self.asked)


_REGISTRY: dict[str, type[Requirement]] = {}
GROUP = "reissue.requirements"
"""The entry points by which other packages add requirements."""
_MOST = 10**15
"""More rows than any table has; larger numbers would not fit the arrays that they are compared with."""
_Kind = TypeVar("_Kind", bound=type[Requirement])


def sentence(requirement: Requirement) -> str:
    """Return a requirement in words."""
    return f"Requirement {requirement}."


def register(kind: _Kind) -> _Kind:
    """Make a requirement known to `parse`, and so to the command line. A built-in one cannot be replaced."""
    there = _REGISTRY.get(kind.name)
    if there is not None and there.__module__.startswith(__package__) and there.__module__ != kind.__module__:
        raise RequirementError(f"There is a built-in requirement '{kind.name}'. Choose another name.")
    _REGISTRY[kind.name] = kind
    kind.__repr__ = sentence  # type: ignore[method-assign, assignment]
    return kind


def registered() -> dict[str, type[Requirement]]:
    """Return all known requirements by name."""
    load_plugins(GROUP, _REGISTRY)
    return dict(sorted(_REGISTRY.items()))


def parse(text: str | Requirement) -> Requirement:
    """Read a requirement such as `k=5 & l=3`; one that is made already is itself."""
    if isinstance(text, Requirement):
        return text
    if not isinstance(text, str):
        raise RequirementError("A requirement must be a text such as 'k=5 & l=3', or made as ri.KAnonymity(5) is.")
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
    """The numbers of a requirement with several parameters, as text."""
    pieces = text.split(",")
    if len(pieces) != count:
        raise RequirementError(f"The requirement '{kind.name}' needs {count} numbers{_example(kind)}.")
    return pieces


def over(bound: float, share: Floats) -> Floats:
    """The fitness of a share that must not exceed a bound."""
    return np.asarray(np.minimum(bound / np.maximum(share, 1e-12), _BEST), np.float64)


def number(
    kind: type[Requirement], text: str, read: Callable[[str], float], least: float, most: float = np.inf
) -> float:
    """Read a number within bounds."""
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
"""The largest fitness, in place of infinity."""


def fitness(requirement: Requirement, counts: Counts, alpha: float | None = None) -> Floats:
    """Return the fitness of each group: 1 or more exactly if it meets the requirement (Rani 2014, definition 3.1).

    Every requirement has a measure, its method `fitness`, that is at least 1 if it is met:

    - k: rows / k; l: different values / l; k-e: the mean of different numbers / k and range / e;
    - entropy-l: exp(entropy) / l, the effective number of values over l; recursive: c tail / most frequent;
    - confidence, simple-l, personalized: bound / largest share; alpha-k: the same, but at most rows / k;
    - t: (1 - distance) / (1 - t); any other: 1 if met, else a little less.

    Growing requirements (k, l, k-e) are averaged: the paper's equation 1, `(1-alpha) |T|/k + alpha |values|/l`. Several
    that look at values share alpha; without an alpha all weigh the same. The others enter by their minimum. Where the
    requirement as a whole is not met, the score is capped below 1 (the paper prints max(1-eps, F); it must be min).

    With growing requirements alone, the score never falls when records are added: sizes, numbers of values and ranges
    only grow, and so does their mean. With the others this is impossible: adding records of one value violates them.
    But for all monotone ones in the list, a union scores at least as much as the worse of its parts: entropy is concave
    and the distances are convex in the distribution, shares of a union lie between those of its parts, tails add up at
    least and the most frequent at most; a minimum of such functions is one too (a mean need not be: hence the minimum).
    So a group with a low score cannot be improved by splitting it further.

    A score orders coalitions and split points; no verdict depends on it.
    """
    growing = [part for part in requirement.parts() if part.growing]
    scores = [part.fitness(counts) for part in requirement.parts() if not part.growing]
    if growing:
        by_size = np.array([part.by_size for part in growing])
        weights = np.ones(len(growing))
        if alpha is not None and by_size.any() and not by_size.all():
            weights = np.where(by_size, (1 - alpha) / by_size.sum(), alpha / (~by_size).sum())
        scores.append(np.average([part.fitness(counts) for part in growing], axis=0, weights=weights))
    score = np.minimum(reduce(np.minimum, scores), BEST)
    return np.where(requirement.holds(counts), np.maximum(score, 1), np.minimum(score, BELOW))
