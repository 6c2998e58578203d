"""Personalized privacy (Xiao, Tao 2006): each person names a guarding node and must not be placed under it too surely.

A person's breach probability is the share of the group's rows whose value lies under the person's guarding node, a
node of the sensitive column's taxonomy on or above the person's own value; it may not exceed the bound. A person
without a guarding node asks for nothing.

Groups' counts know values, not persons, so guarding nodes are given per value: `1st-4th>elementary` says that whoever
has the first guards the second, `elementary` alone that all values under the node guard it, and no list at all that
every value guards itself. Where persons with one value chose differently, `of_records` gives the value all of their
nodes: each person gets at least what that person asked for, some get more.

A union may bring together a guarded value and values under its node that nobody guards, so it is monotone only where
every node is guarded by all its values. Linear in the triples, once per guarding node.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import RequirementError
from reissue.requirements._base import Loss, Requirement, number, over, register
from reissue.requirements._subsets import singles
from reissue.requirements._values import masks, plain, read_name, split, write_name

__all__ = ["Personalized"]


@register
@dataclass(frozen=True)
class Personalized(Requirement):
    """Require that nobody is linked with more than a bound to values that they want protected (personalized privacy).

    Parameters
    ----------
    bound
        The largest allowed probability.
    guards
        Pairs of a sensitive value and the node of its taxonomy that people with this value want protected.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.Personalized(0.5))
    'personalized=0.5'
    """

    name: ClassVar[str] = "personalized"
    example: ClassVar[str] = "personalized=0.5:elementary or personalized=0.5:1st-4th>elementary"
    bound: float
    guards: tuple[tuple[str, str], ...] = ()
    """Who guards what: a value or node, and the node on or above it that must not be inferred too surely."""

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.bound)), float, 0, 1)
        object.__setattr__(self, "guards", tuple((str(who), str(node)) for who, node in self.guards))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether every guarding node is guarded by all values under it."""
        return all(who == node for who, node in self.guards)

    @classmethod
    def of_records(cls, bound: float, values: Iterable[str], guards: Iterable[str | None]) -> "Personalized":
        """From a value and a guarding node (or None) for each person."""
        asked = {(value, node) for value, node in zip(values, guards, strict=True) if node is not None}
        if not asked:
            raise RequirementError("Nobody has a guarding node: there is nothing to require.")
        return cls(bound, tuple(sorted(asked)))

    def holds(self, counts: Counts) -> Bools:
        """Groups in which no guarding node of a present value holds too large a share."""
        sizes = np.maximum(counts.sizes, 1)
        if not self.guards:
            return counts.largest / sizes <= self.bound
        met = np.ones(counts.total, np.bool_)
        for who, node in self._pairs(counts.domain):
            shares: Floats = counts.sum(np.where(node[counts.value], counts.count, 0)) / sizes
            met &= (shares <= self.bound) | (counts.sum(who[counts.value].astype(np.float64)) == 0)
        return met

    @property
    def share_limit(self) -> float:
        """The bound."""
        return self.bound

    def worst_sets(self, values: Ints, domain: Domain) -> Bools:
        """The share of a guarded node is largest with all records under it."""
        nodes = tuple({(node,) for _, node in self.guards})
        return masks(domain, nodes)[:, values] if nodes else singles(len(values))

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """No share is larger than its whole value's rows over those that remain at least; only of single values."""
        share = whole.largest / np.maximum(whole.sizes - loss.taken, 1)
        return np.asarray((share <= self.bound) & (not self.guards), np.bool_)

    def fitness(self, counts: Counts) -> Floats:
        """The bound over the largest share under a node that somebody present guards."""
        sizes = np.maximum(counts.sizes, 1)
        if not self.guards:
            return over(self.bound, counts.largest / sizes)
        share = np.zeros(counts.total)
        for who, node in self._pairs(counts.domain):
            present = counts.sum(who[counts.value].astype(np.float64)) > 0
            np.maximum(share, present * counts.sum(np.where(node[counts.value], counts.count, 0)) / sizes, out=share)
        return over(self.bound, share)

    def fits(self, domain: Domain) -> None:
        """Refuse a name that the sensitive column does not have, and a guarding node that is not above its value."""
        if any((who & ~node).any() for who, node in self._pairs(domain)):
            raise RequirementError("A guarding node must be the value itself or a node above it in the taxonomy.")

    def _pairs(self, domain: Domain) -> list[tuple[Bools, Bools]]:
        if not self.guards:
            return []
        who, node = (masks(domain, tuple((name,) for name in names)) for names in zip(*self.guards, strict=True))
        return list(zip(who, node, strict=True))

    @classmethod
    def parse(cls, argument: str) -> "Personalized":
        """From `0.5`, `0.5:elementary` or `0.5:1st-4th>elementary, HIV`."""
        bound, _, listed = argument.partition(":")
        guards = [_read_guard(item) for item in split(listed, ",")] if listed.strip() else []
        return cls(number(cls, bound, float, 0, 1), tuple(guards))

    def why(self, whole: Counts) -> str:
        """The largest guarded share."""
        shares = [float(whole.count[node[whole.value]].sum()) for _, node in self._pairs(whole.domain)]
        most = max(shares, default=float(whole.largest[0]))
        return f" (a guarded node makes up {most / int(whole.sizes[0]):.3g} of it)"

    def __str__(self) -> str:
        """As `parse` reads it."""
        items = [
            write_name(node) if who == node else f"{write_name(who)}>{write_name(node)}" for who, node in self.guards
        ]
        return f"personalized={plain(self.bound)}" + (f":{', '.join(items)}" if items else "")


def _read_guard(text: str) -> tuple[str, str]:
    names = [read_name(name) for name in split(text, ">")]
    if len(names) > 2:
        raise RequirementError("A guarding node is written value>node, or node alone.")
    return names[0], names[-1]
