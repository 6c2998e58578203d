"""A second look at what attacks let pass: witnesses and a sample, judged by plain formulas.

Methods and attacks share kernels: fast mathematics that both need. If one of these were wrong, a method would make what
its attack does not find. So where an attack finds nobody, a few people, groups and coalitions are judged again by the
definitions themselves, from data about people and from what was published, with code that no method uses.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, islice

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.attacks.findings import Finding
from reissue.papers.coalition.contributions import Contributions
from reissue.papers.correspondence.history import ChainHistory
from reissue.papers.correspondence.state import KeptReleases
from reissue.papers.equivalence.attack import EquivalenceState
from reissue.papers.equivalence.exact import BucketHistory, any_attack
from reissue.people.histories import PersonHistories
from reissue.requirements import Requirement
from reissue.updates import UpdateModel
from reissue.verify.groups import CheckedGroups
from reissue.verify.measures import judge

__all__ = ["confirm", "confirm_buckets", "confirm_chains", "confirm_coalitions", "confirm_posteriors"]

_GROUPS = 30
_COALITIONS = 50
_BUCKETS = 4
_TARGETS = 12
_PAIRS = 200
"""How many pairs of releases are compared for one target, at most."""
_SLACK = 1e-6


def confirm(state: object, found: Finding, rng: np.random.Generator) -> bool:
    """Whether a sample says the same as an attack that found nobody; states of other attacks are not looked at."""
    if isinstance(state, KeptReleases) and state.history is not None:
        return confirm_chains(state.history, int(found.limit or 0), rng)
    if isinstance(state, EquivalenceState) and state.evidence is not None and state.evidence.presence is not None:
        presence = state.evidence.presence
        chosen = np.zeros(len(presence.shapes), np.bool_)
        chosen[rng.permutation(len(chosen))[:_BUCKETS]] = True
        return confirm_buckets([bucket for _, bucket in presence.buckets(chosen)], state.evidence.limit)
    return True


# --- coalitions ------------------------------------------------------------------------------------------------------


def confirm_coalitions(
    contributions: Contributions, requirement: Requirement, m: int, rng: np.random.Generator
) -> bool:
    """Whether what some coalitions of m providers leave in some groups meets the requirement, counted record by record.

    Each takes all its own records out; groups are counted with Polars, as `check` does.
    """
    left: list[Counter[int]] = []
    for number in rng.permutation(contributions.total)[:_GROUPS].tolist():
        left += _left_by_coalitions(contributions, number, m)
    rows = [(place, value, count) for place, one in enumerate(left) for value, count in sorted(one.items())]
    if not rows:
        return True
    runs = pl.DataFrame(rows, schema={"group": pl.Int64, "value": pl.Int64, "count": pl.Int64}, orient="row")
    return bool(judge(requirement, CheckedGroups(runs, contributions.domain)).all())


def _left_by_coalitions(contributions: Contributions, number: int, m: int) -> list[Counter[int]]:
    """The values left in a group by some coalitions of it; where nothing is left there is nobody to expose."""
    of_provider: dict[int, Counter[int]] = {}
    for place in np.flatnonzero(contributions.group == number).tolist():
        own = of_provider.setdefault(int(contributions.provider[place]), Counter())
        own[int(contributions.value[place])] += int(contributions.count[place])
    size = min(m, len(of_provider) - 1)
    found = []
    for members in islice(combinations(of_provider, max(size, 0)), _COALITIONS):
        others = [own for provider, own in of_provider.items() if provider not in members]
        found.append(sum(others, Counter[int]()))
    return [left for left in found if left]


# --- whole buckets ---------------------------------------------------------------------------------------------------


def confirm_buckets(buckets: list[BucketHistory], limit: int) -> bool:
    """Whether no attack below the limit is in these buckets, by the integer program of the definition itself.

    No history graph, no releases made one: a variable for each pattern of presence (see `attacks.equivalence.exact`).
    """
    return not any(any_attack(bucket, limit) for bucket in buckets)


# --- growing tables --------------------------------------------------------------------------------------------------


def confirm_chains(history: ChainHistory, limit: int, rng: np.random.Generator) -> bool:
    """Whether some targets have enough records left, counted by the formula itself and not by chains.

    A target is a point and an arrival time. Which groups hold it, and how many records arrived between two releases, is
    counted from the published groups.
    """
    releases, shown = history.releases, history.shown
    for group in rng.permutation(shown.groups)[:_TARGETS].tolist():
        point = np.array([column.lo[node] for column, node in zip(history.quasi, shown.nodes[:, group], strict=True)])
        times = {0, releases - 1, int(rng.integers(releases))}
        for arrived in sorted(time for time in times if time * (releases - time) <= _PAIRS):
            if 0 < _left(history, point, arrived) < limit:
                return False
    return True


def _left(history: ChainHistory, point: Ints, arrived: int) -> int:
    """How many records are left for somebody at a point who arrived with a release; 0 if nobody can have."""
    boxes = _boxes(history)
    around = np.flatnonzero(((boxes[0] <= point[:, None]) & (boxes[1] >= point[:, None])).all(axis=0))
    of_release = {int(history.release[group]): int(group) for group in around.tolist()}
    if not set(range(arrived, history.releases)) <= set(of_release):
        return 0
    terms: dict[int, int] | None = None
    for later in range(arrived, history.releases):
        group = of_release[later]
        own = _inside(history, boxes, later, boxes[0][:, group], boxes[1][:, group])
        for earlier in range(arrived):
            arrivals = _arrivals(history, boxes, earlier, later, group)
            own = Counter({value: min(count, arrivals[value]) for value, count in own.items()})
        terms = dict(own) if terms is None else {value: min(count, own[value]) for value, count in terms.items()}
    return sum((terms or {}).values())


def _arrivals(history: ChainHistory, boxes: tuple[Ints, Ints], earlier: int, later: int, group: int) -> Counter[int]:
    """How many records of each value arrived between two releases, on the join of their cuts around a group."""
    lo, hi = boxes[0][:, group].copy(), boxes[1][:, group].copy()
    mine = history.release == earlier
    for place in range(len(lo)):
        wider = mine & (boxes[0][place] <= lo[place]) & (boxes[1][place] >= hi[place])
        if wider.any():
            lo[place], hi[place] = boxes[0][place][wider].min(), boxes[1][place][wider].max()
    after, before = (_inside(history, boxes, release, lo, hi) for release in (later, earlier))
    return Counter({value: count - before[value] for value, count in after.items()})


def _inside(history: ChainHistory, boxes: tuple[Ints, Ints], release: int, lo: Ints, hi: Ints) -> Counter[int]:
    """The values of a release's groups inside a box."""
    inside = (history.release == release) & ((boxes[0] >= lo[:, None]) & (boxes[1] <= hi[:, None])).all(axis=0)
    entries = np.flatnonzero(inside[history.shown.group])
    found: Counter[int] = Counter()
    for value, count in zip(history.shown.value[entries].tolist(), history.shown.count[entries].tolist(), strict=True):
        found[value] += count
    return found


def _boxes(history: ChainHistory) -> tuple[Ints, Ints]:
    """Quasi-identifiers x groups: the first and last leaf of each group."""
    columns = list(zip(history.quasi, history.shown.nodes, strict=True))
    lo, hi = (np.stack([getattr(column, end)[nodes] for column, nodes in columns]) for end in ("lo", "hi"))
    return lo.astype(np.int64), hi.astype(np.int64)


# --- values through a series -----------------------------------------------------------------------------------------


def confirm_posteriors(linked: PersonHistories, model: UpdateModel, largest: Floats) -> bool:
    """Whether some people's largest posteriors are what a pass forward and one back through all releases gives."""
    steps = {gap: model.steps(gap) for gap in range(1, linked.table.shape[1])}
    again = [_largest(linked, steps, len(model.names), row) for row in range(len(linked.table))]
    return bool((np.abs(np.array(again) - largest) <= _SLACK).all())


def _largest(linked: PersonHistories, after: Mapping[int, Floats], values: int, row: int) -> float:
    """The largest share of all paths that go through one value of one release; 0 if there is no path."""
    there = np.flatnonzero(linked.table[row] >= 0)
    shares = [linked.places.dense(linked.table[row, [at]], values)[0] for at in there.tolist()]
    steps = [after[gap] for gap in np.diff(there).tolist()]
    ahead, back = [shares[0]], [np.ones(values)]
    for share, step in zip(shares[1:], steps, strict=True):
        ahead.append((ahead[-1] @ step) * share)
    for share, step in zip(shares[:0:-1], steps[::-1], strict=True):
        back.insert(0, step @ (share * back[0]))
    through = np.array([one * other for one, other in zip(ahead, back, strict=True)])
    every = float(through[0].sum())
    return float(through.max()) / every if every > 0 else 0.0
