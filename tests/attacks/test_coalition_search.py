"""Searching coalitions: every strategy against the definition, every coalition and every subset of its records."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.counting import Domain
from reissue.papers.coalition import exact
from reissue.papers.coalition.exact import worst_coalition
from reissue.papers.coalition.search import STRATEGIES, Group, Oracle
from reissue.requirements import Requirement, _subsets, closeness, parse
from reissue.taxonomy import Coding
from tests.effort import examples

GROWING = ["k=3", "k=1", "l=2", "l=3", "k=3 & l=2", "k-e=2,3", "k-e=1,2"]
OTHERS = [
    "entropy-l=2",
    "entropy-l=1.5",
    "recursive=2,2",
    "recursive=1.5,3",
    "confidence=0.6",
    "confidence=0.7:2, {0, 1}",
    "alpha-k=0.7,3",
    "simple-l=2",
    "personalized=0.7",
    'personalized=0.8:"[0, 1]"',
    "t=0.4",
    "t=0.3:ordered",
    "t=0.3:hierarchical",
    "c-k=0.9,1",
    "m-unique=2",
    "k=2 & entropy-l=1.5",
    "l=2 & t=0.5",
]
CODING = Coding.build(Hierarchy("ranges", ranges=(2.0,)), pl.Series([0, 1, 2, 3, 4]))
DOMAIN = Domain(np.array([4, 3, 2, 2, 1]), CODING.taxonomy)


def make(counts: list[list[int]], domain: Domain = DOMAIN) -> Group:
    """A group from providers x values, leaving out providers and values without records."""
    matrix = np.array(counts, np.int64)
    matrix = matrix[matrix.sum(axis=1) > 0]
    values = np.flatnonzero(matrix.sum(axis=0))
    return Group(matrix[:, values], values, domain)


def breaks(group: Group, requirement: Requirement, members: tuple[int, ...]) -> bool:
    """The definition: some of what remains after taking out any of the coalition's own records fails."""
    others = [place for place in range(group.providers) if place not in members]
    rest = group.counts[others].sum(axis=0)
    if not rest.any():
        return False
    ranges = [range(few, many + 1) for few, many in zip(rest.tolist(), group.whole.tolist(), strict=True)]
    return not group.met(requirement, np.array(list(product(*ranges)), np.int64)).all()


def private(group: Group, requirement: Requirement, m: int) -> bool:
    return not any(
        breaks(group, requirement, members)
        for size in range(m + 1)
        for members in combinations(range(group.providers), size)
    )


small = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=4).filter(
    lambda counts: sum(map(sum, counts)) > 0
)


@pytest.mark.parametrize("text", GROWING + OTHERS)
@examples(40)
@given(counts=small, m=st.integers(0, 4))
def test_every_strategy_gives_the_definition(text: str, counts: list[list[int]], m: int) -> None:
    group, requirement = make(counts), parse(text)
    truth = private(group, requirement, m)
    size = min(m, group.providers - 1)
    for name, strategy in STRATEGIES.items():
        oracle = Oracle(group, requirement)
        found = strategy(oracle, size)
        assert (found is None) == truth, name
        assert oracle.checks > 0
        assert oracle.exact
        if found is not None:
            members = tuple(place for place in range(group.providers) if found >> place & 1)
            assert len(members) <= m
            assert breaks(group, requirement, members)
    verdict = worst_coalition(group, requirement, m)
    assert (verdict.coalition is None) == truth
    assert verdict.exact
    if verdict.coalition is not None:
        members = tuple(place for place in range(group.providers) if verdict.coalition >> place & 1)
        assert len(members) <= m
        assert breaks(group, requirement, members)


wide = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=3, max_size=7).filter(
    lambda counts: sum(map(sum, counts)) > 0
)


@examples(150)
@given(counts=wide, m=st.integers(0, 7), text=st.sampled_from(GROWING + OTHERS[:11]))
def test_strategies_agree_on_larger_groups(counts: list[list[int]], m: int, text: str) -> None:
    group, requirement = make(counts), parse(text)
    size = min(m, group.providers - 1)
    answers = {name: run(Oracle(group, requirement), size) is None for name, run in STRATEGIES.items()}
    answers["exact"] = worst_coalition(group, requirement, m).coalition is None
    assert len(set(answers.values())) == 1, answers


@examples(60)
@given(
    counts=wide, text=st.sampled_from(["entropy-l=2", "entropy-l=3", "t=0.2", "t=0.4"]), coalition=st.integers(0, 63)
)
def test_the_knapsacks_find_the_worst_vertex(counts: list[list[int]], text: str, coalition: int) -> None:
    group, requirement = make(counts), parse(text)
    coalition &= (1 << group.providers) - 1
    if coalition == (1 << group.providers) - 1:
        return
    members = tuple(place for place in range(group.providers) if coalition >> place & 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_subsets, "MANY", 0)
        assert Oracle(group, requirement).breaks(coalition) == breaks(group, requirement, members)


@pytest.mark.parametrize("text", ["c-k=0.9,1", "t=0.4:ordered", "t=0.4"])
def test_what_cannot_be_told_counts_as_broken(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_subsets, "MANY", 1)
    monkeypatch.setattr(closeness, "_STEPS", 0)
    monkeypatch.setattr(closeness, "_VALUES", 0)
    group = make([[4, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 4]])
    oracle = Oracle(group, parse(text))
    assert oracle.breaks(1)
    assert not oracle.exact
    assert not worst_coalition(group, parse(text), 1).exact


def test_a_search_that_is_given_up_counts_as_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_CHECKS", 1)
    verdict = worst_coalition(make([[4, 4], [4, 4], [4, 4]]), parse("entropy-l=1"), 1)
    assert verdict.coalition is not None
    assert not verdict.exact


@examples(60)
@given(
    counts=st.lists(st.lists(st.integers(0, 1), min_size=8, max_size=8), min_size=3, max_size=8).filter(
        lambda counts: sum(map(sum, counts)) > 0
    ),
    m=st.integers(0, 6),
    least=st.integers(1, 5),
)
def test_the_integer_program_is_the_descent(counts: list[list[int]], m: int, least: int) -> None:
    group = make(counts, Domain(np.ones(8, np.int64)))
    with pytest.MonkeyPatch.context() as patch:
        descent = worst_coalition(group, parse(f"l={least}"), m).coalition
        patch.setattr(exact, "_NODES", 0)
        program = worst_coalition(group, parse(f"l={least}"), m).coalition
    assert (descent is None) == (program is None)
    assert (descent is None) == (
        STRATEGIES["direct"](Oracle(group, parse(f"l={least}")), min(m, group.providers - 1)) is None
    )


def test_thirty_providers_at_fifteen_are_answered_without_enumerating() -> None:
    """155 million coalitions; a hidden coalition of fifteen owns all records of all values but two."""
    rng = np.random.default_rng(3)
    counts = np.zeros((30, 40), np.int64)
    hidden = rng.permutation(30)[:15]
    for value in range(38):
        counts[rng.choice(hidden, 9, replace=False), value] = 1
    counts[:, 38:] = 2
    group = Group(counts, np.arange(40), Domain(counts.sum(axis=0)))
    for least, harmful in [(2, False), (3, True), (30, True)]:
        verdict = worst_coalition(group, parse(f"k=5 & l={least}"), 15)
        assert (verdict.coalition is not None) == harmful
        assert verdict.exact
        assert verdict.checks < 10
    found = worst_coalition(group, parse("l=3"), 15).coalition
    assert found == sum(1 << int(place) for place in hidden)
    assert worst_coalition(group, parse("l=3"), 14).coalition is None


def test_a_coalition_that_owns_the_group_attacks_nobody() -> None:
    group = make([[3, 2, 0, 0]])
    for strategy in STRATEGIES.values():
        assert strategy(Oracle(group, parse("k=3 & l=2")), 0) is None
    assert worst_coalition(group, parse("k=3 & l=2"), 5).coalition is None
