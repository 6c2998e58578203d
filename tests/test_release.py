"""From a draft to what goes out: boxes, order, columns, files."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table, anonymize
from reissue.errors import InputError, InternalError, SchemaError
from reissue.files.tables import read_file
from reissue.release.form import Form
from reissue.release.recode import boxes_of
from reissue.release.release import GROUP, Counterfeits, Draft, Release
from reissue.requirements import KAnonymity, LDiversity
from reissue.schema import Schema
from reissue.taxonomy import parse_column
from reissue.verify import make_release
from tests.silence import refused
from tests.strategies import Case, tables

PEOPLE = pl.DataFrame(
    {
        "id": [f"person{number}" for number in range(12)],
        "disease": ["flu", "=cmd()", None, "asthma"] * 3,
        "age": [20, 21, 22, None, 30, 31, 32, 33, 40, 41, 42, 43],
        "note": [f"note{number}" for number in range(12)],
        "clinic": ["north"] * 6 + ["south"] * 6,
        "city": ["-oslo", "-oslo", "rome", "rome"] * 3,
        "other": [f"other{number}" for number in range(12)],
    }
)
SCHEMA = Schema.of_columns(
    quasi=["city", "age"],
    sensitive=["disease"],
    identifier="id",
    provider="clinic",
    keep=["note"],
    taxonomies={"age": Hierarchy(ranges=(5.0, 10.0))},
)
GROUPS = np.repeat(np.arange(3, dtype=np.int32), 4)


def release_of(data: Any = PEOPLE, *, schema: Schema = SCHEMA, seed: int = 0, **draft: Any) -> Release:
    table = data if isinstance(data, Table) else Table.read(data, schema)
    drafted = Draft(draft.pop("groups", GROUPS), **draft)
    return make_release(table, drafted, KAnonymity(1), "test", np.random.default_rng(seed))


def texts(release: Release, name: str) -> list[str | None]:
    return release.tables["release"][name].cast(pl.String).to_list()


# --- what goes out ---------------------------------------------------------------------------------------------------


def test_columns_that_go_out_and_their_order() -> None:
    release = release_of()
    assert release.tables["release"].columns == ["disease", "age", "note", "city"]
    everything = str(release.tables["release"].rows())
    assert "person" not in everything
    assert "north" not in everything
    assert "other" not in everything


def test_every_row_shows_its_groups_box() -> None:
    release = release_of()
    rows = release.tables["release"].sort("note").cast(pl.String)
    expected = {0: "*", 1: "[30, 34]", 2: "[40, 44]"}
    for number, age, city in rows.select("note", "age", "city").iter_rows():
        assert age == expected[int(number[4:]) // 4]
        assert city == "*"
    assert release.groups == 3
    assert release.suppressed == 0


def test_rows_stay_whole_in_another_order() -> None:
    release = release_of()
    pairs = release.tables["release"].select("note", "disease").rows()
    assert pairs != PEOPLE.select("note", "disease").rows()
    assert Counter(pairs) == Counter(PEOPLE.select("note", "disease").rows())


def test_the_order_is_the_seeds() -> None:
    notes = [texts(release_of(seed=seed), "note") for seed in (0, 0, 1)]
    assert notes[0] == notes[1] != notes[2]
    assert sorted(map(str, notes[0])) == sorted(map(str, notes[2]))


def test_the_order_tells_nothing() -> None:
    """Each row comes first about equally often."""
    table = Table.read(PEOPLE, SCHEMA)
    first = Counter(texts(release_of(table, seed=seed), "note")[0] for seed in range(600))
    assert len(first) == 12
    assert max(first.values()) < 90


def test_suppressed_rows_stay_at_home() -> None:
    groups = GROUPS.copy()
    groups[:5] = -1
    groups[5:8] = 0
    groups[8:] = 1
    release = release_of(groups=groups)
    assert sorted(map(str, texts(release, "note"))) == sorted(f"note{number}" for number in range(5, 12))
    assert release.suppressed == 5
    assert release.boxes.sizes.tolist() == [3, 4]
    assert set(texts(release, "age")) == {"[30, 34]", "[40, 44]"}
    nothing = release_of(groups=np.full(12, -1, np.int32))
    assert nothing.tables["release"].height == 0
    assert nothing.groups == 0


@given(tables(min_rows=1), st.data())
def test_boxes_are_the_smallest_that_may_be_published(case: Case, data: st.DataObject) -> None:
    table = Table.read(case.frame, case.schema)
    raw = data.draw(st.lists(st.integers(-1, 3), min_size=table.rows, max_size=table.rows))
    known = sorted(set(raw) - {-1})
    groups = np.array([known.index(group) if group >= 0 else -1 for group in raw], np.int32)
    boxes = boxes_of(table, Draft(groups))
    assert boxes.sizes.tolist() == [int((groups == group).sum()) for group in range(len(known))]
    for place, taxonomy in enumerate(table.taxonomies):
        for group in range(len(known)):
            codes = table.codes[place][groups == group]
            low, high = taxonomy.snap(codes.min(keepdims=True), codes.max(keepdims=True))
            assert (boxes.lo[place, group], boxes.hi[place, group]) == (low[0], high[0])


@given(tables(min_rows=2), st.data())
def test_published_texts_hold_the_values_behind_them(case: Case, data: st.DataObject) -> None:
    table = Table.read(case.frame.with_row_index("row"), case.schema.with_roles({"row": "keep"}))
    groups = np.array(data.draw(st.lists(st.integers(0, 1), min_size=table.rows, max_size=table.rows)), np.int32)
    release = release_of(table, groups=np.unique(groups, return_inverse=True)[1].astype(np.int32))
    order = release.tables["release"]["row"].to_numpy()
    for place, (name, coding) in enumerate(zip(table.schema.quasi, table.codings, strict=True)):
        found = parse_column(release.tables["release"][name], coding)
        codes = table.codes[place][order]
        assert (found.lo <= codes).all()
        assert (codes <= found.hi).all()


def test_global_recoding_publishes_nodes() -> None:
    table = Table.read(PEOPLE, SCHEMA)
    cuts = tuple(taxonomy.cut(1) for taxonomy in table.taxonomies)
    codes = np.stack([cut[column] for cut, column in zip(cuts, table.codes, strict=True)])
    groups = np.unique(codes, axis=1, return_inverse=True)[1].astype(np.int32)
    release = release_of(table, groups=groups, cuts=cuts)
    assert set(texts(release, "age")) == {"[20, 24]", "[30, 34]", "[40, 44]", None}
    assert set(texts(release, "city")) == {"*"}


# --- two tables, permuted, numbered, counterfeits --------------------------------------------------------------------


def test_two_tables() -> None:
    release = release_of(form=Form.TWO_TABLES)
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    assert quasi.columns == [GROUP, "age", "note", "city"]
    assert sensitive.columns == [GROUP, "disease", "count"]
    assert Counter(quasi.select("age", "note", "city").rows()) == Counter(PEOPLE.select("age", "note", "city").rows())
    assert sensitive["count"].sum() == 12
    assert sorted(quasi[GROUP].unique()) == sorted(sensitive[GROUP].unique()) == [1, 2, 3]
    numbers = [release_of(form=Form.TWO_TABLES, seed=seed).tables["quasi"].sort("note")[GROUP][0] for seed in range(20)]
    assert len(set(numbers)) == 3, "a group's number tells nothing"


def test_exact_values_are_no_finer_than_what_was_coded() -> None:
    times = pl.Series(["2024-01-31 10:00", "2024-01-31 11:00", "2024-02-01 12:00"]).str.to_datetime()
    frame = pl.DataFrame({"t": times, "n": [" 12 ", "3", "12"], "s": ["a", "b", "c"]})
    schema = Schema.of_columns(quasi=["t", "n"], sensitive=["s"], taxonomies={"n": Hierarchy(ranges=(5.0,))})
    release = release_of(frame, schema=schema, groups=np.zeros(3, np.int32), form=Form.TWO_TABLES)
    quasi = release.tables["quasi"]
    assert quasi.schema["t"] == frame.schema["t"]
    assert quasi["t"].dt.hour().unique().to_list() == [0]
    assert sorted(quasi["n"]) == ["12", "12", "3"]


def test_values_are_permuted_inside_groups() -> None:
    release = release_of(form=Form.PERMUTED)
    out = release.tables["release"]
    assert out.columns == [GROUP, "disease", "age", "note", "city"]
    for _, rows in out.group_by(GROUP):
        numbers = [int(note[4:]) for note in rows["note"]]
        assert len({number // 4 for number in numbers}) == 1
        assert Counter(rows["disease"]) == Counter(["flu", "=cmd()", None, "asthma"])
    paired = {(note, disease) for note, disease in out.select("note", "disease").iter_rows()}
    assert paired != set(PEOPLE.select("note", "disease").rows())


def test_a_form_that_combines_properties_anew_is_written_as_they_say() -> None:
    """Generalized rows in one table and values apart: no form of ours, and every property holds by itself."""
    anew = SimpleNamespace(boxes=True, numbered=True, apart=True, seats=False, label="boxes in two tables")
    release, numbered = release_of(form=anew), release_of(form=Form.NUMBERED)
    assert list(release.tables) == ["quasi", "sensitive"]
    assert (
        release.tables["quasi"].drop(GROUP).unique().height
        == numbered.tables["release"].select("city", "age", "note").unique().height
    )
    joined = release.tables["sensitive"].select(pl.exclude("count").repeat_by("count").explode())
    assert joined["disease"].cast(pl.String).sort().equals(numbered.tables["release"]["disease"].cast(pl.String).sort())


@pytest.mark.parametrize("options", [{}, {"form": Form.TWO_TABLES}, {"form": Form.PERMUTED}, {"form": Form.NUMBERED}])
def test_counterfeits_are_counted(options: dict[str, Any]) -> None:
    table = Table.read(PEOPLE.with_columns(note=pl.Series(["early", "late"] * 6)), SCHEMA)
    fakes = Counterfeits(np.array([0, 0, 2], np.int32), table.codes[:, [0, 1, 8]], np.array([0, 1, 1], np.int32))
    release = release_of(table, counterfeits=fakes, **options)
    main = next(iter(release.tables.values()))
    assert main.height == 15
    assert main["note"].null_count() == 0
    assert release.counterfeits == 3
    counted = release.tables["counterfeits"]
    assert sorted(counted["counterfeits"]) == [1, 2]
    assert release.boxes.sizes.tolist() == [6, 4, 5]


@pytest.mark.parametrize(
    ("name", "role", "options"),
    [
        ("group", "keep", {"form": Form.TWO_TABLES}),
        ("group", "quasi", {"form": Form.PERMUTED}),
        ("group", "sensitive", {"form": Form.NUMBERED}),
        ("count", "sensitive", {"form": Form.TWO_TABLES}),
    ],
)
def test_columns_that_a_release_would_have_twice(name: str, role: str, options: dict[str, Any]) -> None:
    frame = PEOPLE.with_columns(pl.lit("zebra").alias(name))
    table = Table.read(frame, SCHEMA.with_roles({name: role}))
    assert f"'{name}'" in refused(SchemaError, lambda: release_of(table, **options), ["zebra"])
    assert name in release_of(table).tables["release"].columns


def test_sensitive_times_are_checked_to_the_second() -> None:
    times = pl.Series([f"2024-01-31 {hour:02}:00" for hour in range(12)]).str.to_datetime()
    table = Table.read(PEOPLE.with_columns(disease=times), SCHEMA)
    release = make_release(table, Draft(GROUPS), LDiversity(4), "test", np.random.default_rng(0))
    assert release.tables["release"]["disease"].n_unique() == 12


def test_a_draft_that_breaks_its_promise_is_our_bug() -> None:
    table = Table.read(PEOPLE, SCHEMA)
    for requirement in (KAnonymity(5), LDiversity(5)):
        message = refused(
            InternalError,
            lambda requirement=requirement: make_release(  # type: ignore[misc]
                table, Draft(GROUPS), requirement, "test", np.random.default_rng(0)
            ),
            ["flu", "asthma", "person"],
        )
        assert "report" in message


# --- the user's kind of frame, and files -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow"])
@pytest.mark.parametrize("options", [{}, {"form": Form.TWO_TABLES}])
def test_the_same_kind_of_frame_goes_out(kind: str, options: dict[str, Any]) -> None:
    data = {"polars": PEOPLE, "lazy": PEOPLE.lazy(), "pandas": PEOPLE.to_pandas(), "arrow": PEOPLE.to_arrow()}[kind]
    release = release_of(data, **options)
    kinds = {"polars": pl.DataFrame, "lazy": pl.LazyFrame, "pandas": pd.DataFrame, "arrow": pa.Table}
    assert isinstance(release.frame, kinds[kind])
    assert set(release.frames) == set(release.tables)
    assert all(isinstance(frame, kinds[kind]) for frame in release.frames.values())


def test_generalized_columns_are_text_for_the_user() -> None:
    release = release_of()
    assert isinstance(release.tables["release"].schema["age"], pl.Enum)
    assert release.frame.schema["age"] == pl.String
    assert release.frame["age"].to_list() == texts(release, "age")
    assert str(release_of(PEOPLE.to_pandas()).frame["age"].dtype) == "str"


def test_kept_columns_keep_their_types() -> None:
    frame = pl.DataFrame({"q": [1, 2], "k": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])), "l": [1.5, 2.5]})
    schema = Schema.of_columns(quasi=["q"], keep=["k", "l"])
    release = release_of(frame, schema=schema, groups=np.zeros(2, np.int32))
    assert release.frame.schema == {"q": pl.String, "k": frame.schema["k"], "l": frame.schema["l"]}
    pandas = pd.DataFrame({"q": [1, 2], "k": pd.array([1, None], dtype="Int64"), "c": pd.Categorical(["x", "y"])})
    schema = Schema.of_columns(quasi=["q"], keep=["k", "c"])
    out = release_of(pandas, schema=schema, groups=np.zeros(2, np.int32)).frame
    assert out.dtypes[["k", "c"]].to_list() == pandas.dtypes[["k", "c"]].to_list()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_written_release_reads_back(tmp_path: Path, ending: str) -> None:
    release = release_of()
    assert release.write(str(tmp_path / f"out{ending}")) == [str(tmp_path / f"out{ending}")]
    again = read_file(tmp_path / f"out{ending}")
    assert again.cast(pl.String).equals(release.tables["release"].cast(pl.String))
    table = release.table
    for name, coding in zip(table.schema.quasi, table.codings, strict=True):
        before, after = (parse_column(frame[name], coding) for frame in (release.tables["release"], again))
        assert before.lo.tolist() == after.lo.tolist()
        assert before.hi.tolist() == after.hi.tolist()


def test_formulas_do_not_go_out(tmp_path: Path) -> None:
    release = release_of(groups=np.arange(12, dtype=np.int32))
    release.write(str(tmp_path / "out.csv"))
    text = (tmp_path / "out.csv").read_text()
    assert ",=cmd" not in text
    assert "\n=cmd" not in text
    assert "'=cmd()" in text
    assert "'-oslo" in text


def test_two_tables_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    release = release_of(form=Form.TWO_TABLES)
    second = tmp_path / "out.sensitive.csv"
    second.write_text("precious")
    refused(InputError, lambda: release.write(str(tmp_path / "out.csv")), ["flu", "asthma"])
    assert list(tmp_path.iterdir()) == [second]
    paths = release.write(str(tmp_path / "out.csv"), force=True)
    assert paths == [str(tmp_path / "out.csv"), str(second)]
    assert read_file(second)["count"].sum() == 12


@pytest.mark.parametrize("kind", ["text", "Enum", "Categorical"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_lists_no_text_of_people_who_were_left_out(kind: str, ending: str, tmp_path: Path) -> None:
    """A file lists all texts of an Enum, whether a row has them or not."""
    texts = {name: [f"{name}-{place:02}-" for place in range(60)] for name in ("zip", "note")}
    table = pl.DataFrame({**texts, "ill": ["flu"] * 30 + ["gout"] * 15 + ["burn"] * 15})
    if kind != "text":
        enums = {name: pl.Enum(table[name].unique()) for name in table.columns}
        table = table.cast(enums if kind == "Enum" else pl.Categorical)  # type: ignore[arg-type]
    plan = Schema.loads('[columns]\nzip = "quasi"\nill = "sensitive"\nnote = "keep"\n')
    release = anonymize(table, plan, "simple-l=3", method="anatomy", suppress=0.5, seed=1)
    assert release.suppressed == 15
    path, _ = release.write(tmp_path / f"out.{ending}")
    shown = pl.read_parquet(path) if ending == "parquet" else pl.read_ipc(path)
    for column in shown.select(pl.col(pl.Enum)):
        assert set(column.dtype.categories) == set(column.cast(pl.String))  # type: ignore[attr-defined]
    if ending == "arrow":
        raw = Path(path).read_bytes()
        there = {text for name in texts for text in shown[name].cast(pl.String)}
        assert {text for name in texts for text in texts[name] if text.encode() in raw} == there
