"""The correspondence attack from release to release: of earlier ones their groups and chains are kept.

Where chains cannot be followed (releases that are no global recodings or lack earlier records, chains beyond counting)
and where the exact answer is asked for, only the attack over all releases at once can tell.
"""

import numpy as np

from reissue._arrays import State
from reissue.attacks.correspondence.finding import NAME, Stood, Tally, Worst, finding
from reissue.attacks.findings import Finding
from reissue.errors import CannotCarryError, CannotRunError
from reissue.kernels.chains.history import Past, past_of, state_of, taken
from reissue.published.recodings import varying_columns
from reissue.published.series import Series

__all__ = ["APART", "CHANGING", "SINGLE", "judge", "take"]

SINGLE = "it compares releases, and there is only one."
CHANGING = "it follows records that never change, and the schema says that sensitive values do."
APART = "a release publishes quasi-identifiers and sensitive values apart, in groups."
_APART, _LOST = {"apart": True}, {"lost": True}


def take(state: State | None, series: Series) -> State:
    """The state after one release more."""
    if series.schema.updates or (state is not None and "apart" in state):
        return _APART
    frame = series.releases[0].generalized
    if frame is None:
        return _APART
    if state is not None and "lost" in state:
        return _LOST
    try:
        return state_of(taken(None if state is None else past_of(state, series.schema), frame, series.schema))
    except CannotRunError:
        return _LOST


def judge(state: State, series: Series) -> Finding:
    """What all releases so far leave."""
    number = series.numbers[-1]
    if number == 1:
        raise CannotRunError(SINGLE)
    if series.schema.updates or "apart" in state:
        raise CannotRunError(CHANGING if series.schema.updates else APART)
    if "lost" in state:
        raise CannotCarryError
    past = past_of(state, series.schema)
    certain = number == 2 or varying_columns(past.quasi) <= 1
    if series.exact and not certain:
        raise CannotCarryError
    limit = int(series.limits.get(NAME) or series.k or past.shown.sizes.min())
    return finding(range(1, number + 1), _tally(past, limit), limit, {"exact": certain})


def _tally(past: Past, limit: int) -> Tally:
    standing, last = past.standing, past.view(past.releases - 1)
    left = standing.left
    least = np.zeros(past.releases, np.int64)
    times, first = np.unique(standing.arrived, return_index=True)
    least[times] = np.minimum.reduceat(left, first)
    lowest = np.flatnonzero(left == left.min())
    chain = int(lowest[np.lexsort((*standing.nodes[::-1, lowest], standing.arrived[lowest]))[0]])
    worst = Worst(int(left[chain]), int(standing.arrived[chain]), tuple(standing.nodes[:, chain].tolist()))
    low = np.flatnonzero(np.repeat(left < limit, standing.held.lengths))
    people = np.minimum(np.bincount(standing.entry[low], standing.term[low], len(last.count)), last.count)
    exposed = int((left < limit).sum())
    return Tally(tuple(least.tolist()), worst, _stood(past, worst), exposed, int(people.sum()), last.records)


def _stood(past: Past, worst: Worst) -> tuple[Stood, ...]:
    """The groups around the nodes of a chain, release by release."""
    around = past.release >= worst.arrived
    for column, node, groups in zip(past.quasi, worst.nodes, past.shown.nodes, strict=True):
        around &= (column.lo[groups] <= column.lo[node]) & (column.hi[groups] >= column.hi[node])
    return tuple(
        Stood(int(past.shown.sizes[group]), {c.name: c.texts[n] for c, n in zip(past.quasi, nodes, strict=True)})
        for group, nodes in ((g, past.shown.nodes[:, g].tolist()) for g in np.flatnonzero(around).tolist())
    )
