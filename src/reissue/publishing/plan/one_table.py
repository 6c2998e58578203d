"""One table, several methods and values of k: the information loss of each release."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reissue.data.table import Table
from reissue.errors import NotMetError, RequirementError
from reissue.files.dialect import FOUND, Dialect
from reissue.methods import find, registered
from reissue.publishing.anonymize import anonymize
from reissue.publishing.plan.planning import seconds_of
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.utility import measure
from reissue.words import plural

__all__ = ["KS", "Settings", "compare_settings"]

KS = (2, 3, 5, 10, 20, 50)
"""Values of k that are compared by default."""


@dataclass(frozen=True, repr=False)
class Settings:
    """The information loss by method and k; None where no release is possible.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> ri.compare_settings(patients, schema(), ks=[5], methods=["pool"])
    Settings: of 200 rows, pool loses 30.6% with k=5.
    """

    rows: int
    ks: tuple[int, ...]
    losses: Mapping[str, tuple[float | None, ...]]
    skipped: tuple[str, ...] = ()
    """What was not tried for lack of time, in words."""

    def __repr__(self) -> str:
        """What each method loses with the smallest k."""
        lost = [f"{method} loses {loss[0]:.1%}" for method, loss in self.losses.items() if loss and loss[0] is not None]
        return f"Settings: of {plural(self.rows, 'row')}, {', '.join(lost) or 'nothing was tried'} with k={self.ks[0]}."

    def as_dict(self) -> dict[str, Any]:
        """The results as JSON."""
        losses = {method: dict(zip(map(str, self.ks), values, strict=True)) for method, values in self.losses.items()}
        return {"rows": self.rows, "loss": losses, "skipped": list(self.skipped)}


def compare_settings(
    data: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    ks: Sequence[int] = KS,
    methods: Sequence[str] = (),
    require: str = "",
    budget: float | str = 60.0,
    dialect: Dialect = FOUND,
    progress: Callable[[float], None] = lambda _: None,
) -> Settings:
    """Make a release for each method and k and measure what it loses; nothing is written.

    Parameters
    ----------
    data
        A dataframe, a path or a Table.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path.
    ks
        The values of k.
    methods
        The methods; by default those that generalize and make releases one at a time, the fastest first.
    require
        What must hold beside k, such as "l=3".
    budget
        How long it may take: seconds, or a text such as "5m". Nothing is begun after that.
    dialect
        How the cells of a text file are written; what is not given is detected.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Settings
        The information loss by method and k.

    Raises
    ------
    InputError
        If the table does not fit the schema, or a method, requirement or budget cannot be read.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> found = ri.compare_settings(patients, schema(), ks=[5, 20], methods=["pool"])
    >>> found.losses["pool"][0] < found.losses["pool"][1]
    True
    """
    budget = (seconds_of(budget) or 60.0) if isinstance(budget, str) else budget
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
