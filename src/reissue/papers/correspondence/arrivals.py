"""What arrived after each earlier release: the table's records less the release's, box by box and value by value."""

from collections.abc import Iterator, Sequence

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Cells
from reissue.counting.keys import distinct_keys, pack, rank, stable_order
from reissue.counting.segments import pieces, ranges
from reissue.errors import DataError
from reissue.papers.correspondence.earlier import Arrived, Covers, covers_of
from reissue.papers.correspondence.history import ChainHistory
from reissue.published.boxes import PublishedValues

__all__ = ["arrived_after"]

_COARSER = 8
"""Cuts with this many times fewer boxes than there are cells wait until cells are counted together for them."""


def arrived_after(
    past: ChainHistory, columns: Sequence[PublishedValues], cells: Cells, values: int, sizes: Sequence[int]
) -> Arrived:
    """What arrived after the releases of a past; `columns` are its nodes as intervals of the table's leaves.

    The last row of the cells' codes is the sensitive value.

    Releases with the same cuts are gone through together.
    """
    covers = covers_of(columns, past.shown.nodes, past.release, past.releases, sizes)
    lows = [column.lo[row] for column, row in zip(columns, past.shown.nodes, strict=True)]
    kinds, kind = np.unique(np.stack([one.which for one in covers]), axis=1, return_inverse=True)
    order = np.argsort(kind.reshape(-1), kind="stable")
    times = np.split(order, np.flatnonzero(np.diff(kind.reshape(-1)[order])) + 1)
    found = []
    for some, counted in _cells_by_cut(covers, kinds, cells, values):
        cuts = [one.lo[cut] for one, cut in zip(covers, kinds[:, some], strict=True)]
        found.append(_arrived(past, times[some], cuts, lows, counted, values))
    time, boxes, its, count = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    _refuse_lacking(time, count)
    order = stable_order(time, past.releases)
    order = order[count[order] > 0]
    return Arrived(list(boxes[:, order]), time[order], covers, its[order], count[order], past.releases, values)


def _cells_by_cut(covers: Sequence[Covers], kinds: Ints, cells: Cells, values: int) -> Iterator[tuple[int, Cells]]:
    """Each kind of cuts (attributes x kinds) with the table's cells, counted together where cuts allow.

    What coarse cuts do not tell apart is counted together before each of them is gone through. Of the nodes over a
    leaf the smallest begins last, and a smallest node is known by where it begins.
    """
    nodes = [(one.lo == np.arange(one.lo.shape[1])).sum(axis=1)[cut] for one, cut in zip(covers, kinds, strict=True)]
    boxes = np.prod(np.stack(nodes).astype(np.float64), axis=0)
    left = np.argsort(-boxes, kind="stable")
    while len(left):
        finest = [one.lo[np.unique(cut[left])].max(axis=0) for one, cut in zip(covers, kinds, strict=True)]
        cells = _counted(finest, cells, values)
        fine = boxes[left] * values > len(cells.sizes) / _COARSER
        fine[0] = True
        for some in left[fine].tolist():
            yield some, cells
        left = left[~fine]


def _counted(finest: Sequence[Codes], cells: Cells, values: int) -> Cells:
    """The cells by the first leaves of some nodes."""
    keys, bound = _keys(finest, cells.codes[:-1], cells.codes[-1], values)
    distinct, place = distinct_keys(keys, bound)
    source = np.empty(len(distinct), np.int64)
    source[place] = np.arange(len(place))
    leaves = [first[codes[source]] for first, codes in zip(finest, cells.codes[:-1], strict=True)]
    sizes = np.bincount(place, cells.sizes).astype(np.int64)
    return Cells(np.stack([*leaves, cells.codes[-1][source]]), sizes, place)


def _arrived(
    past: ChainHistory, times: Ints, cuts: Sequence[Codes], lows: Sequence[Codes], cells: Cells, values: int
) -> tuple[Ints, Codes, Ints, Ints]:
    """For releases with the same cuts: time, box, value and number of what arrived, or below 0 of what is lacking."""
    shown, own = past.shown, len(cells.sizes)
    starts = shown.starts[np.searchsorted(past.release, np.arange(past.releases + 1))]
    lengths = starts[times + 1] - starts[times]
    entries = ranges(starts[times], lengths)
    leaves = [np.append(codes, low[shown.group[entries]]) for codes, low in zip(cells.codes[:-1], lows, strict=True)]
    value = np.append(cells.codes[-1].astype(np.int64), shown.value[entries])
    keys, bound = _keys(cuts, leaves, value, values)
    there = np.bincount(keys[:own], cells.sizes, bound)
    source = np.empty(bound, np.int64)
    source[keys] = np.arange(len(keys))
    ends = np.append(0, np.cumsum(lengths))
    found = []
    for some in pieces(np.full(len(times), bound)):
        mine, rows = slice(ends[some.start], ends[some.stop]), some.stop - some.start
        at = np.repeat(np.arange(rows), lengths[some]) * bound + keys[own:][mine]
        was = np.bincount(at, shown.count[entries[mine]], rows * bound).reshape(rows, bound)
        row, key = np.nonzero(there - was)
        found.append((times[some][row], source[key], (there[key] - was[row, key]).astype(np.int64)))
    time, at, count = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return time, np.stack([cut[codes[at]] for cut, codes in zip(cuts, leaves, strict=True)]), value[at], count


def _keys(cuts: Sequence[Codes], leaves: Sequence[Codes] | Codes, value: Codes | Ints, values: int) -> tuple[Ints, int]:
    """One small number for each box and value, and a bound above all of them; cuts are leaves to first leaves."""
    number = [(np.cumsum(cut == np.arange(len(cut))) - 1)[cut] for cut in cuts]
    columns = [own[codes] for own, codes in zip(number, leaves, strict=True)]
    keys, bound = pack([*columns, value], [*(int(own[-1]) + 1 for own in number), values])
    return rank(keys) if bound > 4 * len(keys) + 1024 else (keys, bound)


def _refuse_lacking(time: Ints, count: Ints) -> None:
    if not (count < 0).any():
        return
    release = int(time[count < 0].min())
    lacking = int(-count[(count < 0) & (time == release)].sum())
    raise DataError(
        f"The table lacks {lacking:,} records that release {release + 1} published. This method is for tables that "
        "only grow: records may arrive, but not leave or change."
    )
