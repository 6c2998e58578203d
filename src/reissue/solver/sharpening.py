"""Sharpening: from the scaled multipliers, exact messages of groups and slots, two rounds of them.

Iterative scaling keeps counts in expectation; a group keeps them exactly, which says more. Each round replaces what a
small group says about a member by the exact message (`permanents`), averaged, geometrically, with the one before for
what comes next; what a slot of any other group says about who may fill it goes half way to the message of its exact
count (`slot_counts`). One round is too modest, more than two begin to be too sure: evidence goes round in circles.
Where every group shows each of its values once, as groups made by value do, expected counts say least, and averaging
leaves too much of them after two rounds, too little after three: there the third is averaged too (decision 0206).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import different
from reissue.solver.iterative_scaling import Chains, Scaling, cavities, fitted
from reissue.solver.observations import Layer
from reissue.solver.permanents import SmallGroups, exact_messages, small_groups
from reissue.solver.slot_counts import count_messages

__all__ = ["ROUNDS", "Said", "beside", "exact_groups", "rounds_of", "sharpened"]

ROUNDS = 2.0
_ONCE = 2.5
"""Rounds where no group shows a value twice: a last one that goes half way."""
_THREADS = 2
_LEAST = 1e-200
_MOST_WAYS = 8
"""Ways for a person to have a value, on average, at most."""


@dataclass(frozen=True, eq=False)
class Said:
    """What one release says: about entries, and by way where groups are not small."""

    layer: Layer
    entries: Floats
    ways: Floats
    multipliers: Floats
    wide: Bools
    """Way to whether its group is not small."""

    @classmethod
    def of(cls, layer: Layer, entries: Floats, multipliers: Floats | None, wide: Bools) -> "Said":
        """Of entries whose groups are not small, some are `wide`; nothing by way without multipliers, or of many."""
        if multipliers is None or not _countable(layer):
            given = np.empty(0) if multipliers is None else multipliers
            return cls(layer, entries, np.empty(0), given, np.empty(0, np.bool_))
        return cls(layer, entries, multipliers[layer.triple_slot], multipliers, wide[layer.triple_entry])

    def fitted(self, others: Floats, how: Scaling) -> "Said":
        """With multipliers that fit the counts, given what other releases say."""
        multipliers, _ = fitted(self.layer, others, self.multipliers, how)
        ways = multipliers[self.layer.triple_slot] if len(self.ways) else self.ways
        return replace(self, entries=self.layer.said(multipliers), ways=ways, multipliers=multipliers)

    def exactly(self, others: Floats, exact: Floats, *, half: bool = True) -> "Said":
        """With exact messages of small groups, half way to those of other slots, given what other releases say.

        `exact` are the entries with what small groups say exactly.
        """
        layer, ways = self.layer, self.ways
        if self.wide.any():
            counted = count_messages(layer, self.wide, others, ways, self.multipliers)
            ways = np.sqrt(ways * counted) if half else counted
            some = different(layer.triple_entry[self.wide], layer.entries)
            exact[some] = (np.bincount(layer.triple_entry, ways, layer.entries) + layer.away)[some]
        return replace(self, entries=layer.normalized(exact), ways=ways)

    def averaged(self, before: "Said") -> "Said":
        """Half way from what was said before."""
        exact = self.entries
        entries = np.sqrt(np.maximum(exact * self.layer.normalized(before.entries), _LEAST * (exact > 0)))
        return replace(self, entries=entries)


def beside(small: Sequence[SmallGroups], layers: Sequence[Layer]) -> list[Bools]:
    """Layer and entry to whether its group is not small."""
    wide = np.ones(sum(layer.entries for layer in layers), np.bool_)
    for one in small:
        wide[one.entry] = False
    return np.split(wide, _ends(layers))


def exact_groups(small: Sequence[SmallGroups], said: Sequence[Said], others: Sequence[Floats]) -> list[Floats]:
    """Entry to what its group says exactly, where that is small, in each release.

    Groups of one histogram are computed together, those of all releases; the outcome is the same for any number of
    threads.
    """
    exact, cavity = np.concatenate([one.entries for one in said]), np.concatenate(others)
    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        for one, found in zip(small, pool.map(lambda kind: exact_messages(kind, cavity), small), strict=True):
            exact[one.entry] = found
    return np.split(exact, _ends([one.layer for one in said]))


def _ends(layers: Sequence[Layer]) -> Ints:
    """Where the entries of the next layer begin, of each but the last, over all layers."""
    return np.cumsum([layer.entries for layer in layers])[:-1]


def _countable(layer: Layer) -> bool:
    """Whether single slots are looked at: not where it is open who is there at all, for then they say too much.

    Nor where people fit very many groups: nothing can be learnt there, and every way would be kept several times.
    """
    few = len(layer.triple_entry) <= _MOST_WAYS * layer.entries
    return few and not layer.strangers and not layer.absent.any()


def rounds_of(layers: Sequence[Layer]) -> float:
    """How many rounds these releases take: more where no group shows a value twice."""
    return _ONCE if all((layer.count <= 1).all() for layer in layers) else ROUNDS


def sharpened(
    chains: Chains,
    messages: Sequence[Floats],
    rounds: float | None = None,
    multipliers: Sequence[Floats] | None = None,
    small: Sequence[SmallGroups] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[list[Floats], list[Floats]]:
    """Entry to its probability, in each layer; and what each release says about each entry in the end.

    `messages` are those of the `multipliers` of iterative scaling; without these, only small groups are sharpened.
    `small` are the small groups, if they were looked for before.
    """
    rounds = rounds_of(chains.layers) if rounds is None else rounds
    given: Sequence[Floats | None] = multipliers or [None] * len(chains.layers)
    small = small_groups(chains.layers) if small is None else small
    wide = beside(small, chains.layers)
    said = [Said.of(*one) for one in zip(chains.layers, messages, given, wide, strict=True)]
    made: list[Floats] = []
    turns = ceil(rounds)
    for turn in range(turns):
        others = cavities(chains, [one.entries for one in said])
        groups = exact_groups(small, said, others)
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            exact = list(pool.map(Said.exactly, said, others, groups))
        said = [one.averaged(before) for one, before in zip(exact, said, strict=True)]
        if turn + 1 == turns:
            last = exact if turns == rounds else said
            made = [one.layer.normalized(other * one.entries) for one, other in zip(last, others, strict=True)]
        progress((turn + 1) / turns)
    return made, [one.entries for one in said]
