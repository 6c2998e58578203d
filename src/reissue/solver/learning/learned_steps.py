"""Learning how values change from the releases themselves (EM).

Each pair of releases that follow each other in somebody's life is looked at by itself: what the first says of its
people, the step, and what the exact counts of the second's groups say then. Nothing goes round in circles, so the
expected transitions are those of a likelihood, of pairs, and the model that explains them best is near the true one.
(Counted from everyone's posterior over all releases, with counts in expectation, values look far more restless than
they are.) First one number is learned: how many values are drawn anew, at their base rates. Then every row, held by a
few more steps as that number says: where groups are large and few, rows by themselves would fit chance.

Expected transitions are how often each value became which. Of two linked presences of a person the pair of values
(a, b) weighs F(a) P(a, b) Y(b): what is said of the first presence, the step, and what is said of the second. Over an
absence the steps in between are summed over. Dense over people x values in chunks; O(linked presences x values
squared) multiplications, all in matrix products.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.iterative_scaling import Chains, Scaling, before_of, scale
from reissue.solver.observations import TINY, Layer
from reissue.solver.permanents import SmallGroups, small_groups
from reissue.solver.sharpening import Said, beside, exact_groups
from reissue.solver.transitions import Model, rows_at_once

__all__ = ["Learning", "expected_transitions", "learn_steps", "smoothed", "staying"]

_SMOOTHING = 0.5
"""Steps of a value that are added to those counted: so many stay, and so many lead to what is frequent."""

_FEWEST, _MOST = 1e-4, 0.95
"""The share of values that are drawn anew is looked for between these."""
_HOLD = 0.05
"""How much the share of all values holds each row: steps as it says, for each step counted."""
_FIT = Scaling(rounds=12, tolerance=1e-3)
_CELLS = 4_000_000
"""Cells of a table of people x values, at most."""


@dataclass(frozen=True)
class Learning:
    """How long to learn."""

    drawn: int = 12
    """Rounds, at most, for the share of values that are drawn anew."""
    rows: int = 16
    """Rounds, at most, for every row of the model."""
    enough: float = 0.003
    """Rounds end when what is learned moves by less than this: the share, or rows, half L1 on average."""


@dataclass(frozen=True, eq=False)
class _Alone:
    """Each release by itself: what it says of its people."""

    layers: Sequence[Layer]
    said: Sequence[Said]
    small: Sequence[Sequence[SmallGroups]]
    """Layer to its small groups."""
    believed: Sequence[Floats]
    """Layer to the probability of each entry."""
    often: Floats
    times: Sequence[int] | None

    @classmethod
    def of(cls, layers: Sequence[Layer], often: Floats, times: Sequence[int] | None) -> "_Alone":
        still = Model(len(often))
        scaled = [scale(Chains.of([layer], still), Scaling(sweeps=30)).multipliers[0] for layer in layers]
        small = [small_groups([layer]) for layer in layers]
        wide = [beside(one, [layer])[0] for one, layer in zip(small, layers, strict=True)]
        said = [Said.of(one[0], one[0].said(one[1]), *one[1:]) for one in zip(layers, scaled, wide, strict=True)]
        return cls(layers, said, small, [one.layer.normalized(one.entries) for one in said], often, times)

    def transitions(self, steps: Floats) -> tuple[Floats, "_Alone"]:
        """Expected transitions under a model; and the same with multipliers that are nearer."""
        model = Model(len(steps), steps)
        people = max(int(layer.person.max(initial=-1)) + 1 for layer in self.layers)
        chains = Chains.of(self.layers, model, np.broadcast_to(self.often, (people, len(steps))), self.times)
        flat, nearer, since = np.concatenate(self.believed), [], []
        for place, one in enumerate(self.said):
            before = one.layer.normalized(before_of(chains, place, chains.beginnings(place), flat))
            nearer.append(one.fitted(before, _FIT))
            (exact,) = exact_groups(self.small[place], nearer[-1:], [before])
            since.append(nearer[-1].exactly(before, exact, half=False).entries)
        return expected_transitions(chains, self.believed, since, model), replace(self, said=nearer)


def learn_steps(
    layers: Sequence[Layer],
    often: Floats,
    how: Learning | None = None,
    *,
    first: Floats | None = None,
    times: Sequence[int] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Floats:
    """Value x value: how likely a value becomes which; `often` are base rates, `first` is what was learned before."""
    how, alone = how or Learning(), _Alone.of(layers, often, times)
    total = how.drawn + how.rows
    if first is None:
        first = staying(often, _share_drawn(alone, how, lambda done: progress(done * how.drawn / total)))
    held, steps = first, first
    for turn in range(how.rows):
        counts, alone = alone.transitions(steps)
        before, steps = steps, _held(counts, held)
        progress((how.drawn + turn + 1) / total)
        if float(np.abs(steps - before).sum()) / 2 < how.enough * len(steps):
            break
    return steps


def _share_drawn(alone: _Alone, how: Learning, progress: Callable[[float], None]) -> float:
    """The share of values that are drawn anew from one release to the next: where a round of EM would leave it.

    Looked for between bounds. Round by round EM would creep there where groups are large, and seem to have arrived.
    """
    from scipy.optimize import brentq

    done = 0

    def gain(share: float) -> float:
        nonlocal done
        counts, _ = alone.transitions(staying(alone.often, share))
        done += 1
        progress(min(done / how.drawn, 1.0))
        return _drawn(counts, alone.often, share) - share

    if gain(_FEWEST) <= 0:
        return _FEWEST
    if gain(_MOST) >= 0:
        return _MOST
    return float(brentq(gain, _FEWEST, _MOST, xtol=how.enough, maxiter=how.drawn, disp=False))


def _drawn(counts: Floats, often: Floats, share: float) -> float:
    """The share of steps that were draws: all to another value, and of those to the same what chance has of them."""
    same = np.diag(counts)
    chance = share * often / np.maximum(1 - share + share * often, TINY)
    return float((counts.sum() - same.sum() + (same * chance).sum()) / max(float(counts.sum()), TINY))


def _held(counts: Floats, rows: Floats) -> Floats:
    """Rows of probabilities, held by some steps as given: a share of those counted."""
    more = counts + (_HOLD * counts.sum(axis=1, keepdims=True) + _SMOOTHING) * rows
    return np.asarray(more / more.sum(axis=1, keepdims=True))


def smoothed(counts: Floats) -> Floats:
    """Rows of probabilities; what was never seen stays possible."""
    every = counts.sum(axis=0) + 1e-9
    more = counts + _SMOOTHING * every / every.sum() + np.eye(len(counts)) * _SMOOTHING
    return np.asarray(more / more.sum(axis=1, keepdims=True))


def staying(often: Floats, changes: float) -> Floats:
    """A first guess: this share of values changes, to what is frequent."""
    steps = np.tile(changes * often, (len(often), 1))
    steps[np.diag_indices(len(often))] += 1 - changes
    return np.asarray(steps / steps.sum(axis=1, keepdims=True))


# --- expected transitions ---------------------------------------------------------------------------------------------


def expected_transitions(chains: Chains, upto: Sequence[Floats], since: Sequence[Floats], model: Model) -> Floats:
    """Value x value: how many steps of one release lead from one to the other, by what is said of linked presences.

    `upto` is what is said of a presence that another one follows, `since` of one that follows another.
    """
    values = np.concatenate([layer.value for layer in chains.layers])
    flat = np.concatenate(upto)
    total = np.zeros((model.values, model.values))
    size = rows_at_once(model.values, max(_CELLS // model.values, 1))
    for layer, links, said in zip(chains.layers, chains.links, since, strict=True):
        pairs = links.pairing
        for gap in np.unique(pairs.gap):
            linked = np.flatnonzero(pairs.gap == gap)
            for begin in range(0, len(linked), size):
                some = linked[begin : begin + size]
                first = _table(pairs.source_start[some], pairs.source_width[some], values, flat, model.values)
                second = _table(pairs.target_start[some], pairs.target_width[some], layer.value, said, model.values)
                total += _steps(first, second, model, int(gap))
    return total


def _table(starts: Ints, widths: Ints, values: Ints, weights: Floats, size: int) -> Floats:
    """People x values, 0 where a person cannot have a value."""
    entries = ranges(starts, widths)
    table = np.zeros((len(starts), size))
    table[np.repeat(np.arange(len(starts)), widths), values[entries]] = weights[entries]
    return table


def _steps(first: Floats, second: Floats, model: Model, gap: int) -> Floats:
    """The expected steps of people with the same number of releases between two presences."""
    step = model.after(1)
    weight = ((first @ model.after(gap)) * second).sum(axis=1)
    second = second / np.maximum(weight, TINY)[:, np.newaxis]
    made = np.zeros_like(step)
    for done in range(gap):
        made += step * ((first @ model.after(done)).T @ (second @ model.after(gap - 1 - done).T))
    return made
