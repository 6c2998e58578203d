"""Groups of rows split into the children of their nodes: `partition.tried` as compiled loops, a pass over rows each."""

import numpy as np

from reissue._arrays import Bools, Codes, Ints, NarrowCodes
from reissue.compiled.compiler import compiled
from reissue.compiled.inputs import SplitRows

__all__ = ["bounds", "counts", "look_up", "order", "put"]


@compiled
def bounds(codes: NarrowCodes, starts: Ints, sizes: Ints, place: Ints) -> tuple[Codes, Codes]:
    """The smallest and the largest code of each group on its attribute; `codes` are rows x attributes."""
    lo, hi = np.empty(len(starts), np.int32), np.empty(len(starts), np.int32)
    for group in range(len(starts)):
        column, least, most = place[group], codes[starts[group], place[group]], codes[starts[group], place[group]]
        for row in range(starts[group] + 1, starts[group] + sizes[group]):
            least, most = min(least, codes[row, column]), max(most, codes[row, column])
        lo[group], hi[group] = least, most
    return lo, hi


@compiled
def counts(split: SplitRows, bound: int) -> Ints:
    """Rows of each child, of which there are at most so many."""
    codes, starts, sizes, place, levels, firsts, nodes = split
    table = np.zeros(bound, np.int64)
    for group in range(len(starts)):
        column, level, first = place[group], levels[group], firsts[group]
        for row in range(starts[group], starts[group] + sizes[group]):
            table[first + nodes[level + codes[row, column]]] += 1
    return table


@compiled
def look_up(split: SplitRows, table: Ints) -> Ints:
    """Rows, group by group, to what a table says of their child."""
    codes, starts, sizes, place, levels, firsts, nodes = split
    found, at = np.empty(sizes.sum(), np.int64), 0
    for group in range(len(starts)):
        column, level, first = place[group], levels[group], firsts[group]
        for row in range(starts[group], starts[group] + sizes[group]):
            found[at] = table[first + nodes[level + codes[row, column]]]
            at += 1
    return found


@compiled
def put(split: SplitRows, table: Ints, labels: Ints) -> None:
    """The same as the label of each row, where it stands."""
    codes, starts, sizes, place, levels, firsts, nodes = split
    for group in range(len(starts)):
        column, level, first = place[group], levels[group], firsts[group]
        for row in range(starts[group], starts[group] + sizes[group]):
            labels[row] = table[first + nodes[level + codes[row, column]]]


@compiled
def order(label: Ints, sizes: Ints, chosen: Bools, number: Ints, new: Ints) -> Ints:
    """Rows of the chosen groups by the number of their label, as they come; `new` is how many rows a number has."""
    found, at, row = np.empty(new.sum(), np.int64), np.cumsum(new) - new, 0
    for group in range(len(sizes)):
        if chosen[group]:
            for place in range(row, row + sizes[group]):
                found[at[number[label[place]]]] = place
                at[number[label[place]]] += 1
        row += sizes[group]
    return found
