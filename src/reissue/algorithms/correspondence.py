"""BCF-anonymizer: the next release of a growing table, safe together with all earlier ones.

Algorithm 1 of Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing" (EDBT 2008), for any number of
earlier releases (methods.md section 1) and any requirement on what is left. Top-down from the most general table: the
node with the greatest score, the sum of |group|^2 over the groups that hold it, is specialized if every possible target
of every arrival time still has enough records left; otherwise it is dropped for good, since what is left of a person
only shrinks when cuts become finer (theorem 5.1).

Without earlier releases this is plain top-down specialization. With two or more of them `left` is the line of
methods.md, which in rare cases leaves a record or two more than there are; `reissue attack --exact` tells.

Cost: a specialization, tried or taken, touches the rows, chains and arrivals under its node, and nothing else.
"""

from typing import Any

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.algorithms._base import Job, Option, algorithm
from reissue.algorithms._earlier import Chained, Node, Trial
from reissue.algorithms._history import History, read_history, recheck, refusal
from reissue.algorithms._pools import Pool, counted
from reissue.attacks._pairs import Histograms, common, pieces, ranges
from reissue.cells import Counts, pack, rank
from reissue.errors import InputError, NotMetError, RequirementError
from reissue.release import Draft
from reissue.requirements import KAnonymity
from reissue.table import Table

__all__ = ["correspondence"]


@algorithm(
    "correspondence",
    "The next release of a table that only grows: safe together with all earlier ones (global cuts, top-down).",
    options={"after": Option((), "The earlier releases, in order: files or dataframes as they were published.")},
    recheck=lambda release, options: recheck(release, _listed(options["after"])),
)
def correspondence(job: Job) -> Draft:
    """Specialize from the root while every target of every arrival time has enough records left."""
    after = _listed(job.options["after"])
    if not job.requirement.holds(job.table.whole())[0]:
        raise RequirementError(
            f"Top-down specialization starts from all rows in one group; they do not meet {job.requirement}, and this "
            "requirement is not one that larger groups always meet."
        )
    history = read_history(job.table, after)
    judge = _Judge(job, history)
    if not judge.start():
        raise refusal(history, job.requirement.least) or NotMetError(
            f"No next release can be safe: even with everything generalized to the root, what the {len(after)} earlier "
            f"releases leave of it does not meet {job.requirement}."
        )
    cuts = _Cuts(job.table, judge)
    while cuts.step():
        job.progress(cuts.decided)
    return Draft(_rows(job.table, cuts.cuts), tuple(cuts.cuts), notes={"after": len(after), **cuts.notes})


def _listed(after: Any) -> list[Any]:
    if isinstance(after, str) or not hasattr(after, "__len__") or hasattr(after, "columns"):
        raise InputError("The option 'after' must be a list of earlier releases, in the order published.")
    return list(after)


def _rows(table: Table, cuts: list[Codes]) -> Codes:
    """Row to group."""
    nodes = [cut[codes] for cut, codes in zip(cuts, table.codes, strict=True)]
    return rank(pack(nodes, table.sizes)[0])[0].astype(np.int32)


class _Judge:
    """The groups of the next release, and whether a specialization leaves enough to every target."""

    def __init__(self, job: Job, history: History) -> None:
        cells = history.cells
        self.history = history
        self.pool = Pool(cells.leaves)
        self._value, self._weight = cells.value, cells.weight
        self._requirement, self._least = job.requirement, job.requirement.least
        self._only_k = all(isinstance(part, KAnonymity) for part in job.requirement.parts())
        self._domain = job.table.domain
        self.rows = int(cells.weight.sum())

    def start(self) -> bool:
        """Whether the earlier releases by themselves and the most general table with them leave enough."""
        for chains in self.history.chained:
            chain = np.repeat(np.arange(chains.held.groups), chains.held.lengths)
            if not self._meets(chain, chains.held.value, chains.term, chains.held.groups):
                return False
        held, count = counted(self._value * 0, 1, self._value, self._weight, len(self.history.code))
        chained = [some.start() for some in self.history.chained]
        return self._leaves_enough(held, count, chained, [some.start() for some in self.history.arrived])

    def specialized(self, groups: Ints, node: Node) -> tuple[Ints, Ints] | None:
        """Specialize a node in the groups that hold it: the filled parts and their sizes; None if that is unsafe."""
        history, width = self.history, len(node.children)
        if any(cuts[node.attribute].crosses(lo, hi) for cuts in history.covers for lo, hi in node.children):
            return None
        split = self.pool.split(groups, node.attribute, node.child, width)
        weight = self._weight[split.items]
        sizes = np.bincount(split.part, weight, split.parts).astype(np.int64)
        if ((sizes > 0) & (sizes < self._least)).any():
            return None
        held, count = counted(split.part, split.parts, self._value[split.items], weight, len(history.code))
        chained = [some.trial(groups, node) for some in history.chained]
        arrived = [some.trial(groups, node) for some in history.arrived]
        if not self._leaves_enough(held, count, chained, arrived):
            return None
        filled = np.flatnonzero(sizes)
        self.pool.commit(split)
        for some, trial in zip((*history.chained, *history.arrived), (*chained, *arrived), strict=True):
            some.accept(trial, filled)
        return filled, sizes[filled]

    def rank(self, groups: Ints, node: Node) -> tuple[int, float]:
        """How a node comes among its equals: earlier releases that do not specialize it, and the squares it leaves."""
        against = sum(cuts[node.attribute].covers(node.lo, node.hi) for cuts in self.history.covers)
        split = self.pool.split(groups, node.attribute, node.child, len(node.children))
        sizes = np.bincount(split.part, self._weight[split.items], split.parts)
        return against, float(sizes @ sizes)

    def _leaves_enough(self, held: Histograms, count: Ints, chained: list[Trial], arrived: list[Trial]) -> bool:
        """Every arrival time in turn; `ceiling` is what the releases before it leave of each group's values."""
        part = np.repeat(np.arange(held.groups), held.lengths)
        if not self._only_k and not self._meets(part, held.value, count, held.groups):
            return False
        ceiling = count
        for place, chains in enumerate(self.history.chained):
            if not self._known_hold(chains, chained[place], held, part, ceiling):
                return False
            came = self.history.arrived[place].came(arrived[place], part, held.value)
            ceiling = np.minimum(ceiling, came)
        return self._meets(part, held.value, ceiling, held.groups)

    def _known_hold(self, chains: Chained, trial: Trial, held: Histograms, part: Ints, ceiling: Ints) -> bool:
        """Whether targets who are in earlier releases keep enough."""
        most = chains.most[held.value]
        # A group that has at least as much of every value as any chain does takes nothing away from any of them, and
        # by themselves they were found to have enough.
        harmless = np.bincount(part, (ceiling >= most) & (most > 0), held.groups) == chains.needed
        doubtful = np.flatnonzero(~harmless & (trial.local >= 0) & (held.lengths > 0))
        if not len(doubtful):
            return True
        items, starts, lengths = chains.chains(trial)
        start, number = starts[trial.local[doubtful]], lengths[trial.local[doubtful]]
        for piece in pieces(number * held.lengths[doubtful]):
            group = np.repeat(doubtful[piece], number[piece])
            chain = items[ranges(start[piece], number[piece])]
            pair, mine, its = common(held, chains.held, group, chain)
            term = np.minimum(ceiling[mine], chains.term[its])
            if not self._meets(pair, held.value[mine], term, len(group)):
                return False
        return True

    def _meets(self, target: Ints, value: Ints, term: Ints, total: int) -> bool:
        """Whether what is left of each target is enough; where nothing is left there is no target."""
        left = np.bincount(target, term, total)
        if ((left > 0) & (left < self._least)).any():
            return False
        if self._only_k:
            return True
        kept = np.flatnonzero(term)
        number = np.cumsum(left > 0) - 1
        counts = Counts(
            number[target[kept]], self.history.code[value[kept]], self._domain, int((left > 0).sum()), term[kept]
        )
        return bool(self._requirement.holds(counts).all())


class _Cuts:
    """The cuts of the next release, and the nodes that may still be specialized."""

    def __init__(self, table: Table, judge: _Judge) -> None:
        self._table, self._judge = table, judge
        self.cuts = [np.zeros(size, np.int32) for size in table.sizes]
        self._node = np.zeros((len(table.sizes), 1), np.int32)
        self._size = np.array([judge.rows])
        self._score = [np.zeros(size) for size in table.sizes]
        self._open: dict[tuple[int, int], int] = {}
        self.decided = 0.0
        self.notes = {"specialized": 0, "refused": 0}
        self._add_scores(np.zeros(1, np.int64), 1)
        for attribute, size in enumerate(table.sizes):
            self._offer(attribute, 0, size - 1)

    def _offer(self, attribute: int, lo: int, hi: int) -> None:
        """A node becomes a candidate if there is something below it and somebody under it."""
        if lo < hi and self._score[attribute][lo] > 0:
            self._open[attribute, lo] = hi
        else:
            self._close(attribute, lo, hi)

    def _close(self, attribute: int, lo: int, hi: int) -> None:
        self.decided += (hi - lo + 1) / self._table.sizes[attribute] / len(self.cuts)

    def step(self) -> bool:
        """Specialize the best candidate, or drop it for good; False if there is none."""
        if not self._open:
            return False
        node = self._best()
        attribute, lo, hi = node.attribute, node.lo, node.hi
        del self._open[attribute, lo]
        groups = self._groups(attribute, lo)
        outcome = self._judge.specialized(groups, node)
        if outcome is None:
            self._close(attribute, lo, hi)
            self.notes["refused"] += 1
            return True
        self.notes["specialized"] += 1
        self._replace(groups, node, *outcome)
        for child in node.children:
            self.cuts[attribute][child[0] : child[1] + 1] = child[0]
            self._offer(attribute, *child)
        return True

    def _best(self) -> Node:
        """The candidate of the greatest score.

        The paper leaves ties open, and there are many: the roots of all attributes score the same. First come nodes
        that most earlier releases have specialized too, for that takes nothing from their groups; then those that
        leave the least sum of squares.
        """
        top = max(self._score[attribute][lo] for attribute, lo in self._open)
        best = sorted(which for which in self._open if self._score[which[0]][which[1]] == top)
        nodes = [Node(a, lo, self._open[a, lo], self._children(a, lo)) for a, lo in best]
        if len(nodes) == 1:
            return nodes[0]
        return min(nodes, key=lambda node: self._judge.rank(self._groups(node.attribute, node.lo), node))

    def _children(self, attribute: int, lo: int) -> tuple[tuple[int, int], ...]:
        return tuple(self._table.taxonomies[attribute].children(lo, self._open[attribute, lo]))

    def _groups(self, attribute: int, lo: int) -> Ints:
        return np.flatnonzero(self._node[attribute] == lo)

    def _replace(self, groups: Ints, node: Node, filled: Ints, sizes: Ints) -> None:
        """The parts that are filled become groups."""
        self._add_scores(groups, -1)
        place, child = np.divmod(filled, len(node.children))
        nodes = self._node[:, groups[place]]
        nodes[node.attribute] = np.array([lo for lo, _ in node.children], np.int32)[child]
        first = len(self._size)
        self._node[:, groups] = -1
        self._node = np.concatenate([self._node, nodes], axis=1)
        self._size = np.append(self._size, sizes)
        self._add_scores(np.arange(first, len(self._size)), 1)

    def _add_scores(self, groups: Ints, sign: int) -> None:
        squares = sign * self._size[groups].astype(np.float64) ** 2
        for attribute, node in enumerate(self._node):
            self._score[attribute] += np.bincount(node[groups], squares, len(self._score[attribute]))
