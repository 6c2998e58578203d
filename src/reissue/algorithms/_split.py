"""Split buckets into groups with one record of each value, with little generalization (m-invariance, step 4).

A bucket has k records of each of its values. It is halved again and again: on the attribute where halving saves most
generalization, every value's records are sorted and the lower half goes one way. All buckets are halved at once.
Records are sorted once per attribute; halving keeps the orders by a stable partition, so a round is a few sequential
passes over the records, and there are log2(k) rounds: O(attributes x records x log k).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy import Taxonomy

__all__ = ["split"]

_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Parts of buckets: each a block of records, value by value, `width` values with `depth` records each."""

    width: Ints
    depth: Ints
    orders: Codes
    """Attributes x places: the records of each block and value, sorted by the attribute."""

    @property
    def sizes(self) -> Ints:
        return self.width * self.depth

    def pick(self, chosen: Bools) -> "_Nodes":
        inside = np.repeat(chosen, self.sizes)
        return _Nodes(self.width[chosen], self.depth[chosen], self.orders.compress(inside, axis=1))


def split(codes: Codes, bucket: Codes, value: Codes, taxonomies: Sequence[Taxonomy]) -> Codes:
    """Group numbers 0, 1, ... of records, each group with one record of each value of its bucket.

    `codes` is attributes x records. Every value of a bucket must have equally many records in it.
    """
    groups = np.empty(len(bucket), np.int32)
    finished = 0
    order = _order(bucket)
    sizes = np.bincount(bucket)
    ends = np.cumsum(sizes[sizes > 0])
    for first, after in _chunks(ends):
        rows = order[first:after]
        nodes = _whole(codes.take(rows, axis=1), bucket[rows], value[rows])
        finished = _split(nodes, codes.take(rows, axis=1), taxonomies, groups, rows, finished)
    return groups


def _chunks(ends: Ints) -> Iterator[tuple[int, int]]:
    """Whole buckets, about so many records at a time that they stay in the processor's cache."""
    first = 0
    while len(ends) and first < ends[-1]:
        place = max(int(np.searchsorted(ends, first + _CHUNK, "right")) - 1, int(np.searchsorted(ends, first, "right")))
        yield first, int(ends[place])
        first = int(ends[place])


def _split(
    nodes: _Nodes, codes: Codes, taxonomies: Sequence[Taxonomy], groups: Codes, rows: Ints, finished: int
) -> int:
    """Number the groups of some buckets from `finished` on; returns the number after them."""
    while len(nodes.width):
        done = nodes.depth == 1
        if done.any():
            ready = nodes.pick(done)
            groups[rows[ready.orders[0]]] = np.repeat(
                np.arange(finished, finished + len(ready.width), dtype=np.int32), ready.width
            )
            finished += len(ready.width)
            nodes = nodes.pick(~done)
        if len(nodes.width):
            nodes = _halve(nodes, codes, taxonomies)
    return finished


def _whole(codes: Codes, bucket: Codes, value: Codes) -> _Nodes:
    """The buckets themselves."""
    width = int(value.max(initial=0)) + 1
    cell = (bucket - bucket.min()).astype(np.int64) * width + value
    number = np.bincount(cell)
    filled = np.flatnonzero(number)
    values = np.bincount(filled // width)
    depth = number[filled[np.cumsum(values[values > 0]) - 1]]
    dense = (np.cumsum(number > 0) - 1)[cell]
    orders = np.empty(codes.shape, np.int32)
    for attribute, column in enumerate(codes):
        by_code = _order(column)
        orders[attribute] = by_code[_order(dense[by_code])]
    return _Nodes(values[values > 0], depth, orders)


def _order(keys: Codes | Ints) -> Ints:
    """A stable argsort; small numbers are sorted by digits, which takes a fraction of the time."""
    small = not len(keys) or int(keys.max()) < 1 << 16
    return np.argsort(keys.astype(np.uint16) if small else keys, kind="stable")


def _halve(nodes: _Nodes, codes: Codes, taxonomies: Sequence[Taxonomy]) -> _Nodes:
    """Every node in two: all lower halves, then all upper halves."""
    half = nodes.depth // 2
    lengths = np.repeat(nodes.depth, nodes.width)
    starts = np.cumsum(lengths) - lengths
    gains = [
        _gain(nodes, column, order, starts, half, taxonomy)
        for column, order, taxonomy in zip(codes, nodes.orders, taxonomies, strict=True)
    ]
    chosen = np.argmax(np.stack(gains), axis=0)
    size = nodes.orders.shape[1]
    above = np.arange(size) >= np.repeat(starts + np.repeat(half, nodes.width), lengths)
    of_node = np.repeat(chosen * size, nodes.sizes)
    of_node += np.arange(size)
    upper = np.empty(codes.shape[1], np.bool_)
    upper[nodes.orders.reshape(-1).take(of_node)] = above
    orders = np.empty_like(nodes.orders)
    low = size - int(above.sum())
    for order, kept in zip(nodes.orders, orders, strict=True):
        flags = upper.take(order)
        order.compress(flags, out=kept[low:])
        order.compress(~flags, out=kept[:low])
    return _Nodes(np.tile(nodes.width, 2), np.concatenate([half, nodes.depth - half]), orders)


def _gain(nodes: _Nodes, column: Codes, order: Codes, starts: Ints, half: Ints, taxonomy: Taxonomy) -> Floats:
    """How much generalization of an attribute each node saves, over its records, when halved on this attribute."""
    middle = starts + np.repeat(half, nodes.width)
    last = np.append(starts[1:], len(order)) - 1
    ends = [column.take(order.take(place)) for place in (starts, middle - 1, middle, last)]
    first = np.cumsum(nodes.width) - nodes.width
    low, below = np.minimum.reduceat(ends[0], first), np.maximum.reduceat(ends[1], first)
    above, high = np.minimum.reduceat(ends[2], first), np.maximum.reduceat(ends[3], first)
    whole, lower, upper = (
        taxonomy.loss(*taxonomy.snap(lo, hi)) for lo, hi in ((low, high), (low, below), (above, high))
    )
    return nodes.depth * whole - half * lower - (nodes.depth - half) * upper
