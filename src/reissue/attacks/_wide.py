"""Polynomials with positive coefficients of any size: floats, each with a binary exponent of its own.

Floats overflow where binomial coefficients begin to matter, and logarithms lose as many digits as the number is long.
A mantissa and an exponent lose nothing: sums and products of positive numbers keep their relative error, which grows by
one rounding an operation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from reissue._arrays import Floats, Ints

__all__ = ["Wide", "binomials"]

_NOTHING = -(2**40)
"""The exponent of zero: less than any other."""
_PLAIN = 480
"""Products of numbers with exponents up to here, and sums of 2^60 of them, fit a float."""
_CHUNK = 32
"""So many ratios between 1e-9 and 1e9 multiply without overflow."""


@dataclass(frozen=True, eq=False)
class Wide:
    """A polynomial's coefficients as mantissa times a power of two: what a float is, without its bounds."""

    mantissa: Floats
    """0, or at least 1/2 and below 1."""
    exponent: Ints

    @classmethod
    def of(cls, mantissa: Floats, exponent: Ints | int = 0) -> "Wide":
        """The same numbers with their mantissas in range."""
        mantissa, shift = np.frexp(mantissa)
        return cls(mantissa, np.where(mantissa == 0, _NOTHING, exponent + shift.astype(np.int64)))

    def __len__(self) -> int:
        return len(self.mantissa)

    def times(self, other: "Wide", top: int) -> "Wide":
        """The product of two polynomials, up to x^top."""
        a, b = self.plain(), other.plain()
        if a is not None and b is not None:
            return Wide.of(np.convolve(a, b)[: top + 1])
        slope = max(self.slope(), other.slope(), key=abs)
        length = min(top, len(self) + len(other) - 2) + 1
        sums, highest = np.zeros(length), np.full(length, _NOTHING)
        theirs = list(other.pieces(slope))
        for start, mine, power in self.pieces(slope):
            for begin, its, more in theirs:
                at = slice(start + begin, min(start + begin + len(mine) + len(its) - 1, length))
                if at.start < length:
                    _add(sums[at], highest[at], np.convolve(mine, its)[: at.stop - at.start], power + more)
        return Wide.of(sums, highest + slope * np.arange(length))

    def plus(self, other: "Wide") -> "Wide":
        """The sum of two polynomials."""
        length = max(len(self), len(other))
        a, b = self.padded(length), other.padded(length)
        highest = np.maximum(a.exponent, b.exponent)
        sums = _shifted(a.mantissa, a.exponent - highest) + _shifted(b.mantissa, b.exponent - highest)
        return Wide.of(sums, highest)

    def weighted(self, weights: Floats) -> "Wide":
        """Every coefficient times a number."""
        return Wide.of(self.mantissa * weights, self.exponent)

    def against(self, other: "Wide", top: int) -> "Wide":
        """The x^top coefficient of the product, alone."""
        j = np.arange(max(0, top + 1 - len(other)), min(top + 1, len(self)))
        exponent = self.exponent[j] + other.exponent[top - j]
        highest = int(exponent.max(initial=_NOTHING))
        mantissa = self.mantissa[j] * other.mantissa[top - j]
        return Wide.of(_shifted(mantissa, exponent - highest).sum(keepdims=True), highest)

    def over(self, other: "Wide") -> float:
        """The first coefficient divided by another's."""
        if not self.mantissa[0]:
            return 0.0
        shift = np.clip(self.exponent[0] - other.exponent[0], -1100, 1000)
        return float(np.ldexp(self.mantissa[0] / other.mantissa[0], int(shift)))

    def plain(self) -> Floats | None:
        """As floats, where products of such numbers do not overflow or underflow."""
        some = self.exponent[self.mantissa > 0]
        if len(some) and (some.max() > _PLAIN or some.min() < -_PLAIN):
            return None
        return _shifted(self.mantissa, self.exponent)

    def slope(self) -> int:
        """About how many bits each coefficient has more than the one before."""
        some = np.flatnonzero(self.mantissa)
        if len(some) < 2:
            return 0
        rise = int(self.exponent[some[-1]] - self.exponent[some[0]])
        return round(rise / int(some[-1] - some[0]))

    def pieces(self, slope: int) -> Iterator[tuple[int, Floats, int]]:
        """Runs of coefficients as plain floats, once 2^(slope x place) is taken out: start, floats, common exponent.

        Powers of two are taken out exactly, so this rounds nothing.
        """
        exponent = self.exponent - slope * np.arange(len(self))
        waiting = [(0, len(self))]
        while waiting:
            start, stop = waiting.pop()
            some = start + np.flatnonzero(self.mantissa[start:stop])
            if not len(some):
                continue
            highest = int(exponent[some].max())
            if highest - int(exponent[some].min()) <= _PLAIN:
                shift = np.where(self.mantissa[start:stop] > 0, exponent[start:stop] - highest, 0)
                yield start, _shifted(self.mantissa[start:stop], shift), highest
            else:
                waiting += [(start, (start + stop) // 2), ((start + stop) // 2, stop)]

    def padded(self, length: int) -> "Wide":
        more = length - len(self)
        if not more:
            return self
        return Wide(np.append(self.mantissa, np.zeros(more)), np.append(self.exponent, np.full(more, _NOTHING)))


def _add(sums: Floats, highest: Ints, terms: Floats, power: int) -> None:
    """Add numbers with a common exponent to sums with exponents of their own."""
    mantissa, shift = np.frexp(terms)
    exponent = np.where(mantissa > 0, shift + np.int64(power), _NOTHING)
    top = np.maximum(highest, exponent)
    sums[:] = _shifted(sums, highest - top) + _shifted(mantissa, exponent - top)
    highest[:] = top


def _shifted(mantissa: Floats, exponent: Ints) -> Floats:
    return np.ldexp(mantissa, np.maximum(exponent, -1100).astype(np.int32))


@lru_cache(maxsize=512)
def binomials(n: int, top: int) -> Wide:
    """C(n, 0), ..., C(n, top), or fewer where n is less: a running product of (n-j+1) / j."""
    top = min(n, top)
    j = np.arange(1, top + 1, dtype=np.float64)
    ratios = np.append((n - j + 1) / j, np.ones(-top % _CHUNK)).reshape(-1, _CHUNK)
    mantissa, shift = np.frexp(np.cumprod(ratios, axis=1))
    start, power = np.ones(len(ratios)), np.zeros(len(ratios), np.int64)
    for row in range(1, len(ratios)):
        whole, carried = np.frexp(start[row - 1] * mantissa[row - 1, -1])
        start[row], power[row] = whole, power[row - 1] + shift[row - 1, -1] + carried
    return Wide.of(
        np.append(1.0, mantissa * start[:, np.newaxis])[: top + 1],
        np.append(0, shift + power[:, np.newaxis])[: top + 1],
    )
