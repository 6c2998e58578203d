"""Settings that are worth trying on a series, given what its waves show; and the limits that they are judged by."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

from reissue.attacks.joint.state import MARGIN
from reissue.errors import InputError
from reissue.methods import find, registered
from reissue.people.knowledge import PRIORS
from reissue.protection import CERTAIN, Protection
from reissue.protection import KEYS as PROTECTION
from reissue.publishing.plan.waves import Waves
from reissue.randomization import ALIKE, DEPARTURES, EXACT, RANDOMIZED
from reissue.requirements import parse
from reissue.schema import Options, Schema, Section

__all__ = ["Limits", "Setting", "counterfeits_in_rehearsal", "sensible_settings"]

_SIZE = re.compile(r"\bk=(\d+)")


_RANDOMIZED = "randomized values"
"""What a setting says of values that are not all true."""
_OPTIONS = {
    "by_itself": "each cohort diverse on its own",
    "size": "cohorts of {value} people or more",
    "grow": "cohorts that grow freely",
    "apart": "cohorts of one provider each",
    "m": "against {value} colluding",
    "e": "differences of {value} people or more",
}
"""Options of methods to what they mean; those that all settings of a method have in common are not named."""


@dataclass(frozen=True)
class Limits:
    """What a plan may risk and spend."""

    limit: float = 0.75
    """The largest posterior probability of any person's value, given all releases; above 0 and below 1."""
    counterfeits: float = 0.1
    """Maximum share of counterfeit records, relative to the records published."""
    suppress: float = 0.02
    """Maximum share of suppressed records."""
    knowledge: str = "form"
    """What the adversary knows: what the form of a release shows, or everyone's "groups"."""
    prior: str = PRIORS[1]
    """The adversary's prior, as in a policy."""
    values: str | None = None
    """Which values may be published: "exact" ones only, "randomized" ones only, or either (None)."""
    average: float | None = None
    """The largest share of people whose surest guess may be right, given all releases; None: any."""
    protect: Section = field(default_factory=dict)
    """What else the policy says about sensitive values: limits of single values, and values that need no protection."""

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 1 - CERTAIN:
            raise InputError(
                "The limit of a plan must be a probability above 0 and below 1, for example 0.75. With a limit of 1 "
                "nobody could count as exposed, so no release could be judged."
            )
        if self.values not in {None, EXACT, RANDOMIZED}:
            raise InputError(f'The `values` of a plan are "{EXACT}" or "{RANDOMIZED}"; without it both are tried.')

    def for_schema(self, schema: Schema) -> "Limits":
        """Add what the schema's policy says about sensitive values, except for its default limit.

        Raises
        ------
        InputError
            If the policy leaves no value to protect: no release could be judged by it.

        """
        kept = {key: schema.policy[key] for key in PROTECTION if key in schema.policy}
        if not isinstance(kept.get("limit"), Mapping):
            kept.pop("limit", None)
        made = replace(self, protect=kept) if kept else self
        if Protection.of(made.policy, schema.sensitive).vacuous:
            raise InputError(
                "The policy leaves no sensitive value to protect, so no release could be judged. Name at least one in "
                "`sensitive_values`, or set `missing_is_sensitive`."
            )
        return made

    @property
    def policy(self) -> dict[str, Any]:
        """The keys of a `[policy]` section that state these limits."""
        limit = {**self.protect["limit"], "default": self.limit} if "limit" in self.protect else self.limit
        section = {**self.protect, "limit": limit, "suppress": self.suppress, "counterfeits": self.counterfeits}
        return section if self.average is None else {**section, "average": self.average}

    @property
    def rehearsed(self) -> float:
        """The slightly lower limit of a rehearsal, so that a release made with other random numbers stays below it."""
        return self.limit * MARGIN


@dataclass(frozen=True)
class Setting:
    """One way to publish: a method, the requirement of every release, and the method's options.

    Examples
    --------
    >>> import reissue as ri
    >>> ri.Setting.parse("pool k=10 & l=3").require
    'k=10 & l=3'
    """

    method: str
    require: str
    options: Options = field(default_factory=dict)
    values: str = EXACT
    """Whether sensitive values are published as they are ("exact"), or "randomized"."""
    drawing: Options = field(default_factory=dict)
    """How values are randomized: the keys of `[policy.randomized]`."""

    @property
    def randomized(self) -> bool:
        """Whether published values are true with a chosen probability only."""
        return self.values == RANDOMIZED

    @property
    def name(self) -> str:
        """A short description, such as `pool k=5 & l=3`."""
        more = [f"{name} {value}" for name, value in self.options.items()]
        return ", ".join([f"{self.method} {self.require}", *more, *([_RANDOMIZED] if self.randomized else [])])

    @property
    def words(self) -> str:
        """The same for people who know no options: what each one means."""
        known = [(name, value) for name, value in self.options.items() if name in _OPTIONS and value is not False]
        return ", ".join(
            [
                f"{self.method} {self.require}",
                *(_OPTIONS[name].format(value=value) for name, value in known),
                *([_RANDOMIZED] if self.randomized else []),
            ]
        )

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """Read a method and its requirement, such as `pool k=5 & l=3` or `pool k=5, randomized values`."""
        text, comma, values = text.partition(",")
        if comma and values.strip() != _RANDOMIZED:
            raise InputError(f"After a comma a setting may say '{_RANDOMIZED}': pool k=5, {_RANDOMIZED}.")
        method, _, require = text.strip().partition(" ")
        if not require.strip():
            raise InputError("A setting is a method and what it must meet, for example: pool k=5 & l=3.")
        return cls(find(method).name, str(parse(require)), values=RANDOMIZED if comma else EXACT)

    @property
    def size(self) -> int:
        """The minimum number of rows per group; 0 if the requirement does not state one."""
        found = _SIZE.search(self.require)
        return int(found[1]) if found else 0

    def sized(self, k: int) -> "Setting":
        """The same setting with groups of at least k rows."""
        return replace(self, require=str(parse(_SIZE.sub(f"k={k}", self.require))))

    def with_numbers(self, k: int, values: int) -> "Setting":
        """The same method with at least k rows and this many values per group, in whichever form that is required."""
        require = re.sub(r"\b(simple-l|m-unique|l)=\d+", rf"\g<1>={values}", self.require)
        return replace(self, require=require).sized(k)

    def policy(self, limits: Limits) -> dict[str, Any]:
        """The `[policy]` section that publishes by this setting."""
        section: dict[str, Any] = {"require": self.require, "method": self.method}
        if self.options:
            section["options"] = dict(self.options)
        section |= limits.policy
        if self.randomized:
            return section | {"values": self.values, "randomized": dict(self.drawing)}
        expected = {} if limits.prior == PRIORS[1] else {"prior": limits.prior}
        return {**section, "knowledge": limits.knowledge, **expected, "attacks": ["joint"]}

    @property
    def keeps_providers_apart(self) -> bool:
        """Whether no provider learns more about the others' people than any recipient does."""
        return self.randomized or self.for_providers

    @property
    def for_providers(self) -> bool:
        """Whether it is tried only where several providers contribute records."""
        return self.method == "providers" or bool(self.options.get("apart"))


_OWN_SHARE = 0.9
"""Share of a rehearsal's counterfeits that goes to a method with a `counterfeits` option of its own."""
_DEVIATIONS = 1.5
"""Standard deviations kept in reserve, since the number of counterfeits varies from release to release."""
_FILLED = {"ineligible": "counterfeits"}
_MIXED = 0.4
"""Largest share of a value in a cohort, so that those who leave early have one of several values."""
_FIRST_SIZE, _LARGEST_SIZE = 5, 100
"""Rows per group: the first settings double from the first to the largest size; `planning` examines those between."""
_SHARES = ((5, 0.8), (5, 0.73), (10, 0.8), (10, 0.73))
"""Rows per group, and the largest share of a value in it relative to the limit."""


def counterfeits_in_rehearsal(limits: Limits, waves: Waves) -> float:
    """The share of counterfeits allowed in rehearsal, so that later waves like these stay below the limit."""
    return max(limits.counterfeits - _DEVIATIONS * sqrt(limits.counterfeits / waves.fewest), 0.0)


def sensible_settings(waves: Waves, limits: Limits | None = None) -> list[Setting]:
    """The settings that suit a series, each once."""
    limits = limits or Limits()
    known, most = registered(), int(1 / waves.largest_share + 1e-9)
    drawn = _drawn(waves, limits)
    if limits.values == RANDOMIZED:
        return drawn
    settings = [Setting("pool", "k=5 & l=3")] if waves.values >= 3 else []
    settings += [Setting("pool", _require(k, values, waves)) for k, values in _doubling(waves)]
    settings += _skewed(waves, limits.limit)
    if waves.steady:
        # A few newcomers hardly ever have balanced values; counterfeits then balance them.
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
    settings += [] if limits.values == EXACT else drawn
    return list({setting.name: setting for setting in settings}.values())


def _drawn(waves: Waves, limits: Limits) -> list[Setting]:
    """Randomized values, against an adversary who knows departure rates unless the plan's prior ignores them.

    The adversary is taken to know who is who: what is learned does not depend on the groups, so larger ones only lose.
    """
    known = limits.prior != PRIORS[0] and waves.given > 1  # of simulated waves the rates are made up
    asked: dict[str, Any] = {"against": [ALIKE, DEPARTURES], "departures": waves.departures} if known else {}
    return [Setting("pool", f"k={_FIRST_SIZE}", {}, RANDOMIZED, asked)] if waves.fewest >= 2 * _FIRST_SIZE else []


def _doubling(waves: Waves) -> list[tuple[int, int]]:
    """Rows and values per group: twice the rows and one more value at each step."""
    most = min(waves.fewest // 2, _LARGEST_SIZE)
    return [(_FIRST_SIZE * 2**step, 2 + step) for step in range(most) if _FIRST_SIZE * 2**step <= most]


def _skewed(waves: Waves, limit: float) -> list[Setting]:
    """Settings for a value that is too frequent for equal shares: no value above a share that is below the limit.

    By chance alone the value may be more frequent in a later wave, all the more the fewer people there are.
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
    """Cohorts of several values or of even shares, with more or less growth, or of a single provider's people.

    The method keeps within its counterfeits by itself. Where the adversary learns departure rates, larger cohorts are
    tried before pairs: pairs hide nothing from someone who knows who tends to leave early.
    """
    share = round(_OWN_SHARE * counterfeits_in_rehearsal(limits, waves), 3)
    some: dict[str, Any] = {"counterfeits": share} if "counterfeits" in options else {}
    if limits.knowledge != "form":
        some["form"] = "boxes"  # groups are known anyway: rows may show ranges finer than theirs
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
    """Groups of k rows with no value above an equal share, where the waves allow it; else with this many values."""
    share = int(1 / waves.largest_share + 1e-9)
    even = min(values, share)
    if even >= 2:
        return f"k={k} & simple-l={even}"
    several = min(values, waves.values)
    return f"k={k} & l={several}" if several >= 2 else f"k={k}"
