"""How surely a value may be inferred: confidence bounding, (alpha,k)-anonymity, simplified l-diversity.

Confidence bounding (Wang et al. 2006): no value has a larger share of a group than the bound. (alpha,k)-anonymity (Wong
et al. 2006) adds k-anonymity. The simplified l-diversity of Wong et al. 2009 is the bound 1/l. Each may be asked of
named values or sets of values only (see `_values`). Shares of a union lie between the shares of its parts, so all are
monotone; adding records of one value raises its share, so none is growing. Linear in the triples.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts, Domain
from reissue.requirements._base import Requirement, arguments, number, register
from reissue.requirements._values import Sets, masks, plain, read_sets, sets_of, write_sets

__all__ = ["AlphaK", "Confidence", "SimpleLDiversity"]


@dataclass(frozen=True)
class _Bounded(Requirement):
    """What the three have in common: the values they are asked of."""

    values: Sets = field(default=(), kw_only=True)
    """Names, or collections of names taken together, each bounded on its own; none means every single value."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", sets_of(self.values))

    def fits(self, domain: Domain) -> None:
        """Refuse a name that the sensitive column does not have."""
        if self.values:
            masks(domain, self.values)

    def most(self, counts: Counts) -> Floats:
        """The rows of each group's most frequent value (or set), of those asked about."""
        if not self.values:
            return counts.largest.astype(np.float64)
        asked = masks(counts.domain, self.values)
        each = [counts.sum(np.where(mask[counts.value], counts.count, 0)) for mask in asked]
        return np.asarray(np.maximum.reduce(each), np.float64)

    def share(self, counts: Counts) -> Floats:
        """The share of that value in its group."""
        return self.most(counts) / np.maximum(counts.sizes, 1)

    def why(self, whole: Counts) -> str:
        """The largest share in the whole table."""
        return f" (a value makes up {self.share(whole)[0]:.3g} of it)"

    def _listed(self) -> str:
        return f":{write_sets(self.values)}" if self.values else ""


def _values(listed: str) -> Sets:
    return read_sets(listed) if listed.strip() else ()


@register
@dataclass(frozen=True)
class Confidence(_Bounded):
    """Confidence bounding: no sensitive value has a larger share of a group than the bound."""

    name: ClassVar[str] = "confidence"
    example: ClassVar[str] = "confidence=0.8"
    bound: float

    def __post_init__(self) -> None:
        super().__post_init__()
        number(type(self), repr(float(self.bound)), float, 0, 1)

    def holds(self, counts: Counts) -> Bools:
        """Groups in which no value's share is above the bound."""
        # A quotient of counts equals the nearest double of the same decimal number, so equality stays equality.
        return self.share(counts) <= self.bound

    @classmethod
    def parse(cls, argument: str) -> "Confidence":
        """From `0.8` or `0.8:HIV, {flu, cold}`."""
        bound, _, listed = argument.partition(":")
        return cls(number(cls, bound, float, 0, 1), values=_values(listed))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"confidence={plain(self.bound)}{self._listed()}"


@register
@dataclass(frozen=True)
class AlphaK(_Bounded):
    """(alpha,k)-anonymity: every group has at least k rows, and no value a share above alpha."""

    name: ClassVar[str] = "alpha-k"
    example: ClassVar[str] = "alpha-k=0.5,5"
    alpha: float
    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        number(type(self), repr(float(self.alpha)), float, 0, 1)
        number(type(self), str(self.k), int, 1)

    @property
    def least(self) -> int:
        """At least k rows."""
        return self.k

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least k rows in which no value's share is above alpha."""
        return (counts.sizes >= self.k) & (self.share(counts) <= self.alpha)

    @classmethod
    def parse(cls, argument: str) -> "AlphaK":
        """From `0.5,5` or `0.5,5:HIV`."""
        numbers, _, listed = argument.partition(":")
        alpha, k = arguments(cls, numbers, 2)
        return cls(number(cls, alpha, float, 0, 1), int(number(cls, k, int, 1)), values=_values(listed))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"alpha-k={plain(self.alpha)},{self.k}{self._listed()}"


@register
@dataclass(frozen=True)
class SimpleLDiversity(_Bounded):
    """Simplified l-diversity: no value, or named set of values, makes up more than 1/l of a group."""

    name: ClassVar[str] = "simple-l"
    example: ClassVar[str] = "simple-l=2"
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        super().__post_init__()
        number(type(self), str(self.l), int, 1)

    def holds(self, counts: Counts) -> Bools:
        """Groups in which l times the most frequent value's rows are no more than the group's."""
        return self.most(counts) * self.l <= counts.sizes

    @classmethod
    def parse(cls, argument: str) -> "SimpleLDiversity":
        """From `2` or `2:{HIV, cancer}`."""
        size, _, listed = argument.partition(":")
        return cls(int(number(cls, size, int, 1)), values=_values(listed))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"simple-l={self.l}{self._listed()}"
