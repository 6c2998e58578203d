"""How many people are unique in the population, estimated from a sample of it.

Three models, as Dankar et al. 2012 compare them, and their rule which to use:
- Zayatz 1991: by Bayes, how likely a sample unique is a population unique, if classes of the population had the sizes
  of those in the sample (hypergeometric sampling).
- Pitman (Hoshino 2001): the sampling formula of Ewens and Pitman, its two parameters by maximum likelihood. A person
  is alone among N with probability G(t+1) G(t+a+N-1) / (G(t+a) G(t+N)), G the gamma function.
- Slide negative binomial, SNB (Chen, Keller-McNulty 1998): class sizes are 1 + negative binomial. Its parameters make
  the expected numbers of classes with one and with two records what they are; the number of classes in the population
  is Shlosser's third estimate (Haas, Stokes 1998).

The rule: up to a tenth of the population Pitman, or Zayatz where that fails; beyond, the smaller of SNB and Zayatz.
O(different class sizes) after counting.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints

__all__ = ["Uniqueness", "estimate_uniqueness", "pitman", "snb", "zayatz"]

_FEW = 0.1
"""The sampling fraction up to which Pitman's model is used."""
_CLOSE = 1e-6
"""Relative accuracy to which SNB's two equations must be solved."""


@dataclass(frozen=True)
class Uniqueness:
    """The number of people who are unique by their quasi-identifiers, in the sample and in the population."""

    sample: int
    """Number of unique records in the sample."""
    fraction: float
    """The share of the population that is in the sample."""
    model: str
    """The model that the rule selects: `pitman`, `zayatz` or `snb`; `sample` if there is nothing to estimate."""
    people: float
    """The estimated number of unique people in the population."""
    share: float
    """The same as a share of the population."""
    estimates: dict[str, float | None]
    """The estimate of each model; None if it has none."""


def estimate_uniqueness(sizes: Ints, fraction: float) -> Uniqueness:
    """Estimate the unique people of a population from the sizes of a sample's classes."""
    alone, population = int((sizes == 1).sum()), float(sizes.sum()) / fraction
    if alone == 0 or fraction >= 1:
        return Uniqueness(alone, fraction, "sample", alone, alone / population, {})
    size, classes = np.unique(sizes, return_counts=True)
    found = {name: model(size, classes, fraction) for name, model in _MODELS.items()}
    model = _choose(found, fraction)
    people = found[model] or 0.0
    return Uniqueness(alone, fraction, model, people, people / population, found)


def _choose(found: dict[str, float | None], fraction: float) -> str:
    """The rule of Dankar et al."""
    if fraction <= _FEW:
        return "zayatz" if found["pitman"] is None else "pitman"
    by_snb, by_zayatz = found["snb"], found["zayatz"]
    return "snb" if by_snb is not None and by_zayatz is not None and by_snb < by_zayatz else "zayatz"


def zayatz(size: Ints, classes: Ints, fraction: float) -> float | None:
    """The unique records of the sample that are unique in the population, scaled up; `classes` is sorted by size."""
    sample = int(size @ classes)
    population = max(round(sample / fraction), sample)
    # log P(1 record in the sample | class of `size`): one of the class, the others from the rest.
    fits = size - 1 <= population - sample
    rest = population - size[fits]
    chance = np.log(size[fits]) + _log_choose(rest, sample - 1) - _log_choose(np.array(population), sample)
    weight = classes[fits] * np.exp(chance)
    alone = int(classes[size == 1].sum())
    return float(alone * weight[0] / weight.sum() / fraction)


def _log_choose(of: Ints, some: int) -> Floats:
    from scipy.special import betaln

    return np.asarray(-np.log(of + 1.0) - betaln(of - some + 1.0, some + 1.0), np.float64)


# --- Pitman ----------------------------------------------------------------------------------------------------------


def pitman(size: Ints, classes: Ints, fraction: float) -> float | None:
    """Maximum likelihood; None if every class is one record, or there is only one class."""
    from scipy.special import gammaln

    sample, total = int(size @ classes), int(classes.sum())
    if total in {1, sample}:
        return None
    alpha, theta = _likeliest(size, classes)
    people = round(sample / fraction)
    log_alone = gammaln(theta + 1) - gammaln(theta + alpha) + gammaln(theta + alpha + people - 1)
    return float(people * np.exp(log_alone - gammaln(theta + people)))


def _likeliest(size: Ints, classes: Ints) -> tuple[float, float]:
    """The most likely alpha from 0 to 1 and theta above -alpha.

    A negative alpha would bound the number of classes. A small sample cannot distinguish that from few uniques, and in
    simulations then said that nobody is unique; alpha stays at 0, which errs on the side of too many.
    """
    from scipy.optimize import minimize
    from scipy.special import gammaln

    sample, total = int(size @ classes), int(classes.sum())

    def parameters(point: Floats) -> tuple[float, float]:
        first, second = np.exp(np.clip(point, -18, 18))
        return float(first / (1 + first)), float(second - first / (1 + first))

    def loss(point: Floats) -> float:
        alpha, theta = parameters(point)
        new = (total - 1) * np.log(alpha) + gammaln(theta / alpha + total) - gammaln(theta / alpha + 1)
        old = classes @ (gammaln(size - alpha) - gammaln(1 - alpha))
        return float(gammaln(theta + sample) - gammaln(theta + 1) - new - old) / sample

    starts = [(0.0, np.log(total)), (2.0, 0.0), (-2.0, np.log(total))]
    tries = [minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13}) for start in starts]
    return parameters(min(tries, key=lambda one: float(one.fun)).x)


# --- slide negative binomial -----------------------------------------------------------------------------------------


def snb(size: Ints, classes: Ints, fraction: float) -> float | None:
    """The solution of its two equations; None if there is none."""
    from scipy.optimize import least_squares
    from scipy.special import expit

    once, twice = (float(classes[size == number].sum()) for number in (1, 2))
    if twice == 0:
        return None
    total = _classes_of_population(size, classes, fraction)

    def off(point: Floats) -> Floats:
        alpha, beta = np.exp(point[0]), expit(point[1])
        kept = (1 - fraction) * (1 - beta)
        power = np.exp(alpha * (np.log(beta) - np.log1p(-kept)))
        ones = total * fraction * power * (1 + alpha * kept / (1 - kept))
        twos = total * fraction**2 / 2 * alpha * (1 - beta) * power * (2 - (1 - alpha) * kept) / (1 - kept) ** 2
        return np.array([ones / once - 1, twos / twice - 1])

    bounds = ([-15.0, -25.0], [10.0, 25.0])
    tries = [least_squares(off, start, bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-15) for start in _STARTS]
    best = min(tries, key=lambda one: one.cost)
    if np.abs(best.fun).max() > _CLOSE:
        return None
    return float(total * expit(best.x[1]) ** np.exp(best.x[0]))


_STARTS = ((0.0, 0.0), (-2.0, -3.0), (1.0, 2.0), (-1.0, 2.0))
"""Starting points of the search, on the scale of its logarithms; the best result counts."""


def _classes_of_population(size: Ints, classes: Ints, fraction: float) -> float:
    """Shlosser's third estimate of the number of classes in the population."""
    once = float(classes[size == 1].sum())
    square = fraction**2
    first = classes @ (size * square * (1 - square) ** (size - 1.0))
    second = classes @ ((1 - square) ** size.astype(np.float64) - (1 - fraction) ** size.astype(np.float64))
    unseen = classes @ (1 - fraction) ** size.astype(np.float64)
    seen_once = classes @ (size * fraction * (1 - fraction) ** (size - 1.0))
    return float(classes.sum() + once * first / second * (unseen / seen_once) ** 2)


_MODELS = {"pitman": pitman, "zayatz": zayatz, "snb": snb}
