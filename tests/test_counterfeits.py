"""Counterfeits cannot be told from real records: every cell is a real record's of their group."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue import Hierarchy, Table, anonymize
from reissue.errors import SchemaError
from reissue.release.counterfeits import counterfeit_cells
from reissue.release.form import Form
from reissue.release.memory import Memory
from reissue.release.recode import boxes_of
from reissue.release.release import GROUP, Counterfeits, Draft, Release
from reissue.schema import Schema

METHODS = [
    ("invariance", "m-unique=2", ("generalized", "permuted", "two tables")),
    ("distinct", "m-unique=2", ("generalized", "permuted", "two tables")),
    ("equivalence", "simple-l=2", ("generalized", "permuted", "two tables")),
]
EVERY = [(method, requirement, form) for method, requirement, forms in METHODS for form in forms]
SCHEMA = Schema.of_columns(quasi=["q", "r"], sensitive=["s"], identifier="id", keep=["ward", "day"])


def series(seed: int) -> list[pl.DataFrame]:
    """Four tables of people who come and go; values are written with blanks, wards and days are shared by many."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "id": range(60),
            "ward": [f"w{number}" for number in rng.integers(0, 3, 60)],
            "q": rng.integers(20, 60, 60),
            "day": pl.Series(["2024-01-31", "2024-02-01"], dtype=pl.String)
            .str.to_date()
            .gather(rng.integers(0, 2, 60)),
            "r": ["xyz"[number] for number in rng.integers(0, 3, 60)],
            "s": [f" {'abcd'[number]}" for number in rng.integers(0, 4, 60)],
        }
    )
    return [people.filter(pl.Series(rng.random(60) < 0.6)) for _ in range(4)]


def releases(frames: list[pl.DataFrame], method: str, requirement: str, **options: Any) -> list[Release]:
    made: list[Release] = []
    for frame in frames:
        memory: Memory | None = made[-1].draft.memory if made else None
        more = {"seed": 3, "ineligible": "counterfeits", **options}
        if method == "equivalence":
            more["e"] = 2
        made.append(anonymize(frame, SCHEMA, requirement, method=method, memory=memory, **more))
    return made


def drafted(release: Release, frame: pl.DataFrame, names: list[str], *, exact: bool) -> Counter[Any]:
    """The rows of real people as they must go out."""
    groups, boxes, looks, fakes = release.draft.groups, release.boxes, release.draft.looks, release.draft.counterfeits
    if looks is not None:
        groups, added = looks[: len(groups)], looks[len(groups) :]
        alike = None if fakes is None else replace(fakes, groups=added)
        boxes = boxes_of(release.table, replace(release.draft, groups=groups, counterfeits=alike))
    if not exact:
        for place, name in enumerate(SCHEMA.quasi):
            bounds = boxes.lo[place, groups], boxes.hi[place, groups]
            frame = frame.with_columns(pl.Series(name, release.table.taxonomies[place].text(*bounds)))
    return Counter(frame.select(names).rows())


@pytest.mark.parametrize(("method", "requirement", "form"), EVERY)
def test_no_column_or_missing_value_shows_a_counterfeit(method: str, requirement: str, form: str) -> None:
    number = 0
    for seed in range(3):
        frames = series(seed)
        for release, frame in zip(releases(frames, method, requirement, form=form), frames, strict=True):
            main = next(iter(release.frames.values()))
            assert not sum(main.null_count().row(0)), "real records have no missing cell, so no row may"
            names = [name for name in main.columns if name not in {GROUP, "s"}]
            apart = not release.draft.form.boxes
            if not apart:
                names.append("s")
            rows, real = Counter(main.select(names).rows()), drafted(release, frame, names, exact=form != "generalized")
            assert not real - rows, "a record was lost or changed"
            assert (rows - real).total() == release.counterfeits
            assert set(main["ward"]) <= set(frame["ward"])
            number += release.counterfeits
            if not apart:
                places = {(row[:-1]) for row in real}
                alone = release.draft.counterfeits is None or np.isin(
                    release.draft.counterfeits.groups, release.draft.groups
                )
                assert not np.all(alone) or all(row[:-1] in places for row in rows), "kept cells from another group"
            if "s" in main.columns:
                assert main.schema["s"] == pl.String
                assert all(value.startswith(" ") for value in main["s"]), "another format than real records have"
    assert number > 5, "nothing was tested"


@pytest.mark.parametrize("method", ["invariance", "distinct"])
def test_one_release_does_not_show_who_is_nobody(method: str) -> None:
    first = pl.DataFrame(
        {
            "id": ["p1", "p2", "p3", "p4"],
            "age": [30, 31, 50, 51],
            "ward": ["w1", "w2", "w1", "w2"],
            "s": ["HIV", "flu", "flu", "gout"],
        }
    )
    schema = Schema.of_columns(quasi=["age"], sensitive=["s"], identifier="id", keep=["ward"])
    before = anonymize(first, schema, "m-unique=2", method=method, ineligible="counterfeits", seed=1)
    options: dict[str, Any] = {"memory": before.draft.memory, "ineligible": "counterfeits", "seed": 1}
    after = anonymize(first.filter(pl.col("id") != "p2"), schema, "m-unique=2", method=method, **options)
    assert after.counterfeits == 1
    shown = after.tables["release"].filter(pl.col("s").is_in(["HIV", "flu"]))
    assert after.tables["release"]["ward"].null_count() == 0
    assert ("w1", "HIV") in shown.select("ward", "s").rows()
    assert ("w1", "flu") in shown.select("ward", "s").rows()


TABLE = pl.DataFrame(
    {
        "id": range(6),
        "q": [1, 2, 3, 11, 12, 13],
        "ward": ["w1", "w2", "w2", "w1", "w3", "w4"],
        "note": ["n1", "n2", "n2", "n1", "n3", "n4"],
        "s": ["05", "5.0", "7", "05", "5.0", "7"],
    }
)
KEPT = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id", keep=["ward", "note"])
GROUPS = np.array([0, 0, 0, 1, 1, 1], np.int32)


def cells(fakes: Counterfeits, frame: pl.DataFrame = TABLE, groups: Any = GROUPS, **form: Any) -> list[tuple[Any, ...]]:
    schema = KEPT
    if not form.get("flat", True):
        schema = Schema(KEPT.columns, {"s": Hierarchy("ranges")})
    form.pop("flat", None)
    table = Table.read(frame, schema)
    draft = Draft(groups, counterfeits=fakes, **form)
    found = counterfeit_cells(table, draft, fakes, np.random.default_rng(1))
    return pl.DataFrame([found["ward"], found["note"], found["s"]]).rows()


def fakes_of(groups: list[int], codes: list[int], sensitive: list[int]) -> Counterfeits:
    return Counterfeits(np.array(groups, np.int32), np.array([codes], np.int32), np.array(sensitive, np.int32))


def test_kept_cells_come_together_from_a_record_of_the_group() -> None:
    made = cells(fakes_of([0] * 20, [0, 1, 2, 0] * 5, [0] * 20))
    assert {row[:2] for row in made} == {("w1", "n1"), ("w2", "n2")}
    # The record with the same quasi-identifiers, if there is one: exact forms show both side by side.
    assert [row[:2] for row in made[:3]] == [("w1", "n1"), ("w2", "n2"), ("w2", "n2")]


def test_a_kept_value_of_one_record_alone_is_not_copied_beside_a_value() -> None:
    made = cells(fakes_of([1] * 20, [4] * 20, [0] * 20))
    assert {row[:2] for row in made} == {("w1", "n1")}
    apart = cells(fakes_of([1] * 20, [4] * 20, [0] * 20), form=Form.PERMUTED)
    assert {row[:2] for row in apart} == {("w3", "n3")}


def test_a_group_without_people_copies_a_record_with_the_same_quasi_identifiers() -> None:
    made = cells(fakes_of([2] * 20, [1] * 20, [0] * 20))
    assert {row[:2] for row in made} == {("w2", "n2")}


def test_kept_values_that_nobody_shares_are_refused() -> None:
    alone = TABLE.with_columns(note=pl.Series([f"secret{number}" for number in range(6)]))
    with pytest.raises(SchemaError, match=r"'ward', 'note'.*would be recognized") as raised:
        cells(fakes_of([0], [0], [0]), alone)
    assert "secret" not in str(raised.value)
    # A chance pair among values of their own would be copied again and again.
    pair = alone.with_columns(ward=pl.lit("w1"), note=pl.Series(["secret0", "secret0", *alone["note"][2:]]))
    with pytest.raises(SchemaError, match="would be recognized"):
        cells(fakes_of([0], [0], [0]), pair)
    assert cells(fakes_of([0], [0], [0]), alone, form=Form.TWO_TABLES)[0][1] == "secret0"


def test_left_out_records_are_copied_by_nobody() -> None:
    groups = np.array([0, 0, 0, -1, -1, 0], np.int32)
    assert {row[0] for row in cells(fakes_of([0] * 20, [0] * 20, [0] * 20), groups=groups)} == {"w2"}


def test_a_value_is_written_as_real_records_write_it() -> None:
    made = cells(fakes_of([0] * 20, [0] * 20, [0, 1] * 10), flat=False)
    assert {row[2] for row in made[::2]} <= {"05", "5.0"}
    assert {row[2] for row in made[1::2]} == {"7"}
