"""check: what published columns satisfy, at every door, and `meets`, which guards every release."""

import datetime as dt
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Check, check
from reissue._arrays import Bools
from reissue.counting import Counts
from reissue.errors import DataError, NotMetError, RequirementError, SchemaError, TaxonomyError
from reissue.published import Form, read_published
from reissue.release.release import GROUP
from reissue.requirements import Requirement, parse
from reissue.schema import Role, Schema
from reissue.verify import meets, read_groups
from tests.effort import examples

SCHEMA = Schema.of_columns(quasi=["age", "zip"], sensitive=["disease"])
PUBLISHED = pl.DataFrame(
    {
        "age": ["[20, 29]"] * 3 + ["[30, 39]"] * 4,
        "zip": ["53***", "53***", "53***", "*", "*", "*", "*"],
        "disease": ["flu", "flu", "ulcer", "flu", "ulcer", "cold", None],
        "note": list("abcdefg"),
    }
)
QUASI = pl.DataFrame({GROUP: [1, 1, 1, 2, 2, 2, 2], "age": range(20, 27), "zip": range(7)})
SENSITIVE = pl.DataFrame(
    {GROUP: [1, 1, 2, 2, 2, 2], "disease": ["flu", "ulcer", "flu", "ulcer", "cold", None], "count": [2, 1, 1, 1, 1, 1]}
)


def same(one: Check, other: Check) -> bool:
    return one.as_dict() == other.as_dict()


def test_what_a_small_table_satisfies() -> None:
    found = check(PUBLISHED, SCHEMA, "k=3 & l=3 & t=0.5")
    assert (found.rows, found.groups) == (7, 2)
    assert found["k"] == 3
    assert found["l"] == 2
    assert found["entropy-l"] == pytest.approx(exp(log(3) - 2 * log(2) / 3))
    assert found["recursive:l=2"] == 2
    assert found["recursive:l=3"] is None
    assert found["simple-l"] == pytest.approx(1.5)
    assert found["confidence"] == found["alpha-k"] == pytest.approx(2 / 3)
    assert found["t"] == pytest.approx(2 / 7)
    assert found["c-k:k=1"] == 1
    assert found["m-unique"] == 0
    assert [(v.requirement, v.met, v.groups, v.rows) for v in found.verdicts] == [
        ("k=3", True, 0, 0),
        ("l=3", False, 1, 3),
        ("t=0.5", True, 0, 0),
    ]
    assert not found.met
    assert "at least 2 others (k = 3)" in str(found)
    assert "l=3 is not met: 1 groups with 3 rows fall short." in str(found)
    with pytest.raises(NotMetError, match="l=3 is not met"):
        found.raise_if_not_met()
    with pytest.raises(KeyError, match="not measured"):
        found["nonsense"]


def test_json_has_no_infinity() -> None:
    alone = PUBLISHED.with_columns(age=pl.int_range(pl.len()))
    found = check(alone, SCHEMA, "k=1")
    assert found.met
    found.raise_if_not_met()
    assert (found["k"], found["l"], found["m-unique"]) == (1, 1, 1)
    again = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert again["met"] is True
    assert again["measures"][0] == {"name": "k", "value": 1, "sentence": found.measures[0].sentence, "column": ""}
    assert again["verdicts"] == [
        {"requirement": "k=1", "met": True, "groups": 0, "rows": 0, "unit": "rows", "columns": []}
    ]


def test_every_kind_of_frame_and_file(tmp_path: Path) -> None:
    expected = check(PUBLISHED, SCHEMA, "k=3")
    PUBLISHED.write_csv(tmp_path / "out.csv")
    PUBLISHED.write_parquet(tmp_path / "out.parquet")
    frames: list[Any] = [PUBLISHED.lazy(), PUBLISHED.to_pandas(), PUBLISHED.to_arrow(), {"release": PUBLISHED}]
    frames += [[PUBLISHED], tmp_path / "out.csv", str(tmp_path / "out.parquet"), [tmp_path / "out.csv"]]
    for frame in frames:
        assert same(check(frame, SCHEMA, parse("k=3")), expected)


def test_two_tables() -> None:
    expected = check(PUBLISHED, SCHEMA, "l=3")
    listed = SENSITIVE.select(pl.exclude("count").repeat_by("count").list.explode())
    forms: list[Any] = [(QUASI, SENSITIVE), {"quasi": QUASI, "sensitive": SENSITIVE}, (QUASI, listed)]
    for tables in forms:
        found = check(tables, SCHEMA, "l=3")
        assert found.form == Form.TWO_TABLES
        assert [(one.name, one.value) for one in found.measures] == [(one.name, one.value) for one in expected.measures]
        assert (found.rows, found.groups, found.verdicts) == (expected.rows, expected.groups, expected.verdicts)
    assert meets({"quasi": QUASI, "sensitive": SENSITIVE}, SCHEMA, parse("k=3 & l=2"))
    assert not meets({"quasi": QUASI, "sensitive": SENSITIVE}, SCHEMA, parse("l=3"))


def test_two_tables_that_do_not_belong_together() -> None:
    with pytest.raises(DataError, match="do not belong together"):
        check((QUASI.head(6), SENSITIVE), SCHEMA)
    assert not meets({"quasi": QUASI.head(6), "sensitive": SENSITIVE}, SCHEMA, parse("k=1"))
    with pytest.raises(DataError, match="whole numbers"):
        check((QUASI, SENSITIVE.with_columns(pl.col("count") + 0.5)), SCHEMA)
    wrong: list[Any] = [{"quasi": QUASI}, [], [QUASI, SENSITIVE, QUASI]]
    for tables in wrong:
        with pytest.raises(DataError, match="Give one published table"):
            check(tables, SCHEMA)


def test_one_table_with_numbered_groups() -> None:
    one = PUBLISHED.with_columns(age=pl.int_range(pl.len()), group=pl.Series([2] * 3 + [1] * 4))
    assert check(one, SCHEMA)["k"] == 3
    assert check(one, SCHEMA).form == Form.PERMUTED
    assert "only if the sensitive values were put into random order" in str(check(one, SCHEMA))
    assert meets({"release": one}, SCHEMA, parse("k=3"))
    with pytest.raises(SchemaError, match="lacks columns: number"):
        check(one, SCHEMA, by="number")


def test_a_column_called_group_that_is_data() -> None:
    one = PUBLISHED.with_columns(age=pl.int_range(pl.len()), group=pl.Series([5] * 3 + [2] * 4))
    assert check(one, SCHEMA)["k"] == 1
    assert check(one, SCHEMA, by="group")["k"] == 3
    data = PUBLISHED.with_columns(group=pl.Series([1] * 3 + [2] * 4))
    assert check(data, Schema.of_columns(quasi=["age", "zip", "group"], sensitive=["disease"])).form == Form.GENERALIZED
    assert check(data, Schema(dict(SCHEMA.columns) | {"group": Role.KEEP})).form == Form.GENERALIZED


def test_what_cannot_be_checked() -> None:
    with pytest.raises(SchemaError, match=r"lacks columns: disease. Did you mean 'diseases'"):
        check(PUBLISHED.rename({"disease": "diseases"}), SCHEMA)
    with pytest.raises(SchemaError, match="no quasi-identifier"):
        check(PUBLISHED, Schema.of_columns(quasi=[], sensitive=["disease"]))
    with pytest.raises(SchemaError, match="no such column"):
        check(PUBLISHED, Schema.of_columns(quasi=["age"]), "l=2")
    with pytest.raises(DataError, match="no rows"):
        check(PUBLISHED.clear(), SCHEMA)
    with pytest.raises(RequirementError, match="one sensitive column"):
        check(PUBLISHED, SCHEMA, "t=0.5:ordered")
    tree = ri.Hierarchy(kind="tree", tree={"ill": ["flu", "ulcer"]})
    with pytest.raises(TaxonomyError, match="1 different values") as lacking:
        check(PUBLISHED, Schema.of_columns(quasi=["age"], sensitive=["disease"], taxonomies={"disease": tree}))
    assert "cold" not in str(lacking.value)


def test_without_sensitive_columns_there_is_k() -> None:
    found = check(PUBLISHED, Schema.of_columns(quasi=["age"]), "k=4")
    assert [measure.name for measure in found.measures] == ["k"]
    assert [(v.met, v.groups, v.rows) for v in found.verdicts] == [(False, 1, 3)]


def test_distances_appear_where_they_apply() -> None:
    def names(frame: pl.DataFrame, tree: ri.Hierarchy | None = None) -> set[str]:
        trees = {"s": tree} if tree else {}
        schema = Schema.of_columns(quasi=["q"], sensitive=["s"], taxonomies=trees)
        return {measure.name for measure in check(frame, schema).measures}

    numbers = pl.DataFrame({"q": [1, 1, 2, 2], "s": [10, 20, 30, 31]})
    assert {"t:ordered", "k-e"} <= names(numbers)
    assert "t:hierarchical" not in names(numbers)
    assert {"t:ordered", "t:hierarchical"} <= names(numbers, ri.Hierarchy(ranges=(10.0,), kind="ranges"))
    words = numbers.with_columns(s=pl.Series(["a", "b", "c", "*"]))
    assert not {"t:ordered", "t:hierarchical", "k-e"} & names(words)
    tree = ri.Hierarchy(kind="tree", tree={"x": ["a", "b"], "y": ["c"]})
    assert "t:hierarchical" in names(words.head(3), tree)
    days = numbers.with_columns(s=pl.Series([dt.date(2024, 1, day) for day in (1, 5, 6, 9)]))
    assert check(days, Schema.of_columns(quasi=["q"], sensitive=["s"]))["k-e"] == 3


def test_several_sensitive_columns_are_judged_one_by_one_and_together() -> None:
    frame = PUBLISHED.with_columns(stage=pl.Series([1, 2, 1, 1, 1, 1, None]))
    schema = Schema.of_columns(quasi=["age", "zip"], sensitive=["disease", "stage"])
    found = check(frame, schema, "l=3 & t=0.6")
    assert [one.met for one in found.verdicts] == [False, True]
    assert found.verdicts[0].columns == ("disease", "stage")
    assert "in the column 'disease' and in the column 'stage'" in found.verdicts[0].sentence
    assert found["l"] == 2
    own = {column: {one.name: one.value for one in measures}["l"] for column, measures in found.columns.items()}
    assert own == {"disease": 2, "stage": 2, "disease, stage": 3}
    assert json.loads(json.dumps(found.as_dict()))["columns"]["stage"][1]["value"] == 2
    assert any(one.column == "disease" and one.sentence.startswith("In the column") for one in found.measures)
    assert "In the sensitive columns taken together, l = 3" in str(found)


def test_records_whose_value_needs_no_protection_count_as_values_of_their_own() -> None:
    frame = pl.DataFrame({"q": [1, 1, 1, 2, 2, 2], "s": [None, None, "x", "neg", "neg", "x"]})
    plain = {"columns": {"q": "quasi", "s": "sensitive"}}
    found = check(frame, plain, "confidence=0.5")
    assert not found.met
    assert found.unprotected == 2
    assert "2 records have a sensitive value that needs no protection" in found.first
    spared = check(frame, {**plain, "policy": {"harmless_values": ["neg"]}}, "confidence=0.5")
    assert spared.met
    assert spared["confidence"] == pytest.approx(1 / 3)
    guarded = check(frame, {**plain, "policy": {"missing_is_sensitive": True}})
    assert guarded["confidence"] == pytest.approx(2 / 3)
    assert guarded.unprotected == 0


CELLS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.one_of(st.none(), st.sampled_from(["", "a", "[1, 2]", "*"])),
    "whole": st.one_of(st.none(), st.sampled_from([-(2**62), -1, 0, 1, 2**62])),
    "small": st.integers(0, 2),
    "real": st.one_of(st.none(), st.sampled_from([0.5, -1.25, float("nan"), 1e300])),
    "flag": st.booleans(),
    "day": st.sampled_from([dt.date(1900, 1, 1), dt.date(2024, 2, 29)]),
    "nothing": st.none(),
}


@examples(100)
@given(data=st.data())
def test_rows_with_equal_cells_are_one_group(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    rows = data.draw(
        st.lists(st.tuples(*(CELLS[kind] for kind in kinds), st.sampled_from("xyz")), min_size=1, max_size=12)
    )
    names = [f"q{place}" for place in range(len(kinds))]
    frame = pl.DataFrame(rows, schema=[*names, "s"], orient="row")
    expected: dict[Any, Counter[str]] = defaultdict(Counter)
    for *cells, value in rows:
        expected[tuple(None if cell != cell else cell for cell in cells)][value] += 1  # noqa: PLR0124
    groups = read_groups(read_published(frame, Schema.of_columns(quasi=names, sensitive=["s"])))
    found: dict[int, list[int]] = defaultdict(list)
    for group, _, count in groups.runs.iter_rows():
        found[group].append(count)
    assert sorted(map(sorted, found.values())) == sorted(sorted(counts.values()) for counts in expected.values())


def test_keys_of_wide_tables_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1000, (50, 24))
    frame = pl.DataFrame(np.vstack([values, values, values[:10]]), schema=[f"q{i}" for i in range(24)])
    frame = frame.with_columns(s=pl.int_range(pl.len()) % 7)
    groups = read_groups(read_published(frame, Schema.of_columns(quasi=frame.columns[:24], sensitive=["s"])))
    assert sorted(groups.size.to_list()) == [2] * 40 + [3] * 10


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=20))
def test_measures_are_the_worst_over_groups(rows: list[tuple[int, str]]) -> None:
    found = check(pl.DataFrame(rows, schema=["q", "s"], orient="row"), Schema.of_columns(quasi=["q"], sensitive=["s"]))
    groups: dict[int, Counter[str]] = defaultdict(Counter)
    for group, value in rows:
        groups[group][value] += 1
    sizes = {group: sum(counts.values()) for group, counts in groups.items()}
    assert found["k"] == min(sizes.values())
    assert found["l"] == min(len(counts) for counts in groups.values())
    assert found["confidence"] == pytest.approx(max(max(c.values()) / sizes[g] for g, c in groups.items()))
    whole = Counter(value for _, value in rows)
    far = [sum(abs(counts[v] / sizes[g] - whole[v] / len(rows)) for v in whole) / 2 for g, counts in groups.items()]
    assert found["t"] == pytest.approx(max(far))


@dataclass(frozen=True)
class _Even(Requirement):
    """A user's own requirement: an even number of rows."""

    name: ClassVar[str] = "even"

    def holds(self, counts: Counts) -> Bools:
        return np.asarray(counts.sizes % 2 == 0, np.bool_)

    @classmethod
    def parse(cls, argument: str) -> "_Even":
        return cls()

    def __str__(self) -> str:
        return "even"


def test_a_users_own_requirement_is_judged_by_itself() -> None:
    assert [(v.met, v.groups) for v in check(PUBLISHED, SCHEMA, _Even()).verdicts] == [(False, 1)]


@pytest.mark.parametrize("text", ["k=3", "l=2", "k=3 & t=0.6", "c-k=0.99,0"])
def test_a_release_is_checked_as_such(text: str) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 60), "s": rng.integers(0, 5, 60)})
    schema = Schema.of_columns(quasi=["age"], sensitive=["s"])
    release = ri.anonymize(frame, schema, text, seed=1)
    assert check(release, schema, text).met
    assert meets(release.tables, schema, release.requirement, release.table.secrets)


def test_a_single_changed_row_is_noticed() -> None:
    good = {"release": PUBLISHED}
    assert meets(good, SCHEMA, parse("k=3 & l=2 & confidence=0.7"))
    changed = PUBLISHED.with_columns(age=pl.Series(["[20, 29]", "[20, 29]", *["[30, 39]"] * 5]))
    assert not meets({"release": changed}, SCHEMA, parse("k=3"))
    flu = PUBLISHED.with_columns(disease=pl.Series(["flu", "flu", "flu", "flu", "ulcer", "cold", None]))
    assert not meets({"release": flu}, SCHEMA, parse("l=2"))


def test_an_empty_release_breaks_nothing() -> None:
    for text in ("k=3", "l=2", "t=0.5", "entropy-l=2", "recursive=2,3", "c-k=0.5,2", "m-unique=2", "simple-l=2"):
        assert meets({"release": PUBLISHED.clear()}, SCHEMA, parse(text))
