"""The settings of randomized values, from `[policy.randomized]` of a schema.

A policy states them as::

    values = "randomized"
    randomized = { against = ["people alike", "class prior", "departure rates"], departures = { default = 0.05 } }
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import SchemaError, nearest
from reissue.files.tables import read_file
from reissue.schema import Schema, Section

__all__ = [
    "ADVERSARIES",
    "ALIKE",
    "CLASS_PRIOR",
    "DEPARTURES",
    "EXACT",
    "RANDOMIZED",
    "RandomizedSettings",
    "by_text",
    "file_of",
    "holds_amounts",
    "values_of",
]

_AMOUNTS = 50
"""A column of whole numbers with more different ones than this holds amounts: nothing is drawn among them."""
_DYNAMICS = 4
"""Each share of changes is one more adversary of each kind."""
EXACT, RANDOMIZED = "exact", "randomized"
ALIKE, CLASS_PRIOR, DEPARTURES = ADVERSARIES = ("people alike", "class prior", "departure rates")
_DEFAULT = "default"
_COUNT = {"departures": "leaves", "shares": "share"}
"""The column of numbers in the file of each key."""


@dataclass(frozen=True)
class RandomizedSettings:
    """How values are randomized, and against whom."""

    against: tuple[str, ...] = (ALIKE, CLASS_PRIOR)
    """Adversaries: what each of them knows beyond the releases and the mechanism."""
    departures: Mapping[str, float] | None = None
    """How likely people with each value are to be absent from the next release; `default` for values not listed."""
    shares: Mapping[str, float] | None = None
    """Prior shares of values from elsewhere, in place of noisy counts; `default` for values not listed."""
    changes: tuple[float, ...] = (0.05,)
    """The share of people whose value changes from one release to the next, where `[updates]` says nothing; several
    shares are as many adversaries."""
    margin: float = 1.25
    """By which factor the prior odds of an adversary may differ from those assumed."""
    odds: float = 1000.0
    """The largest factor by which one draw changes the odds between two values, whatever the prior."""
    class_size: int = 700
    """The fewest people of a class, whose members share a matrix and a prior."""
    epsilon: float = 2.0
    """The privacy budget of the noise in the counts behind priors; each person is counted once."""
    redraw: bool = True
    """Whether a value may be drawn anew after it has changed."""

    @classmethod
    def of(cls, schema: Schema) -> "RandomizedSettings":
        """Read and check the settings of a schema's policy."""
        given = schema.policy.get("randomized", {})
        if not isinstance(given, Mapping):
            raise SchemaError("[policy] `randomized` must be a table of settings, such as { margin = 1.25 }.")
        names = [one.name for one in fields(cls)]
        for key in given:
            if key not in names:
                raise SchemaError(f"[policy.randomized] has an unknown key '{key}'." + nearest(key, names))
        found: dict[str, Any] = {key: _CHECKS[key](key, value) for key, value in given.items() if key in _CHECKS}
        found |= {key: _by_value(schema, key, given[key]) for key in _COUNT if key in given}
        departures = found.get("departures") is not None
        found.setdefault("against", (ALIKE, DEPARTURES if departures else CLASS_PRIOR))
        if DEPARTURES in found["against"] and not departures:
            raise SchemaError(
                '[policy.randomized] `against` names "departure rates", and `departures` does not say them: how likely '
                "people with each value are to be absent from the next release, such as  { default = 0.05, flu = 0.3 }."
            )
        return cls(**found)

    def as_json(self) -> dict[str, Any]:
        """What must stay the same for a whole series."""
        listed = {"against": list(self.against), "changes": list(self.changes)}
        return {one.name: getattr(self, one.name) for one in fields(self)} | listed


def values_of(section: Section) -> str:
    """Whether a policy asks for exact or randomized values."""
    given = section.get("values", EXACT)
    if given not in (EXACT, RANDOMIZED):
        raise SchemaError(
            '`values` must be "exact" (published as they are) or "randomized" (each true with a chosen '
            "probability, drawn once and kept)."
        )
    if given == EXACT and "randomized" in section:
        raise SchemaError('[policy.randomized] goes with  values = "randomized"  in [policy].')
    return str(given)


def holds_amounts(kind: pl.DataType, different: int) -> bool:
    """Whether a sensitive column of this type, with so many different values, holds amounts, not a list of values."""
    return kind.is_float() or kind.is_decimal() or (kind.is_integer() and different > _AMOUNTS)


def file_of(schema: Schema, key: str) -> Path | None:
    """The file that a key of `[policy.randomized]` names, if it names one."""
    given = schema.policy.get("randomized", {})
    value = given.get(key) if isinstance(given, Mapping) else None
    return schema.folder / value if isinstance(value, str) else None


def by_text(listed: Mapping[str, float], names: list[str | None], otherwise: float) -> list[float]:
    """The number of each value, by its text."""
    default = listed.get(_DEFAULT, otherwise)
    return [default if name is None else listed.get(name, default) for name in names]


def _against(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value or any(one not in ADVERSARIES for one in value):
        listed = ", ".join(f'"{one}"' for one in ADVERSARIES)
        raise SchemaError(f"[policy.randomized] `{key}` must be a list of adversaries, out of {listed}.")
    return tuple(one for one in ADVERSARIES if one in value)


def _number(least: float, most: float, what: str, *, above: bool = False) -> Any:
    def check(key: str, value: Any) -> float:
        fine = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
        if not fine or (above and value == least):
            raise SchemaError(f"[policy.randomized] `{key}` must be {what}.")
        return float(value)

    return check


def _changes(key: str, value: Any) -> tuple[float, ...]:
    listed = value if isinstance(value, list | tuple) else [value]
    if not 0 < len(listed) <= _DYNAMICS or not all(_is_share(one) for one in listed):
        raise SchemaError(
            f"[policy.randomized] `{key}` must be a share of people, from 0 to below 1, or a list of up to {_DYNAMICS} "
            "of them."
        )
    return tuple(float(one) for one in listed)


def _size(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise SchemaError(f"[policy.randomized] `{key}` must be a whole number of people, 2 or more.")
    return value


def _truth(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(f"[policy.randomized] `{key}` must be true or false.")
    return value


_CHECKS: Mapping[str, Any] = {
    "against": _against,
    "changes": _changes,
    "margin": _number(1, 100, "a factor from 1 to 100"),
    "odds": _number(1, 1e9, "a factor above 1", above=True),
    "class_size": _size,
    "epsilon": _number(0, 100, "a number above 0", above=True),
    "redraw": _truth,
}


def _by_value(schema: Schema, key: str, given: Any) -> dict[str, float]:
    """A number for each value: from a table in the policy, or from a file."""
    listed = _of_file(schema, key) if isinstance(given, str) else given
    if not isinstance(listed, Mapping) or not listed or not all(_is_share(one) for one in listed.values()):
        raise SchemaError(
            f"[policy.randomized] `{key}` must give values and their shares, each at least 0 and below 1, as a table "
            f"such as  {{ default = 0.05, flu = 0.3 }}  or as a file with the columns of the sensitive values and "
            f"'{_COUNT[key]}'."
        )
    if key == "shares" and not sum(listed.values()) > 0:
        raise SchemaError("[policy.randomized] `shares` must have a share above 0.")
    return {str(name): float(one) for name, one in listed.items()}


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1


def _of_file(schema: Schema, key: str) -> dict[str, float]:
    from reissue.counting.texts import joined_texts

    path = file_of(schema, key)
    assert path is not None  # noqa: S101  # the key names a file
    frame = read_file(path, text=schema.sensitive)
    absent = [name for name in (*schema.sensitive, _COUNT[key]) if name not in frame.columns]
    if absent or not frame.height:
        raise SchemaError(
            f"The file '{path}' ([policy.randomized] `{key}`) lacks lines, or columns: {', '.join(absent) or 'none'}."
        )
    numbers = frame[_COUNT[key]].cast(pl.Float64, strict=False)
    if numbers.null_count():
        raise SchemaError(f"The file '{path}' has {numbers.null_count()} lines without a number in '{_COUNT[key]}'.")
    return dict(zip(joined_texts(frame, schema.sensitive).to_list(), numbers.to_list(), strict=True))
