"""k^m-anonymity: groups smaller than k where any m columns leave k records, counted by hand and by brute force."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import check, synth
from reissue.requirements import parse
from tests.effort import examples

SCHEMA = ri.Schema.of_columns(quasi=["a", "b", "c"], sensitive=["s"])


def smallest(published: pl.DataFrame, columns: list[str], known: int) -> int:
    """Records of the smallest class by any so many columns."""
    return min(
        min(Counter(published.select(some).cast(pl.String).rows()).values()) for some in combinations(columns, known)
    )


def lost(release: ri.Release) -> float:
    boxes, taxonomies = release.boxes, release.table.taxonomies
    return sum(float(t.loss(boxes.lo[i], boxes.hi[i]) @ boxes.sizes) for i, t in enumerate(taxonomies))


def test_a_cube_needs_no_generalization() -> None:
    """Eight people, all combinations of three columns: any two columns leave two, all three leave one."""
    cube = pl.DataFrame({"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 0, 1, 1] * 2, "c": [0, 1] * 4, "s": list("abcdabcd")})
    found = check(cube, SCHEMA, "k-m=2,2 & k-m=4,1 & k-m=2,3 & k-m=3,2")
    assert [(one.met, one.groups, one.rows) for one in found.verdicts] == [
        (True, 0, 0),
        (True, 0, 0),
        (False, 8, 8),
        (False, 8, 8),
    ]
    for method in ("pool", "mondrian"):
        release = ri.anonymize(cube, SCHEMA, "k-m=2,2", method=method, seed=1)
        assert release.groups == 8
        assert ri.anonymize(cube, SCHEMA, "k-m=2,2 & l=2", method=method, seed=1).groups <= 4


@pytest.mark.parametrize("method", ["pool", "mondrian"])
def test_it_loses_less_than_groups_of_k(method: str) -> None:
    people, schema = next(synth.Population(seed=5, people=1200).months(1)), synth.schema()
    plain = ri.anonymize(people, schema, "k=10", method=method, seed=1)
    some = ri.anonymize(people, schema, "k-m=10,2", method=method, seed=1)
    assert smallest(some.tables["release"], list(schema.quasi), 2) >= 10
    assert int(some.boxes.sizes.min()) < 10
    assert lost(some) < 0.95 * lost(plain)


@pytest.mark.parametrize("method", ["incognito", "topdown"])
def test_other_methods_make_groups_of_k(method: str) -> None:
    people, schema = next(synth.Population(seed=5, people=200).months(1)), synth.schema()
    release = ri.anonymize(people, schema, "k-m=4,2", method=method, seed=1)
    assert check(release, schema, "k=4").met


@pytest.mark.parametrize("method", ["pool", "mondrian"])
@examples(40)
@given(data=st.data())
def test_any_columns_leave_k(method: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3, st.sampled_from("xy")), min_size=4, max_size=30))
    k, known = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    table = pl.DataFrame(rows, schema=["a", "b", "c", "s"], orient="row")
    suppress = data.draw(st.sampled_from([0.0, 0.2]))
    release = ri.anonymize(table, SCHEMA, f"k-m={k},{known}", method=method, seed=1, suppress=suppress)
    assert smallest(release.tables["release"], ["a", "b", "c"], min(known, 3)) >= k


@examples(60)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(1, 4)), min_size=1, max_size=8), st.integers(1, 6))
def test_holds_across_is_the_definition(groups: list[tuple[int, ...]], k: int) -> None:
    shown, sizes = np.array([one[:3] for one in groups]).T, np.array([one[3] for one in groups])
    for known in (1, 2, 3):
        expected = [
            all(
                sum(size for *other, size in groups if all(other[p] == one[p] for p in some)) >= k
                for some in combinations(range(3), known)
            )
            for one in groups
        ]
        assert parse(f"k-m={k},{known}").holds_across(shown, sizes).tolist() == expected


def test_minimality_does_not_take_it_for_a_reason() -> None:
    people, schema = next(synth.Population(seed=5, people=200).months(1)), synth.schema()
    release = ri.anonymize(people, schema, "k-m=3,2 & simple-l=2", seed=1)
    both = [
        ri.attack([release], schema, only=["minimality"], knowledge=ri.Knowledge(requirement=text))["minimality"]
        for text in ("k-m=3,2 & simple-l=2", "simple-l=2")
    ]
    assert both[0].status == both[1].status
    assert (both[0].people, both[0].worst) == (both[1].people, both[1].worst)
