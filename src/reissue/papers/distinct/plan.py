"""Which buckets there are in a release of m-Distinct, and how many records of each value go to each (phases 1 and 2).

Survivors stand in the bucket of their update set signature. What its entries lack is drawn from new records, then
buckets that still lack some are intersected in pairs where that saves counterfeits, and what remains are counterfeits.
The other new records make fresh groups of m different values, in batches; batches whose signature a bucket has join it.

Instead of the paper's equation 3, record by record, counts decide: no bucket is made deeper than it must be, and
entries are kept level. So a release costs the same whatever the number of records that look alike.
"""

from dataclasses import dataclass, field

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.errors import InternalError
from reissue.methods.invariance.buckets import Signatures, assign
from reissue.papers.distinct.buckets import Bucket, merged, pieces, survey

__all__ = ["DistinctPlan", "IneligibleUnits", "key_of"]

_NEIGHBOURS, _TRIES = 6, 2_000
"""How many partners are tried for a bucket that lacks records, and how many in all."""


def key_of(piece: Ints, first: Ints) -> tuple[int, ...]:
    """The update set signature of a piece: for each entry the first value that has its candidate update set, sorted."""
    return tuple(sorted(first[piece.argmax(axis=1)].tolist()))


@dataclass(eq=False)
class DistinctPlan:
    """Buckets in the making."""

    can: Bools
    """Value x value: which updates are possible."""
    first: Ints
    """Value to the first value with the same candidate update set."""
    unit: Ints
    """Value to what a fresh group may hold only once: the value itself, or (m-Distinct*) values that overlap."""
    m: int
    stock: Ints
    """New records by value that have no place yet."""
    buckets: list[Bucket] = field(default_factory=list)
    home: dict[int, int] = field(default_factory=dict)
    """Old signature to its bucket."""
    keys: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Signature, as a key, to its bucket; buckets that were intersected have none."""
    joined: int = 0

    def divide(self, signatures: list[tuple[int, ...]], numbers: list[int], counts: Ints) -> None:
        """Survivors by signature and value."""
        for number, count in zip(numbers, counts, strict=True):
            key = signatures[number]
            bucket = survey(count, self.can[list(key)])
            if bucket is None:
                raise InternalError("A survivor of the method 'distinct' fits no entry. Please report this.")
            self.home[number] = self.keys[key] = len(self.buckets)
            self.buckets.append(bucket)

    def balance(self) -> None:
        """Fill with new records, intersect, fill again; then see that the other new records can make groups."""
        self._draw()
        self._intersect()
        self._draw()

    def _draw(self) -> None:
        for bucket in sorted(self.buckets, key=lambda one: -one.short):
            if not bucket.short or not self.stock.any():
                continue
            self.stock = self.stock - bucket.draw(self.stock)

    def _intersect(self) -> None:
        """Join buckets that lack records in pairs, those that are most alike first."""
        wanting = [place for place, bucket in enumerate(self.buckets) if bucket.short]
        if len(wanting) < 2:
            return
        looks = np.stack([self.buckets[place].entries.sum(axis=0) for place in wanting]).astype(np.float64)
        looks /= np.linalg.norm(looks, axis=1, keepdims=True)
        gone: dict[int, int] = {}
        tries = 0
        for one in sorted(range(len(wanting)), key=lambda place: -self.buckets[wanting[place]].short):
            if wanting[one] in gone or tries > _TRIES:
                continue
            for other in np.argsort(-(looks @ looks[one]), kind="stable")[: _NEIGHBOURS + 1].tolist():
                if other == one or wanting[other] in gone or not self.buckets[wanting[other]].short:
                    continue
                tries += 1
                both = merged(self.buckets[wanting[one]], self.buckets[wanting[other]])
                if both is not None:
                    self.buckets[wanting[one]] = both
                    gone[wanting[other]] = wanting[one]
        self._renumber(gone)

    def _renumber(self, gone: dict[int, int]) -> None:
        """Take out buckets that were joined to others."""
        self.joined += len(gone)
        kept = [place for place in range(len(self.buckets)) if place not in gone]
        place_of = {old: new for new, old in enumerate(kept)}
        changed = set(gone) | set(gone.values())
        self.keys = {key: place_of[place] for key, place in self.keys.items() if place not in changed}
        for number, old in self.home.items():
            place = old
            while place in gone:
                place = gone[place]
            self.home[number] = place_of[place]
        self.buckets = [self.buckets[place] for place in kept]

    def settle(self, *, counterfeits: bool) -> Ints:
        """Make the other new records m-eligible: give some drawn ones back, else add counterfeits; those by value."""
        units = int(self.unit.max(initial=-1)) + 1
        rest = np.bincount(self.unit, self.stock, units).astype(np.int64)
        short = self.m * int(rest.max(initial=0)) - int(rest.sum())
        if short > 0:
            short = self._give_back(rest, short)
        extra = np.zeros_like(self.stock)
        if short <= 0:
            return extra
        if not counterfeits or units < self.m:
            raise IneligibleUnits(int(rest.argmax()), int(rest.max()), units)
        most = int(rest.max())
        some = np.array([np.flatnonzero(self.unit == unit)[0] for unit in range(units)])
        for unit in np.argsort(rest, kind="stable").tolist():
            more = min(most - int(rest[unit]), short)
            extra[some[unit]] += more
            short -= more
        return extra

    def _give_back(self, rest: Ints, short: int) -> int:
        """Take drawn records out of buckets again, of values that are rarer than the most frequent."""
        most = int(rest.max())
        for bucket in self.buckets:
            for value in np.flatnonzero(bucket.drawn).tolist():
                unit = int(self.unit[value])
                given = bucket.give_back(value, min(most - int(rest[unit]), short))
                rest[unit] += given
                self.stock[value] += given
                short -= given
                if short <= 0:
                    return 0
        return short

    def complete(self) -> None:
        """Counterfeits for all that buckets lack."""
        for bucket in self.buckets:
            if bucket.short:
                bucket.complete()

    def fresh(self, extra: Ints) -> None:
        """Groups of m different units for the other new records, in batches that join the bucket of their signature."""
        left = self.stock + extra
        units = int(self.unit.max(initial=-1)) + 1
        rest = np.bincount(self.unit, left, units).astype(np.int64)
        none = Signatures(np.zeros((0, units), np.bool_))
        signatures, batches = assign(rest, none, self.m)
        queues = self._queues(left)
        for mask, depth in zip(signatures.member, batches.tolist(), strict=True):
            placed = np.zeros((int(mask.sum()), len(left)), np.int64)
            for entry, unit in enumerate(np.flatnonzero(mask).tolist()):
                _fill(placed[entry], queues[unit], depth)
            for piece in pieces(placed, self.first):
                self._join(piece)

    def _queues(self, left: Ints) -> list[list[list[int]]]:
        """By unit its values with their numbers, those with one candidate update set side by side."""
        queues: list[list[list[int]]] = [[] for _ in range(int(self.unit.max(initial=-1)) + 1)]
        values = np.flatnonzero(left)
        for value in values[np.lexsort((values, self.first[values]))].tolist():
            queues[int(self.unit[value])].append([value, int(left[value])])
        return queues

    def _join(self, piece: Ints) -> None:
        """Add a piece to the bucket of its signature; where the stock runs out its records are counterfeits."""
        number = np.minimum(piece.sum(axis=0), self.stock)
        self.stock = self.stock - number
        of_entry = self.first[piece.argmax(axis=1)]
        piece = piece[np.argsort(of_entry, kind="stable")]
        key = key_of(piece, self.first)
        if key not in self.keys:
            self.keys[key] = len(self.buckets)
            empty = np.zeros(len(number), np.int64)
            entries = self.can[list(key)]
            self.buckets.append(Bucket(entries, empty, np.zeros_like(piece), 0, empty))
        bucket = self.buckets[self.keys[key]]
        bucket.deepen(piece, number)
        bucket.drawn = bucket.drawn + number


class IneligibleUnits(Exception):  # noqa: N818
    """New records that are not m-eligible: which unit, how many records have it, how many units there are."""

    def __init__(self, unit: int, number: int, units: int) -> None:
        super().__init__()
        self.unit, self.number, self.units = unit, number, units


def _fill(placed: Ints, queue: list[list[int]], depth: int) -> None:
    """Take this many records off a queue of values."""
    while depth:
        if not queue:
            raise InternalError("The method 'distinct' ran out of records. Please report this.")
        value, number = queue[0]
        take = min(number, depth)
        placed[value] += take
        queue[0][1] -= take
        depth -= take
        if not queue[0][1]:
            queue.pop(0)
