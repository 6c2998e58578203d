"""Differencing of published tables: what remains when one number is subtracted from another.

Nobody needs to be known. Cells of tables that count the same are subtracted from release to release, and tables of one
release from each other; hidden cells are bounded by their totals (`reissue.contingency`). A difference of a few people
isolates them: whoever knows that somebody came in that month, or is in that class, knows the rest. Fewer people than
the limit count as few; by the policy's group size, else 5, the usual threshold for cells of tables.

O(cells) for each pair of neighbouring releases.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reissue.attacks.differencing.case import describe
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, Heading, attack
from reissue.contingency.differences import Difference, between, inside, over_time
from reissue.contingency.table import CountTable
from reissue.errors import CannotRunError
from reissue.people.knowledge import Knowledge
from reissue.published.counts_table import linked
from reissue.published.series import Series
from reissue.words import plural

__all__ = ["NAME", "THRESHOLD", "Differences", "differencing", "find_differences"]

NAME = "differencing"
THRESHOLD = 5
"""People below whom a count or a difference isolates them, where nobody says another number."""
_NAMED = 20
"""Differences that the details name, the smallest first."""


@dataclass(frozen=True, eq=False)
class Differences:
    """All small differences of a series."""

    found: tuple[Difference, ...]
    tables: int
    pairs: int
    """Tables that were subtracted from each other."""
    exact: bool
    """Whether bounds of hidden cells are the best there are."""
    consistent: bool
    """Whether the cells of every release can be true together."""
    population: int
    """People of the largest table, by its lower bounds."""
    shown: int
    """Cells that show fewer people than the limit as they are, nobody left out."""

    @property
    def people(self) -> int:
        """People whom they isolate: of differences of the same numbers, in the table that isolates most."""
        most: dict[tuple[int, ...], dict[tuple[str, tuple[str, ...]], int]] = {}
        for one in self.found:
            of_table = most.setdefault(tuple(sorted(one.releases)), {})
            key = one.table, _shown(one)
            of_table[key] = of_table.get(key, 0) + one.low
        return sum(max(of_table.values()) for of_table in most.values())


def _shown(one: Difference) -> tuple[str, ...]:
    """The dimensions in which a difference has categories: their cells do not overlap."""
    return tuple(name for name, text in zip(one.dimensions, one.categories, strict=True) if text is not None)


@attack(
    NAME,
    "Subtracts published tables of counts from each other, and hidden cells from their totals.",
    accepts=Accepts.COUNTS | Accepts.OTHER_COLUMNS | Accepts.OTHER_VALUES | Accepts.REPEATED_RECORDS,
    needs="a table of counts that is published again, or one with totals",
    story=(
        "Someone has two tables of the same counts, or a table and its totals, and subtracts them. What is left is the "
        "number of people who came or left between the tables, in every cell. Where that is one, the person is found: "
        "whoever knows that somebody came in that month reads off everything else that the table classifies by."
    ),
    prevention=(
        (
            "Round every count to a base, or perturb it with a key that is kept: the same people always get the same "
            "noise, and the difference of two tables is noise too (`reissue tabulate`)."
        ),
        "Publish less often, or fewer classes: the difference of two tables then holds more people.",
        "Hide further cells (complementary suppression), so that totals do not give hidden cells away.",
    ),
    heading=Heading.SINGLING_OUT,
)
def differencing(series: Series, knowledge: Knowledge) -> Finding:
    """Find the differences of published numbers that isolate few people."""
    found = find_differences(series, threshold_of(series), knowledge.progress)
    limit = threshold_of(series)
    smallest = min((one.low for one in found.found), default=None)
    return Finding(
        NAME,
        Status.EXPOSED if found.found else Status.WITHSTOOD,
        _sentence(found, limit),
        series.numbers,
        people=found.people,
        population=max(found.population, found.people),
        measure="difference: people whom the difference of published counts isolates",
        worst=limit if smallest is None else smallest,
        limit=limit,
        at_least=True,
        details=_details(found, series) | ({"case": describe(found.found, limit)} if found.found else {}),
    )


def threshold_of(series: Series) -> int:
    """The caller's limit, else the policy's, else the group size that it requires, else the usual threshold."""
    return int(series.limit(NAME) or (series.k if (series.k or 0) > 1 else None) or THRESHOLD)


def find_differences(series: Series, limit: int, progress: Callable[[float], None] = lambda _: None) -> Differences:
    """All differences of fewer than `limit` people."""
    tables = {
        number: [linked(one, series.schema) for one in release.counts]
        for number, release in zip(series.numbers, series.releases, strict=True)
        if release.counts
    }
    if not tables:
        raise CannotRunError("there is no table of counts among the releases.")
    found: list[Difference] = []
    exact = consistent = True
    for turn, (number, here) in enumerate(tables.items()):
        hidden, best, fits = inside(here, number, limit)
        found += [*hidden, *between(here, number, limit)]
        exact, consistent = exact and best, consistent and fits
        progress(0.5 * (turn + 1) / len(tables))
    pairs = 0
    last: dict[tuple[str, frozenset[str]], tuple[int, CountTable]] = {}
    for turn, (number, here) in enumerate(tables.items()):
        for table in here:
            key = table.name, frozenset(table.dimensions)
            if key in last:
                pairs += 1
                found += over_time(last[key][1], table, (last[key][0], number), limit)
            last[key] = number, table
        progress(0.5 + 0.5 * (turn + 1) / len(tables))
    every = [table for here in tables.values() for table in here]
    if not pairs and len(every) == 1 and not every[0].hidden:
        raise CannotRunError("there is one table, and it hides no cell: there is nothing to subtract it from.")
    population = max(int(next(table.margins()).low.sum()) for table in every)
    shown = sum(int(((one.low > 0) & one.exact & (one.high < limit)).sum()) for one in every)
    return Differences(tuple(sorted(found, key=_order)), len(every), pairs, exact, consistent, population, shown)


def _order(one: Difference) -> tuple[int, int, tuple[int, ...], str]:
    return one.low, one.high, one.releases, one.population


def _sentence(found: Differences, limit: int) -> str:
    tables = plural(found.tables, "table")
    if not found.found:
        said = f"No difference of {tables} isolates fewer than {limit} people."
    else:
        single = sum(one.high == 1 for one in found.found)
        alone = f", {single:,} of them a single person" if single else ""
        many = plural(len(found.found), "difference")
        isolate = "isolates" if len(found.found) == 1 else "isolate"
        said = f"{many} of {tables} {isolate} fewer than {limit} people each{alone}."
        cells = sum(one.kind == "cell" for one in found.found)
        said += f" {plural(cells, 'hidden cell')} can be told by totals." if cells else ""
    if found.shown:
        said += (
            f" {plural(found.shown, 'cell')} {'shows' if found.shown == 1 else 'show'} fewer than {limit} people as "
            "they are, which is not counted here (`reissue check-output` judges it)."
        )
    if not found.consistent:
        said += " Some counts contradict their totals; those totals were not used."
    return said if found.exact else f"{said} There are too many hidden cells for exact bounds: more may be told."


def _details(found: Differences, series: Series) -> dict[str, object]:
    kinds = {kind: sum(one.kind == kind for one in found.found) for kind in ("cell", "over time", "beside")}
    held = dict.fromkeys(number for number, one in zip(series.numbers, series.releases, strict=True) if one.counts)
    return {
        "differences": len(found.found),
        "single": sum(one.high == 1 for one in found.found),
        "kinds": kinds,
        "tables": found.tables,
        "pairs": found.pairs,
        "exact": found.exact,
        "consistent": found.consistent,
        "shown": found.shown,
        "counted_in": list(held),
        "named": [_named(one) for one in found.found[:_NAMED]],
    }


def _named(one: Difference) -> dict[str, object]:
    return {
        "kind": one.kind,
        "table": one.table,
        "population": one.population,
        "least": one.low,
        "most": one.high,
        "releases": list(one.releases),
    }
