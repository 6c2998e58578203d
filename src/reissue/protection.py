"""Which sensitive values are protected, and how surely anybody may be linked to each: `limit`, `gain`, and the rest.

A policy says it in its own words::

    limit = 0.75                                            # for every value of every sensitive column
    limit = { default = 0.75, HIV = 0.2 }                   # for one value less
    limit = { default = 0.75, test = { positive = 0.2 } }   # for one value of one column
    gain = 10                                               # posterior odds over prior odds, at most
    harmless_values = ["negative"]                          # need no protection
    sensitive_values = { test = ["positive"] }              # of this column all others need none
    missing_is_sensitive = ["test"]                         # an empty cell is itself a secret

Each sensitive column is judged by itself, and so are all columns together: that is what a `ValueView` is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.texts import MISSING, SEPARATOR
from reissue.errors import SchemaError, nearest
from reissue.schema import Section

__all__ = ["CERTAIN", "KEYS", "LIMIT", "TOGETHER", "Protection", "ValueView"]

LIMIT = 0.75
"""How surely a person may be linked to a value where nobody says otherwise."""
KEYS = ("limit", "gain", "sensitive_values", "harmless_values", "missing_is_sensitive")
"""The keys of a policy that are read here."""
TOGETHER = ", "
"""Between the names of columns that are judged together."""

CERTAIN = 1e-5
"""A limit this close to 1 permits certainty, up to rounding."""

Values = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class ValueView:
    """The sensitive values as one column has them, or all columns together.

    Attributes
    ----------
    column
        The column's name, or all names where columns are judged together.
    names
        Label to its text; None is the missing value.
    label
        Value, as the caller numbers values of all columns together, to its label.
    limit
        Label to how surely anybody may be linked to it; infinite where it needs no protection.
    gain
        How many times the prior odds the posterior odds may be; infinite where nothing is said.

    """

    column: str
    names: tuple[str | None, ...]
    label: Ints
    limit: Floats
    gain: float

    @property
    def whole(self) -> bool:
        """Whether labels are the caller's own values."""
        return len(self.label) == len(self.names)

    @property
    def protected(self) -> Bools:
        """Label to whether it needs protection."""
        return np.isfinite(self.limit)

    def shares(self, counts: Floats) -> Floats:
        """Label to its share, from counts of values."""
        shown = np.bincount(self.label[: len(counts)], counts, len(self.names))
        return np.asarray(shown / max(float(shown.sum()), 1.0))

    def limits(self, prior: Floats) -> Floats:
        """Label to the stricter of its limit and the posterior that the gain allows, where labels have these priors."""
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
    """Column to value to its own limit."""
    by_column: Mapping[str, float] = field(default_factory=dict)
    """Column to its own default."""
    sensitive: Values = field(default_factory=dict)
    """Column to the values that need protection, where a policy lists them."""
    harmless: Values = field(default_factory=dict)
    """Column to the values that need none."""
    missing: frozenset[str] = frozenset()
    """Columns in which an empty cell needs protection too."""

    @classmethod
    def of(cls, policy: Section, columns: Sequence[str], limit: float | None = None) -> "Protection":
        """Read the keys of a policy; `limit` replaces its default limit.

        Raises
        ------
        SchemaError
            Where a key has a wrong type or names a column that is not sensitive.

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
        """Whether all values are protected, empty cells aside."""
        return not self.sensitive and not self.harmless

    @property
    def vacuous(self) -> bool:
        """Whether it permits everything: no limit is below 1 and no gain is bounded, or no value is protected."""
        nothing = bool(self.columns) and all(self.sensitive.get(name) == frozenset() for name in self.columns)
        unbounded = self.strictest > 1 - CERTAIN and bool(np.isinf(self.gain))
        return unbounded or (nothing and not self.missing)

    def absent(self, column: str, names: Sequence[str | None]) -> tuple[int, int]:
        """How many of the values of a column that the policy names as sensitive do not occur, and how many it names."""
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
        """How surely anybody may be linked to each value of a column; infinite where it needs no protection."""
        own, default = self.by_value.get(column, {}), self.by_column.get(column, self.limit)
        limits = [default if name is None else own.get(_alike(name), default) for name in names]
        return np.where(self.harmless_in(column, names), np.inf, np.array(limits, np.float64))

    def guarded(self, names: Sequence[str | None]) -> Bools:
        """Which values that have these texts, joined where there are several sensitive columns, need protection."""
        return self.views(names)[-1].protected if self.columns else np.ones(len(names), np.bool_)

    def views(self, names: Sequence[str | None]) -> tuple[ValueView, ...]:
        """The views of values that have these texts, joined where there are several sensitive columns.

        One for each column, and a last one for all of them together where there are several.
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
    """The texts of several columns, as `counting.texts` joined them."""
    pieces = [] if name is None else name.split(SEPARATOR)
    return [None if piece == MISSING else piece for piece in pieces] if pieces else [None] * columns


def _alike(value: Any) -> str:
    """A value as it is compared: case and blanks at its ends do not matter, nor how a number is written."""
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
    """The default, and the limits of columns and of their values, from a number or a table."""
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


def _known(column: str, columns: Sequence[str], key: str) -> None:
    if column not in columns:
        raise SchemaError(
            f"[policy] `{key}` names a column '{column}', which is not sensitive." + nearest(column, columns)
        )


def _listed(key: str, given: Any, columns: Sequence[str]) -> dict[str, frozenset[str]]:
    """Column to the values that are listed; a list without columns is for each of them."""
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
