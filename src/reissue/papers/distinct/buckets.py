"""Buckets of m-Distinct: entries that records fill so that each group can take one record of each entry.

An entry is a set of values, at first the candidate update set of a value of the group before; a bucket's entries are
the update set signature of its survivors. A bucket of depth d has d records in each entry, and no value more than d
times: then it can be cut into d groups with one record of each entry and no value twice (König's theorem). Everything
is decided on counts by value; which record goes where follows from that.

O(entries x values) for a bucket; an exact program is asked only where counterfeits do not fit greedily.

**Parts.** A bucket is cut into parts in which no value stands in two entries, and all groups have one signature. Groups
take one record of each entry and no value twice: a preemptive open shop, entries as machines and values as jobs. Values
that stand in one entry only are no trouble, so they are one job for each entry; with those that stand in several,
Birkhoff's theorem gives a few stages, each of them one job for each entry, and stages that do not clash are joined.
Inside a part, records are laid out by their candidate update sets, and cut where these change: then all groups of a
piece have the same update set signature, and the next release finds few and large buckets. O(entries^3) for a stage, a
few stages a bucket.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from reissue._arrays import Bools, Ints
from reissue.errors import InternalError

__all__ = ["Bucket", "intersection", "merged", "pieces", "survey"]


@dataclass(eq=False)
class _Part:
    """Stages that do not clash: how many records of each value each entry takes."""

    taken: list[dict[int, int]] = field(default_factory=list)

    def joins(self, stage: list[dict[int, int]]) -> bool:
        """Whether a stage can be added: no value in two entries."""
        mine = [set(a) | set(b) for a, b in zip(self.taken, stage, strict=True)]
        return sum(map(len, mine)) == len(set().union(*mine))

    def add(self, stage: list[dict[int, int]]) -> None:
        for mine, theirs in zip(self.taken, stage, strict=True):
            for value, number in theirs.items():
                mine[value] = mine.get(value, 0) + number


def pieces(placed: Ints, kind: Ints) -> list[Ints]:
    """The pieces of a bucket (entries x values each), from where its records stand and the kind of each value."""
    cut: list[Ints] = []
    for part in _parts(placed):
        cut += _cut(part, kind, placed.shape)
    return cut


def _parts(placed: Ints) -> list[list[dict[int, int]]]:
    width = len(placed)
    split = np.flatnonzero((placed > 0).sum(axis=0) > 1)
    alone: list[list[tuple[int, int]]] = []
    for row in placed:
        values = np.setdiff1d(np.flatnonzero(row), split)
        alone.append([(int(value), int(row[value])) for value in values])
    if not len(split):
        return [[dict(queue) for queue in alone]]
    jobs = np.zeros((width, width + len(split)), np.int64)
    jobs[np.arange(width), np.arange(width)] = [sum(number for _, number in queue) for queue in alone]
    jobs[:, width:] = placed[:, split]
    parts: list[_Part] = []
    for job, length in _stages(jobs):
        stage = [
            _take(alone[entry], length) if one < width else {int(split[one - width]): length}
            for entry, one in enumerate(job)
        ]
        home = next((part for part in parts if part.joins(stage)), None)
        if home is None:
            home = _Part([{} for _ in range(width)])
            parts.append(home)
        home.add(stage)
    return [part.taken for part in parts]


def _stages(jobs: Ints) -> list[tuple[list[int], int]]:
    """Stages of an open shop: for each machine its job, and for how long; each machine is busy all the time."""
    width, number = jobs.shape
    depth = int(jobs[0].sum())
    square = np.zeros((width + number, width + number), np.int64)
    square[:width, :number] = jobs
    square[width:, :number] = np.diag(depth - jobs.sum(axis=0))
    square[width:, number:] = jobs.T
    found = []
    while depth:
        rows, columns = linear_sum_assignment(np.where(square > 0, square, -(10**12)), maximize=True)
        length = int(square[rows, columns].min())
        if length <= 0:
            raise InternalError("A bucket of the method 'distinct' has no groups. Please report this.")
        square[rows, columns] -= length
        depth -= length
        found.append((columns[:width].tolist(), length))
    return found


def _take(queue: list[tuple[int, int]], length: int) -> dict[int, int]:
    """Take this many records off the front of a queue of values."""
    taken: dict[int, int] = {}
    while length:
        value, number = queue.pop(0)
        take = min(number, length)
        taken[value] = take
        length -= take
        if number > take:
            queue.insert(0, (value, number - take))
    return taken


def _cut(part: list[dict[int, int]], kind: Ints, shape: tuple[int, ...]) -> list[Ints]:
    """A part in pieces, each with one kind of values in each entry; frequent kinds are laid out first."""
    queues = [_laid_out(entry, kind) for entry in part]
    cut = []
    while queues[0]:
        length = min(_run(queue, kind) for queue in queues)
        piece = np.zeros(shape, np.int64)
        for entry, queue in enumerate(queues):
            for value, number in _take(queue, length).items():
                piece[entry, value] += number
        cut.append(piece)
    return cut


def _laid_out(entry: dict[int, int], kind: Ints) -> list[tuple[int, int]]:
    total: dict[int, int] = {}
    for value, number in entry.items():
        total[int(kind[value])] = total.get(int(kind[value]), 0) + number
    return sorted(entry.items(), key=lambda one: (-total[int(kind[one[0]])], int(kind[one[0]]), one[0]))


def _run(queue: list[tuple[int, int]], kind: Ints) -> int:
    """How many records at the front are of one kind."""
    length = 0
    for value, number in queue:
        if kind[value] != kind[queue[0][0]]:
            break
        length += number
    return length


@dataclass(eq=False)
class Bucket:
    """One bucket in the making."""

    entries: Bools
    """Entries x values."""
    number: Ints
    """Real records by value."""
    placed: Ints
    """Entries x values: how many records, real or not, stand where."""
    depth: int
    drawn: Ints
    """New records among them by value, which may be taken out again."""

    @property
    def short(self) -> int:
        """How many records are lacking in all."""
        return int(self.depth * len(self.entries) - self.placed.sum())

    @property
    def fakes(self) -> Ints:
        """Counterfeits by value, once the bucket is complete."""
        return np.asarray(self.placed.sum(axis=0) - self.number)

    def draw(self, stock: Ints) -> Ints:
        """Fill entries with new records, the values that are in stock most often first; returns what was drawn."""
        drawn = np.zeros_like(stock)
        for entry in np.argsort(self.entries.sum(axis=1), kind="stable"):
            drawn += self._put(int(entry), stock - drawn)
        self.number = self.number + drawn
        self.drawn = self.drawn + drawn
        return drawn

    def _put(self, entry: int, stock: Ints) -> Ints:
        """Put records of a stock into an entry, while it lacks some and no value gets too many."""
        lack = self.depth - int(self.placed[entry].sum())
        took = np.zeros_like(stock)
        if lack <= 0:
            return took
        room = np.where(self.entries[entry], np.minimum(self.depth - self.placed.sum(axis=0), stock), 0)
        for value in np.argsort(-np.where(room > 0, stock, -1), kind="stable").tolist():
            take = min(lack, int(room[value]))
            if take <= 0:
                break
            took[value] = take
            lack -= take
        self.placed[entry] += took
        return took

    def give_back(self, value: int, most: int) -> int:
        """Take new records of a value out again, at most this many; returns how many."""
        most = min(most, int(self.drawn[value]))
        given = 0
        for entry in np.flatnonzero(self.placed[:, value]).tolist():
            take = min(int(self.placed[entry, value]), most - given)
            self.placed[entry, value] -= take
            given += take
        self.number[value] -= given
        self.drawn[value] -= given
        return given

    def deepen(self, placed: Ints, number: Ints) -> None:
        """Add records that fill all entries equally."""
        self.placed = self.placed + placed
        self.number = self.number + number
        self.depth += int(placed[0].sum())

    def complete(self) -> None:
        """Fill all that is lacking with counterfeits; as a last resort all is placed anew, exactly."""
        plenty = np.full(len(self.number), self.depth)
        for entry in np.argsort(self.entries.sum(axis=1), kind="stable"):
            self._put(int(entry), plenty)
        if self.short:
            self.placed = _exactly(self.number, self.entries)
            self.depth = int(self.placed[0].sum())


def survey(number: Ints, entries: Bools) -> Bucket | None:
    """A bucket for given records by value, as shallow as it goes greedily; None if a value fits no entry."""
    values = np.flatnonzero(number)
    choices = entries[:, values].sum(axis=0)
    if not choices.all():
        return None
    width = len(entries)
    target = max(-(-int(number.sum()) // width), int(number.max(initial=0)))
    placed = np.zeros((width, len(number)), np.int64)
    load, tight = np.zeros(width, np.int64), entries.sum(axis=1)
    for value in values[np.lexsort((-number[values], choices))].tolist():
        left = int(number[value])
        fitting = np.flatnonzero(entries[:, value])
        # The emptiest entry first, of equal ones the one with fewest values: the others can use other values.
        for entry in fitting[np.lexsort((tight[fitting], load[fitting]))].tolist():
            take = min(left, max(target - int(load[entry]), 0))
            placed[entry, value] += take
            load[entry] += take
            left -= take
        if left:
            least = fitting[load[fitting].argmin()]
            placed[least, value] += left
            load[least] += left
    depth = max(int(load.max(initial=0)), int(number.max(initial=0)))
    return Bucket(entries, number.copy(), placed, depth, np.zeros_like(number))


def _exactly(number: Ints, entries: Bools) -> Ints:
    """Places for the records, and for as few counterfeits as possible: an integer program (entries x values)."""
    width, size = entries.shape
    cells = np.argwhere(entries)
    entry, value = cells.T
    every = np.arange(len(cells))
    rows = np.zeros((width, len(cells) + 1))
    rows[entry, every] = 1
    rows[:, -1] = -1
    sums = np.zeros((size, len(cells) + 1))
    sums[value, every] = 1
    below = sums.copy()
    below[:, -1] = -1
    goal = np.zeros(len(cells) + 1)
    goal[-1] = 1
    answer = milp(
        goal,
        constraints=[
            LinearConstraint(rows, 0, 0),
            LinearConstraint(sums, number, np.inf),
            LinearConstraint(below, -np.inf, 0),
        ],
        integrality=np.ones(len(goal)),
        bounds=Bounds(0, np.inf),
    )
    if answer.x is None:
        raise InternalError("A bucket of the method 'distinct' cannot be completed. Please report this.")
    placed = np.zeros((width, size), np.int64)
    placed[entry, value] = np.round(answer.x[:-1]).astype(np.int64)
    return placed


def intersection(one: Bools, other: Bools) -> Bools | None:
    """The entries of two buckets intersected one by one, matched so that they overlap most; None if some cannot."""
    if len(one) != len(other):
        return None
    common = one.astype(np.int64) @ other.T.astype(np.int64)
    either = one.sum(axis=1)[:, np.newaxis] + other.sum(axis=1)[np.newaxis] - common
    left, right = linear_sum_assignment(np.where(common > 0, common / np.maximum(either, 1), -len(one)), maximize=True)
    if (common[left, right] == 0).any():
        return None
    return np.asarray(one[left] & other[right])


def merged(one: Bucket, other: Bucket) -> Bucket | None:
    """Two buckets in one, if that saves counterfeits."""
    entries = intersection(one.entries, other.entries)
    if entries is None or not _distinct_values(entries):
        return None
    both = survey(one.number + other.number, entries)
    if both is None or both.short >= one.short + other.short:
        return None
    both.drawn = one.drawn + other.drawn
    return both


def _distinct_values(entries: Bools) -> bool:
    """Whether every entry can have a value of its own."""
    rows, columns = linear_sum_assignment(entries, maximize=True)
    return bool(entries[rows, columns].all())
