"""Fitness: at least 1 exactly where the requirement is met; monotone where it must be; the paper's equation 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.counting import Counts
from reissue.requirements import parse
from reissue.requirements._base import fitness
from tests.attacks.test_coalition_search import DOMAIN, GROWING, OTHERS
from tests.effort import examples

MONOTONE = [text for text in OTHERS if not text.startswith(("m-unique", "c-k"))]
histograms = st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any)


def score(text: str, *groups: list[int]) -> list[float]:
    return [float(value) for value in fitness(parse(text), counted(*groups))]


def counted(*groups: list[int]) -> Counts:
    matrix = np.array(groups)
    row, column = np.nonzero(matrix)
    return Counts(row, column, DOMAIN, len(groups), matrix[row, column])


def test_equation_one() -> None:
    group = [4, 2, 0, 0, 0]
    assert score("k=3 & l=2", group) == [(6 / 3 + 2 / 2) / 2]
    assert score("k=3 & l=3", group)[0] < 1, "large enough on average, but l fails: capped"


def test_alpha_is_the_weight_of_what_looks_at_values() -> None:
    group, at = counted([4, 2, 0, 0, 0]), pytest.approx
    for alpha in (0, 0.3, 1):
        assert fitness(parse("k=3 & l=2"), group, alpha)[0] == at((1 - alpha) * 6 / 3 + alpha * 2 / 2)
    assert fitness(parse("k=3"), group, 1)[0] == 2, "nothing to weigh"


@pytest.mark.parametrize("text", GROWING + OTHERS)
@examples(60)
@given(groups=st.lists(histograms, min_size=1, max_size=4))
def test_one_exactly_where_it_is_met(text: str, groups: list[list[int]]) -> None:
    met = parse(text).holds(counted(*groups)).tolist()
    assert [value >= 1 for value in score(text, *groups)] == met


@pytest.mark.parametrize("text", GROWING)
@examples(60)
@given(group=histograms, more=histograms)
def test_records_never_lower_a_growing_score(text: str, group: list[int], more: list[int]) -> None:
    alone, both = score(text, group, (np.array(group) + more).tolist())
    assert both >= alone - 1e-12


@pytest.mark.parametrize("text", GROWING + MONOTONE)
@examples(60)
@given(first=histograms, second=histograms)
def test_a_union_is_no_worse_than_its_worse_part(text: str, first: list[int], second: list[int]) -> None:
    a, b, union = score(text, first, second, (np.array(first) + second).tolist())
    assert union >= min(a, b) - 1e-9
