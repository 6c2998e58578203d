"""Public beliefs: what each adversary knows of a person after a release, in bounded memory.

A *state* is everything that decides how a person's next value is drawn: the posterior of the present value for each
adversary, the prior (what presence alone tells), and past events. People with the same class, published values and
presence have the same state, so there are far fewer states than people.

**Past events, bounded.** For each past release s, event x and present value u let f(s, x, u) be the probability of x
at s given u and everything published, as a share of the limit of x. The posterior of x at s is the mean of f over u,
now and after any further release, so keeping f for every s would be exact. It is not necessary:

- Where f(s, x, u) is at most 1 for every u, no later release can raise the mean above 1. It is settled, and forgotten.
- The latest releases have a layer each, exact. Older ones share one layer, the largest f at each (x, u). The mean of
  the largest is at least the largest mean, and a Markov step keeps that order: older releases are judged
  conservatively, never too mildly.
- Whoever was first published long ago keeps the published value for good (`Mechanism.fresh`). That is always safe, so
  past events of theirs need not be known any more. New draws are rare: at most limits, nearly all beliefs have no room.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.randomized.adversaries import normalized
from reissue.randomized.layout import Blocks, EventLayout
from reissue.randomized.rule import Passage

__all__ = ["Outcomes", "PublicBeliefs", "joined", "moved_on"]


@dataclass(frozen=True, eq=False)
class PublicBeliefs:
    """A row for each state."""

    belief: Floats
    """States x adversaries x values."""
    prior: Floats
    """The same shape: what presence alone would tell."""
    past: Blocks
    """States x adversaries x layers x blocks x events x values, the oldest layer first; single precision."""
    age: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """How many releases ago people in the state were first published."""

    def __len__(self) -> int:
        return len(self.belief)

    def take(self, rows: Ints | slice) -> "PublicBeliefs":
        """Some of the states."""
        return PublicBeliefs(self.belief[rows], self.prior[rows], tuple(one[rows] for one in self.past), self.age[rows])

    def of(self, adversary: int, rows: Ints | slice) -> tuple[Floats, Floats, Blocks]:
        """Beliefs, priors and past events of some states, for one adversary."""
        return (
            self.belief[rows, adversary],
            self.prior[rows, adversary],
            tuple(one[rows, adversary].astype(np.float64) for one in self.past),
        )

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        return self.belief.nbytes + self.prior.nbytes + sum(one.nbytes for one in self.past)


def joined(parts: Sequence[PublicBeliefs]) -> PublicBeliefs:
    """One after the other."""
    past = tuple(np.concatenate(every) for every in zip(*(part.past for part in parts), strict=True))
    return PublicBeliefs(
        np.concatenate([part.belief for part in parts]),
        np.concatenate([part.prior for part in parts]),
        past,
        np.concatenate([part.age for part in parts]),
    )


class Outcomes(NamedTuple):
    """What was published for each of some states, as likelihoods."""

    kept: Floats
    """1 if the published value is that of the last release, else 0."""
    changed: Floats
    """States x values: the likelihood of the outcome if the value changed to this one."""


def moved_on(layout: EventLayout, moved: Passage, outcome: Outcomes, layers: int) -> tuple[Floats, Blocks]:
    """Posteriors of the present value (states x values), and past events given it, after an outcome."""
    same = moved.same * outcome.kept[:, np.newaxis]
    changed = moved.changed * outcome.changed
    total = same + changed
    past = []
    for group, past_same, past_changed in zip(layout.groups, moved.past_same, moved.past_changed, strict=True):
        weight = outcome.changed[:, group.values][:, np.newaxis, :, np.newaxis, :]
        every = past_same * outcome.kept[:, np.newaxis, np.newaxis, np.newaxis, np.newaxis] + past_changed * weight
        mass = total[:, group.values][:, np.newaxis, :, np.newaxis, :]
        past.append(np.divide(every, mass, out=np.zeros_like(every), where=mass > 0))
    return normalized(total), _bounded(layout, past, layers)


def _bounded(layout: EventLayout, past: list[Floats], layers: int) -> Blocks:
    """Forget what is settled, and let the oldest two releases share a layer."""
    settled = layout.largest([one.max(-1) for one in past]) <= 1
    kept = []
    for group, every in zip(layout.groups, past, strict=True):
        open_ = np.where(settled[:, :, group.events][..., np.newaxis], 0.0, every)
        oldest = open_[:, : open_.shape[1] - layers + 1].max(1, keepdims=True)
        kept.append(np.concatenate([oldest, open_[:, open_.shape[1] - layers + 1 :]], axis=1).astype(np.float32))
    return tuple(kept)
