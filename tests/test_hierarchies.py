"""From what the schema says and the values that occur to leaf codes: every kind, every type, every trap."""

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.errors import TaxonomyError
from reissue.taxonomy import Coding, prepare
from reissue.taxonomy.codings import automatic_widths, read_hierarchy
from tests.silence import refused


def build(hierarchy: Hierarchy, values: Any, dtype: Any = None) -> Coding:
    column = values if isinstance(values, pl.Series) else pl.Series("x", values, dtype=dtype)
    return Coding.build(hierarchy, prepare(column, hierarchy))


def encode(coding: Coding, values: Any, dtype: Any = None) -> list[int]:
    column = values if isinstance(values, pl.Series) else pl.Series("x", values, dtype=dtype)
    codes: list[int] = coding.encode(prepare(column, coding.hierarchy))[0].tolist()
    return codes


def names(coding: Coding, level: int) -> tuple[str | None, ...]:
    return coding.taxonomy.levels[level].names


def arx(tmp_path: Path, text: str, **options: Any) -> Hierarchy:
    path = tmp_path / "h.csv"
    path.write_bytes(text.encode("utf-8"))
    return Hierarchy("file", file=path, **options)


# --- what a hierarchy may say ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "nonsense"},
        {"kind": "file"},
        {"kind": "tree"},
        {"kind": "tree", "tree": {}},
        {"kind": "flat", "ranges": (5.0,)},
        {"ranges": (5.0,), "prefix": (1,)},
        {"kind": "ranges", "ranges": (5.0, 7.0)},
        {"kind": "ranges", "ranges": (10.0, 5.0)},
        {"kind": "ranges", "ranges": (0.0,)},
        {"kind": "ranges", "ranges": (-5.0,)},
        {"kind": "ranges", "ranges": (math.inf,)},
        {"kind": "ranges", "ranges": (math.nan,)},
        {"kind": "prefix"},
        {"kind": "prefix", "prefix": (1, 3)},
        {"kind": "prefix", "prefix": (3, 3)},
        {"kind": "prefix", "prefix": (0,)},
        {"kind": "dates", "dates": ("year", "month")},
        {"kind": "dates", "dates": ("week",)},
        {"tree": {"a": []}, "unlisted": "ignore"},
        {"unlisted": "root"},
        {"ordered": True},
        {"tree": {"a": []}, "ordered": "yes"},
        {"tree": {"a": []}, "header": True},
        {"kind": "flat", "delimiter": ";"},
        {"file": Path("h.csv"), "delimiter": ";;"},
        {"file": Path("h.csv"), "header": 1},
    ],
)
def test_a_hierarchy_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    refused(TaxonomyError, lambda: Hierarchy(**wrong))


def test_the_kind_follows_from_what_is_given() -> None:
    assert Hierarchy(ranges=(5.0,)).kind == "ranges"
    assert Hierarchy(prefix=(1,)).kind == "prefix"
    assert Hierarchy(file=Path("h.csv")).kind == "file"
    assert Hierarchy(tree={"a": []}).kind == "tree"
    assert Hierarchy().kind == "auto"


# --- ARX files -------------------------------------------------------------------------------------------------------

ROWS = [("flu", "lung", "*"), ("cold", "lung", "*"), ("ulcer", "stomach", "*")]


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("header", ["", "disease{0}kind{0}all\n"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_arx_files_of_every_kind(tmp_path: Path, delimiter: str, header: str, ending: str, mark: str) -> None:
    lines = [delimiter.join(row) for row in ROWS]
    text = mark + header.format(delimiter).replace("\n", ending) + ending.join(lines) + ending
    coding = build(arx(tmp_path, text), ["flu", "ulcer"])
    assert names(coding, 0) == ("flu", "cold", "ulcer")
    assert names(coding, 1) == ("lung", "stomach")
    assert coding.taxonomy.height == 2
    declared = build(arx(tmp_path, text, header=bool(header), delimiter=delimiter), ["flu"])
    assert names(declared, 0) == names(coding, 0)


def test_a_header_that_ends_like_the_root_must_be_declared(tmp_path: Path) -> None:
    assert read_hierarchy(arx(tmp_path, "x;*\na;*\n", header=True).file or Path(), header=True) == [("a", "*")]


def test_quoted_cells_may_hold_delimiters_quotes_and_lines(tmp_path: Path) -> None:
    text = '"a, b, c; d";"said ""x""";*\n"two\nlines";other;*\n  spaced ; other;*\n'
    coding = build(arx(tmp_path, text), [], pl.String)
    assert names(coding, 0) == ("a, b, c; d", "two\nlines", "spaced", None)
    assert names(coding, 1) == ('said "x"', "other", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "a;b;*\nc;*\n",
        "a;b;*\na;b;*\n",
        "a;b;*\nc;;*\n",
        "a;p;q;*\nb;p;r;*\n",
        "a;a;*\nb;a;*\nc;d;*\n",
        'a;"b;*\nc;d;*\n',
        "a;*;*\nb;c;*\n",
        "*;x;*\na;y;*\n",
        "{a, b};x;*\nq;y;*\n",
    ],
    ids=["empty", "blank", "ragged", "twice", "no name", "two parents", "same name", "quote", "root", "star", "set"],
)
def test_a_file_that_is_no_taxonomy_is_refused(tmp_path: Path, text: str) -> None:
    refused(TaxonomyError, lambda: build(arx(tmp_path, text), ["zebra"]), ["zebra"])


def test_a_missing_or_unreadable_file_is_refused(tmp_path: Path) -> None:
    refused(TaxonomyError, lambda: read_hierarchy(tmp_path / "none.csv"))
    refused(TaxonomyError, lambda: read_hierarchy(tmp_path))
    (tmp_path / "latin.csv").write_bytes("caf\xe9;*\n".encode("latin1"))
    refused(TaxonomyError, lambda: read_hierarchy(tmp_path / "latin.csv"), ["caf"])
    (tmp_path / "wide.csv").write_bytes("a;*\n".encode("utf-16"))
    refused(TaxonomyError, lambda: read_hierarchy(tmp_path / "wide.csv"))


def test_leaves_are_put_together_wherever_they_are_listed(tmp_path: Path) -> None:
    coding = build(arx(tmp_path, "a;p;*\nb;q;*\nc;p;*\n"), [], pl.String)
    assert names(coding, 0) == ("a", "c", "b", None)
    assert not coding.taxonomy.ordered


def test_numbers_in_a_file_are_ordered_where_the_tree_allows_it(tmp_path: Path) -> None:
    coding = build(arx(tmp_path, "10;high;*\n2;low;*\n1;low;*\n"), [1, 10])
    assert coding.taxonomy.ordered
    assert names(coding, 0) == ("1", "2", "10")
    assert coding.taxonomy.positions.tolist() == [1, 2, 10]
    mixed = build(arx(tmp_path, "1;odd;*\n2;even;*\n3;odd;*\n"), [1, 2])
    assert not mixed.taxonomy.ordered
    assert names(mixed, 0) == ("1", "3", "2")
    assert encode(mixed, [3, 2]) == [1, 2]
    plain = build(arx(tmp_path, "1;low;*\n2;low;*\n", ordered=False), [1])
    assert not plain.taxonomy.ordered


@pytest.mark.parametrize("leaves", [("01", "02"), ("1", "1.0"), ("nan", "1"), ("1e3", "2"), ("inf", "2")])
def test_codes_are_no_numbers(tmp_path: Path, leaves: tuple[str, str]) -> None:
    coding = build(arx(tmp_path, f"{leaves[0]};a;*\n{leaves[1]};b;*\n"), [], pl.String)
    assert not coding.taxonomy.ordered
    assert np.isfinite(coding.taxonomy.positions).all()


def test_an_order_may_be_declared(tmp_path: Path) -> None:
    coding = build(arx(tmp_path, "none;low;*\nschool;low;*\ncollege;high;*\n", ordered=True), [], pl.String)
    assert coding.taxonomy.ordered
    text = coding.taxonomy.text(np.array([1], np.int32), np.array([2], np.int32))
    assert text == ["[school, college]"]
    for bad in ("a;p;*\nb;q;*\nc;p;*\n", "a, b;p;*\nc;p;*\n", "1;odd;*\n2;even;*\n3;odd;*\n"):
        hierarchy = arx(tmp_path, bad, ordered=True)
        refused(TaxonomyError, lambda hierarchy=hierarchy: build(hierarchy, [], pl.String))  # type: ignore[misc]


def test_a_node_must_not_look_like_another_range(tmp_path: Path) -> None:
    hierarchy = arx(tmp_path, "1;[1, 2];*\n2;[1, 2];*\n3;[1, 2];*\n4;x;*\n")
    refused(TaxonomyError, lambda: build(hierarchy, [1]))
    assert build(arx(tmp_path, "1;[1, 2];*\n2;[1, 2];*\n3;x;*\n4;x;*\n"), [1]).taxonomy.ordered


def test_a_root_by_another_name_is_the_root(tmp_path: Path) -> None:
    for text in ("a;p;Any\nb;q;Any\n", "a;p;Any;*\nb;q;Any;*\n"):
        taxonomy = build(arx(tmp_path, text), ["a"]).taxonomy
        assert taxonomy.height == 2
        assert taxonomy.root == "Any"
        assert taxonomy.text(np.array([0], np.int32), np.array([1], np.int32)) == ["*"]


# --- nested trees ----------------------------------------------------------------------------------------------------


def test_trees_may_be_ragged_mixed_and_empty() -> None:
    tree = {"A": ["a1", {"B": ["b1", "b2"]}], "C": {"D": {}, "E": [1, 2.5, True, dt.date(2024, 1, 2)]}, "F": []}
    coding = build(Hierarchy("tree", tree=tree), [], pl.String)
    assert names(coding, 0) == ("a1", "b1", "b2", "D", "1", "2.5", "true", "2024-01-02", "F", None)
    assert names(coding, 1) == ("a1", "B", "D", "E", "F", None)
    assert names(coding, 2) == ("A", "C", "F", None)


@pytest.mark.parametrize(
    "tree",
    [
        {"A": "a"},
        {"A": 0},
        {"A": ""},
        {"A": [["a"]]},
        {"A": [None]},
        {"A": ["x", "x"]},
        {"A": ["A", "b"], "C": ["c"]},
        {"A": ["x"], "B": ["x"]},
        {"A": {"B": ["x"]}, "C": {"B": ["y"]}},
    ],
)
def test_a_tree_of_the_wrong_things_is_refused(tree: dict[str, Any]) -> None:
    refused(TaxonomyError, lambda: build(Hierarchy("tree", tree=tree), ["zebra"]), ["zebra"])


# --- what lists lack -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.String, pl.Decimal(10, 0), pl.UInt8])
def test_numbers_find_their_leaf_whatever_their_type(tmp_path: Path, dtype: Any) -> None:
    hierarchy = arx(tmp_path, "1;low;*\n2;low;*\n30;high;*\n")
    values = pl.Series("x", [30, 1, None]).cast(dtype)
    assert encode(build(hierarchy, values), values) == [2, 0, 3]
    hung = build(arx(tmp_path, "1;low;*\n2;low;*\n30;high;*\n", unlisted="root"), values)
    assert hung.taxonomy.size == 4
    assert encode(hung, values) == [2, 0, 3]


def test_a_value_that_the_list_lacks_is_told_by_its_row(tmp_path: Path) -> None:
    hierarchy = arx(tmp_path, "a;p;*\nb;q;*\n")
    column = pl.Series("x", ["a", "zebra", None, "b", "yak"])
    coding = build(hierarchy, column)
    codes, lacking = coding.encode(prepare(column, hierarchy))
    assert codes.tolist() == [0, -1, 2, 1, -1]
    assert lacking.tolist() == [1, 4]


def test_what_the_list_lacks_may_hang_under_the_root(tmp_path: Path) -> None:
    hierarchy = arx(tmp_path, "a;p;*\nb;p;*\n", unlisted="root")
    coding = build(hierarchy, ["a", "zebra", "yak"])
    assert set(names(coding, 0)) == {"a", "b", "yak", "zebra"}
    assert set(names(coding, 1)) == {"p", "yak", "zebra"}
    flat = build(Hierarchy("tree", tree={"a": [], "b": []}, unlisted="root"), ["c"])
    assert names(flat, 0) == ("a", "b", "c")


@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1), st.lists(st.sampled_from(["a", "b", "c", "z", None]))
)
def test_codes_of_text(known: list[str | None], column: list[str | None]) -> None:
    coding = build(Hierarchy("flat"), known, pl.String)
    leaves = list(coding.taxonomy.names)
    assert encode(coding, column, pl.String) == [leaves.index(value) if value in leaves else -1 for value in column]


@given(
    st.lists(st.integers(-20, 20) | st.sampled_from([10**6, -(10**12), None]), min_size=1),
    st.lists(st.integers(-25, 25) | st.sampled_from([10**6, 10**15, None])),
    st.sampled_from([pl.Int64, pl.Float64, pl.Int32]),
)
def test_codes_of_numbers(known: list[int | None], column: list[int | None], dtype: Any) -> None:
    if dtype == pl.Int32:
        known, column = ([v for v in values if v is None or abs(v) < 2**31] or [0] for values in (known, column))
    coding = build(Hierarchy("auto"), known, pl.Int64)
    leaves = [None if name is None else int(name) for name in coding.taxonomy.names]
    assert leaves[: len(leaves) - coding.taxonomy.missing] == sorted({value for value in known if value is not None})
    expected = [leaves.index(value) if value in leaves else -1 for value in column]
    assert encode(coding, pl.Series("x", column, dtype=pl.Int64).cast(dtype)) == expected


def test_a_type_that_would_change_the_value_is_another_value() -> None:
    coding = build(Hierarchy("auto"), [1, 2, None])
    assert encode(coding, [1.0, 1.5, 2.0, None]) == [0, -1, 1, 2]
    assert encode(coding, ["1", "zebra", None]) == [0, -1, 2]
    days = build(Hierarchy("auto"), [dt.date(2024, 1, 1)])
    assert encode(days, ["x", "y"]) == [-1, -1]
    assert encode(build(Hierarchy("flat"), [True]), [True, False]) == [0, -1]


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        [dt.date(2024, 1, 31), None],
        [dt.time(1, 2), dt.time(0)],
        [1, 2, None],
        [0.1, 2.5],
        ["a", None],
    ],
)
def test_text_from_a_file_finds_the_values_that_it_was(values: list[Any]) -> None:
    for column in (pl.Series("x", values), pl.Series("x", ["2024-01-31 10:00", "2024-01-31 11:00"]).str.to_datetime()):
        coding = Coding.build(Hierarchy("flat"), column)
        written = pl.DataFrame({"x": column, "y": "q"}).write_csv()
        text = pl.read_csv(written.encode(), infer_schema=False)["x"]
        assert coding.encode(text)[0].tolist() == coding.encode(column)[0].tolist()


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int16, pl.UInt32, pl.Int64])
def test_codes_at_the_ends_of_a_type(dtype: Any) -> None:
    ends = [pl.select(dtype.min()).item(), pl.select(dtype.max()).item()]
    column = pl.Series("x", [*ends, None], dtype=dtype)
    coding = build(Hierarchy("auto"), column)
    assert encode(coding, column) == [0, 1, 2]
    assert names(coding, 0) == (*map(str, ends), None)


def test_decoding_gives_the_values_back() -> None:
    for values in ([3, 1, None], ["b", "a"], [dt.date(2024, 1, 1), None], [1.5], [True, False]):
        coding = build(Hierarchy("auto"), values)
        assert coding.decode(np.array(encode(coding, values), np.int32)).to_list() == values


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_whole_ranges_with_negative_numbers() -> None:
    coding = build(Hierarchy(ranges=(5.0, 10.0)), [-6, -5, -1, 0, 4, 5])
    assert names(coding, 1) == ("[-10, -6]", "[-5, -1]", "[0, 4]", "[5, 9]")
    assert names(coding, 2) == ("[-10, -1]", "[0, 9]")


def test_a_width_of_one_is_the_number_itself() -> None:
    assert names(build(Hierarchy(ranges=(1.0, 2.0)), [3, 4]), 1) == ("3", "4")


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50) | st.integers(2**53, 2**53 + 3), min_size=1),
    st.sampled_from([(2.0,), (5.0, 10.0), (1000.0, 10.0**6)]),
)
def test_large_whole_numbers_are_never_merged(values: list[int], widths: tuple[float, ...]) -> None:
    coding = build(Hierarchy(ranges=widths), values, pl.Int64)
    distinct = sorted(set(values))
    assert names(coding, 0) == tuple(map(str, distinct))
    assert encode(coding, values, pl.Int64) == [distinct.index(value) for value in values]
    for level, width in enumerate(map(int, widths), start=1):
        for code, value in enumerate(distinct):
            low = value // width * width
            text = names(coding, level)[int(coding.taxonomy.levels[level].node[code])]
            assert text == f"[{low}, {low + width - 1}]"
    assert (np.diff(coding.taxonomy.positions) >= 0).all()


@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-30, 30).map(lambda n: n / 10), min_size=1),
    st.sampled_from([(0.1, 0.5), (0.25,), (0.3, 0.9), (1 / 3, 1.0), (7.5, 15.0)]),
    st.sampled_from([pl.Float64, pl.Float32]),
)
def test_every_number_lies_in_the_range_that_is_printed(
    values: list[float], widths: tuple[float, ...], dtype: Any
) -> None:
    column = pl.Series("x", values, dtype=dtype)
    coding = build(Hierarchy(ranges=widths), column)
    for level in range(1, len(widths) + 1):
        for code, leaf in enumerate(names(coding, 0)):
            text = names(coding, level)[int(coding.taxonomy.levels[level].node[code])] or ""
            low, high = text.strip("[)").split(", ")
            assert float(low) <= float(leaf or "nan") < float(high)


def test_ranges_of_tenths_start_where_they_say() -> None:
    coding = build(Hierarchy(ranges=(0.1,)), [0.3, 0.1 + 0.2, 123456789.3])
    assert names(coding, 1) == ("[0.3, 0.4)", "[123456789.3, 123456789.4)")


@pytest.mark.parametrize(
    ("values", "widths"),
    [
        ([1e300, 0.0], (0.1,)),
        ([math.inf, 1.0], ()),
        ([-math.inf, 1.0], (5.0,)),
        (["zebra", "12"], (5.0,)),
        (["12345678901234567890", "12345678901234567891"], (5.0,)),
        ([True], (5.0,)),
        ([dt.date(2024, 1, 1)], (5.0,)),
    ],
)
def test_numbers_that_ranges_cannot_hold_are_refused(values: list[Any], widths: tuple[float, ...]) -> None:
    hierarchy = Hierarchy("ranges", ranges=widths)
    refused(TaxonomyError, lambda: build(hierarchy, values), ["zebra", "12345678901234567890", "e+300"])


def test_numbers_as_text_and_as_decimals() -> None:
    widths = Hierarchy(ranges=(5.0,))
    assert names(build(widths, [" 12 ", "3", "012", None]), 0) == ("3", "12", None)
    assert names(build(widths, ["1.5", "2"]), 0) == ("1.5", "2.0")
    money = [Decimal("12.50"), Decimal("3.05"), None]
    coding = build(Hierarchy(), money)
    assert names(coding, 0) == ("3.05", "12.5", None)
    assert encode(coding, money) == [1, 0, 2]
    assert names(build(Hierarchy(), [Decimal(7), Decimal(9007199254740993)]), 0) == ("7", "9007199254740993")
    long = [Decimal("12345678901234567.89"), Decimal("12345678901234567.88")]
    refused(TaxonomyError, lambda: build(Hierarchy(), long), ["1234567890"])
    assert build(Hierarchy("flat"), long).taxonomy.size == 2


def test_whole_numbers_beyond_64_bits() -> None:
    huge = pl.Series("x", [2**70, 2**70 + 1, 5], dtype=pl.Int128)
    refused(TaxonomyError, lambda: build(Hierarchy(ranges=(5.0,)), huge), [str(2**70)])
    coding = build(Hierarchy(), huge)
    assert not coding.taxonomy.ordered
    assert sorted(encode(coding, huge)) == [0, 1, 2]
    small = pl.Series("x", [3, 4], dtype=pl.UInt64)
    assert build(Hierarchy(), small).taxonomy.ordered


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**62), 2**62), min_size=1))
def test_automatic_widths_always_work(values: list[float]) -> None:
    kind = pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64
    column = pl.Series("x", [value if kind == pl.Int64 else float(value) for value in values], dtype=kind)
    widths = automatic_widths(column.unique().sort())
    assert len(widths) <= 20
    assert build(Hierarchy(), column).taxonomy.ordered


def test_not_a_number_is_missing() -> None:
    column = pl.Series("x", [1.5, math.nan, None])
    coding = build(Hierarchy(), column)
    assert names(coding, 0) == ("1.5", None)
    assert encode(coding, column) == [0, 1, 1]


@pytest.mark.parametrize("kind", ["auto", "flat", "ranges", "prefix", "dates", "file", "tree"])
@pytest.mark.parametrize("dtype", [pl.Null, pl.String, pl.Float64, pl.Int32, pl.Date, pl.Boolean])
def test_a_column_of_all_missing(kind: str, dtype: Any, tmp_path: Path) -> None:
    arx(tmp_path, "a;*\nb;*\n")
    given: dict[str, dict[str, Any]] = {
        "ranges": {"ranges": (5.0,)},
        "prefix": {"prefix": (1,)},
        "file": {"file": tmp_path / "h.csv"},
        "tree": {"tree": {"A": ["a", "b"]}},
    }
    coding = build(Hierarchy(kind, **given.get(kind, {})), [None, None], dtype)
    assert coding.taxonomy.missing
    assert set(encode(coding, [None], dtype)) == {coding.taxonomy.size - 1}


# --- codes, dates, everything else -----------------------------------------------------------------------------------


def test_prefixes_of_codes_with_leading_zeros_and_different_lengths() -> None:
    coding = build(Hierarchy(prefix=(3, 1)), ["01234", "01299", "013", "0", "9", None])
    assert names(coding, 0) == ("0", "01234", "01299", "013", "9", None)
    assert names(coding, 1) == ("0", "012**", "013", "9", None)
    assert names(coding, 2) == ("0****", "9", None)


def test_prefixes_of_numbers() -> None:
    assert names(build(Hierarchy(prefix=(2,)), [53012, 53099]), 1) == ("53***",)
    assert names(build(Hierarchy(prefix=(2,)), [53012.0, math.nan]), 1) == ("53***", None)


@pytest.mark.parametrize("value", ["*", "***", "53*", "{a, b}"])
def test_values_that_read_like_generalized_ones_are_refused(value: str) -> None:
    kinds = [Hierarchy(prefix=(1,))] + ([] if value == "53*" else [Hierarchy("flat"), Hierarchy()])
    for hierarchy in kinds:
        message = refused(TaxonomyError, lambda hierarchy=hierarchy: build(hierarchy, [value, "zebra"]), ["zebra"])  # type: ignore[misc]
        assert "'x'" in message
    column = pl.Series("x", [value, "zebra"])
    assert Coding.build(Hierarchy("flat"), column, published=False).taxonomy.size == 2


@pytest.mark.parametrize(
    "value", ["[20, 34]", "20-34", "a, b", " a", "a ", "{", "}", "{a", "", " ", "a*", "x\ny", "N/A"]
)
def test_other_odd_values_are_values(value: str) -> None:
    coding = build(Hierarchy("flat"), [value, "zebra"])
    assert encode(coding, [value]) == [coding.taxonomy.names.index(value)]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", ["2024-01-31", "2024-02-01", None]),
        pl.Series("x", [" 2024-01-31", "2024-02-01 ", None]),
        pl.Series("x", [dt.date(2024, 1, 31), dt.date(2024, 2, 1), None]),
        pl.Series("x", ["2024-01-31 23:00", "2024-02-01 00:00", None]).str.to_datetime(),
        pl.Series("x", ["2024-01-31 22:30", "2024-01-31 23:30", None])
        .str.to_datetime(time_zone="UTC")
        .dt.convert_time_zone("Europe/Paris"),
    ],
    ids=["text", "spaces", "dates", "times", "zones"],
)
def test_dates(column: pl.Series) -> None:
    coding = build(Hierarchy("dates"), column)
    assert names(coding, 0) == ("2024-01-31", "2024-02-01", None)
    assert [names(coding, level) for level in (1, 2, 3)] == [
        ("2024-01", "2024-02", None),
        ("2024-Q1", None),
        ("2024", None),
    ]
    assert encode(coding, column) == [0, 1, 2]
    years = build(Hierarchy("dates", dates=("year",)), column)
    assert years.taxonomy.height == 2


@pytest.mark.parametrize("value", ["31.01.2024", "2024-13-01", "2024-02-30", "zebra", "", "2024-01-31T10:00"])
def test_text_that_is_no_date_is_refused(value: str) -> None:
    message = refused(TaxonomyError, lambda: build(Hierarchy("dates"), ["2024-01-31", value]), ["2024-01-31"])
    assert "first rows: 2" in message
    refused(TaxonomyError, lambda: build(Hierarchy("dates"), [1, 2]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False], ("false", "true")),
        ([dt.time(1, 2), dt.time(0)], ("00:00:00", "01:02:00")),
        (pl.Series("x", ["b", "a"], dtype=pl.Categorical), ("a", "b")),
        (pl.Series("x", ["b", "a"], dtype=pl.Enum(["z", "b", "a"])), ("a", "b")),
    ],
)
def test_other_types_are_flat(values: Any, expected: tuple[str, ...]) -> None:
    coding = build(Hierarchy(), values)
    assert names(coding, 0) == expected
    assert sorted(encode(coding, values)) == [0, 1]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [["zebra"]]),
        pl.Series("x", [{"a": "zebra"}]),
        pl.Series("x", [b"zebra"]),
        pl.Series("x", [dt.timedelta(1)]),
        pl.Series("x", [object()], dtype=pl.Object),
    ],
    ids=["list", "struct", "bytes", "duration", "object"],
)
def test_types_that_cannot_be_generalized_are_refused(column: pl.Series) -> None:
    message = refused(TaxonomyError, lambda: build(Hierarchy(), column), ["zebra"])
    assert "'x'" in message


def test_all_values_alike() -> None:
    for values in (["a"] * 3, [5] * 3, [0.5] * 3, [dt.date(2024, 1, 1)] * 3):
        coding = build(Hierarchy(), values)
        assert encode(coding, values) == [0, 0, 0]
        assert coding.taxonomy.size == 1
