"""What protection cost: the loss of each release, measured against the holder's own tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from reissue.data.table import Table
from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.outcome.utility import Computed
from reissue.outcome.utility import view_of as view_of_utility
from reissue.outcome.view import TableView, table
from reissue.publishing.series import snapshots
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.utility import Utility, compare, measure
from reissue.utility.tabulation import suggested_means, suggested_model
from reissue.words import plural

__all__ = ["Costs", "CostsView", "cost_of", "costs_of", "view_of"]

Costs = Mapping[str, Sequence[Utility]]
"""What protection cost, release by release; several ways of publishing can stand beside each other, by name."""
QUERIES = 500
SEED = 1
"""The same random queries for every release and every way of publishing, so that they can be compared."""
_CAPTION = (
    "Loss: how little of who has which value is still said, 0% nothing, 100% all of it; suppressed records and "
    "counterfeits count as lost. Query error: the median of random count queries."
)


def costs_of(
    originals: Sequence[Any] | str | Path, published: Sequence[Any], schema: Schema, *, dialect: Dialect = FOUND
) -> list[Utility]:
    """Return the utility of each release; `originals` are tables in the same order, or a folder with a file for each.

    Raises
    ------
    InputError
        If there is not one original table for each release.

    """
    tables = snapshots(originals) if isinstance(originals, str | Path) else list(originals)
    if len(tables) != len(published):
        raise InputError(f"There are {len(published)} releases and {len(tables)} original tables; give one for each.")
    asked: dict[str, Any] = {"queries": QUERIES, "seed": SEED, "dialect": dialect}
    found = [compare(one, release, schema, **asked) for one, release in zip(tables[:-1], published[:-1], strict=True)]
    last = Table.read(tables[-1], schema, dialect=dialect)
    return [*found, _analysed(last, lambda **more: compare(last, published[-1], schema, **asked, **more))]


def cost_of(release: Release) -> Utility:
    """Return the utility of a release that still has its table, with what an analyst would compute."""
    return _analysed(release.table, lambda **more: measure(release, **more))


def _analysed(table: Table, compared: Callable[..., Utility]) -> Utility:
    """With a mean or share and a regression that an analyst may want, where they can be computed."""
    model, means = suggested_model(table), suggested_means(table)
    try:
        return compared(models=[model] if model else [], means=[means] if means else [])
    except InputError:
        return compared()


@dataclass(frozen=True)
class CostsView:
    """What protection cost."""

    price: str
    """What the second way of publishing costs beside the first; empty where there is one way only."""
    sentences: tuple[str, ...]
    """One for each way of publishing."""
    table: TableView
    """Release by release."""
    columns: TableView
    """Loss by column, the mean of all releases."""
    computed: tuple[Computed, ...]
    """What an analyst computes from the last release of the first way."""


def view_of(costs: Costs | None) -> CostsView | None:
    """Return the view; None where nothing was measured."""
    some = {name: list(utilities) for name, utilities in (costs or {}).items() if utilities}
    if not some:
        return None
    headings = [f"{name}: {what}#" for name in some for what in ("loss", "query error")]
    longest = max(len(utilities) for utilities in some.values())
    rows = [(f"{place + 1}", *_cells(some, place)) for place in range(longest)]
    sentences = tuple(_sentence(name, utilities) for name, utilities in some.items())
    computed = view_of_utility(next(iter(some.values()))[-1]).computed
    by_release = table(("release", *headings), rows, _CAPTION)
    return CostsView(_price(some), sentences, by_release, _columns(some), computed)


def _columns(some: Costs) -> TableView:
    """How much of each column is covered by a published value, on average over the releases."""
    names = dict.fromkeys(name for utilities in some.values() for one in utilities for name in one.losses)
    means = {
        way: {name: fmean(one.losses[name] for one in utilities if name in one.losses) for name in names}
        for way, utilities in some.items()
    }
    rows = [(name, *(f"{by_name[name]:.1%}" for by_name in means.values())) for name in names]
    return table(("column", *(f"{way}: lost#" for way in some)), rows, "Loss by column")


def _cells(some: Costs, place: int) -> list[str]:
    cells = []
    for utilities in some.values():
        one = utilities[place] if place < len(utilities) else None
        error = None if one is None or one.queries is None else one.queries.median
        cells += ["–" if one is None else f"{one.loss:.1%}", "–" if error is None else f"{error:.1%}"]
    return cells


def _sentence(name: str, utilities: Sequence[Utility]) -> str:
    said = [f"{name}: {fmean(one.loss for one in utilities):.1%} of what the tables said is lost"]
    errors = [one.queries.median for one in utilities if one.queries is not None]
    if errors:
        said.append(f"half of the count queries are off by {fmean(errors):.1%} or less")
    margins = [max(one.margins.values()) for one in utilities if one.margins]
    if margins:
        said.append(f"shares of people by one column are off by {fmean(margins):.1%} at most")
    lost, added = sum(one.suppressed for one in utilities), sum(one.added for one in utilities)
    said.append(f"{plural(lost, 'row')} suppressed" if lost else "no row suppressed")
    said += [f"{plural(added, 'counterfeit')} added"] if added else []
    return "; ".join(said) + "."


def _price(some: Costs) -> str:
    if len(some) < 2:
        return ""
    (first, before), (second, after) = [(name, fmean(one.loss for one in some[name])) for name in list(some)[:2]]
    if not before:
        return ""
    name = second[0].upper() + second[1:]
    if abs(after - before) < 0.005:
        return f"{name} costs as much as {first}."
    ratio = max(after, before) / min(after, before) if after else 0.0
    more = "more" if after > before else "less"
    times = f", {ratio:.1f} times {'as much' if after > before else 'less'}" if ratio >= 1.05 else ""
    lost = f"{after:.1%} of what the tables said is lost instead of {before:.1%}"
    return f"{name} costs {more} than {first}: {lost}{times}."
