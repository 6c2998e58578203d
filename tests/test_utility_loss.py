"""What a table loses altogether: values apart from rows, people left out, counterfeits, changed values, margins."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table
from reissue.published import read_published
from reissue.release.form import Form
from reissue.release.release import Counterfeits, Draft, Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.utility import compare, measure, shares_of
from reissue.utility.loss import column_margin, margins_of, record_losses, value_losses
from reissue.utility.published import Published, from_boxes, from_tables
from reissue.verify import make_release
from tests.effort import examples
from tests.strategies import Case, tables

FRAME = pl.DataFrame({"age": [20, 21, 30, 31, 40, 41, 50, 60], "s": list("aabbccdd")})
SCHEMA = Schema.of_columns(quasi=["age"], sensitive=["s"])


def made(table: Table, groups: list[int], **draft: object) -> Release:
    numbers = np.array(groups, np.int32)
    return make_release(table, Draft(numbers, **draft), KAnonymity(1), "test", np.random.default_rng(0))  # type: ignore[arg-type]


def both(release: Release) -> tuple[Published, Published]:
    return from_boxes(release), from_tables(release.table, read_published(release, release.schema))


def test_one_bucket_of_everyone_says_nothing_about_who_has_what() -> None:
    table = Table.read(FRAME, SCHEMA)
    for form in ({"form": Form.TWO_TABLES}, {"form": Form.PERMUTED}):
        utility = measure(made(table, [0] * 8, **form))
        assert utility.losses == {"age": 0}
        assert (utility.loss, utility.value_loss) == (1, 1)
        assert "tie to a row" in str(utility)


def test_values_apart_by_hand() -> None:
    """Ages 20 to 31 in a bucket with two values, 40 to 60 in one; the table has four values, each of a quarter."""
    table = Table.read(FRAME, SCHEMA)
    utility = measure(made(table, [0, 0, 0, 0, 1, 1, 1, 1], form=Form.PERMUTED))
    assert utility.value_loss == pytest.approx(0.5 / 0.75)
    assert utility.loss == pytest.approx((4 * 11 / 40 + 4 * 20 / 40) / 8)
    alike = measure(made(table, [0, 0, 1, 1, 2, 2, 3, 3], form=Form.PERMUTED))
    assert (alike.loss, alike.value_loss) == (0, 0), "all values of a group are the same: nothing is lost"


def test_counterfeits_people_left_out_and_changed_values_are_lost_altogether() -> None:
    table = Table.read(FRAME, SCHEMA)
    exact = list(range(8))
    assert measure(made(table, exact)).loss == 0
    assert measure(made(table, [-1, *range(7)])).loss == pytest.approx(1 / 8)
    fakes = Counterfeits(np.array([0, 0], np.int32), table.codes[:, [0, 0]], np.array([1, 2], np.int32))
    utility = measure(made(table, exact, counterfeits=fakes))
    assert utility.loss == pytest.approx(2 / 10)
    assert "2 records were suppressed, counterfeit or changed and count as lost" in str(utility)
    changed = measure(made(table, exact, sensitive=np.array([1, 0, 1, 1, 2, 2, 3, 1], np.int32)))
    assert changed.changed == 2
    assert changed.loss == pytest.approx(2 / 8)
    assert changed.margins["s"] == pytest.approx(2 / 8)
    assert compare(FRAME, FRAME.with_columns(s=pl.lit("zebra")), SCHEMA, queries=0).loss == 1


def by_definition(table: Table, groups: np.ndarray, apart: bool) -> list[float]:
    """What each row loses, from sets of rows."""
    found = []
    for row in range(table.rows):
        mates = np.flatnonzero(groups == groups[row])
        cells = []
        for codes, taxonomy in zip(table.codes, table.taxonomies, strict=True):
            low, high = codes[mates].min(keepdims=True), codes[mates].max(keepdims=True)
            if apart and taxonomy.ordered and not (taxonomy.missing and high[0] == taxonomy.size - 1):
                cells.append(float(taxonomy.loss(low, high)[0]))
            else:
                low, high = taxonomy.snap(low, high)
                cells.append(float(taxonomy.loss(low, high)[0]))
        around = sum(cells) / len(cells)
        if not apart:
            found.append(around)
            continue
        pairs = list(itertools.product(table.sensitive[mates], repeat=2))
        everyone = list(itertools.product(table.sensitive, repeat=2))
        mixed, most = (np.mean([one != other for one, other in some]) for some in (pairs, everyone))
        found.append(min(around, min(mixed / most, 1.0) if most else 0.0))
    return found


@given(
    tables(max_rows=10),
    st.sampled_from([{}, {"form": Form.NUMBERED}, {"form": Form.PERMUTED}, {"form": Form.TWO_TABLES}]),
    st.data(),
)
def test_a_record_loses_what_its_definition_says(case: Case, form: dict[str, Form], data: st.DataObject) -> None:
    table = Table.read(case.frame, case.schema)
    raw = data.draw(st.lists(st.integers(0, 3), min_size=table.rows, max_size=table.rows))
    groups = np.unique(raw, return_inverse=True)[1].astype(np.int32)
    release = make_release(table, Draft(groups, **form), KAnonymity(1), "test", np.random.default_rng(0))  # type: ignore[arg-type]
    apart = bool(table.schema.sensitive) and not release.draft.form.boxes
    expected = np.mean(by_definition(table, groups, apart))
    for published in both(release):
        each = record_losses(published, shares_of(table.schema.quasi))
        assert float(each @ published.rows) / table.rows == pytest.approx(expected)
        assert ((value_losses(published) >= 0) & (value_losses(published) <= 1)).all()
    assert measure(release).loss == pytest.approx(expected)
    first, second = (margins_of(published) for published in both(release))
    assert first == pytest.approx(second)
    assert all(0 <= margin <= 1 + 1e-9 for margin in first.values())
    if not release.draft.form.boxes:
        assert max(first.values()) == pytest.approx(0, abs=1e-9), "every column by itself is as it was"


@given(tables(max_rows=10), st.data())
def test_who_publishes_more_loses_no_more(case: Case, data: st.DataObject) -> None:
    """The same groups with exact rows and permuted values, instead of boxes."""
    table = Table.read(case.frame, case.schema)
    raw = data.draw(st.lists(st.integers(0, 3), min_size=table.rows, max_size=table.rows))
    groups = np.unique(raw, return_inverse=True)[1].tolist()
    assert (
        measure(made(table, groups, form=Form.PERMUTED)).loss
        <= measure(made(table, groups, form=Form.NUMBERED)).loss + 1e-9
    )


# --- margins ---------------------------------------------------------------------------------------------------------


def margin_by_hand(table: Table, groups: np.ndarray) -> float:
    """One column: the share of people up to each leaf, or on each leaf, with rows spread evenly over their range."""
    taxonomy, codes = table.taxonomies[0], table.codes[0]
    last, line = taxonomy.size - 1 - taxonomy.missing, taxonomy.positions
    unit = float(all(float(x).is_integer() for x in line[: last + 1]))
    seen = np.zeros(taxonomy.size)
    for row in range(table.rows):
        mates = codes[groups == groups[row]]
        (lo,), (hi,) = taxonomy.snap(mates.min(keepdims=True), mates.max(keepdims=True))
        if lo == hi or not taxonomy.ordered:
            seen[lo : hi + 1] += 1 / (hi - lo + 1)
            continue
        rest = 1.0
        if hi > last:
            seen[-1] += 1 / taxonomy.size
            rest, hi = 1 - 1 / taxonomy.size, last
        if lo == hi:
            seen[lo] += rest
            continue
        below = 0.0
        for leaf in range(lo, hi + 1):
            upto = (line[leaf] - line[lo] + unit) / (line[hi] - line[lo] + unit)
            seen[leaf] += rest * (upto - below)
            below = upto
    true = np.bincount(codes, minlength=taxonomy.size)
    error = (seen - true) / table.rows
    if not taxonomy.ordered:
        return float(np.abs(error).sum() / 2)
    beside = np.abs(error[last + 1 :]).max(initial=0)
    return float(max(np.abs(np.cumsum(error[: last + 1])).max(initial=0), beside))


@examples(200)
@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 40)), min_size=1, max_size=12),
    st.sampled_from([Hierarchy("flat"), Hierarchy(ranges=(5.0, 20.0)), Hierarchy("auto"), "halves"]),
    st.data(),
)
def test_margins_are_those_by_hand(values: list[int | None], kind: Hierarchy | str, data: st.DataObject) -> None:
    column = pl.Series("q", values, dtype=pl.Int64)
    if kind == "halves":
        column, kind = column / 4, Hierarchy("auto")
    table = Table.read(column.to_frame(), Schema.of_columns(quasi=["q"], taxonomies={"q": kind}))  # type: ignore[dict-item]
    raw = data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows))
    groups = np.unique(raw, return_inverse=True)[1].astype(np.int32)
    release = make_release(table, Draft(groups), KAnonymity(1), "test", np.random.default_rng(0))
    published = from_boxes(release)
    true = np.bincount(table.codes[0], minlength=table.sizes[0]).astype(np.float64)
    found = column_margin(true, table.taxonomies[0], published.lo[0], published.hi[0], published.rows)
    assert found == pytest.approx(margin_by_hand(table, groups), abs=1e-9)


def test_margins_count_counterfeits_out_where_they_are_declared() -> None:
    """Two groups of four people; one has four counterfeits with a value of its own."""
    table = Table.read(FRAME, SCHEMA)
    fakes = Counterfeits(np.zeros(4, np.int32), table.codes[:, [0, 1, 2, 3]], table.sensitive[[0, 1, 2, 3]])
    release = made(table, [0, 0, 0, 0, 1, 1, 1, 1], counterfeits=fakes)
    for published in both(release):
        assert margins_of(published)["s"] == pytest.approx(0)
    bare = compare(FRAME, release.tables["release"], SCHEMA, queries=0)
    assert bare.margins["s"] == pytest.approx(2 / 3 - 1 / 2), "nobody says that they are counterfeits"
