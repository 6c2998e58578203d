"""The history graphs of all buckets of a series: one step each release, and how many sets of records to add."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.algorithms._mincut import History

__all__ = ["Graphs"]

_SMALL = 12
"""Histories with so many nodes are contracted by heavy edges only: looking further would cost more than it saves."""


@dataclass
class Graphs:
    """Histories by signature, in the middle of a release."""

    release: int
    limit: int
    """Cuts and attacks must reach it: 2(e - 1) + 1."""
    exact: bool
    histories: dict[int, History] = field(default_factory=dict)
    returned: set[int] = field(default_factory=set)
    """Signatures of buckets somebody came back to: they have no history, and take in `limit` records at each change."""
    left: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """Signature to release of arrival to how many of those left now."""

    @classmethod
    def of(cls, memory: Mapping[str, Any], release: int, limit: int, *, exact: bool) -> "Graphs":
        """From a method's memory."""
        graphs = cls(release, limit, exact)
        if not memory:
            return graphs
        edges: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
        nodes: dict[int, dict[int, int]] = defaultdict(dict)
        for bucket, came, gone, number in memory["edges"].tolist():
            edges[bucket][came, gone] = number
        for bucket, when, node in memory["nodes"].tolist():
            nodes[bucket][when] = node
        graphs.histories = {bucket: History(edges[bucket], nodes[bucket]) for bucket in nodes}
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

    def leave(self, signature: Codes, since: Codes) -> None:
        """Note who left: the signature of each, and when it came."""
        pairs, number = np.unique(np.stack([signature, since]), axis=1, return_counts=True)
        for bucket, when, count in zip(*pairs.tolist(), number.tolist(), strict=True):
            self.left[bucket][when] = count

    def mark_returns(self, signature: Codes) -> None:
        """Note the buckets to which somebody came back."""
        back = set(np.unique(signature).tolist())
        self.returned |= back
        for bucket in back:
            self.histories.pop(bucket, None)
            self.left[bucket].setdefault(0, 0)

    def changed(self, came: Ints) -> Iterator[int]:
        """The buckets that somebody left or came to."""
        yield from sorted({*self.left, *np.flatnonzero(came).tolist()})

    def sets(self, bucket: int, came: int, size: int) -> int:
        """How many sets of `size` records the cut asks for."""
        if bucket in self.returned:
            return -(-max(self.limit - came, 0) // size)
        after = self._after(bucket, came)
        return -(-(self.limit - after.cut(self.release, self.limit)) // size) if after.alive else 0

    def least(self, bucket: int, came: int, size: int) -> int:
        """The same, but where it is allowed no more sets than it takes to leave no attack."""
        enough = self.sets(bucket, came, size)
        if not self.exact or bucket in self.returned:
            return enough
        after = self._after(bucket, came)
        fewer = (after.raised(self.release, sets * size) for sets in range(enough))
        return next((n for n, raised in enumerate(fewer) if raised.attack(self.release, self.limit) is None), enough)

    def close(self, bucket: int, came: int) -> None:
        """Make the step: so many records came."""
        if bucket not in self.returned:
            self.histories[bucket] = self._after(bucket, came).contract(self.limit, beyond=_SMALL)

    def _after(self, bucket: int, came: int) -> History:
        return self.histories.get(bucket, History()).step(self.release, self.left.get(bucket, {}), came)
