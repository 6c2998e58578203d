"""1/m association and e-equivalence together: series that withstand equivalence attacks.

He, Barman and Naughton, "Preventing equivalence attacks in updated, anonymized data", ICDE 2011, algorithms 2 and 3.

m-invariant groups give away who has the same value as whom: what two groups of one signature do not share cancels out.
So whole buckets are published, all records of one signature together: quasi-identifiers row by row, sensitive values
apart (permuted inside the bucket, or in a second table). And a bucket changes only in ways that leave no e'-equivalence
attack with e' < e, judged on its history graph (see `history_graph`): after balancing, the minimum cut between the new
release and the end must exceed 2(e - 1). Where it falls short by d, ceil(d / size) full sets of the bucket's values are
added, new records while there are any, else counterfeits. Counterfeits are all taken out first, and stay only where
balance needs them again.

With `exact` (the default), the attack itself is computed before a counterfeit is spent: often the cut is small and
there is no attack. That is sound while e <= m: an attack over several buckets that balances only in all of them
together takes m people or more. Beyond that the cut alone decides.

**People who come back** stand in a bucket, leave it and stand in it again: no single edge of the graph, and attacks
could make use of that. From the first return on, a bucket that changes takes in 2(e - 1) + 1 records that are no
returners: every attack that tells the new release from the end costs as much as there are of these.

**Generalized** (the default), at least k records look the same, grouped by quasi-identifiers alone, across buckets. All
that is said above holds for readers who know everybody's exact values and bucket; generalized rows are made from these
without a look at sensitive values, so they tell no more, and no longer show who is in the table.

O(records) and a small flow per changed bucket; the exact program is asked only where the cut falls short.

**The history graphs of all buckets** take one step each release. Most buckets are large, and their whole past is one
node (`OLD`): so many records leave each time that no cut or attack below the limit tells their releases apart. The
others, small ones, have a history kept node by node. All of them lie in one table, so that a release costs a few passes
over it however long the series is: with `left` records of a bucket gone and `arrived` new ones, the cut between the new
release and the end is between

    arrived + sum over nodes of min(gone now, still there)    (paths over one node each share no edge)
    arrived + min(left, all that are still there)             (what leaves either end)

and mostly both are the same. Only where they are not, or where nodes become one, is a bucket's own `History` made.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.errors import InputError, NotMetError
from reissue.methods.invariance.plan import (
    INELIGIBLE,
    KEEPS_VALUES,
    Draws,
    Situation,
    alike,
    codes_of,
    m_of,
    near,
    same_parameters,
)
from reissue.methods.invariance.register import RegisterState
from reissue.methods.registry import Job, Option, Suggestion, Trait, algorithm
from reissue.papers.equivalence.history_graph import END, OLD, History
from reissue.release.form import Form
from reissue.release.release import Counterfeits, Draft

__all__ = ["Graphs", "KeptGraphs", "equivalence"]

_EVERY = 16
"""A bucket's history is contracted in one release out of this many."""


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
        due = moved[(self.release + moved) % _EVERY == 0].tolist()
        histories = {bucket: self._history(bucket) for bucket in due}
        self._replace(due, {b: h.contract(self.limit, balanced=self.exact) for b, h in histories.items()})

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


_FORMS = ("generalized", "permuted", "two tables")


@dataclass(frozen=True, eq=False)
class _Fakes:
    """Counterfeits, which live from release to release like people."""

    signature: Codes
    value: Codes
    since: Codes
    name: Ints
    """A number that each keeps for life."""
    codes: Codes
    """Quasi-identifiers x counterfeits."""

    @classmethod
    def none(cls, attributes: int) -> "_Fakes":
        none = np.empty(0, np.int32)
        return cls(none, none, none, np.empty(0, np.int64), np.empty((attributes, 0), np.int32))

    def pick(self, chosen: Bools) -> "_Fakes":
        return _Fakes(
            self.signature[chosen], self.value[chosen], self.since[chosen], self.name[chosen], self.codes[:, chosen]
        )

    def join(self, others: "_Fakes") -> "_Fakes":
        return _Fakes(
            np.concatenate([self.signature, others.signature]),
            np.concatenate([self.value, others.value]),
            np.concatenate([self.since, others.since]),
            np.concatenate([self.name, others.name]),
            np.hstack([self.codes, others.codes]),
        )


@dataclass(frozen=True, eq=False)
class BucketState(RegisterState):
    """What is left for the next release."""

    e: int
    fakes: _Fakes
    graphs: KeptGraphs

    @property
    def codes(self) -> Codes:
        """Quasi-identifiers x counterfeits."""
        return self.fakes.codes

    def with_codes(self, codes: Codes) -> Self:
        """The same with other codes of the counterfeits."""
        return replace(self, fakes=replace(self.fakes, codes=codes))


@algorithm(
    "equivalence",
    "Like m-invariance, and nobody learns that fewer than e people share values with as many others.",
    traits=Trait.RANDOM | Trait.CONSTANT_VALUES | Trait.GROUPS_BY_VALUE,
    options={
        "e": Option(default=5, help="No two sets of fewer than e people may be shown to have the same values."),
        "form": Option(
            default="generalized",
            help="Generalized quasi-identifiers; or exact ones, which show who is in the release, in one table or two. "
            "Values are permuted in their bucket.",
            choices=_FORMS,
        ),
        "k": Option(default=5, help="Generalized: how many records at least share their quasi-identifiers."),
        "exact": Option(
            default=True, help="Ask whether an attack is real before spending counterfeits.", choices=(True, False)
        ),
        "ineligible": INELIGIBLE,
    },
    state=BucketState,
    m_requirement="simple-l",
    remedies={
        **dict.fromkeys(("joint", "updates"), KEEPS_VALUES),
        "equivalence": "no fewer than e people are then shown to have the same values",
    },
    suggestion=Suggestion(
        suits=lambda answers: answers["removed"] or answers["known"],
        rank=3,
        why="people share groups with the same values while they are there, and it is not seen who has whose value",
        require="simple-l=3",
        options='{ e = 3, form = "generalized" }',
        attacks=("updates", "equivalence"),
        counterfeits=0.3,
    ),
    whole_table="it follows people through a series and permutes values within buckets of the whole table",
)
def equivalence(job: Job) -> Draft:
    """Group the rows of the next table of a series; see the module's docstring."""
    m, e = m_of(job, "equivalence", ["simple-l"]), job.options["e"]
    if not isinstance(e, int) or isinstance(e, bool) or e < 1:
        raise InputError("The option 'e' must be a whole number, 1 or more.")
    if job.options["form"] == "generalized":
        _check_k(job)
    same_parameters(job, m=m, e=e)
    work = _Work(job, Situation.of(job), m, e)
    work.balance()
    work.raise_cuts()
    work.plan.assign()
    work.spend()
    return work.draft()


def _check_k(job: Job) -> None:
    k = job.options["k"]
    if not isinstance(k, int) or isinstance(k, bool) or k < 2:
        raise InputError("The option 'k' must be a whole number, 2 or more.")
    if k > job.table.rows:
        raise NotMetError(
            f"The table has {job.table.rows:,} rows: fewer than the {k:,} that must look the same (option 'k'). "
            "Publish when there are more, or choose a smaller k."
        )


@dataclass
class _Work:
    """One release in the making."""

    job: Job
    situation: Situation
    m: int
    e: int
    plan: Draws = field(init=False)
    old: "_Fakes" = field(init=False)
    graphs: Graphs = field(init=False)
    fresh: Ints = field(init=False)
    """New counterfeits by signature and value."""
    kept: Bools = field(init=False)
    """Which of the old counterfeits stay."""

    def __post_init__(self) -> None:
        self.plan = Draws(self.situation, self.m)
        past: BucketState | None = self.job.state
        self.old = _Fakes.none(len(self.job.table.codes)) if past is None else past.fakes
        exact = self.job.options["exact"] is True and self.e <= self.m
        release = self.situation.register.release + 1
        self.graphs = Graphs.of(None if past is None else past.graphs, release, 2 * (self.e - 1) + 1, exact=exact)

    def balance(self) -> None:
        """All values of a bucket equally often: by new records, else old counterfeits, else others."""
        policy = self.job.options["ineligible"] == "counterfeits"
        lacking = self.plan.balance(counterfeits=policy)
        cell = self.old.signature.astype(np.int64) * self.situation.width + self.old.value
        self.kept = _rank(cell) < lacking.reshape(-1)[cell]
        self.fresh = lacking - self.situation.count(self.old.signature[self.kept], self.old.value[self.kept])
        recall, register = self.situation.recall, self.situation.register
        here = np.bincount(
            np.concatenate([register.live.signature, self.old.signature]),
            minlength=len(self.situation.signatures.member),
        )
        gone = np.concatenate([recall.left.signature, self.old.signature[~self.kept]])
        since = np.concatenate([recall.left.since, self.old.since[~self.kept]])
        self.graphs.leave(here, gone, since, recall.signature[recall.returned])

    def raise_cuts(self) -> None:
        """Draw further sets of new records for buckets whose cut is too small; ask before counterfeits are needed."""
        signatures, arrivals = self.situation.signatures, self._arrivals()
        wanted = np.zeros_like(self.fresh)
        asked = dict(self.graphs.wanting(arrivals, signatures.sizes))
        for bucket, sets in asked.items():
            wanted[bucket] = sets * signatures.member[bucket]
        if not asked:
            return
        for bucket in np.flatnonzero(self.plan.lacking(wanted).any(axis=1)).tolist():
            sets = self.graphs.least(bucket, int(arrivals[bucket]), int(signatures.sizes[bucket]), asked[bucket])
            wanted[bucket] = sets * signatures.member[bucket]
        self.fresh += self.plan.draw(wanted)

    def spend(self) -> None:
        """Add sets of counterfeits where a cut, or an attack, is still too small; then write the histories."""
        signatures = self.plan.signatures
        self.fresh = np.pad(self.fresh, ((0, len(signatures.member) - len(self.fresh)), (0, 0)))
        arrivals = self._arrivals()
        for bucket, sets in list(self.graphs.wanting(arrivals, signatures.sizes)):
            needed = self.graphs.least(bucket, int(arrivals[bucket]), int(signatures.sizes[bucket]), sets)
            self.fresh[bucket] += needed * signatures.member[bucket]
        self.graphs.close(self._arrivals())

    def _arrivals(self) -> Ints:
        """How many records arrived to each bucket so far that were not in it before."""
        return np.asarray((self.plan.drawn() + self.fresh).sum(axis=1))

    def draft(self) -> Draft:
        """The buckets as groups, with old and new counterfeits."""
        situation, places = self.situation, self.plan.places()
        added = places.rows >= 0
        signature = situation.recall.signature.copy()
        signature[places.rows[added]] = places.signature[added]
        cell = np.repeat(np.arange(self.fresh.size), self.fresh.reshape(-1))
        new_signature = np.concatenate([places.signature[~added], cell // situation.width]).astype(np.int32)
        new_value = np.concatenate([places.value[~added], cell % situation.width]).astype(np.int32)
        models = near(self.job.rng, new_signature, signature) if len(new_signature) else np.empty(0, np.int64)
        release = situation.register.release + 1
        since = np.full(len(new_value), release, np.int32)
        name = (np.int64(release) << 32) + np.arange(len(new_value))
        added_fakes = _Fakes(new_signature, new_value, since, name, self.job.table.codes[:, models])
        fakes = self.old.pick(self.kept).join(added_fakes)
        used, groups = np.unique(np.concatenate([signature, fakes.signature]), return_inverse=True)
        numbers: Codes = groups.astype(np.int32)
        meaning = codes_of(self.job, fakes.value)
        added_records = Counterfeits(numbers[len(signature) :], fakes.codes, meaning, fakes.name)
        form = self.job.options["form"]
        return Draft(
            numbers[: len(signature)],
            form=Form.TWO_TABLES if form == "two tables" else Form.PERMUTED,
            looks=alike(self.job, fakes.codes, self.job.options["k"]) if form == "generalized" else None,
            counterfeits=added_records if len(fakes.value) else None,
            e=self.e,
            state=BucketState(
                situation.publish(signature), self.plan.signatures.member, self.m, self.e, fakes, self.graphs.kept()
            ),
            notes={"signatures": len(used), "new": len(situation.new), "left": len(situation.recall.left.people)},
        )


def _rank(cells: Ints) -> Ints:
    """The place of each record among those of the same cell, in order."""
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    rank = np.empty(len(cells), np.int64)
    rank[order] = np.arange(len(cells)) - np.searchsorted(ordered, ordered)
    return rank
