"""The history graphs of all buckets of a series: one step each release, and how many sets of records to add.

Most buckets are large, and their whole past is one node (`OLD`): so many records leave each time that no cut or attack
below the limit tells their releases apart. What such a bucket needs follows from three counts, for all at once: with
`here` records before, `left` of them gone and `came` new ones, the cut between the new release and the end is
came + min(left, here - left). Only the other buckets, small ones, have a history kept node by node.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.algorithms._mincut import OLD, History

__all__ = ["Graphs"]

_TURN = 16
"""A bucket's light edges are looked through for nodes to join in one release out of so many."""


@dataclass
class Graphs:
    """Histories by signature, in the middle of a release."""

    release: int
    limit: int
    """Cuts and attacks must reach it: 2(e - 1) + 1."""
    exact: bool
    histories: dict[int, History] = field(default_factory=dict)
    """Of the buckets whose past is more than one node."""
    returned: set[int] = field(default_factory=set)
    """Signatures of buckets somebody came back to: they have no history, and take in `limit` records at each change."""
    here: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Records that each bucket had in the release before."""
    left: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """How many of those are gone."""
    since: dict[int, dict[int, int]] = field(default_factory=dict)
    """Signature to release of arrival to how many of those left, for buckets with a history."""
    _touched: set[int] = field(default_factory=set)
    _steps: dict[tuple[int, int], History] = field(default_factory=dict)
    """Histories after this release, by bucket and number of records that came."""
    _fine: set[int] = field(default_factory=set)
    """Buckets whose cut was found large enough; more records that come only raise it."""

    @classmethod
    def of(cls, memory: Mapping[str, Any], release: int, limit: int, *, exact: bool) -> "Graphs":
        """From a method's memory."""
        graphs = cls(release, limit, exact)
        if not memory:
            return graphs
        edges: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
        nodes: dict[int, dict[int, int]] = defaultdict(dict)
        for bucket, came, gone, number in _rows(memory["edges"]):
            edges[bucket][came, gone] = number
        for bucket, when, node in _rows(memory["nodes"]):
            nodes[bucket][when] = node
        graphs.histories = {bucket: History(edges[bucket], nodes.get(bucket, {})) for bucket in edges}
        graphs.returned = set(memory["returned"].tolist())
        return graphs

    def as_memory(self) -> dict[str, Any]:
        """For a method's memory; `of` reads it."""
        edges = [(b, *ends, number) for b, history in self.histories.items() for ends, number in history.edges.items()]
        nodes = [(b, when, node) for b, history in self.histories.items() for when, node in history.nodes.items()]
        return {
            "edges": np.array(edges, np.int64).reshape(-1, 4),
            "nodes": np.array(nodes, np.int64).reshape(-1, 3),
            "returned": np.array(sorted(self.returned), np.int64),
        }

    def leave(self, here: Ints, signature: Codes, since: Codes, back: Codes) -> None:
        """Note how many there were, the signature and arrival of each who left, and the signatures of returners."""
        self.here, self.left = here, np.bincount(signature, minlength=len(here))
        self._touched = set(np.unique(back).tolist())
        self.returned |= self._touched
        for bucket in self._touched:
            self.histories.pop(bucket, None)
        kept = np.isin(signature, np.array(list(self.histories), np.int64))
        pairs = signature[kept].astype(np.int64) * (self.release + 1) + since[kept]
        for pair, count in zip(*(part.tolist() for part in np.unique(pairs, return_counts=True)), strict=True):
            self.since.setdefault(pair // (self.release + 1), {})[pair % (self.release + 1)] = count

    def wanting(self, came: Ints, sizes: Ints) -> Iterator[tuple[int, int]]:
        """The changed buckets whose cut is too small, and how many sets of their size the cut asks for."""
        self._grow(len(came))
        cut = came + np.minimum(self.left, self.here - self.left)
        cut[list(self._kept())] = 0
        live = self.here - self.left + came > 0
        changed = (came > 0) | (self.left > 0)
        changed[list(self._touched)] = True
        for bucket in np.flatnonzero(changed & live & (cut < self.limit) & (came < self.limit)).tolist():
            sets = 0 if bucket in self._fine else self.sets(bucket, int(came[bucket]), int(sizes[bucket]))
            if sets:
                yield bucket, sets
            else:
                self._fine.add(bucket)

    def sets(self, bucket: int, came: int, size: int) -> int:
        """How many sets of `size` records the cut asks for."""
        if bucket in self.returned:
            return -(-max(self.limit - came, 0) // size)
        cut = self._after(bucket, came).cut(self.release, self.limit)
        return -(-(self.limit - cut) // size)

    def least(self, bucket: int, came: int, size: int, enough: int) -> int:
        """No more than enough sets, and where it is allowed no more than it takes to leave no attack."""
        if not self.exact or bucket in self.returned:
            return enough
        after = self._after(bucket, came)
        fewer = (after.raised(self.release, sets * size) for sets in range(enough))
        return next((n for n, raised in enumerate(fewer) if raised.attack(self.release, self.limit) is None), enough)

    def close(self, came: Ints) -> None:
        """Make the step: so many records came to each bucket."""
        self._grow(len(came))
        changed = (came > 0) | (self.left > 0)
        # As many leave at once as it takes for the past and this release to be one node.
        enough = (self.limit + 1) // 2 if self.exact else self.limit
        plain = changed & (self.left < enough) & (self.here > 0)
        plain[list(self.returned)] = False
        for bucket in {*np.flatnonzero(plain).tolist(), *(b for b in self.histories if changed[b])}:
            thorough = (self.release + bucket) % _TURN == 0
            after = self._after(bucket, int(came[bucket]))
            after = after.contract(self.limit, thorough=thorough, balanced=self.exact)
            if after.plain:
                self.histories.pop(bucket, None)
            else:
                self.histories[bucket] = after

    def _kept(self) -> set[int]:
        return {*self.histories, *self.returned}

    def _grow(self, total: int) -> None:
        self.here, self.left = (np.pad(counts, (0, total - len(counts))) for counts in (self.here, self.left))

    def _after(self, bucket: int, came: int) -> History:
        """The history of a bucket after this release."""
        if (bucket, came) not in self._steps:
            self._steps[bucket, came] = self._step(bucket, came)
        return self._steps[bucket, came]

    def _step(self, bucket: int, came: int) -> History:
        before = self.histories.get(bucket)
        if before is not None:
            return before.step(self.release, self.since.get(bucket, {}), came)
        here, left = int(self.here[bucket]), int(self.left[bucket])
        if not here:
            return History().step(self.release, {}, came)
        return History({(OLD, 0): here}).step(self.release, {OLD: left}, came)


def _rows(table: Ints) -> Iterator[tuple[int, ...]]:
    """The rows of a table of integers, without a list for each: thousands of those set off the garbage collector."""
    return zip(*(column.tolist() for column in table.T), strict=True)
