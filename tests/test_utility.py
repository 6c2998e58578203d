"""Measures of what a release lost, against their definitions row by row."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table, anonymize
from reissue.errors import DataError, InputError, SchemaError, TaxonomyError
from reissue.release.form import Form
from reissue.release.release import Counterfeits, Draft, Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.utility import (
    WORKLOADS,
    QueryError,
    Utility,
    Workload,
    average_group_size,
    compare,
    discernibility,
    information_loss,
    measure,
    shares_of,
)
from reissue.verify import make_release
from tests.silence import refused
from tests.strategies import Case, tables

FRAME = pl.DataFrame(
    {
        "age": [20, 21, 22, 23, 30, 31, 32, 40],
        "job": ["cook", "cook", "smith", "smith", "monk", "nun", "monk", "cook"],
        "disease": ["flu", "flu", "cold", "gout", "flu", "cold", "cold", "gout"],
    }
)
TREE = {"maker": ["cook", "smith"], "prayer": ["monk", "nun"]}
SCHEMA = Schema.of_columns(
    quasi=["age", "job"],
    sensitive=["disease"],
    taxonomies={"job": Hierarchy(tree=TREE), "age": Hierarchy(ranges=(5.0,))},
)


def release_of(groups: list[int], k: int = 2, *, table: Table | None = None, **draft: Any) -> Release:
    table = table or Table.read(FRAME, SCHEMA)
    drafted = Draft(np.array(groups, np.int32), **draft)
    return make_release(table, drafted, KAnonymity(k), "test", np.random.default_rng(0))


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_release_measured_by_hand() -> None:
    utility = measure(release_of([0, 0, 0, 0, 1, 1, 1, -1]))
    assert (utility.rows, utility.published, utility.suppressed, utility.added, utility.groups) == (8, 7, 1, 0, 2)
    assert utility.discernibility == 4 * 4 + 3 * 3 + 1 * 8
    assert utility.group_size == 3.5
    assert utility.normalized_group_size == 1.75
    age = (4 * 3 / 20 + 3 * 2 / 20 + 1) / 8
    job = (4 * 1 / 3 + 3 * 1 / 3 + 1) / 8
    assert utility.losses == pytest.approx({"age": age, "job": job})
    assert utility.loss == pytest.approx((age + job) / 2)
    assert utility.queries is None


def test_weights() -> None:
    release = release_of([0, 0, 0, 0, 1, 1, 1, -1])
    losses = measure(release).losses
    weighted = measure(release, weights={"age": 3, "job": 1}).loss
    assert weighted == pytest.approx(0.75 * losses["age"] + 0.25 * losses["job"])
    assert measure(release, weights={"age": 0}).loss == pytest.approx(losses["job"])
    assert measure(release, weights={"age": 3}).loss == pytest.approx(weighted)


@pytest.mark.parametrize(
    "weights",
    [
        {"aeg": 1},
        {"age": -1},
        {"age": "2"},
        {"age": True},
        {"age": float("nan")},
        {"age": float("inf")},
        {"age": 0, "job": 0},
    ],
)
def test_weights_that_make_no_sense(weights: dict[str, Any]) -> None:
    message = refused(SchemaError, lambda: measure(release_of([0] * 8), weights=weights))
    assert "aeg" not in weights or "Did you mean 'age'?" in message


def test_small_functions() -> None:
    assert discernibility(np.array([3, 2]), 1, 6) == 9 + 4 + 6
    assert average_group_size(np.array([3, 2])) == 2.5
    assert average_group_size(np.array([3, 2]), 2) == 1.25
    assert average_group_size(np.array([], np.int64)) == 0
    assert information_loss(np.array([0.5, 1.0]), shares_of(["a", "b"])) == 0.75


def test_nothing_and_everything_lost() -> None:
    exact = measure(release_of(list(range(8)), 1))
    assert (exact.loss, exact.discernibility, exact.normalized_group_size) == (0, 8, 1)
    everything = measure(release_of([0] * 8))
    assert (everything.loss, everything.discernibility) == (1, 64)
    none = measure(release_of([-1] * 8))
    assert (none.loss, none.discernibility, none.groups) == (1, 64, 0)


def test_groups_that_look_the_same_are_one() -> None:
    table = Table.read(pl.concat([FRAME[:1]] * 4), SCHEMA)
    assert measure(release_of([0, 0, 1, 1], table=table)).groups == 1
    assert measure(release_of([0, 0, 1, 1], table=table, form=Form.NUMBERED)).groups == 2


# --- row by row ------------------------------------------------------------------------------------------------------


def by_definition(table: Table, groups: np.ndarray) -> tuple[dict[str, float], int, int]:
    """Losses, discernibility and number of groups from the rows' published nodes as sets of leaves."""
    lost = dict.fromkeys(table.schema.quasi, 0.0)
    shown: list[tuple[tuple[int, int], ...]] = []
    for row in range(table.rows):
        if groups[row] < 0:
            lost = {name: value + 1 for name, value in lost.items()}
            continue
        box = []
        for place, (name, taxonomy) in enumerate(zip(table.schema.quasi, table.taxonomies, strict=True)):
            codes = table.codes[place][groups == groups[row]]
            (low,), (high,) = taxonomy.snap(codes.min(keepdims=True), codes.max(keepdims=True))
            line = taxonomy.positions
            if line[-1] > line[0]:
                lost[name] += float(line[high] - line[low]) / float(line[-1] - line[0])
            box.append((int(low), int(high)))
        shown.append(tuple(box))
    sizes = Counter(shown)
    cost = sum(sizes[box] for box in shown) + (table.rows - len(shown)) * table.rows
    return {name: value / table.rows for name, value in lost.items()}, cost, len(sizes)


@given(tables(), st.data())
def test_measures_are_their_definitions(case: Case, data: st.DataObject) -> None:
    table = Table.read(case.frame, case.schema)
    raw = data.draw(st.lists(st.integers(-1, 3), min_size=table.rows, max_size=table.rows))
    known = sorted(set(raw) - {-1})
    groups = np.array([known.index(group) if group >= 0 else -1 for group in raw], np.int32)
    release = release_of(groups.tolist(), 1, table=table)
    utility = measure(release)
    losses, cost, number = by_definition(table, groups)
    assert utility.losses == pytest.approx(losses)
    assert (utility.discernibility, utility.groups) == (cost, number)
    assert 0 <= utility.loss <= 1
    read = compare(table, release.tables, case.schema, k=1, queries=0)
    assert read.losses == pytest.approx(utility.losses)
    assert all(
        getattr(read, name) == getattr(utility, name)
        for name in ("rows", "published", "suppressed", "groups", "discernibility")
    )


# --- anybody's tables ------------------------------------------------------------------------------------------------


def test_somebodys_table_in_somebodys_notation() -> None:
    published = pl.DataFrame(
        {
            "age": ["20-23", "[20, 23]", "{20, 21, 22, 23}", "*", "30", ">=40"],
            "job": ["maker", "cook", "*", "{monk, nun}", "monk", "maker"],
            "disease": ["flu"] * 6,
        }
    )
    utility = compare(FRAME, published, SCHEMA, queries=0)
    assert (utility.published, utility.suppressed, utility.groups) == (6, 2, 6)
    assert utility.losses["age"] == pytest.approx((3 * 3 / 20 + 1 + 0 + 0 + 2) / 8)
    assert utility.losses["job"] == pytest.approx((1 / 3 + 0 + 1 + 1 / 3 + 0 + 1 / 3 + 2) / 8)
    assert utility.normalized_group_size is None
    assert compare(FRAME, published, SCHEMA, k=2, queries=0).normalized_group_size == 0.5


@pytest.mark.parametrize("form", ["frame", "list", "mapping", "release", "path", "pandas", "table"])
def test_published_tables_in_every_form(tmp_path: Path, form: str) -> None:
    release = release_of([0, 0, 0, 0, 1, 1, 1, -1])
    path = tmp_path / "out.csv"
    release.write(str(path))
    given_as = {
        "frame": release.frame,
        "list": [path],
        "mapping": {"release": release.frame},
        "release": release,
        "path": path,
        "pandas": release.frame.to_pandas(),
        "table": release.tables,
    }
    expected = measure(release, queries=20)
    assert compare(FRAME, given_as[form], SCHEMA, k=2, queries=20) == expected


def test_two_tables_lose_nothing_of_the_quasi_identifiers(tmp_path: Path) -> None:
    release = release_of([0, 0, 0, 0, 1, 1, 1, -1], form=Form.TWO_TABLES)
    paths = release.write(str(tmp_path / "out.csv"))
    utility = compare(FRAME, paths, SCHEMA, k=2)
    assert utility.losses == pytest.approx({"age": 1 / 8, "job": 1 / 8})
    assert utility.discernibility == 16 + 9 + 8
    assert utility == measure(release, queries=1000)
    permuted = release_of([0, 0, 0, 0, 1, 1, 1, -1], form=Form.PERMUTED)
    assert compare(FRAME, permuted, SCHEMA, queries=0).groups == 2


@pytest.mark.parametrize("options", [{}, {"form": Form.TWO_TABLES}, {"form": Form.PERMUTED}, {"form": Form.NUMBERED}])
def test_counterfeits_are_nobodys_rows(options: dict[str, Any]) -> None:
    table = Table.read(FRAME, SCHEMA)
    fakes = Counterfeits(np.array([0, 1], np.int32), table.codes[:, [0, 4]], np.array([0, 1], np.int32))
    release = release_of([0, 0, 0, 0, 1, 1, 1, -1], table=table, counterfeits=fakes, **options)
    utility = measure(release)
    assert (utility.published, utility.suppressed, utility.added) == (9, 1, 2)
    assert utility.discernibility == 25 + 16 + 8
    assert utility.losses == pytest.approx(measure(release_of([0, 0, 0, 0, 1, 1, 1, -1], **options)).losses)
    read = compare(table, release, SCHEMA, k=2, queries=0)
    assert read.losses == pytest.approx(utility.losses)
    rounded = dict.fromkeys(("losses", "loss", "margins", "value_loss"), 0)
    assert read.as_dict() | rounded == utility.as_dict() | rounded
    assert read.margins == pytest.approx(utility.margins)
    assert read.loss == pytest.approx(utility.loss)
    assert "2 counterfeits" in utility.sentences[0]


def test_more_rows_than_there_were() -> None:
    utility = compare(FRAME, pl.concat([FRAME, FRAME[:1]]), SCHEMA, queries=0)
    assert (utility.added, utility.suppressed) == (1, 0)
    assert utility.loss == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("published", "kind", "expected"),
    [
        (FRAME.drop("age"), SchemaError, "lacks columns that the schema names: age"),
        (FRAME.rename({"age": "agee"}), SchemaError, "Did you mean 'agee'?"),
        (FRAME.with_columns(job=pl.lit("zebra")), TaxonomyError, "8 published values"),
        ([], DataError, "one published table"),
        ([FRAME, FRAME, FRAME], DataError, "one published table"),
        ({"quasi": FRAME}, DataError, "quasi"),
        ([FRAME, FRAME], SchemaError, "'group'"),
        ({"quasi": FRAME.with_columns(group=1), "sensitive": FRAME.with_columns(group=2)}, DataError, "8 rows"),
        (5, DataError, "dataframe"),
    ],
)
def test_published_tables_that_cannot_be_compared(published: Any, kind: Any, expected: str) -> None:
    assert expected in refused(kind, lambda: compare(FRAME, published, SCHEMA), ["zebra", "cook", "flu"])


def test_a_published_table_without_sensitive_values() -> None:
    release = release_of([0, 0, 0, 0, 1, 1, 1, 1])
    utility = compare(FRAME, release.frame.drop("disease"), SCHEMA, queries=50)
    assert utility.queries is not None
    assert utility.queries.queries == 50


def test_values_that_the_original_lacks() -> None:
    """Changed values: rows with them match no query about the sensitive value."""
    published = FRAME.with_columns(disease=pl.lit("zebra"))
    utility = compare(FRAME, published, SCHEMA, queries=50)
    assert utility.queries is not None
    assert utility.queries.mean > 0.5


# --- words and numbers -----------------------------------------------------------------------------------------------


def test_sentences_and_numbers() -> None:
    utility = measure(release_of([0, 0, 0, 0, 1, 1, 1, -1]), queries=10)
    words = " ".join(utility.sentences)
    assert "7 of 8 rows" in words
    assert "12.5% suppressed" in words
    assert "2 groups with 3.5 rows" in words
    assert "1.75 times" in words
    assert "'job'" in words
    assert "10 random count queries" in words
    numbers = utility.as_dict()
    assert numbers["losses"] == utility.losses
    assert numbers["queries"]["queries"] == 10
    assert set(numbers) == set(Utility.__dataclass_fields__)
    for value in itertools.chain(FRAME["job"], FRAME["disease"]):
        assert value not in words


@pytest.mark.parametrize("options", [{"workload": "nonsense"}, {"queries": -1}])
def test_workloads_that_make_no_sense(options: dict[str, Any]) -> None:
    refused(InputError, lambda: compare(FRAME, FRAME, SCHEMA, **options))


def test_after_anonymizing() -> None:
    release = anonymize(FRAME, SCHEMA, "k=2", method="mondrian")
    utility = measure(release)
    assert utility.normalized_group_size is not None
    assert utility.normalized_group_size >= 1
    assert 0 < utility.loss < 1


def test_the_reference_tells_every_number_workload_and_setting() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference" / "utility.md").read_text(encoding="utf-8")
    for kind in (Utility, QueryError, Workload):
        for name in kind.__dataclass_fields__:
            assert f"`{name}`" in page, name
    for name in WORKLOADS:
        assert f"\n| `{name}` | {WORKLOADS[name].queries:,} |" in page
