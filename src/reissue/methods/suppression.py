"""Suppression around a method that would publish all rows: some rows are, so that the others lose less.

The method is run; rows whose absence promises most are named; the method is run again without them, and whichever
loses less stays. A suppressed row loses everything. Where not even the first run succeeds, rows without which it does
are suppressed first.

How many rows are tried goes up in steps of 1, 2, 5, 10, ... parts of the table. The steps do not depend on the share
that may be suppressed, which only says where they end: so a larger share never loses more.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts
from reissue.data.table import Table
from reissue.errors import NotMetError, RequirementError
from reissue.methods.extents import Extent, extent_of
from reissue.methods.registry import Job
from reissue.release.release import Draft
from reissue.requirements import Requirement

__all__ = ["blocking", "edges", "surplus", "without_outliers", "without_rare_values"]

_SHARES = [round(first * 10.0**power, 5) for power in range(-4, 0) for first in (1, 2, 5)]
"""Of the records: the steps in which rows are suppressed."""
_LEAST = 1e-9
_TRIES = 2
"""In each step: as many rows as may go, then half of them."""
_GRID = 500
"""This many numbers of rows are tried, at most, where a value has too many."""
Outliers = Callable[[Table, Draft, Ints], tuple[Ints, Floats]]
"""Table, draft and the table's row numbers to rows that may go (places in the table) and what each promises."""
Run = Callable[[Job], Draft]


def without_outliers(
    job: Job, run: Run, outliers: Outliers, needed: Callable[[], Ints], finish: Run | None = None
) -> Draft:
    """The draft of a method without the rows that cost the others most, as far as rows may be suppressed.

    With `finish`, which takes more time and loses less, it is the best of what that makes after every step.
    """
    if not job.spare:
        return (finish or run)(job)
    made = list(_steps(job, run, outliers, needed))
    if finish is not None:
        made = [(kept, finish(_some(job, kept))) for kept, _ in made]
    kept, draft = min(made, key=lambda one: _lost(job.table, *one))
    groups = np.full(job.table.rows, -1, np.int32)
    groups[kept] = draft.groups
    return replace(draft, groups=groups)


def without_rare_values(job: Job, run: Run) -> Draft:
    """The draft of a method without the rows of the rarest sensitive values, as long as that loses less.

    Where a value's share of a group is bounded by its share of the table, a group with one record of a rare value must
    have many others. Values go one after the other, rarest first, and the share that may be suppressed only says where
    that ends.
    """
    totals = job.table.domain.totals
    kept, best = np.arange(job.table.rows), _tried(job, run)
    lost = np.inf if best is None else _lost(job.table, kept, best)
    for value in np.argsort(totals, kind="stable")[np.sort(totals) > 0].tolist():
        left = kept[job.table.sensitive[kept] != value]
        if job.table.rows - len(left) > job.spare or not len(left):
            break
        draft = _tried(_some(job, left), run)
        after = np.inf if draft is None else _lost(job.table, left, draft)
        if after >= lost and best is not None:
            break
        kept, best, lost = left, draft, after
    if best is None:
        return run(job)  # it raises what is wrong
    groups = np.full(job.table.rows, -1, np.int32)
    groups[kept] = best.groups
    return replace(best, groups=groups)


def _steps(job: Job, run: Run, outliers: Outliers, needed: Callable[[], Ints]) -> Iterator[tuple[Ints, Draft]]:
    """The rows that are kept, fewer and fewer, and what the method makes of them, with less loss each time."""
    kept, draft = _first(job, run, needed)
    yield kept, draft
    lost = _lost(job.table, kept, draft)
    for step in sorted({int(share * job.table.records + 1e-9) for share in _SHARES}):
        allowed = step - (job.table.rows - len(kept)) if step <= job.spare else 0
        for _ in range(_TRIES):
            rows, promise = outliers(job.table.some(kept), draft, kept) if allowed > 0 else (kept[:0], np.zeros(0))
            chosen = rows[np.argsort(-promise, kind="stable")][:allowed]
            if not len(chosen):
                break
            left = np.delete(kept, chosen)
            tried = _tried(_some(job, left), run)
            after = np.inf if tried is None else _lost(job.table, left, tried)
            if tried is not None and after < lost - _LEAST:
                kept, draft, lost = left, tried, after
                yield kept, draft
                break
            allowed = len(chosen) // 2


def _first(job: Job, run: Run, needed: Callable[[], Ints]) -> tuple[Ints, Draft]:
    """What the method makes of all rows; of fewer where it cannot, if so many may be suppressed."""
    kept = np.arange(job.table.rows)
    try:
        return kept, run(job)
    except (NotMetError, RequirementError):
        kept = np.setdiff1d(kept, needed())
        if not job.table.rows - job.spare <= len(kept) < job.table.rows:
            raise
        return kept, run(_some(job, kept))


def _some(job: Job, rows: Ints) -> Job:
    return replace(job, table=job.table.some(rows), progress=lambda _: None)


def _tried(job: Job, run: Run) -> Draft | None:
    try:
        return run(job)
    except (NotMetError, RequirementError):
        return None


def _lost(table: Table, kept: Ints, draft: Draft) -> float:
    """What all rows lose, suppressed ones everything."""
    return float(_losses(table.some(kept), draft).sum()) + len(table.codes) * (table.rows - len(kept))


def _losses(table: Table, draft: Draft) -> Floats:
    """Quasi-identifiers x rows: what each row loses."""
    if draft.cuts is None:
        boxes = _boxes(table, draft)
        ends = zip(table.taxonomies, boxes.lo, boxes.hi, strict=True)
        return np.stack([taxonomy.lost(lo, hi)[draft.groups] for taxonomy, lo, hi in ends])
    cuts = zip(table.taxonomies, draft.cuts, table.codes, strict=True)
    return np.stack([taxonomy.loss(cut[codes], taxonomy.ends(cut)[codes]) for taxonomy, cut, codes in cuts])


def _boxes(table: Table, draft: Draft) -> Extent:
    """The groups' boxes."""
    return extent_of(table.taxonomies, table.codes).merged(draft.groups, int(draft.groups.max(initial=-1)) + 1)


# --- which rows ------------------------------------------------------------------------------------------------------


def edges(table: Table, draft: Draft, _: Ints) -> tuple[Ints, Floats]:
    """For groups with boxes of their own: the rows at one end of a box without which the rest would lose less."""
    groups, sizes = draft.groups, np.bincount(draft.groups)
    losses = _losses(table, draft)
    kept_by_row = len(losses) - losses.sum(axis=0)
    best, promise = np.zeros(len(sizes)), np.zeros(table.rows)
    chosen, boxes = np.zeros(table.rows, np.bool_), _boxes(table, draft)
    for place, (codes, taxonomy) in enumerate(zip(table.codes, table.taxonomies, strict=True)):
        lo, hi = boxes.lo[place], boxes.hi[place]
        for upwards in (True, False):
            order = np.lexsort((codes if upwards else -codes.astype(np.int64), groups))
            group, code = groups[order], codes[order]
            # Every row in turn would be the first that stays: so many go before it.
            gone = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[group]
            bounds = (code, hi[group]) if upwards else (lo[group], code)
            narrower = losses[place][order] - taxonomy.lost(*bounds)
            gain = (sizes[group] - gone) * narrower - gone * kept_by_row[order]
            top = np.zeros(len(sizes))
            np.maximum.at(top, group, np.where(gone > 0, gain, 0.0))
            first = np.full(len(sizes), -1)
            hit = np.flatnonzero((gone > 0) & (gain > best[group]) & (gain == top[group]))
            first[group[hit][::-1]] = gone[hit][::-1]
            better = first > 0
            chosen[better[groups]] = False
            out = order[gone < first[group]]
            chosen[out] = True
            promise[out] = (top / np.maximum(first, 1))[groups[out]]
            best = np.where(better, top, best)
    rows = np.flatnonzero(chosen)
    return rows, promise[rows]


def blocking(table: Table, draft: Draft, free: Bools, least: int) -> tuple[Ints, Floats]:
    """For cuts: the rows that alone keep a node from being specialized, if all of them may go (`free`)."""
    losses = _losses(table, draft)
    kept_by_row = len(losses) - losses.sum(axis=0)
    promise = np.zeros(table.rows)
    for place, (codes, taxonomy) in enumerate(zip(table.codes, table.taxonomies, strict=True)):
        cut = (draft.cuts or ())[place]
        finer = _finer(table, place, cut)
        lower = taxonomy.loss(finer, taxonomy.ends(finer))[codes]
        _, part, number = np.unique(
            draft.groups.astype(np.int64) * taxonomy.size + finer[codes], return_inverse=True, return_counts=True
        )
        node, split = cut[codes], (finer != cut) | (taxonomy.ends(finer) != taxonomy.ends(cut))
        small = (number[part] < least) & split[codes]
        gain = np.bincount(node, np.where(small, -kept_by_row, losses[place] - lower), taxonomy.size)
        out = np.bincount(node, small, taxonomy.size)
        fixed = np.bincount(node, small & ~free, taxonomy.size)
        worth = np.where((out > 0) & (fixed == 0) & (gain > 0), gain / np.maximum(out, 1), 0.0)
        promise = np.maximum(promise, np.where(small, worth[node], 0.0))
    rows = np.flatnonzero(promise)
    return rows, promise[rows]


def _finer(table: Table, place: int, cut: Codes) -> Codes:
    """The cut with every node replaced by its children."""
    taxonomy, finer = table.taxonomies[place], cut.copy()
    for lo, hi in {(int(lo), int(hi)) for lo, hi in zip(cut, taxonomy.ends(cut), strict=True) if lo < hi}:
        for first, last in taxonomy.children(lo, hi):
            finer[first : last + 1] = first
    return finer


def surplus(job: Job) -> Ints:
    """The fewest rows of one sensitive value, drawn at random, without which the table meets what is asked; or none."""
    table, fewest, chosen = job.table, job.spare + 1, -1
    for value in np.flatnonzero(table.domain.totals).tolist():
        numbers = np.unique(np.linspace(1, int(table.domain.totals[value]), _GRID).astype(np.int64))
        numbers = numbers[numbers < fewest]
        enough = numbers[_holds_without(table, value, numbers, job.requirement)]
        if len(enough):
            fewest, chosen = int(enough[0]), value
    return job.rng.permutation(np.flatnonzero(table.sensitive == chosen))[:fewest]


def _holds_without(table: Table, value: int, numbers: Ints, requirement: Requirement) -> Bools:
    """Whether the table in one group would meet a requirement without this many rows of one value, number by number."""
    there = np.flatnonzero(table.domain.totals)
    left = np.tile(table.domain.totals[there], (len(numbers), 1))
    left[:, there == value] -= numbers[:, np.newaxis]
    group = np.repeat(np.arange(len(numbers)), len(there))
    counts = Counts(group, np.tile(there, len(numbers)), table.domain, len(numbers), left.reshape(-1))
    return requirement.holds(counts) & (counts.sizes > 0)
