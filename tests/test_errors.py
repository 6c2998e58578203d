"""The hierarchy of errors, and names that are nearly right."""

import pytest

from reissue import errors
from reissue.errors import InputError, InternalError, NotMetError, ReissueError, nearest, nearest_column


def test_every_error_is_drawn_in_the_docstring() -> None:
    drawn = errors.__doc__ or ""
    kinds = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert all(issubclass(kind, ReissueError) for kind in kinds)
    assert all(kind.__name__ in drawn for kind in kinds)


def test_the_users_mistakes_our_bugs_and_a_no_are_apart() -> None:
    for one in (InputError, NotMetError, InternalError):
        for other in {InputError, NotMetError, InternalError} - {one}:
            assert not issubclass(one, other)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("aeg", ["age", "zip"], " Did you mean 'age'?"),
        ("xyz", ["b", "a"], " Known: a, b."),
        ("xyz", [], ""),
    ],
)
def test_nearest(name: str, known: list[str], expected: str) -> None:
    assert nearest(name, known) == expected


def test_nearest_reads_its_names_once() -> None:
    assert nearest("aeg", iter(["age"])) == " Did you mean 'age'?"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["Age", "zebra"], " Did you mean 'Age'?"),
        (["zebra", "yak"], " The data has 2 columns; is its first line a header with their names?"),
        (["zebra;yak"], " The header is one single column: is the delimiter ';'? Try dialect=Dialect(delimiter='X')."),
        (["zebra"], " The data has 1 column; is its first line a header with their names?"),
    ],
)
def test_the_datas_own_names_are_not_listed(columns: list[str], expected: str) -> None:
    assert nearest_column("age", columns) == expected
