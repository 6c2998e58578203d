"""Trees as groups of values, and what a form says about columns."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.errors import SchemaError, TaxonomyError
from reissue.proposing import ColumnChoice, picture_of, schema_of
from reissue.schema import Role, Schema
from reissue.taxonomy import arx_lines, groups_in_file, groups_of, moved, tree_of, tree_paths
from reissue.taxonomy.codings import read_hierarchy

NAMES = st.lists(st.sampled_from(["North", "South", "East"]), max_size=2).map(tuple)


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e"]), NAMES, min_size=1))
def test_a_tree_says_each_values_groups_again(groups: dict[str, tuple[str, ...]]) -> None:
    assert groups_of(tree_of(groups)) == groups


def test_a_group_with_the_name_of_a_value_beside_it_is_refused() -> None:
    for groups in ({"a": ("b",), "b": ()}, {"b": (), "a": ("b",)}):
        with pytest.raises(TaxonomyError, match="same name"):
            tree_of(groups)


def test_arx_reads_what_is_written(tmp_path: Path) -> None:
    tree = {"Europe": {"South": ["Spain", "Italy"], "North": ["Norway"]}, "Asia": ["Japan; old"]}
    path = tmp_path / "country.csv"
    path.write_text(arx_lines(tree))
    read = read_hierarchy(path, ";")
    assert [row[0] for row in read] == ["Spain", "Italy", "Norway", "Japan; old"]
    assert read[0][1:] == ("South", "Europe", "*")
    assert {row[-1] for row in read} == {"*"}
    assert len({len(row) for row in read}) == 1


def test_a_form_becomes_the_schema_that_the_file_says() -> None:
    made = schema_of(
        [
            ColumnChoice("who", Role.IDENTIFIER),
            ColumnChoice("age", Role.QUASI, "ranges", ranges="5, 10;20"),
            ColumnChoice("zip", Role.QUASI, "prefix", prefix="3 1"),
            ColumnChoice("born", Role.QUASI, "dates", dates=("month", "year")),
            ColumnChoice("land", Role.QUASI, "tree", groups={"Spain": "Europe / South", "Japan": "Asia", "Mars": ""}),
            ColumnChoice("note", Role.DROP),
            ColumnChoice("ill", Role.SENSITIVE),
        ]
    )
    text = """
    [columns]
    who = "identifier"
    age = "quasi"
    zip = "quasi"
    born = "quasi"
    land = "quasi"
    ill = "sensitive"
    [taxonomy]
    age.ranges = [5, 10, 20]
    zip.prefix = [3, 1]
    born.dates = ["month", "year"]
    land.tree = { Europe = { South = ["Spain"] }, Asia = ["Japan"], Mars = [] }
    """
    assert made == Schema.loads(text)
    assert Schema.loads(made.dumps()) == made
    assert list(tree_paths(made.hierarchy("land").tree)) == [("Spain", "South", "Europe"), ("Japan", "Asia"), ("Mars",)]


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (ColumnChoice("age", Role.QUASI, "ranges", ranges="five"), "between commas"),
        (ColumnChoice("age", Role.QUASI, "ranges"), "at least one"),
        (ColumnChoice("age", Role.QUASI, "ranges", ranges="5, 7"), "multiple"),
        (ColumnChoice("age", Role.QUASI, "prefix", prefix="1, 3"), "fewer"),
        (ColumnChoice("age", Role.DROP), "others may know"),
    ],
)
def test_what_a_form_cannot_mean_is_said(choice: ColumnChoice, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema_of([choice])


def test_other_kinds_are_as_the_schema_names_them() -> None:
    assert schema_of([ColumnChoice("sex", Role.QUASI, "flat")]).hierarchy("sex") == Hierarchy("flat")


def test_a_column_at_a_glance() -> None:
    texts = picture_of(pl.Series("job", ["a", "b", "a", None, "c"]))
    assert (texts.distinct, texts.missing, texts.values) == (3, 1, ("a", "b", "c"))
    assert texts.bars[0] == ("a", 2)
    numbers = picture_of(pl.Series("age", [*range(100), *range(100), None]))
    assert sum(count for _, count in numbers.bars) == 200
    assert len(numbers.bars) == 10
    assert numbers.values == ()
    many = picture_of(pl.Series("id", [f"x{number:03}" for number in range(100)] * 2))
    assert many.bars[-1] == ("all others", 180)
    assert picture_of(pl.Series("who", range(100))).bars == ()
    assert picture_of(pl.Series("empty", [None, None], pl.String)).bars == ()


def test_an_arx_file_becomes_groups(tmp_path: Path) -> None:
    tree = {"Europe": {"South": ["Spain"], "North": ["Norway"]}, "Asia": ["Japan"], "Mars": []}
    (tmp_path / "x.csv").write_text(arx_lines(tree))
    assert tree_of(groups_in_file(tmp_path / "x.csv")) == tree
    read = ColumnChoice("x", Role.QUASI, "file").with_file(tmp_path / "x.csv")
    assert (read.kind, read.groups["Spain"], read.tree) == ("tree", "Europe / South", tree)
    assert moved(read.groups, ["Japan", "Mars"], " Far / Out ")["Mars"] == "Far / Out"


def test_dates_are_shown_by_years() -> None:
    days = pl.date_range(pl.date(1950, 1, 1), pl.date(1999, 12, 31), "30d", eager=True).alias("born")
    bars = picture_of(days).bars
    assert [label for label, _ in bars][:2] == ["1950 to 1959", "1960 to 1969"]
    assert sum(count for _, count in bars) == len(days)
