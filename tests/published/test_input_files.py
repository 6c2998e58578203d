"""What the names of files tell about the order of releases."""

from pathlib import Path

import pytest

from reissue.published.tables import order_hint, releases_among


@pytest.mark.parametrize(
    "names",
    [
        ["jan.csv", "feb.csv", "mar.csv"],
        ["November.csv", "december.csv", "January.csv"],
        ["2024-01.csv", "2024-02.csv", "2025-01.csv"],
        ["x_20240131.csv", "x_20240229.csv"],
        ["2024-Q1.csv", "2024-Q2.csv"],
        ["r1.csv", "r2.csv", "r10.csv"],
        ["first.csv", "second.csv"],
        ["spring.csv", "2024.csv"],
        ["one.csv"],
        ["same.csv", "same.csv"],
    ],
)
def test_an_order_that_the_names_do_not_contradict(names: list[str]) -> None:
    assert not order_hint([Path(name) for name in names])


@pytest.mark.parametrize(
    "names",
    [
        ["feb.csv", "jan.csv"],
        ["apr.csv", "aug.csv", "dec.csv", "feb.csv"],
        ["2024-02.csv", "2024-01.csv"],
        ["r1.csv", "r10.csv", "r2.csv"],
        ["2024-Q2.csv", "2024-Q1.csv"],
        ["2025.csv", "2024.csv"],
    ],
)
def test_an_order_that_they_contradict(names: list[str]) -> None:
    assert "another order" in order_hint([Path(name) for name in names])


def test_what_lies_beside_a_release_is_none() -> None:
    given = [Path(name) for name in ("a.csv", "a.counterfeits.csv", "a.sensitive.csv", "b.sensitive.csv", "a.v2.csv")]
    assert [path.name for path in releases_among(given)] == ["a.csv", "b.sensitive.csv", "a.v2.csv"]
