"""Utility: how much a published table still says, in numbers and in words."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reissue._notebook import card
from reissue.data.table import Table
from reissue.published import read_published
from reissue.release.release import Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.utility.discernibility import discernibility
from reissue.utility.groupsize import average_group_size
from reissue.utility.loss import attribute_losses, information_loss, shares_of
from reissue.utility.published import Published, from_boxes, from_tables
from reissue.utility.queries import QueryError, query_error
from reissue.utility.workload import Workload, settle

__all__ = ["Utility", "compare", "measure"]


@dataclass(frozen=True)
class Utility:
    """What was lost between a table and what was published of it."""

    rows: int
    """Rows of the original."""
    published: int
    suppressed: int
    added: int
    """Published rows that are nobody's."""
    groups: int
    discernibility: int
    group_size: float
    """Rows per group."""
    normalized_group_size: float | None
    """The same in multiples of k, where a k is known."""
    loss: float
    """Information loss of the table, between 0 and 1; suppressed rows are lost altogether."""
    losses: Mapping[str, float]
    """The same for each quasi-identifier."""
    queries: QueryError | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and dictionaries."""
        return {**asdict(self), "losses": dict(self.losses)}

    def _repr_html_(self) -> str:
        """For a notebook."""
        rows = [[name, f"{loss:.1%}"] for name, loss in self.losses.items()]
        return card(" ".join(self.sentences), ["column", "loss"], rows)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in plain words."""
        return tuple(filter(None, (self._rows(), self._sizes(), self._loss(), self._worst(), self._queries())))

    def __str__(self) -> str:
        """The same, one sentence a line."""
        return "\n".join(self.sentences)

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
        return (
            f"A published value covers {self.loss:.1%} of what its column can say, on average "
            "(0% would be exact, 100% says nothing)."
        )

    def _worst(self) -> str:
        most, least = max(self.losses, key=self.losses.__getitem__), min(self.losses, key=self.losses.__getitem__)
        if self.losses[most] == self.losses[least]:
            return ""
        return f"Most is lost on '{most}' ({self.losses[most]:.1%}), least on '{least}' ({self.losses[least]:.1%})."

    def _queries(self) -> str:
        error = self.queries
        if error is None:
            return ""
        return (
            f"Of {error.queries:,} random count queries half are off by {error.median:.1%} or less, on average by "
            f"{error.mean:.1%}."
        )


def measure(
    release: Release,
    *,
    weights: Mapping[str, float] | None = None,
    queries: int | None = 0,
    workload: Workload | str = "ranges",
    seed: int | None = None,
) -> Utility:
    """What a release lost. `weights` are by column name; `queries` is how many to ask, None as many as the workload."""
    parts = release.requirement.parts()
    k = max((part.k for part in parts if isinstance(part, KAnonymity)), default=None)
    plan = None if queries == 0 else settle(workload, queries, seed)
    published = (
        from_boxes(release) if plan is None else from_tables(release.table, read_published(release, release.schema))
    )
    return _utility(published, release.suppressed, release.counterfeits, k, weights, plan)


def compare(
    original: Any,
    published: Any,
    schema: Schema,
    *,
    k: int | None = None,
    weights: Mapping[str, float] | None = None,
    queries: int | None = 1000,
    workload: Workload | str = "ranges",
    seed: int | None = None,
    delimiter: str = ",",
) -> Utility:
    """What anybody's published table lost against the original: dataframes or files.

    `published` is one table, or two (quasi-identifiers with group numbers, and sensitive values with counts). Its texts
    are read with the original's taxonomies. Rows that it lacks count as suppressed; a set of values that is no interval
    counts as the interval around it.
    """
    plan = None if queries == 0 else settle(workload, queries, seed)
    table = original if isinstance(original, Table) else Table.read(original, schema, delimiter=delimiter)
    release = read_published(published, table.schema, delimiter=delimiter, as_text=False)
    view, declared = from_tables(table, release), int(release.counterfeits.sum())
    real = view.total - declared
    added = declared + max(real - table.rows, 0)
    return _utility(view, max(table.rows - real, 0), added, k, weights, plan)


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
        rows=table.rows,
        published=published.total,
        suppressed=suppressed,
        added=added,
        groups=len(published.sizes),
        discernibility=discernibility(published.sizes, suppressed, table.rows),
        group_size=average_group_size(published.sizes),
        normalized_group_size=None if k is None else average_group_size(published.sizes, k),
        loss=information_loss(losses, shares),
        losses=dict(zip(names, losses.tolist(), strict=True)),
        queries=None if plan is None else query_error(published, plan),
    )
