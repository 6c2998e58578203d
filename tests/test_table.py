"""The door for data: any frame or file in, codes inside, and nothing about anybody in a message."""

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from reissue import Hierarchy, Table
from reissue.data.table import to_polars, unlisted_values
from reissue.errors import DataError, SchemaError, TaxonomyError
from reissue.schema import Role, Schema
from tests.silence import refused
from tests.strategies import Case, tables

SCHEMA = Schema.of_columns(
    quasi=["age", "zip"],
    sensitive=["disease"],
    identifier="id",
    provider="clinic",
    keep=["note"],
    taxonomies={"zip": Hierarchy(prefix=(2,)), "age": Hierarchy(ranges=(5.0,))},
)
PEOPLE = pl.DataFrame(
    {
        "note": ["n-one", "n-two", None],
        "zip": ["01234", "99999", None],
        "unused": [[1], [2], [3]],
        "disease": ["influenza", None, "asthma"],
        "age": [31, None, 35],
        "clinic": ["north", "south", "north"],
        "id": ["ida", "ben", "cat"],
    }
)
SECRETS = ["n-one", "n-two", "01234", "99999", "influenza", "asthma", "north", "south", "ida", "ben", "cat"]


def frames() -> dict[str, Any]:
    flat = PEOPLE.drop("unused")
    chunked = pl.concat([flat[:1], flat[1:]], rechunk=False)
    return {
        "polars": PEOPLE,
        "chunks": chunked,
        "lazy": PEOPLE.lazy(),
        "pandas": flat.to_pandas(),
        "index": flat.to_pandas().set_index(pd.Index(["p", "p", "q"], name="who")),
        "nullable": flat.to_pandas().convert_dtypes(),
        "categories": flat.to_pandas().astype({"zip": "category", "disease": "category"}),
        "arrow": flat.to_arrow(),
        "arrow chunks": pa.concat_tables([flat[:1].to_arrow(), flat[1:].to_arrow()]),
        "record batch": flat.to_arrow().combine_chunks().to_batches()[0],
    }


@pytest.mark.parametrize("kind", frames())
def test_any_frame_gives_the_same_codes(kind: str) -> None:
    table = Table.read(frames()[kind], SCHEMA)
    assert table.rows == 3
    assert table.codes.dtype == np.int32
    assert table.codes.tolist() == [[0, 2, 1], [0, 1, 2]]
    assert [coding.taxonomy.names for coding in table.codings] == [("31", "35", None), ("01234", "99999", None)]
    assert table.sensitive.tolist() == [1, 2, 0]
    assert table.domain.totals.tolist() == [1, 1, 1]
    assert table.ids is not None
    assert table.ids.to_list() == ["ida", "ben", "cat"]
    assert table.providers is not None
    assert table.providers.to_list() == ["north", "south", "north"]


@pytest.mark.parametrize("kind", frames())
def test_the_same_kind_of_frame_comes_back(kind: str) -> None:
    data = frames()[kind]
    table = Table.read(data, SCHEMA)
    back = table.back(table.frame)
    assert isinstance(back, pa.Table if kind == "record batch" else type(data))
    assert list(to_polars(back)[0].columns) == ["note", "zip", "disease", "age", "clinic", "id"]
    if isinstance(data, pd.DataFrame):
        assert back.dtypes.to_dict() == data.dtypes[list(back.columns)].to_dict()
        assert list(back.index) == [0, 1, 2], "an index may name people"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_files_give_the_same_codes(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in{ending}"
    flat = PEOPLE.drop("unused")
    if ending == ".parquet":
        flat.write_parquet(path)
    else:
        flat.write_csv(path, compression="gzip" if ending == ".csv.gz" else "uncompressed")
    for place in (path, str(path)):
        table = Table.read(place, SCHEMA)
        assert table.codes.tolist() == [[0, 2, 1], [0, 1, 2]]
        assert isinstance(table.back(table.frame), pl.DataFrame)


def test_a_zip_code_keeps_its_zero_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("zip,code,n\n01234,1,5\n09999,2,6\n")
    schema = Schema.of_columns(quasi=["zip", "code", "n"], taxonomies={"code": Hierarchy(prefix=(1,))})
    table = Table.read(tmp_path / "in.csv", schema)
    assert [coding.taxonomy.names for coding in table.codings] == [("01234", "09999"), ("1", "2"), ("5", "6")]


@given(tables())
def test_codes_decode_to_the_table(case: Case) -> None:
    table = Table.read(case.frame, case.schema)
    for name, coding, codes in zip(case.schema.quasi, table.codings, table.codes, strict=True):
        assert coding.decode(codes).to_list() == case.frame[name].to_list()
    if case.schema.sensitive:
        assert table.decode(table.sensitive).equals(case.frame.select(case.schema.sensitive))
        counted = np.bincount(table.sensitive, minlength=table.domain.size)
        assert counted.tolist() == table.domain.totals.tolist()


def test_several_sensitive_columns_are_taken_together() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["a", "b", "a", "a"], "t": [1, 1, 2, 1]})
    table = Table.read(frame, Schema.of_columns(quasi=["q"], sensitive=["s", "t"]))
    assert table.sensitive.tolist() == [0, 2, 1, 0]
    assert table.decode(np.array([2, 1], np.int32)).rows() == [("b", 1), ("a", 2)]


def test_an_earlier_tables_codings_keep_its_codes() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"])
    first = Table.read(pl.DataFrame({"q": [1, 5, 9], "s": ["a", "b", "c"]}), schema)
    again = Table.read(
        pl.DataFrame({"q": [9, 5], "s": ["c", "a"]}), schema, codings=first.codings, secrets=first.secrets
    )
    assert again.codes.tolist() == [[2, 1]]
    assert again.sensitive.tolist() == [2, 0]
    other = pl.DataFrame({"q": [9, 98431], "s": ["c", "a"]})
    message = refused(TaxonomyError, lambda: Table.read(other, schema, codings=first.codings), ["98431"])
    assert "unlisted" not in message, "there is no such option for ranges"


# --- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1.5, math.nan, None, 1.5]),
        pl.Series([Decimal("1.5"), None, None, Decimal("1.5")]),
        pl.Series(["a", None, None, "a"], dtype=pl.Enum(["b", "a"])),
        pl.Series([True, None, None, True]),
        pl.Series([dt.time(1), None, None, dt.time(1)]),
        pl.Series([dt.date(2024, 1, 1), None, None, dt.date(2024, 1, 1)]),
    ],
)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_missing_is_one_value_of_its_own(column: pl.Series, role: str) -> None:
    frame = pl.DataFrame({"x": column, "q": [1, 2, 3, 4]})
    table = Table.read(
        frame, Schema.of_columns(quasi=["q"]).with_roles({"q": "keep" if role == "quasi" else "quasi", "x": role})
    )
    codes = table.codes[0] if role == "quasi" else table.sensitive
    assert codes.tolist() == [0, 1, 1, 0]
    assert table.frame["x"].null_count() == 2, "not a number is missing in what goes out, too"


def test_sensitive_times_are_told_apart_to_the_second() -> None:
    times = pl.Series(["2024-01-31 10:00", "2024-01-31 11:00"]).str.to_datetime()
    schema = Schema.of_columns(quasi=["q"], sensitive=["t"])
    table = Table.read(pl.DataFrame({"q": [1, 2], "t": times}), schema)
    assert table.sensitive.tolist() == [0, 1]
    assert table.decode(table.sensitive)["t"].to_list() == times.to_list()
    days = Table.read(pl.DataFrame({"t": times}), Schema.of_columns(quasi=["t"]))
    assert days.codes.tolist() == [[0, 0]]


@pytest.mark.parametrize("value", ["*", "{a, b}", "***"])
def test_a_sensitive_value_may_look_like_anything(value: str) -> None:
    frame = pl.DataFrame({"q": [1, 2], "s": [value, "b"]})
    assert Table.read(frame, Schema.of_columns(quasi=["q"], sensitive=["s"])).domain.size == 2
    refused(TaxonomyError, lambda: Table.read(frame, Schema.of_columns(quasi=["s"])))


@pytest.mark.parametrize(
    "column",
    [[["zebra"]] * 2, [{"a": "zebra"}] * 2, [b"zebra"] * 2, [dt.timedelta(98431)] * 2],
    ids=["list", "struct", "bytes", "duration"],
)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "drop"])
def test_types_that_have_no_values_to_count(column: list[Any], role: str) -> None:
    frame = pl.DataFrame({"q": [1, 2], "x": column})
    schema = Schema.of_columns(quasi=["q"]).with_roles({"x": role})
    if role == "drop":
        assert Table.read(frame, schema).rows == 2
    else:
        assert "'x'" in refused(DataError, lambda: Table.read(frame, schema), ["zebra", "98431"])


@pytest.mark.parametrize(
    "column",
    [[2**140, 1], [1j, 2j], [object(), object()]],
    ids=["huge", "complex", "objects"],
)
def test_pandas_columns_that_have_no_type(column: list[Any]) -> None:
    frame = pd.DataFrame({"q": [1, 2], "x": pd.Series(column, dtype=object)})
    schema = Schema.of_columns(quasi=["q"], sensitive=["x"])
    assert "'x'" in refused(DataError, lambda: Table.read(frame, schema), ["zebra", "98431", 2**140])
    assert Table.read(frame, Schema.of_columns(quasi=["q"])).rows == 2, "a column that is not named does not matter"


# --- tables that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [None, 5, [1, 2], {"a": [1]}, np.zeros((2, 2)), pl.Series([1]), pd.Series([1]), b"x"])
def test_other_things_are_no_table(data: Any) -> None:
    refused(DataError, lambda: Table.read(data, Schema.of_columns(quasi=["a"])))


def test_no_rows_one_row_all_rows_alike() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"])
    empty = pl.DataFrame({"q": [], "s": []}, schema={"q": pl.Int64, "s": pl.String})
    for data in (empty, empty.lazy(), empty.to_pandas(), empty.to_arrow()):
        assert "no rows" in refused(DataError, lambda data=data: Table.read(data, schema))  # type: ignore[misc]
    assert Table.read(pl.DataFrame({"q": [5], "s": ["a"]}), schema).codes.tolist() == [[0]]
    assert Table.read(pl.DataFrame({"q": [5] * 3, "s": ["a"] * 3}), schema).codes.tolist() == [[0, 0, 0]]


def test_a_header_alone(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("q,s\n")
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"])
    assert "no rows" in refused(DataError, lambda: Table.read(tmp_path / "in.csv", schema))


def test_columns_of_one_name() -> None:
    twice = pd.DataFrame([[98431, 2]], columns=["a", "a"])
    for data in (twice, pa.table([pa.array([98431]), pa.array([2])], names=["a", "a"])):
        refused(DataError, lambda data=data: Table.read(data, Schema.of_columns(quasi=["a"])), ["98431"])  # type: ignore[misc]
    mixed = pd.DataFrame([[98431, 2]], columns=[1, "1"])
    refused(DataError, lambda: to_polars(mixed), ["98431"])


def test_columns_that_the_data_lacks(tmp_path: Path) -> None:
    schema = Schema.of_columns(quasi=["age", "zip"])
    frame = pl.DataFrame({"Age": [31], "zip": ["01234"]})
    message = refused(SchemaError, lambda: Table.read(frame, schema), ["01234"])
    assert "Did you mean 'Age'?" in message
    for text, expected in (("age^zip\n31^01234\n", "'^'"), ("zebra,01234\nyak,99999\n", "2 columns")):
        (tmp_path / "in.csv").write_text(text)
        message = refused(SchemaError, lambda: Table.read(tmp_path / "in.csv", schema), ["zebra", "01234", "yak"])
        assert expected in message
    assert Table.read(frame, schema.with_roles({"age": "drop"})).rows == 1


def test_a_schema_without_quasi_identifiers() -> None:
    refused(SchemaError, lambda: Table.read(PEOPLE, Schema.of_columns(quasi=[], sensitive=["disease"])), SECRETS)


def test_a_lazy_frame_that_fails() -> None:
    lazy = pl.LazyFrame({"a": ["zebra"]}).with_columns(pl.col("a").cast(pl.Int64))
    refused(DataError, lambda: Table.read(lazy, Schema.of_columns(quasi=["a"])), ["zebra"])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [(["ida", "ben", "ida", "cat", "ben"], "1, 2, 3, 5"), (["ida", None, "ben", None, "cat"], "missing in 2 rows")],
)
def test_identifiers_must_tell_people_apart(ids: list[str | None], expected: str) -> None:
    schema = Schema.of_columns(quasi=["q"], identifier="who")
    message = refused(
        DataError, lambda: Table.read(pl.DataFrame({"q": range(5), "who": ids}), schema), ["ida", "ben", "cat"]
    )
    assert expected in message
    assert "'who'" in message


# --- values that a taxonomy lacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_values_that_the_taxonomy_lacks(role: str) -> None:
    tree = {"A": ["aaa", "bbb"]}
    frame = pl.DataFrame({"q": range(8), "x": ["aaa", "zebra", "bbb", "yak", "zebra", "gnu", "zebra", "zebra"]})
    quasi, sensitive = (["q", "x"], []) if role == "quasi" else (["q"], ["x"])
    schema = Schema.of_columns(quasi=quasi, sensitive=sensitive, taxonomies={"x": Hierarchy(tree=tree)})
    message = refused(TaxonomyError, lambda: Table.read(frame, schema), ["zebra", "yak", "gnu", "aaa", "bbb"])
    assert "Column 'x' has 6 records" in message
    assert "first rows: 2, 4, 5, 6, 7)" in message
    assert 'unlisted = "root"' in message
    assert unlisted_values(frame, schema) == {"x": ["zebra", "yak", "gnu"]}
    root = Hierarchy(tree=tree, unlisted="root")
    hung = Schema.of_columns(quasi=quasi, sensitive=sensitive, taxonomies={"x": root})
    assert Table.read(frame, hung).rows == 8
    assert unlisted_values(frame, hung) == {}


def test_unlisted_values_of_what_is_not_there() -> None:
    schema = Schema.of_columns(quasi=["x"], taxonomies={"x": Hierarchy(tree={"a": []})})
    assert unlisted_values(pl.DataFrame({"y": [1]}), schema) == {}


# --- scale -----------------------------------------------------------------------------------------------------------


def test_wide_tables_simply_work() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"q{place}": rng.integers(0, 3, 5) for place in range(100)})
    assert Table.read(frame, Schema.of_columns(quasi=frame.columns)).codes.shape == (100, 5)


def test_a_folder_split_by_columns_is_refused_with_the_reason(tmp_path: Path) -> None:
    pl.DataFrame({"name": ["a", "b"], "age": [1, 2]}).write_csv(tmp_path / "north.csv")
    pl.DataFrame({"name": ["a", "b"], "ill": ["x", "y"]}).write_csv(tmp_path / "south.csv")
    roles = {"name": Role.IDENTIFIER, "age": Role.QUASI, "ill": Role.SENSITIVE, "from": Role.PROVIDER}
    with pytest.raises(DataError, match="different columns of the same people, join the files by the identifier first"):
        Table.read(tmp_path, Schema(roles))
