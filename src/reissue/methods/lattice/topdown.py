"""Top-down specialization with global cuts, after Fung, Wang and Yu (2005, 2007).

A cut is any set of nodes, one on each path of an attribute's taxonomy, so every value is published the same way
throughout the table, but its attribute need not be on one level. From all roots, the node with the best score whose
specialization leaves every group fit is replaced by its children, until there is none. Fung et al. score by what a
classifier gains; here the table may serve any purpose, and a score is what the table gains:

- "balanced": the loss saved times the size of the smallest group made. It postpones splits that leave little room.
- "loss": the loss saved alone.
- "squares": the rows of the groups touched, squared: the score of Fung et al. (2008).

Where rows may be suppressed, groups that would fail are: their rows then count as lost in all cells, and a node is
specialized only if that saves more than it loses. What was suppressed stays so.

Refusals are final where that is sound. Nothing suppressed and a monotone requirement: were the refused split possible
later, the pieces it makes would unite to those it makes now, which failed. A growing requirement that needs more rows
out than there are: later it needs no fewer. Every other refusal is looked at again after all other nodes, as long as
something was specialized since.

Scores only fall while other nodes are specialized (no suppression), so a node's last score is a bound, and only the
front of the queue is scored anew. Time O(entries x heights x times scored), usually two or three times each.
"""

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import rank
from reissue.counting.people import PeopleCounts
from reissue.errors import RequirementError
from reissue.methods.entries import Entries
from reissue.methods.lattice.cuts import Cuts, NewGroups, Node, SizedGroups, SpecializedGroups
from reissue.methods.registry import Job, Option, Trait, algorithm
from reissue.release.release import Draft
from reissue.taxonomy.tree import Taxonomy

__all__ = ["topdown"]


@dataclass(frozen=True, eq=False)
class _Step:
    """A specialization that could be taken, as things stand."""

    made: NewGroups
    split: SpecializedGroups | None
    """Who is in which of them; None where rows cannot be suppressed, and nobody need know."""
    bad: Bools
    """New groups to suppress."""
    lost: int
    """Their rows."""
    saved: float
    """How much less would be lost."""
    sizes: Ints
    """The rows of the new groups."""

    @property
    def balanced(self) -> float:
        """The loss saved times the smallest group that stays."""
        return self.saved * float(self.sizes[~self.bad].min(initial=np.iinfo(np.int64).max))

    @property
    def squares(self) -> float:
        """The squared rows of the groups touched."""
        before = np.bincount(self.made.parent, self.sizes)
        return float(before @ before)


_SCORES: dict[str, Callable[[_Step], float]] = {
    "balanced": lambda step: step.balanced,
    "loss": lambda step: step.saved,
    "squares": lambda step: step.squares,
}


@algorithm(
    "topdown",
    "Every value published the same way throughout the table, each attribute as fine as its cut allows.",
    traits=Trait.SUPPRESSES | Trait.COUNTED_ROWS | Trait.BLIND,
    options={
        "score": Option(
            "balanced",
            "Which value to specialize first: by the loss saved and the room left, by the loss saved, or by squared "
            "sizes of its groups.",
            tuple(_SCORES),
        )
    },
    several_rows="apart",
)
def topdown(job: Job) -> Draft:
    """Specialize from the roots down as long as every group stays fit."""
    search = _Search(job)
    search.run()
    groups = search.cuts.groups[search.of_row].astype(np.int64)
    kept = groups >= 0
    numbers = np.full(job.table.rows, -1, np.int32)
    numbers[kept] = rank(groups[kept])[0]
    notes = {"specialized": search.taken, "scored": search.scored}
    return Draft(numbers, tuple(search.cuts.cuts), notes=notes)


class _Search:
    """The cuts as they are, and how many rows may still be suppressed."""

    def __init__(self, job: Job) -> None:
        """All rows in one group."""
        self.job = job
        self.codes, self.entries, self.of_row = Entries.distinct(job.table, sensitive=job.requirement.sensitive)
        self.weights = self.entries.rows
        marginals = zip(self.codes, job.table.sizes, strict=True)
        self.rows = [np.append(0, np.cumsum(np.bincount(c, self.weights, size))) for c, size in marginals]
        """The rows before each leaf, by attribute."""
        self.repeated = len(self.weights) < job.table.records
        self.cuts = Cuts(list(self.codes), job.table.taxonomies, self.weights if self.repeated else None)
        self.spare = job.spare
        self.domain = job.table.domain
        """The sensitive values of the rows that are not suppressed."""
        roots = [taxonomy.loss(*_whole(taxonomy)) for taxonomy in job.table.taxonomies]
        self.loss = np.full(len(self.weights), np.sum(roots))
        """What each entry loses in all its cells together, as things stand."""
        self.taken = self.scored = 0
        self.again: list[Node] = []
        """Nodes that were refused, but not for good."""

    def run(self) -> None:
        """Specialize until nothing can be; refused nodes get another chance while something changes."""
        if not self.job.requirement.holds(self.job.table.whole())[0]:
            raise RequirementError(
                f"Top-down specialization starts from all rows in one group; they do not meet {self.job.requirement}, "
                "and larger groups do not always meet it. Try the method 'incognito', which looks at all combinations "
                f"of levels{self.job.otherwise}."
            )
        nodes = self.cuts.roots()
        while nodes:
            before = self.taken
            self._round(nodes)
            nodes, self.again = (self.again if self.taken > before else []), []

    def _round(self, nodes: Sequence[Node]) -> None:
        """Take the best again and again. In the queue: minus the score, a number, when it was scored, the node."""
        number = itertools.count()
        queue = [(-np.inf, next(number), -1, node) for node in nodes]
        last: _Step | None = None
        while queue:
            _, _, when, node = heapq.heappop(queue)
            step = last if last is not None and last.made.node is node else self._step(node)
            if step is None:
                continue
            if when < self.taken:
                last = step
                heapq.heappush(queue, (-_SCORES[self.job.options["score"]](step), next(number), self.taken, node))
                continue
            last = None
            for child in self._take(step):
                heapq.heappush(queue, (-np.inf, next(number), -1, child))
            self.job.progress(self.taken / (self.taken + len(queue)))

    def _step(self, node: Node) -> _Step | None:
        """What specializing a node would do now; None if it must not be."""
        self.scored += 1
        made = self.cuts.sizes(node) if self.by_size else self.cuts.split(node)
        if not made.total:
            return None
        counts = self._sized(made) if isinstance(made, SizedGroups) else self._counts(made)
        bad = ~self.job.requirement.holds(counts)
        lost = int(counts.rows[bad].sum())
        if lost <= self.spare:
            split = made if isinstance(made, SpecializedGroups) else self.cuts.split(node) if self.job.spare else None
            saved = self._saved(node, split, bad)
            if not lost or (saved > 0 and split is not None and self._others_hold(split, bad)):
                return _Step(made, split, bad, lost, saved, counts.rows)
        if not self._final(lost):
            self.again.append(node)
        return None

    @property
    def by_size(self) -> bool:
        """Whether groups are judged by their rows alone."""
        return self.entries.people is None and not self.job.requirement.sensitive

    def _sized(self, made: SizedGroups) -> Counts:
        """The new groups as entries of so many rows each."""
        return Counts(np.arange(made.total), self.entries.values[: made.total], self.domain, made.total, made.rows)

    def _counts(self, split: SpecializedGroups) -> Counts:
        """The statistics of the new groups."""
        members, values = split.members, self.entries.values[split.members]
        weights = self.weights[members] if self.repeated else None
        if self.entries.people is None:
            return Counts(split.part, values, self.domain, split.total, weights)
        return PeopleCounts(split.part, values, self.entries.people[members], self.domain, split.total, weights)

    def _saved(self, node: Node, split: SpecializedGroups | None, bad: Bools) -> float:
        """How much less would be lost: in the cells of the node, less what the suppressed rows still had."""
        saves = self.cuts.losses(node)
        if split is None or (self.cuts.whole and not bad.any()):
            return float(saves @ np.diff(self.rows[node.attribute][node.starts]))
        out, weights = bad[split.part], self.weights[split.members]
        had = len(self.codes) - self.loss[split.members[out]]
        return float(saves[split.child[~out]] @ weights[~out] - had @ weights[out])

    def _final(self, lost: int) -> bool:
        """Whether a refusal holds for good."""
        if self.entries.people is not None and not all(part.by_size for part in self.job.requirement.parts()):
            return False  # people may be in several groups, with some of their values in each: nothing is monotone
        if self.job.spare:
            return self.job.requirement.growing and lost > self.spare
        return self.job.requirement.monotone

    def _others_hold(self, split: SpecializedGroups, bad: Bools) -> bool:
        """Whether, with rows suppressed, all groups meet the requirement against the distribution of what is left."""
        if self.job.requirement.growing or self.entries.people is not None:
            return True  # no other group is judged by the distribution in the whole table
        groups = self.cuts.groups.copy()
        groups[split.members] = np.where(bad, -1, self.cuts.total + np.arange(split.total))[split.part]
        kept, total = groups >= 0, self.cuts.total + split.total
        domain = self._domain_without(split, bad)
        counts = Counts(groups[kept], self.entries.values[kept], domain, total, self.weights[kept])
        return bool((self.job.requirement.holds(counts) | (counts.sizes == 0)).all())

    def _domain_without(self, split: SpecializedGroups, bad: Bools) -> Domain:
        """The sensitive values that are left after a step."""
        out = split.members[bad[split.part]]
        gone = np.bincount(self.entries.values[out], self.weights[out], self.domain.size).astype(np.int64)
        return replace(self.domain, totals=self.domain.totals - gone)

    def _take(self, step: _Step) -> list[Node]:
        """Specialize; the children that can be specialized in turn."""
        self.taken += 1
        if step.split is not None:
            if self.job.spare:
                self.loss[step.split.members] -= self.cuts.losses(step.made.node)[step.split.child]
            if step.lost and self.job.requirement.sensitive:
                self.domain = self._domain_without(step.split, step.bad)
        self.spare -= step.lost
        return self.cuts.apply(step.made, step.bad)


def _whole(taxonomy: Taxonomy) -> tuple[Codes, Codes]:
    return np.zeros(1, np.int32), np.array([taxonomy.size - 1], np.int32)
