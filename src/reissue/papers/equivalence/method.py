"""1/m association and e-equivalence together: series that withstand equivalence attacks.

He, Barman and Naughton, "Preventing equivalence attacks in updated, anonymized data", ICDE 2011, algorithms 2 and 3.

m-invariant groups give away who has the same value as whom: what two groups of one signature do not share cancels out.
So whole buckets are published, all records of one signature together: quasi-identifiers row by row, sensitive values
apart (permuted inside the bucket, or in a second table). And a bucket changes only in ways that leave no e'-equivalence
attack with e' < e, judged on its history graph (see `history_graph`): after balancing, the minimum cut between
the new release and the end must exceed 2(e - 1). Where it falls short by d, ceil(d / size) full sets of the bucket's
values are added, new records while there are any, else counterfeits. Counterfeits are all taken out first, and stay
only where balance needs them again.

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
"""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.errors import InputError, NotMetError
from reissue.methods.invariance.plan import (
    INELIGIBLE,
    KEEPS_VALUES,
    Draws,
    Situation,
    codes_of,
    m_of,
    near,
    same_parameters,
)
from reissue.methods.invariance.register import RegisterState
from reissue.methods.registry import Job, Option, Suggestion, Trait, algorithm, find
from reissue.papers.equivalence.graphs import Graphs, KeptGraphs
from reissue.release.release import Counterfeits, Draft
from reissue.requirements import KAnonymity

__all__ = ["equivalence"]

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
        return Draft(
            numbers[: len(signature)],
            bucketized=self.job.options["form"] == "two tables",
            permuted=self.job.options["form"] != "two tables",
            looks=self._looks(fakes) if self.job.options["form"] == "generalized" else None,
            counterfeits=added_records if len(fakes.value) else None,
            e=self.e,
            state=BucketState(
                situation.publish(signature), self.plan.signatures.member, self.m, self.e, fakes, self.graphs.kept()
            ),
            notes={"signatures": len(used), "new": len(situation.new), "left": len(situation.recall.left.people)},
        )

    def _looks(self, fakes: "_Fakes") -> Codes:
        """Rows and counterfeits that are generalized alike, by quasi-identifiers alone; everyone is somewhere."""
        table, pool = self.job.table, find("pool")
        models = np.concatenate([np.arange(table.rows), np.zeros(len(fakes.value), np.int64)])
        everyone = replace(table.some(models), codes=np.hstack([table.codes, fakes.codes]))
        alike = KAnonymity(self.job.options["k"])
        return pool.run(
            replace(self.job, table=everyone, requirement=alike, suppress=0.0, options=pool.settle({}))
        ).groups


def _rank(cells: Ints) -> Ints:
    """The place of each record among those of the same cell, in order."""
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    rank = np.empty(len(cells), np.int64)
    rank[order] = np.arange(len(cells)) - np.searchsorted(ordered, ordered)
    return rank
