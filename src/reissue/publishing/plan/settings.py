"""Which methods and settings are worth a try on a series, by what its waves show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reissue.algorithms import registered
from reissue.publishing.plan.waves import Waves

__all__ = ["Limits", "Setting", "sensible"]


@dataclass(frozen=True)
class Limits:
    """What may be risked and spent."""

    limit: float = 0.75
    """How surely anybody may be linked to a value, all releases solved for everyone at once."""
    counterfeits: float = 0.1
    """The most counterfeits, as a share of the records published."""
    suppress: float = 0.02
    """The share of the rows that may be left out."""
    knowledge: str = "form"
    """What readers are taken to know: what the form of a release shows, or everyone's "groups"."""


@dataclass(frozen=True)
class Setting:
    """One way to publish: a method, what it must meet, and its options."""

    method: str
    require: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """In a few words."""
        more = [f"{name} {value}" for name, value in self.options.items()]
        return ", ".join([f"{self.method} {self.require}", *more])

    def policy(self, limits: Limits) -> dict[str, Any]:
        """As the `[policy]` section of a schema."""
        section: dict[str, Any] = {"require": self.require, "method": self.method}
        if self.options:
            section["options"] = dict(self.options)
        section |= {"limit": limits.limit, "suppress": limits.suppress, "counterfeits": limits.counterfeits}
        return {**section, "knowledge": limits.knowledge, "attacks": ["joint"]}


_FILLED = {"ineligible": "counterfeits"}
_SIZES = ((5, 2), (5, 3), (8, 4), (12, 4), (20, 4), (35, 5), (60, 5), (100, 6))
"""Rows and values of a group, growing."""


def sensible(waves: Waves) -> list[Setting]:
    """Every setting that fits the situation."""
    known, most = registered(), int(1 / waves.largest_share + 1e-9)
    settings = [Setting("pool", "k=5 & l=3")] if waves.values >= 3 else []
    settings += [Setting("pool", _require(k, values, waves)) for k, values in _SIZES if k <= waves.fewest / 2]
    if waves.steady:
        # Few newcomers hardly ever have values that balance: counterfeits then do.
        settings += [Setting("invariance", f"m-unique={m}", _FILLED) for m in (2, 3, 5) if m <= most]
        settings += [Setting("equivalence", f"simple-l={m}", {"e": 3, **_FILLED}) for m in (2, 3) if m <= most]
    if waves.growing:
        settings += [Setting("correspondence", _require(k, 2, waves)) for k in (5, 10, 20) if k <= waves.fewest / 2]
    if waves.providers > 1 and not waves.changing:
        settings += [Setting("providers", f"k={k}", {"m": 1}) for k in (5, 10) if k <= waves.fewest / 2]
    if waves.changing:
        settings += [
            Setting("distinct", f"m-unique={m}", {"risk": 0.7, **_FILLED}) for m in (3, 5) if m <= waves.values
        ]
    if "cohorts" in known:
        settings += _cohorts(waves, set(known["cohorts"].options))
    return list({setting.name: setting for setting in settings}.values())


def _cohorts(waves: Waves, options: set[str]) -> list[Setting]:
    """Cohorts that may grow more or less."""
    grown: list[dict[str, Any]] = [{"grow": grow} for grow in (0.3, 0.6)] if "grow" in options else [{}]
    asked = [_require(5, values, waves) for values in (3, 4)]
    return [Setting("cohorts", require, some) for require in asked for some in grown]


def _require(k: int, values: int, waves: Waves) -> str:
    """Groups of k rows in which no value is above its share, where the waves allow that; else so many values."""
    share = int(1 / waves.largest_share + 1e-9)
    even = min(values, share)
    if even >= 2:
        return f"k={k} & simple-l={even}"
    several = min(values, waves.values)
    return f"k={k} & l={several}" if several >= 2 else f"k={k}"
