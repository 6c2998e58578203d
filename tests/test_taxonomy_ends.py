"""Bottom and top coding as part of a taxonomy, and centuries."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table, anonymize, attack
from reissue.errors import SchemaError, TaxonomyError
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.taxonomy import Coding, coding_of, parse_column, prepare, span_of
from reissue.utility import compare, measure
from reissue.verify import meets

AGES = Hierarchy(ranges=(5.0, 20.0), bottom=18, top=90)


def coding(values: list[Any], hierarchy: Hierarchy = AGES) -> Coding:
    column = pl.Series("age", values)
    return Coding.build(hierarchy, prepare(column, hierarchy))


def test_numbers_beyond_the_ends_are_one_value() -> None:
    built = coding([3, 18, 19, 34, 89, 90, 103, None])
    assert built.taxonomy.names == ("<=18", "19", "34", "89", ">=90", None)
    assert built.taxonomy.levels[1].names == ("<=19", "[30, 34]", "[85, 89]", ">=90", None)
    assert built.taxonomy.levels[2].names == ("<=19", "[20, 39]", ">=80", None)
    codes, unlisted = built.encode(prepare(pl.Series("age", [0, 18, 90, 1654]), AGES))
    assert (codes.tolist(), len(unlisted)) == ([0, 0, 4, 4], 0)


def test_ends_that_nobody_reaches_change_nothing() -> None:
    assert coding([20, 34, 50]).taxonomy.names == ("20", "34", "50")
    assert coding([20, 34, 50]).taxonomy.open_ends == (False, False)


def test_ranges_of_fractions_and_a_range_of_everything() -> None:
    built = coding([0.1, 0.6, 2.5], Hierarchy(ranges=(0.5, 4.0), bottom=0.25, top=2.0))
    assert built.taxonomy.names == ("<=0.25", "0.6", ">=2.0")
    assert built.taxonomy.levels[1].names == ("<0.5", "[0.5, 1)", ">=2")
    assert len(built.taxonomy.levels) == 3, "a range of everything would be the root"


@given(
    st.lists(st.one_of(st.none(), st.integers(-50, 150)), min_size=1, max_size=15),
    st.sampled_from([None, -10, 0, 18]),
    st.sampled_from([None, 40, 90]),
    st.booleans(),
    st.data(),
)
def test_every_published_text_holds_what_it_says(
    values: list[int | None], bottom: int | None, top: int | None, tight: bool, data: st.DataObject
) -> None:
    """Whatever is published of a group holds all its true values, and is read back as the same interval."""
    hierarchy = Hierarchy("ranges", ranges=(5.0, 20.0, 40.0), bottom=bottom, top=top)
    frame = pl.DataFrame({"age": pl.Series(values, dtype=pl.Int64)})
    table = Table.read(frame, Schema.of_columns(quasi=["age"], taxonomies={"age": hierarchy})).with_boxes(tight=tight)
    taxonomy, codes = table.taxonomies[0], table.codes[0]
    chosen = data.draw(st.lists(st.sampled_from(range(len(values))), min_size=1, max_size=4))
    lo, hi = taxonomy.snap(codes[chosen].min(keepdims=True), codes[chosen].max(keepdims=True))
    (text,) = taxonomy.text(lo, hi)
    if text not in {None, "*"}:
        span = span_of(str(text))
        assert span is not None
        for row in chosen:
            value = values[row]
            assert value is not None
            assert span.low <= value <= span.high
    column = pl.Series("age", [text], dtype=pl.String)
    read = parse_column(column, table.codings[0])
    if text == "*":
        assert (read.lo[0], read.hi[0]) == (0, taxonomy.size - 1)
    else:
        assert (read.lo[0], read.hi[0]) == (lo[0], hi[0])
        alone = coding_of([column, pl.Series("age", ["[10, 20]"])], hierarchy)
        assert parse_column(column, alone).exact.all()


def test_somebodys_numbers_beyond_the_ends() -> None:
    built = coding([3, 18, 19, 34, 89, 90, 103])
    read = parse_column(pl.Series("age", ["97", ">=95", "5", "[80, 120]", "<10", "[0, 200]"]), built)
    assert read.lo.tolist() == [4, 4, 0, 3, 0, 0]
    assert read.hi.tolist() == [4, 4, 0, 4, 0, 4]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ranges": (5.0,), "bottom": 90, "top": 18}, "below"),
        ({"ranges": (5.0,), "top": float("inf")}, "must be numbers"),
        ({"ranges": (5.0,), "top": True}, "must be numbers"),
        ({"kind": "flat", "top": 90}, "beside `ranges`"),
        ({"top": 90}, "beside `ranges`"),
    ],
)
def test_ends_that_make_no_sense(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(TaxonomyError, match=expected):
        Hierarchy(**options)


def test_fractional_ends_of_whole_numbers_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="whole numbers"):
        coding([1, 2, 3], Hierarchy(ranges=(5.0,), top=2.5))


def test_in_the_schema_file() -> None:
    text = '[columns]\nage = "quasi"\n\n[taxonomy.age]\nranges = [5, 10]\nbottom = 18\ntop = 90\n'
    schema = Schema.loads(text)
    assert (schema.hierarchies["age"].bottom, schema.hierarchies["age"].top) == (18, 90)
    assert Schema.loads(schema.dumps()) == schema
    with pytest.raises(SchemaError, match="must be numbers"):
        Schema.loads(text.replace("90", '"90"'))


def people(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    year = rng.integers(1930, 2010, rows)
    year[:2] = 1654, 1700
    return pl.DataFrame({"id": np.arange(rows), "year": year, "s": rng.choice(list("abcd"), rows)})


@pytest.mark.parametrize("method", ["pool", "correspondence", "mondrian", "anatomy", "topdown"])
@pytest.mark.parametrize("boxes", ["nodes", "tight"])
def test_an_outlier_costs_nothing_with_a_bottom(method: str, boxes: str) -> None:
    """A birth year of 1654, checked and measured from the published texts; nobody sees it."""
    losses = []
    for bottom in (None, 1930):
        years = Hierarchy(ranges=(5.0, 10.0, 20.0, 40.0, 80.0), bottom=bottom)
        schema = Schema.of_columns(identifier="id", quasi=["year"], sensitive=["s"], taxonomies={"year": years})
        release = anonymize(
            people(), schema, "l=2 & k=5" if method != "anatomy" else "l=2", method=method, seed=0, boxes=boxes
        )
        texts = release.tables[next(iter(release.tables))]["year"].cast(pl.String).to_list()
        assert bottom is None or not any("1654" in text or "1700" in text for text in texts)
        assert meets(release, schema, parse("l=2"), release.table.secrets)
        read = compare(people(), release, schema, queries=0)
        assert read.losses == pytest.approx(measure(release).losses)
        losses.append(measure(release).loss)
        found = attack([release, release], schema, only=["joint"])
        assert [one.status.value for one in found] != ["not_run"], "the register is read, whatever it says"
    if method in {"correspondence", "topdown"}:
        assert losses[1] < losses[0]


def test_sensitive_values_have_no_ends() -> None:
    schema = Schema.of_columns(quasi=["a"], sensitive=["pay"], taxonomies={"pay": Hierarchy(ranges=(5.0,), top=10)})
    frame = pl.DataFrame({"a": [1, 1, 1], "pay": [5, 20, 30]})
    assert Table.read(frame, schema).domain.size == 3


def test_centuries() -> None:
    days = [dt.date(1654, 3, 1), dt.date(1930, 1, 1), dt.date(1999, 12, 31), dt.date(2000, 1, 1)]
    built = Coding.build(Hierarchy("dates"), pl.Series("born", days))
    names = built.taxonomy.levels[-2].names
    assert names == ("[1600-01-01, 1699-12-31]", "[1900-01-01, 1999-12-31]", "[2000-01-01, 2099-12-31]")
    read = parse_column(pl.Series("born", ["[1900-01-01, 1999-12-31]"]), built)
    assert (read.lo.tolist(), read.hi.tolist()) == ([1], [2])
