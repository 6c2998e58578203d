"""Anatomy (Xiao, Tao 2006): exact quasi-identifiers, sensitive values apart, joined by bucket.

Every bucket has at least l rows, all with different sensitive values, so nobody's value is surer than 1/l; the paper's
definition 2 calls that l-diversity. It can be done exactly if no value has more than 1/l of the rows.

The paper's algorithm takes a row of each of the l largest values, again and again, and then places the residue. Buckets
of the same kind come out at once: with the n rows sorted by value (values in random order, rows of a value too), row i
goes to bucket i mod G, G = floor(n/l). Rows of one value are at most G and stand together, so no two of them meet; each
bucket gets floor(n/G) rows or one more, at least l. Nothing depends on where a row was in the table.

Where the requirement asks for more, l rises as long as the table allows it; then buckets are united, those whose
numbers agree mod G' < G, which spreads every value evenly over the unions. The smallest buckets that meet the
requirement are kept, by doubling and bisection. O(n log n) for each of these trials, seldom more than one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.errors import RequirementError, SchemaError
from reissue.methods.entries import Entries
from reissue.methods.registry import Job, Trait, algorithm
from reissue.release.form import Form
from reissue.release.release import Draft
from reissue.requirements import Requirement

__all__ = ["anatomy"]


@algorithm(
    "anatomy",
    "Two tables: exact quasi-identifiers, and the sensitive values by bucket. For those who need exact values.",
    traits=Trait.SUPPRESSES | Trait.RANDOM,
    unforced="the method forms groups by chance, and no need to generalize is behind them",
    whole_table="it deals all rows into buckets, each of different values",
)
def anatomy(job: Job) -> Draft:
    """Deal the rows into buckets of different sensitive values."""
    if not job.table.schema.sensitive:
        raise SchemaError("Anatomy publishes sensitive values in a table of their own, but the schema names none.")
    wanted = job.requirement.fewest_values
    deal = _deal(job, wanted)
    found = _smallest(deal, wanted, max(part.least for part in job.requirement.parts()))
    if found is None:
        raise RequirementError(
            f"Anatomy finds no buckets that meet {job.requirement}. Ask for less, or use a method that generalizes, "
            "such as 'pool'."
        )
    groups, notes = found
    return Draft(groups, form=Form.TWO_TABLES, notes=notes)


@dataclass(frozen=True, eq=False)
class _Deal:
    """Rows in the order in which they are dealt: by value, otherwise at random."""

    rows: int
    """Of the table."""
    order: Ints
    """The rows that are published."""
    entries: Entries
    """Their sensitive values, in this order."""
    requirement: Requirement

    @property
    def most(self) -> int:
        """The greatest number of different values that every bucket can have."""
        return len(self.order) // int(self.entries.domain.totals.max())

    def fine(self, buckets: int, united: int) -> bool:
        """Whether so many buckets, united to so many, meet the requirement."""
        counts = self.entries.counts(self.numbers(buckets, united), united)
        return bool(self.requirement.holds(counts).all())

    def numbers(self, buckets: int, united: int) -> Ints:
        """Row in dealing order to its bucket."""
        return np.arange(len(self.order)) % buckets % united

    def groups(self, buckets: int, united: int) -> Codes:
        """Row of the table to its bucket, -1 if suppressed."""
        groups = np.full(self.rows, -1, np.int32)
        groups[self.order] = self.numbers(buckets, united)
        return groups


def _deal(job: Job, wanted: int) -> _Deal:
    """Shuffle and sort by value; suppress what is too much of a value, if that is allowed."""
    table, totals = job.table, job.table.domain.totals
    most = _most_per_value(totals, wanted)
    surplus = int(np.maximum(totals - most, 0).sum())
    if surplus > job.spare:
        raise RequirementError(_refusal(job, wanted, most, surplus))
    shuffled = job.rng.permutation(table.rows)
    label = job.rng.permutation(len(totals)).astype(np.min_scalar_type(len(totals)))
    order = shuffled[np.argsort(label[table.sensitive[shuffled]], kind="stable")]
    values = table.sensitive[order]
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    place = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    kept = place < most
    return _Deal(table.rows, order[kept], Entries(values, table.domain).only(kept), job.requirement)


def _most_per_value(totals: Ints, wanted: int) -> int:
    """The largest T such that no value has more than 1/l of the rows if every value keeps at most T.

    With T rows kept of each, sum(min(c, T)) - l T is concave in T and 0 at 0, so those that do are 0, 1, ..., T.
    """
    low, high = 0, int(totals.max())
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(totals, middle).sum() >= wanted * middle else (low, middle - 1)
    return low


def _refusal(job: Job, wanted: int, most: int, surplus: int) -> str:
    """What is wrong with the distribution of values, and what to do; values are not named."""
    totals, rows = job.table.domain.totals, job.table.rows
    if most == 0:
        return f"Anatomy needs {wanted} different sensitive values in every bucket; the table has {(totals > 0).sum()}."
    over = int((totals > most).sum())
    which = "the most frequent one has" if over == 1 else f"the {over} most frequent ones have up to"
    lower = rows // int(totals.max())
    return (
        f"Anatomy needs every sensitive value to have at most 1/{wanted} of the rows, but {which} "
        f"{totals.max() / rows:.1%}: {surplus:,} of {rows:,} rows too many, and {job.spare:,} may be suppressed. Let "
        f"{math.ceil(surplus / rows * 1e4) / 1e4:.2%} of the rows be suppressed, ask for at most {lower} values, or "
        "use a method that generalizes, such as 'pool'."
    )


def _smallest(deal: _Deal, wanted: int, least: int) -> tuple[Codes, dict[str, int]] | None:
    """The smallest buckets that meet the requirement: of different values if possible, else united ones."""
    rows = len(deal.order)
    first = min(max(wanted, least), deal.most)
    values = _first(lambda size: deal.fine(rows // size, rows // size), first, deal.most)
    if values is not None:
        buckets = rows // values
        return deal.groups(buckets, buckets), {"values": values, "buckets": buckets}
    buckets = rows // deal.most
    size = _first(lambda size: deal.fine(buckets, min(rows // size, buckets)), max(first, least), rows)
    if size is None:
        return None
    united = min(rows // size, buckets)
    return deal.groups(buckets, united), {"values": deal.most, "buckets": united}


def _first(works: Callable[[int], bool], low: int, high: int) -> int | None:
    """A number from low to high that works, where doubling and bisection find the smallest if larger ones work too."""
    if low > high:
        return None
    fails, number = low - 1, low
    while not works(number):
        if number == high:
            return None
        fails, number = number, min(2 * number, high)
    while number - fails > 1:
        middle = (fails + number) // 2
        fails, number = (fails, middle) if works(middle) else (middle, number)
    return number
