"""Methods that look at all rows, on Spark: their codes come to the driver, and the release is that of memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmarks.same import months, plan

import reissue as ri
from reissue.data.identifiers import identifier_texts
from reissue.engines.base import InBatches
from reissue.engines.registry import choose
from reissue.files.places import beside_folder
from reissue.ledger.fingerprints import identifier_order
from reissue.methods import find
from reissue.publishing.coding import table_by_codes
from reissue.release.memory import Memory, fingerprint, load_memory, pack_memory, save_memory
from reissue.schema import Role
from tests.publishing import test_by_codes as by_codes
from tests.publishing.test_larger import IDENTIFIERS, shared
from tests.spark.test_spark import back, given, kept, mixed, rows_of

FOLLOWING: list[tuple[str, str, dict[str, Any]]] = [
    ("anatomy", "k=10 & l=5", {"suppress": 0.05}),
    ("invariance", "m-unique=3", {"ineligible": "counterfeits"}),
    ("equivalence", "simple-l=3", {"ineligible": "counterfeits"}),
    ("cohorts", "k=10 & l=3", {"suppress": 0.05}),
    ("distinct", "m-unique=3", {}),
]
SERIES = [asked for asked in by_codes.ASKED if asked[2].get("form") != "permuted"]


def ordered(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows in the order that Spark's are put in."""
    return table[identifier_order(identifier_texts(table[name]))]


def begun(schema: ri.Schema, method: str) -> dict[str, Any]:
    """What a series begins with, of methods that remember."""
    memory = Memory(fingerprint(schema), method, b"a key of 16 byte")
    return {"memory": memory, "newcomers": True} if find(method).stateful else {}


@pytest.mark.parametrize("asked", SERIES, ids=lambda asked: " ".join(map(str, [asked[0], *asked[2].values()])))
def test_a_series_of_frames_is_that_in_memory(spark: Any, asked: tuple[str, str, dict[str, Any]]) -> None:
    """Table by table and row by row, in however many partitions; and what is remembered after each."""
    method, require, options = asked
    series = by_codes.people(1, 120)
    series = by_codes.changing(series, 2) if method in by_codes.CHANGING else series
    more = begun(by_codes.PLAN, method)
    for turn, (month, partitions) in enumerate(zip(series, (1, 2, 7), strict=True)):
        known: dict[str, Any] = {"method": method, "seed": turn, **options}
        whole = ri.anonymize(ordered(month, "who"), by_codes.PLAN, require, **more, **known)
        made = ri.anonymize(given(spark, month, partitions), by_codes.PLAN, require, **more, **known)
        assert list(made.frames) == list(whole.frames)
        for name, frame in made.frames.items():
            assert back(frame).cast({"count": pl.UInt32} if name == "sensitive" else {}).equals(whole.frames[name])
        assert (made.groups, made.suppressed, made.warnings) == (whole.groups, whole.suppressed, whole.warnings)
        if whole.draft.memory is not None and made.draft.memory is not None:
            assert pack_memory(made.draft.memory) == pack_memory(whole.draft.memory)
            more = {"memory": whole.draft.memory, "newcomers": True}
    assert kept(spark) == 0


@pytest.mark.parametrize("asked", FOLLOWING, ids=lambda asked: asked[0])
def test_ten_thousand_patients_to_folders(spark: Any, asked: tuple[str, str, dict[str, Any]], tmp_path: Path) -> None:
    method, require, options = asked
    more, file = begun(plan(), method), tmp_path / "kept"
    if more:
        save_memory(more["memory"], file)
    for turn, month in enumerate(months(10_000, method)):
        known: dict[str, Any] = {"method": method, "seed": turn, **options}
        whole = ri.anonymize(ordered(month, "patient"), plan(), require, **more, **known)
        month.write_parquet(tmp_path / f"{turn}.parquet")
        out = tmp_path / f"out{turn}"
        after: dict[str, Any] = {"memory": file, "newcomers": True} if more else {}
        data = tmp_path / f"{turn}.parquet" if turn else given(spark, month)
        made = ri.anonymize_folder(data, plan(), require, out, engine="spark", fits=3000, **after, **known)
        for number, (name, frame) in enumerate(whole.frames.items()):
            folder = beside_folder(out, name) if number else out
            assert by_codes.written(folder).equals(frame)
        assert made.loss == pytest.approx(ri.measure(whole).loss)
        one, other = ri.check(out, plan(), require, engine="stream"), ri.check(whole, plan(), require)
        assert one.as_dict() == other.as_dict()
        if more and whole.draft.memory is not None:
            assert pack_memory(load_memory(file)) == pack_memory(whole.draft.memory)
            more = {"memory": whole.draft.memory, "newcomers": True}


def test_without_an_identifier_partitions_change_nothing(spark: Any) -> None:
    """Not-a-number, times, missing values, and a name that Spark would take apart."""
    table, schema = mixed()
    found = [
        ri.anonymize(
            given(spark, table.sample(fraction=1.0, shuffle=True, seed=parts), parts),
            schema,
            "simple-l=2",
            method="anatomy",
            seed=3,
        )
        for parts in (1, 2, 7)
    ]
    for name, frame in found[0].frames.items():
        assert all(back(one.frames[name]).equals(back(frame)) for one in found)
    whole = ri.anonymize(table, schema, "simple-l=2", method="anatomy", seed=3)
    shown, right = (frame.drop("group").sort(pl.all()) for frame in (back(found[0].frame), whole.frame))
    assert shown.equals(right)


@pytest.mark.parametrize(
    ("method", "require", "more"),
    [
        ("mondrian", "k=3", {"strict": False}),
        ("mask", "k=3 & simple-l=2", {"tables": 2}),
        ("pool", "k=3 & t=0.6", {"suppress": 0.1}),
    ],
)
def test_what_regions_cannot_do(spark: Any, method: str, require: str, more: dict[str, Any]) -> None:
    table, schema = shared(400)
    whole = ri.anonymize(ordered(table, "patient"), schema, require, method=method, seed=3, **more)
    made = ri.anonymize(given(spark, table), schema, require, method=method, seed=3, **more)
    for name, frame in whole.frames.items():
        assert rows_of(back(made.frames[name])) == rows_of(frame)
    with pytest.raises(ri.InputError, match="bring them there"):
        ri.anonymize_frame(given(spark, table), schema, require, method=method, **more)


def test_people_are_told_apart_as_in_memory(spark: Any) -> None:
    for ids in IDENTIFIERS:
        texts = identifier_texts(ids)
        right = texts.null_count(), texts.drop_nulls().n_unique(), len(texts)
        source = choose("spark", None).open(given(spark, ids.alias("who").to_frame()))
        assert isinstance(source, InBatches)
        assert source.people("who") == right
    source = choose("spark", None).open(given(spark, pl.DataFrame({"who": [1.0, 1e17]})))
    assert isinstance(source, InBatches)
    with pytest.raises(ri.InputError, match="15 digits"):
        source.people("who")


def test_columns_that_are_kept_have_the_type_that_they_had(spark: Any) -> None:
    from pyspark.sql import functions

    table, schema = mixed()
    kept_too = schema.with_roles({"local": Role.KEEP, "price": Role.KEEP})
    frame = given(spark, table).select(
        "*",
        functions.col("seen").cast("timestamp_ntz").alias("local"),
        functions.col("note").cast("decimal(9,2)").alias("price"),
    )
    made = ri.anonymize(frame, kept_too, "simple-l=2", method="anatomy", seed=3)
    kinds = {field.name: field.dataType.simpleString() for field in made.frame.schema.fields}
    assert {name: kinds[name] for name in ("note", "seen", "local", "price")} == {
        "note": "bigint",
        "seen": "timestamp",
        "local": "timestamp_ntz",
        "price": "decimal(9,2)",
    }
    shown = back(made.frame)
    assert (shown["local"] == shown["seen"].dt.replace_time_zone(None)).all()
    assert (shown["price"] == shown["note"]).all()


def test_codes_come_from_the_workers(spark: Any) -> None:
    """Of texts only what is kept comes to the driver, and who people are."""
    month = by_codes.people(5)[0]
    source = choose("spark", None).open(given(spark, month))
    assert isinstance(source, InBatches)
    codes, whole = table_by_codes(source, by_codes.PLAN), ri.Table.read(ordered(month, "who"), by_codes.PLAN)
    assert (codes.codes == whole.codes).all()
    assert (codes.sensitive == whole.sensitive).all()
    assert set(codes.frame.columns) == {"who", "house", "text", "ill", "note"}
    batches = list(source.batches(["note", "who"]))
    assert pl.concat(batches).sort("who").equals(month.select("note", "who").sort("who"))


def test_wrong_input_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    month, schema = by_codes.people(7)[0], by_codes.PLAN
    cases: list[tuple[pl.DataFrame, ri.Schema, str]] = [
        (month.drop("who"), schema, "lacks: who"),
        (pl.concat([month, month[:1]]), schema, "not unique"),
        (month.with_columns(who=pl.Series(["1", "1.0", *month["who"][2:]])), schema, "not unique"),
        (month.with_columns(who=pl.Series([None, *month["who"][1:]])), schema, "missing in 1 row"),
        (month.clear(), schema, "no rows"),
        (month, replace(schema, several_rows=True), "Several rows"),
        (month.with_columns(job=pl.lit("thief")), schema, "taxonomy lacks"),
    ]
    for data, asked, words in cases:
        frame = given(spark, data)
        with pytest.raises(ri.InputError, match=words):
            ri.anonymize_folder(frame, asked, "simple-l=2", tmp_path / "out", method="anatomy", engine="spark")
        with pytest.raises(ri.InputError, match=words):
            ri.anonymize(frame, asked, "simple-l=2", method="anatomy")
    assert not list(tmp_path.iterdir())
    assert kept(spark) == 0
    known: dict[str, Any] = {"method": "cohorts", "suppress": 0.3, "seed": 1}
    first = ri.anonymize(given(spark, month), schema, "k=4", **known)
    other = schema.with_roles({"note": Role.QUASI})
    with pytest.raises(ri.InputError, match="schema"):
        ri.anonymize(given(spark, month), other, "k=4", memory=first.draft.memory, **known)
    with pytest.raises(ri.InputError, match="no use for a memory"):
        ri.anonymize(given(spark, month), schema, "k=4", method="mondrian", memory=first.draft.memory)
    with pytest.raises(ri.InputError, match="`anonymize` and `anonymize_folder` bring them"):
        ri.anonymize_frame(given(spark, month), schema, "k=4", method="cohorts")
