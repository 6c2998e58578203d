"""Cut a bucket of m-Distinct into parts in which no value stands in two entries, and all groups have one signature.

A bucket has d records in each of its entries and no value more than d times. Groups take one record of each entry and
no value twice: a preemptive open shop, entries as machines and values as jobs. Values that stand in one entry only are
no trouble, so they are one job for each entry; with those that stand in several, Birkhoff's theorem gives a few stages,
each of them one job for each entry, and stages that do not clash are joined. Inside a part, records are laid out by
their candidate update sets, and cut where these change: then all groups of a piece have the same update set signature,
and the next release finds few and large buckets. O(entries^3) for a stage, a few stages a bucket.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from reissue._arrays import Ints
from reissue.errors import InternalError

__all__ = ["pieces"]


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
