"""Re-identification risk of single records: attackers, sample weights, households, a register, some columns.

- Prosecutor, journalist and marketer (El Emam): how likely a record is linked to its person.
- Individual risk from sample weights (Benedetti, Franconi 1998; Franconi, Polettini 2004). Of a group with f records in
  the sample, its number F in the population is unknown; the weights of its records sum to an estimate. Given f, F is
  taken to be negative binomial with success probability p = f / estimate, and the risk is E(1/F | f) =
  (p/f) 2F1(1, 1; f+1; 1-p). For f = 1 that is p/(1-p) log(1/p); for p = 1, the whole population, 1/f.
- A household is found if at least one of its members is, independently: 1 - product of (1 - risk).
- Against a register of the population: k-map (Sweeney 2002), at least k people of the register fit every published
  group; and delta-presence (Nergiz, Atzori, Clifton 2007), between which bounds the probability lies that a person of
  the register is in the release. Someone who fits no group is not in it.
- k^m-anonymity (Terrovitis et al. 2008): records with equal published values on any m columns form a class; every class
  must have at least k records. O(rows) for each set of columns, on integer codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.keys import pack
from reissue.data.table import to_polars
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.published import PublishedRelease
from reissue.words import plural

__all__ = [
    "Attacker",
    "Households",
    "RegisterRisk",
    "SomeColumns",
    "households_of",
    "individual_risk",
    "journalist",
    "marketer",
    "match_register",
    "of_records",
    "prosecutor",
    "some_columns",
]


@dataclass(frozen=True)
class Attacker:
    """The chances of one kind of attacker, over all records of a release."""

    name: str
    largest: float | None
    """The largest risk of a record; None for the marketer, for whom only the average counts."""
    average: float
    above: float | None
    """The share of records whose risk is above the threshold."""
    method: str
    """How the numbers were found."""


def of_records(name: str, risk: Floats, records: Ints | Floats, threshold: float, method: str) -> Attacker:
    """Summarize a risk by group, with the number of records of each."""
    total = float(records.sum())
    above = float(records[risk > threshold].sum()) / total
    return Attacker(name, float(risk.max()), float(risk @ records) / total, above, method)


def prosecutor(sizes: Ints, threshold: float) -> Attacker:
    """The attacker who knows that a person is in the release; `sizes` count the records of each group."""
    return of_records("prosecutor", 1 / sizes, sizes, threshold, "1 / records of the group")


def journalist(sizes: Ints, people: Ints, threshold: float) -> Attacker:
    """The attacker with a register, of which `people` fit each group.

    The average is the larger of two, as El Emam defines it: over the records, and over the register's people in these
    groups.
    """
    found = of_records("journalist", 1 / people, sizes, threshold, "1 / people of the register who fit the group")
    average = max(found.average, len(sizes) / float(people.sum()))
    return Attacker(found.name, found.largest, average, found.above, found.method)


def marketer(sizes: Ints, people: Ints | None = None, risk: Floats | None = None) -> Attacker:
    """The attacker who matches all records: with the release's own people, a register, or an estimated population."""
    if risk is None:
        risk = 1 / (sizes if people is None else people)
        whom = "the people of the release" if people is None else "the register"
        method = f"expected share of records matched rightly with {whom}"
    else:
        method = "expected share of records matched rightly, estimated from the sampling"
    return Attacker("marketer", None, float(np.asarray(risk) @ sizes) / float(sizes.sum()), None, method)


_LARGE, _TERMS = 40, 64
"""From this many records on, the series is summed, to this many terms.

Its terms fall like those of 1 / binomial(n + records, n), below 1e-16 after 64. SciPy's function overflows from about
100 records on, and is exact below 60.
"""


def individual_risk(records: Ints, population: Floats) -> Floats:
    """The expected 1/F of each group, from its records and its estimated population; O(groups).

    With the sampling fraction p that is p/f 2F1(1, 1; f + 1; 1 - p) (Benedetti and Franconi 1998).
    """
    from scipy.special import hyp2f1

    share = np.minimum(records / population, 1.0)
    large = records >= _LARGE
    factor = np.empty(len(records))
    factor[~large] = hyp2f1(1.0, 1.0, records[~large] + 1.0, 1.0 - share[~large])
    factor[large] = _hypergeometric_series(records[large], 1.0 - share[large])
    return np.asarray(share / records * factor, np.float64)


def _hypergeometric_series(records: Ints, rest: Floats) -> Floats:
    """2F1(1, 1; records + 1; rest), the sum of rest^n n! records! / (records + n)!: all terms are positive."""
    term = np.ones(len(records))
    total = term.copy()
    for n in range(1, _TERMS):
        term *= n * rest / (records + n)
        total += term
    return total


@dataclass(frozen=True)
class Households:
    """The risk that at least one member of a household is found."""

    households: int
    largest: float
    average: float
    above: float
    """The share of households whose risk is above the threshold."""
    expected: float
    """The expected number of households that are found."""


def households_of(household: Ints, risk: Floats, threshold: float) -> Households:
    """Compute it from each record's household (0, 1, ...) and risk; O(records)."""
    certain = np.bincount(household, risk >= 1) > 0
    missed = np.exp(np.bincount(household, np.log1p(-np.where(risk < 1, risk, 0.0))))
    found = np.where(certain, 1.0, 1 - missed)
    above = float((found > threshold + 1e-12).mean())
    return Households(len(found), float(found.max()), float(found.mean()), above, float(found.sum()))


@dataclass(frozen=True)
class RegisterRisk:
    """What a register of the population says about a release."""

    people: int
    """The number of people in the register."""
    k_map: int
    """The number of people who fit the group that the fewest fit."""
    presence: tuple[float, float] | None
    """The smallest and largest probability that a person of the register is in the release.

    None if somebody fits several groups: the shares of groups do not determine it then.
    """


def match_register(release: PublishedRelease, population: Any, dialect: Dialect = FOUND) -> tuple[RegisterRisk, Ints]:
    """Match a register with groups; return its figures, and the number of its people who fit each group."""
    from reissue.people.presences import by_register

    frame, _ = to_polars(population, release.schema, dialect=dialect)
    seen = by_register(release, frame, presence=False)
    fitting = np.bincount(seen.group, minlength=release.groups)
    records = release.sizes - release.counterfeits
    short = int((fitting < records).sum())
    if short:
        raise DataError(
            f"The register does not hold everyone in the release: in {plural(short, 'group')} there are more records "
            "than people who fit. Give a table of the whole population, with quasi-identifiers as in the original."
        )
    alone = np.bincount(seen.row).max(initial=0) <= 1
    shares = records / np.maximum(fitting, 1)
    lowest = 0.0 if len(seen.ids) < frame.height else float(shares.min())
    presence = (lowest, float(shares.max())) if alone else None
    return RegisterRisk(frame.height, int(fitting.min()), presence), np.asarray(fitting, np.int64)


_WORK = 5 * 10**9
"""Maximum number of rows times sets of columns that are examined."""


@dataclass(frozen=True)
class SomeColumns:
    """What someone finds who knows a given number of quasi-identifiers."""

    columns: int
    """The number of known columns, m."""
    smallest: int
    """Number of records of the smallest class: the release is k^m-anonymous for k up to this."""
    alone: int
    """Number of records that some m columns single out."""
    worst: tuple[str, ...]
    """The columns of the smallest class; the first such set."""


def some_columns(
    codes: Sequence[tuple[Ints, int]], names: Sequence[str], known: int, times: pl.Series | None = None
) -> tuple[SomeColumns, Ints]:
    """Examine any `known` columns, given each column's codes and their number; return each record's smallest class too.

    `times` is the number of records of each row, if equal ones were counted.
    """
    known = min(known, len(names))
    if comb(len(names), known) * len(codes[0][0]) > _WORK:
        raise InputError(f"There are too many sets of {known} columns to look at. Ask for fewer columns.")
    least = np.full(len(codes[0][0]), np.iinfo(np.int64).max)
    smallest, worst = np.iinfo(np.int64).max, tuple(names[:known])
    for chosen in combinations(range(len(names)), known):
        sizes = _class_sizes([codes[place] for place in chosen], None if times is None else times.to_numpy())
        if sizes.min() < smallest:
            smallest, worst = int(sizes.min()), tuple(names[place] for place in chosen)
        np.minimum(least, sizes, out=least)
    return SomeColumns(known, int(smallest), int((least == 1).sum()), worst), least


def _class_sizes(columns: Sequence[tuple[Ints, int]], times: Ints | None) -> Ints:
    """The number of records with the same codes, for each record."""
    keys, bound = pack([codes for codes, _ in columns], [size for _, size in columns])
    if bound > 4 * len(keys) + 1024:
        keys, bound = np.unique(keys, return_inverse=True)[1].reshape(-1), len(keys)
    return np.bincount(keys, times, bound).astype(np.int64)[keys]
