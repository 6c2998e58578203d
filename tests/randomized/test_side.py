"""The public side table: a file that anybody reads, and classes that tell nothing beyond the published boxes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import DataError, InputError
from reissue.files.tables import read_file, write_file
from reissue.randomized import CLASS, SideTable, grow_classes
from tests.randomized.worlds import shares

VALUES = pl.DataFrame({"disease": ["=1+1", "flu, A", None], "stage": [1, 2, 1]})


def side() -> SideTable:
    rng = np.random.default_rng(1)
    return SideTable(shares(rng, 2, 3, 3), shares(rng, 2, 3), VALUES, ("age up to 40", "age above 40"))


@pytest.mark.parametrize("name", ["side.csv", "side.parquet", "side.tsv"])
def test_a_file_says_the_same_again(name: str, tmp_path: Path) -> None:
    one = side()
    write_file(one.frame(), tmp_path / name)
    again = SideTable.read(tmp_path / name)
    np.testing.assert_allclose(again.chance, one.chance, atol=1e-12)
    np.testing.assert_allclose(again.unbiased, one.unbiased, atol=1e-9)
    assert again.values.equals(one.values)
    assert again.definitions == one.definitions
    if name == "side.csv":
        assert "\n1,=" not in (tmp_path / name).read_text()


def test_rows_join_by_class_and_published_value(tmp_path: Path) -> None:
    one, rng = side(), np.random.default_rng(2)
    classes, published = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    release = VALUES[published].with_columns(pl.Series(CLASS, classes + 1))
    write_file(one.frame(), tmp_path / "side.csv")
    joined = release.join(read_file(tmp_path / "side.csv"), on=[CLASS, "disease", "stage"])
    found = joined.group_by("true_disease", "true_stage").agg(pl.col("unbiased").sum()).sort("true_disease")
    expected = one.weights(classes, published).sum(0)
    np.testing.assert_allclose(found["unbiased"].sort(), np.sort(expected), atol=1e-9)


def test_weights_are_those_of_the_probabilities() -> None:
    one = side()
    for number in range(2):
        np.testing.assert_allclose(one.chance[number] @ one.unbiased[number], np.eye(3), atol=1e-9)
        joint = one.share[number][:, np.newaxis] * one.chance[number]
        np.testing.assert_allclose(one.expected[number], (joint / joint.sum(0)).T, atol=1e-12)


def test_what_is_no_side_table_is_refused() -> None:
    frame = side().frame()
    for wrong in (frame.drop("chance"), frame[1:], frame.with_columns(pl.lit(2).alias("version")), frame[:0]):
        with pytest.raises(DataError, match="side table"):
            SideTable.read(wrong)
    with pytest.raises(InputError, match="share"):
        SideTable(np.ones((1, 1, 1)), np.ones((1, 1)), pl.DataFrame({"share": ["a"]}))


@given(st.integers(0, 10_000))
def test_the_class_of_a_box_is_that_of_its_middle_and_cells_say_which(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 20, (2, 300))
    grown = grow_classes(codes, 40)
    ends = np.sort(rng.integers(0, 20, (2, 2, 30)), axis=0)
    found, cells = grown.of_boxes(ends[0], ends[1]), grown.cells()
    np.testing.assert_array_equal(grown.of_boxes(codes, codes), grown.of(codes))
    for box, number in enumerate(found.tolist()):
        for attribute, (first, last) in cells[number].items():
            middle = (ends[0, attribute, box] + ends[1, attribute, box]) // 2
            assert first is None or first <= middle
            assert last is None or middle <= last
