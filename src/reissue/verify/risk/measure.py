"""All risk figures of a release, from its groups and what is known of the population; thresholds, and sentences."""

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.keys import pack
from reissue.errors import DataError, InputError, SchemaError, nearest, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.published import PublishedRelease
from reissue.verify.groups import number_column
from reissue.verify.risk.models import (
    Attacker,
    Households,
    RegisterRisk,
    SomeColumns,
    households_of,
    individual_risk,
    journalist,
    marketer,
    match_register,
    of_records,
    prosecutor,
    some_columns,
)
from reissue.verify.risk.uniqueness import Uniqueness, estimate_uniqueness

__all__ = [
    "PRESETS",
    "GroupRisk",
    "Preset",
    "Risk",
    "RiskFigure",
    "RiskInputs",
    "attacker_figure",
    "columns_figure",
    "find_preset",
    "households_figure",
    "measure_people",
    "measure_risk",
    "register_figures",
    "uniqueness_figure",
]

_THRESHOLD = 0.2
"""The risk above which records are counted by default: one in five."""
_KNOWN = 2
"""The number of known quasi-identifiers by default."""
_QUICK = 2 * 10**8
"""Rows times sets of columns that are examined by default."""
_ESTIMATED = "expected 1 / people of the population, estimated from the sampling (Benedetti and Franconi)"


@dataclass(frozen=True)
class RiskInputs:
    """What is known beside the release; everything is optional."""

    population: Any = None
    """A table of the population with exact quasi-identifiers: a register."""
    sampling: float | None = None
    """The share of the population that is in the release, sampled at random."""
    weights: str | None = None
    """The column with the number of people in the population that each record stands for."""
    household: str | None = None
    """The column that names each record's household."""
    threshold: float | None = None
    """The risk above which records are counted."""
    known: int | None = None
    """The number of quasi-identifiers that the adversary knows, whichever they are."""
    dialect: Dialect = FOUND

    def __post_init__(self) -> None:
        for name in ("sampling", "threshold"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise InputError(f"`{name}` must be a number above 0 and at most 1.")
        if self.known is not None and self.known < 1:
            raise InputError("`known` must be at least 1: how many quasi-identifiers someone knows.")
        if self.sampling is not None and self.weights is not None:
            raise InputError("Give the sampling fraction or the weights, not both: the weights say it.")

    @property
    def by_record(self) -> bool:
        """Whether the group of each record must be known."""
        return self.population is not None or self.weights is not None or self.household is not None


@dataclass(frozen=True)
class Risk:
    """The probability that records are linked to their people, as regulators ask for it."""

    threshold: float
    records: int
    alone: int
    """Number of records that are alone in their group."""
    attackers: tuple[Attacker, ...]
    register: RegisterRisk | None = None
    uniqueness: Uniqueness | None = None
    some_columns: SomeColumns | None = None
    households: Households | None = None

    def __getitem__(self, name: str) -> Attacker:
        """The attacker of this name: `prosecutor`, `journalist` or `marketer`."""
        for one in self.attackers:
            if one.name == name:
                return one
        raise KeyError(f"'{name}' was not measured: it needs a register, a sampling fraction or weights.")

    @property
    def figures(self) -> "tuple[RiskFigure, ...]":
        """The most telling figure of each kind, with a sentence."""
        found = [attacker_figure(one, self.threshold) for one in self.attackers]
        found += [] if self.register is None else register_figures(self.register)
        found += [] if self.uniqueness is None else [uniqueness_figure(self.uniqueness)]
        found += [] if self.some_columns is None else [columns_figure(self.some_columns)]
        found += [] if self.households is None else [households_figure(self.households, self.threshold)]
        return tuple(found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in words, one sentence each."""
        return tuple(one.sentence for one in self.figures)


@dataclass(frozen=True, eq=False)
class GroupRisk:
    """The risk that a preset applies to, by group: of the journalist if there is one, else of the prosecutor."""

    attacker: str
    risk: Floats
    records: Ints


def measure_risk(release: PublishedRelease, by: str | None, sizes: Ints, inputs: RiskInputs) -> tuple[Risk, GroupRisk]:
    """Measure the risk of a release from the sizes of its groups; `by` numbers them, if not the release itself."""
    threshold = inputs.threshold or _THRESHOLD
    group = _group(release, by, as_read=inputs.population is not None) if inputs.by_record else None
    sizes = sizes if group is None else np.bincount(group)
    register, people = _register(release, inputs, by)
    estimated = None if people is not None else _estimated(release, group, sizes, inputs)
    attackers = _attackers(sizes, people, estimated, threshold)
    mine = 1 / people if people is not None else 1 / sizes if estimated is None else estimated
    found = Risk(
        threshold,
        int(sizes.sum()),
        int((sizes == 1).sum()),
        attackers,
        register,
        _uniqueness(release, sizes, inputs),
        _some_columns(release, inputs.known, int(sizes.sum())) if release.form.boxes and by is None else None,
        None if group is None or inputs.household is None else _households(release, inputs, mine[group], threshold),
    )
    return found, GroupRisk(attackers[-2].name, np.asarray(mine, np.float64), sizes)


def measure_people(sizes: Ints, inputs: RiskInputs) -> tuple[Risk, GroupRisk]:
    """Measure the prosecutor's risk where people have repeated records; `sizes` count people."""
    given = (inputs.population, inputs.sampling, inputs.weights, inputs.household, inputs.known)
    if any(one is not None for one in given):
        raise InputError(
            "Where people have several rows, risk is measured from the people of each group alone: a register, a "
            "sampling fraction, weights, households and `known` need a table with one row per person."
        )
    threshold, method = inputs.threshold or _THRESHOLD, "1 / people of the group, whose rows there are one record"
    found = of_records("prosecutor", 1 / sizes, sizes, threshold, method)
    risk = Risk(threshold, int(sizes.sum()), int((sizes == 1).sum()), (found,))
    return risk, GroupRisk(found.name, np.asarray(1 / sizes, np.float64), sizes)


def _attackers(sizes: Ints, people: Ints | None, estimated: Floats | None, threshold: float) -> tuple[Attacker, ...]:
    """The prosecutor, the journalist if anything is known of the population, and the marketer."""
    first = prosecutor(sizes, threshold)
    if people is not None:
        return first, journalist(sizes, people, threshold), marketer(sizes, people)
    if estimated is not None:
        guess = of_records("journalist", estimated, sizes, threshold, _ESTIMATED)
        return first, guess, marketer(sizes, risk=estimated)
    return first, marketer(sizes)


# --- what is given ---------------------------------------------------------------------------------------------------


def _group(release: PublishedRelease, by: str | None, *, as_read: bool) -> Ints:
    """The group of each record as published tables number them, if a register is matched with them."""
    if by is None and (as_read or release.form.numbered):
        return release.group
    columns = [number_column(release.main[name]) for name in (release.schema.quasi if by is None else [by])]
    keys, _ = pack([codes.to_numpy() for codes, _ in columns], [size for _, size in columns])
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _register(release: PublishedRelease, inputs: RiskInputs, by: str | None) -> tuple[RegisterRisk | None, Ints | None]:
    if inputs.population is None:
        return None, None
    if by is not None or not release.form.boxes:
        raise InputError("A register can be matched only with a release whose groups show their quasi-identifiers.")
    return match_register(release, inputs.population, inputs.dialect)


def _estimated(release: PublishedRelease, group: Ints | None, sizes: Ints, inputs: RiskInputs) -> Floats | None:
    """The estimated risk of each group, from weights or the sampling fraction."""
    if inputs.weights is not None and group is not None:
        return individual_risk(sizes, np.bincount(group, _weights(release, inputs.weights)).astype(np.float64))
    if inputs.sampling is None:
        return None
    size, place = np.unique(sizes, return_inverse=True)
    return individual_risk(size, size / inputs.sampling)[place.reshape(-1)]


def _uniqueness(release: PublishedRelease, sizes: Ints, inputs: RiskInputs) -> Uniqueness | None:
    fraction = inputs.sampling
    if inputs.weights is not None:
        fraction = float(sizes.sum() / _weights(release, inputs.weights).sum())
    return None if fraction is None else estimate_uniqueness(sizes, fraction)


def _column(release: PublishedRelease, name: str) -> pl.Series:
    if name not in release.main.columns:
        raise SchemaError(
            f"The published table lacks the column '{name}'." + nearest_column(name, release.main.columns)
        )
    return release.main[name]


def _weights(release: PublishedRelease, name: str) -> Floats:
    column = _column(release, name).cast(pl.Float64, strict=False).fill_nan(None)
    if column.null_count() or not bool(((column > 0) & column.is_finite()).all()):
        raise DataError(f"The weights in '{name}' must be numbers above 0, one for each record.")
    if float(column.sum()) <= len(column):
        raise DataError(
            f"The weights in '{name}' sum to no more than there are records. Give weights that say how many people "
            "of the population each record stands for, not shares or weights around 1."
        )
    return column.to_numpy()


def _households(release: PublishedRelease, inputs: RiskInputs, risk: Floats, threshold: float) -> Households:
    column = _column(release, inputs.household or "")
    if column.null_count():
        raise DataError(f"The household '{column.name}' is missing in {column.null_count():,} records.")
    place = np.unique(number_column(column)[0].to_numpy(), return_inverse=True)[1].reshape(-1)
    return households_of(place, risk, threshold)


def _some_columns(release: PublishedRelease, known: int | None, records: int) -> SomeColumns | None:
    names = release.schema.quasi
    some = min(known or _KNOWN, len(names))
    if known is None and comb(len(names), some) * records > _QUICK:
        return None
    columns = [(codes.to_numpy(), size) for codes, size in (number_column(release.main[name]) for name in names)]
    return some_columns(columns, names, some, release.tables.times)[0]


@dataclass(frozen=True)
class RiskFigure:
    """A figure and its sentence."""

    name: str
    value: float | None
    sentence: str


def attacker_figure(one: Attacker, threshold: float) -> RiskFigure:
    """The largest risk, or the average for the marketer."""
    if one.largest is None or one.above is None:
        words = f"{one.name}: {one.average:.3g} of the records on average; {one.method}."
        return RiskFigure(one.name, one.average, words)
    words = (
        f"{one.name}: largest {one.largest:.3g}, average {one.average:.3g}, {one.above:.1%} of the records above "
        f"{threshold:.3g}; {one.method}."
    )
    return RiskFigure(one.name, one.largest, words)


def register_figures(one: RegisterRisk) -> list[RiskFigure]:
    """k-map and delta-presence."""
    fit = f"k-map: at least {one.k_map:,} of the register's {one.people:,} people fit every group (k = {one.k_map:,})."
    if one.presence is None:
        words, most = "delta-presence: not known, for people of the register fit several groups.", None
    else:
        low, most = one.presence
        words = f"delta-presence: someone of the register is in the release with {low:.3g} to {most:.3g}."
    return [RiskFigure("k-map", one.k_map, fit), RiskFigure("delta-presence", most, words)]


def uniqueness_figure(one: Uniqueness) -> RiskFigure:
    """The share of the population that is unique."""
    if one.model == "sample" and one.fraction >= 1:
        words = f"Population uniqueness: {one.sample:,} people, for the release holds everyone."
    elif one.model == "sample":
        words = "Population uniqueness: nobody, for no record is alone in the sample."
    else:
        words = (
            f"Population uniqueness: about {one.people:,.0f} people are alone in the population ({one.share:.2%}; "
            f"{one.model}, from {one.sample:,} who are alone in a sample of {one.fraction:.3g})."
        )
    return RiskFigure("population uniqueness", one.share, words)


def columns_figure(one: SomeColumns) -> RiskFigure:
    """The smallest class by any m columns."""
    words = (
        f"Whoever knows any {one.columns} quasi-identifiers is left with at least {one.smallest:,} records "
        f"(k^m, m = {one.columns}; worst: {', '.join(one.worst)}); {one.alone:,} records are alone."
    )
    return RiskFigure("k^m", one.smallest, words)


def households_figure(one: Households, threshold: float) -> RiskFigure:
    """The household with the highest risk."""
    words = (
        f"households: a member is found with {one.largest:.3g} at most, {one.average:.3g} on average; {one.above:.1%} "
        f"of {one.households:,} households above {threshold:.3g}."
    )
    return RiskFigure("households", one.largest, words)


@dataclass(frozen=True)
class Preset:
    """A threshold: the minimum number of people among whom a record may be found."""

    name: str
    people: int
    """The largest risk is one in this number."""
    source: str
    """The source of the number."""

    @property
    def largest(self) -> float:
        """The largest risk of a record."""
        return 1 / self.people


_ONTARIO = (
    "De-Identification Guidelines for Structured Data, Information and Privacy Commissioner of Ontario, 2025, by a "
    "summary of it (managedprivacy.ca): {} invasion of privacy, {}, roughly groups of {}. The guideline itself was not "
    "read"
)
_OECD = "threshold rule: some agencies require five respondents in a cell, others three (OECD glossary, ID 7010)"

PRESETS = {
    one.name: one
    for one in (
        Preset("0.33", 3, "commonly used for trusted recipients; source not read"),
        Preset("0.2", 5, "commonly used; source not read"),
        Preset("0.09", 11, _ONTARIO.format("low", "0.09", 11)),
        Preset("0.075", 14, _ONTARIO.format("medium", "0.075", 15)),
        Preset(
            "0.05",
            20,
            "public file of hospital discharges, threshold between 0.04 and 0.05 (El Emam et al. 2011, abstract); "
            + _ONTARIO.format("high", "0.05", 20),
        ),
        Preset("cell-3", 3, _OECD),
        Preset("cell-5", 5, _OECD),
        Preset("cell-10", 10, "Washington State Department of Health, small numbers: non-zero counts below ten"),
        Preset("cell-11", 11, "CMS cell size suppression policy (ResDAC, 2024): no cell of 1 to 10"),
    )
}


def find_preset(name: str) -> Preset:
    """Return the preset of this name."""
    if name not in PRESETS:
        raise InputError(f"There is no preset of that name. There are: {', '.join(PRESETS)}." + nearest(name, PRESETS))
    return PRESETS[name]
