"""Risk in words: one number of each kind, and a sentence that tells it."""

from dataclasses import dataclass

from reissue.verify.risk.attackers import Attacker
from reissue.verify.risk.individual import Households
from reissue.verify.risk.register import RegisterRisk
from reissue.verify.risk.some_columns import SomeColumns
from reissue.verify.risk.uniqueness import Uniqueness

__all__ = [
    "RiskFigure",
    "attacker_figure",
    "columns_figure",
    "households_figure",
    "register_figures",
    "uniqueness_figure",
]


@dataclass(frozen=True)
class RiskFigure:
    """One number, and what it says."""

    name: str
    value: float | None
    sentence: str


def attacker_figure(one: Attacker, threshold: float) -> RiskFigure:
    """The largest risk, or the average of someone who asks for no more."""
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
    """The household that is found most surely."""
    words = (
        f"households: a member is found with {one.largest:.3g} at most, {one.average:.3g} on average; {one.above:.1%} "
        f"of {one.households:,} households above {threshold:.3g}."
    )
    return RiskFigure("households", one.largest, words)
