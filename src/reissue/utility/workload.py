"""Workloads: random count queries, the same for the same seed.

A query asks how many rows lie in a range (or a set of values) on some quasi-identifiers, and perhaps on the sensitive
value. With selectivity s and p predicates each predicate takes s^(1/p) of its domain, so that uniform, independent data
would leave s of the rows. The papers' own workloads go by name:

- `anatomy`: paper 5, section 7.2 (after Xiao and Tao 2006): sets of values on every quasi-identifier and the sensitive
  value, s = 0.05, 10,000 queries; it reports the mean.
- `republication`: paper 1, section VII: ranges on every quasi-identifier, one sensitive value, 1,000 queries.
- `updates`: paper 3, section VI: ranges of one share of each domain (theirs is not given; 0.5 here) on every
  quasi-identifier and the sensitive value, 10,000 queries; it reports the median, of errors relative to the estimate.
- `providers`: paper 4, section V: ranges on 2 to half of the quasi-identifiers, 2,500 queries.

Errors here are always relative to the true count, and to no less than `bound` of the rows, so that empty answers count.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Domain
from reissue.errors import InputError, nearest
from reissue.taxonomy.tree import Taxonomy

__all__ = ["WORKLOADS", "Predicates", "Workload", "draw", "settle"]


@dataclass(frozen=True)
class Workload:
    """What random queries look like."""

    queries: int = 1000
    attributes: tuple[int, int] | Literal["all", "half"] = (1, 3)
    """How many quasi-identifiers a query asks about: least and most, all, or from 2 to half of them."""
    predicate: Literal["range", "values"] = "range"
    sensitive: Literal["none", "value", "range", "values"] = "range"
    """What a query asks about the sensitive value; nothing where the schema has none."""
    selectivity: float = 0.05
    width: float | None = None
    """The share of its domain that each predicate takes, instead of what follows from the selectivity."""
    seed: int = 0
    bound: float = 0.001
    """The share of the rows that a true count is taken for at least, when errors are divided by it."""

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise InputError("A workload needs at least one query.")
        for name in ("selectivity", "width", "bound"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                raise InputError(f"`{name}` must be a share above 0, at most 1.")
        if isinstance(self.attributes, tuple) and not 0 < self.attributes[0] <= self.attributes[1]:
            raise InputError("`attributes` must be the least and the most of them, at least 1, or 'all' or 'half'.")

    def sizes(self, quasi: int) -> tuple[int, int]:
        """The least and the most quasi-identifiers a query asks about, out of those there are."""
        if isinstance(self.attributes, tuple):
            least, most = self.attributes
        else:
            least, most = (quasi, quasi) if self.attributes == "all" else (2, max(quasi // 2, 2))
        return min(least, quasi), min(most, quasi)


WORKLOADS = {
    "ranges": Workload(),
    "anatomy": Workload(10_000, "all", "values", "values"),
    "republication": Workload(1_000, "all", "range", "value"),
    "updates": Workload(10_000, "all", "range", "range", width=0.5),
    "providers": Workload(2_500, "half", "range", "none"),
}


def settle(workload: Workload | str, queries: int | None = None, seed: int | None = None) -> Workload:
    """A workload by name, with another number of queries or seed if given."""
    if isinstance(workload, str):
        if workload not in WORKLOADS:
            raise InputError("There is no workload of that name." + nearest(workload, WORKLOADS))
        workload = WORKLOADS[workload]
    workload = workload if queries is None else replace(workload, queries=queries)
    return workload if seed is None else replace(workload, seed=seed)


@dataclass(frozen=True, eq=False)
class Predicates:
    """What all queries ask about one attribute, each a range of codes or a set of them."""

    asked: Bools
    """Which queries ask about it at all."""
    first: Ints
    last: Ints
    """Query to its range of codes; all codes where it does not ask."""
    chosen: tuple[Ints, ...] | None = None
    """Query to its set of codes, where sets are asked for."""
    size: int = 0

    def mask(self, block: slice) -> Bools:
        """Codes x queries of a block: whether the code is wanted."""
        codes = np.arange(self.size)[:, np.newaxis]
        wanted = (codes >= self.first[block]) & (codes <= self.last[block])
        if self.chosen is not None:
            for place, (query, asked) in enumerate(zip(self.chosen[block], self.asked[block], strict=True)):
                if asked:
                    wanted[:, place] = False
                    wanted[query, place] = True
        return wanted


def draw(
    workload: Workload, taxonomies: Sequence[Taxonomy], domain: Domain | None
) -> tuple[list[Predicates], Predicates | None]:
    """Random queries: the predicates on each quasi-identifier, and on the sensitive value if queries ask about it."""
    rng = np.random.default_rng(workload.seed)
    secret = domain is not None and workload.sensitive != "none"
    least, most = workload.sizes(len(taxonomies))
    numbers = rng.integers(least, most, workload.queries, endpoint=True)
    order = rng.permuted(np.tile(np.arange(len(taxonomies)), (workload.queries, 1)), axis=1)
    asked = order < numbers[:, np.newaxis]
    shares = np.full(workload.queries, workload.width or 0.0)
    if workload.width is None:
        shares = workload.selectivity ** (1 / (numbers + secret))
    quasi = [
        _predicates(rng, asked[:, place], shares, taxonomy.size, taxonomy, workload.predicate)
        for place, taxonomy in enumerate(taxonomies)
    ]
    if domain is None or not secret:
        return quasi, None
    everyone = np.ones(workload.queries, np.bool_)
    return quasi, _predicates(rng, everyone, shares, domain.size, domain.taxonomy, workload.sensitive)


def _predicates(
    rng: np.random.Generator, asked: Bools, shares: "np.ndarray", size: int, taxonomy: Taxonomy | None, kind: str
) -> Predicates:
    """One attribute's predicates; nobody asks for the missing value."""
    known = size - 1 if taxonomy is not None and taxonomy.missing and size > 1 else size
    widths = np.ones(len(asked), np.int64) if kind == "value" else np.ceil(shares * known - 1e-9).astype(np.int64)
    widths = np.clip(widths, 1, known)
    if taxonomy is not None and taxonomy.ordered and kind == "range":
        first, last = _stretches(rng, taxonomy.positions[:known], shares)
    else:
        first = rng.integers(0, known - widths, endpoint=True)
        last = first + widths - 1
    chosen = None
    if kind == "values":
        chosen = tuple(np.sort(rng.choice(known, width, replace=False)) for width in widths.tolist())
    return Predicates(asked, np.where(asked, first, 0), np.where(asked, last, size - 1), chosen, size)


def _stretches(rng: np.random.Generator, positions: "np.ndarray", shares: "np.ndarray") -> tuple[Ints, Ints]:
    """Ranges that take a share of a line each, as the leaves on them; at least the next leaf."""
    positions = positions / 2  # so that the distance of the largest numbers is a number too
    span = float(positions[-1] - positions[0])
    start = positions[0] + rng.random(len(shares)) * (span - shares * span)
    slack = math.ulp(span) * 4
    first = np.searchsorted(positions, start - slack, "left")
    last = np.searchsorted(positions, start + shares * span + slack, "right") - 1
    first = np.minimum(first, len(positions) - 1)
    return first, np.maximum(last, first)
