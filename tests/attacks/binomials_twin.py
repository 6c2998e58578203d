"""Placements with a violation in whole numbers, by the closed form: the twin of `fast`, which rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from reissue.papers.minimality.binomials import AlikeClasses

__all__ = ["Exact", "exact"]


@dataclass(frozen=True)
class Exact:
    """The same in whole numbers and fractions."""

    worlds: int
    """Placements with a violation."""
    total: int
    """All placements."""
    credibility: tuple[Fraction, ...]


def exact(blocks: Sequence[AlikeClasses], sensitive: int) -> Exact:
    """All placements in whole numbers, by the closed form; `fine` must be 0 or 1."""
    people = [block.people for block in blocks]
    total = comb(sum(people), sensitive)
    fine = [_exact_power(block, sensitive) for block in blocks]
    worlds = total - _exact_product(fine, sensitive)[sensitive]
    shares = []
    for place, (mine, own) in enumerate(zip(people, fine, strict=True)):
        rest = _exact_product(fine[:place] + fine[place + 1 :], sensitive)
        others = sum(people) - mine
        hits = sum(
            j * (comb(mine, j) * comb(others, sensitive - j) - own[j] * rest[sensitive - j])
            for j in range(min(sensitive, mine) + 1)
        )
        shares.append(Fraction(hits, mine * worlds) if worlds else Fraction(sensitive, sum(people)))
    return Exact(worlds, total, tuple(shares))


def _exact_power(block: AlikeClasses, top: int) -> list[int]:
    one = [comb(block.size, j) * int(block.fine[j]) for j in range(min(block.size, top) + 1)]
    return _exact_product([one] * block.copies, top)


def _exact_product(factors: Sequence[list[int]], top: int) -> list[int]:
    result = [1] + [0] * top
    for factor in factors:
        result = [sum(factor[j] * result[k - j] for j in range(min(k, len(factor) - 1) + 1)) for k in range(top + 1)]
    return result
