"""Protection of sensitive values: which are protected, and the limits of their posterior probabilities.

A policy states it as::

    limit = 0.75                                            # for every value of every sensitive column
    limit = { default = 0.75, HIV = 0.2 }                   # stricter for one value
    limit = { default = 0.75, test = { positive = 0.2 } }   # stricter for one value of one column
    gain = 10                                               # maximum of posterior odds over prior odds
    harmless_values = ["negative"]                          # values that need no protection
    sensitive_values = { test = ["positive"] }              # all other values of this column need none
    missing_is_sensitive = ["test"]                         # missing values need protection too

Each sensitive column is judged by itself, and so are all columns together; each of these is a `ValueView`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.texts import MISSING, SEPARATOR
from reissue.errors import SchemaError, nearest
from reissue.schema import Section

__all__ = ["CERTAIN", "KEYS", "LIMIT", "TOGETHER", "Protection", "ValueView", "average_of"]

LIMIT = 0.75
"""Default limit: the largest posterior probability of a sensitive value."""
KEYS = ("limit", "gain", "sensitive_values", "harmless_values", "missing_is_sensitive")
"""The keys of a policy that this module reads."""
TOGETHER = ", "
"""Joins the names of columns that are judged together."""

CERTAIN = 1e-5
"""A limit this close to 1 permits certainty, up to rounding."""

Values = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class ValueView:
    """The sensitive values by one column, or by all columns together.

    Attributes
    ----------
    column
        The name of the column, or all names where columns are judged together.
    names
        The text of each label; None is the missing value.
    label
        The label of each joint value, in the caller's numbering.
    limit
        The largest allowed posterior of each label; infinite if it needs no protection.
    gain
        The largest allowed ratio of posterior odds to prior odds; infinite if unbounded.

    """

    column: str
    names: tuple[str | None, ...]
    label: Ints
    limit: Floats
    gain: float

    @property
    def whole(self) -> bool:
        """Whether labels are the same as the caller's values."""
        return len(self.label) == len(self.names)

    @property
    def protected(self) -> Bools:
        """Which labels need protection."""
        return np.isfinite(self.limit)

    def shares(self, counts: Floats) -> Floats:
        """Return the share of each label, from counts of values."""
        shown = np.bincount(self.label[: len(counts)], counts, len(self.names))
        return np.asarray(shown / max(float(shown.sum()), 1.0))

    def limits(self, prior: Floats) -> Floats:
        """Return the stricter of each label's limit and the posterior that the gain allows, given these priors."""
        if np.isinf(self.gain):
            return self.limit
        odds = self.gain * prior / np.maximum(1 - prior, 1e-12)
        return np.where(self.protected, np.minimum(self.limit, odds / (1 + odds)), np.inf)


@dataclass(frozen=True)
class Protection:
    """What a policy says about sensitive values: limits, and which of them need no protection."""

    columns: tuple[str, ...]
    """The sensitive columns."""
    limit: float = LIMIT
    gain: float = np.inf
    by_value: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The limit of single values, by column."""
    by_column: Mapping[str, float] = field(default_factory=dict)
    """The default limit of single columns."""
    sensitive: Values = field(default_factory=dict)
    """The values that need protection, by column, if a policy lists them."""
    harmless: Values = field(default_factory=dict)
    """The values that need no protection, by column."""
    missing: frozenset[str] = frozenset()
    """The columns in which missing values need protection too."""

    @classmethod
    def of(cls, policy: Section, columns: Sequence[str], limit: float | None = None) -> "Protection":
        """Read the keys of a policy; `limit` replaces its default limit.

        Raises
        ------
        SchemaError
            If a key has a wrong type, or names a column that is not sensitive.

        """
        known = tuple(columns)
        default, by_column, by_value = _limits(policy.get("limit", policy.get("risk", LIMIT)), known)
        both = [name for name in ("sensitive_values", "harmless_values") if name in policy]
        listed = {name: _listed(name, policy[name], known) for name in both}
        sensitive, harmless = listed.get("sensitive_values", {}), listed.get("harmless_values", {})
        twice = [name for name in sensitive if name in harmless]
        if twice:
            raise SchemaError(
                f"[policy] names both the sensitive and the harmless values of '{twice[0]}'. Name one of the two."
            )
        return cls(
            known,
            default if limit is None else _probability(limit),
            _gain(policy.get("gain")),
            by_value,
            by_column,
            sensitive,
            harmless,
            _missing(policy.get("missing_is_sensitive", False), known),
        )

    @property
    def strictest(self) -> float:
        """The smallest limit of any value."""
        own = [one for values in self.by_value.values() for one in values.values()]
        return min([self.limit, *self.by_column.values(), *own])

    @property
    def uniform(self) -> bool:
        """Whether one limit holds for every protected value."""
        return not self.by_column and not any(self.by_value.values()) and bool(np.isinf(self.gain))

    @property
    def every_value(self) -> bool:
        """Whether all values are protected, except for missing ones."""
        return not self.sensitive and not self.harmless

    @property
    def vacuous(self) -> bool:
        """Whether it permits everything: no limit is below 1 and no gain is bounded, or no value is protected."""
        nothing = bool(self.columns) and all(self.sensitive.get(name) == frozenset() for name in self.columns)
        unbounded = self.strictest > 1 - CERTAIN and bool(np.isinf(self.gain))
        return unbounded or (nothing and not self.missing)

    def absent(self, column: str, names: Sequence[str | None]) -> tuple[int, int]:
        """How many of the values that the policy names for a column do not occur, and how many it names."""
        named = self.sensitive.get(column, frozenset()) | self.by_value.get(column, {}).keys()
        return len(named - {_alike(name) for name in names if name is not None}), len(named)

    def harmless_in(self, column: str, names: Sequence[str | None]) -> Bools:
        """Which values of a column need no protection; None is the missing value."""
        sensitive, harmless = self.sensitive.get(column), self.harmless.get(column, frozenset())
        return np.array(
            [
                column not in self.missing
                if name is None
                else _alike(name) in harmless or (sensitive is not None and _alike(name) not in sensitive)
                for name in names
            ],
            np.bool_,
        )

    def limits_in(self, column: str, names: Sequence[str | None]) -> Floats:
        """Return the limit of each value of a column; infinite if it needs no protection."""
        own, default = self.by_value.get(column, {}), self.by_column.get(column, self.limit)
        limits = [default if name is None else own.get(_alike(name), default) for name in names]
        return np.where(self.harmless_in(column, names), np.inf, np.array(limits, np.float64))

    def guarded(self, names: Sequence[str | None]) -> Bools:
        """Return which values with these texts (joined, with several sensitive columns) need protection."""
        return self.views(names)[-1].protected if self.columns else np.ones(len(names), np.bool_)

    def views(self, names: Sequence[str | None]) -> tuple[ValueView, ...]:
        """Return the views of values with these texts (joined, with several sensitive columns).

        There is one view per column, and with several columns a last one for all of them together.
        """
        if len(self.columns) == 1:
            column = self.columns[0]
            return (ValueView(column, tuple(names), np.arange(len(names)), self.limits_in(column, names), self.gain),)
        parts = [_apart(name, len(self.columns)) for name in names]
        made, limits = [], np.full((len(self.columns), len(names)), np.inf)
        for place, column in enumerate(self.columns):
            own = [part[place] for part in parts]
            texts = sorted(set(own), key=lambda text: (text is None, text or ""))
            at = {text: number for number, text in enumerate(texts)}
            label = np.array([at[text] for text in own], np.int64)
            limit = self.limits_in(column, texts)
            limits[place] = limit[label]
            made.append(ValueView(column, tuple(texts), label, limit, self.gain))
        together = TOGETHER.join(self.columns)
        whole = ValueView(together, tuple(names), np.arange(len(names)), limits.min(axis=0, initial=np.inf), self.gain)
        return (*made, whole)


def _apart(name: str | None, columns: int) -> list[str | None]:
    """Split joined texts of several columns (see `counting.texts`)."""
    pieces = [] if name is None else name.split(SEPARATOR)
    return [None if piece == MISSING else piece for piece in pieces] if pieces else [None] * columns


def _alike(value: Any) -> str:
    """Normalize a value for comparison: case, surrounding blanks and the notation of numbers do not matter."""
    text = str(value).strip().casefold()
    try:
        return text if "_" in text else repr(float(text))
    except ValueError:
        return text


def _probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise SchemaError("[policy] `limit`: every limit must be a probability, above 0 and at most 1.")
    return float(value)


def _limits(given: Any, columns: Sequence[str]) -> tuple[float, dict[str, float], dict[str, dict[str, float]]]:
    """Read the default limit, and those of columns and single values, from a number or a table."""
    if not isinstance(given, Mapping):
        return _probability(given), {}, {}
    by_column: dict[str, float] = {}
    by_value: dict[str, dict[str, float]] = {name: {} for name in columns}
    for key, value in given.items():
        if isinstance(value, Mapping):
            _known(key, columns, "limit")
            by_column |= {key: _probability(value["default"])} if "default" in value else {}
            by_value[key] |= {_alike(name): _probability(one) for name, one in value.items() if name != "default"}
        elif key != "default":
            for own in by_value.values():
                own.setdefault(_alike(key), _probability(value))
    return _probability(given.get("default", LIMIT)), by_column, by_value


def average_of(policy: Section) -> float | None:
    """The largest share of people whose surest guess may be right, as a policy says it; None for any."""
    value = policy.get("average")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise SchemaError("[policy] `average` must be a share of people, above 0 and at most 1.")
    return float(value)


def _known(column: str, columns: Sequence[str], key: str) -> None:
    if column not in columns:
        raise SchemaError(
            f"[policy] `{key}` names a column '{column}', which is not sensitive." + nearest(column, columns)
        )


def _listed(key: str, given: Any, columns: Sequence[str]) -> dict[str, frozenset[str]]:
    """The listed values of each column; a list without columns applies to all of them."""
    tables = given if isinstance(given, Mapping) else dict.fromkeys(columns, given)
    for column, values in tables.items():
        _known(column, columns, key)
        if not isinstance(values, list | tuple) or any(isinstance(value, Mapping | list) for value in values):
            raise SchemaError(
                f'[policy] `{key}` must be a list of values, such as ["negative"], or a table of such lists by column.'
            )
    return {column: frozenset(_alike(value) for value in values) for column, values in tables.items()}


def _missing(given: Any, columns: Sequence[str]) -> frozenset[str]:
    if isinstance(given, bool):
        return frozenset(columns if given else ())
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise SchemaError("[policy] `missing_is_sensitive` must be true, false or a list of sensitive columns.")
    for column in given:
        _known(column, columns, "missing_is_sensitive")
    return frozenset(given)


def _gain(given: Any) -> float:
    if given is None:
        return np.inf
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 1:
        raise SchemaError("[policy] `gain` must be a number of 1 or more: posterior odds over prior odds.")
    return float(given)
