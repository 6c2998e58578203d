"""A second look at what attacks let pass: witnesses and a sample, judged by plain formulas.

Methods and attacks share kernels: fast mathematics that both need. If one of these were wrong, a method would make what
its attack does not find. So before a ledger publishes what an attack found to expose nobody, a few people, groups and
coalitions are judged again by the definitions themselves, from what was published, with code that no method uses. An
attack names its second look in its declaration (`confirm`).
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, islice

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding
from reissue.errors import CannotRunError
from reissue.papers.coalition.contributions import Contributions
from reissue.papers.coalition.records import read_records
from reissue.papers.correspondence.chains import refuse_other_recodings
from reissue.papers.equivalence.exact import any_attack, buckets
from reissue.papers.tracking.membership import PersonHistories, link_people, membership
from reissue.people.knowledge import Knowledge
from reissue.protection import Protection
from reissue.published.boxes import SeriesCounts, counts_of
from reissue.published.series import Series
from reissue.requirements import Requirement, by_column, parse
from reissue.updates import UpdateModel, read_updates
from reissue.verify.groups import CheckedGroups
from reissue.verify.measures import judge

__all__ = ["confirm_buckets", "confirm_chains", "confirm_coalitions", "confirm_posteriors"]

_GROUPS = 30
_COALITIONS = 50
_BUCKETS = 4
_TARGETS = 12
_PAIRS = 200
"""How many pairs of releases are compared for one target, at most."""
_PEOPLE = 50
"""How many people's histories are gone through."""
_SLACK = 1e-6


# --- coalitions ------------------------------------------------------------------------------------------------------


def confirm_coalitions(series: Series, found: Finding, rng: np.random.Generator) -> bool:
    """Whether no coalition in a sample breaks the newest release, as the finding says."""
    release = series.releases[-1]
    said = series.schema.policy.get("require")
    requirement = release.requirement or (parse(str(said)) if said else None)
    if requirement is None:
        return True
    records = read_records(release, series.schema)
    asked = by_column(requirement, records.margins, records.contributions.domain)
    return coalitions_leave_enough(records.contributions, asked, int(found.limit or 0), rng)


def coalitions_leave_enough(
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


def confirm_buckets(series: Series, found: Finding, rng: np.random.Generator) -> bool:
    """Whether no attack below the limit is in some whole buckets, by the integer program of the definition itself.

    No history graph, no releases made one: a variable for each pattern of presence (see `equivalence.exact`). Where the
    policy declares values harmless, an attack may be one on them alone: no bucket is judged again.
    """
    if not Protection.of(series.schema.policy, series.schema.sensitive).every_value:
        return True
    whole = buckets(membership(series, Knowledge())) or []
    return not any(any_attack(whole[place], int(found.limit or 0)) for place in rng.permutation(len(whole))[:_BUCKETS])


# --- append-only tables ----------------------------------------------------------------------------------------------


def confirm_chains(series: Series, found: Finding, rng: np.random.Generator) -> bool:
    """Whether some targets have enough records left, counted by the formula itself and not by chains.

    A target is a point and an arrival time. Which groups hold it, and how many records arrived between two releases, is
    counted from the published groups.
    """
    views = counts_of(series.releases, series.schema)
    if views is None:
        return True
    try:
        refuse_other_recodings(views, series.numbers)
    except CannotRunError:
        return True
    return targets_have_enough(views, int(found.limit or 0), rng)


def targets_have_enough(views: SeriesCounts, limit: int, rng: np.random.Generator) -> bool:
    """Whether at least `limit` records are left for some targets."""
    releases = len(views.releases)
    groups = [(place, group) for place, one in enumerate(views.releases) for group in range(one.groups)]
    for number in rng.permutation(len(groups))[:_TARGETS].tolist():
        place, group = groups[number]
        nodes = views.releases[place].nodes[:, group].tolist()
        point = np.array([column.lo[node] for column, node in zip(views.quasi, nodes, strict=True)])
        times = {0, releases - 1, int(rng.integers(releases))}
        for arrived in sorted(time for time in times if time * (releases - time) <= _PAIRS):
            if 0 < records_left(views, point, arrived) < limit:
                return False
    return True


def records_left(views: SeriesCounts, point: Ints, arrived: int) -> int:
    """How many records are left for somebody at a point who arrived with a release; 0 if nobody can have."""
    boxes = [_boxes(views, place) for place in range(len(views.releases))]
    terms: dict[int, int] | None = None
    for later in range(arrived, len(boxes)):
        lo, hi = boxes[later]
        (around,) = np.nonzero(((lo <= point[:, None]) & (hi >= point[:, None])).all(axis=0))
        if not len(around):
            return 0
        group = int(around[-1])
        own = _inside(views, boxes, later, lo[:, group], hi[:, group])
        for earlier in range(arrived):
            arrivals = _arrivals(views, boxes, earlier, later, group)
            own = Counter({value: min(count, arrivals[value]) for value, count in own.items()})
        terms = dict(own) if terms is None else {value: min(count, own[value]) for value, count in terms.items()}
    return sum((terms or {}).values())


_Boxes = list[tuple[Ints, Ints]]


def _arrivals(views: SeriesCounts, boxes: _Boxes, earlier: int, later: int, group: int) -> Counter[int]:
    """How many records of each value arrived between two releases, on the join of their cuts around a group."""
    lo, hi = (end[:, group].copy() for end in boxes[later])
    first, last = boxes[earlier]
    for place in range(len(lo)):
        wider = (first[place] <= lo[place]) & (last[place] >= hi[place])
        if wider.any():
            lo[place], hi[place] = first[place][wider].min(), last[place][wider].max()
    after, before = (_inside(views, boxes, release, lo, hi) for release in (later, earlier))
    return Counter({value: count - before[value] for value, count in after.items()})


def _inside(views: SeriesCounts, boxes: _Boxes, release: int, lo: Ints, hi: Ints) -> Counter[int]:
    """The values of a release's groups inside a box."""
    (first, last), view = boxes[release], views.releases[release]
    inside = np.asarray(((first >= lo[:, None]) & (last <= hi[:, None])).all(axis=0))
    entries = np.flatnonzero(inside[view.group])
    found: Counter[int] = Counter()
    for value, count in zip(view.value[entries].tolist(), view.count[entries].tolist(), strict=True):
        found[value] += count
    return found


def _boxes(views: SeriesCounts, place: int) -> tuple[Ints, Ints]:
    """Quasi-identifiers x groups of a release: the first and last leaf of each group."""
    columns = list(zip(views.quasi, views.releases[place].nodes, strict=True))
    lo, hi = (np.stack([getattr(column, end)[nodes] for column, nodes in columns]) for end in ("lo", "hi"))
    return lo.astype(np.int64), hi.astype(np.int64)


# --- values through a series -----------------------------------------------------------------------------------------


def confirm_posteriors(series: Series, found: Finding, rng: np.random.Generator) -> bool:
    """Whether nobody in a sample has a value whose posterior, through the whole history, is above the limit."""
    linked = link_people(series, Knowledge())
    known = np.arange(len(linked.table))
    if linked.groups is not None:
        known = np.flatnonzero(((linked.groups >= 0) | (linked.table < 0)).all(axis=1))
    some = np.sort(rng.permutation(known)[:_PEOPLE])
    protection = Protection.of(series.schema.policy, series.schema.sensitive)
    model = read_updates(series.schema, linked.names)
    again = largest_posteriors(linked.of_people(some), model, protection.guarded(model.names))
    return bool((again <= float(found.limit or 1) + _SLACK).all())


def largest_posteriors(linked: PersonHistories, model: UpdateModel, guarded: Bools) -> Floats:
    """People's largest posteriors of a guarded value, by a pass forward and one back through all releases."""
    steps = {gap: model.steps(gap) for gap in range(1, linked.table.shape[1])}
    return np.array([_largest(linked, steps, guarded, row) for row in range(len(linked.table))])


def _largest(linked: PersonHistories, after: Mapping[int, Floats], guarded: Bools, row: int) -> float:
    """The largest share of all paths that go through one value of one release; 0 if there is no path."""
    there = np.flatnonzero(linked.table[row] >= 0)
    shares = [linked.places.dense(linked.table[row, [at]], len(guarded))[0] for at in there.tolist()]
    steps = [after[gap] for gap in np.diff(there).tolist()]
    ahead, back = [shares[0]], [np.ones(len(guarded))]
    for share, step in zip(shares[1:], steps, strict=True):
        ahead.append((ahead[-1] @ step) * share)
    for share, step in zip(shares[:0:-1], steps[::-1], strict=True):
        back.insert(0, step @ (share * back[0]))
    through = np.array([one * other for one, other in zip(ahead, back, strict=True)])
    every = float(through[0].sum())
    return float((through * guarded).max()) / every if every > 0 else 0.0
