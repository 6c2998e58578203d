"""Engines: whoever counts, a check says the same; and what an engine cannot do is refused with its reason."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.engines import stream
from reissue.engines.base import ColumnCodes
from reissue.engines.regions import RegionCounts, Split, region_of
from reissue.engines.registry import choose, registered
from reissue.published import Form
from reissue.synth import Population, schema
from tests.effort import examples

PLAN = ri.Schema.of_columns(quasi=["a", "b"], sensitive=["s"])


def told(found: ri.Check) -> Any:
    """What a check found; sums may be added up in another order, so floats to twelve digits."""
    return json.loads(json.dumps(found.as_dict()), parse_float=lambda text: round(float(text), 12))


def table_of(rows: list[tuple[object, object, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.String, "s": pl.String}, orient="row")


@examples(60)
@given(st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from("xy"), st.sampled_from("uvw")), min_size=1))
def test_a_check_by_counts_is_the_check_of_all_rows(rows: list[tuple[object, object, object]]) -> None:
    table = table_of(rows)
    for asked in (None, "k=2 & l=2", "t=0.3", "k-m=2,1"):
        whole = ri.check(table, PLAN, asked, engine="memory")
        assert told(ri.check(table.lazy(), PLAN, asked, engine="stream")) == told(whole)


@pytest.fixture(scope="module")
def release() -> ri.Release:
    return ri.anonymize(next(Population(seed=2, people=900).months(1)), schema(), "k=4 & l=2", seed=1)


@pytest.mark.parametrize("files", [1, 3])
def test_a_release_in_parquet_is_checked_as_in_memory(release: ri.Release, files: int, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    for part in range(files):
        release.frame[part::files].write_parquet(folder / f"{part}.parquet")
    found = ri.check(folder, schema(), "k=4 & l=2", engine="stream", sampling=0.5, preset="0.09")
    assert told(found) == told(ri.check(release.frame, schema(), "k=4 & l=2", sampling=0.5, preset="0.09"))


def test_groups_that_are_numbered_are_taken_by_their_numbers(release: ri.Release, tmp_path: Path) -> None:
    made = release.frame.with_columns(pl.Series("group", release.draft.groups[release.order] + 1))
    made.write_parquet(tmp_path / "r.parquet")
    found = ri.check(tmp_path / "r.parquet", schema(), "k=3", engine="stream")
    assert found.form == Form.NUMBERED
    assert told(found) == told(ri.check(made, schema(), "k=3"))


def test_auto_streams_large_parquet_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of([(1, "x", "u")] * 50)
    table.write_parquet(tmp_path / "t.parquet")
    assert choose("auto", tmp_path / "t.parquet").name == "memory"
    monkeypatch.setattr(stream, "LARGE", 100)
    assert choose("auto", tmp_path / "t.parquet").name == "stream"
    assert choose("auto", [tmp_path / "t.parquet"]).name == "stream"
    assert choose("auto", table).name == "memory"
    assert choose("auto", table.lazy()).name == "stream"
    assert {"memory", "stream"} <= set(registered())


def test_what_it_cannot_do_is_refused(tmp_path: Path) -> None:
    table = table_of([(1, "x", "u")] * 5)
    table.write_csv(tmp_path / "t.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing PAR1")
    people = ri.Schema.of_columns(quasi=["a"], sensitive=["s"], identifier="b", several_rows=True)
    cases: list[tuple[Any, ri.Schema, Any, str]] = [
        (tmp_path / "t.csv", PLAN, None, "reads Parquet"),
        (table, PLAN, None, "reads Parquet"),
        (tmp_path / "broken.parquet", PLAN, None, "not whole Parquet"),
        (table.lazy(), people, None, "not people"),
        (table.lazy(), PLAN, table, "engine memory"),
        (table.lazy().select("s"), PLAN, None, "lacks columns: a, b"),
        (table.lazy().filter(pl.col("a") > 7), PLAN, None, "no rows"),
        (table.lazy().select(pl.lit(1).alias("c")), PLAN, None, "none of the columns"),
    ]
    for data, plan, register, words in cases:
        with pytest.raises(ri.InputError, match=words):
            ri.check(data, plan, engine="stream", population=register)
    with pytest.raises(ri.InputError, match="Did you mean 'stream'"):
        ri.check(table, PLAN, engine="steam")


@examples(60)
@given(st.integers(0, 10**6), st.sampled_from([np.uint8, np.uint16, np.int32]), st.sampled_from([1, 3]))
def test_regions_are_counted_as_they_are_defined(seed: int, kind: type, values: int) -> None:
    """Rows by rows, in codes of any width, with spreads asked for or not."""
    rng = np.random.default_rng(seed)
    sizes, rows = (7, 200, 3), int(rng.integers(1, 60))
    codes: Any = np.stack([rng.integers(0, size, rows) for size in sizes]).astype(kind)
    value: Any = rng.integers(0, values, rows).astype(kind)
    splits = {0: Split(1, 90, 1, 2), 2: Split(0, 4, 3, 4)}
    region = [1 if row[1] < 90 else 3 if row[0] < 4 else 4 for row in codes.T.tolist()]
    assert region_of(codes, splits).tolist() == region
    wanted, asked = tuple(rng.permutation(3)[: rng.integers(0, 4)].tolist()), (4, 1, 3)
    counts = RegionCounts(sizes, values, asked, wanted)
    for part in np.array_split(np.arange(rows), 3):
        counts.add(codes[:, part], value[part], splits)
    for number, one in enumerate(asked):
        inside = [place for place, its in enumerate(region) if its == one]
        for place in range(3):
            own = codes[place, inside].tolist()
            assert counts.hi[place, number] == max(own, default=-1)
            assert counts.lo[place, number] == min(own, default=np.iinfo(np.int32).max)
            if place in wanted and rows > 2:
                spread = counts.spread(one, place)
                found = list(zip(spread.code.tolist(), spread.value.tolist(), spread.count.tolist(), strict=True))
                right = Counter(zip(own, value[inside].tolist(), strict=True))
                assert found == [(code, its, times) for (code, its), times in sorted(right.items())]


@examples(60)
@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 60)), min_size=1),
    st.sampled_from([0, 2**62, -(2**62), 10**9]),
    st.sampled_from([pl.Int64, pl.Int8, pl.Float64]),
)
def test_codes_are_looked_up_alike_however_numbers_lie(numbers: list[int | None], more: int, kind: Any) -> None:
    given_kind = kind if not more else pl.Int64
    column = pl.Series("age", [one if one is None else one + more for one in numbers], dtype=given_kind)
    values = column.unique()
    codes = np.random.default_rng(1).permutation(len(values)).astype(np.int32)
    right = dict(zip(values.to_list(), codes.tolist(), strict=True))
    found = column.to_frame().select(ColumnCodes("age", values, codes).code()).to_series()
    assert found.to_list() == [right[one] for one in column.to_list()]
    assert found.dtype == pl.Int32
    with pytest.raises(pl.exceptions.PolarsError):
        pl.DataFrame({"age": pl.Series([more + 70], dtype=given_kind)}).select(ColumnCodes("age", values, codes).code())
