"""Split buckets into groups with one record of each value, with little generalization (m-invariance, step 4).

A bucket has k records of each of its values. It is parted again and again, on whichever attribute and in whichever of
two ways saves most generalization:

- the lower half of every value's records goes one way, the upper half the other;
- of a tree, records below one child of the node that holds them all are set apart, as many of each value as all values
  have there; the rest stays together. Halves seldom end where a child does, and then save nothing.

All buckets are parted at once. Records are sorted once per attribute; parting keeps the orders by a stable partition,
so a round is a few sequential passes over the records. What is set apart is at least an eighth, and shallow parts are
only halved, so there are O(log k) rounds: O(attributes x records x log k).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["split"]

_CHUNK = 1 << 16
_SHALLOW = 4
"""Parts with so few records of each value, or fewer, are only halved."""
_SHARE = 8
"""At least one in this many is set apart."""
_SLACK = 1e-9


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

    @cached_property
    def half(self) -> Ints:
        return self.depth // 2

    @cached_property
    def length(self) -> Ints:
        """Run, the records of one node and value, to how many they are."""
        return np.repeat(self.depth, self.width)

    @cached_property
    def start(self) -> Ints:
        """Run to its first place."""
        return np.cumsum(self.length) - self.length

    @cached_property
    def _first(self) -> Ints:
        return np.cumsum(self.width) - self.width

    def least(self, of_run: Codes) -> Codes:
        """Each node's smallest number of its runs'."""
        return np.asarray(np.minimum.reduceat(of_run, self._first))

    def most(self, of_run: Codes) -> Codes:
        """Each node's largest number of its runs'."""
        return np.asarray(np.maximum.reduceat(of_run, self._first))

    def mean(self, of_run: Codes) -> Codes:
        """Each node's mean of its runs' numbers, rounded down."""
        return (np.add.reduceat(of_run.astype(np.int64), self._first) // self.width).astype(np.int32)


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
            nodes = _parted(nodes, _best(nodes, codes, taxonomies), codes.shape[1])
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


# --- the best way ----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Way:
    """How to part each node: the best way found so far."""

    gain: Floats
    attribute: Ints
    begin: Ints
    """Run to the place in it where the records begin that are set apart."""
    apart: Ints
    """Node to how many records of each value are set apart."""

    def offer(self, nodes: _Nodes, attribute: int, gain: Floats, begin: Ints | int, apart: Ints) -> None:
        """Another way; it is taken where it saves more."""
        better = gain > self.gain + _SLACK
        self.gain = np.where(better, gain, self.gain)
        self.attribute[better] = attribute
        self.apart = np.where(better, apart, self.apart)
        self.begin = np.where(np.repeat(better, nodes.width), begin, self.begin)


def _best(nodes: _Nodes, codes: Codes, taxonomies: Sequence[Taxonomy]) -> _Way:
    number = len(nodes.depth)
    best = _Way(
        np.full(number, -1.0), np.zeros(number, np.int64), np.zeros(len(nodes.start), np.int64), nodes.half.copy()
    )
    deep = nodes.depth > _SHALLOW
    for attribute, (column, order, taxonomy) in enumerate(zip(codes, nodes.orders, taxonomies, strict=True)):
        low = nodes.least(column.take(order.take(nodes.start)))
        high = nodes.most(column.take(order.take(nodes.start + nodes.length - 1)))
        whole = taxonomy.lost(low, high)
        if not whole.any():
            continue
        middle = nodes.start + np.repeat(nodes.half, nodes.width)
        central = column.take(order.take(middle))
        below, above = nodes.most(column.take(order.take(middle - 1))), nodes.least(central)
        lower, upper = taxonomy.lost(low, below), taxonomy.lost(above, high)
        gain = nodes.depth * whole - nodes.half * lower - (nodes.depth - nodes.half) * upper
        best.offer(nodes, attribute, gain, 0, nodes.half)
        if deep.any() and not taxonomy.runs:
            keys = _keys(nodes, column.take(order), taxonomy.size + 1)
            level = taxonomy.lowest(low, high)
            for leaf in (nodes.mean(central), low, high):
                first, last = _child(taxonomy, level, leaf)
                begin = _before(nodes, keys, first, taxonomy.size + 1)
                number_of = _before(nodes, keys, last + 1, taxonomy.size + 1) - begin
                inside = nodes.least(number_of.astype(np.int32)).astype(np.int64)
                gain = np.where(
                    deep & (inside * _SHARE >= nodes.depth), inside * (whole - taxonomy.loss(first, last)), -1
                )
                best.offer(nodes, attribute, gain, begin, inside)
    return best


def _keys(nodes: _Nodes, codes: Codes, size: int) -> Ints:
    """Run and code of every place as one number; they never decrease."""
    keys = np.repeat(np.arange(len(nodes.start), dtype=np.int64) * size, nodes.length)
    keys += codes
    return keys


def _before(nodes: _Nodes, keys: Ints, leaf: Codes, size: int) -> Ints:
    """Run to how many of its records have a code below the node's leaf."""
    wanted = np.arange(len(nodes.start), dtype=np.int64) * size + np.repeat(leaf, nodes.width)
    return np.searchsorted(keys, wanted) - nodes.start


def _child(taxonomy: Taxonomy, level: Codes, leaf: Codes) -> tuple[Codes, Codes]:
    """The first and last leaf of the child that holds a leaf, below a node of this level; of a leaf, itself."""
    first, last = leaf.copy(), leaf.copy()
    for number, below in enumerate(taxonomy.levels[1:-1], start=2):
        here = level == number
        first[here], last[here] = below.lo[leaf[here]], below.hi[leaf[here]]
    return first, last


def _parted(nodes: _Nodes, way: _Way, records: int) -> _Nodes:
    """All that is set apart, then all the rest."""
    size = nodes.orders.shape[1]
    rank = np.arange(size)
    rank -= np.repeat(nodes.start + way.begin, nodes.length)
    rest = (rank < 0) | (rank >= np.repeat(way.apart, nodes.sizes))
    of_node = np.repeat(way.attribute * size, nodes.sizes)
    of_node += np.arange(size)
    stays = np.empty(records, np.bool_)
    stays[nodes.orders.reshape(-1).take(of_node)] = rest
    orders = np.empty_like(nodes.orders)
    apart = size - int(rest.sum())
    for order, kept in zip(nodes.orders, orders, strict=True):
        flags = stays.take(order)
        order.compress(flags, out=kept[apart:])
        order.compress(~flags, out=kept[:apart])
    depth = np.concatenate([way.apart, nodes.depth - way.apart])
    some = depth > 0
    return _Nodes(np.tile(nodes.width, 2)[some], depth[some], orders)
