"""Individual risk from sample weights (Benedetti, Franconi 1998; Franconi, Polettini 2004), and of households.

Of a group with f records in the sample, F in the population is not known; the weights of its records sum to an
estimate. Given f, F is taken to be negative binomial with success probability p = f / estimate, and the risk is
E(1/F | f) = (p/f) 2F1(1, 1; f+1; 1-p). For f = 1 that is p/(1-p) log(1/p); for p = 1, the whole population, 1/f.

A household is found if at least one of its members is, each on its own: 1 - product of (1 - risk).
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints

__all__ = ["Households", "households_of", "individual_risk"]


def individual_risk(records: Ints, population: Floats) -> Floats:
    """Group to the expected 1/F, from its records and its estimated population; O(groups)."""
    from scipy.special import hyp2f1

    share = np.minimum(records / population, 1.0)
    return np.asarray(share / records * hyp2f1(1.0, 1.0, records + 1.0, 1.0 - share), np.float64)


@dataclass(frozen=True)
class Households:
    """The risk that at least one member of a household is found."""

    households: int
    largest: float
    average: float
    above: float
    """The share of households whose risk is above the threshold."""
    expected: float
    """How many households are expected to be found."""


def households_of(household: Ints, risk: Floats, threshold: float) -> Households:
    """From each record's household (0, 1, ...) and risk; O(records)."""
    certain = np.bincount(household, risk >= 1) > 0
    missed = np.exp(np.bincount(household, np.log1p(-np.where(risk < 1, risk, 0.0))))
    found = np.where(certain, 1.0, 1 - missed)
    above = float((found > threshold + 1e-12).mean())
    return Households(len(found), float(found.max()), float(found.mean()), above, float(found.sum()))
