"""One reader of published tables: every form that we write, and anyone's."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table
from reissue.errors import DataError, SchemaError
from reissue.published import Form, PublishedRelease, read_published
from reissue.release.release import Counterfeits, Draft, Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.verify import make_release

SCHEMA = Schema.of_columns(quasi=["age", "job"], sensitive=["ill", "len"])
FRAME = pl.DataFrame(
    {
        "age": [20, 21, 22, 40, 41, 42, 60, 61],
        "job": ["a", "a", "b", "b", "a", "b", "a", None],
        "ill": ["flu", "flu", "ulcer", None, "flu", "cold", "flu", "cold"],
        "len": ["1", "2", "1", "1", "2", "2", "1", "1"],
    }
)
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2]


def made(form: Form, *, fakes: bool) -> Release:
    table = Table.read(FRAME, SCHEMA)
    added = Counterfeits(np.array([1, 1, 2], np.int32), table.codes[:, [3, 4, 6]], table.sensitive[[0, 1, 2]])
    slots = np.arange(90, 101) if form.seats else None
    draft = Draft(np.array(GROUPS, np.int32), form=form, counterfeits=added if fakes else None, slots=slots)
    return make_release(table, draft, KAnonymity(2), "test", np.random.default_rng(0))


def seen(published: PublishedRelease) -> Counter[Any]:
    """Groups as nobody's arithmetic: what each shows of its people, of its values, and its counterfeits."""
    looks, counted = published.looks, published.histogram
    return Counter(
        (
            tuple(
                sorted(
                    (repr(text), int(rows))
                    for text, rows, group in zip(looks.texts.rows(), looks.rows, looks.group, strict=True)
                    if group == one
                )
            ),
            tuple(
                sorted(
                    (counted.names[value], int(count))
                    for group, value, count in zip(counted.group, counted.value, counted.count, strict=True)
                    if group == one
                )
            ),
            int(published.sizes[one]),
            int(published.counterfeits[one]),
        )
        for one in range(published.groups)
    )


@pytest.mark.parametrize("fakes", [False, True])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("form", list(Form))
def test_what_we_write_is_read_as_what_it_is(form: Form, ending: str, fakes: bool, tmp_path: Path) -> None:
    release = made(form, fakes=fakes)
    paths = release.write(str(tmp_path / f"out{ending}"))
    own = read_published(release, SCHEMA)
    assert (own.form, own.groups, own.source) == (form, 3, release)
    assert Counter(own.counterfeits.tolist()) == (Counter([0, 2, 1]) if fakes else Counter([0, 0, 0]))
    for as_text in (True, False):
        read = read_published(paths[0], SCHEMA, as_text=as_text)
        assert (read.form, read.source) == (form, None)
        assert seen(read) == seen(own)
        assert seen(read_published(paths, SCHEMA, as_text=as_text)) == seen(own)
        assert seen(read_published(dict(release.tables), SCHEMA, as_text=as_text)) == seen(own)


def test_values_of_a_group_are_those_of_its_people() -> None:
    for form in Form:
        read = read_published(made(form, fakes=False), SCHEMA)
        sizes = {size: group for group, size in enumerate(read.sizes.tolist())}
        assert sorted(read.sizes.tolist()) == [2, 3, 3]
        found = read.histogram
        assert found.count.sum() == FRAME.height
        assert set(found.names) == {"flu\0011", "flu\0012", "ulcer\0011", "\0\0011", "cold\0012", "cold\0011"}
        last = {found.names[v] for g, v in zip(found.group, found.value, strict=True) if g == sizes[2]}
        assert last == {"flu\0011", "cold\0011"}


@given(
    st.lists(st.tuples(st.sampled_from("ab*"), st.sampled_from(["x", "y", None])), min_size=1, max_size=12),
    st.booleans(),
)
def test_groups_and_counts_by_hand(rows: list[tuple[str, str | None]], numbered: bool) -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"])
    frame = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.String}, orient="row")
    if numbered:
        frame = frame.with_columns(group=pl.col("q").rank("dense"))
    read = read_published(frame, schema)
    assert read.form == (Form.NUMBERED if numbered else Form.GENERALIZED)
    brute = Counter((q, s or "\0") for q, s in rows)
    counted = read.histogram
    box = [read.box(group)["q"] for group in range(read.groups)]
    triples = zip(counted.group.tolist(), counted.value.tolist(), counted.count.tolist(), strict=True)
    assert {(box[group], counted.names[value]): count for group, value, count in triples} == brute
    assert [box[group] for group in read.group.tolist()] == [q for q, _ in rows]
    assert read.sizes.sum() == len(rows)


def test_which_columns_number_groups() -> None:
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    rows = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})

    def form(group: list[Any], schema: Schema = schema) -> Form:
        return read_published(rows.with_columns(group=pl.Series(group)), schema).form

    assert form([1, 1, 2, 2]) == form([0, 0, 1, 1]) == form([1.0, 1.0, 2.0, 2.0]) == form(["1", "1", "2", "2"])
    assert form([1, 1, 2, 2]) == Form.PERMUTED
    assert form([4, 3, 2, 1]) == Form.NUMBERED
    for other in ([1, 1, 3, 3], [5, 5, 2, 2], ["a", "a", "b", "b"], [1, 1, 2, None], [1.5, 1.5, 2, 1], [None] * 4):
        assert form(other) == Form.GENERALIZED, other
    assert form([1, 1, 2, 2], Schema.of_columns(quasi=["age", "group"], sensitive=["ill"])) == Form.GENERALIZED


def test_a_quasi_identifier_may_be_called_group() -> None:
    schema = Schema.of_columns(quasi=["group"], sensitive=["ill"])
    read = read_published(pl.DataFrame({"group": [1, 1, 2], "ill": ["a", "b", "a"]}), schema)
    assert read.looks.texts.to_dict(as_series=False) == {"group": ["1", "2"]}
    assert (read.groups, read.sizes.tolist(), read.by) == (2, [2, 1], ("group",))


def test_two_tables_joined_by_names() -> None:
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    quasi = pl.DataFrame({"group": ["north", "north", "south"], "age": [1, 2, 2]})
    values = pl.DataFrame({"group": ["south", "north"], "ill": ["a", "b"], "count": [1, 2]})
    read = read_published([quasi, values], schema)
    assert (read.form, read.sizes.tolist()) == (Form.TWO_TABLES, [2, 1])
    assert read.histogram.names == ("a", "b")
    assert (read.histogram.group.tolist(), read.histogram.value.tolist()) == ([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("tables", "kind", "message"),
    [
        ([], DataError, "Give one published table"),
        ({"quasi": FRAME}, DataError, "Give one published table"),
        ([FRAME, FRAME], SchemaError, "Both tables"),
        ([FRAME.with_columns(group=1), FRAME.with_columns(group=2)], DataError, "8 rows have a 'group'"),
        ([FRAME.with_columns(group=1), FRAME.with_columns(group=1).head(3)], DataError, "do not belong together"),
        ([FRAME.with_columns(group=1), FRAME.with_columns(group=1, count=pl.lit("x"))], DataError, "whole numbers"),
        (FRAME.drop("len"), SchemaError, "lacks columns that the schema names: len"),
        (5, DataError, "dataframe"),
    ],
)
def test_what_cannot_be_read(tables: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        _ = read_published(tables, SCHEMA).histogram


@pytest.mark.parametrize(
    "counted",
    [
        {"group": [7], "counterfeits": [1]},
        {"group": [1], "counterfeits": [100]},
        {"group": [1], "counterfeits": [-1]},
        {"group": [1], "counterfeits": [None]},
    ],
)
def test_counterfeits_of_another_release_are_refused(counted: dict[str, Any]) -> None:
    tables = {**made(Form.NUMBERED, fakes=False).tables, "counterfeits": pl.DataFrame(counted)}
    with pytest.raises(DataError):
        _ = read_published(tables, SCHEMA).counterfeits
    unnumbered = {**made(Form.GENERALIZED, fakes=False).tables, "counterfeits": pl.DataFrame(counted)}
    with pytest.raises(DataError):
        _ = read_published(unnumbered, SCHEMA).counterfeits


def test_a_stale_file_beside_is_not_taken_for_the_values(tmp_path: Path) -> None:
    two, one = made(Form.TWO_TABLES, fakes=False), made(Form.PERMUTED, fakes=False)
    two.write(str(tmp_path / "out.csv"))
    one.write(str(tmp_path / "out.csv"), force=True)
    assert read_published(tmp_path / "out.csv", SCHEMA).form == Form.PERMUTED
