"""Posteriors in update graphs by forward-backward (Li and Zhou 2008, definitions 8 to 11, equations 1 and 2).

A history is a person's sequence of places: in each release where the person is, a distribution of values (a group's
shares). The posterior of a value is the weight of the paths through it over the weight of all paths; a path weighs the
product of its shares and of its updates' probabilities. Paths are never enumerated: one pass forward, one backward,
all histories at once, equal ones once. A release without the person is one more step of the update model; before the
first there is none. Every pass is scaled, since only ratios matter and long series would underflow.

Histories go in blocks of one length and about one width W (values of a place). A block works on the W values of each
place, O(histories x releases x W^2), or, where places are wide, on all S values by matrix products. Where values change
within branches only, and whatever they are now, no pass is needed: see `_Branches`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Codes, Floats, Ints
from reissue.counting.hashing import mix
from reissue.solver.transitions import rows_at_once
from reissue.updates import UpdateModel

__all__ = [
    "Block",
    "PresenceHistory",
    "Sequences",
    "ValueDistributions",
    "blocks",
    "histories",
    "presence_blocks",
    "together",
]

_RESCALE = 8
"""After how many releases weights are scaled: shares and probabilities of this many releases do not underflow."""
_CELLS = 1 << 20
"""How many numbers a block's largest array holds: a few of them stay in the processor's cache."""
_WIDTHS = np.array([width << more for more in range(40) for width in (2, 3)])
"""Widths above 1 are rounded up to one of these."""
_LARGEST = 1 << 23
"""How many numbers a table of all places by branch may have."""
_LEAST = -700.0
"""What is less likely than e to this is taken to be so likely: it is possible still."""


@dataclass(frozen=True, eq=False)
class ValueDistributions:
    """Distributions of values: for each place its values and their shares, one after the other.

    Not a Histogram: paths multiply shares, and groups with equal shares are one place, whatever their counts.
    """

    starts: Ints
    """Place to its first entry, and the number of entries at the end."""
    value: Ints
    share: Floats

    @classmethod
    def of(cls, place: Ints, value: Ints, weight: Codes | Ints | Floats, total: int) -> "ValueDistributions":
        """From triples sorted by place."""
        sums = np.bincount(place, weight, total)
        starts = np.searchsorted(place, np.arange(total + 1))
        return cls(starts, value, weight / sums[place])

    @cached_property
    def widths(self) -> Ints:
        """How many values each place has."""
        return np.diff(self.starts)

    def spread(self, place: Ints, width: int) -> tuple[Ints, Floats]:
        """Values and shares of places, padded to one width: arrays with a last axis of that width."""
        offset = np.arange(width)
        inside = offset < self.widths[place][..., np.newaxis]
        at = np.where(inside, self.starts[place][..., np.newaxis] + offset, 0)
        return np.where(inside, self.value[at], 0), np.where(inside, self.share[at], 0.0)

    def dense(self, place: Ints, size: int) -> Floats:
        """Shares by value (places x values)."""
        found = np.zeros((len(place), size))
        number = self.widths[place]
        row = np.repeat(np.arange(len(place)), number)
        at = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number) + self.starts[place][row]
        found[row, self.value[at]] = self.share[at]
        return found


@dataclass(frozen=True, eq=False)
class Sequences:
    """The different sequences of places (-1 where the person is absent), and who has which."""

    places: Ints
    """Histories x releases."""
    of_person: Ints


def histories(table: Ints) -> Sequences:
    """From the place of every person in every release (people x releases)."""
    keys = np.zeros(len(table), np.uint64)
    for column in table.T:
        keys = mix(keys ^ (column + 2).astype(np.uint64))
    _, first, of_person = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(table):
        return Sequences(table, np.arange(len(table)))
    of_person = of_person.reshape(-1)
    if not np.array_equal(table[first][of_person], table):  # two sequences with one key: hardly ever
        rows, of_person = np.unique(table, axis=0, return_inverse=True)
        return Sequences(rows, of_person.reshape(-1).astype(np.int64))
    return Sequences(table[first], of_person.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Block:
    """Histories with equally many versions, and what is known of each version."""

    rows: Ints
    """Which histories."""
    release: Ints
    """Histories x versions: the releases in which the person is."""
    value: Ints
    """Histories x versions x W: the values in question; padding has posterior 0."""
    posterior: Floats
    """The same shape; all 0 for a history that has no path."""


def blocks(places: Ints, shown: ValueDistributions, model: UpdateModel) -> Iterator[Block]:
    """The posteriors of histories (histories x releases), block by block; nobody may be absent throughout."""
    return presence_blocks(PresenceHistory.of(places), shown, model)


@dataclass(frozen=True, eq=False)
class PresenceHistory:
    """Histories as what they are made of: the releases that a person was in, and the place in each."""

    starts: Ints
    """History to its first version, and the number of versions at the end."""
    release: Ints
    place: Ints

    @classmethod
    def of(cls, places: Ints) -> "PresenceHistory":
        """From a table of histories x releases."""
        present = places >= 0
        ends = np.cumsum(present.sum(axis=1))
        return cls(np.append(0, ends), np.nonzero(present)[1], places[present])

    @cached_property
    def versions(self) -> Ints:
        """How many releases each history has."""
        return np.diff(self.starts)


def rounded(widths: Ints) -> Ints:
    """Widths rounded up a little: few different ones, and little padding."""
    return np.where(widths > 1, _WIDTHS[np.searchsorted(_WIDTHS, widths)], 1)


def presence_blocks(presence: PresenceHistory, shown: ValueDistributions, model: UpdateModel) -> Iterator[Block]:
    """The posteriors of histories, block by block; a history without any version is left out."""
    versions, size = presence.versions, len(model.names)
    widest = np.ones(len(versions), np.int64)
    there = np.flatnonzero(versions)
    if len(there):
        widest[there] = np.maximum.reduceat(shown.widths[presence.place], presence.starts[there])
    width = rounded(widest)
    kind = versions * (int(width.max(initial=1)) + 1) + width
    order = there[np.argsort(kind[there], kind="stable")]
    powers, branches = _Powers(model), _Branches.of(shown, model)
    cuts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    for begin, end in zip(cuts, np.append(cuts[1:], len(order)), strict=False):
        number, wide = int(versions[order[begin]]), int(width[order[begin]])
        compact = wide * wide <= size if model.fixed else wide * 6 <= max(size, 24)
        direct = branches is not None and branches.number <= 2 * wide * wide
        cells = branches.number + wide if branches is not None and direct else wide * wide if compact else size
        step = max(_CELLS // (number * cells), 1)
        for at in range(int(begin), int(end), step):
            rows = order[at : min(at + step, int(end))]
            own = presence.starts[rows][:, np.newaxis] + np.arange(number)
            where, release = presence.place[own], presence.release[own]
            if branches is not None and direct:
                found = branches.posteriors(where, wide)
            elif compact:
                found = _compact(where, release, shown, powers, wide)
            else:
                found = _dense(where, release, shown, powers)
            yield Block(rows, release, *found)


# --- values that change within branches ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Branches:
    """Update models in which a value becomes one of its branch, whichever it is now; or never changes.

    A path stays in one branch, and within it the releases are independent. So the weight of a branch is the product of
    what each release gives it, and the posterior of a value is that of its branch times the value's part of the branch
    in this release. Before the first release there is no update: there shares alone count. Releases without the person
    change nothing.
    """

    of_value: Ints
    number: int
    first: tuple[Floats, ValueDistributions]
    """Of a person's first release: the logarithms of what places give each branch, and each value's part of that."""
    later: tuple[Floats, ValueDistributions]

    @classmethod
    def of(cls, shown: ValueDistributions, model: UpdateModel) -> "_Branches | None":
        """None for other models, or where there are very many branches and places."""
        of_value = model.branches
        number = 0 if of_value is None else int(of_value.max(initial=-1)) + 1
        if of_value is None or number * len(shown.widths) > _LARGEST:
            return None
        chance = np.ones(len(of_value)) if model.fixed else model.chance.diagonal()
        first, later = (_by_branch(shown, weight, of_value, number) for weight in (np.ones(len(of_value)), chance))
        return cls(of_value, number, first, later)

    def posteriors(self, where: Ints, width: int) -> tuple[Ints, Floats]:
        """The values of each version of some histories (histories x versions), and their posteriors."""
        log = self.first[0].take(where[:, 0], axis=0) + self.later[0].take(where[:, 1:], axis=0).sum(axis=1)
        most = log.max(axis=1, keepdims=True)
        possible = log > -np.inf
        log = np.where(possible, np.maximum(log - np.where(most > -np.inf, most, 0), _LEAST), -np.inf)
        weight = np.exp(log)
        _scale(weight, -1)
        value, part = self.later[1].spread(where, width)
        part[:, 0] = self.first[1].spread(where[:, 0], width)[1]
        at = self.of_value.take(value)
        at += (np.arange(len(where)) * self.number)[:, np.newaxis, np.newaxis]
        part *= weight.ravel().take(at)
        return value, part


def _by_branch(
    shown: ValueDistributions, weight: Floats, of_value: Ints, number: int
) -> tuple[Floats, ValueDistributions]:
    """The logarithm of what each place gives each branch, and the part of it that each of the place's values has."""
    places = len(shown.widths)
    at = np.repeat(np.arange(places), shown.widths) * number + of_value[shown.value]
    given = shown.share * weight[shown.value]
    total = np.bincount(at, given, places * number)
    with np.errstate(divide="ignore"):
        log = np.log(total).reshape(places, number)
    # A value that nothing becomes, not even itself, has no part in a later release.
    return log, ValueDistributions(shown.starts, shown.value, given / np.where(given > 0, total[at], 1))


# --- other models ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Powers:
    """The probabilities after 1, 2, ... releases."""

    model: UpdateModel

    @cached_property
    def _known(self) -> dict[int, Floats]:
        return {1: self.model.chance}

    def after(self, gap: int) -> Floats:
        """The chances of each value to have become which after this many releases."""
        if gap not in self._known:
            self._known[gap] = self.model.steps(gap)
        return self._known[gap]

    def between(self, before: Ints, after: Ints, gap: Ints) -> Floats:
        """W x W x histories: the chance of each pair of values (given as W x histories)."""
        if self.model.fixed:
            return np.asarray(before[:, np.newaxis] == after[np.newaxis], np.float64)
        size = len(self.model.names)
        pairs = before[:, np.newaxis] * size + after[np.newaxis]
        if (gap == gap[0]).all():
            return np.asarray(self.after(int(gap[0])).ravel().take(pairs))
        gaps = np.unique(gap)
        stack = np.stack([self.after(int(one)) for one in gaps]).ravel()
        return np.asarray(stack.take(pairs + np.searchsorted(gaps, gap) * (size * size)))


def _compact(where: Ints, release: Ints, shown: ValueDistributions, powers: _Powers, width: int) -> tuple[Ints, Floats]:
    """On the values of each place only. Inside, arrays have histories last, so that every operation is a long one."""
    spread = shown.spread(where, width)
    value: Ints = np.ascontiguousarray(spread[0].transpose(1, 2, 0))
    share: Floats = np.ascontiguousarray(spread[1].transpose(1, 2, 0))
    gaps = np.diff(release, axis=1)
    total = len(value)
    steps = [powers.between(value[i], value[i + 1], gaps[:, i]) for i in range(total - 1)]
    forward = np.empty_like(share)
    forward[0] = share[0]
    for i in range(1, total):
        forward[i] = np.einsum("ar,abr->br", forward[i - 1], steps[i - 1])
        forward[i] *= share[i]
        if not i % _RESCALE:
            _scale(forward[i])
    backward = np.ones_like(share[0])
    posterior = forward
    for i in range(total - 2, -1, -1):
        backward *= share[i + 1]
        backward = np.einsum("br,abr->ar", backward, steps[i])
        if not i % _RESCALE:
            _scale(backward)
        posterior[i] *= backward
    for one in posterior:
        _scale(one)
    return value.transpose(2, 0, 1), posterior.transpose(2, 0, 1)


def _dense(where: Ints, release: Ints, shown: ValueDistributions, powers: _Powers) -> tuple[Ints, Floats]:
    """On all values at once."""
    size = len(powers.model.names)
    gaps = np.diff(release, axis=1)
    share = [shown.dense(place, size) for place in where.T]
    forward = [share[0]]
    for i in range(1, len(share)):
        forward.append(_moved(forward[-1], gaps[:, i - 1], powers, back=False) * share[i])
        _scale(forward[-1], -1)
    backward = np.ones_like(share[0])
    for i in range(len(share) - 2, -1, -1):
        backward = _moved(backward * share[i + 1], gaps[:, i], powers, back=True)
        _scale(backward, -1)
        forward[i] = forward[i] * backward
    posterior = np.stack(forward, axis=1)
    _scale(posterior, -1)
    return np.broadcast_to(np.arange(size), posterior.shape), posterior


def _moved(weights: Floats, gap: Ints, powers: _Powers, *, back: bool) -> Floats:
    """Weights one step on (or back), each row by its own gap."""
    if powers.model.fixed:
        return weights.copy()
    first, *others = np.unique(gap).tolist()
    moved = _times(weights, _one_way(powers.after(first), back=back))
    for one in others:  # few: people are mostly there from one release to the next
        rows = np.flatnonzero(gap == one)
        moved[rows] = _times(weights[rows], _one_way(powers.after(one), back=back))
    return moved


def _times(weights: Floats, step: Floats) -> Floats:
    """Weights times a small matrix, by one thread: several would mostly wait for each other."""
    rows, values = weights.shape
    chunk = rows_at_once(values, max(rows, 1))
    whole = rows // chunk * chunk
    moved = np.empty_like(weights)
    np.matmul(weights[:whole].reshape(-1, chunk, values), step, out=moved[:whole].reshape(-1, chunk, values))
    moved[whole:] = weights[whole:] @ step
    return moved


def _one_way(step: Floats, *, back: bool) -> Floats:
    return step.T if back else step


def _scale(weights: Floats, axis: int = 0) -> None:
    """Make weights sum to 1, or leave them 0."""
    total = weights.sum(axis=axis, keepdims=True)
    total[total == 0] = 1
    weights /= total


def together(one: ValueDistributions, other: ValueDistributions) -> ValueDistributions:
    """The distributions of both, one after the other."""
    return ValueDistributions(
        np.concatenate([one.starts[:-1], other.starts + one.starts[-1]]),
        np.concatenate([one.value, other.value]),
        np.concatenate([one.share, other.share]),
    )
