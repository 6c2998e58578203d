"""The paper's own assignment for m-Distinct (Li and Zhou 2008, algorithms 2 and 3, equation 3): how many counterfeits.

A baseline for our method. Values that can become each other form branches, and branches are apart, so no two buckets of
different update set signatures are intersectable (algorithm 2, line 8), and every group that a bucket is split into has
the bucket's signature. What becomes of a bucket inside (phase 3) then changes no count, and is left out.

Records are assigned one by one, those with fewest buckets first: O(records x buckets).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.publishing.anonymize import anonymize
from reissue.schema import Schema

__all__ = ["Buckets", "Greedy", "greedy_series"]

Signature = tuple[int, ...]
"""A group's branches, sorted: its update set signature."""


@dataclass(frozen=True)
class Greedy:
    """One release by the paper's assignment."""

    counterfeits: int
    groups: int


class Buckets:
    """Buckets while records are assigned to them."""

    def __init__(self, signatures: Sequence[Signature], values: int, columns: int) -> None:
        """Empty ones."""
        longest = max(map(len, signatures), default=1)
        self.branch = np.full((len(signatures), longest), -1)
        for row, signature in enumerate(signatures):
            self.branch[row, : len(signature)] = signature
        self.filled = np.zeros(self.branch.shape, np.int64)
        self.frequency = np.zeros((len(signatures), values), np.int64)
        self.lo = np.full((len(signatures), columns), np.inf)
        self.hi = np.full((len(signatures), columns), -np.inf)

    def holding(self, branch: int) -> Ints:
        """The buckets with an entry for a branch."""
        return np.flatnonzero((self.branch == branch).any(axis=1))

    def depth(self, some: Ints) -> Ints:
        """Delta: the most records in an entry, or of one value."""
        deepest: Ints = np.maximum(self.filled[some].max(axis=1), self.frequency[some].max(axis=1))
        return deepest

    def assign(self, some: Ints, branch: int, value: int, point: Floats) -> int:
        """Put a record into the best of some buckets by equation 3, in the entry that has fewest records."""
        filled = np.where(self.branch[some] == branch, self.filled[some], np.iinfo(np.int64).max)
        entry, least = filled.argmin(axis=1), filled.min(axis=1)
        depth = self.depth(some)
        more = (self.frequency[some, value] == depth) | (least == depth)
        lo, hi = np.minimum(self.lo[some], point), np.maximum(self.hi[some], point)
        empty = np.isinf(self.lo[some]).any(axis=1)
        before = np.where(empty, 1.0, np.prod(self.hi[some] - self.lo[some] + 1, axis=1, where=~empty[:, None]))
        wider = np.where(empty, 1.0, np.prod(hi - lo + 1, axis=1) / before)
        best = int(np.where(more, -wider, 1 / wider).argmax())
        bucket = int(some[best])
        self.filled[bucket, entry[best]] += 1
        self.frequency[bucket, value] += 1
        self.lo[bucket], self.hi[bucket] = lo[best], hi[best]
        return bucket

    def counts(self) -> Greedy:
        """Counterfeits that balance every entry, and the groups that come of it."""
        if not len(self.branch):
            return Greedy(0, 0)
        depth = self.depth(np.arange(len(self.branch)))
        lacking = (depth[:, None] - self.filled)[self.branch >= 0]
        return Greedy(int(lacking.sum()), int(depth.sum()))


def greedy_series(
    tables: Iterable[pl.DataFrame], schema: Schema, quasi: Sequence[str], m: int, d: int, seed: int
) -> Iterator[Greedy]:
    """Return the counts of each release of a series; branches are d neighbouring values of `job`."""
    held: dict[int, Signature] = {}
    for table in tables:
        made, held = _next(table, held, schema, quasi, m, d, seed)
        yield made


def _next(
    table: pl.DataFrame,
    held: dict[int, Signature],
    schema: Schema,
    quasi: Sequence[str],
    m: int,
    d: int,
    seed: int,
) -> tuple[Greedy, dict[int, Signature]]:
    people, values = table["id"].to_list(), table["job"].to_numpy()
    branch = (values - 1) // d
    points = table.select(pl.col(*quasi).rank("dense").cast(pl.Float64)).to_numpy()
    signatures = sorted({held[one] for one in people if one in held})
    number = {signature: place for place, signature in enumerate(signatures)}
    buckets = Buckets(signatures, int(values.max()) + 1, len(quasi))
    where = {one: buckets.holding(one) for one in np.unique(branch).tolist()}
    after: dict[int, Signature] = {}
    choices = [1 if one in held else len(where[b]) for one, b in zip(people, branch.tolist(), strict=True)]
    for row in sorted(range(len(people)), key=lambda row: (people[row] not in held, choices[row])):
        if choices[row]:
            one, kind = people[row], int(branch[row])
            some = np.array([number[held[one]]]) if one in held else where[kind]
            after[one] = signatures[buckets.assign(some, kind, int(values[row]), points[row])]
    made = buckets.counts()
    left = table.filter(~pl.col("id").is_in(list(after)))
    if left.height:
        release = anonymize(
            left,
            schema,
            f"m-unique={m}",
            method="invariance",
            seed=seed + 1,
            form="two tables",
            ineligible="counterfeits",
        )
        draft, value_of = release.draft, dict(zip(release.table.sensitive.tolist(), left["job"].to_list(), strict=True))
        groups: dict[int, Counter[int]] = {}
        fakes = draft.counterfeits
        rows = list(zip(draft.groups.tolist(), release.table.sensitive.tolist(), strict=True))
        rows += [] if fakes is None else list(zip(fakes.groups.tolist(), fakes.sensitive.tolist(), strict=True))
        for group, code in rows:
            groups.setdefault(group, Counter())[(value_of[code] - 1) // d] += 1
        named = {group: tuple(sorted(found.elements())) for group, found in groups.items()}
        after |= {one: named[group] for one, group in zip(left["id"].to_list(), draft.groups.tolist(), strict=True)}
        made = Greedy(made.counterfeits + release.counterfeits, made.groups + release.groups)
    return made, after
