"""Count queries: what a recipient would estimate from the published tables, against the true counts.

A recipient takes rows for spread evenly over their published box, and sensitive values for spread evenly over the rows
of a group (or bucket): a query expects, from every box, rows x share of the box inside the query x share of the wanted
sensitive values in the group. True counts take one bit per query and row: the bits of a row are the AND of its codes'
bits, 64 queries at a time. O((rows + boxes) x queries x attributes / 64 and / 1).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy
from reissue.utility.published import Published
from reissue.utility.workload import Predicates, Workload, draw

__all__ = ["QueryError", "estimates", "query_error", "true_counts"]

Singles: TypeAlias = NDArray[np.float32]
_ROWS = 255 * 64
_CELLS = 10_000_000
"""How many (leaf, query) pairs are looked at together."""


@dataclass(frozen=True)
class QueryError:
    """How far off random count queries are, relative to the true counts."""

    queries: int
    mean: float
    median: float
    empty: int
    """Queries whose true count is below the bound."""
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)


def query_error(published: Published, workload: Workload) -> QueryError:
    """The relative errors of a workload on a published table."""
    table = published.table
    domain = table.domain if table.schema.sensitive and published.shares is not None else None
    quasi, secret = draw(workload, table.taxonomies, domain)
    true = true_counts([*table.codes, *([table.sensitive] if secret else [])], [*quasi, *([secret] if secret else [])])
    guessed = estimates(published, quasi, secret)
    least = max(workload.bound * table.rows, 1e-9)
    errors = np.abs(guessed - true) / np.maximum(true, least)
    return QueryError(
        workload.queries, float(errors.mean()), float(np.median(errors)), int((true < least).sum()), workload.seed
    )


def _blocks(predicates: Sequence[Predicates]) -> Iterator[slice]:
    """Runs of queries that are worked on together; a multiple of eight of them."""
    leaves = sum(predicate.size for predicate in predicates)
    width = int(np.clip(_CELLS // max(leaves, 1), 8, 1024)) // 8 * 8
    queries = len(predicates[0].asked)
    return (slice(start, min(start + width, queries)) for start in range(0, queries, width))


def true_counts(columns: Sequence[Codes], predicates: Sequence[Predicates]) -> Ints:
    """How many rows each query matches."""
    found = [
        sum(
            (_total(bits) for bits in _matches(columns, predicates, block)),
            np.zeros(block.stop - block.start, np.int64),
        )
        for block in _blocks(predicates)
    ]
    return np.concatenate(found)


def _matches(columns: Sequence[Codes], predicates: Sequence[Predicates], block: slice) -> Iterator[NDArray[np.uint8]]:
    """Rows x queries, a run of rows at a time: 1 where the row matches the query."""
    width = block.stop - block.start
    tables = [np.packbits(predicate.mask(block), axis=1) for predicate in predicates]
    for start in range(0, len(columns[0]), _ROWS):
        rows = slice(start, start + _ROWS)
        bits = tables[0][columns[0][rows]]
        for table, column in zip(tables[1:], columns[1:], strict=True):
            bits &= table[column[rows]]
        yield np.unpackbits(bits, axis=1, count=width)


def _total(bits: NDArray[np.uint8]) -> Ints:
    """Sums over rows; 255 ones fit a byte, and adding bytes is what a processor does best."""
    whole = len(bits) // 255 * 255
    by_byte = np.add.reduce(bits[:whole].reshape(-1, 255, bits.shape[1]), axis=1, dtype=np.uint8)
    sums: Ints = by_byte.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.int64)
    return sums


def estimates(published: Published, quasi: Sequence[Predicates], secret: Predicates | None) -> Floats:
    """What a recipient expects each query to count."""
    every = [*quasi, *([secret] if secret else [])]
    return np.concatenate([_estimate(published, quasi, secret, block) for block in _blocks(every)])


def _estimate(published: Published, quasi: Sequence[Predicates], secret: Predicates | None, block: slice) -> Floats:
    mask = None if secret is None else secret.mask(block).astype(np.float32)
    expected = np.zeros(block.stop - block.start)
    start = 0
    for part in _insides(published, quasi, block):
        boxes = slice(start, start + len(part))
        if mask is not None and published.shares is not None:
            # Boxes stand in the order of their groups, so a run of boxes has few groups.
            groups, place = np.unique(published.group[boxes], return_inverse=True)
            np.multiply(part, np.asarray(published.shares[groups] @ mask, np.float32)[place], out=part)
        expected += published.rows[boxes].astype(np.float32) @ part
        start += len(part)
    return expected


def _insides(published: Published, quasi: Sequence[Predicates], block: slice) -> Iterator[Singles]:
    """Boxes x queries, a run of boxes at a time: the share of the box that lies inside the query."""
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
    """Intervals x queries: the share of the interval inside the query; everything where the query does not ask."""
    if taxonomy.ordered and predicate.chosen is None:
        share = _stretch_shares(predicate, taxonomy, lo, hi, block)
    else:
        below = np.zeros((taxonomy.size + 1, block.stop - block.start), np.int32)
        np.cumsum(predicate.mask(block), axis=0, out=below[1:])
        share = (below[hi + 1] - below[lo]) / (hi - lo + 1)[:, np.newaxis]
    share[:, ~predicate.asked[block]] = 1
    return share.astype(np.float32)


def _stretch_shares(predicate: Predicates, taxonomy: Taxonomy, lo: Ints, hi: Ints, block: slice) -> Floats:
    """Overlaps on a line: whole numbers and days count as one each, other numbers by length."""
    line, last = taxonomy.positions, taxonomy.size - 1 - taxonomy.missing
    # Halves, so that the distance of the largest numbers is a number too.
    unit, line = float(np.all(line[: last + 1] == np.floor(line[: last + 1]))) / 2, line / 2
    low, high = line[lo][:, np.newaxis], line[np.minimum(hi, last)][:, np.newaxis]
    start, end = line[predicate.first[block]], line[np.minimum(predicate.last[block], last)]
    inside = np.minimum(high, end) - np.maximum(low, start) + unit
    whole = high - low + unit
    share = np.where(whole > 0, np.clip(inside, 0, None) / np.where(whole > 0, whole, 1), inside >= 0)
    if taxonomy.missing:
        # Beside the numbers the root holds the missing value, one leaf among all; nobody asks for that one.
        share *= np.where(hi > last, last / taxonomy.size * (lo <= last), 1)[:, np.newaxis]
    return share
