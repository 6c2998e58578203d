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
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints, State
from reissue.counting.cells import pack, rank
from reissue.counting.pairs import Histograms, common, equal_keys, pieces, ranges
from reissue.errors import CannotRunError
from reissue.kernels.chains.chains import lacking_records, refuse_endless, smaller, too_many
from reissue.published.groups import Nodes, View, Views, counted_view, read_nodes, read_values
from reissue.published.recodings import forest, refuse_other_recodings
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding

__all__ = ["Past", "Standing", "all_values", "past_of", "replayed", "state_of", "taken"]

_MOST = 30_000_000
"""How many (chain, value) entries are kept before chains are no longer carried on."""


@dataclass(frozen=True, eq=False)
class Standing:
    """The chains of all arrival times, sorted by time, on each of which somebody may stand."""

    nodes: Codes
    """Quasi-identifiers x chains: the smallest node along the chain."""
    arrived: Ints
    """The release that each chain begins with, from 0."""
    held: Histograms
    term: Codes
    """How many records with this value are left: at least one."""
    entry: Codes
    """Entry to the entry of the newest release."""

    @property
    def left(self) -> Ints:
        """What is left of each chain."""
        return np.add.reduceat(self.term, self.held.starts[:-1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Past:
    """All releases so far."""

    quasi: tuple[Nodes, ...]
    values: tuple[tuple[str | None, ...], ...]
    shown: View
    """The groups of all releases, one release after the other."""
    release: Ints
    """Group to its release, from 0."""
    standing: Standing

    @property
    def releases(self) -> int:
        """How many there are."""
        return int(self.release[-1]) + 1

    def view(self, release: int) -> View:
        """One of the releases, from 0."""
        first, last = np.searchsorted(self.release, [release, release + 1])
        mine = slice(self.shown.starts[first], self.shown.starts[last])
        shown = self.shown
        return View(shown.nodes[:, first:last], shown.group[mine] - first, shown.value[mine], shown.count[mine])


# --- one release more ------------------------------------------------------------------------------------------------


def taken(past: Past | None, frame: pl.DataFrame, schema: Schema, codings: Sequence[Coding] = ()) -> Past:
    """The past with one release more; CannotRunError if its chains cannot be followed.

    Texts are read anew together with those of the new release: what they mean may depend on which there are. If the
    earlier ones no longer lie inside each other as they did, what was found with them does not hold any more. With the
    holder's own `codings`, the same ones for all releases, they are read by these.
    """
    own: Sequence[Coding | None] = codings or [None] * len(schema.quasi)
    read = [
        read_nodes([_texts(past, place, name), frame[name]], schema.hierarchy(name), coding)
        for place, (name, coding) in enumerate(zip(schema.quasi, own, strict=True))
    ]
    quasi = tuple(column for column, _ in read)
    values, secret = all_values(() if past is None else past.values, frame, schema.sensitive)
    view = counted_view([codes[1] for _, codes in read], quasi, secret, len(values))
    refuse_other_recodings(Views(quasi, (view,), values), [1 if past is None else past.releases + 1])
    if past is None:
        return _first(quasi, values, view)
    moved = [codes[0] for _, codes in read]
    for was, now, number in zip(past.quasi, quasi, moved, strict=True):
        if forest(was.lo, was.hi) != forest(now.lo[number], now.hi[number]):
            raise CannotRunError(f"texts of column '{now.name}' have another meaning than before.")
    return _with(_recoded(past, quasi, values, moved), view)


def replayed(past: Past, schema: Schema, codings: Sequence[Coding]) -> Iterator[Past]:
    """The past after each of its releases, read with the holder's codings."""
    read = [
        read_nodes([_texts(past, place, name)], schema.hierarchy(name), coding)
        for place, (name, coding) in enumerate(zip(schema.quasi, codings, strict=True))
    ]
    whole = _recoded(past, tuple(column for column, _ in read), past.values, [codes[0] for _, codes in read])
    again = _first(whole.quasi, whole.values, whole.view(0))
    yield again
    for number in range(1, past.releases):
        again = _with(again, whole.view(number))
        yield again


def _first(quasi: tuple[Nodes, ...], values: tuple[tuple[str | None, ...], ...], view: View) -> Past:
    everyone = _arriving(view, view.count.astype(np.int32), 0, len(values))
    return Past(quasi, values, view, np.zeros(view.groups, np.int64), everyone)


def _texts(past: Past | None, place: int, name: str) -> pl.Series:
    return pl.Series(name, [] if past is None else past.quasi[place].texts, dtype=pl.String)


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
    past: Past, quasi: tuple[Nodes, ...], values: tuple[tuple[str | None, ...], ...], moved: list[Codes]
) -> Past:
    """The same past with other numbers for its nodes, and perhaps more values."""

    def renumbered(nodes: Codes) -> Codes:
        return np.stack([number[row] for number, row in zip(moved, nodes, strict=True)])

    shown, standing = past.shown, past.standing
    return replace(
        past,
        quasi=quasi,
        values=values,
        shown=replace(shown, nodes=renumbered(shown.nodes)),
        standing=replace(
            standing,
            nodes=renumbered(standing.nodes),
            held=Histograms(standing.held.starts, standing.held.value, len(values)),
        ),
    )


def _with(past: Past, view: View) -> Past:
    """The past with one release more, all in the same codes."""
    values, number = len(past.values), past.releases
    ceilings = _ceilings(past, view)
    parts = [*_extended(past, view, ceilings), _arriving(view, ceilings[-1], number, values)]
    shown = View(
        np.concatenate([past.shown.nodes, view.nodes], axis=1),
        np.concatenate([past.shown.group, view.group + past.shown.groups]),
        np.concatenate([past.shown.value, view.value]),
        np.concatenate([past.shown.count, view.count]),
    )
    release = np.append(past.release, np.full(view.groups, number))
    return Past(past.quasi, past.values, shown, release, _whole(parts, values))


def _arriving(view: View, term: Codes, arrived: int, values: int) -> Standing:
    """The chains of those who arrived with the newest release: its groups."""
    kept = np.flatnonzero(term)
    return _standing(
        view.nodes, np.full(view.groups, arrived), view.group[kept], view.value[kept], term[kept], kept, values
    )


def _standing(nodes: Codes, arrived: Ints, chain: Ints, value: Ints, term: Codes, entry: Ints, values: int) -> Standing:
    """Chains by the entries that they have, sorted by chain; those without any go."""
    number = np.bincount(chain, minlength=len(arrived))
    some = np.flatnonzero(number)
    starts = np.append(0, np.cumsum(number[some]))
    return Standing(nodes[:, some], arrived[some], Histograms(starts, value, values), term, entry.astype(np.int32))


def _whole(parts: Sequence[Standing], values: int) -> Standing:
    """Parts put together."""
    lengths = np.concatenate([part.held.lengths for part in parts])
    return Standing(
        np.concatenate([part.nodes for part in parts], axis=1),
        np.concatenate([part.arrived for part in parts]),
        Histograms(np.append(0, np.cumsum(lengths)), np.concatenate([part.held.value for part in parts]), values),
        np.concatenate([part.term for part in parts]),
        np.concatenate([part.entry for part in parts]),
    )


# --- many releases at once -------------------------------------------------------------------------------------------


def _joined(quasi: Sequence[Nodes], nodes: Codes, turn: Ints, turns: int, new: Codes) -> tuple[Ints, Ints, int]:
    """The keys of boxes that belong to turns, and turn by turn those of new boxes, on the join of both cuts in each.

    Nodes are sorted by their first leaf, so a key begins where a node begins behind all that came before.
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


def _ceilings(past: Past, view: View) -> Codes:
    """Arrival times x entries of a new release: what it and all releases before the arrival leave of them."""
    shown, total = past.shown, past.releases
    first = np.searchsorted(past.release, np.arange(total + 1))
    found = np.empty((total + 1, len(view.value)), np.int32)
    found[0] = view.count
    for some in pieces(np.diff(shown.starts[first]) + len(view.value)):
        groups = slice(first[some.start], first[some.stop])
        entries = slice(shown.starts[groups.start], shown.starts[groups.stop])
        turns = some.stop - some.start
        turn = past.release[groups] - some.start
        before, after, keys = _joined(past.quasi, shown.nodes[:, groups], turn, turns, view.nodes)
        was = before[shown.group[entries] - groups.start] * len(past.values) + shown.value[entries]
        now = (after.reshape(turns, -1)[:, view.group] * len(past.values) + view.value).ravel()
        space = keys * len(past.values)
        if space > 16 * (len(was) + len(now)) + (1 << 16):
            both, space = rank(np.append(was, now))
            was, now = both[: len(was)], both[len(was) :]
        came = np.bincount(now, np.tile(view.count, turns), space) - np.bincount(was, shown.count[entries], space)
        if came.min() < 0:
            raise lacking_records()
        found[some.start + 1 : some.stop + 1] = came[now].reshape(turns, -1)
    return np.minimum.accumulate(found, out=found)


def _extended(past: Past, view: View, ceilings: Codes) -> Iterator[Standing]:
    """The chains gone on to the new release's groups; `ceilings` are what arrival times leave of its entries."""
    standing, values, total = past.standing, len(past.values), past.releases
    its, mine, keys = _joined(past.quasi, standing.nodes, standing.arrived, total, view.nodes)
    if (np.bincount(mine, minlength=keys)[its] == 1).all():
        group = np.empty(keys, np.int64)
        group[mine] = np.arange(len(mine)) % view.groups
        yield _in_place(past, view, group[its], ceilings)
        return
    order, start, number = equal_keys(mine, its)
    held = Histograms(view.starts, view.value, values)
    before = np.append(0, np.cumsum(standing.held.lengths[order]))
    work = np.minimum(np.tile(held.lengths, total) * number, before[start + number] - before[start])
    refuse_endless(work)
    entries = 0
    for piece in pieces(work):
        group = np.repeat(np.arange(piece.start, piece.stop) % view.groups, number[piece])
        chain = order[ranges(start[piece], number[piece])]
        pair, own, further = common(held, standing.held, group, chain)
        arrived = standing.arrived[chain]
        term = np.minimum(ceilings[arrived[pair], own], standing.term[further])
        kept = np.flatnonzero(term)
        entries += len(kept)
        if entries > _MOST:
            raise too_many()
        nodes = _smallest(past.quasi, view.nodes[:, group], standing.nodes[:, chain])
        yield _standing(nodes, arrived, pair[kept], view.value[own[kept]], term[kept], own[kept], values)


def _in_place(past: Past, view: View, group: Ints, ceilings: Codes) -> Standing:
    """The same where every chain goes on to one group: chains keep their places."""
    standing, values = past.standing, len(past.values)
    chain = np.repeat(np.arange(len(group)), standing.held.lengths)
    own = Histograms(view.starts, view.value, values).find(group[chain], standing.held.value)
    term = np.minimum(ceilings[standing.arrived[chain], own], standing.term) * (own >= 0).astype(np.int32)
    nodes = _smallest(past.quasi, view.nodes[:, group], standing.nodes)
    if term.all():
        return Standing(nodes, standing.arrived, standing.held, term, own.astype(np.int32))
    kept = np.flatnonzero(term)
    return _standing(nodes, standing.arrived, chain[kept], standing.held.value[kept], term[kept], own[kept], values)


def _smallest(quasi: Sequence[Nodes], one: Codes, other: Codes) -> Codes:
    return np.stack([smaller(column, *nodes) for column, *nodes in zip(quasi, one, other, strict=True)])


# --- kept ------------------------------------------------------------------------------------------------------------


_LONG = ("releases", "lengths", "value", "count", "arrived", "held", "held_value")
_SHORT = ("nodes", "chains", "term", "entry", "lo", "hi")


def state_of(past: Past) -> dict[str, Any]:
    """The past as arrays, numbers and texts by name."""
    shown, standing = past.shown, past.standing
    arrays = {
        "releases": np.bincount(past.release),
        "nodes": shown.nodes,
        "lengths": np.diff(shown.starts),
        "value": shown.value,
        "count": shown.count,
        "chains": standing.nodes,
        "arrived": standing.arrived,
        "held": standing.held.lengths,
        "held_value": standing.held.value,
        "term": standing.term,
        "entry": standing.entry,
        "lo": np.concatenate([column.lo for column in past.quasi]),
        "hi": np.concatenate([column.hi for column in past.quasi]),
    }
    texts = [list(column.texts) for column in past.quasi]
    return {"texts": texts, "values": [list(value) for value in past.values], **arrays}


def past_of(state: State, schema: Schema) -> Past:
    """The past again."""
    values = tuple(tuple(value) for value in state["values"])
    long = {name: state[name].astype(np.int64) for name in _LONG}
    short = {name: state[name].astype(np.int32) for name in _SHORT}
    group = np.repeat(np.arange(len(long["lengths"])), long["lengths"])
    shown = View(short["nodes"], group, long["value"], long["count"])
    held = Histograms(np.append(0, np.cumsum(long["held"])), long["held_value"], len(values))
    standing = Standing(short["chains"], long["arrived"], held, short["term"], short["entry"])
    release = np.repeat(np.arange(len(long["releases"])), long["releases"])
    ends = np.cumsum([len(texts) for texts in state["texts"]])[:-1]
    columns = zip(schema.quasi, np.split(short["lo"], ends), np.split(short["hi"], ends), state["texts"], strict=True)
    quasi = tuple(Nodes(name, lo, hi, tuple(texts), exact=True) for name, lo, hi, texts in columns)
    return Past(quasi, values, shown, release, standing)
