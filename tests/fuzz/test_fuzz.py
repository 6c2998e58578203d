"""Every command on hostile inputs: no traceback, no exit 70, no hang, and releases that withstand the judge.

A few hundred cases every time, the same ones; twenty thousand under `make test-all`.
"""

import pytest

from tests.fuzz.drive import drive
from tests.fuzz.generate import make

BATCH, SOME, MANY = 20, 80, 20_000


def problems(first: int, number: int, *, apart: bool = False) -> list[str]:
    return [str(problem) for seed in range(first, first + number) for problem in drive(make(seed), apart=apart)]


@pytest.mark.parametrize("first", range(0, SOME, BATCH))
def test_nothing_breaks(first: int) -> None:
    assert problems(first, BATCH) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SOME, MANY, 10 * BATCH))
def test_nothing_breaks_in_thousands_of_cases(first: int) -> None:
    assert problems(first, 10 * BATCH) == []


def test_nothing_breaks_in_a_process_of_its_own() -> None:
    assert problems(3, 2, apart=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100, BATCH))
def test_nothing_breaks_in_processes_of_their_own(first: int) -> None:
    assert problems(first, BATCH, apart=True) == []


def test_a_case_is_the_same_every_time() -> None:
    assert all(make(seed) == make(seed) for seed in range(50))
