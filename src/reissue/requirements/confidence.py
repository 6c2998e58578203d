"""How surely a value may be inferred: confidence bounding, (alpha,k)-anonymity, simplified l-diversity.

Confidence bounding (Wang et al. 2006): no value has a larger share of a group than the bound. (alpha,k)-anonymity (Wong
et al. 2006) adds k-anonymity. The simplified l-diversity of Wong et al. 2009 is the bound 1/l. Each may be asked of
named values or sets of values only (see `_values`). Shares of a union lie between the shares of its parts, so all are
monotone; adding records of one value raises its share, so none is growing. Linear in the triples.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements._base import Loss, Requirement, arguments, number, over, register
from reissue.requirements._subsets import singles
from reissue.requirements._values import Sets, masks, plain, read_sets, sets_of, write_sets

__all__ = ["AlphaK", "Confidence", "SimpleLDiversity"]


@dataclass(frozen=True)
class _ShareBound(Requirement):
    """What the three have in common: the values they are asked of, and a limit to their share."""

    capped: ClassVar[bool] = True
    by_people: ClassVar[bool] = True
    values: Sets = field(default=(), kw_only=True)
    """Names, or collections of names taken together, each bounded on its own; none means every single value."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", sets_of(self.values))

    @property
    @abstractmethod
    def share_limit(self) -> float:
        """The largest share that a value, or named set of values, may have of a group."""

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

    @property
    def any_value(self) -> bool:  # type: ignore[override]
        """Whether it names no values."""
        return not self.values

    @property
    def named_values(self) -> Sets:
        """Its values."""
        return self.values

    def worst_sets(self, values: Ints, domain: Domain) -> Bools:
        """The share of a set is largest with all records inside it; the fewest rows remain with none of them."""
        asked = masks(domain, self.values)[:, values] if self.values else singles(len(values))
        return np.concatenate([np.zeros((1, len(values)), np.bool_), asked])

    def cap(self, sizes: Ints) -> Ints:
        """The most rows whose share is no larger than the limit."""
        bound = self.share_limit
        most = np.floor(bound * sizes + 1e-9).astype(np.int64)
        # The requirement compares quotients, so that is what decides about the last one.
        most -= most / np.maximum(sizes, 1) > bound
        most += (most + 1) / np.maximum(sizes, 1) <= bound
        return np.where(sizes < self.least, -1, most)

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """No share is larger than its whole value's rows over those that remain at least; only of single values."""
        remaining = whole.sizes - loss.taken
        share = whole.largest / np.maximum(remaining, 1)
        return np.asarray((share <= self.share_limit) & (remaining >= self.least) & (not self.values), np.bool_)

    def fitness(self, counts: Counts) -> Floats:
        """The limit over the largest share, but at most rows over those that are needed."""
        found = over(self.share_limit, self.share(counts))
        return found if self.least == 1 else np.minimum(found, counts.sizes / self.least)

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
class Confidence(_ShareBound):
    """Require that no sensitive value has a larger share of a group than a bound (confidence bounding).

    Parameters
    ----------
    bound
        The largest allowed share, between 0 and 1.
    values
        Sets of values that are bounded together; all values one by one if there are none.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.Confidence(0.4))
    'confidence=0.4'
    """

    name: ClassVar[str] = "confidence"
    example: ClassVar[str] = "confidence=0.8"
    bound: float

    def __post_init__(self) -> None:
        super().__post_init__()
        number(type(self), repr(float(self.bound)), float, 0, 1)

    @property
    def share_limit(self) -> float:
        """The bound."""
        return self.bound

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
class AlphaK(_ShareBound):
    """Require at least k records in every group and no value with a share above alpha ((alpha,k)-anonymity).

    Parameters
    ----------
    alpha
        The largest allowed share of a value.
    k
        The smallest allowed number of records.
    values
        Sets of values that are bounded together; all values one by one if there are none.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.AlphaK(0.5, 5))
    'alpha-k=0.5,5'
    """

    name: ClassVar[str] = "alpha-k"
    example: ClassVar[str] = "alpha-k=0.5,5"
    alpha: float
    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        number(type(self), repr(float(self.alpha)), float, 0, 1)
        number(type(self), str(self.k), int, 1)

    @property
    def share_limit(self) -> float:
        """It is alpha."""
        return self.alpha

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
class SimpleLDiversity(_ShareBound):
    """Require that no value makes up more than 1/l of a group (simplified l-diversity).

    Parameters
    ----------
    l
        The reciprocal of the largest allowed share.
    values
        Sets of values that count together; all values one by one if there are none.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.SimpleLDiversity(4))
    'simple-l=4'
    """

    name: ClassVar[str] = "simple-l"
    example: ClassVar[str] = "simple-l=2"
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        super().__post_init__()
        number(type(self), str(self.l), int, 1)

    @property
    def share_limit(self) -> float:
        """One in l."""
        return 1 / self.l

    @property
    def invariant_m(self) -> int:
        """Its l: of m different values none has a larger share than 1/m."""
        return self.l

    @property
    def fewest_values(self) -> int:
        """At least l, if every value is bounded."""
        return 1 if self.values else self.l

    def cap(self, sizes: Ints) -> Ints:
        """In whole numbers."""
        return sizes // self.l

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """In whole numbers."""
        return (whole.largest * self.l <= whole.sizes - loss.taken) & (not self.values)

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
