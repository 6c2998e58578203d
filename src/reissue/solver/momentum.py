"""Multipliers of iterative scaling that go on in the direction in which they went."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from reissue._arrays import Floats

__all__ = ["LEAST", "MOST", "Momentum"]

MOST, LEAST = 1e60, 1e-200
"""No multiplier goes beyond these: where counts cannot be reached it would go on for ever."""


@dataclass(eq=False)
class Momentum:
    """Multipliers go on in the direction in which they went, and further from sweep to sweep (Nesterov 1983).

    Where counts can only be had in the limit, what is off shrinks as one over the sweeps without it, as one over their
    square with it. A multiplier that a sweep turns back loses its own; where a sweep makes counts worse all do.
    """

    reached: list[Floats] = field(default_factory=list)
    """Release to the logarithms of its multipliers after the last sweep."""
    sweeps: int = 0

    def further(self, before: Sequence[Floats], after: Sequence[Floats], *, better: bool) -> list[Floats]:
        """The multipliers after a sweep, moved on."""
        last, self.reached = self.reached, [_logs(one) for one in after]
        self.sweeps = self.sweeps + 1 if better and last else 0
        if not self.sweeps:
            return [*after]
        share = self.sweeps / (self.sweeps + 2)
        return [_moved(*one, share) for one in zip(before, after, self.reached, last, strict=True)]


def _moved(before: Floats, after: Floats, reached: Floats, last: Floats, share: float) -> Floats:
    """Multipliers moved on by a share of what they moved, but for those that the last sweep turned back."""
    moved = reached - last
    moved[moved * (reached - _logs(before)) < 0] = 0.0
    further = np.clip(np.exp(reached + share * moved), LEAST, MOST)
    return np.where(after > 0, further, after)


def _logs(multipliers: Floats) -> Floats:
    return np.log(np.where(multipliers > 0, multipliers, 1.0))
