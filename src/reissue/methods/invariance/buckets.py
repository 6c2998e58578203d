"""Buckets: all records with one signature, and who of the new ones goes where (m-invariance).

Everything is decided on counts by signature and value. Survivors stand in the bucket of their signature. What a
bucket lacks, so that each of its values has equally many records, is drawn from the new records; how many of each
value may be drawn so that the rest stays m-eligible (no value in more than 1/m of it) is settled at once, not record
by record, because drawing one value can make room for another. The rest goes to buckets, a batch for each signature:
first what is to spare beside the most frequent value, into one deep bucket (see `_spare`); then to signatures that
exist where that places about as many as the m most frequent values would, else to new ones.

O(signatures x values) for a batch, and about as many batches as there are values.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.errors import InternalError

__all__ = ["Assignments", "Ineligible", "Signatures", "assign", "assign_rows", "drawable", "fill", "lacks"]


@dataclass(frozen=True, eq=False)
class Signatures:
    """All signatures of a series."""

    member: Bools
    """Signatures x values: which values each has."""

    @property
    def sizes(self) -> Ints:
        """How many values each has."""
        return np.asarray(self.member.sum(axis=1))

    def widen(self, values: int) -> "Signatures":
        """The same, where more values are known."""
        return Signatures(np.pad(self.member, ((0, 0), (0, values - self.member.shape[1]))))

    def add(self, mask: Bools) -> "tuple[Signatures, int]":
        """With this signature, and its number."""
        same = np.flatnonzero((self.member == mask).all(axis=1))
        if len(same):
            return self, int(same[0])
        return Signatures(np.vstack([self.member, mask])), len(self.member)


class Ineligible(Exception):  # noqa: N818
    """New records that are not m-eligible: which value, how many records have it, and how many may."""

    def __init__(self, value: int, number: int, most: int) -> None:
        super().__init__()
        self.value, self.number, self.most = value, number, most


def lacks(have: Ints, signatures: Signatures) -> Ints:
    """What each bucket lacks of each of its values (signatures x values), to have all of them equally often."""
    return np.where(signatures.member, have.max(axis=1, keepdims=True, initial=0) - have, 0)


def drawable(new: Ints, wanted: Ints, m: int) -> Ints:
    """How many new records of each value to draw: as many as wanted, but so that the rest is m-eligible.

    With u = min(new, wanted), the rest's largest count is at least M = max(new - u), so the rest must have m M
    records; drawing u is best, and where that leaves fewer, some are given back to values below M. If even giving
    all of those back is not enough then nothing is: sum(min(new, M)) - m M is concave in M and 0 at M = 0.
    """
    drawn = np.minimum(new, wanted)
    rest = new - drawn
    most = int(rest.max(initial=0))
    short = m * most - int(rest.sum())
    if short <= 0:
        return drawn
    room = np.minimum(most - rest, drawn)
    if int(room.sum()) < short:
        value = int(rest.argmax())
        raise Ineligible(value, most, int((rest + room).sum()) // m)
    # Given back where most stay drawn, so that no value loses all its records for counterfeits.
    back = np.minimum(room, short * room // max(int(room.sum()), 1))
    for value in np.argsort(-(room - back), kind="stable"):
        more = min(int(room[value] - back[value]), short - int(back.sum()))
        back[value] += more
    return np.asarray(drawn - back)


def fill(wanted: Ints, drawn: Ints) -> Ints:
    """How many of the drawn records each bucket gets of what it wants (signatures x values), in order."""
    before = np.cumsum(wanted, axis=0) - wanted
    return np.clip(drawn - before, 0, wanted)


def assign(rest: Ints, signatures: Signatures, m: int, stand: Ints | None = None) -> tuple[Signatures, Ints]:
    """Place m-eligible records in batches: how many of each of its values each signature gets.

    `stand` gives the records that stand in buckets already (signatures x values), if buckets live on.
    """
    rest = rest.copy()
    batches = np.zeros(len(signatures.member), np.int64)
    mask, most = (rest > 0, 0) if stand is None else _spare(rest, signatures, m, stand)
    while rest.any():
        if not most:
            mask, most = _next(rest, signatures, m)
        signatures, number = signatures.add(mask)
        if number == len(batches):
            batches = np.append(batches, 0)
        batches[number] += most
        rest -= most * mask
        most = 0
    return signatures, batches


def _spare(rest: Ints, signatures: Signatures, m: int, stand: Ints) -> tuple[Bools, int]:
    """Values without the most frequent one, and how often to take them at once: as often as what remains allows.

    Of N records, N(v) with the most frequent value v, N - m N(v) are to spare: for life they stand in buckets of m
    values without v, or are what larger buckets with v have beyond m. When v gains there are too many of them, and what
    balances their buckets adds to them: each one too many costs a counterfeit (decision 0033). Balance takes about the
    square root of a bucket's depth for each value, so least if all of them stand in one bucket.
    """
    top = int((rest + stand.sum(axis=0)).argmax())
    depth = np.where(signatures.member[:, top] | (signatures.sizes < m), 0, stand.max(axis=1, initial=0))
    if depth.any():
        mask = signatures.member[depth.argmax()]
    else:
        order = np.argsort(-rest, kind="stable")
        mask = np.zeros(len(rest), np.bool_)
        mask[order[order != top][:m]] = True
    return mask, int(_often(rest, mask[np.newaxis], m)[0])


def _next(rest: Ints, signatures: Signatures, m: int) -> tuple[Bools, int]:
    """The values of the next batch, and how often they are taken."""
    mask, most = _frequent(rest, m)
    known = _often(rest, signatures.member, m) * signatures.sizes
    if known.any() and 64 * known.max() >= most * int(mask.sum()):
        best = int(known.argmax())
        return signatures.member[best], int(known[best] // signatures.sizes[best])
    return mask, most


def _frequent(rest: Ints, m: int) -> tuple[Bools, int]:
    """The most frequent values, m of them if possible, and how often they can all be taken."""
    order = np.argsort(-rest, kind="stable")
    count, total = rest[order].tolist(), int(rest.sum())
    for width in range(m, len(count) + 1):
        after = count[width] if width < len(count) else 0
        most = min(count[width - 1], (total - m * after) // width)
        if width > m:
            most = min(most, (total - m * count[0]) // (width - m))
        if most > 0:
            mask = np.zeros(len(rest), np.bool_)
            mask[order[:width]] = True
            return mask, most
    raise InternalError("The remaining records are not m-eligible. Please report this.")


def _often(rest: Ints, members: Bools, m: int) -> Ints:
    """How often all values of each of these signatures can be taken, so that what remains is m-eligible."""
    # Values x signatures: reduced along the long side.
    inside, count = np.ascontiguousarray(members.T), rest[:, np.newaxis]
    total, sizes = int(rest.sum()), inside.sum(axis=0)
    beside = np.where(inside, 0, count).max(axis=0)
    most = np.minimum(np.where(inside, count, total).min(axis=0), (total - m * beside) // np.maximum(sizes, 1))
    wide = sizes > m
    largest = np.where(inside, count, 0).max(axis=0)
    most[wide] = np.minimum(most[wide], (total - m * largest[wide]) // (sizes[wide] - m))
    most[sizes < m] = 0
    return np.asarray(most)


@dataclass(frozen=True, eq=False)
class Assignments:
    """Where new records go, real ones and counterfeits."""

    rows: Ints
    """New rows, -1 for a counterfeit."""
    signature: Codes
    value: Codes


def assign_rows(rows: Ints, values: Codes, takes: Ints) -> Assignments:
    """Give every new row its bucket: `takes` says how many (stages x signatures x values), rows are taken in order.

    Where more is taken of a value than there are rows, the last ones taken are counterfeits.
    """
    stages, signatures, width = takes.shape
    flat = takes.transpose(2, 0, 1).reshape(-1)
    signature = np.repeat(np.tile(np.arange(signatures, dtype=np.int32), stages * width), flat)
    value = np.repeat(np.arange(width, dtype=np.int32), takes.sum(axis=(0, 1)))
    placed = np.full(len(value), -1, np.int64)
    order = np.argsort(values[rows], kind="stable")
    number = np.bincount(values[rows], minlength=width)
    starts = np.cumsum(takes.sum(axis=(0, 1))) - takes.sum(axis=(0, 1))
    shift = starts - (np.cumsum(number) - number)
    placed[np.arange(len(rows)) + np.repeat(shift, number)] = rows[order]
    return Assignments(placed, signature, value)
