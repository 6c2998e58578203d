"""Count queries: random workloads, and what a recipient would estimate against the true counts.

A query counts the rows in a range (or a set of values) on some quasi-identifiers, and perhaps on the sensitive value.
With selectivity s and p predicates each predicate takes s^(1/p) of its domain, so that uniform, independent data would
leave s of the rows. The workloads of the papers go by name:

- `anatomy`: paper 5, section 7.2 (after Xiao and Tao 2006): sets of values on every quasi-identifier and the sensitive
  value, s = 0.05, 10,000 queries; it reports the mean.
- `republication`: paper 1, section VII: ranges on every quasi-identifier, one sensitive value, 1,000 queries.
- `updates`: paper 3, section VI: ranges of one share of each domain (theirs is not given; 0.5 here) on every
  quasi-identifier and the sensitive value, 10,000 queries; it reports the median, of errors relative to the estimate.
- `providers`: paper 4, section V: ranges on 2 to half of the quasi-identifiers, 2,500 queries.

Errors here are always relative to the true count, and to no less than `bound` of the rows, so that empty answers count.

A recipient takes rows to be uniform over their published box, and sensitive values over the rows of a group (or
bucket): a query expects, from every box, rows x share of the box inside the query x share of the wanted sensitive
values in the group. True counts take one bit per query and row: the bits of a row are the AND of its codes' bits,
64 queries at a time. O((rows + boxes) x queries x attributes / 64 and / 1).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Domain
from reissue.errors import InputError, nearest
from reissue.taxonomy.tree import Taxonomy
from reissue.utility.published import Published

__all__ = [
    "WORKLOADS",
    "Predicates",
    "QueryError",
    "Workload",
    "draw_queries",
    "estimates",
    "query_error",
    "resolve_workload",
    "true_counts",
]


@dataclass(frozen=True)
class Workload:
    """The parameters of random queries."""

    queries: int = 1000
    attributes: tuple[int, int] | Literal["all", "half"] = (1, 3)
    """Minimum and maximum number of quasi-identifiers in a query, or "all", or "half" for 2 to half of them."""
    predicate: Literal["range", "values"] = "range"
    sensitive: Literal["none", "value", "range", "values"] = "range"
    """What a query asks about the sensitive value, if the schema has one."""
    selectivity: float = 0.05
    width: float | None = None
    """The share of its domain that each predicate covers; by default it follows from the selectivity."""
    seed: int = 0
    bound: float = 0.001
    """The minimum true count in a relative error, as a share of the rows."""

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
        """The minimum and maximum number of quasi-identifiers in a query, given how many there are."""
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


def resolve_workload(workload: Workload | str, queries: int | None = None, seed: int | None = None) -> Workload:
    """Return a workload by name, with another number of queries or seed if given."""
    if isinstance(workload, str):
        if workload not in WORKLOADS:
            raise InputError("There is no workload of that name." + nearest(workload, WORKLOADS))
        workload = WORKLOADS[workload]
    workload = workload if queries is None else replace(workload, queries=queries)
    return workload if seed is None else replace(workload, seed=seed)


@dataclass(frozen=True, eq=False)
class Predicates:
    """The predicates of all queries on one attribute, each a range or a set of codes."""

    asked: Bools
    """Which queries have a predicate on it."""
    first: Ints
    last: Ints
    """The range of codes of each query; all codes without a predicate."""
    chosen: tuple[Ints, ...] | None = None
    """The set of codes of each query, if predicates are sets."""
    size: int = 0

    def mask(self, block: slice) -> Bools:
        """Codes x queries of a block: whether the code matches."""
        codes = np.arange(self.size)[:, np.newaxis]
        wanted = (codes >= self.first[block]) & (codes <= self.last[block])
        if self.chosen is not None:
            for place, (query, asked) in enumerate(zip(self.chosen[block], self.asked[block], strict=True)):
                if asked:
                    wanted[:, place] = False
                    wanted[query, place] = True
        return wanted


def draw_queries(
    workload: Workload, taxonomies: Sequence[Taxonomy], domain: Domain | None
) -> tuple[list[Predicates], Predicates | None]:
    """Draw random queries: predicates on each quasi-identifier, and on the sensitive value if the workload has any."""
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
    """The predicates on one attribute, which never match the missing value."""
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
    """Ranges that each cover a share of a line, as leaves; at least the next leaf."""
    positions = positions / 2  # so that the distance between the largest floats does not overflow
    span = float(positions[-1] - positions[0])
    start = positions[0] + rng.random(len(shares)) * (span - shares * span)
    slack = math.ulp(span) * 4
    first = np.searchsorted(positions, start - slack, "left")
    last = np.searchsorted(positions, start + shares * span + slack, "right") - 1
    first = np.minimum(first, len(positions) - 1)
    return first, np.maximum(last, first)


Singles: TypeAlias = NDArray[np.float32]
_ROWS = 255 * 64
"""Number of rows per block: 255 ones fit a byte."""
_CELLS = 10_000_000
"""Number of (leaf, query) pairs that are processed together."""


@dataclass(frozen=True)
class QueryError:
    """The relative errors of random count queries."""

    queries: int
    mean: float
    median: float
    empty: int
    """Number of queries whose true count is below the bound."""
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)


def query_error(published: Published, workload: Workload) -> QueryError:
    """The relative errors of a workload on a published table."""
    table = published.table
    domain = table.domain if table.schema.sensitive and published.shares is not None else None
    quasi, secret = draw_queries(workload, table.taxonomies, domain)
    true = true_counts([*table.codes, *([table.sensitive] if secret else [])], [*quasi, *([secret] if secret else [])])
    guessed = estimates(published, quasi, secret)
    least = max(workload.bound * table.rows, 1e-9)
    errors = np.abs(guessed - true) / np.maximum(true, least)
    return QueryError(
        workload.queries, float(errors.mean()), float(np.median(errors)), int((true < least).sum()), workload.seed
    )


def _blocks(predicates: Sequence[Predicates]) -> Iterator[slice]:
    """Blocks of queries that are processed together; a multiple of eight."""
    leaves = sum(predicate.size for predicate in predicates)
    width = int(np.clip(_CELLS // max(leaves, 1), 8, 1024)) // 8 * 8
    queries = len(predicates[0].asked)
    return (slice(start, min(start + width, queries)) for start in range(0, queries, width))


def true_counts(columns: Sequence[Codes], predicates: Sequence[Predicates]) -> Ints:
    """The number of rows that match each query."""
    found = [
        sum(
            (_total(bits) for bits in _matches(columns, predicates, block)),
            np.zeros(block.stop - block.start, np.int64),
        )
        for block in _blocks(predicates)
    ]
    return np.concatenate(found)


def _matches(columns: Sequence[Codes], predicates: Sequence[Predicates], block: slice) -> Iterator[NDArray[np.uint8]]:
    """Rows x queries, block by block of rows: 1 if the row matches the query."""
    width = block.stop - block.start
    tables = [np.packbits(predicate.mask(block), axis=1) for predicate in predicates]
    for start in range(0, len(columns[0]), _ROWS):
        rows = slice(start, start + _ROWS)
        bits = tables[0][columns[0][rows]]
        for table, column in zip(tables[1:], columns[1:], strict=True):
            bits &= table[column[rows]]
        yield np.unpackbits(bits, axis=1, count=width)


def _total(bits: NDArray[np.uint8]) -> Ints:
    """Sums over rows; 255 ones fit a byte, and processors add bytes fastest."""
    whole = len(bits) // 255 * 255
    by_byte = np.add.reduce(bits[:whole].reshape(-1, 255, bits.shape[1]), axis=1, dtype=np.uint8)
    sums: Ints = by_byte.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.int64)
    return sums


def estimates(published: Published, quasi: Sequence[Predicates], secret: Predicates | None) -> Floats:
    """The count that a recipient expects for each query."""
    every = [*quasi, *([secret] if secret else [])]
    return np.concatenate([_estimate(published, quasi, secret, block) for block in _blocks(every)])


def _estimate(published: Published, quasi: Sequence[Predicates], secret: Predicates | None, block: slice) -> Floats:
    mask = None if secret is None else secret.mask(block).astype(np.float32)
    expected = np.zeros(block.stop - block.start)
    start = 0
    for part in _insides(published, quasi, block):
        boxes = slice(start, start + len(part))
        if mask is not None and published.shares is not None:
            # Boxes are sorted by group, so a block of boxes has few groups.
            groups, place = np.unique(published.group[boxes], return_inverse=True)
            np.multiply(part, np.asarray(published.shares[groups] @ mask, np.float32)[place], out=part)
        expected += published.rows[boxes].astype(np.float32) @ part
        start += len(part)
    return expected


def _insides(published: Published, quasi: Sequence[Predicates], block: slice) -> Iterator[Singles]:
    """Boxes x queries, block by block of boxes: the share of the box inside the query."""
    if published.exact:
        for bits in _matches(list(published.lo), quasi, block):
            yield bits.astype(np.float32)
        return
    tables, places = [], []
    for predicate, taxonomy, lo, hi in zip(quasi, published.table.taxonomies, published.lo, published.hi, strict=True):
        distinct, place = np.unique(lo.astype(np.int64) * taxonomy.size + hi, return_inverse=True)
        tables.append(_shares(predicate, taxonomy, distinct // taxonomy.size, distinct % taxonomy.size, block))
        places.append(place)
    for start in range(0, published.lo.shape[1], _ROWS // 4):
        boxes = slice(start, start + _ROWS // 4)
        part = tables[0][places[0][boxes]]
        for table, place in zip(tables[1:], places[1:], strict=True):
            part *= table[place[boxes]]
        yield part


def _shares(predicate: Predicates, taxonomy: Taxonomy, lo: Ints, hi: Ints, block: slice) -> Singles:
    """Intervals x queries: the share of the interval inside the query; 1 without a predicate."""
    if taxonomy.ordered and predicate.chosen is None:
        share = _stretch_shares(predicate, taxonomy, lo, hi, block)
    else:
        below = np.zeros((taxonomy.size + 1, block.stop - block.start), np.int32)
        np.cumsum(predicate.mask(block), axis=0, out=below[1:])
        share = (below[hi + 1] - below[lo]) / (hi - lo + 1)[:, np.newaxis]
    share[:, ~predicate.asked[block]] = 1
    return share.astype(np.float32)


def _stretch_shares(predicate: Predicates, taxonomy: Taxonomy, lo: Ints, hi: Ints, block: slice) -> Floats:
    """Overlaps on a line: whole numbers and days count one each, other numbers by length."""
    line, last = taxonomy.positions, taxonomy.size - 1 - taxonomy.missing
    # Halves, so that the distance between the largest floats does not overflow.
    unit, line = float(np.all(line[: last + 1] == np.floor(line[: last + 1]))) / 2, line / 2
    low, high = line[lo][:, np.newaxis], line[np.minimum(hi, last)][:, np.newaxis]
    start, end = line[predicate.first[block]], line[np.minimum(predicate.last[block], last)]
    inside = np.minimum(high, end) - np.maximum(low, start) + unit
    whole = high - low + unit
    share = np.where(whole > 0, np.clip(inside, 0, None) / np.where(whole > 0, whole, 1), inside >= 0)
    if taxonomy.missing:
        # Beside numbers, the root contains the missing value, one leaf among all, which no query matches.
        share *= np.where(hi > last, last / taxonomy.size * (lo <= last), 1)[:, np.newaxis]
    return share
