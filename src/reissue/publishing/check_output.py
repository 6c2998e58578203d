"""Check one output: everything that is asked of a table by itself, and of it together with earlier ones.

Of a table of counts: cells below a threshold, classes in which everybody has the same value (class disclosure), hidden
cells that totals tell. Of a magnitude table, whose records are given: dominance (the largest contributions make up too
much of a cell) and the p% rule (the second largest contributor can estimate the largest too closely). With a ledger:
differences from the tables that it published.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from reissue._version import __version__
from reissue.attacks.differencing.attack import find_differences
from reissue.contingency.cells import CountRules
from reissue.contingency.table import CountTable
from reissue.data.table import to_polars
from reissue.errors import CannotRunError, InputError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.ledger.ledger import Ledger
from reissue.ledger.recorded import sent_of
from reissue.published import PublishedRelease, Tables, open_counts
from reissue.published.counts_table import linked
from reissue.published.series import Series
from reissue.release.form import DEFAULT_FORM
from reissue.schema import Schema

__all__ = ["OutputCheck", "OutputProblem", "OutputRules", "check_magnitudes", "check_output"]


@dataclass(frozen=True)
class OutputRules:
    """The limits of an output check; the defaults are common in statistical offices."""

    threshold: int = 10
    """People of a cell, at least."""
    largest: int = 1
    share: float = 0.5
    """Dominance: share of a cell that its `largest` contributions may make up, at most."""
    percent: float = 10.0
    """How closely, in percent of it, the largest contribution may be estimated by the second largest, at least."""

    def __post_init__(self) -> None:
        if self.threshold < 1 or self.largest < 1 or not 0 < self.share <= 1 or self.percent < 0:
            raise InputError("A threshold is a whole number from 1, a share is up to 1, and a percentage from 0.")


@dataclass(frozen=True)
class OutputProblem:
    """One cell or difference that breaks a rule."""

    rule: str
    table: str
    population: str
    """Which people, by the published categories."""
    measured: float
    limit: float
    releases: tuple[int, ...] = ()
    """The earlier releases that take part, for differences."""


@dataclass(frozen=True)
class OutputCheck:
    """What was checked, and what breaks a rule."""

    problems: tuple[OutputProblem, ...]
    checked: tuple[str, ...]
    """The rules that were applied."""
    not_checked: tuple[str, ...]
    """Why others were not, in sentences."""
    cells: int
    rules: OutputRules

    @property
    def passed(self) -> bool:
        """Whether nothing breaks a rule, of what was checked."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """The record for the file."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return {"reissue": __version__, "checked_at": when, "passed": self.passed, **asdict(self)}


def check_output(
    data: Any,
    schema: Schema | None = None,
    *,
    ledger: Ledger | None = None,
    rules: OutputRules | None = None,
    counts: CountRules | None = None,
    dialect: Dialect = FOUND,
) -> OutputCheck:
    """Check a table of counts before it leaves.

    Parameters
    ----------
    data
        A path or a dataframe.
    schema
        Which column is sensitive; the ledger's by default.
    ledger
        The ledger whose releases it is compared with.
    rules
        The limits.
    counts
        How the counts were protected, where the table does not say it.
    dialect
        How a text file is written.

    Examples
    --------
    >>> import polars as pl
    >>> from reissue.publishing.check_output import check_output
    >>> table = pl.DataFrame({"sex": ["f", "m", "f", "m"], "ill": ["no", "no", "yes", "yes"], "count": [40, 35, 3, 20]})
    >>> [(one.rule, one.population) for one in check_output(table).problems]
    [('threshold', 'sex f, ill yes')]

    """
    rules = rules or OutputRules()
    plan = ledger.schema if ledger is not None and schema is None else schema
    (opened,) = open_counts([data], plan, rules=counts or CountRules(), dialect=dialect)
    if not isinstance(opened, Tables):
        raise InputError("This is no table of counts: it has no column of counts beside what is counted.")
    tables = opened.counts if plan is None else tuple(linked(one, plan) for one in opened.counts)
    found = [problem for one in tables for problem in _thresholds(one, rules)]
    checked, not_checked = ["threshold"], list[str]()
    if plan is not None and any(set(plan.sensitive) & set(one.dimensions) for one in tables):
        checked.append("class disclosure")
        found += [problem for one in tables for problem in _alike(one, plan)]
    else:
        not_checked.append("Class disclosure: no dimension is known to be sensitive; a schema names it.")
    found += _compared(tables, opened, plan, ledger, rules, checked, not_checked)
    return OutputCheck(tuple(found), tuple(checked), tuple(not_checked), sum(one.cells for one in tables), rules)


def check_magnitudes(records: Any, schema: Schema, by: Sequence[str], measure: str, rules: OutputRules) -> OutputCheck:
    """Check a table of sums of a column, by the records that it was made of."""
    frame = to_polars(records, schema)[0]
    absent = [name for name in (*by, measure) if name not in frame.columns]
    if absent or not frame.schema[measure].is_numeric():
        raise SchemaError("Name columns of the records: those to classify by, and one of numbers that is summed up.")
    found: list[OutputProblem] = []
    cells = 0
    for key, part in frame.filter(pl.col(measure).is_not_null()).group_by(list(by), maintain_order=True):
        cells += 1
        values = np.sort(np.abs(part[measure].cast(pl.Float64).to_numpy()))[::-1]
        found += _contributions(values, _named(by, [None if one is None else str(one) for one in key]), measure, rules)
    return OutputCheck(tuple(found), ("threshold", "dominance", "p%"), (), cells, rules)


def _contributions(values: np.ndarray, who: str, measure: str, rules: OutputRules) -> list[OutputProblem]:
    """What breaks a rule in one cell, whose contributions are given, the largest first."""
    found, total = [], float(values.sum())
    if len(values) < rules.threshold:
        found.append(OutputProblem("threshold", measure, who, len(values), rules.threshold))
    if total <= 0:
        return found
    top = float(values[: rules.largest].sum()) / total
    if top > rules.share:
        found.append(OutputProblem("dominance", measure, who, round(top, 4), rules.share))
    rest = 100 * float(values[2:].sum()) / float(values[0])
    if rest < rules.percent:
        found.append(OutputProblem("p%", measure, who, round(rest, 4), rules.percent))
    return found


def _named(names: Sequence[str], texts: Sequence[str | None]) -> str:
    pairs = [f"{name} {text}" for name, text in zip(names, texts, strict=True) if text is not None]
    return ", ".join(pairs) or "everyone"


def _thresholds(table: CountTable, rules: OutputRules) -> list[OutputProblem]:
    """Cells that show fewer people than the threshold, and not nobody."""
    small = np.flatnonzero(table.exact & (table.low > 0) & (table.high < rules.threshold))
    return [
        OutputProblem(
            "threshold",
            table.name,
            _named(table.dimensions, table.categories.row(cell)),
            int(table.low[cell]),
            rules.threshold,
        )
        for cell in small.tolist()
    ]


def _alike(table: CountTable, schema: Schema) -> list[OutputProblem]:
    """Classes all of whose people certainly have one value."""
    sensitive = [name for name in schema.sensitive if name in table.dimensions]
    known = [name for name in table.dimensions if name not in sensitive]
    found = []
    for margin in table.margins():
        if not sensitive or not set(sensitive) <= set(margin.dimensions):
            continue
        own = [name for name in known if name in margin.dimensions]
        cells = margin.categories.with_columns(pl.Series("\0low", margin.low), pl.Series("\0high", margin.high))
        groups = cells.group_by(own, maintain_order=True) if own else [((), cells)]
        for key, part in groups:
            possible = part.filter(pl.col("\0high") > 0)
            if part.height > 1 and possible.height == 1 and int(possible["\0low"][0]) > 0:
                who = _named(own, [None if one is None else str(one) for one in key])
                found.append(OutputProblem("class disclosure", table.name, who, 1.0, 1.0))
    return found


def _compared(
    tables: Sequence[CountTable],
    opened: Tables,
    plan: Schema | None,
    ledger: Ledger | None,
    rules: OutputRules,
    checked: list[str],
    not_checked: list[str],
) -> list[OutputProblem]:
    """Hidden cells that totals tell, and differences from earlier tables."""
    schema = plan or Schema.of_columns(quasi=list(tables[0].dimensions), sensitive=[])
    newest = PublishedRelease(replace(opened, counts=tuple(tables)), schema, DEFAULT_FORM)
    earlier = [] if ledger is None else [one for one in sent_of(ledger.releases) if one.counts]
    before = [] if ledger is None else [ledger.published(one, schema) for one in earlier]
    last = 1 if ledger is None else len(ledger.releases) + 1
    series = Series((*before, newest), schema, numbers=(*(one.number for one in earlier), last))
    if ledger is None:
        not_checked.append("Differences from earlier tables: they are in a ledger (--ledger).")
    elif not earlier:
        not_checked.append("Differences from earlier tables: the ledger has none.")
    try:
        found = find_differences(series, rules.threshold)
    except CannotRunError:
        return []
    checked += ["hidden cells", *(["differences"] if earlier else [])]
    names = {"cell": "hidden cell", "over time": "difference", "beside": "difference"}
    return [
        OutputProblem(names[one.kind], one.table, one.population, one.low, rules.threshold, one.releases)
        for one in found.found
        if last in one.releases
    ]
