"""m-privacy of many groups at once: bounds and bits against one group at a time, and against the definition."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from reissue._arrays import Ints
from reissue.counting import Counts, Domain
from reissue.papers.coalition.contributions import Contributions, answers, private
from reissue.papers.coalition.exact import worst_coalition
from reissue.papers.providers import MPrivate
from reissue.requirements import parse
from reissue.requirements.diversity import entropy_at_least
from tests.attacks import test_coalition_search as one
from tests.attacks.test_coalition_search import DOMAIN, GROWING, OTHERS
from tests.effort import examples

Rows = list[tuple[int, int, int]]
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def columns(records: Rows) -> tuple[Ints, Ints, Ints]:
    groups, providers, values = (np.array(column, np.int64) for column in zip(*records, strict=True))
    return groups, providers, values


@pytest.mark.parametrize("text", GROWING + OTHERS)
@examples(30)
@draws(records=rows, m=st.integers(0, 4))
def test_all_groups_at_once_are_one_by_one(text: str, records: Rows, m: int) -> None:
    groups, providers, values = columns(records)
    requirement = parse(text)
    contributions = Contributions.of_rows(groups, providers, values, DOMAIN)
    expected = np.array(
        [worst_coalition(contributions.one(g)[0], requirement, m).coalition is None for g in np.unique(groups)]
    )
    found = private(contributions, requirement, m)
    assert found[np.unique(groups)].tolist() == expected.tolist()
    assert set(answers(contributions, requirement, m)) == set(np.flatnonzero(~found).tolist())
    joint = Counts(groups, providers * DOMAIN.size + values, Domain(np.ones(25, np.int64)), contributions.total)
    judged = MPrivate(m, requirement, DOMAIN, 5).holds(joint)
    assert judged[np.unique(groups)].tolist() == expected.tolist()


@pytest.mark.parametrize("text", ["k=2", "l=2", "entropy-l=1.5", "confidence=0.7"])
@examples(25)
@draws(records=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_all_groups_at_once_are_the_definition(text: str, records: Rows) -> None:
    contributions = Contributions.of_rows(*columns(records), DOMAIN)
    for m in range(4):
        found = private(contributions, parse(text), m)
        for number in {group for group, _, _ in records}:
            assert found[number] == one.private(contributions.one(number)[0], parse(text), m)


@examples(150)
@draws(records=rows, m=st.integers(0, 4), least=st.integers(1, 4))
def test_values_that_stay(records: Rows, m: int, least: int) -> None:
    whole = Contributions.of_rows(*columns(records), DOMAIN)
    contributions = whole.pick(whole.contributors > 0)
    judged = private(contributions, parse(f"l={least}"), m)
    for number in range(contributions.total):
        counts = contributions.one(number)[0].counts
        fewest = min(
            int((np.delete(counts, list(chosen), axis=0).sum(axis=0) > 0).sum())
            for chosen in combinations(range(len(counts)), min(m, len(counts) - 1))
        )
        assert judged[number] == (fewest >= least)


def test_counting_leaves_out_what_is_in_no_group() -> None:
    contributions = Contributions.of_rows(
        np.array([0, -1, 0, 1]), np.array([1, 1, 0, 1]), np.array([2, 2, 2, 0]), DOMAIN
    )
    assert contributions.group.tolist() == [0, 0, 1]
    assert contributions.provider.tolist() == [0, 1, 1]
    assert contributions.sizes.tolist() == [2, 1]
    assert contributions.contributors.tolist() == [2, 1]


@examples(150)
@draws(records=rows, m=st.integers(0, 4))
def test_no_subset_has_less_entropy_than_the_bound(records: Rows, m: int) -> None:
    contributions = Contributions.of_rows(*columns(records), DOMAIN)
    taken = contributions.sizes - contributions.without(contributions.of_largest(m)).sizes
    least = entropy_at_least(contributions.whole, taken, contributions.owned(m))
    for number in {group for group, _, _ in records}:
        group, _ = contributions.one(number)
        for members in combinations(range(group.providers), min(m, group.providers - 1)):
            rest = np.delete(group.counts, list(members), axis=0).sum(axis=0)
            for mask in range(1 << len(rest)):
                x = np.where(mask >> np.arange(len(rest)) & 1, group.whole, rest)
                share = x[x > 0] / x.sum()
                assert -(share * np.log(share)).sum() >= least[number] - 1e-9
