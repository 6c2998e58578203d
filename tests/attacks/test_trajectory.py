"""The trajectory attack against a twin that compares everyone's whole pattern with everyone else's."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks.findings import Finding, Status
from reissue.attacks.trajectory.classes import LookedAt, follow, one_each
from reissue.errors import DataError, SchemaError
from reissue.schema import Schema

SCHEMA = Schema.of_columns(identifier="id", quasi=["age", "zip"], sensitive=["s"])
Pattern = tuple[int | None, ...]
"""A person's look in each release; None where absent."""
SERIES = st.integers(1, 4).flatmap(
    lambda releases: st.lists(st.tuples(*[st.none() | st.integers(0, 2)] * releases), min_size=1, max_size=12)
)


def seen(people: Sequence[Pattern], release: int) -> LookedAt:
    there = [(f"p{number}", one[release]) for number, one in enumerate(people) if one[release] is not None]
    marks = pl.Series([mark for mark, _ in there], dtype=pl.String)
    return LookedAt(marks, pl.Series([look for _, look in there], dtype=pl.Int64).to_numpy())


@given(people=SERIES, limit=st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_classes_are_people_with_the_same_whole_pattern(people: Sequence[Pattern], limit: int) -> None:
    releases = len(people[0])
    found = follow([seen(people, release) for release in range(releases)], limit)
    for last, grown in enumerate(found.growth, start=1):
        patterns = [one[:last] for one in people if any(look is not None for look in one[:last])]
        sizes = [Counter(patterns)[pattern] for pattern in patterns]
        assert grown.people == len(patterns)
        assert grown.unique == sum(size == 1 for size in sizes)
        assert grown.below == sum(size < limit for size in sizes)
        assert grown.classes == len(set(patterns)) == round(sum(1 / size for size in sizes))
        assert grown.smallest == min(sizes, default=0)


def file(*rows: tuple[str | None, str, str]) -> pl.DataFrame:
    """Pseudonym, age, zip."""
    return pl.DataFrame([(*row, "x") for row in rows], schema=["id", "age", "zip", "s"], orient="row")


FIRST = file(("a", "[20, 29]", "1*"), ("b", "[20, 29]", "1*"), ("c", "[30, 39]", "2*"), ("d", "[30, 39]", "2*"))
SECOND = file(("a", "[20, 29]", "1*"), ("b", "[20, 29]", "2*"), ("c", "[30, 39]", "2*"), (None, "[30, 39]", "2*"))


def trajectory(*frames: object, schema: Schema = SCHEMA, **how: object) -> Finding:
    return ri.attack(list(frames), schema, only="trajectory", **how)["trajectory"]  # type: ignore[arg-type]


def test_a_pseudonym_makes_patterns_of_groups_that_were_large_enough() -> None:
    found = trajectory(FIRST, SECOND, limits={"trajectory": 2})
    assert (found.status, found.people, found.population, found.worst) == (Status.EXPOSED, 4, 4, 1)
    assert (found.details["unique"], found.details["expected"], found.details["linked_by"]) == (4, 4, "pseudonym")
    assert [one["unique"] for one in found.details["growth"]] == [0, 4]
    assert "4 of 4 people are the only ones with their pattern" in found.sentence
    assert "after the first release 0 and 0" in found.sentence
    steps = found.details["case"]["steps"]
    assert "Release 1: the person has age [20, 29], zip 1*. So far 2 people share the pattern." in steps


def test_one_release_is_as_good_as_its_groups() -> None:
    found = trajectory(FIRST, limits={"trajectory": 2})
    assert (found.status, found.worst) == (Status.WITHSTOOD, 2)


def test_the_limit_is_five_unless_somebody_says_so() -> None:
    assert trajectory(FIRST).limit == 5
    with pytest.raises(SchemaError, match="a number of people"):
        trajectory(FIRST, limits={"trajectory": 2.5})


def test_groups_that_are_numbered_are_no_more_than_what_they_show() -> None:
    numbered = FIRST.with_columns(pl.Series("group", [1, 2, 3, 3]))
    assert trajectory(numbered, limits={"trajectory": 2}).status == Status.WITHSTOOD


def test_releases_with_different_columns_are_followed_too() -> None:
    found = trajectory(FIRST.drop("zip"), SECOND.drop("age"), limits={"trajectory": 2})
    assert found.details["unique"] == 4


def test_a_pseudonym_that_two_rows_have_is_said_once() -> None:
    with pytest.raises(DataError, match="In release 2 the column 'id' is no pseudonym: it repeats itself in 1 row"):
        trajectory(FIRST, pl.concat([SECOND, SECOND[:1]]))


def test_without_a_pseudonym_what_never_changes_links_rows() -> None:
    schema = Schema.of_columns(quasi=["birth_year", "sex", "zip"], sensitive=["s"])
    one = pl.DataFrame({"birth_year": [1950, 1950, 1960], "sex": ["f", "f", "m"], "zip": [1, 1, 2], "s": ["x"] * 3})
    other = pl.DataFrame({"birth_year": [1950, 1960, 1960], "sex": ["f", "m", "m"], "zip": [1, 2, 2], "s": ["y"] * 3})
    found = trajectory(one, other, schema=schema, limits={"trajectory": 2})
    assert found.details["columns"] == ["birth_year", "sex"]
    assert (found.people, found.population, found.details["unique"], found.worst) == (2, 4, 2, 1)
    assert "taken to stay the same for life" in found.sentence


def test_sex_alone_follows_nobody() -> None:
    schema = Schema.of_columns(quasi=["sex", "zip"], sensitive=["s"])
    frame = pl.DataFrame({"sex": ["f", "m"], "zip": [1, 2], "s": ["x", "y"]})
    assert "nothing links rows" in str(trajectory(frame, frame, schema=schema).reason)


def test_files_that_kept_a_pseudonym_are_enough(tmp_path: Path) -> None:
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path, frame in zip(files, (FIRST, SECOND.drop_nulls()), strict=True):
        frame.rename({"id": "pseudonym"}).with_columns(pl.Series("s", list("uvwx")[: frame.height])).write_csv(path)
    assert trajectory(*files, schema=None).details["unique"] == 4  # type: ignore[arg-type]


@given(rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=14), limit=st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_several_rows_of_a_person_are_one_pattern(rows: list[tuple[int, int]], limit: int) -> None:
    marks = pl.Series([f"p{person}" for person, _ in rows])
    found = follow([one_each(marks, pl.Series([look for _, look in rows]).to_numpy())], limit).growth[-1]
    people = {person for person, _ in rows}
    patterns = [tuple(sorted(look for other, look in rows if other == person)) for person in people]
    sizes = [Counter(patterns)[pattern] for pattern in patterns]
    assert (found.people, found.classes) == (len(people), len(set(patterns)))
    assert (found.unique, found.below) == (sum(size == 1 for size in sizes), sum(size < limit for size in sizes))


def test_visits_of_a_pseudonym_are_linked_within_one_file() -> None:
    visits = file(("a", "[20, 29]", "1*"), ("b", "[20, 29]", "1*"), ("a", "[30, 39]", "2*"), ("c", "[30, 39]", "2*"))
    schema = replace(SCHEMA, several_rows=True)
    found = trajectory(visits, schema=schema)
    assert (found.status, found.people, found.population, found.details["unique"]) == (Status.EXPOSED, 3, 3, 3)
    assert trajectory(visits.sort("age"), visits, schema=schema).people == 3
    assert any("rows, one of them" in step for step in found.details["case"]["steps"])
    blind = trajectory(visits.drop("id"), schema=schema)
    assert "nothing says which rows" in str(blind.reason)
