"""For attacks that go on from release to release: people and values keep their numbers, distributions are kept once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.hashing import mix
from reissue.papers.tracking.forward_backward import ValueDistributions

__all__ = [
    "Distributions",
    "Known",
    "absent",
    "distinct",
    "enrolled",
    "found",
    "lasting_values",
    "narrow",
    "no_places",
    "paired",
    "renamed",
    "together",
]


def enrolled(known: Ints, arriving: Ints, order: Ints | None = None) -> tuple[Ints, Ints, Ints]:
    """The known numbers and after them those that are new; the place of each one that arrives; and the sorted order.

    Sorting all who ever were there is what would grow: the `order` of the known ones is kept, and the new go into it.
    """
    order = np.argsort(known) if order is None else order
    at = np.searchsorted(known, arriving, sorter=order)
    place = np.zeros(len(arriving), np.int64)
    fresh = np.ones(len(arriving), np.bool_)
    if len(known):
        place = order[np.minimum(at, len(known) - 1)].astype(np.int64)
        fresh = known[place] != arriving
    new, again = np.unique(arriving[fresh], return_inverse=True)
    place[fresh] = len(known) + again.reshape(-1)
    between = np.searchsorted(known, new, sorter=order)
    after = np.insert(order, between, len(known) + np.arange(len(new)))
    return np.concatenate([known, new]), place, after


def found(among: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Which of the wanted are among sorted numbers, and where."""
    if not len(among):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    rows = np.flatnonzero(among[at] == wanted)
    return rows, at[rows]


def absent(among: Ints, people: Ints) -> Bools:
    """Which of sorted numbers are not among some people."""
    missing = np.ones(len(among), np.bool_)
    missing[found(among, people)[1]] = False
    return missing


def narrow(numbers: np.ndarray) -> np.ndarray:
    """The same numbers, none below 0, in as few bytes each as the largest one needs."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False)


def paired(one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """The different pairs of numbers, from -1 on, and which of them each one is."""
    size = int(other.max(initial=0)) + 2
    keys, of_pair = np.unique((one + 1) * size + other + 1, return_inverse=True)
    return keys // size - 1, keys % size - 1, of_pair.reshape(-1)


def lasting_values(known: Sequence[str | None], shown: Sequence[str | None]) -> tuple[list[str | None], Ints]:
    """The known values and after them those that are new; and the number of each one shown."""
    number = {name: place for place, name in enumerate(known)}
    for name in shown:
        number.setdefault(name, len(number))
    return list(number), np.array([number[name] for name in shown], np.int64)


# --- distributions ---------------------------------------------------------------------------------------------------


def renamed(places: ValueDistributions, number: Ints) -> ValueDistributions:
    """The same distributions with their values' lasting numbers, in their order."""
    row = np.repeat(np.arange(len(places.widths)), places.widths)
    value = number[places.value]
    order = np.lexsort((value, row))
    return ValueDistributions(places.starts, value[order], places.share[order])


def together(one: ValueDistributions, other: ValueDistributions) -> ValueDistributions:
    """The distributions of both, one after the other."""
    return ValueDistributions(
        np.concatenate([one.starts[:-1], other.starts + one.starts[-1]]),
        np.concatenate([one.value, other.value]),
        np.concatenate([one.share, other.share]),
    )


def _keys_of(places: ValueDistributions) -> np.ndarray:
    """Each distribution to a number that equal ones share."""
    row = np.repeat(np.arange(len(places.widths)), places.widths)
    keys = np.zeros(len(places.widths), np.uint64)
    bits = np.ascontiguousarray(places.share).view(np.uint64)
    np.add.at(keys, row, mix(mix(places.value.astype(np.uint64) + np.uint64(1)) ^ bits))
    return keys


def _some_of(places: ValueDistributions, kept: Ints) -> ValueDistributions:
    """Some of the distributions, in the given order."""
    widths = places.widths[kept]
    starts = np.append(0, np.cumsum(widths))
    at = np.arange(starts[-1]) + np.repeat(places.starts[kept] - starts[:-1], widths)
    return ValueDistributions(starts, places.value[at], places.share[at])


def distinct(places: ValueDistributions, used: Ints) -> tuple[ValueDistributions, Ints]:
    """Each distribution that is used, once, in the order of their first places; and place to its new one."""
    keys = _keys_of(places)
    wanted = np.zeros(len(keys), np.bool_)
    wanted[used] = True
    chosen = np.flatnonzero(wanted)
    _, first, again = np.unique(keys[chosen], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    of_place = np.full(len(keys), -1, np.int64)
    of_place[chosen] = rank[again.reshape(-1)]
    return _some_of(places, chosen[np.sort(first)]), of_place


def no_places() -> ValueDistributions:
    """No distributions: before the first release."""
    return ValueDistributions(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, eq=False)
class Distributions:
    """All distributions of values that there have been, each once, in the order in which they arrived."""

    places: ValueDistributions
    keys: np.ndarray
    """What tells them apart."""
    order: Ints
    """Their places by key."""

    @classmethod
    def none(cls) -> "Distributions":
        """Before the first release."""
        return cls(no_places(), np.empty(0, np.uint64), np.empty(0, np.int64))

    def joined(self, shown: ValueDistributions) -> tuple["Distributions", Ints]:
        """With those of one more release, and where these are."""
        keys, at, order = enrolled(self.keys, _keys_of(shown), self.order)
        new = np.flatnonzero(at >= len(self.keys))
        first = np.unique(at[new], return_index=True)[1]
        return Distributions(together(self.places, _some_of(shown, new[first])), keys, order), at


# --- what is known ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Known:
    """What all releases tell: in each release, and of each person."""

    risks: list[float] | None
    """The largest posterior in each release, if that was kept."""
    certains: list[int] | None
    """How many people's values are known for sure in each release, if that was kept."""
    largest: Floats
    """Person to its largest posterior; or of several people who share all their groups, once for all of them."""
    certain: Bools
    """Whether one of its values is known for sure."""
    impossible: Bools
    number: Ints
    """How many people each one stands for."""
