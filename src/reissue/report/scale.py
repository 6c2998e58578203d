"""Axes: from numbers to places on the paper, with ticks at round numbers."""

import math
from dataclasses import dataclass

__all__ = ["Axis", "fit"]


@dataclass(frozen=True)
class Axis:
    """A line of numbers between two places."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Where a number stands."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self, about: int = 4) -> list[tuple[float, str]]:
        """Places and texts of round numbers."""
        step = _step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(self(count * step), f"{count * step:,.{digits}f}") for count in range(first, last + 1)]


def fit(low: float, high: float, start: float, stop: float, *, whole: bool = False) -> Axis:
    """An axis that begins and ends at round numbers around what is to be shown."""
    high = high if high > low else low + 1
    step = _step((high - low) / 4)
    step = max(step, 1.0) if whole else step
    return Axis(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, stop)


def _step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, not below."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
