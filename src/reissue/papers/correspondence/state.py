"""The correspondence attack as a fold: of earlier releases their groups and chains are kept.

Where chains cannot be followed (releases that are no global recodings or lack earlier records, chains beyond counting)
and where the exact answer is asked for, only all releases at once can tell (see `whole`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reissue._arrays import Ints
from reissue.attacks.findings import Finding
from reissue.errors import CannotRunError
from reissue.papers.correspondence import case as cases
from reissue.papers.correspondence.finding import NAME, ChainGroup, Tally, WorstTarget, finding
from reissue.papers.correspondence.history import ChainHistory, add_counts, add_release
from reissue.papers.correspondence.recodings import refuse_other_recodings, varying_columns
from reissue.papers.correspondence.whole import all_at_once
from reissue.people.knowledge import Knowledge
from reissue.published.boxes import SeriesCounts, counts_of
from reissue.published.series import Series

__all__ = ["KeptReleases", "add", "explain", "judge", "readable", "see"]

_SINGLE = "it compares releases, and there is only one."
_CHANGING = "it follows records that never change, and the schema says that sensitive values do."
_APART = "a release publishes quasi-identifiers and sensitive values apart, in groups."


@dataclass(frozen=True, eq=False)
class KeptReleases:
    """What is kept of all releases so far."""

    VERSION: ClassVar[int] = 2

    numbers: tuple[int, ...]
    """What they are called."""
    promised: int | None
    """How many records their groups promise to have; None if one of them does not say."""
    apart: bool
    """Whether one of them publishes quasi-identifiers and sensitive values apart."""
    history: ChainHistory | None
    """None once chains cannot be followed."""


@dataclass(frozen=True, eq=False)
class SeenCells:
    """One release."""

    series: Series
    """It alone."""
    counts: SeriesCounts | None
    """It alone, in common codes with all releases at hand; None where it is read when it is added."""


def readable(series: Series) -> SeriesCounts:
    """All releases in common codes; CannotRunError where the attack is not about such releases."""
    _refuse(series, len(series), apart=False)
    counts = counts_of(series.releases, series.schema)
    if counts is None:
        raise CannotRunError(_APART)
    return counts


def _refuse(series: Series, releases: int, *, apart: bool) -> None:
    if releases < 2:
        raise CannotRunError(_SINGLE)
    if series.schema.updates or apart:
        raise CannotRunError(_CHANGING if series.schema.updates else _APART)


def see(series: Series, knowledge: Knowledge) -> Iterator[SeenCells]:
    """Each release; several are read together, so that what their texts mean does not change on the way."""
    together = None if len(series) < 2 or series.schema.updates else counts_of(series.releases, series.schema)
    for place, number in enumerate(series.numbers):
        counts = None if together is None else replace(together, releases=together.releases[place : place + 1])
        yield SeenCells(series.of([number]), counts)
        knowledge.progress((place + 1) / len(series))


def add(state: KeptReleases | None, seen: SeenCells) -> KeptReleases:
    """The state after one more release. What once stands in the way does so forever."""
    series = seen.series
    numbers, promised = series.numbers, series.k
    if state is not None:
        numbers = state.numbers + numbers
        promised = None if promised is None or state.promised is None else min(promised, state.promised)
    if series.schema.updates or series.releases[0].generalized is None or (state is not None and state.apart):
        return KeptReleases(numbers, promised, apart=True, history=None)
    lost = state is not None and state.history is None
    history = None if lost else _followed(None if state is None else state.history, seen)
    return KeptReleases(numbers, promised, apart=False, history=history)


def _followed(history: ChainHistory | None, seen: SeenCells) -> ChainHistory | None:
    try:
        if seen.counts is not None:
            refuse_other_recodings(seen.counts, seen.series.numbers)
            return add_counts(history, seen.counts)
        frame = seen.series.releases[0].generalized
        return None if frame is None else add_release(history, frame, seen.series.schema)
    except CannotRunError:
        return None


def judge(state: KeptReleases, series: Series) -> Finding:
    """What all releases so far leave."""
    _refuse(series, len(state.numbers), apart=state.apart)
    if state.history is None:
        return _at_once(state, series)
    certain = len(state.numbers) == 2 or varying_columns(state.history.quasi) <= 1
    if series.exact and not certain:
        return _at_once(state, series)
    limit = _limit(state, state.history, series)
    return finding(state.numbers, _tally(state.history, limit), limit, {"exact": certain})


def _at_once(state: KeptReleases, series: Series) -> Finding:
    """The same from all releases, if they are at hand."""
    whole = series if series.numbers == state.numbers else series.of(state.numbers)
    return all_at_once(whole, readable(whole))


def _limit(state: KeptReleases, history: ChainHistory, series: Series) -> int:
    asked = series.k if series.schema.policy.get("require") else state.promised
    return int(series.limits.get(NAME) or asked or history.shown.sizes.min())


def explain(state: KeptReleases, found: Finding, series: Series, knowledge: Knowledge) -> Finding:
    """With the case of the target that is worst off, from what is kept."""
    del knowledge
    if state.history is None or "case" in found.details:
        return found
    history, limit = state.history, _limit(state, state.history, series)
    chain = _worst_chain(history)
    worst = _worst(history, chain)
    first = np.searchsorted(history.release, history.release)
    around = _groups_around(history, worst)
    groups = {int(history.release[group]): int(group - first[group]) for group in around.tolist()}
    since = worst.arrived - 1 if worst.arrived else None
    case = cases.tell(history.counts, state.numbers, groups, history.chains.counts_of(chain), limit, since)
    return replace(found, details={**found.details, "case": case})


def _tally(history: ChainHistory, limit: int) -> Tally:
    chains, last = history.chains, history.view(history.releases - 1)
    left = chains.sizes
    least = np.zeros(history.releases, np.int64)
    times, first = np.unique(chains.arrived, return_index=True)
    least[times] = np.minimum.reduceat(left, first)
    worst = _worst(history, _worst_chain(history))
    low = np.flatnonzero(np.repeat(left < limit, chains.lengths))
    people = np.minimum(np.bincount(chains.entry[low], chains.count[low], len(last.count)), last.count)
    exposed = int((left < limit).sum())
    return Tally(tuple(least.tolist()), worst, _chain_groups(history, worst), exposed, int(people.sum()), last.records)


def _worst_chain(history: ChainHistory) -> int:
    chains, left = history.chains, history.chains.sizes
    lowest = np.flatnonzero(left == left.min())
    return int(lowest[np.lexsort((*chains.nodes[::-1, lowest], chains.arrived[lowest]))[0]])


def _worst(history: ChainHistory, chain: int) -> WorstTarget:
    chains = history.chains
    return WorstTarget(int(chains.sizes[chain]), int(chains.arrived[chain]), tuple(chains.nodes[:, chain].tolist()))


def _groups_around(history: ChainHistory, worst: WorstTarget) -> Ints:
    """The groups around the nodes of a chain, release by release."""
    around = history.release >= worst.arrived
    for column, node, groups in zip(history.quasi, worst.nodes, history.shown.nodes, strict=True):
        around &= (column.lo[groups] <= column.lo[node]) & (column.hi[groups] >= column.hi[node])
    return np.flatnonzero(around)


def _chain_groups(history: ChainHistory, worst: WorstTarget) -> tuple[ChainGroup, ...]:
    shown, quasi = history.shown, history.quasi
    return tuple(
        ChainGroup(int(shown.sizes[group]), {c.name: c.texts[n] for c, n in zip(quasi, nodes, strict=True)})
        for group, nodes in ((g, shown.nodes[:, g].tolist()) for g in _groups_around(history, worst).tolist())
    )
