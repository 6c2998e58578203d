"""Published texts read back: ours and anybody's, with the taxonomy and without."""

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.errors import TaxonomyError
from reissue.files.tables import read_file, write_file
from reissue.taxonomy import Coding, coding_of, parse_column, prepare
from reissue.taxonomy.notation import span_of
from tests.effort import examples
from tests.silence import refused
from tests.strategies import leaves_of, trees

ODD = ["[20, 34]", "20-34", "a, b", " a", "a", "a ", "{", "}", "", "=1+1", "-x", "'q", "N/A", "2024-03", "true", "a;b"]


def build(hierarchy: Hierarchy, values: Any, dtype: Any = None) -> Coding:
    return Coding.build(hierarchy, prepare(pl.Series("x", values, dtype=dtype), hierarchy))


@st.composite
def codings(draw: st.DrawFn) -> Coding:
    """A coding of any kind, with or without missing values."""
    kind = draw(st.sampled_from(["tree", "whole", "large", "floats", "singles", "prefix", "flat", "dates", "ordinal"]))
    dtype: Any = pl.String
    if kind == "tree":
        hierarchy = Hierarchy(tree=draw(trees(depth=3)))
        values: Any = st.sampled_from(leaves_of(hierarchy.tree))
    elif kind in {"whole", "large"}:
        hierarchy = Hierarchy("ranges", ranges=draw(st.sampled_from([(), (2.0,), (5.0, 10.0)])))
        start = 0 if kind == "whole" else draw(st.sampled_from([2**53, -(2**60), 2**63 - 20]))
        values, dtype = st.integers(start - 10, start + 15), pl.Int64
    elif kind in {"floats", "singles"}:
        hierarchy = Hierarchy("ranges", ranges=draw(st.sampled_from([(), (0.1,), (0.5, 1.0)])))
        values = st.integers(-20, 20).map(lambda n: n / 10) | st.floats(-1e3, 1e3, width=32)
        dtype = pl.Float64 if kind == "floats" else pl.Float32
    elif kind == "prefix":
        hierarchy = Hierarchy(prefix=draw(st.sampled_from([(1,), (2, 1), (3, 2)])))
        values = st.text("01", max_size=4)
    elif kind == "flat":
        hierarchy = Hierarchy("flat")
        values = st.sampled_from(ODD)
    elif kind == "dates":
        hierarchy = Hierarchy("dates", dates=draw(st.sampled_from([(), ("year",), ("month", "quarter", "year")])))
        values, dtype = st.dates(dt.date(1999, 11, 1), dt.date(2001, 3, 1)), pl.Date
    else:
        leaves = draw(st.lists(st.sampled_from("pqrstu"), min_size=2, max_size=6, unique=True))
        hierarchy = Hierarchy(tree={"low": leaves[:1], "high": leaves[1:]}, ordered=True)
        values = st.sampled_from(leaves)
    column = draw(st.lists(values, min_size=1, max_size=6)) + [None] * draw(st.integers(0, 1))
    return build(hierarchy, column, dtype)


def published(coding: Coding) -> tuple[list[str | None], list[tuple[int, int]]]:
    """All that can be published: texts and intervals, each once."""
    pairs = list(itertools.combinations_with_replacement(range(coding.taxonomy.size), 2))
    lo, hi = (np.array([pair[end] for pair in pairs], np.int32) for end in (0, 1))
    low, high = coding.taxonomy.snap(lo, hi)
    intervals = sorted(set(zip(low.tolist(), high.tolist(), strict=True)))
    ends = [np.array([interval[end] for interval in intervals], np.int32) for end in (0, 1)]
    return coding.taxonomy.text(*ends), intervals


def read(texts: list[str | None], coding: Coding) -> list[tuple[int, int]]:
    found = parse_column(pl.Series("x", texts, dtype=pl.String), coding)
    assert found.exact.all()
    return list(zip(found.lo.tolist(), found.hi.tolist(), strict=True))


@examples(300)
@given(codings())
def test_what_is_published_reads_back(coding: Coding) -> None:
    texts, intervals = published(coding)
    assert len(set(texts)) == len(texts), "one text, one meaning"
    assert read(texts, coding) == intervals
    if coding.hierarchy.kind not in {"flat", "prefix"}:
        assert read([None if text is None else f"  {text} " for text in texts], coding) == intervals


@examples(300)
@given(codings())
def test_published_texts_alone_tell_how_they_lie_to_each_other(coding: Coding) -> None:
    texts, intervals = published(coding)
    alone = coding_of([pl.Series("x", texts, dtype=pl.String)], coding.hierarchy)
    guessed = read(texts, alone)
    tight = coding.hierarchy.kind not in {"ranges", "dates"}
    for (a, b), (c, d) in itertools.combinations(zip(intervals, guessed, strict=True), 2):
        assert (a == c) == (b == d)
        assert (max(a[0], c[0]) <= min(a[1], c[1])) == (max(b[0], d[0]) <= min(b[1], d[1]))
        for one, other, first, second in ((a, c, b, d), (c, a, d, b)):
            inside = other[0] <= one[0] and one[1] <= other[1]
            nests = second[0] <= first[0] and first[1] <= second[1]
            # [20, 24] may hold 21 to 23 only: then it lies in [21, 30] by what occurs, but not by what is written.
            assert inside == nests if tight else inside or not nests


def test_the_largest_numbers_leave_room_for_the_root() -> None:
    texts: list[str | None] = [str(2**63 - 1), f"[{2**63 - 9}, {2**63 - 2}]", "*"]
    alone = coding_of([pl.Series("x", texts, dtype=pl.String)], Hierarchy("ranges"))
    single, run, root = read(texts, alone)
    assert run[1] < single[0]
    assert root == (0, alone.taxonomy.size - 1)
    assert root not in (single, run)


@given(codings())
def test_some_published_texts_alone(coding: Coding) -> None:
    """Fewer texts, fewer leaves: the relations of those that are left stay."""
    texts, intervals = published(coding)
    chosen = [
        (text, interval) for place, (text, interval) in enumerate(zip(texts, intervals, strict=True)) if place % 3
    ]
    assume(chosen)
    alone = coding_of([pl.Series("x", [text], dtype=pl.String) for text, _ in chosen], coding.hierarchy)
    guessed = read([text for text, _ in chosen], alone)
    for (a, b), (c, d) in itertools.combinations(zip([own for _, own in chosen], guessed, strict=True), 2):
        assert (a == c) == (b == d)
        assert (max(a[0], c[0]) <= min(a[1], c[1])) == (max(b[0], d[0]) <= min(b[1], d[1]))


@examples(60)
@given(coding=codings())
def test_what_is_published_reads_back_from_a_file(coding: Coding, tmp_path_factory: pytest.TempPathFactory) -> None:
    texts, intervals = published(coding)
    path = tmp_path_factory.mktemp("out") / "out.csv"
    write_file(pl.DataFrame({"x": pl.Series(texts, dtype=pl.String), "y": range(len(texts))}), path)
    found = parse_column(read_file(path)["x"], coding)
    assert list(zip(found.lo.tolist(), found.hi.tolist(), strict=True)) == intervals


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("[20, 34]", 20, 34),
        ("[20,34]", 20, 34),
        ("[20; 34]", 20, 34),
        ("20-34", 20, 34),
        ("20 - 34", 20, 34),
        ("20–34", 20, 34),
        ("20..34", 20, 34),
        ("20 to 34", 20, 34),
        ("-5--3", -5, -3),
        ("[-5, 3]", -5, 3),
        ("7", 7, 7),
        ("7.5", 7.5, 7.5),
        ("1e3", 1000.0, 1000.0),
        ("[9007199254740993, 9007199254740995]", 9007199254740993, 9007199254740995),
        ("[2024-01-05, 2024-02-01]", 19727, 19754),
        ("2024-01-05", 19727, 19727),
        ("2024-03", 19783, 19813),
        ("2024-Q1", 19723, 19813),
        ("2024Q4", 19997, 20088),
        (">= 60", 60, float("inf")),
        ("≤5", float("-inf"), 5),
    ],
)
def test_spans(text: str, low: float, high: float) -> None:
    span = span_of(text)
    assert span is not None
    assert (span.low, span.high, span.open) == (low, high, False)
    assert type(span.low) is type(low)


@pytest.mark.parametrize("text", ["[20, 35)", "[20, 35[", "20", "(19.5, 35)", "]19.5, 35["])
def test_open_ends(text: str) -> None:
    span = span_of(text)
    assert span is not None
    assert span.open == (text != "20")
    assert 19.5 < span.low <= 20


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zebra",
        "34-20",
        "[34, 20]",
        "[20, 20)",
        "[20, 34",
        "20-",
        "-",
        "[a, b]",
        "2024-13",
        "2024-02-30",
        "[5, 2024-01-05]",
    ],
)
def test_texts_that_are_no_span(text: str) -> None:
    assert span_of(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2024", (19723, 20088)), ("2023-2024", (19358, 20088)), ("[2024-01, 2024-Q1]", (19723, 19813)), ("5", None)],
)
def test_spans_of_dates(text: str, expected: tuple[int, int] | None) -> None:
    span = span_of(text, dates=True)
    assert (None if span is None else (span.low, span.high)) == expected


@pytest.fixture
def ages() -> Coding:
    return build(Hierarchy(ranges=(5.0, 10.0)), list(range(20, 40)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", (0, 19)),
        ("***", (0, 19)),
        ("23", (3, 3)),
        ("23.0", (3, 3)),
        ("[20, 24]", (0, 4)),
        ("[18, 22]", (0, 2)),
        ("20-24", (0, 4)),
        ("[20, 25[", (0, 4)),
        ("[20, 25)", (0, 4)),
        (">37", (18, 19)),
        ("{20, 21, 22}", (0, 2)),
        ("{20-24, 25}", (0, 5)),
        ("{[20, 24], 25}", (0, 5)),
    ],
)
def test_anybodys_notation(ages: Coding, text: str, expected: tuple[int, int]) -> None:
    assert read([text], ages) == [expected]


def test_sets_with_gaps_are_given_as_their_hull(ages: Coding) -> None:
    found = parse_column(pl.Series("x", ["{20, 22}", "{20-29, 21, 25-26}", "{22, 20, 21}"]), ages)
    assert list(zip(found.lo, found.hi, found.exact, strict=True)) == [(0, 2, False), (0, 9, True), (0, 2, True)]


def test_sets_of_names_with_commas() -> None:
    coding = build(Hierarchy("flat"), ["a, b", "c", "d"])
    assert read(["{a, b, c}"], coding) == [(0, 1)]
    assert read(["{a, b}"], coding) == [(0, 0)]


@pytest.mark.parametrize("text", ["zebra", "[50, 60]", "", "{}", "{20, zebra}", "2024-02-30", None])
def test_texts_that_the_taxonomy_does_not_know(ages: Coding, text: str | None) -> None:
    column = pl.Series("x", ["20", text, "21", text])
    message = refused(TaxonomyError, lambda: parse_column(column, ages), ["zebra"])
    assert "2 published values" in message
    assert "first rows: 2, 4" in message


def test_prefixes_of_any_length() -> None:
    coding = build(Hierarchy(prefix=(3, 1)), ["53012", "53099", "54000", "9", None])
    assert read(["53***", "530*", "5****", "*", "53012", None], coding) == [
        (0, 1),
        (0, 1),
        (0, 2),
        (0, 4),
        (0, 0),
        (4, 4),
    ]


def test_the_root_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;p;Any\nb;q;Any\n")
    assert read(["Any", "*", "p"], build(Hierarchy(file=tmp_path / "h.csv"), ["a"])) == [(0, 1), (0, 1), (0, 0)]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [20, 21, None]),
        pl.Series("x", [20.0, 21.0, float("nan")]),
        pl.Series("x", ["20", "21", None], dtype=pl.Categorical),
        pl.Series("x", ["20", "21", None], dtype=pl.Enum(["q", "21", "zebra", "20"])),
    ],
)
def test_published_columns_of_any_type(column: pl.Series) -> None:
    coding = build(Hierarchy(), [20, 21, None])
    found = parse_column(column, coding)
    assert list(zip(found.lo.tolist(), found.hi.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 2)]


def test_published_times_are_days() -> None:
    coding = build(Hierarchy("dates"), ["2024-01-31"])
    column = pl.Series("x", ["2024-01-31 10:00"]).str.to_datetime()
    assert parse_column(column, coding).lo.tolist() == [0]


def test_a_coding_from_texts_of_several_columns() -> None:
    columns = [pl.Series("x", ["[20, 34]", "*"]), pl.Series("x", ["[30, 40]", "25", None])]
    coding = coding_of(columns, Hierarchy())
    assert read(["[20, 34]", "[30, 40]", "25", "*", None], coding) == [(0, 3), (2, 4), (1, 1), (0, 6), (6, 6)]


def test_texts_without_end() -> None:
    texts: list[str | None] = ["<20", "[20, 30]", ">30", ">=30", "<=20"]
    found = read(texts, coding_of([pl.Series("x", texts)], Hierarchy()))
    assert len(set(found)) == 5
    below, middle, above, least, most = found
    assert below[1] < middle[0] < above[0] == middle[1] + 1
    assert least == (middle[1], above[1])
    assert most == (below[0], middle[0])


def test_what_a_list_lacks_is_read_where_it_may_hang_under_the_root() -> None:
    hierarchy = Hierarchy(tree={"A": ["a1", "a2"], "B": ["b1"]}, unlisted="root")
    column = pl.Series("x", ["A", "zebra", "b1", "*"])
    found = read(column.to_list(), coding_of([column], hierarchy))
    assert found[0][1] - found[0][0] == 1
    assert len(set(found)) == 4
    strict = Hierarchy(tree={"A": ["a1", "a2"], "B": ["b1"]})
    refused(TaxonomyError, lambda: parse_column(column, coding_of([column], strict)), ["zebra"])


def test_months_years_and_quarters_alone() -> None:
    texts: list[str | None] = ["2024-03", "2024-Q1", "2024", "2024-03-05", "[2024-03-30, 2024-04-02]"]
    month, quarter, year, day, run = read(texts, coding_of([pl.Series("x", texts)], Hierarchy()))
    assert year[0] == quarter[0] < month[0] < day[0] < month[1] == quarter[1] < run[1] < year[1]
    assert run[0] < month[1]


@pytest.mark.parametrize("texts", [["*"], [None], ["*", None], [""], ["*", "a"]])
def test_very_little_published(texts: list[str | None]) -> None:
    for hierarchy in (Hierarchy(), Hierarchy("flat"), Hierarchy(prefix=(1,))):
        found = read(texts, coding_of([pl.Series("x", texts, dtype=pl.String)], hierarchy))
        assert len(set(found)) == len(texts)


def test_a_large_column_is_read_once_per_text() -> None:
    coding = build(Hierarchy(ranges=(5.0,)), list(range(100)))
    column = pl.Series("x", ["[20, 34]", "7", "*"] * 100_000)
    assert parse_column(column, coding).lo.tolist()[:3] == [20, 7, 0]
