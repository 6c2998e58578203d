"""All risk numbers of one release, from its groups and whatever is known of the population."""

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.keys import pack
from reissue.errors import DataError, InputError, SchemaError, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.published import Form, PublishedRelease
from reissue.verify.groups import number_column
from reissue.verify.risk.attackers import Attacker, journalist, marketer, of_records, prosecutor
from reissue.verify.risk.individual import Households, households_of, individual_risk
from reissue.verify.risk.register import RegisterRisk, match_register
from reissue.verify.risk.some_columns import SomeColumns, some_columns
from reissue.verify.risk.uniqueness import Uniqueness, estimate_uniqueness
from reissue.verify.risk.words import (
    RiskFigure,
    attacker_figure,
    columns_figure,
    households_figure,
    register_figures,
    uniqueness_figure,
)

__all__ = ["GroupRisk", "Risk", "RiskInputs", "measure_people", "measure_risk"]

_THRESHOLD = 0.2
_KNOWN = 2
_QUICK = 2 * 10**8
"""Rows times sets of columns that are looked at without being asked."""
_ESTIMATED = "expected 1 / people of the population, estimated from the sampling (Benedetti and Franconi)"


@dataclass(frozen=True)
class RiskInputs:
    """What is known beside the release; nothing of it need be."""

    population: Any = None
    """A table of the population with exact quasi-identifiers: a register."""
    sampling: float | None = None
    """The share of the population that is in the release, at random."""
    weights: str | None = None
    """The column that says how many people of the population each record stands for."""
    household: str | None = None
    """The column that names each record's household."""
    threshold: float | None = None
    """The risk above which records are counted."""
    known: int | None = None
    """How many quasi-identifiers someone knows, any of them."""
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
        """Whether each record's group must be known."""
        return self.population is not None or self.weights is not None or self.household is not None


@dataclass(frozen=True)
class Risk:
    """How likely records are linked to their people, as regulators ask for it."""

    threshold: float
    records: int
    alone: int
    """Records that are alone in their group."""
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
    def figures(self) -> tuple[RiskFigure, ...]:
        """The most telling number of each kind, in words too."""
        found = [attacker_figure(one, self.threshold) for one in self.attackers]
        found += [] if self.register is None else register_figures(self.register)
        found += [] if self.uniqueness is None else [uniqueness_figure(self.uniqueness)]
        found += [] if self.some_columns is None else [columns_figure(self.some_columns)]
        found += [] if self.households is None else [households_figure(self.households, self.threshold)]
        return tuple(found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it in words, a sentence each."""
        return tuple(one.sentence for one in self.figures)


@dataclass(frozen=True, eq=False)
class GroupRisk:
    """The risk that a preset is asked of: by group, of the journalist if there is one, else of the prosecutor."""

    attacker: str
    risk: Floats
    records: Ints


def measure_risk(release: PublishedRelease, by: str | None, sizes: Ints, inputs: RiskInputs) -> tuple[Risk, GroupRisk]:
    """The risk of a release whose groups have these sizes; `by` numbers them, if not the release itself."""
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
    """The same where people have several rows: `sizes` are people of groups, and only the prosecutor is measured."""
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
    """Prosecutor, journalist if anything is known of the population, marketer."""
    first = prosecutor(sizes, threshold)
    if people is not None:
        return first, journalist(sizes, people, threshold), marketer(sizes, people)
    if estimated is not None:
        guess = of_records("journalist", estimated, sizes, threshold, _ESTIMATED)
        return first, guess, marketer(sizes, risk=estimated)
    return first, marketer(sizes)


# --- what is given ---------------------------------------------------------------------------------------------------


def _group(release: PublishedRelease, by: str | None, *, as_read: bool) -> Ints:
    """Record to its group: as the reader of published tables numbers them, where a register is matched with them."""
    if by is None and (as_read or release.form != Form.GENERALIZED):
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
    """Group to its estimated risk, from weights or the sampling fraction."""
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
