"""The history graphs of all buckets of a series: one step each release, and how many sets of records to add.

Most buckets are large, and their whole past is one node (`OLD`): so many records leave each time that no cut or attack
below the limit tells their releases apart. The others, small ones, have a history kept node by node. All of them lie in
one table, so that a release costs a few passes over it however long the series is: with `left` records of a bucket gone
and `arrived` new ones, the cut between the new release and the end is between

    arrived + sum over nodes of min(gone now, still there)    (paths over one node each share no edge)
    arrived + min(left, all that are still there)             (what leaves either end)

and mostly both are the same. Only where they are not, or where nodes become one, is a bucket's own `History` made.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.papers.equivalence.history_graph import END, OLD, History

__all__ = ["Graphs", "KeptGraphs"]

_TURN = 16
"""A bucket's light edges are looked through for nodes to join in one release out of this many."""


@dataclass(frozen=True, eq=False)
class KeptGraphs:
    """Histories by signature, between two releases."""

    edges: Ints
    nodes: Ints
    returned: Ints


@dataclass
class Graphs:
    """Histories by signature, in the middle of a release."""

    release: int
    limit: int
    """Cuts and attacks must reach it: 2(e - 1) + 1."""
    exact: bool
    edges: Ints = field(default_factory=lambda: np.empty((0, 4), np.int64))
    """Bucket, node where records arrived, node where they had gone, how many; sorted. Buckets of one node: none."""
    nodes: Ints = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Bucket, release and its node, if not `OLD`; sorted."""
    returned: set[int] = field(default_factory=set)
    """Signatures of buckets that somebody returned to: without history, they take in `limit` records at each change."""
    here: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Records that each bucket had in the release before."""
    left: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """How many of those are gone."""
    since: Ints = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Bucket, release of arrival, and how many of those left, for buckets with a history."""
    gone: Ints = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """The same by node instead of release."""
    parallel: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """By bucket, how many paths over one node each lead from the new release to the end."""
    _touched: set[int] = field(default_factory=set)
    _steps: dict[tuple[int, int], History] = field(default_factory=dict)
    """Histories after this release, by bucket and number of records that arrived."""
    _fine: set[int] = field(default_factory=set)
    """Buckets whose cut was found large enough; more records that come only raise it."""

    @classmethod
    def of(cls, kept: "KeptGraphs | None", release: int, limit: int, *, exact: bool) -> "Graphs":
        """From what the release before left, if there was one."""
        if kept is None:
            return cls(release, limit, exact)
        return cls(release, limit, exact, _sorted(kept.edges), _sorted(kept.nodes), set(kept.returned.tolist()))

    def kept(self) -> "KeptGraphs":
        """For the next release; `of` reads it."""
        return KeptGraphs(self.edges, self.nodes, np.array(sorted(self.returned), np.int64))

    def leave(self, here: Ints, signature: Codes, since: Codes, back: Codes) -> None:
        """Note how many there were, the signature and arrival of each who left, and the signatures of returners."""
        self.here, self.left = here, np.bincount(signature, minlength=len(here))
        self._touched = set(np.unique(back).tolist())
        self.returned |= self._touched
        self._replace(self._touched, {})
        kept = self._kept(len(here))
        followed = kept[signature]
        self.since = self._tally(signature[followed], since[followed], np.ones(int(followed.sum())))
        named = self._find(self.nodes, self.since)
        node = np.where(named >= 0, self.nodes[named, 2] if len(self.nodes) else OLD, OLD)
        self.gone = self._tally(self.since[:, 0], node, self.since[:, 2])
        self.parallel = np.where(kept, 0, np.minimum(self.left, here - self.left))
        alive = self.edges[self.edges[:, 2] == END]
        stay = alive[self._find(alive, self.gone), 3] - self.gone[:, 2]
        np.add.at(self.parallel, self.gone[:, 0], np.minimum(self.gone[:, 2], stay))

    def wanting(self, arrived: Ints, sizes: Ints) -> Iterator[tuple[int, int]]:
        """The changed buckets whose cut is too small, and how many sets of their size the cut asks for."""
        self._grow(len(arrived))
        stay = self.here - self.left
        least, most = arrived + self.parallel, arrived + np.minimum(self.left, stay)
        back = list(self.returned)
        least[back] = most[back] = arrived[back]
        changed = ((arrived > 0) | (self.left > 0)) & (stay + arrived > 0)
        changed[list(self._touched)] = True  # all who are in it may have come back, and are neither of these
        for bucket in np.flatnonzero(changed & (least < self.limit)).tolist():
            if bucket in self._fine:
                continue
            cut = int(least[bucket])
            if cut < most[bucket]:
                cut = self._after(bucket, int(arrived[bucket])).cut(self.release, self.limit)
            if cut < self.limit:
                yield bucket, -(-(self.limit - cut) // int(sizes[bucket]))
            else:
                self._fine.add(bucket)

    def least(self, bucket: int, arrived: int, size: int, enough: int) -> int:
        """No more than enough sets, and where it is allowed no more than it takes to leave no attack.

        Every release of a bucket has a multiple of `size` records, and so has what a cut counts for less what it counts
        against. Below `size` that is nothing at all: the cut is an attack, and there is nothing to ask.
        """
        if not self.exact or bucket in self.returned or self.limit <= size:
            return enough
        after = self._after(bucket, arrived)
        # As many arrived as left: both have the same values, which is an attack if they are few.
        first = 1 if arrived == self.left[bucket] and 2 * arrived < self.limit else 0
        fewer = ((sets, after.raised(self.release, sets * size)) for sets in range(first, enough))
        return next((sets for sets, raised in fewer if raised.attack(self.release, self.limit) is None), enough)

    def close(self, arrived: Ints) -> None:
        """Make the step: this many records arrived to each bucket."""
        self._grow(len(arrived))
        changed = (arrived > 0) | (self.left > 0)
        kept = self._kept(len(arrived))
        # As many leave at once as it takes for the past and this release to be one node.
        enough = (self.limit + 1) // 2 if self.exact else self.limit
        begun = changed & ~kept & (self.left < enough) & (self.here > 0)
        begun[list(self.returned)] = False
        self._begin(np.flatnonzero(begun))
        moved = np.flatnonzero(changed & (kept | begun))
        self._step(moved, arrived)
        self._join(self.gone[self.gone[:, 2] >= enough])
        turn = moved[(self.release + moved) % _TURN == 0].tolist()
        histories = {bucket: self._history(bucket) for bucket in turn}
        self._replace(turn, {b: h.contract(self.limit, balanced=self.exact) for b, h in histories.items()})

    def _begin(self, buckets: Ints) -> None:
        """Keep histories of these buckets from now on: all there was before is one node."""
        past = np.full(len(buckets), OLD)
        whole = np.stack([buckets, past, np.full(len(buckets), END), self.here[buckets]], axis=1)
        self.edges = _sorted(np.vstack([self.edges, whole]))
        lost = np.stack([buckets, past, self.left[buckets]], axis=1)
        self.gone = np.vstack([self.gone, lost[lost[:, 2] > 0]])

    def _step(self, buckets: Ints, arrived: Ints) -> None:
        """What left goes from the end to the new node, what arrived from there to the end."""
        gone, now = self.gone, np.full(len(buckets), self.release)
        alive = np.flatnonzero(self.edges[:, 2] == END)
        number = self.edges[:, 3].copy()
        number[alive[self._find(self.edges[alive], gone)]] -= gone[:, 2]
        old = np.column_stack([self.edges[:, :3], number])
        left = np.column_stack([gone[:, :2], np.full(len(gone), self.release), gone[:, 2]])
        new = np.stack([buckets, now, np.full(len(buckets), END), arrived[buckets]], axis=1)
        edges = np.vstack([old, left, new])
        self.edges = _sorted(edges[edges[:, 3] > 0])
        self.nodes = _sorted(np.vstack([self.nodes, np.stack([buckets, now, now], axis=1)]))

    def _join(self, heavy: Ints) -> None:
        """Make one node of the new one and of those that very many left (bucket, node; sorted); nothing parts them."""
        _, first, number = np.unique(heavy[:, 0], return_index=True, return_counts=True)
        names = heavy[first, 1]
        now = np.stack([heavy[first, 0], np.full(len(first), self.release), names], axis=1)
        joined = _sorted(np.vstack([np.column_stack([heavy[:, :2], np.repeat(names, number)]), now]))
        bucket, arrived, gone, count = self.edges.T
        arrived, gone = (self._renamed(joined, bucket, node) for node in (arrived, gone))
        span, apart = self.release + 2, arrived != gone
        keys = self._keys(np.stack([bucket, arrived], axis=1)) * span + gone + 1
        keys, place = np.unique(keys[apart], return_inverse=True)
        total = np.bincount(place, count[apart], len(keys)).astype(np.int64)
        edges = np.stack([keys // span**2, keys // span % span - 1, keys % span - 1, total], axis=1)
        rows = np.bincount(edges[:, 0])
        self.edges = edges[(rows[edges[:, 0]] > 1) | (edges[:, 2] != END)]
        node = self._renamed(joined, self.nodes[:, 0], self.nodes[:, 2])
        named = (node != OLD) & np.isin(self.nodes[:, 0], self.edges[:, 0])
        self.nodes = np.column_stack([self.nodes[:, :2], node])[named]

    def _renamed(self, joined: Ints, bucket: Ints, node: Ints) -> Ints:
        place = self._find(joined, np.stack([bucket, node], axis=1))
        return np.where(place >= 0, joined[place, 2] if len(joined) else 0, node)

    def _replace(self, buckets: Iterable[int], histories: Mapping[int, History]) -> None:
        """Put these histories in the place of what was known of the buckets; plain ones need none."""
        said = {bucket: history for bucket, history in histories.items() if not history.plain}
        edges = [(bucket, *ends, n) for bucket, history in said.items() for ends, n in history.edges.items()]
        nodes = [(bucket, *names) for bucket, history in said.items() for names in history.nodes.items()]
        others = np.array(sorted(buckets), np.int64)
        for name, rows in (("edges", edges), ("nodes", nodes)):
            table = getattr(self, name)
            new = np.array(rows, np.int64).reshape(-1, table.shape[1])
            setattr(self, name, _sorted(np.vstack([table[~np.isin(table[:, 0], others)], new])))

    def _kept(self, total: int) -> Bools:
        """Which buckets have a history."""
        kept = np.zeros(total, np.bool_)
        kept[self.edges[:, 0]] = True
        return kept

    def _grow(self, total: int) -> None:
        for name in ("here", "left", "parallel"):
            counts = getattr(self, name)
            setattr(self, name, np.pad(counts, (0, total - len(counts))))

    def _after(self, bucket: int, arrived: int) -> History:
        """The history of a bucket after this release."""
        if (bucket, arrived) not in self._steps:
            since = {when: number for _, when, number in _part(self.since, bucket)}
            before = self._history(bucket)
            if before.plain:
                here, left = int(self.here[bucket]), int(self.left[bucket])
                before, since = (History({(OLD, END): here}), {OLD: left}) if here else (History(), {})
            self._steps[bucket, arrived] = before.step(self.release, since, arrived)
        return self._steps[bucket, arrived]

    def _history(self, bucket: int) -> History:
        edges = {(a, b): number for _, a, b, number in _part(self.edges, bucket)}
        return History(edges, {when: node for _, when, node in _part(self.nodes, bucket)})

    def _keys(self, table: Ints) -> Ints:
        """One number for bucket and node (or release), in the same order."""
        return np.asarray(table[:, 0] * (self.release + 2) + table[:, 1] + 1)

    def _tally(self, bucket: Codes | Ints, node: Codes | Ints, number: Any) -> Ints:
        """Sums by bucket and node, sorted."""
        keys, place = np.unique(self._keys(np.stack([bucket, node], axis=1).astype(np.int64)), return_inverse=True)
        total = np.bincount(place, number, len(keys)).astype(np.int64)
        return np.stack([keys // (self.release + 2), keys % (self.release + 2) - 1, total], axis=1)

    def _find(self, table: Ints, wanted: Ints) -> Ints:
        """The row of a sorted table with the same bucket and node as each of these, or -1."""
        keys, sought = self._keys(table), self._keys(wanted)
        place = np.searchsorted(keys, sought)
        place[place == len(keys)] = -1
        if len(keys):
            place[keys[place] != sought] = -1
        return place


def _sorted(table: Ints) -> Ints:
    """The rows by bucket, then node."""
    return np.asarray(table[np.lexsort(table.T[2::-1])])


def _part(table: Ints, bucket: int) -> list[list[int]]:
    """The rows of one bucket."""
    first, after = np.searchsorted(table[:, 0], [bucket, bucket + 1])
    rows: list[list[int]] = table[first:after].tolist()
    return rows
