"""Bounds of hidden cells against all tables that could have been published, and differences against the definition."""

from itertools import product

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.contingency.bounds import bounds
from reissue.contingency.cells import UNBOUNDED
from reissue.contingency.differences import between, inside, over_time
from reissue.contingency.table import CountTable

MOST = 6


def two_way(counts: np.ndarray, hidden: np.ndarray, totals: tuple[bool, bool], *, name: str = "n") -> CountTable:
    """A table of rows x columns with totals; hidden inner cells are 0 to MOST."""
    rows, low, high = list[tuple[str | None, str | None]](), list[int](), list[int]()
    for row, column in product(range(counts.shape[0]), range(counts.shape[1])):
        rows.append((f"r{row}", f"c{column}"))
        inside_ = hidden[row, column]
        low.append(0 if inside_ else counts[row, column])
        high.append(MOST if inside_ else counts[row, column])
    if totals[0]:
        rows += [(f"r{row}", None) for row in range(counts.shape[0])]
        low += counts.sum(axis=1).tolist()
        high += counts.sum(axis=1).tolist()
    if totals[1]:
        rows += [(None, f"c{column}") for column in range(counts.shape[1])]
        low += counts.sum(axis=0).tolist()
        high += counts.sum(axis=0).tolist()
    frame = pl.DataFrame(rows, schema={"row": pl.String, "column": pl.String}, orient="row")
    return CountTable(name, frame, np.array(low, np.int64), np.array(high, np.int64))


def enumerated(counts: np.ndarray, hidden: np.ndarray, totals: tuple[bool, bool]) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the inner cells over all tables that agree with what is shown."""
    at = list(zip(*np.nonzero(hidden), strict=True))
    low, high = np.full(counts.shape, 99), np.full(counts.shape, -1)
    for values in product(range(MOST + 1), repeat=len(at)):
        world = counts.copy()
        for place, value in zip(at, values, strict=True):
            world[place] = value
        fits = (not totals[0] or (world.sum(axis=1) == counts.sum(axis=1)).all()) and (
            not totals[1] or (world.sum(axis=0) == counts.sum(axis=0)).all()
        )
        if fits:
            low, high = np.minimum(low, world), np.maximum(high, world)
    return low, high


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_bounds_are_those_of_all_tables_that_fit(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(2, 2), (2, 3), (3, 2)]))
    counts = np.array(data.draw(st.lists(st.integers(0, MOST), min_size=6, max_size=6)))[: shape[0] * shape[1]]
    counts = counts.reshape(shape)
    flags = data.draw(st.lists(st.booleans(), min_size=counts.size, max_size=counts.size))
    hidden = np.array(flags).reshape(shape)
    if hidden.sum() > 4:
        hidden[0] = False
    totals = data.draw(st.tuples(st.booleans(), st.booleans()))
    (found,) = bounds([two_way(counts, hidden, totals)])
    low, high = enumerated(counts, hidden, totals)
    assert found.exact
    assert found.low[: counts.size].tolist() == low.reshape(-1).tolist()
    assert found.high[: counts.size].tolist() == high.reshape(-1).tolist()


def test_tables_of_one_date_bound_each_other() -> None:
    """Age by sex hides a cell that age by region and sex by region together give away."""
    people = [("young", "f", "n"), ("young", "m", "s"), ("old", "f", "n"), ("old", "m", "n"), ("old", "m", "s")]
    frame = pl.DataFrame(people, schema=["age", "sex", "region"], orient="row")

    def table(*names: str) -> CountTable:
        counted = frame.group_by(names).len().sort(names)
        return CountTable.of("people", counted.select(names), counted["len"].to_numpy())

    tables = [table("age", "sex"), table("age", "region"), table("sex", "region")]
    shown = tables[0]
    tables[0] = CountTable("people", shown.categories, np.ones_like(shown.low), np.full_like(shown.high, 4))
    found = bounds(tables)[0]
    assert (found.low == shown.low).all() or (found.high - found.low).max() <= 1
    assert (found.low <= shown.low).all()
    assert (found.high >= shown.high).all()


def test_totals_that_do_not_add_up_are_not_used() -> None:
    frame = pl.DataFrame({"sex": ["f", "m", None]})
    table = CountTable("n", frame, np.array([0, 12, 9]), np.array([4, 12, 9]))
    (found,) = bounds([table])
    assert not found.consistent
    assert found.high.tolist() == [4, 12, 9]


def test_months_are_subtracted() -> None:
    frame = pl.DataFrame({"sex": ["f", "m", "x"]})
    before, after = CountTable.of("n", frame, [10, 10, 10]), CountTable.of("n", frame, [11, 8, 10])
    found = over_time(before, after, (3, 4), 5)
    assert [(one.population, one.low, one.releases) for one in found] == [("sex f", 1, (3, 4)), ("sex m", 2, (4, 3))]
    rounded = CountTable("n", frame, np.array([8, 8, 8]), np.array([12, 12, 12]))
    assert not over_time(rounded, after, (3, 4), 5), "the difference may be 0"


def test_classes_that_end_at_different_points_isolate_who_is_between() -> None:
    one = CountTable.of("n", pl.DataFrame({"age": ["0-17", "18-64", "65-99"]}), [10, 50, 20])
    other = CountTable.of("n", pl.DataFrame({"age": ["0-15", "16-64", "65-99"]}), [8, 52, 20])
    (found,) = between([one, other], 1, 5)
    assert (found.low, found.population) == (2, "age from 16 to below 18")


def test_hidden_cells_that_totals_tell_are_named() -> None:
    frame = pl.DataFrame({"sex": ["f", "m", None]})
    table = CountTable("n", frame, np.array([0, 12, 15]), np.array([UNBOUNDED, 12, 15]))
    found, exact, consistent = inside([table], 1, 5)
    assert [(one.low, one.high) for one in found] == [(3, 3)]
    assert exact
    assert consistent
