"""Local search: near groups are divided anew, two at a time, as long as less is lost.

Two groups that lie near each other are taken together. Two of their rows that are far apart are the ends of a line, all
rows are put in order between them, and the groups are cut where least is lost and the requirement holds. A large group
by itself is divided the same way. In each round all promising pairs are tried, and the best are carried out, each group
in one of them; so what is lost only ever falls.

Near groups are those of rows that follow each other when the table is sorted by its columns, in another order of
columns and on other levels of their taxonomies each round. A pair promises something if what its groups lose is no less
than what would be lost in the box around both; one that was tried is not tried again until a group of it has changed.
Those that promise most are tried first, one for each group, and the next ones only if these saved something (where rows
are exchanged instead all are tried: what groups lose says less about that).
So a round costs a few sorts of the table, and O(pairs x rows of a pair x attributes) for the few pairs that are left.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from reissue._arrays import Codes, Floats, Ints
from reissue.counting.keys import pack
from reissue.errors import InputError, InternalError
from reissue.methods.local_search.divisions import Better, Division, Losses, divisions
from reissue.methods.local_search.growth import exchanges
from reissue.methods.local_search.quotas import by_quotas
from reissue.methods.registry import Job, Option
from reissue.release.release import Draft

__all__ = ["EFFORT", "EFFORTS", "Effort", "Start", "improved", "searched", "wanted_effort"]

Start: TypeAlias = Callable[[Job, float], Draft | None]
"""Makes groups that meet the requirement; None where it can make none of this table.

It may give up too once its rows lose so much together: such a start would not be searched.
"""

_WIDEST = 40
"""Rows of two groups together, at most, or five times as many as a group must have."""
_BEFORE = 0.2
"""The share of the progress that is shown when the search begins."""
_CLOSE = 1.2
"""Starts that lose up to so many times what the best one loses are searched too: a search saves a fifth at most."""
_LEAST = 1e-4
"""A round that saves less than this share of what is lost is the last."""


@dataclass(frozen=True)
class Effort:
    """How much work goes into the search."""

    rounds: int
    orders: int = 4
    """Orders of the table in which neighbours are looked for, in each round."""
    lines: int = 1
    """Lines along which a pair is tried to be divided, or rows from which one of its groups is grown anew."""
    promise: float = 0.9
    """Pairs are tried whose own losses are together this share of the loss of the box around both, or more."""
    pairs: int = 8
    """Pairs that are tried in each round, for each group, at most: those that promise most."""
    overlap: float = 1.5
    """The same for pairs that exchange rows of the same values."""
    seconds: float = float("inf")


EFFORTS = {"balanced": Effort(6, lines=2, promise=1.1), "best": Effort(60, lines=4, promise=1.0, pairs=64, overlap=1.3)}
EFFORT = Option(
    "fast",
    "Work after the groups are made: fast (none), balanced, best, or a number of seconds. Near groups are divided anew "
    "as long as less is lost.",
)


@dataclass(eq=False)
class _Search:
    """Groups so far, and which pairs of them were tried."""

    job: Job
    losses: Losses
    group: Ints
    """Row to its group."""
    name: Ints
    """Group to a number that no other group had before; changes with the group."""
    tried: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Pairs of names, sorted."""

    def renamed(self, groups: list[int]) -> None:
        """These groups have changed."""
        first = int(self.name.max()) + 1
        total = max(len(self.name), max(groups) + 1)
        self.name = np.append(self.name, np.zeros(total - len(self.name), np.int64))
        self.name[groups] = np.arange(first, first + len(groups))


def improved(job: Job, starts: Sequence[Start]) -> Draft:
    """The first start, or, if the job asks for effort, the best that the search makes of all of them.

    It goes on from every start that loses not much more than the best one, and keeps what ends best.
    """
    effort = wanted_effort(job)
    if effort is None:
        return _first(job, starts[0])
    losses = Losses.of(job.table.taxonomies, job.table.codes)
    mixed = _mixed(job, starts[0])
    # Where shares of values are limited, the other starts cost far more than they gain beside quotas.
    tried = starts if mixed is None else starts[:1]
    draft, groups = _made(replace(job, progress=lambda share: job.progress(_BEFORE * share)), tried, losses)
    groups += [] if mixed is None else [mixed]
    lost = [_lost(losses, one) for one in groups]
    close = [one for one, its in zip(groups, lost, strict=True) if its <= _CLOSE * min(lost)]
    each, ended = (1 - _BEFORE) / len(close), []
    for number, one in enumerate(close):
        report = partial(_report, job.progress, _BEFORE + number * each, each)
        ended.append(searched(replace(job, progress=report), one, replace(effort, seconds=effort.seconds / len(close))))
    return replace(draft, groups=min(ended, key=partial(_lost, losses)))


def _first(job: Job, start: Start) -> Draft:
    """What the first start makes."""
    draft = start(job, np.inf)
    if draft is None:
        raise InternalError("The first start makes groups of every table.")
    return draft


def _report(progress: Callable[[float], None], before: float, share: float, done: float) -> None:
    progress(before + share * done)


def _lost(losses: Losses, groups: Codes) -> float:
    """What all rows lose in these groups."""
    return Division.of(losses, groups.astype(np.int64)).lost


def _made(job: Job, starts: Sequence[Start], losses: Losses) -> tuple[Draft, list[Codes]]:
    """What the first start makes, and the groups of all that can make any."""
    draft = _first(job, starts[0])
    groups = [draft.groups]
    for start in starts[1:]:
        other = start(job, _CLOSE * min(_lost(losses, one) for one in groups))
        groups += [] if other is None else [other.groups]
    return draft, groups


def wanted_effort(job: Job) -> Effort | None:
    """The work that goes into a job after the groups are made; None where there is none to do.

    There is none either where people have repeated records or groups are judged together.
    """
    effort = _asked(job.options.get("effort", EFFORT.default))
    together = job.table.people is not None or any(part.across for part in job.requirement.parts())
    return None if together else effort


def _mixed(job: Job, start: Start) -> Codes | None:
    """Groups with nearly the table's shares of values, where the requirement asks for that; None if none are found."""
    # Groups that grow through sorted rows one after the other leave scattered rows for the last ones.
    order = np.random.default_rng(0).permutation(job.table.rows)
    mixed = by_quotas(
        replace(job, table=replace(job.table.some(order), domain=job.table.domain)), partial(_first, start=start)
    )
    return None if mixed is None else mixed[np.argsort(order)]


def _asked(effort: object) -> Effort | None:
    """What an option says: a name, or seconds as a number or text."""
    if effort == "fast":
        return None
    if isinstance(effort, str) and effort in EFFORTS:
        return EFFORTS[effort]
    try:
        seconds = float(str(effort))
    except ValueError:
        seconds = -1.0
    if isinstance(effort, bool) or not 0 < seconds < float("inf"):
        raise InputError("The option 'effort' must be fast, balanced, best, or a number of seconds above 0.")
    return replace(EFFORTS["best"], seconds=seconds)


def searched(job: Job, groups: Codes, effort: Effort) -> Codes:
    """Groups of rows that meet the requirement and lose no more than the given ones, which meet it."""
    began = time.monotonic()
    losses = Losses.of(job.table.taxonomies, job.table.codes)
    total = int(groups.max()) + 1
    search = _Search(job, losses, groups.astype(np.int64), np.arange(total))
    rng = np.random.default_rng(0)  # our own: the same table and groups always give the same
    for number in range(effort.rounds):
        job.progress(number / effort.rounds)
        saved, lost = _round(search, effort, rng)
        if saved <= _LEAST * lost or time.monotonic() - began > effort.seconds:
            break
    job.progress(1.0)
    return np.unique(search.group, return_inverse=True)[1].astype(np.int32)


def _round(search: _Search, effort: Effort, rng: np.random.Generator) -> tuple[float, float]:
    """Try all promising pairs, and carry the best out; what that saved, and what was lost before."""
    division = Division.of(search.losses, search.group)
    one, other = _promising(search, division, effort, rng)
    found: list[Better] = []
    at_once = len(division.sizes) if search.job.requirement.excess_limit is None else max(len(one), 1)
    for some in _in_turn(_promise(division, one, other), at_once):
        _remember(search, one[some], np.where(other < len(division.sizes) - 1, other, -1)[some])
        order = some[np.argsort((division.sizes[one] + division.sizes[other])[some], kind="stable")]
        more = _tried(search.job, division, one[order], other[order], effort, rng)
        found += more
        if sum(better.saved for better in more) <= _LEAST * division.lost:
            break
    found.sort(key=lambda better: (-better.saved, better.one, better.other))
    used: set[int] = set()
    fresh, saved = len(division.sizes) - 1, 0.0
    for better in found:
        if better.one in used or better.other in used:
            continue
        used.add(better.one)
        target = better.other
        if target == len(division.sizes) - 1:  # one group by itself: its second part is a new one
            target, fresh = fresh, fresh + 1
        used.add(target)
        search.group[better.first], search.group[better.second] = better.one, target
        saved += better.saved
    if used:
        search.renamed(sorted(used))
    return saved, division.lost


def _in_turn(promise: Floats, number: int) -> Iterator[Ints]:
    """Places of pairs, so many at a time: those that promise most first."""
    order = np.argsort(-promise, kind="stable")
    for first in range(0, len(order), number):
        yield np.sort(order[first : first + number])


def _tried(
    job: Job, division: Division, one: Ints, other: Ints, effort: Effort, rng: np.random.Generator
) -> list[Better]:
    """What is better than two groups as they are: a line through both, or, where values matter, an exchange of rows.

    A line hardly ever leaves both parts close to the whole table: where that is asked only single groups are cut so.
    """
    nobody = len(division.sizes) - 1
    lines = np.flatnonzero((other == nobody) | (job.requirement.excess_limit is None))
    found = divisions(job, division, one[lines], other[lines], effort.lines, rng)
    if not job.requirement.growing:
        both = np.flatnonzero(other < nobody)
        both = both[_promise(division, one[both], other[both]) >= effort.overlap]
        found += exchanges(job, division, one[both], other[both], effort.lines, rng)
    return found


def _promising(search: _Search, division: Division, effort: Effort, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs of groups that are near each other and were not tried; and large groups by themselves."""
    least = max(part.least for part in search.job.requirement.parts())
    nobody = len(division.sizes) - 1
    large = np.flatnonzero((division.sizes >= 2 * least) & (division.each > 0))
    keys = np.sort(np.concatenate([*_neighbours(search, division, effort, rng), large * (nobody + 1) + nobody]))
    keys = keys[np.diff(keys, prepend=-1) > 0]
    one, other = np.divmod(keys, nobody + 1)
    least_promise = effort.promise if search.job.requirement.excess_limit is None else effort.overlap
    promising = (_promise(division, one, other) >= least_promise) | (other == nobody)
    widest = max(_WIDEST, 5 * least, 3 * len(division.rows) // max(nobody, 1))
    fits = division.sizes[one] + division.sizes[other] <= widest
    one, other = one[promising & fits], other[promising & fits]
    new = _untried(search, one, np.where(other < nobody, other, -1))
    if len(new) > effort.pairs * nobody:
        most = np.argsort(-_promise(division, one[new], other[new]), kind="stable")[: effort.pairs * nobody]
        new = new[np.sort(most)]
    return one[new], other[new]


def _promise(division: Division, one: Ints, other: Ints) -> Floats:
    """Pair to what its groups lose, as a share of what is lost in the box around both."""
    alone = other == len(division.sizes) - 1
    other = np.where(alone, one, other)
    lo, hi = (
        end(side.take(one, axis=1), side.take(other, axis=1))
        for end, side in ((np.minimum, division.lo), (np.maximum, division.hi))
    )
    own = division.each[one] + division.each[other]
    return np.asarray(own / np.maximum(division.losses.box(lo, hi), np.finfo(np.float64).tiny))


def _untried(search: _Search, one: Ints, other: Ints) -> Ints:
    """The pairs (other: -1 for a group by itself) that were not tried since a group of theirs has changed."""
    keys = _names(search, one, other)
    place = np.minimum(np.searchsorted(search.tried, keys), max(len(search.tried) - 1, 0))
    return np.flatnonzero(search.tried[place] != keys) if len(search.tried) else np.arange(len(keys))


def _remember(search: _Search, one: Ints, other: Ints) -> None:
    """These pairs are tried now."""
    search.tried = np.sort(np.concatenate([search.tried, _names(search, one, other)]))


def _names(search: _Search, one: Ints, other: Ints) -> Ints:
    """Pairs as numbers that no other pair ever has."""
    names = search.name[one], np.where(other < 0, -1, search.name[other])
    return np.asarray(np.minimum(*names) * np.int64(1 << 31) + np.maximum(*names))


def _neighbours(search: _Search, division: Division, effort: Effort, rng: np.random.Generator) -> Iterator[Ints]:
    """Pairs of groups with rows next to each other in some order, as numbers."""
    table, base = search.job.table, len(division.sizes)
    for _ in range(effort.orders):
        columns = []
        for place in rng.permutation(len(table.codes)).tolist():
            levels = table.taxonomies[place].levels
            columns.append(levels[int(rng.integers(0, max(len(levels) - 1, 1)))].node[table.codes[place]])
        order = np.argsort(pack(columns, [int(column.max()) + 1 for column in columns])[0], kind="stable")
        group = search.group[order]
        lossy = division.each[group] > 0
        for step in (1, 2):
            a, b = group[:-step], group[step:]
            apart = (a != b) & (lossy[:-step] | lossy[step:])
            yield np.minimum(a, b)[apart] * base + np.maximum(a, b)[apart]
