"""What a requirement asks of one class: caps on sets of values where it bounds shares, else its own verdict.

**Worlds with several sensitive values**: who may have what, given that some class broke the requirement.
The same two polynomials as in `binomials`, with one variable for each sensitive value: T counts the worlds in which
every class is fine, V the others. A class's share in a polynomial is the list of its possible histograms, each judged
by the requirement itself, so any requirement will do. Coefficients lie in a dense array with one place for each
histogram that fits the group's: O(classes x histograms x places), which a budget keeps small.

People who may not be in the data at all have one more value, "absent", that no requirement sees.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lgamma, prod

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain, Margin
from reissue.errors import CannotRunError, ReissueError, RequirementError
from reissue.requirements import Requirement
from reissue.requirements._values import Names, Sets, masks, sets_of

__all__ = ["Cap", "RequirementParts", "TooManyError", "WorldsPosterior", "judged", "limit_of", "value_sets", "worlds"]


@dataclass(frozen=True, eq=False)
class Cap:
    """A set of values (a mask over sensitive codes), and how many rows with it a class of a size may have."""

    mask: Bools
    part: Requirement

    def most(self, sizes: Ints) -> Ints:
        """Size to the largest count that is allowed; -1 where the class is too small for any."""
        return self.part.cap(sizes)


@dataclass(frozen=True, eq=False)
class RequirementParts:
    """A requirement taken apart: least size, caps on sets, or neither if it has to be asked itself."""

    requirement: Requirement
    domain: Domain

    @property
    def bounded(self) -> bool:
        """Whether it only bounds the shares of values or sets (and perhaps sizes)."""
        return all(part.capped or part.by_size for part in self.requirement.parts())

    @property
    def least(self) -> int:
        """The rows that a class needs whatever its values."""
        return max((part.least for part in self.requirement.parts() if not part.across), default=1)

    def caps(self, codes: Ints) -> list[Cap]:
        """The caps of a bounded requirement on the sets that touch some codes; single values where it names none."""
        found = []
        for part in self.requirement.parts():
            if part.sensitive:
                sets = part.capped_sets(codes, self.domain)
                found += [Cap(mask, part) for mask in sets if mask[codes].any()]
        return found

    @property
    def everything(self) -> bool:
        """Whether every single value is capped."""
        return any(part.sensitive and not part.named_values for part in self.requirement.parts())


def judged(histograms: Ints, codes: Ints, requirement: Requirement, domain: Domain) -> Bools:
    """The requirement's own verdict on histograms (rows x codes)."""
    group, place = np.nonzero(histograms)
    counts = Counts(group, codes[place], domain, len(histograms), histograms[group, place])
    return requirement.holds(counts)


def value_sets(requirement: Requirement, domain: Domain, values: Names, margins: Sequence[Margin] = ()) -> Bools:
    """The sensitive value sets, sets x codes: given, or named by the requirement, or every value that occurs.

    Every value of each sensitive column, and every combination, that needs protection.
    """
    if sets_of(values):
        return _named(domain, sets_of(values), margins)
    if requirement.named_values:
        return requirement.named_masks(domain)
    found = []
    for margin in margins or (Margin("", None, domain.size, None, np.zeros(domain.size, np.bool_)),):
        labels, inner = margin.labels(domain), margin.domain(domain)
        own = np.eye(inner.size, dtype=np.bool_)[(inner.totals > 0) & ~margin.harmless]
        found.append(own if labels is None else own[:, labels.of_value])
    sets = np.concatenate(found)
    if not len(sets):
        raise CannotRunError("no sensitive value of the release needs protection.")
    return sets


def _named(domain: Domain, sets: Sets, margins: Sequence[Margin]) -> Bools:
    """Named sets, in the first sensitive column that has all of these values."""
    problem: RequirementError | None = None
    for margin in margins:
        labels = margin.labels(domain)
        try:
            found = masks(margin.domain(domain), sets)
        except RequirementError as lacking:
            problem = problem or lacking
        else:
            return found if labels is None else found[:, labels.of_value]
    if problem is not None:
        raise problem
    return masks(domain, sets)


def limit_of(requirement: Requirement) -> float | None:
    """The credibility that a requirement means to allow: 1/l, alpha, a bound; None where it names none."""
    return requirement.share_limit


Judge = Callable[[Ints], Bools]
"""Histograms (rows x values) to whether a class with that histogram is fine."""


class TooManyError(ReissueError):
    """There are more worlds than the budget allows."""


@dataclass(frozen=True, eq=False)
class WorldsPosterior:
    """What an adversary believes who keeps only the worlds with a violation."""

    kept: float
    """The share of worlds that are kept."""
    credibility: Floats
    """Classes x values: the chance that a person of the class, who is in this group, has the value."""


@dataclass(frozen=True, eq=False)
class _Class:
    """A class's possible histograms in the group, how many ways each has, and which leave it fine."""

    histograms: Ints
    ways: Floats
    fine: Bools


@dataclass(frozen=True, eq=False)
class _Pair:
    fine: Floats
    broken: Floats

    @property
    def all(self) -> Floats:
        return self.fine + self.broken


def worlds(
    sizes: Ints, known: Ints, stock: Ints, judge: Judge, budget: int = 5_000_000, absent: int = 0
) -> WorldsPosterior:
    """The posterior over one group's worlds.

    `sizes` are the people of each class in the group, `known` (classes x values) what is known of the rest of each
    class, `stock` the group's own histogram, `absent` how many of the people are not in the data.
    """
    stock = np.append(stock, absent) if absent else stock
    places = prod(int(count) + 1 for count in stock)
    if places > budget:
        raise TooManyError
    keys = np.column_stack([sizes, known])
    distinct, kind = np.unique(keys, axis=0, return_inverse=True)
    kinds: list[_Class] = []
    for size, *rest in distinct.tolist():
        kinds.append(_possible(int(size), np.array(rest, np.int64), stock, judge, budget, absent=bool(absent)))
        if not kinds[-1].fine.any():
            return _unchanged(sizes, stock, len(known.T), 1.0)
    if places * sum(len(kinds[number].ways) for number in kind) > budget:
        raise TooManyError
    return _solve(sizes, [kinds[number] for number in kind], kind, stock, len(known.T))


def _unchanged(sizes: Ints, stock: Ints, values: int, kept: float) -> WorldsPosterior:
    """Theorem 1: where nothing is excluded, and where nothing is left to believe, everyone has the plain share."""
    shares = stock[:values] / max(int(stock[:values].sum()), 1)
    return WorldsPosterior(kept, np.tile(shares, (len(sizes), 1)))


def _possible(size: int, known: Ints, stock: Ints, judge: Judge, budget: int, *, absent: bool) -> _Class:
    histograms = _histograms(size, stock, budget)
    ways = np.array([lgamma(size + 1) - sum(lgamma(n + 1) for n in row) for row in histograms.tolist()])
    present = histograms[:, :-1] if absent else histograms
    whole = present + known
    fine = np.ones(len(whole), np.bool_)
    some = whole.sum(axis=1) > 0
    if some.any():
        fine[some] = judge(whole[some])
    return _Class(histograms, np.rint(np.exp(ways)) if ways.max(initial=0) < 30 else np.exp(ways), fine)


def _histograms(size: int, stock: Ints, budget: int) -> Ints:
    """All histograms of `size` people that the stock allows."""
    rows = np.zeros((1, 0), np.int64)
    left = np.array([size])
    for place, count in enumerate(stock.tolist()):
        later = int(stock[place + 1 :].sum())
        low, high = np.maximum(left - later, 0), np.minimum(left, count)
        number = np.maximum(high - low + 1, 0)
        if int(number.sum()) > budget:
            raise TooManyError
        before = np.repeat(np.arange(len(rows)), number)
        taken = np.arange(len(before)) - np.repeat(np.cumsum(number) - number, number) + low[before]
        rows, left = np.column_stack([rows[before], taken]), left[before] - taken
    return rows


def _solve(sizes: Ints, classes: list[_Class], kind: Ints, stock: Ints, values: int) -> WorldsPosterior:
    shape = tuple((stock + 1).tolist())
    empty = np.zeros(shape)
    one = empty.copy()
    one.flat[0] = 1
    before, after = [_Pair(one, empty)], [_Pair(one, empty)]
    for each in classes:
        before.append(_join(before[-1], each))
    for each in reversed(classes[1:]):
        after.append(_join(after[-1], each))
    broken, total = before[-1].broken.flat[-1], before[-1].all.flat[-1]
    if not broken:
        return _unchanged(sizes, stock, values, 0.0)
    found: dict[int, Floats] = {}
    for place, (number, each) in enumerate(zip(kind.tolist(), classes, strict=True)):
        if number not in found:
            hits = _hits(each, before[place], after[len(classes) - 1 - place])
            # A target is in the data: among the worlds' people of the class, only the present ones count.
            found[number] = hits[:values] / max(hits[:values].sum(), np.finfo(np.float64).tiny)
    return WorldsPosterior(float(broken / total), np.stack([found[number] for number in kind.tolist()]))


def _join(pair: _Pair, each: _Class) -> _Pair:
    """The worlds of some classes and one more."""
    fine, broken = np.zeros_like(pair.fine), np.zeros_like(pair.fine)
    for histogram, ways, is_fine in zip(each.histograms.tolist(), each.ways.tolist(), each.fine.tolist(), strict=True):
        to = tuple(slice(n, None) for n in histogram)
        of = tuple(slice(None, size - n) for n, size in zip(histogram, fine.shape, strict=True))
        broken[to] += ways * pair.broken[of]
        (fine if is_fine else broken)[to] += ways * pair.fine[of]
    return _Pair(fine, broken)


def _hits(each: _Class, before: _Pair, after: _Pair) -> Floats:
    """For every value, how many of the class's people have it, summed over all worlds with a violation."""
    hits = np.zeros(each.histograms.shape[1])
    shape = before.fine.shape
    everything = after.all
    for histogram, ways, is_fine in zip(each.histograms, each.ways.tolist(), each.fine.tolist(), strict=True):
        rest = tuple(slice(None, size - n) for n, size in zip(histogram.tolist(), shape, strict=True))
        turned = tuple(slice(None, None, -1) for _ in shape)
        front = before.broken if is_fine else before.all
        number = float((front[rest] * everything[rest][turned]).sum())
        if is_fine:
            number += float((before.fine[rest] * after.broken[rest][turned]).sum())
        hits += histogram * (ways * number)
    return hits
