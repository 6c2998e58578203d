"""longevity: how many releases a series can have before its counterfeits pass a share, by simulation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue.data.table import to_polars
from reissue.errors import InputError, NotMetError, RequirementError
from reissue.publishing.anonymize import anonymize
from reissue.release.memory import Memory
from reissue.schema import Options, Schema
from reissue.words import plural

__all__ = ["Longevity", "longevity", "simulated"]


@dataclass(frozen=True)
class Longevity:
    """How a simulated series went.

    Examples
    --------
    >>> import reissue as ri
    >>> ri.Longevity(shares=(0.02, 0.07, 0.12), limit=0.1, how="With 10% replaced each time", asked=60).lasts
    2
    """

    shares: tuple[float, ...]
    """Counterfeits of each release that was made, as a share of the people published."""
    limit: float
    how: str
    """How the series was simulated, as the beginning of a sentence."""
    asked: int
    """How many releases were to be made."""
    reason: str = ""
    """Why the next release could not be made, if so."""

    @property
    def lasts(self) -> int:
        """The number of releases before the first that passes the limit or could not be made."""
        return next((place for place, share in enumerate(self.shares) if share > self.limit), len(self.shares))

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if self.lasts == self.asked:
            most = max(self.shares, default=0.0)
            return (
                f"{self.how}, {plural(self.asked, 'simulated release')} had at most {most:.1%} counterfeits; "
                f"{self.limit:.1%} may be."
            )
        why = self.reason or f"the next has {self.shares[self.lasts]:.1%} counterfeits, and {self.limit:.1%} may be"
        return f"{self.how}, the series lasts {plural(self.lasts, 'simulated release')}: {why}."

    def raise_if_short(self) -> None:
        """Refuse a series that does not last as long as was asked for.

        Raises
        ------
        NotMetError
            If the simulated series ended before.

        """
        if self.lasts < self.asked:
            raise NotMetError(
                f"{self.sentence} Allow more counterfeits, ask for less, or publish randomized values, which invent "
                "no records."
            )


def longevity(
    data: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Any,
    *,
    method: str = "equivalence",
    limit: float = 0.1,
    turnover: float = 0.1,
    releases: int = 60,
    seed: int = 0,
    **options: Any,
) -> Longevity:
    """Return how many releases a series would have before its counterfeits pass a share.

    The series is simulated from one table: each time a share of the people leave, chosen by chance, and as many come
    who are drawn from the table. Nothing grows and no value becomes rarer, so a real series may end earlier.

    Parameters
    ----------
    data
        The table of the first release.
    schema
        The roles of the columns; it needs an identifier.
    require
        The requirement of every release.
    method
        A method that follows people and adds counterfeits.
    limit
        The largest share of counterfeit records, relative to the people published.
    turnover
        The share of people who are replaced in each release.
    releases
        How many releases are made, at most.
    seed
        The seed of who leaves, who comes, and of the method.
    **options
        Options of the method.

    Returns
    -------
    Longevity
        The shares, how long it lasts, and a sentence; `raise_if_short()` refuses.

    Raises
    ------
    InputError
        If the schema has no identifier, or a share is not between 0 and 1.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> found = ri.longevity(patients, schema(), "simple-l=3", e=2, releases=2, ineligible="counterfeits")
    >>> len(found.shares)
    2
    """
    plan = Schema.read(schema)
    if plan.identifier is None:
        raise InputError("A series is simulated of people: the schema needs an identifier.")
    if not (0 <= limit <= 1 and 0 < turnover <= 1 and releases >= 1):
        raise InputError("The limit and the turnover are shares between 0 and 1, and there is one release at least.")
    frame, _ = to_polars(data, plan)
    tables = _replaced(frame, plan.identifier, turnover, releases, np.random.default_rng(seed))
    asked: dict[str, Any] = {"method": method, "limit": limit, "seed": seed, "options": options}
    return simulated(tables, plan, require, releases, f"With {turnover:.0%} replaced each time", **asked)


def simulated(
    tables: Iterable[Any],
    schema: Schema,
    require: Any,
    releases: int,
    how: str,
    *,
    method: str,
    limit: float,
    suppress: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
) -> Longevity:
    """Return how a series of simulated tables goes; it ends with the first release of too many counterfeits."""
    memory, shares = None, list[float]()
    for table in tables:
        asked: dict[str, Any] = {"method": method, "suppress": suppress, "seed": seed, "memory": memory}
        try:
            release = anonymize(table, schema, require, **asked, **(options or {}))
        except (NotMetError, RequirementError) as reason:
            return Longevity(tuple(shares), limit, how, releases, str(reason).rstrip("."))
        memory = _memory(release.draft.memory)
        shares.append(release.counterfeits / max(release.table.rows - release.suppressed, 1))
        if shares[-1] > limit:
            break
    return Longevity(tuple(shares), limit, how, releases)


def _memory(memory: Memory | None) -> Memory:
    if memory is None:
        raise InputError("The method remembers nobody: a series of its releases has no counterfeits to count.")
    return memory


def _replaced(
    source: pl.DataFrame, identifier: str, turnover: float, releases: int, rng: np.random.Generator
) -> Iterator[pl.DataFrame]:
    """Yield tables: each time some leave, and as many new people come whose records are drawn from the first one."""
    table = source.with_columns(pl.Series(identifier, [f"first-{row}" for row in range(source.height)]))
    leaving = max(round(turnover * table.height), 1)
    for number in range(1, releases + 1):
        yield table
        stay = np.sort(rng.permutation(table.height)[leaving:])
        coming = source[rng.integers(0, source.height, leaving)]
        names = pl.Series(identifier, [f"{number}-{row}" for row in range(leaving)])
        table = pl.concat([table[stay], coming.with_columns(names)])
