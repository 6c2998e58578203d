"""How many ways there are to place sensitive values, and in how many of them somebody's class breaks a rule.

A group has classes of sizes n_1, n_2, ...; s of its people have a sensitive value, every placement equally likely. A
class of size n with j of them is *fine* or not. Write T for the polynomial whose x^s coefficient counts placements in
which every class is fine, and V for the others, so T + V = (1+x)^N. For two sets of classes with (T, V) and (T', V'):

    T T'    and    V (1+x)^N' + T V'

and only sums and products of positive numbers occur: nothing cancels, so a float's relative error stays within its
number of roundings, however rare a violation is. (The difference of the closed form, C(N,s) minus the coefficient of
the product of truncated binomials, loses everything when violations are rare; a test has it, in whole numbers.)

Classes that are alike form a *block*. All of a block's credibility is in its total count, so prefix and suffix
products run over blocks: O(s N) for all credibilities, against the paper's O(p^2 s + p s^3 l).

Floats overflow beyond about a thousand people, and logarithms lose as many digits as the number is long. From there
every coefficient has a mantissa and a binary exponent of its own: no overflow, no underflow, and sums and products of
positive numbers keep their relative error, which grows by one rounding an operation. A coefficient is a sum of at most
s + 1 products; with b blocks and c copies in the largest the relative error is below (s + 4) (2 b + 2 log2 c + 4) eps,
eps = 2.2e-16 (measured: below 1e-12 at 10^5 people).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from reissue._arrays import Floats, Ints

__all__ = ["AlikeClasses", "Odds", "ScaledPolynomial", "binomials", "fast"]

_NOTHING = -(2**40)
"""The exponent of zero: less than any other."""
_FITS = 950
"""Exponents up to here, either way, fit a float."""
_RUN = 480
"""Products of numbers with exponents up to here, and sums of 2^60 of them, fit a float."""
_CHUNK = 32
"""This many ratios between 1e-9 and 1e9 multiply without overflow."""


@dataclass(frozen=True, eq=False)
class ScaledPolynomial:
    """A polynomial's coefficients."""

    light: Floats | None
    """The coefficients as floats, where they fit."""
    heavy: tuple[Floats, Ints] | None
    """Otherwise their mantissas (0, or at least 1/2 and below 1) and exponents."""
    low: int = 0
    """Every coefficient is 0, or at least 2^low and at most 2^high."""
    high: int = 0

    @classmethod
    def plain(cls, coefficients: Floats, low: int, high: int) -> "ScaledPolynomial":
        """From floats with known bounds."""
        return cls(coefficients, None, low, high)

    @classmethod
    def of(cls, mantissa: Floats, exponent: Ints | int = 0) -> "ScaledPolynomial":
        """From numbers times powers of two."""
        mantissa, shift = np.frexp(mantissa)
        exponent = np.where(mantissa == 0, _NOTHING, exponent + shift.astype(np.int64))
        some = exponent[mantissa > 0]
        low, high = (int(some.min()) - 1, int(some.max())) if len(some) else (0, 0)
        if low >= -_FITS and high <= _FITS:
            return cls(_shifted(mantissa, exponent), None, low, high)
        return cls(None, (mantissa, exponent), low, high)

    @cached_property
    def parts(self) -> tuple[Floats, Ints]:
        """Mantissas and exponents."""
        if self.heavy is not None:
            return self.heavy
        mantissa, shift = np.frexp(self.light if self.light is not None else np.empty(0))
        return mantissa, np.where(mantissa == 0, _NOTHING, shift.astype(np.int64))

    def __len__(self) -> int:
        return len(self.parts[0] if self.light is None else self.light)

    def at(self, place: int) -> "ScaledPolynomial":
        """One coefficient alone."""
        if self.light is not None:
            return ScaledPolynomial.plain(self.light[place : place + 1], self.low, self.high)
        mantissa, exponent = self.parts
        return ScaledPolynomial.of(mantissa[place : place + 1], exponent[place : place + 1])

    def times(self, other: "ScaledPolynomial", top: int) -> "ScaledPolynomial":
        """The product of two polynomials, up to x^top."""
        low, high = self.low + other.low, self.high + other.high + min(len(self), len(other)).bit_length()
        if self.light is not None and other.light is not None and low >= -_FITS and high <= _FITS:
            return ScaledPolynomial.plain(np.convolve(self.light, other.light)[: top + 1], low, high)
        slope = max(self.slope(), other.slope(), key=abs)
        length = min(top, len(self) + len(other) - 2) + 1
        sums, highest = np.zeros(length), np.full(length, _NOTHING)
        theirs = list(other.runs(slope))
        for start, mine, power in self.runs(slope):
            for begin, its, more in theirs:
                at = slice(start + begin, min(start + begin + len(mine) + len(its) - 1, length))
                if at.start < length:
                    _add(sums[at], highest[at], np.convolve(mine, its)[: at.stop - at.start], power + more)
        return ScaledPolynomial.of(sums, highest + slope * np.arange(length))

    def plus(self, other: "ScaledPolynomial") -> "ScaledPolynomial":
        """The sum of two polynomials."""
        short, long = (self, other) if len(self) <= len(other) else (other, self)
        if short.light is not None and long.light is not None and max(short.high, long.high) < _FITS:
            sums = long.light.copy()
            sums[: len(short)] += short.light
            return ScaledPolynomial.plain(sums, min(short.low, long.low), max(short.high, long.high) + 1)
        (a, power), (b, more) = short.parts, long.parts
        highest = more.copy()
        np.maximum(highest[: len(short)], power, out=highest[: len(short)])
        sums = _shifted(b, more - highest)
        sums[: len(short)] += _shifted(a, power - highest[: len(short)])
        return ScaledPolynomial.of(sums, highest)

    def weighted(self, weights: Floats) -> "ScaledPolynomial":
        """Every coefficient times a number between 0 and 1."""
        if self.light is not None:
            least = float(weights.min(where=weights > 0, initial=1.0))
            low = self.low + int(np.frexp(least)[1]) - 1
            if low >= -_FITS:
                return ScaledPolynomial.plain(self.light * weights, low, self.high)
        mantissa, exponent = self.parts
        return ScaledPolynomial.of(mantissa * weights, exponent)

    def against(self, other: "ScaledPolynomial", top: int) -> "ScaledPolynomial":
        """The x^top coefficient of the product, alone."""
        first, after = max(0, top + 1 - len(other)), min(top + 1, len(self))
        if first >= after:
            return ScaledPolynomial.plain(np.zeros(1), 0, 0)
        mine, its = slice(first, after), slice(top - after + 1, top - first + 1)
        low, high = self.low + other.low, self.high + other.high + (after - first).bit_length()
        if self.light is not None and other.light is not None and low >= -_FITS and high <= _FITS:
            return ScaledPolynomial.plain(np.array([self.light[mine] @ other.light[its][::-1]]), low, high)
        (a, power), (b, more) = self.parts, other.parts
        exponent = power[mine] + more[its][::-1]
        highest = int(exponent.max())
        return ScaledPolynomial.of(_shifted(a[mine] * b[its][::-1], exponent - highest).sum(keepdims=True), highest)

    def over(self, other: "ScaledPolynomial") -> float:
        """The first coefficient divided by another's."""
        if self.light is not None and other.light is not None and self.high - other.low < _FITS:
            return float(self.light[0] / other.light[0])
        (a, power), (b, more) = self.parts, other.parts
        if not a[0]:
            return 0.0
        return float(np.ldexp(a[0] / b[0], int(np.clip(power[0] - more[0], -1100, 1000))))

    def slope(self) -> int:
        """About how many bits each coefficient has more than the one before."""
        mantissa, exponent = self.parts
        some = np.flatnonzero(mantissa)
        if len(some) < 2:
            return 0
        return round(int(exponent[some[-1]] - exponent[some[0]]) / int(some[-1] - some[0]))

    def runs(self, slope: int) -> Iterator[tuple[int, Floats, int]]:
        """Runs of coefficients as plain floats, once 2^(slope x place) is taken out: start, floats, common exponent.

        Powers of two are taken out exactly, so this rounds nothing.
        """
        mantissa, exponent = self.parts
        exponent = exponent - slope * np.arange(len(mantissa))
        waiting = [(0, len(mantissa))]
        while waiting:
            start, stop = waiting.pop()
            some = start + np.flatnonzero(mantissa[start:stop])
            if not len(some):
                continue
            highest = int(exponent[some].max())
            if highest - int(exponent[some].min()) <= _RUN:
                shift = np.where(mantissa[start:stop] > 0, exponent[start:stop] - highest, 0)
                yield start, _shifted(mantissa[start:stop], shift), highest
            else:
                waiting += [(start, (start + stop) // 2), ((start + stop) // 2, stop)]


def _add(sums: Floats, highest: Ints, terms: Floats, power: int) -> None:
    """Add numbers with a common exponent to sums with exponents of their own."""
    mantissa, shift = np.frexp(terms)
    exponent = np.where(mantissa > 0, shift + np.int64(power), _NOTHING)
    top = np.maximum(highest, exponent)
    sums[:] = _shifted(sums, highest - top) + _shifted(mantissa, exponent - top)
    highest[:] = top


def _shifted(mantissa: Floats, exponent: Ints) -> Floats:
    return np.ldexp(mantissa, np.maximum(exponent, -1100).astype(np.int32))


@lru_cache(maxsize=2048)
def binomials(n: int, top: int) -> ScaledPolynomial:
    """C(n, 0), ..., C(n, top), or fewer where n is less: a running product of (n-j+1) / j."""
    top = min(n, top)
    j = np.arange(1, top + 1, dtype=np.float64)
    if n <= _FITS:
        return ScaledPolynomial.plain(np.append(1.0, np.cumprod((n - j + 1) / j)), 0, n)
    ratios = np.append((n - j + 1) / j, np.ones(-top % _CHUNK)).reshape(-1, _CHUNK)
    mantissa, shift = np.frexp(np.cumprod(ratios, axis=1))
    start, power = np.ones(len(ratios)), np.zeros(len(ratios), np.int64)
    for row in range(1, len(ratios)):
        whole, carried = np.frexp(start[row - 1] * mantissa[row - 1, -1])
        start[row], power[row] = whole, power[row - 1] + shift[row - 1, -1] + carried
    return ScaledPolynomial.of(
        np.append(1.0, mantissa * start[:, np.newaxis])[: top + 1],
        np.append(0, shift + power[:, np.newaxis])[: top + 1],
    )


_LEAST = 5e-324
"""The smallest share that is not nothing."""


@dataclass(frozen=True, eq=False)
class AlikeClasses:
    """Classes that are alike: as many people in the group, and the same chance to be fine with j of them sensitive."""

    size: int
    """The people that each class has in the group."""
    fine: Floats
    """By j = 0, ..., size: 1 where a class with j sensitive values is fine, 0 where it is not, or a chance between."""
    copies: int = 1

    @property
    def people(self) -> int:
        """The people of all its classes."""
        return self.size * self.copies


@dataclass(frozen=True, eq=False)
class Odds:
    """What is left when the placements without a violation are excluded."""

    kept: float
    """The share of placements that are kept: 1 says that nothing is excluded, 0 that nothing is left."""
    credibility: Floats
    """Block to the chance that one of its people has a sensitive value; the plain share where nothing is left."""


# --- blocks together -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pair:
    """Placements among some people: those in which every class is fine, and the others."""

    people: int
    fine: ScaledPolynomial
    broken: ScaledPolynomial

    def join(self, other: "_Pair", top: int) -> "_Pair":
        """The placements among both."""
        fine = self.fine.times(other.fine, top)
        broken = self.broken.times(binomials(other.people, top), top).plus(self.fine.times(other.broken, top))
        return _Pair(self.people + other.people, fine, broken)


_NOBODY = _Pair(0, ScaledPolynomial.plain(np.ones(1), 0, 0), ScaledPolynomial.plain(np.zeros(1), 0, 0))


def fast(blocks: Sequence[AlikeClasses], sensitive: int) -> Odds:
    """The credibility of every block, in floats; see the module's docstring for the error."""
    pairs = [_pair(block, sensitive) for block in blocks]
    before, after = [_NOBODY], [_NOBODY]
    for pair in pairs:
        before.append(before[-1].join(pair, sensitive))
    for pair in reversed(pairs[1:]):
        after.append(pair.join(after[-1], sensitive))
    whole = before[-1]
    total = whole.broken.at(sensitive) if len(whole.broken) > sensitive else _NOBODY.broken
    if not total.parts[0][0]:
        return Odds(0.0, np.full(len(blocks), sensitive / max(whole.people, 1)))
    shares = [
        _hits(pair, front, back, sensitive).over(total)
        for pair, front, back in zip(pairs, before[:-1], reversed(after), strict=True)
    ]
    kept = total.over(binomials(whole.people, sensitive).at(sensitive))
    return Odds(min(max(kept, _LEAST), 1.0), np.minimum(shares, 1.0))


def _pair(block: AlikeClasses, top: int) -> _Pair:
    """All copies of a block's class: squared and multiplied."""
    ways = binomials(block.size, top)
    fine = block.fine[: len(ways)]
    one = _Pair(block.size, ways.weighted(fine), ways.weighted(1 - fine))
    result = _NOBODY
    for bit in f"{block.copies:b}":
        result = result.join(result, top)
        if bit == "1":
            result = result.join(one, top)
    return result


def _hits(pair: _Pair, front: _Pair, back: _Pair, sensitive: int) -> ScaledPolynomial:
    """The share of sensitive values among a block's people, summed over all placements with a violation."""
    share = np.arange(sensitive + 1) / pair.people
    broken = pair.broken.weighted(share[: len(pair.broken)])
    fine = pair.fine.weighted(share[: len(pair.fine)])
    hits = broken.against(binomials(front.people + back.people, sensitive), sensitive)
    hits = hits.plus(fine.times(front.broken, sensitive).against(binomials(back.people, sensitive), sensitive))
    return hits.plus(fine.times(front.fine, sensitive).against(back.broken, sensitive))
