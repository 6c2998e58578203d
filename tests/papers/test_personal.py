"""Each person's results against the definitions: paths and prefixes of a series, enumerated one by one."""

import json
from itertools import pairwise, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.errors import InputError
from reissue.papers.personal import PRIVATE
from tests.effort import examples
from tests.hospital import SCHEMA as STAYS
from tests.hospital import T1, T2, T3
from tests.papers.test_invariance import series as series_of
from tests.papers.test_updates import SCHEMA, TABLE_3, TABLE_4, TABLE_5, TREE

BRANCH = {value: branch for branch, values in TREE.items() for value in values}
VALUES = list(BRANCH)
Table = list[tuple[str, int, str]]


def frame(rows: Table) -> pl.DataFrame:
    names, groups, diseases = zip(*rows, strict=True)
    boxes = [f"box {group}" for group in groups]
    return pl.DataFrame({"name": names, "zip": boxes, "hours": boxes, "disease": diseases})


def posterior(tables: list[Table], name: str) -> list[dict[str, float]]:
    """For each release with the person every value's share of the weight of all feasible paths (equation 2)."""
    groups = []
    for rows in tables:
        own = [group for who, group, _ in rows if who == name]
        groups += [[value for _, group, value in rows if group == own[0]]] if own else []
    weights: list[dict[str, float]] = [{} for _ in groups]
    total = 0.0
    for path in product(*groups):
        if all(BRANCH[a] == BRANCH[b] for a, b in pairwise(path)):
            weight = 1.0
            for value in path[1:]:
                weight /= len(TREE[BRANCH[value]])
            total += weight
            for place, value in enumerate(path):
                weights[place][value] = weights[place].get(value, 0) + weight
    return [{value: weight / total for value, weight in one.items()} for one in weights]


@st.composite
def series(draw: st.DrawFn) -> list[Table]:
    """Two or three tables of up to five people, whose values stay in their branch."""
    people = draw(st.lists(st.sampled_from("abcde"), min_size=2, max_size=5, unique=True))
    branch = {one: draw(st.sampled_from(list(TREE))) for one in people}
    tables = []
    for _ in range(draw(st.integers(2, 3))):
        here = [one for one in people if draw(st.integers(0, 4))] or people
        tables.append([(one, draw(st.integers(1, 2)), draw(st.sampled_from(TREE[branch[one]]))) for one in here])
    return tables


@examples(60)
@given(tables=series())
def test_risks_are_those_of_the_definitions(tables: list[Table]) -> None:
    found = ri.personal_risks([frame(rows) for rows in tables], SCHEMA).frame
    assert found.height == sum(map(len, tables))
    for row in found.to_dicts():
        name, number = row["person"], row["release"]
        here = [at for at, rows in enumerate(tables, start=1) if name in {who for who, _, _ in rows}]
        truth = next(value for who, _, value in tables[number - 1] if who == name)
        assert row["true_value"] == truth
        after = posterior(tables, name)[here.index(number)]
        assert json.loads(row["posterior"]) == pytest.approx(after, abs=1e-5)
        assert row["disclosure_risk"] == pytest.approx(after[truth])
        ever = [posterior(tables[:n], name)[here.index(number)][truth] for n in range(number, len(tables) + 1)]
        assert row["republication_risk"] == pytest.approx(max(ever))
        assert row["values_left"] == len(after)


def test_julia_as_the_paper_tells_her() -> None:
    found = ri.personal_risks([TABLE_3, TABLE_4], SCHEMA)
    julia = found.of("Julia")
    assert julia.history["disclosure_risk"].to_list() == [1.0, 0.5]
    assert julia.history["republication_risk"].to_list() == [1.0, 0.5]
    assert julia.update_graph["picture"]["kind"] == "paths"
    assert julia.equivalence is None
    assert "values change" in julia.note
    assert json.loads(json.dumps(julia.as_dict()))["private"] == PRIVATE
    assert "PRIVATE" in repr(found)
    assert "Julia" not in repr(found)


def test_a_risk_can_fall_again_and_the_largest_is_kept() -> None:
    found = ri.personal_risks([TABLE_3, TABLE_5], SCHEMA).frame
    assert (found["republication_risk"] >= found["disclosure_risk"] - 1e-9).all()
    assert found["republication_risk"].max() == pytest.approx(3 / 5)


def test_the_cut_of_an_equivalence_attack_example_3() -> None:
    one = T1.with_columns(group=pl.Series([1, 1, 2, 2, 3, 3]))
    fake = pl.DataFrame({"owner": [None], "age": [49], "zip": [51000], "disease": ["flu"], "group": [2]})
    two = pl.concat([T2.with_columns(group=pl.Series([1, 2, 3, 1, 3, 4, 4])), fake.cast(one.schema)])
    found = ri.personal_risks([one, two], STAYS)
    least = dict(found.frame.select("person", "smallest_e").rows())
    assert {name for name, e in least.items() if e == 1} == {"Bob", "Greg", "Dan", "Frank", "Harry"}
    assert found.frame.filter(pl.col("smallest_e").is_null())["person"].n_unique() == 5
    bob = found.of("Bob").equivalence
    assert bob is not None
    assert bob["picture"]["kind"] == "history"
    assert "1 is left on either side" in bob["steps"][2]
    assert found.of("Alice").equivalence is None
    assert "no equivalence attack" in found.of("Alice").note


def test_the_cut_through_a_whole_bucket() -> None:
    releases = series_of("equivalence", "simple-l=2", [T1, T2, T3], e=1)
    found = ri.personal_risks(releases, STAYS, limits={"equivalence": 3})
    cut = found.of("Frank").equivalence
    assert cut is not None
    assert '"cut": true' in json.dumps(cut)


def test_what_it_needs_and_refuses() -> None:
    with pytest.raises(InputError, match="per-person results"):
        ri.personal_risks([TABLE_3.drop("name")], SCHEMA.with_roles({"name": "drop"}))
    found = ri.personal_risks([TABLE_3], SCHEMA)
    with pytest.raises(InputError, match="Nobody with that identifier"):
        found.of("Nobody")
    with pytest.raises(InputError, match="no sensitive column of that name"):
        found.of("Ken", "zip")


def test_several_sensitive_columns() -> None:
    table = TABLE_3.with_columns(pl.col("hours").alias("day"))
    both = ri.Schema.of_columns(quasi=["zip"], sensitive=["day", "disease"], identifier="name")
    found = ri.personal_risks([table], both)
    assert sorted(found.frame["column"].unique()) == sorted({"day", "disease", *found.columns})
    assert found.of("Ken").column == "day", "the column of which most is known"
