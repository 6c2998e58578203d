"""Releases of a growing table taken up one by one: what the next one needs of them, and none of them twice.

Of each release its groups and their values are kept, and of each arrival time the chains of groups on which somebody
may stand, with what is left of each value (see `chains`). One more release l shortens what is left of a chain to

    sum_s  min( term(s),  n_ql(s),  min over i < j of  G_l(key_il, s) - G_i(key_il, s) )

so a chain goes on with each group of l that it has a leaf in common with, and pairs of earlier releases are never
counted again. Chains of which nothing is left are nobody's, and stay so: they go. All arrival times lie in the same
arrays, with the time as one more key; a release costs by the entries there are, not by the number of releases.

Nothing is kept but what was published: texts, counts, and what follows from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.histogram import Histogram, common
from reissue.counting.keys import pack, rank
from reissue.counting.segments import equal_keys, pieces, ranges
from reissue.errors import CannotRunError
from reissue.papers.correspondence.chains import (
    forest,
    lacking_records,
    refuse_endless,
    refuse_other_recodings,
    smaller,
    too_many,
)
from reissue.published.boxes import (
    PublishedValues,
    ReleaseCounts,
    SeriesCounts,
    count_release,
    read_nodes,
    read_values,
)
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding

__all__ = ["ChainHistory", "OpenChains", "add_counts", "add_release", "all_values", "replayed"]

_MOST = 30_000_000
"""How many (chain, value) entries are kept before chains are no longer followed."""


@dataclass(frozen=True, eq=False)
class OpenChains(Histogram):
    """The chains of all arrival times, sorted by time, on each of which somebody may be.

    Counts are how many records with a value are left: at least one.
    """

    nodes: Codes
    """Quasi-identifiers x chains: the smallest node along the chain."""
    arrived: Ints
    """The release that each chain begins with, from 0."""
    entry: Codes
    """Entry to the entry of the newest release."""


@dataclass(frozen=True, eq=False)
class ChainHistory:
    """All releases so far."""

    VERSION: ClassVar[int] = 2

    quasi: tuple[PublishedValues, ...]
    values: tuple[tuple[str | None, ...], ...]
    shown: ReleaseCounts
    """The groups of all releases, one release after the other."""
    release: Ints
    """Group to its release, from 0."""
    chains: OpenChains

    @property
    def releases(self) -> int:
        """How many there are."""
        return int(self.release[-1]) + 1

    @property
    def counts(self) -> SeriesCounts:
        """All releases in common codes."""
        return SeriesCounts(self.quasi, tuple(self.view(release) for release in range(self.releases)), self.values)

    def view(self, release: int) -> ReleaseCounts:
        """One of the releases, from 0."""
        first, last = np.searchsorted(self.release, [release, release + 1])
        return ReleaseCounts.of(self.shown.between(int(first), int(last)), self.shown.nodes[:, first:last])


# --- one more release ------------------------------------------------------------------------------------------------


def add_release(
    history: ChainHistory | None,
    frame: pl.DataFrame,
    schema: Schema,
    codings: Sequence[Coding] = (),
    times: Ints | None = None,
) -> ChainHistory:
    """The history with one more release; CannotRunError if its chains cannot be followed.

    Texts are read anew together with those of the new release: what they mean may depend on which there are. If the
    earlier ones no longer lie inside each other as they did, what was found with them does not hold any more. With the
    holder's own `codings`, the same ones for all releases, they are read by these. `times` is how many records each row
    of the frame stands for.
    """
    own: Sequence[Coding | None] = codings or [None] * len(schema.quasi)
    read = [
        read_nodes([_texts(history, place, name), frame[name]], schema.hierarchy(name), coding)
        for place, (name, coding) in enumerate(zip(schema.quasi, own, strict=True))
    ]
    quasi = tuple(column for column, _ in read)
    values, secret = all_values(() if history is None else history.values, frame, schema.sensitive)
    view = count_release([codes[1] for _, codes in read], quasi, secret, len(values), times)
    refuse_other_recodings(SeriesCounts(quasi, (view,), values), [1 if history is None else history.releases + 1])
    if history is None:
        return _first(quasi, values, view)
    moved = [codes[0] for _, codes in read]
    for was, now, number in zip(history.quasi, quasi, moved, strict=True):
        if forest(was.lo, was.hi) != forest(now.lo[number], now.hi[number]):
            raise CannotRunError(f"texts of column '{now.name}' have another meaning than before.")
    return _with(_recoded(history, quasi, values, moved), view)


def add_counts(history: ChainHistory | None, views: SeriesCounts) -> ChainHistory:
    """The history with one more release, the only one of `views`; all releases are read in the same codes already."""
    (view,) = views.releases
    return _first(views.quasi, views.values, view) if history is None else _with(history, view)


def replayed(history: ChainHistory, schema: Schema, codings: Sequence[Coding]) -> Iterator[ChainHistory]:
    """The history after each of its releases, read with the holder's codings."""
    read = [
        read_nodes([_texts(history, place, name)], schema.hierarchy(name), coding)
        for place, (name, coding) in enumerate(zip(schema.quasi, codings, strict=True))
    ]
    whole = _recoded(history, tuple(column for column, _ in read), history.values, [codes[0] for _, codes in read])
    again = _first(whole.quasi, whole.values, whole.view(0))
    yield again
    for number in range(1, history.releases):
        again = _with(again, whole.view(number))
        yield again


def _first(
    quasi: tuple[PublishedValues, ...], values: tuple[tuple[str | None, ...], ...], view: ReleaseCounts
) -> ChainHistory:
    everyone = _arriving(view, view.count.astype(np.int32), 0)
    return ChainHistory(quasi, values, view, np.zeros(view.groups, np.int64), everyone)


def _texts(history: ChainHistory | None, place: int, name: str) -> pl.Series:
    return pl.Series(name, [] if history is None else history.quasi[place].texts, dtype=pl.String)


def all_values(
    known: tuple[tuple[str | None, ...], ...], frame: pl.DataFrame, sensitive: Sequence[str]
) -> tuple[tuple[tuple[str | None, ...], ...], Codes]:
    """All sensitive values, those known first, and the number of each row's."""
    shown, (code,) = read_values([frame], sensitive)
    number = {value: place for place, value in enumerate(known)}
    for value in shown:
        number.setdefault(value, len(number))
    return tuple(number), np.array([number[value] for value in shown], np.int32)[code]


def _recoded(
    history: ChainHistory,
    quasi: tuple[PublishedValues, ...],
    values: tuple[tuple[str | None, ...], ...],
    moved: list[Codes],
) -> ChainHistory:
    """The same history with other numbers for its nodes, and perhaps more values."""

    def renumbered(nodes: Codes) -> Codes:
        return np.stack([number[row] for number, row in zip(moved, nodes, strict=True)])

    shown, chains = history.shown, history.chains
    return replace(
        history,
        quasi=quasi,
        values=values,
        shown=replace(shown, nodes=renumbered(shown.nodes), values=len(values)),
        chains=replace(chains, nodes=renumbered(chains.nodes), values=len(values)),
    )


def _with(history: ChainHistory, view: ReleaseCounts) -> ChainHistory:
    """The history with one more release, all in the same codes."""
    before, number = history.shown, history.releases
    ceilings = _ceilings(history, view)
    parts = [*_extended(history, view, ceilings), _arriving(view, ceilings[-1], number)]
    shown = ReleaseCounts(
        np.append(before.starts, before.starts[-1] + view.starts[1:]),
        np.concatenate([before.value, view.value]),
        np.concatenate([before.count, view.count]),
        len(history.values),
        np.concatenate([before.nodes, view.nodes], axis=1),
    )
    release = np.append(history.release, np.full(view.groups, number))
    return ChainHistory(history.quasi, history.values, shown, release, _whole(parts))


def _arriving(view: ReleaseCounts, term: Codes, arrived: int) -> OpenChains:
    """The chains of those who arrived with the newest release: its groups."""
    kept = np.flatnonzero(term)
    return _open_chains(
        view.nodes, np.full(view.groups, arrived), view.group[kept], view.value[kept], term[kept], kept, view.values
    )


def _open_chains(
    nodes: Codes, arrived: Ints, chain: Ints, value: Ints, term: Codes, entry: Ints, values: int
) -> OpenChains:
    """Chains by the entries that they have, sorted by chain; those without any go."""
    number = np.bincount(chain, minlength=len(arrived))
    some = np.flatnonzero(number)
    starts = np.append(0, np.cumsum(number[some]))
    return OpenChains(starts, value, term, values, nodes[:, some], arrived[some], entry.astype(np.int32))


def _whole(parts: Sequence[OpenChains]) -> OpenChains:
    """Parts put together."""
    return OpenChains(
        np.append(0, np.cumsum(np.concatenate([part.lengths for part in parts]))),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.count for part in parts]),
        parts[-1].values,
        np.concatenate([part.nodes for part in parts], axis=1),
        np.concatenate([part.arrived for part in parts]),
        np.concatenate([part.entry for part in parts]),
    )


# --- many releases at once -------------------------------------------------------------------------------------------


def _joined(
    quasi: Sequence[PublishedValues], nodes: Codes, turn: Ints, turns: int, new: Codes
) -> tuple[Ints, Ints, int]:
    """The keys of boxes that belong to turns, and turn by turn those of new boxes, on the join of both cuts in each.

    Nodes are sorted by their first leaf, so a key begins where a node begins behind all before it.
    """
    columns, sizes = [np.append(turn, np.repeat(np.arange(turns), new.shape[1]))], [turns]
    for column, own, its in zip(quasi, nodes, new, strict=True):
        used = np.zeros((turns, len(column.lo)), np.bool_)
        used[turn, own] = True
        used[:, its] = True
        reach = np.maximum.accumulate(np.where(used, column.hi, -1), axis=1)
        used[:, 1:] &= column.lo[1:] > reach[:, :-1]
        number = np.cumsum(used, axis=1, dtype=np.int32) - 1
        columns.append(np.append(number[turn, own], number[:, its]))
        sizes.append(len(column.lo))
    keys, total = rank(pack(columns, sizes)[0])
    return keys[: len(turn)], keys[len(turn) :], total


def _ceilings(history: ChainHistory, view: ReleaseCounts) -> Codes:
    """Arrival times x entries of a new release: what it and all releases before the arrival leave of them."""
    shown, total = history.shown, history.releases
    first = np.searchsorted(history.release, np.arange(total + 1))
    found = np.empty((total + 1, len(view.value)), np.int32)
    found[0] = view.count
    for some in pieces(np.diff(shown.starts[first]) + len(view.value)):
        groups = slice(first[some.start], first[some.stop])
        entries = slice(shown.starts[groups.start], shown.starts[groups.stop])
        turns = some.stop - some.start
        turn = history.release[groups] - some.start
        before, after, keys = _joined(history.quasi, shown.nodes[:, groups], turn, turns, view.nodes)
        was = before[shown.group[entries] - groups.start] * len(history.values) + shown.value[entries]
        now = (after.reshape(turns, -1)[:, view.group] * len(history.values) + view.value).ravel()
        space = keys * len(history.values)
        if space > 16 * (len(was) + len(now)) + (1 << 16):
            both, space = rank(np.append(was, now))
            was, now = both[: len(was)], both[len(was) :]
        arrivals = np.bincount(now, np.tile(view.count, turns), space) - np.bincount(was, shown.count[entries], space)
        if arrivals.min() < 0:
            raise lacking_records()
        found[some.start + 1 : some.stop + 1] = arrivals[now].reshape(turns, -1)
    return np.minimum.accumulate(found, out=found)


def _extended(history: ChainHistory, view: ReleaseCounts, ceilings: Codes) -> Iterator[OpenChains]:
    """The chains gone on to the new release's groups; `ceilings` are what arrival times leave of its entries."""
    chains, total = history.chains, history.releases
    its, mine, keys = _joined(history.quasi, chains.nodes, chains.arrived, total, view.nodes)
    if (np.bincount(mine, minlength=keys)[its] == 1).all():
        group = np.empty(keys, np.int64)
        group[mine] = np.arange(len(mine)) % view.groups
        yield _in_place(history, view, group[its], ceilings)
        return
    order, start, number = equal_keys(mine, its)
    before = np.append(0, np.cumsum(chains.lengths[order]))
    work = np.minimum(np.tile(view.lengths, total) * number, before[start + number] - before[start])
    refuse_endless(work)
    entries = 0
    for piece in pieces(work):
        group = np.repeat(np.arange(piece.start, piece.stop) % view.groups, number[piece])
        chain = order[ranges(start[piece], number[piece])]
        pair, own, further = common(view, chains, group, chain)
        arrived = chains.arrived[chain]
        term = np.minimum(ceilings[arrived[pair], own], chains.count[further])
        kept = np.flatnonzero(term)
        entries += len(kept)
        if entries > _MOST:
            raise too_many()
        nodes = _smallest(history.quasi, view.nodes[:, group], chains.nodes[:, chain])
        yield _open_chains(nodes, arrived, pair[kept], view.value[own[kept]], term[kept], own[kept], view.values)


def _in_place(history: ChainHistory, view: ReleaseCounts, group: Ints, ceilings: Codes) -> OpenChains:
    """The same where every chain goes on to one group: chains keep their places."""
    chains, chain = history.chains, history.chains.group
    own = view.find(group[chain], chains.value)
    term = np.minimum(ceilings[chains.arrived[chain], own], chains.count) * (own >= 0).astype(np.int32)
    nodes = _smallest(history.quasi, view.nodes[:, group], chains.nodes)
    if term.all():
        return replace(chains, nodes=nodes, count=term, entry=own.astype(np.int32))
    kept = np.flatnonzero(term)
    return _open_chains(nodes, chains.arrived, chain[kept], chains.value[kept], term[kept], own[kept], view.values)


def _smallest(quasi: Sequence[PublishedValues], one: Codes, other: Codes) -> Codes:
    return np.stack([smaller(column, *nodes) for column, *nodes in zip(quasi, one, other, strict=True)])
