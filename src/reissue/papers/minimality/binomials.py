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

Floats overflow beyond about a thousand people; from there every coefficient has a binary exponent of its own
(`counting.polynomials`): no overflow, no underflow. A coefficient is a sum of at most s + 1 products; with b blocks and
c copies in the largest the relative error is below (s + 4) (2 b + 2 log2 c + 4) eps, eps = 2.2e-16 (measured: below
1e-12 at 10^5 people).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats
from reissue.counting.polynomials import ScaledPolynomial, binomials

__all__ = ["AlikeClasses", "Odds", "fast"]

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
