"""What every method must keep, whatever the table and the requirement.

Nothing here shares arithmetic with the methods: groups are read off the published text, and "lies under" is decided
from the hierarchy as the schema writes it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import polars as pl

from reissue.data.table import Table
from reissue.errors import InputError, RequirementError
from reissue.published import read_published
from reissue.publishing.anonymize import anonymize
from reissue.release.release import GROUP, Release
from reissue.requirements import Requirement, by_column, parse, registered
from reissue.schema import Role, Schema
from reissue.testing.contract import expect
from reissue.testing.meanings import lies_under, meets

__all__ = ["ROW", "SAMPLES", "check_release", "published_groups", "samples"]

SAMPLES: Mapping[str, tuple[str, ...]] = {
    "k": ("k=2", "k=4"),
    "k-m": ("k-m=3,1", "k-m=4,2 & l=2"),
    "l": ("l=2", "k=3 & l=2"),
    "entropy-l": ("entropy-l=1.8",),
    "recursive": ("recursive=2,2",),
    "simple-l": ("simple-l=2",),
    "confidence": ("confidence=0.6",),
    "alpha-k": ("alpha-k=0.7,2",),
    "t": ("t=0.4", "t=0.3:ordered", "t=0.4:hierarchical", "k=2 & t=0.6"),
    "beta": ("beta=1", "beta=2:enhanced"),
    "delta-disclosure": ("delta-disclosure=1.2",),
    "k-e": ("k-e=2,3",),
    "c-k": ("c-k=0.9,1",),
    "personalized": ("personalized=0.6",),
    "m-unique": ("m-unique=2",),
}
"""Requirements that small tables sometimes meet, by name; others are taken as their examples write them."""

ROW = "row"
"""A column that is published as it is, so that a published row can be traced to its original."""


def samples() -> list[str]:
    """Requirements to run a method with: some of every registered kind."""
    return [text for name, kind in registered().items() for text in SAMPLES.get(name) or kind.example.split(" or ")]


def check_release(
    method: str,
    table_frame: pl.DataFrame,
    schema: Schema,
    requirement: Requirement | str,
    suppress: float = 0.0,
    *,
    may_refuse: bool = False,
    **options: Any,
) -> Release | None:
    """Run a method and check everything that it promises; None if it refused with a reason that holds.

    A method that generalizes may refuse only what no release can meet; others say that they `may_refuse` more.
    """
    requirement = parse(requirement)
    frame = table_frame.with_columns(pl.Series(ROW, range(table_frame.height)))
    schema = schema.with_roles({ROW: Role.KEEP})
    before = frame.clone()
    try:
        release = anonymize(frame, schema, requirement, method=method, suppress=suppress, seed=7, **options)
    except InputError as refusal:
        _check_refusal(refusal, Table.read(frame, schema), requirement, may_refuse=may_refuse)
        return None
    expect(frame.equals(before), "the input was changed")
    again = anonymize(frame, schema, requirement, method=method, suppress=suppress, seed=7, **options)
    expect(all(release.tables[name].equals(again.tables[name]) for name in release.tables), "same seed, other output")
    _check_rows(release, frame, suppress)
    if release.draft.form.apart:
        _check_buckets(release, frame)
    else:
        _check_values(release, frame)
    if requirement.in_groups is not None:
        for group in published_groups(release):
            fine = meets(release.table, group, requirement.in_groups, _published(release))
            expect(fine, "a group does not meet the requirement")
    _check_across(release, requirement)
    return release


def _check_across(release: Release, requirement: Requirement) -> None:
    """What is asked of the release as a whole, by what its groups show."""
    table = next(iter(release.tables.values()))
    if requirement.across and not release.draft.form.apart:
        texts = table.select(pl.col(release.schema.quasi).cast(pl.String).rank("dense").fill_null(0).cast(pl.Int64))
        each = np.ones(table.height, np.int64)
        expect(requirement.holds_across(texts.to_numpy().T, each).all(), "the release as a whole does not meet it")


def _check_refusal(refusal: InputError, table: Table, requirement: Requirement, *, may_refuse: bool) -> None:
    """A generalizing method may refuse only if not even the whole table in one group meets the requirement.

    Or if the sensitive column is not of the kind that the requirement judges, which has its own tests.
    """
    try:
        by_column(requirement, table.margins, table.domain).fits(table.domain)
    except RequirementError:
        return
    everyone = list(range(table.rows))
    fine = may_refuse or not meets(table, everyone, requirement, everyone)
    expect(fine, f"refused for nothing: {refusal}")


def _published(release: Release) -> list[int]:
    return next(iter(release.tables.values()))[ROW].to_list()


def _check_rows(release: Release, frame: pl.DataFrame, suppress: float) -> None:
    rows = _published(release)
    expect(len(set(rows)) == len(rows), "a row was published twice")
    expect(frame.height - len(rows) == release.suppressed, "rows are missing that are not counted as left out")
    expect(release.suppressed <= math.floor(suppress * frame.height + 1e-9), "more rows left out than allowed")
    public = [n for n in frame.columns if release.schema.columns.get(n) in {Role.QUASI, Role.SENSITIVE, Role.KEEP}]
    seen = [name for table in release.tables.values() for name in table.columns]
    own = {GROUP, "count", *read_published(release, release.schema).averages.values()}
    other = sorted(set(seen).symmetric_difference(public) - own)
    expect(not other, f"columns that the schema does not allow, or lacks: {', '.join(other)}")


def _check_values(release: Release, frame: pl.DataFrame) -> None:
    """Every original value lies under its published value; what is not generalized is as it was."""
    (published,) = release.tables.values()
    originals = frame[published[ROW].to_list()]
    for name in release.schema.sensitive:
        expect(published[name].equals(originals[name], null_equal=True), "a sensitive value was changed")
    for name in release.schema.quasi:
        hierarchy = release.schema.hierarchy(name)
        for value, text in zip(originals[name], published[name], strict=True):
            expect(lies_under(value, text, hierarchy), "a value is not under what was published for it")


def _check_buckets(release: Release, frame: pl.DataFrame) -> None:
    """The quasi-identifiers are exact, and the second table counts each bucket's sensitive values."""
    quasi, values = release.tables["quasi"], release.tables["sensitive"]
    originals = frame[quasi[ROW].to_list()]
    exact = quasi.select(release.schema.quasi).equals(originals.select(release.schema.quasi), null_equal=True)
    expect(exact, "a quasi-identifier beside its bucket was changed")
    counted: dict[int, Counter[Hashable]] = defaultdict(Counter)
    for bucket, *value, number in values.rows():
        counted[bucket][tuple(value)] += number
    expected: dict[int, Counter[Hashable]] = defaultdict(Counter)
    for bucket, *value in originals.select(release.schema.sensitive).insert_column(0, quasi[GROUP]).rows():
        expected[bucket][tuple(value)] += 1
    expect(counted == expected, "the second table does not count the buckets' values")


def published_groups(release: Release) -> list[list[int]]:
    """The rows of each group, read off the published text."""
    table = next(iter(release.tables.values()))
    by = [GROUP] if release.draft.form.apart else list(release.schema.quasi)
    together: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, key in zip(table[ROW].to_list(), table.select(by).rows(), strict=True):
        together[key].append(row)
    return list(together.values())
