"""Differencing of published tables: what remains when one number is subtracted from another.

Nobody needs to be known. Cells of tables that count the same are subtracted from release to release, and tables of one
release from each other; hidden cells are bounded by their totals (`reissue.contingency`). A difference of a few people
isolates them: whoever knows that somebody came in that month, or is in that class, knows the rest. Fewer people than
the limit count as few; by the policy's group size, else 5, the usual threshold for cells of tables.

O(cells) for each pair of neighbouring releases.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reissue.attacks.differencing.case import describe
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, Heading, attack
from reissue.contingency.dates import by_date, dated, never_falls
from reissue.contingency.differences import (
    Difference,
    Single,
    between,
    inside,
    kind_of_name,
    only_change,
    over_time,
)
from reissue.contingency.table import CountTable
from reissue.errors import CannotRunError
from reissue.people.knowledge import Knowledge
from reissue.published.counts_table import linked
from reissue.published.series import Series
from reissue.published.tables import dates_of
from reissue.words import plural, visible, words_of

__all__ = ["NAME", "THRESHOLD", "Differences", "differencing", "find_differences"]

NAME = "differencing"
THRESHOLD = 5
"""People below whom a count or a difference isolates them, where nobody says another number."""
_Step = tuple[object, object, str]
"""Two dates, and what is counted."""
_Change = tuple[tuple[int, int], tuple[str, ...], tuple[bool, tuple[tuple[str, str], ...]] | None]
"""Two releases, their dates, and what `only_change` says of a table of theirs."""
_NAMED = 20
"""Differences that the details name, the smallest first."""
_WHEN = words_of(
    "jan feb mar apr may jun jul aug sep oct nov dec january february march april june july august september "
    "october november december table tabelle"
)
"""Words of a table's name that do not say what it is about."""
_TOTALS = (
    "The counts hardly ever fall along '{}': they are taken to be running totals, and each date is subtracted from the "
    "next (--counts repeated=false says that each date counts other people)."
)
_EVENTS = (
    "The counts rise and fall along '{}': each date is taken to count other people, so dates are not subtracted from "
    "each other (--counts repeated=true says that every date counts whoever is there)."
)


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
    singles: tuple[Single, ...]
    """The people who came or left alone, with all that tables of both dates say about them."""
    alone: int
    """Tables that no other could be subtracted from, or they from it."""
    notes: tuple[str, ...]
    """What was taken for granted, in sentences."""

    @property
    def people(self) -> int:
        """People whom they isolate: of differences of the same numbers, in the table that isolates most."""
        most: dict[tuple[object, ...], dict[tuple[str, tuple[str, ...]], int]] = {}
        for one in self.found:
            of_table = most.setdefault((*sorted(one.releases), *sorted(one.dates)), {})
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
        details=_details(found, series)
        | ({"case": describe(found.found, found.singles, limit)} if found.found else {}),
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
    runs, notes = _runs(tables, series)
    apart, singles = _subtracted(runs, limit, lambda done: progress(0.5 + 0.5 * done))
    found += apart
    pairs = sum(len(run) - 1 for run in runs)
    every = [table for here in tables.values() for table in here]
    if not pairs and len(every) == 1 and not every[0].hidden:
        said = " ".join(notes) or "there is one table, and it hides no cell: there is nothing to subtract it from."
        raise CannotRunError(said)
    return Differences(
        found=tuple(sorted(found, key=_order)),
        tables=sum(map(len, runs)),
        pairs=pairs,
        exact=exact,
        consistent=consistent,
        population=max(int(next(table.margins()).low.sum()) for run in runs for table in [run[-1].table]),
        shown=sum(int(((one.low > 0) & one.exact & (one.high < limit)).sum()) for one in every),
        singles=tuple(singles),
        alone=sum(len(run) == 1 for run in runs) if len(tables) > 1 else 0,
        notes=notes,
    )


def _subtracted(
    runs: Sequence[Sequence["_Version"]], limit: int, progress: Callable[[float], None]
) -> tuple[list[Difference], list[Single]]:
    """The small differences of successive versions, and the people who came or left alone."""
    found: list[Difference] = []
    changes: dict[_Step, list[_Change]] = {}
    for turn, run in enumerate(runs):
        for before, after in pairwise(run):
            numbers, dates = (before.release, after.release), tuple(filter(None, (before.date, after.date)))
            small = over_time(before.table, after.table, numbers, limit)
            found += [replace(one, dates=dates if one.releases == numbers else dates[::-1]) for one in small]
            about = after.table.name.rpartition(": ")[2]
            change = only_change(before.table, after.table)
            changes.setdefault((before.when, after.when, about), []).append((numbers, dates, change))
        progress((turn + 1) / len(runs))
    return found, list(_singles(changes))


@dataclass(frozen=True, eq=False)
class _Version:
    """A table of one date."""

    release: int
    date: str
    """Where a release has several."""
    table: CountTable
    when: object
    """The date, or the release: what tables of one date have in common."""


def _runs(tables: Mapping[int, Sequence[CountTable]], series: Series) -> tuple[list[list[_Version]], tuple[str, ...]]:
    """The versions of each table in the order of their dates; and what was taken for granted."""
    order = list(tables)
    places = dict(zip(series.numbers, series.releases, strict=True))
    paths = [places[number].tables.path for number in order]
    dates = dates_of([path.name.lower() for path in paths if path is not None])
    when: dict[int, object] = {number: number for number in order}
    if len(dates) == len(order):
        when = dict(zip(order, dates, strict=True))
        order = [number for _, _, number in sorted(zip(dates, range(len(order)), order, strict=True))]
    runs: dict[tuple[object, ...], list[_Version]] = {}
    notes: dict[str, None] = {}
    for number in order:
        seen: Counter[tuple[object, ...]] = Counter()
        for table in tables[number]:
            named = frozenset(word for word in words_of(table.name) if word not in _WHEN)
            key = (named, frozenset(map(kind_of_name, table.dimensions)))
            seen[key] += 1
            runs.setdefault((*key, seen[key]), []).append(_Version(number, "", table, when[number]))
    made = []
    for run in runs.values():
        column = dated(run[-1].table)
        parts = [] if column is None else by_date(run[-1].table, column)
        again = run[-1].table.again
        if column is None:
            made.append(run)
        elif again or (again is None and never_falls([part for _, part in parts])):
            release = run[-1].release
            made.append([_Version(release, text, part, text) for text, part in parts])
            if again is None:
                notes[_TOTALS.format(visible(column))] = None
            made += [run] if len(run) > 1 else []
        else:
            made.append(run)
            if again is None:
                notes[_EVENTS.format(visible(column))] = None
    return made, tuple(notes)


def _singles(changes: Mapping[_Step, Sequence[_Change]]) -> Iterator[Single]:
    """The people of whom every table of two dates says that one person came, or left."""
    for told in changes.values():
        known = [change for _, _, change in told if change is not None]
        if len(known) == len(told) and len({came for came, _ in known}) == 1:
            numbers, dates, _ = told[0]
            classes = dict(pair for _, pairs in known for pair in pairs)
            yield Single(known[0][0], numbers, dates, tuple(classes.items()))


def _order(one: Difference) -> tuple[int, int, tuple[int, ...], str]:
    return one.low, one.high, (one.kind != "over time", *one.releases), "".join(one.dates) + one.population


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
        if found.singles:
            what = plural(len(found.singles), "person", "people")
            said += f" {what} came or left alone: all tables of both dates together describe them."
        cells = sum(one.kind == "cell" for one in found.found)
        said += f" {plural(cells, 'hidden cell')} can be told by totals." if cells else ""
    if found.shown:
        said += (
            f" {plural(found.shown, 'cell')} {'shows' if found.shown == 1 else 'show'} fewer than {limit} people as "
            "they are, which is not counted here (`reissue check-output` judges it)."
        )
    if not found.consistent:
        said += " Some counts contradict their totals; those totals were not used."
    if found.alone:
        said += f" {plural(found.alone, 'table')} occur once, or under another name, and were subtracted from none."
    said = " ".join([said, *found.notes])
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
        "singles": len(found.singles),
        "described": [_described(one) for one in found.singles[:_NAMED]],
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
        "dates": list(one.dates),
    }


def _described(one: Single) -> dict[str, object]:
    return {
        "came": one.came,
        "releases": list(one.releases),
        "dates": list(one.dates),
        "classes": dict(one.classes),
    }
