"""Policy: what the holder of a series requires, from the `[policy]` section of the schema file."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reissue.errors import RequirementError, SchemaError, nearest
from reissue.people.knowledge import PRIORS, assumed, prior_of
from reissue.protection import KEYS as PROTECTION
from reissue.protection import Protection, average_of
from reissue.randomization import EXACT, RANDOMIZED, RandomizedSettings, values_of
from reissue.requirements import Requirement, parse
from reissue.schema import Options, Schema, Section

__all__ = ["Policy"]

DEFAULT_METHOD = "pool"
MOST_COUNTERFEITS = 0.1
"""Default maximum share of counterfeit records, relative to the people published."""
TURNOVER = 0.1
"""Default share of people replaced from one release to the next, where a series is simulated in advance."""
MOST_REPAIR = 0.1
"""Default maximum of additional information loss by repair: as much as suppressing 10% of the rows."""
_PROPOSED = "`reissue plan` finds one for waves that you have, and `reissue init` proposes one for a table"
_KEYS = (
    "require",
    "method",
    "options",
    "boxes",
    "suppress",
    "counterfeits",
    "releases",
    "turnover",
    "repair",
    "max_loss",
    "attacks",
    "limits",
    "knowledge",
    "prior",
    "not_run",
    "exact",
    "values",
    "randomized",
    "average",
    "look_back",
    "collude",
    "alone",
    "epsilon",
    *PROTECTION,
)


@dataclass(frozen=True, repr=False)
class Policy:
    r"""What a release must meet, how it is made, which attacks it must withstand, and when it is refused.

    A policy is read from the section `[policy]` of a schema file.

    Examples
    --------
    >>> import reissue as ri
    >>> roles = 'columns = { patient = "identifier", age = "quasi", disease = "sensitive" }'
    >>> schema = ri.Schema.loads(roles + '\npolicy = { require = "k=5 & l=3", limit = 0.6 }')
    >>> policy = ri.Policy.of(schema)
    >>> str(policy.require), policy.limit
    ('k=5 & l=3', 0.6)
    """

    require: Requirement
    method: str = DEFAULT_METHOD
    options: Options = field(default_factory=dict)
    """The options of the method."""
    boxes: str = "nodes"
    """What is published of a group: nodes of the taxonomies, or "tight" ranges, which show extreme values."""
    suppress: float = 0.0
    """Maximum share of suppressed records."""
    counterfeits: float = MOST_COUNTERFEITS
    """Maximum share of counterfeit records, relative to the people published."""
    releases: int | None = None
    """How many releases the series is to have: its first one is refused if a simulation ends before; None: any."""
    turnover: float = TURNOVER
    """The share of people who are replaced in each release of that simulation."""
    repair: float = MOST_REPAIR
    """Maximum additional information loss from joining groups, where people would otherwise be exposed."""
    max_loss: float | None = None
    """Maximum information loss of a release; None: any."""
    attacks: tuple[str, ...] | None = None
    """The attacks that a release must withstand; None for all."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """The limit of each attack; each attack defines what it counts."""
    limit: float | None = None
    """The largest posterior probability of anybody's value, given all releases; None: three quarters.

    Single values may have limits of their own, and some need no protection; see `protection`.
    """
    protection: Protection = field(default_factory=lambda: Protection(()))
    """Which sensitive values are protected, and by which limits."""
    knowledge: tuple[str, ...] = ()
    """What the adversary knows beyond what the form of a release shows: everyone's "groups", true "totals"."""
    prior: str = PRIORS[1]
    """The adversary's prior: "common" base rates, also departure rates ("leaving"), or also what is "learned"."""
    not_run: bool | tuple[str, ...] = False
    """Attacks that may be *not run* without blocking a release; True for any."""
    exact: bool = False
    """Whether attacks use their slower, exact algorithm, if they have one."""
    values: str = EXACT
    """Whether sensitive values are published as they are ("exact"), or "randomized"."""
    randomized: RandomizedSettings = field(default_factory=RandomizedSettings)
    """How values are randomized, where they are."""
    average: float | None = None
    """The largest share of people whose surest guess may be right, given all releases; None: any."""

    look_back: int | None = None
    """The number of earlier releases that attacks consider; None for all."""
    collude: tuple[tuple[str, ...], ...] | None = None
    """The groups of recipients who may combine their releases; None for all recipients."""
    alone: bool = False
    """Whether nobody ever holds two releases; they are then not compared, and every publication warns about it."""

    epsilon: float | None = None
    """The budget of each person for differentially private counts, over the whole series; None: there are none."""

    @property
    def m(self) -> int:
        """The number of providers that may collude."""
        return int(self.limits.get("coalition", 1))

    @property
    def draws(self) -> bool:
        """Whether values are randomized."""
        return self.values == RANDOMIZED

    def __repr__(self) -> str:
        """The policy in one sentence."""
        attacks = "all attacks" if self.attacks is None else ", ".join(self.attacks) or "no attack"
        return f"Policy: {self.require} by the method {self.method}, to withstand {attacks}."

    @classmethod
    def of(cls, schema: Schema) -> "Policy":
        """Read and check the `[policy]` section of a schema."""
        from reissue.methods import find

        section = _renamed(schema.policy)
        for key in section:
            if key not in _KEYS:
                raise SchemaError(f"[policy] has an unknown key '{key}'." + nearest(key, _KEYS))
        if not isinstance(section.get("require"), str):
            hint = "" if section else f" The schema has no policy: {_PROPOSED}."
            raise SchemaError(f'[policy] must say what every release must meet:  require = "k=5 & l=3".{hint}')
        try:
            require = parse(section["require"])
        except RequirementError as problem:
            raise SchemaError(f"[policy] require: {problem}") from None
        method = _typed(section, "method", str, DEFAULT_METHOD, 'the name of a method, such as "pool"')
        options = _typed(section, "options", dict, {}, "a table of the method's options, such as { e = 5 }")
        find(method).settle(options)
        attacks = _attacks(section)
        protection = Protection.of(section, schema.sensitive)
        return cls(
            require=require,
            method=method,
            options=dict(options),
            boxes=_boxes(section),
            suppress=_share(section, "suppress", 0.0, below=True),
            counterfeits=_share(section, "counterfeits", MOST_COUNTERFEITS),
            repair=_share(section, "repair", MOST_REPAIR, what="an information loss"),
            max_loss=_share(section, "max_loss", 1.0, what="an information loss") if "max_loss" in section else None,
            attacks=attacks,
            limits=_limits(section),
            limit=protection.limit if "limit" in section else None,
            protection=protection,
            knowledge=assumed(section),
            prior=prior_of(section),
            not_run=_not_run(section),
            exact=_typed(section, "exact", bool, default=False, what="true or false"),
            **_of_values(schema),
            **_of_series(section),
            collude=_collude(section),
            alone=_alone(section, attacks),
        )


def _renamed(section: Section) -> Section:
    """The section with its outdated keys renamed."""
    found = dict(section)
    if "ceilings" in found:
        warnings.warn("[policy] `ceilings` is called `limits` now. It is read all the same.", stacklevel=3)
        found.setdefault("limits", found.pop("ceilings"))
    if "risk" in found:
        warnings.warn("[policy] `risk = N` is written `limits = { updates = N }` now. It is read.", stacklevel=3)
        limits, risk = found.get("limits", {}), _probability(found, "risk")
        found["limits"] = {"updates": risk, **limits} if isinstance(limits, dict) else limits
        del found["risk"]
    return found


def _typed(section: Section, key: str, kind: Any, default: Any, what: str) -> Any:
    value = section.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SchemaError(f"[policy] `{key}` must be {what}.")
    return value


def _boxes(section: Section) -> str:
    value = section.get("boxes", "nodes")
    if value not in ("nodes", "tight"):
        raise SchemaError('[policy] `boxes` must be "nodes" or "tight".')
    return str(value)


def _share(
    section: Section, key: str, default: float, *, below: bool = False, what: str = "a share of the rows"
) -> float:
    if key not in section:
        return default
    value = section[key]
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 - 1e-12 * below
    if not fine:
        raise SchemaError(f"[policy] `{key}` must be {what}, from 0 to {'below ' * below}1.")
    return float(value)


def _known_attacks(key: str, names: Any) -> tuple[str, ...]:
    from reissue.attacks.registry import names as attack_names

    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError(f"[policy] `{key}` must be a list of attacks.")
    known = attack_names()
    for name in names:
        if name not in known:
            raise SchemaError(f"[policy] `{key}` names an attack '{name}' that is not there." + nearest(name, known))
    return tuple(names)


def _attacks(section: Section) -> tuple[str, ...] | None:
    return _known_attacks("attacks", section["attacks"]) if "attacks" in section else None


def _limits(section: Section) -> dict[str, float]:
    given = _typed(section, "limits", dict, {}, "a table of attacks and their limits, such as { updates = 0.2 }")
    _known_attacks("limits", list(given))
    if any(isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0 for limit in given.values()):
        raise SchemaError("[policy] `limits`: every limit must be a number above 0.")
    return dict(given)


def _probability(section: Section, key: str) -> float | None:
    value = section.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise SchemaError(f"[policy] `{key}` must be a probability, above 0 and at most 1.")
    return float(value)


def _of_values(schema: Schema) -> dict[str, Any]:
    """Whether and how values are randomized, and how well they may be guessed on average."""
    values, average = values_of(schema.policy), average_of(schema.policy)
    return {"values": values, "randomized": RandomizedSettings.of(schema), "average": average}


def _not_run(section: Section) -> bool | tuple[str, ...]:
    value = section.get("not_run", "refuse")
    if value in ("refuse", "allow"):
        return bool(value == "allow")
    if not isinstance(value, list):
        raise SchemaError('[policy] `not_run` must be "refuse", "allow", or a list of the attacks that need not run.')
    return _known_attacks("not_run", value)


def _of_series(section: Section) -> dict[str, Any]:
    """How long the series is to be, how much of it is looked at, and what each person may spend in it."""
    turnover = _share(section, "turnover", TURNOVER, what="a share of the people")
    whole = {key: _whole(section, key) for key in ("releases", "look_back")}
    return {**whole, "turnover": turnover, "epsilon": _budget(section)}


def _budget(section: Section) -> float | None:
    value = section.get("epsilon")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e6):
        raise SchemaError("[policy] `epsilon` must be the budget of each person over the series: a number above 0.")
    return None if value is None else float(value)


def _whole(section: Section, key: str) -> int | None:
    value = section.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise SchemaError(f"[policy] `{key}` must be a whole number of releases, 1 or more.")
    return value


def _collude(section: Section) -> tuple[tuple[str, ...], ...] | None:
    value = section.get("collude", "all")
    if value == "all":
        return None
    if not isinstance(value, list) or not all(_names(group) for group in value):
        raise SchemaError(
            '[policy] `collude` must be "all", or a list of groups of recipients, such as [["ministry", "institute"]].'
        )
    return tuple(tuple(group) for group in value)


def _alone(section: Section, attacks: Sequence[str] | None) -> bool:
    from reissue.attacks import find

    alone: bool = _typed(section, "alone", bool, default=False, what="true or false")
    comparing = [name for name in attacks or () if find(name).fewest > 1]
    if alone and comparing:
        raise SchemaError(
            f"[policy] `alone` says that nobody holds two releases, and `attacks` asks for '{comparing[0]}', which "
            "compares them. Leave one of the two out."
        )
    return alone


def _names(group: Any) -> bool:
    return isinstance(group, Sequence) and not isinstance(group, str) and all(isinstance(name, str) for name in group)
