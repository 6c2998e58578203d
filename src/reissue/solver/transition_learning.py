"""How values change, learned from pairs of releases: expectation-maximization over pairs of releases.

Each pair of releases that follow each other in somebody's life is looked at by itself: what the first says about its
people, the transition, and what the exact counts of the second's groups say then. This is a composite likelihood of
pairs, in which no evidence is counted twice. (Transitions counted from everyone's posterior over all releases, with
counts in expectation, look far more restless than they are.) First one number is estimated, the share of values that
are drawn anew at their base rates; then every row of the matrix, held near what that number says.

Of two linked presences of a person, the values (a, b) weigh F(a) P(a, b) Y(b): what is said of the first presence, the
transition, and what is said of the second. Over an absence the transitions in between are summed over.
O(linked presences x values squared) multiplications, in matrix products.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.belief_propagation import Message, exact_groups, in_large_groups
from reissue.solver.permanents import SmallGroups, small_groups
from reissue.solver.scaling import Chains, Scaling, before_of, beginners, first_weights, scale
from reissue.solver.states import HELD, TINY, ReleaseStates
from reissue.solver.transitions import Model, pairings, rows_at_once

__all__ = ["FEWEST", "MOST", "expected_transitions", "learn_steps", "smoothed", "staying"]

_SMOOTHING = 0.5
"""Transitions of each value that are added to those counted, that many to itself and that many
to what is frequent, so that what was never seen stays possible."""
FEWEST, MOST = 1e-4, 0.95
"""Bounds of the share of values that are drawn anew."""
_HOLD = 0.05
"""Transitions as the share of all values has them that are added to each row, in proportion to those counted."""
_FIT = Scaling(rounds=12, tolerance=1e-3)
_DRAWN, _ROWS, _MORE = 12, 16, 2
"""Rounds, at most: for the share of values that are drawn anew, for every row of the matrix, and for every row where
earlier releases have taught them before."""
_ENOUGH = 0.003
"""Rounds end when what is learned moves by less than this: the share, or rows, half L1 on average."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Each release by itself: what it says about its people."""

    messages: Sequence[Message]
    small: Sequence[Sequence[SmallGroups]]
    """Small groups of each release."""
    chance: Sequence[Floats]
    """Probability of each state, by its release pairs."""
    often: Floats
    times: Sequence[int] | None

    @classmethod
    def of(cls, releases: Sequence[ReleaseStates], often: Floats, times: Sequence[int] | None) -> "_Pairs":
        still = Model(len(often))
        fits = [scale(Chains.of([one], still), Scaling(sweeps=30)).multipliers[0] for one in releases]
        small = [small_groups([one]) for one in releases]
        large = [in_large_groups(groups, [one])[0] for groups, one in zip(small, releases, strict=True)]
        messages = [Message.of(*one) for one in zip(releases, fits, large, strict=True)]
        return cls(messages, small, [one.release.normalized(one.states) for one in messages], often, times)

    def transitions(self, steps: Floats) -> tuple[Floats, "_Pairs"]:
        """Expected transitions under a model; and the same with multipliers that are nearer."""
        model, releases = Model(len(steps), steps), [one.release for one in self.messages]
        people = max(int(one.person.max(initial=-1)) + 1 for one in releases)
        prior = np.broadcast_to(self.often, (people, len(steps)))
        linked = zip(releases, pairings(releases, self.times), strict=True)
        chains = Chains.of(
            releases, model, self.times, [first_weights(one, beginners(one, pairing), prior) for one, pairing in linked]
        )
        flat, nearer, since = np.concatenate(self.chance), [], []
        for place, one in enumerate(self.messages):
            before = one.release.normalized(before_of(chains, place, chains.weights(place), flat))
            nearer.append(one.refitted(before, _FIT))
            (exact,) = exact_groups(self.small[place], nearer[-1:], [before])
            since.append(nearer[-1].exact(before, exact, half=False).states)
        return expected_transitions(chains, self.chance, since, model), replace(self, messages=nearer)


def learn_steps(
    releases: Sequence[ReleaseStates],
    often: Floats,
    *,
    first: Floats | None = None,
    times: Sequence[int] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Floats:
    """The transition matrix; `often` are base rates, `first` is what was learned from earlier releases."""
    pairs, rounds = _Pairs.of(releases, often, times), _ROWS if first is None else _MORE
    if first is None:
        first = staying(often, _share_drawn(pairs, lambda done: progress(done * _DRAWN / (_DRAWN + _ROWS))))
    steps = first
    for turn in range(rounds):
        counts, pairs = pairs.transitions(steps)
        before, steps = steps, _held(counts, first)
        progress((_DRAWN + turn + 1) / (_DRAWN + rounds))
        if float(np.abs(steps - before).sum()) / 2 < _ENOUGH * len(steps):
            break
    return steps


def _share_drawn(pairs: _Pairs, progress: Callable[[float], None]) -> float:
    """The fixed point of EM for the share of values that are drawn anew from one release to the next.

    It is searched for between bounds: round by round, EM would creep there and seem to have converged.
    """
    from scipy.optimize import brentq

    asked = count(1)

    def gain(share: float) -> float:
        counts, _ = pairs.transitions(staying(pairs.often, share))
        progress(min(next(asked) / _DRAWN, 1.0))
        return _drawn(counts, pairs.often, share) - share

    if gain(FEWEST) <= 0:
        return FEWEST
    if gain(MOST) >= 0:
        return MOST
    return float(brentq(gain, FEWEST, MOST, xtol=_ENOUGH, maxiter=_DRAWN, disp=False))


def _drawn(counts: Floats, often: Floats, share: float) -> float:
    """The share of transitions that were draws: all to another value, and some of those to the same, by chance."""
    same = np.diag(counts)
    chance = share * often / np.maximum(1 - share + share * often, TINY)
    return float((counts.sum() - same.sum() + (same * chance).sum()) / max(float(counts.sum()), TINY))


def _held(counts: Floats, rows: Floats) -> Floats:
    """Rows of probabilities by counts, held near rows that are given."""
    more = counts + (_HOLD * counts.sum(axis=1, keepdims=True) + _SMOOTHING) * rows
    return np.asarray(more / more.sum(axis=1, keepdims=True))


def smoothed(counts: Floats) -> Floats:
    """Counts of transitions as rows of probabilities, with pseudo-counts."""
    every = counts.sum(axis=0) + 1e-9
    more = counts + _SMOOTHING * every / every.sum() + np.eye(len(counts)) * _SMOOTHING
    return np.asarray(more / more.sum(axis=1, keepdims=True))


def staying(often: Floats, changes: float) -> Floats:
    """The matrix by which a share of values is drawn anew at base rates, and all others stay."""
    steps = np.tile(changes * often, (len(often), 1))
    steps[np.diag_indices(len(often))] += 1 - changes
    return np.asarray(steps / steps.sum(axis=1, keepdims=True))


# --- expected transitions ---------------------------------------------------------------------------------------------


def expected_transitions(chains: Chains, upto: Sequence[Floats], since: Sequence[Floats], model: Model) -> Floats:
    """Expected number of transitions from each value to each other, by what is said about linked presences.

    `upto` is what is said of a presence that another one follows, `since` of one that follows another.
    """
    values = np.concatenate([one.value for one in chains.releases])
    flat = np.concatenate(upto)
    total = np.zeros((model.values, model.values))
    size = rows_at_once(model.values, max(HELD // model.values, 1))
    for release, links, said in zip(chains.releases, chains.links, since, strict=True):
        pairs = links.pairing
        for gap in np.unique(pairs.gap):
            linked = np.flatnonzero(pairs.gap == gap)
            for begin in range(0, len(linked), size):
                some = linked[begin : begin + size]
                first = _table(pairs.source_start[some], pairs.source_width[some], values, flat, model.values)
                second = _table(pairs.target_start[some], pairs.target_width[some], release.value, said, model.values)
                total += _steps(first, second, model, int(gap))
    return total


def _table(starts: Ints, widths: Ints, values: Ints, weights: Floats, size: int) -> Floats:
    """People x values, 0 where a person cannot have a value."""
    states = ranges(starts, widths)
    table = np.zeros((len(starts), size))
    table[np.repeat(np.arange(len(starts)), widths), values[states]] = weights[states]
    return table


def _steps(first: Floats, second: Floats, model: Model, gap: int) -> Floats:
    """Expected transitions of people with the same gap between two presences."""
    step = model.after(1)
    weight = ((first @ model.after(gap)) * second).sum(axis=1)
    second = second / np.maximum(weight, TINY)[:, np.newaxis]
    made = np.zeros_like(step)
    for done in range(gap):
        made += step * ((first @ model.after(done)).T @ (second @ model.after(gap - 1 - done).T))
    return made
