"""Which methods and settings are worth a try on a series, by what its waves show."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

from reissue.errors import InputError
from reissue.methods import find, registered
from reissue.people.knowledge import PRIORS
from reissue.protection import KEYS as PROTECTION
from reissue.publishing.plan.waves import Waves
from reissue.requirements import parse
from reissue.schema import Options, Section

__all__ = ["Limits", "Setting", "counterfeits_in_rehearsal", "sensible"]

_MARGIN = 0.95
_SIZE = re.compile(r"\bk=(\d+)")


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
    prior: str = PRIORS[1]
    """What readers expect of people, as a policy says it."""
    protect: Section = field(default_factory=dict)
    """What else the policy says of sensitive values: limits of single ones, and which need no protection."""

    def protecting(self, policy: Section) -> "Limits":
        """With what a policy says of sensitive values, its default limit aside."""
        kept = {key: policy[key] for key in PROTECTION if key in policy}
        if not isinstance(kept.get("limit"), Mapping):
            kept.pop("limit", None)
        return replace(self, protect=kept) if kept else self

    @property
    def policy(self) -> dict[str, Any]:
        """As a `[policy]` section says it."""
        limit = {**self.protect["limit"], "default": self.limit} if "limit" in self.protect else self.limit
        return {**self.protect, "limit": limit, "suppress": self.suppress, "counterfeits": self.counterfeits}

    @property
    def rehearsed(self) -> float:
        """A limit a little lower: what just stays below it in rehearsal would not leave room for other chances."""
        return self.limit * _MARGIN if self.limit < 1 else 1.0


@dataclass(frozen=True)
class Setting:
    """One way to publish: a method, what it must meet, and its options."""

    method: str
    require: str
    options: Options = field(default_factory=dict)

    @property
    def name(self) -> str:
        """In a few words."""
        more = [f"{name} {value}" for name, value in self.options.items()]
        return ", ".join([f"{self.method} {self.require}", *more])

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """`pool k=5 & l=3`: a method, and what it must meet."""
        method, _, require = text.strip().partition(" ")
        if not require.strip():
            raise InputError("A setting is a method and what it must meet, for example: pool k=5 & l=3.")
        return cls(find(method).name, str(parse(require)))

    @property
    def size(self) -> int:
        """Rows of a group, at least; 0 where that is not asked for."""
        found = _SIZE.search(self.require)
        return int(found[1]) if found else 0

    def sized(self, k: int) -> "Setting":
        """The same with groups of so many rows."""
        return replace(self, require=str(parse(_SIZE.sub(f"k={k}", self.require))))

    def moved(self, k: int, values: int) -> "Setting":
        """The same method with other numbers: rows of a group, and how many values it holds, however that is asked."""
        require = re.sub(r"\b(simple-l|m-unique|l)=\d+", rf"\g<1>={values}", self.require)
        return replace(self, require=require).sized(k)

    def policy(self, limits: Limits) -> dict[str, Any]:
        """As the `[policy]` section of a schema."""
        section: dict[str, Any] = {"require": self.require, "method": self.method}
        if self.options:
            section["options"] = dict(self.options)
        section |= limits.policy
        expected = {} if limits.prior == PRIORS[1] else {"prior": limits.prior}
        return {**section, "knowledge": limits.knowledge, **expected, "attacks": ["joint"]}

    @property
    def keeps_providers_apart(self) -> bool:
        """Whether no provider sees more of the others' people than any reader does."""
        return self.method == "providers" or bool(self.options.get("apart"))


_OWN = 0.9
"""Of the counterfeits that a rehearsal may spend: what a method that watches them itself is given."""
_CHANCE = 1.5
"""Standard deviations: of few people chance makes more counterfeits in one release than in another."""
_FILLED = {"ineligible": "counterfeits"}
_MIXED = 0.4
"""The largest share of a value in such cohorts, where that is asked for: who leaves soon then has one of several."""
_FIRST_SIZE, _LARGEST_SIZE = 5, 100
"""Rows of a group: the first settings double them; what lies between is looked at where it matters (`refining`)."""
_SHARES = ((5, 0.8), (5, 0.73), (10, 0.8), (10, 0.73))
"""Rows of a group, and the largest share of a value in it as a part of the limit."""


def counterfeits_in_rehearsal(limits: Limits, waves: Waves) -> float:
    """The share of counterfeits that may be spent on these waves, so that others like them stay below the limit."""
    return max(limits.counterfeits - _CHANCE * sqrt(limits.counterfeits / waves.fewest), 0.0)


def sensible(waves: Waves, limits: Limits | None = None) -> list[Setting]:
    """Every setting that fits the situation."""
    limits = limits or Limits()
    known, most = registered(), int(1 / waves.largest_share + 1e-9)
    settings = [Setting("pool", "k=5 & l=3")] if waves.values >= 3 else []
    settings += [Setting("pool", _require(k, values, waves)) for k, values in _doubling(waves)]
    settings += _skewed(waves, limits.limit)
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
        settings += _cohorts(waves, set(known["cohorts"].options), limits)
    return list({setting.name: setting for setting in settings}.values())


def _doubling(waves: Waves) -> list[tuple[int, int]]:
    """Rows and values of a group: twice the rows, and one value more."""
    most = min(waves.fewest // 2, _LARGEST_SIZE)
    return [(_FIRST_SIZE * 2**step, 2 + step) for step in range(most) if _FIRST_SIZE * 2**step <= most]


def _skewed(waves: Waves, limit: float) -> list[Setting]:
    """Where one value is so frequent that equal shares cost too much: no value above a share below the limit.

    In a later wave the value may be more frequent, by chance alone: of few people by more.
    """
    asked = [(k, round(part * limit, 2)) for k, part in _SHARES]
    largest = waves.largest_share
    more = max(0.02, 3 * sqrt(largest * (1 - largest) / waves.fewest))
    return [
        Setting("pool", f"k={k} & confidence={share:g}")
        for k, share in asked
        if largest > 1 / 3 and largest < share - more and k <= waves.fewest / 2
    ]


def _cohorts(waves: Waves, options: set[str], limits: Limits) -> list[Setting]:
    """Cohorts of several values, or of even shares, that may grow more or less, or of one provider's people each.

    They stay below the counterfeits that are allowed by themselves. Where readers learn, cohorts by themselves come
    before those of even shares: pairs of people hide nothing from someone who knows who leaves soon.
    """
    share = round(_OWN * counterfeits_in_rehearsal(limits, waves), 3)
    some: dict[str, Any] = {"counterfeits": share} if "counterfeits" in options else {}
    several, even = "k=5 & l=3" if waves.values >= 3 else _require(5, 3, waves), _require(5, 3, waves)
    asked: list[tuple[str, dict[str, Any]]] = [(several, {}), (several, {"grow": 1.0}), (even, {})]
    if limits.prior != "common":
        asked += [(several, {"by_itself": True, "size": 12, "later": 8}), (several, {"by_itself": True})]
        if waves.largest_share < _MIXED:
            mixed = f"{several} & confidence={_MIXED:g}"
            asked += [(mixed, {"by_itself": True}), (mixed, {"by_itself": True, "size": 48, "later": 24})]
    asked += [(several, {"apart": True})] if waves.providers > 1 else [(even, {"grow": 1.0})]
    return [Setting("cohorts", require, {**some, **each}) for require, each in asked if options >= each.keys()]


def _require(k: int, values: int, waves: Waves) -> str:
    """Groups of k rows in which no value is above its share, where the waves allow that; else this many values."""
    share = int(1 / waves.largest_share + 1e-9)
    even = min(values, share)
    if even >= 2:
        return f"k={k} & simple-l={even}"
    several = min(values, waves.values)
    return f"k={k} & l={several}" if several >= 2 else f"k={k}"
