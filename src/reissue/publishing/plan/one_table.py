"""One table, several methods and values of k: the information loss of each release."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reissue.data.table import Table
from reissue.errors import NotMetError, RequirementError
from reissue.files.dialect import FOUND, Dialect
from reissue.methods import find, registered
from reissue.publishing.anonymize import anonymize
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.utility import measure

__all__ = ["KS", "Settings", "compare_settings"]

KS = (2, 3, 5, 10, 20, 50)
"""Values of k that are compared by default."""


@dataclass(frozen=True)
class Settings:
    """The information loss by method and k; None where no release is possible."""

    rows: int
    ks: tuple[int, ...]
    losses: Mapping[str, tuple[float | None, ...]]
    skipped: tuple[str, ...] = ()
    """What was not tried for lack of time, in words."""

    def as_dict(self) -> dict[str, Any]:
        """The results as JSON."""
        losses = {method: dict(zip(map(str, self.ks), values, strict=True)) for method, values in self.losses.items()}
        return {"rows": self.rows, "loss": losses, "skipped": list(self.skipped)}


def compare_settings(
    data: Any,
    schema: Schema | Mapping[str, Any],
    *,
    ks: Sequence[int] = KS,
    methods: Sequence[str] = (),
    require: str = "",
    budget: float = 60.0,
    dialect: Dialect = FOUND,
    progress: Callable[[float], None] = lambda _: None,
) -> Settings:
    """Make a release for each method and k, with `require` in addition, and measure its loss; nothing is written.

    The methods are those that generalize and make releases independently, the fastest first. None is begun after
    `budget` seconds.
    """
    table = Table.read(data, Schema.read(schema), dialect=dialect)
    names = [find(name).name for name in methods] or _suitable(table)
    if require:
        parse(require)
    end, losses, skipped = time.monotonic() + budget, {}, []
    for place, name in enumerate(names):
        found: list[float | None] = []
        for number, k in enumerate(ks):
            late = time.monotonic() > end
            found.append(None if late else _loss(table, name, f"k={k}" + (f" & {require}" if require else "")))
            skipped += [f"{name} with k={k}"] if late else []
            progress((place + (number + 1) / len(ks)) / len(names))
        losses[name] = tuple(found)
    return Settings(table.rows, tuple(ks), losses, tuple(skipped))


def _suitable(table: Table) -> list[str]:
    several = table.people is not None
    wanted = ("pool", "mondrian", "topdown", "incognito")
    return [name for name in wanted if name in registered() and (registered()[name].several_rows or not several)]


def _loss(table: Table, method: str, requirement: str) -> float | None:
    asked = parse(requirement)
    try:
        return measure(anonymize(table, table.schema, asked, method=method, seed=0)).loss
    except (RequirementError, NotMetError):
        return None
