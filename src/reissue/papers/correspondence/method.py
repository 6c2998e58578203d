"""BCF-anonymizer: the next release of a growing table, safe together with all earlier ones.

Algorithm 1 of Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing" (EDBT 2008), for any number of earlier
releases (see `chains`) and any requirement on what is left. Top-down from the most general table: the node with the
greatest score, the sum of |group|^2 over the groups that hold it, is specialized if every possible target of every
arrival time still has enough records left; otherwise it is dropped for good, since what is left of a person only
shrinks when cuts become finer (theorem 5.1).

Without earlier releases this is plain top-down specialization. With two or more of them `left` is the line of that
formula, which in rare cases leaves a record or two more than there are; `reissue attack --exact` tells.

Cost: a specialization, tried or taken, touches the rows, chains and arrivals under its node, and nothing else.
"""

from typing import Any

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Counts
from reissue.counting.histogram import Histogram, common, counted
from reissue.counting.keys import pack, rank
from reissue.counting.segments import pieces, ranges
from reissue.data.table import Table
from reissue.errors import InputError, NotMetError, RequirementError
from reissue.methods.registry import Job, Option, Suggestion, Trait, algorithm
from reissue.methods.suppression import blocking, surplus, without_outliers
from reissue.papers.correspondence.earlier import OpenNode, Pool, Trial
from reissue.papers.correspondence.histories import (
    EarlierCells,
    never_published,
    read_history,
    recheck,
    recheck_counted,
    refusal,
)
from reissue.release.release import Draft

__all__ = ["correspondence"]


@algorithm(
    "correspondence",
    "The next release of a table that only grows: safe together with all earlier ones (global cuts, top-down).",
    traits=Trait.SUPPRESSES | Trait.COUNTED_ROWS,
    options={"after": Option((), "The earlier releases, in order: files or dataframes as they were published.")},
    remedies={"correspondence": "it makes each release safe together with the earlier ones"},
    suggestion=Suggestion(
        suits=lambda _: True,
        rank=5,
        why="where records only arrive, it keeps enough records for everyone whoever compares releases",
        require="k=5",
        attacks=("correspondence",),
    ),
    recheck=lambda release, options: recheck(release, _listed(options["after"])),
    recheck_counted=lambda release, codings, requirement, options: recheck_counted(
        release, codings, requirement.least, _listed(options["after"])
    ),
)
def correspondence(job: Job) -> Draft:
    """Specialize from the root while every target of every arrival time has enough records left.

    Rows to spare are those that keep a node from being specialized, and of these only rows that cannot have been
    published before: whoever is left out arrives, to everyone else, when first published.
    """
    if not job.spare:
        return _specialized(job)
    if job.table.times is not None:
        raise InputError(
            "With the method 'correspondence' single rows are left out, and an engine counted equal ones together: "
            "--suppress needs the whole table in memory."
        )
    new = never_published(job.table, _listed(job.options["after"]))
    return without_outliers(
        job,
        _specialized,
        lambda table, draft, kept: blocking(table, draft, new[kept], job.requirement.least),
        lambda: surplus(job) if new.all() else np.flatnonzero(new),
    )


def _specialized(job: Job) -> Draft:
    """All rows of a job's table."""
    after = _listed(job.options["after"])
    if not job.requirement.holds(job.table.whole())[0]:
        raise RequirementError(
            f"Top-down specialization starts from all rows in one group; they do not meet {job.requirement}, and this "
            "requirement is not one that larger groups always meet."
        )
    history = read_history(job.table, after)
    releases = history.releases
    judge = _Judge(job, history)
    if not judge.start():
        raise refusal(job.table, after, job.requirement.least) or NotMetError(
            f"No next release can be safe: even with everything generalized to the root, what the {releases} earlier "
            f"releases leave of it does not meet {job.requirement}."
        )
    cuts = _Cuts(job.table, judge)
    while cuts.step():
        job.progress(cuts.decided)
    return Draft(_rows(job.table, cuts.cuts), tuple(cuts.cuts), notes={"after": releases, **cuts.notes})


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

    def __init__(self, job: Job, history: EarlierCells) -> None:
        cells = history.cells
        self._chained, self._arrived = history.chained, history.arrived
        self._code = history.code
        self.pool = Pool(list(cells.codes[:-1]))
        self._value, self._weight = cells.codes[-1].astype(np.int64), cells.sizes
        self._requirement, self._least = job.requirement, job.requirement.least
        self._only_k = all(part.by_size for part in job.requirement.parts())
        self._domain = job.table.domain
        self.rows = int(cells.sizes.sum())

    def start(self) -> bool:
        """Whether the earlier releases by themselves and the most general table with them leave enough."""
        chains = self._chained.held
        if not self._meets(chains.group, chains.value, chains.count, chains.groups):
            return False
        held = counted(self._value * 0, self._value, 1, len(self._code), self._weight)
        return self._leaves_enough(held, self._chained.start(), self._arrived.start())

    def specialized(self, groups: Ints, node: OpenNode) -> tuple[Ints, Ints] | None:
        """Specialize a node in the groups that hold it: the filled parts and their sizes; None if that is unsafe."""
        if any(self._arrived.covers[node.attribute].crosses(lo, hi) for lo, hi in node.children):
            return None
        split = self.pool.split(groups, node.attribute, node.child, len(node.children))
        weight = self._weight[split.items]
        sizes = np.bincount(split.part, weight, split.parts).astype(np.int64)
        if ((sizes > 0) & (sizes < self._least)).any():
            return None
        held = counted(split.part, self._value[split.items], split.parts, len(self._code), weight)
        chained, arrived = self._chained.trial(groups, node), self._arrived.trial(groups, node)
        if not self._leaves_enough(held, chained, arrived):
            return None
        filled = np.flatnonzero(sizes)
        self.pool.commit(split)
        self._chained.accept(chained, filled)
        self._arrived.accept(arrived, filled)
        return filled, sizes[filled]

    def rank(self, groups: Ints, node: OpenNode) -> tuple[int, float]:
        """How a node comes among its equals: earlier releases that do not specialize it, and the squares it leaves."""
        against = int(self._arrived.covers[node.attribute].covers(node.lo, node.hi).sum())
        split = self.pool.split(groups, node.attribute, node.child, len(node.children))
        sizes = np.bincount(split.part, self._weight[split.items], split.parts)
        return against, float(sizes @ sizes)

    def _leaves_enough(self, held: Histogram, chained: Trial, arrived: Trial) -> bool:
        """Every arrival time; `ceilings` are what the releases before it leave of each group's values."""
        part = held.group
        if not self._only_k and not self._meets(part, held.value, held.count, held.groups):
            return False
        new = self._arrived.counts(arrived)
        number = np.append(new.count, 0)  # where nothing is new
        local = np.where(arrived.local < 0, new.groups - 1, arrived.local).T
        ceiling = held.count
        for times in pieces(np.full(len(local), len(part))):
            found = new.find(local[times][:, part], held.value)
            ceilings = np.minimum.accumulate(np.concatenate([ceiling[None], number[found]]))
            if not self._known_hold(times, chained, held, ceilings):
                return False
            ceiling = ceilings[-1]
        return self._meets(part, held.value, ceiling, held.groups)

    def _known_hold(self, times: slice, trial: Trial, held: Histogram, ceilings: Ints) -> bool:
        """Whether targets who are in earlier releases keep enough."""
        chains = self._chained
        most = chains.most[times][:, held.value]
        # A group that has at least as much of every value as any chain of a time does takes nothing away from any of
        # them, and by themselves they were found to have enough.
        filled = np.flatnonzero(held.lengths)
        enough = np.add.reduceat((ceilings[:-1] >= most) & (most > 0), held.starts[filled], axis=1, dtype=np.int32)
        doubtful = (enough != chains.needed[times, None]) & (trial.local[filled, times].T >= 0)
        time, group = np.nonzero(doubtful)
        if not len(time):
            return True
        group = filled[group]
        items, starts, lengths = chains.chains(trial)
        key = trial.local[group, time + times.start]
        start, number = starts[key], lengths[key]
        for piece in pieces(number * held.lengths[group]):
            mine, chain = np.repeat(group[piece], number[piece]), items[ranges(start[piece], number[piece])]
            pair, own, its = common(held, chains.held, mine, chain)
            term = np.minimum(ceilings[np.repeat(time[piece], number[piece])[pair], own], chains.held.count[its])
            if not self._meets(pair, held.value[own], term, len(mine)):
                return False
        return True

    def _meets(self, target: Ints, value: Ints, term: Ints | Codes, total: int) -> bool:
        """Whether what is left of each target is enough; where nothing is left there is no target."""
        left = np.bincount(target, term, total)
        if ((left > 0) & (left < self._least)).any():
            return False
        if self._only_k:
            return True
        kept = np.flatnonzero(term)
        number = np.cumsum(left > 0) - 1
        counts = Counts(number[target[kept]], self._code[value[kept]], self._domain, int((left > 0).sum()), term[kept])
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

    def _best(self) -> OpenNode:
        """The candidate of the greatest score.

        The paper leaves ties open, and there are many: the roots of all attributes score the same. First come nodes
        that most earlier releases have specialized too, for that takes nothing from their groups; then those that
        leave the least sum of squares.
        """
        top = max(self._score[attribute][lo] for attribute, lo in self._open)
        best = sorted(which for which in self._open if self._score[which[0]][which[1]] == top)
        nodes = [OpenNode(a, lo, self._open[a, lo], self._children(a, lo)) for a, lo in best]
        if len(nodes) == 1:
            return nodes[0]
        return min(nodes, key=lambda node: self._judge.rank(self._groups(node.attribute, node.lo), node))

    def _children(self, attribute: int, lo: int) -> tuple[tuple[int, int], ...]:
        return tuple(self._table.taxonomies[attribute].children(lo, self._open[attribute, lo]))

    def _groups(self, attribute: int, lo: int) -> Ints:
        return np.flatnonzero(self._node[attribute] == lo)

    def _replace(self, groups: Ints, node: OpenNode, filled: Ints, sizes: Ints) -> None:
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
