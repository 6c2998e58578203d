"""Utility: how much a published table still says, in numbers and in words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from reissue._notebook import notebook
from reissue.data.table import Table
from reissue.engines.registry import MEMORY, open_where_it_lies
from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.people.presences import counted_population
from reissue.published import PublishedRelease, read_published
from reissue.published.counted import read_counted
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.utility.estimates import Comparison, means_of, models_of
from reissue.utility.loss import (
    attribute_losses,
    average_group_size,
    changed_values,
    discernibility,
    margins_of,
    shares_of,
    table_loss,
    value_losses,
)
from reissue.utility.prediction import Prediction, predictions_of
from reissue.utility.published import Published, from_boxes, from_tables
from reissue.utility.queries import QueryError, Workload, query_error, resolve_workload
from reissue.utility.tabulation import CrossTable, Distribution, cross_table, distributions
from reissue.words import plural

__all__ = ["Utility", "compare", "measure"]


@dataclass(frozen=True, repr=False)
class Utility:
    """What was lost between a table and what was published of it.

    `measure` returns one.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> lost = ri.measure(ri.anonymize(patients, schema(), "k=5", seed=1))
    >>> sorted(lost.losses)
    ['age', 'job', 'sex', 'zip']
    """

    rows: int
    """Number of rows of the original."""
    published: int
    suppressed: int
    added: int
    """Number of counterfeit records."""
    groups: int
    discernibility: int
    group_size: float
    """Rows per group."""
    normalized_group_size: float | None
    """The same in multiples of k, if k is known."""
    loss: float
    """The information loss of the table, between 0 and 1; see `reissue.utility.loss`."""
    losses: Mapping[str, float]
    """The share of its domain that a published value covers, by quasi-identifier; suppressed rows count 1."""
    value_loss: float = 0.0
    """The loss of the link between a row and its sensitive value: 0 if the row shows it, 1 if it may have any."""
    changed: int = 0
    """The minimum number of changed sensitive values."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """The largest error of a share of people, by column; see `reissue.utility.loss`."""
    queries: QueryError | None = None
    models: tuple[Comparison, ...] = ()
    """Regressions, true and published."""
    means: tuple[Comparison, ...] = ()
    """Means and shares by group, true and published."""
    predictions: tuple[Prediction, ...] = ()
    """How well a classifier predicts columns, trained on the true and on the published table."""
    distributions: tuple[Distribution, ...] = ()
    """The distribution of people over the values of each column, true and published."""
    crosses: tuple[CrossTable, ...] = ()
    """Cross tables of people, true and published."""

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and dictionaries."""
        crosses = [one.as_dict() for one in self.crosses]
        return {**asdict(self), "losses": dict(self.losses), "margins": dict(self.margins), "crosses": crosses}

    def _repr_html_(self) -> str:
        """For a notebook."""
        return notebook(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in plain words."""
        parts = (self._rows(), self._sizes(), self._loss(), self._worst(), self._margins(), self._queries())
        computed = (
            *(one.sentence for one in (*self.models, *self.means)),
            *(one.sentence for one in self.predictions),
            *(one.sentence for one in self.crosses),
        )
        return (*filter(None, parts), *computed)

    def __str__(self) -> str:
        """Everything in plain words, one sentence per line."""
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        """The losses in one sentence."""
        lost = "" if self.loss is None else f", {self.loss:.1%} of what the table said is lost"
        return f"Utility: {self.published:,} of {plural(self.rows, 'row')} published{lost}."

    def _rows(self) -> str:
        kept = f"All {self.rows:,} rows are published"
        if self.suppressed:
            share = self.suppressed / self.rows
            kept = f"{self.rows - self.suppressed:,} of {self.rows:,} rows are published ({share:.1%} suppressed)"
        return f"{kept}, and {self.added:,} counterfeits." if self.added else f"{kept}."

    def _sizes(self) -> str:
        norm = self.normalized_group_size
        times = "" if norm is None else f", {norm:.2f} times what the requirement asks for"
        per_row = self.discernibility / max(self.rows, 1)
        return (
            f"There are {self.groups:,} groups with {self.group_size:,.1f} rows on average{times}; a row stands"
            f" together with {per_row:,.1f} on average (discernibility {self.discernibility:,})."
        )

    def _loss(self) -> str:
        values = f", a sensitive value is known of a group only ({self.value_loss:.1%} of its tie to a row is lost)"
        whole = self.suppressed + self.added + self.changed
        beside = f", and {whole:,} records were suppressed, counterfeit or changed and count as lost" if whole else ""
        return (
            f"Of what the table said {self.loss:.1%} is lost (0%: nothing, 100%: everything). A published value covers "
            f"{self.covered:.1%} of what its column can say, on average{values if self.value_loss else ''}{beside}."
        )

    @property
    def covered(self) -> float:
        """The mean of `losses`."""
        return sum(self.losses.values()) / max(len(self.losses), 1)

    def _worst(self) -> str:
        most, least = max(self.losses, key=self.losses.__getitem__), min(self.losses, key=self.losses.__getitem__)
        if self.losses[most] == self.losses[least]:
            return ""
        return f"Most is lost on '{most}' ({self.losses[most]:.1%}), least on '{least}' ({self.losses[least]:.1%})."

    def _margins(self) -> str:
        if not any(self.margins.values()):
            return ""
        most = max(self.margins, key=self.margins.__getitem__)
        return (
            f"Shares of people by one column are off by {self.margins[most]:.1%} of the people at most (on '{most}')."
        )

    def _queries(self) -> str:
        error = self.queries
        if error is None:
            return ""
        return (
            f"Of {error.queries:,} random count queries half are off by {error.median:.1%} or less, on average by "
            f"{error.mean:.1%}."
        )


def measure(
    original: Any,
    published: Any = None,
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    k: int | None = None,
    weights: Mapping[str, float] | None = None,
    queries: int | None = 0,
    workload: Workload | str = "ranges",
    seed: int | None = None,
    models: Sequence[str] = (),
    means: Sequence[str] = (),
    predict: Sequence[str] = (),
    spread: bool = False,
    crosses: Sequence[tuple[str, str]] = (),
    dialect: Dialect = FOUND,
    engine: str = MEMORY,
) -> Utility:
    """Measure what was lost between a table and what was published of it.

    Parameters
    ----------
    original
        The table before it was published: a dataframe or a path. Or a Release that still has its table, as `anonymize`
        returns it; then leave out `published` and `schema`.
    published
        The published table, or two: quasi-identifiers with group numbers, and sensitive values with counts. Anybody's
        table will do.
    schema
        The schema of the original. Published texts are read with its taxonomies.
    k
        What the requirement asks for, to compare group sizes with.
    weights
        The weight of each column in the information loss; 1 if it is not named.
    queries
        How many random count queries to compare; None: as many as the workload has.
    workload
        Which queries: "ranges" or a workload of your own.
    seed
        The seed of the queries.
    models
        Regressions to compare, such as "wage ~ age + south".
    means
        Means or shares by group to compare, such as "wage ~ south".
    predict
        Columns to predict from the others: how often a classifier is right that was trained on the published table.
    spread
        Whether to count people by the values of each column, true and published.
    crosses
        Pairs of columns whose cross tables are compared.
    dialect
        How the cells of a text file are written; what is not given is detected.
    engine
        Who reads: "memory", or "stream" and "spark" for larger tables, of which distinct rows are counted. Queries,
        models, means, `predict`, `spread` and `crosses` need "memory".

    Returns
    -------
    Utility
        Information loss by column, group sizes, differences of counts, and the comparisons asked for. Missing records
        count as suppressed.

    Raises
    ------
    InputError
        If the tables do not belong together.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> release = ri.anonymize(patients, schema(), "k=5", seed=1)
    >>> 0 < ri.measure(release).loss < 1
    True

    Of tables from anywhere:

    >>> ri.measure(patients, release.frame, schema()).suppressed
    0
    """
    plan = None if queries == 0 else resolve_workload(workload, queries, seed)
    if published is None:
        if not isinstance(original, Release):
            raise InputError("Give a table and what was published of it and their schema, or a Release alone.")
        if not spread and not crosses:
            return _of_release(original, plan, weights, models, means, predict)
        original, published, schema = original.table, original, original.schema
    if schema is None:
        raise InputError("What the columns are for is not known: measure(original, published, schema).")
    if engine != MEMORY:
        wanted = {
            "queries": queries,
            "models": models,
            "means": means,
            "predict": predict,
            "spread": spread,
            "crosses": crosses,
        }
        return _by_counts(original, published, Schema.read(schema), engine, k, weights, wanted)
    table = original if isinstance(original, Table) else Table.read(original, Schema.read(schema), dialect=dialect)
    release = read_published(published, table.schema, dialect=dialect, as_text=False)
    found = _compared(table, release, k, weights, plan)
    beside = tuple(cross_table(table, release, down, across) for down, across in crosses)
    found = replace(found, crosses=beside, distributions=distributions(table, release) if spread else ())
    return _computed(found, table, release, models, means, predict)


def _of_release(
    release: Release,
    plan: Workload | None,
    weights: Mapping[str, float] | None,
    models: Sequence[str],
    means: Sequence[str],
    predict: Sequence[str],
) -> Utility:
    """The losses of a release, by the table that it was made of."""
    release = _with_true_values(release)
    # Group sizes count rows, but k counts people if they have repeated records.
    k = release.requirement.group_size if release.table.people is None else None
    asked = plan is not None or models or means or predict or release.drawn is not None
    tables = read_published(release, release.schema) if asked else None
    boxes = tables is None or (plan is None and release.drawn is None)
    published = from_boxes(release) if tables is None or boxes else from_tables(release.table, tables)
    found = _utility(published, release.suppressed, release.counterfeits, k, weights, plan)
    return found if tables is None else _computed(found, release.table, tables, models, means, predict)


def compare(original: Any, published: Any, schema: Any, *, queries: int | None = 1000, **asked: Any) -> Utility:
    """Return what `measure` does: its earlier name, with another number of queries by default."""
    return measure(original, published, schema, queries=queries, **asked)


def _with_true_values(release: Release) -> Release:
    """The release with true values in its own table, where published ones are randomized."""
    if release.drawn is None:
        return release
    drawn = release.drawn
    codes = np.where(drawn.true >= 0, drawn.true, drawn.published)  # a value that nobody named: it is not kept
    return replace(release, table=release.table.with_sensitive(drawn.values[codes]))


def _compared(
    table: Table, release: PublishedRelease, k: int | None, weights: Mapping[str, float] | None, plan: Workload | None
) -> Utility:
    """The losses, without further comparisons."""
    view, declared = from_tables(table, release), int(release.counterfeits.sum())
    real = view.total - declared
    added = declared + max(real - table.records, 0)
    return _utility(view, max(table.records - real, 0), added, k, weights, plan)


def _by_counts(
    original: Any,
    published: Any,
    schema: Schema,
    engine: str,
    k: int | None,
    weights: Mapping[str, float] | None,
    wanted: Mapping[str, Any],
) -> Utility:
    """The losses, for tables that an engine counts."""
    every = [name for name, asked in wanted.items() if asked]
    if every:
        raise InputError(f"Every row is needed for {', '.join(every)}: leave them out, or use engine memory.")
    if schema.several_rows:
        raise InputError("Several rows per person need the whole table in memory.")
    one = published[0] if isinstance(published, list | tuple) and len(published) == 1 else published
    table = counted_population(open_where_it_lies(engine, original), schema)
    return _compared(table, read_counted(open_where_it_lies(engine, one), table.schema), k, weights, None)


def _computed(
    found: Utility,
    table: Table,
    published: PublishedRelease,
    models: Sequence[str],
    means: Sequence[str],
    predict: Sequence[str],
) -> Utility:
    """The losses, with an analyst's computations."""
    if not models and not means and not predict:
        return found
    return replace(
        found,
        models=models_of(table, published, models),
        means=means_of(table, published, means),
        predictions=predictions_of(table, published, predict),
    )


def _utility(
    published: Published,
    suppressed: int,
    added: int,
    k: int | None,
    weights: Mapping[str, float] | None,
    plan: Workload | None,
) -> Utility:
    table, names = published.table, published.table.schema.quasi
    shares = shares_of(names, weights)
    losses = attribute_losses(table.taxonomies, published.lo, published.hi, published.rows, suppressed)
    return Utility(
        rows=table.records,
        published=published.total,
        suppressed=suppressed,
        added=added,
        groups=len(published.sizes),
        discernibility=discernibility(published.sizes, suppressed, table.records),
        group_size=average_group_size(published.sizes),
        normalized_group_size=None if k is None else average_group_size(published.sizes, k),
        loss=table_loss(published, shares, suppressed, added),
        losses=dict(zip(names, losses.tolist(), strict=True)),
        value_loss=_mean_value_loss(published),
        changed=changed_values(published, added),
        margins=margins_of(published),
        queries=None if plan is None else query_error(published, plan),
    )


def _mean_value_loss(published: Published) -> float:
    rows = float(published.sizes.sum())
    return float(value_losses(published) @ published.sizes) / rows if rows else 0.0
