"""Definition 13's signatures are multisets: a value that a group has twice counts twice, in `check --series` too."""

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reissue.papers.series_check import check_series
from tests.effort import examples
from tests.papers.test_updates import SCHEMA, TREE

BRANCH = {value: branch for branch, values in TREE.items() for value in values}
Rows = list[tuple[str, int, str]]


def frame(rows: Rows) -> pl.DataFrame:
    names, groups, diseases = zip(*rows, strict=True)
    boxes = [f"box {group}" for group in groups]
    return pl.DataFrame({"name": names, "zip": boxes, "hours": boxes, "disease": diseases})


def legal(before: list[str], after: list[str]) -> bool:
    """Definition 14, branch by branch: a candidate update set is a branch."""
    return len(before) == len(after) and {BRANCH[value] for value in before} == {BRANCH[value] for value in after}


def illegal(tables: list[Rows]) -> int:
    """People who went to a group whose values are no legal instance of those of the group before."""
    found = set()
    for one, other in pairwise(tables):
        groups = [{who: [v for _, h, v in rows if h == g] for who, g, _ in rows} for rows in (one, other)]
        found |= {who for who in groups[0].keys() & groups[1].keys() if not legal(groups[0][who], groups[1][who])}
    return len(found)


def test_twice_is_not_once() -> None:
    one = frame([("Ken", 1, "Flu"), ("Julia", 1, "Flu"), ("Tom", 2, "Cataract"), ("Harry", 2, "Flu")])
    two = frame([("Ken", 1, "Flu"), ("Julia", 2, "Pneumonia"), ("Tom", 3, "Cataract"), ("Harry", 3, "Pneumonia")])
    found = check_series([one, two], SCHEMA)
    assert found.m == 0
    assert found.illegal == 2, "two records of a respiratory disease became one"
    assert found.overlapping == 2


people = st.lists(st.sampled_from("abcdef"), min_size=2, max_size=6, unique=True)


@examples(80)
@given(
    people.flatmap(
        lambda names: st.lists(
            st.tuples(*(st.tuples(st.just(name), st.integers(1, 2), st.sampled_from(list(BRANCH))) for name in names)),
            min_size=2,
            max_size=2,
        )
    )
)
def test_against_the_definition(tables: list[tuple[tuple[str, int, str], ...]]) -> None:
    rows = [list(table) for table in tables]
    assert check_series([frame(table) for table in rows], SCHEMA).illegal == illegal(rows)
