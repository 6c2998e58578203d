"""The paper's own assignment for m-Distinct, by hand and against its own definitions."""

import numpy as np
from benchmarks.papers.greedy import Buckets, Greedy
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples


def test_a_bucket_by_hand() -> None:
    """Two records of one branch and none of the other: two groups, two counterfeits; the second goes elsewhere."""
    buckets = Buckets([(0, 1), (0, 2)], values=7, columns=1)
    both = np.array([0, 1])
    assert buckets.assign(both, 0, 1, np.array([5.0])) == 0, "equal scores: the first"
    assert buckets.assign(np.array([0]), 1, 3, np.array([5.0])) == 0
    assert buckets.counts() == Greedy(0, 1)
    assert buckets.assign(np.array([0]), 0, 2, np.array([9.0])) == 0
    assert buckets.counts() == Greedy(1, 2)


def test_a_place_that_needs_no_counterfeit_is_preferred_to_a_near_one() -> None:
    buckets = Buckets([(0, 1), (0, 1)], values=7, columns=1)
    for point in (1.0, 2.0):
        buckets.assign(np.array([1]), 0, int(point), np.array([50.0]))
    buckets.assign(np.array([0]), 1, 3, np.array([1.0]))
    buckets.assign(np.array([0]), 1, 4, np.array([1.0]))
    # Bucket 0 lacks records of branch 0: epsilon = 1 and lambda = 1; bucket 1 would get deeper.
    assert buckets.assign(np.array([0, 1]), 0, 5, np.array([1.0])) == 0


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=25))
def test_counts_are_those_of_the_definition(records: list[tuple[int, int, int]]) -> None:
    signatures = [(0, 1), (0, 0, 2), (1, 2)]
    buckets = Buckets(signatures, values=9, columns=1)
    placed: list[list[tuple[int, int]]] = [[], [], []]
    for branch, value, point in records:
        some = buckets.holding(branch)
        placed[buckets.assign(some, branch, branch * 3 + value, np.array([float(point)]))].append(
            (branch, branch * 3 + value)
        )
    counterfeits = groups = 0
    for signature, rows in zip(signatures, placed, strict=True):
        most = max((sum(v == value for _, v in rows) for _, value in rows), default=0)
        entries = []
        for branch in set(signature):
            wide, here = signature.count(branch), sum(b == branch for b, _ in rows)
            entries += [here // wide + (place < here % wide) for place in range(wide)]
        depth = max(most, *entries)
        counterfeits += sum(depth - entry for entry in entries)
        groups += depth
    assert buckets.counts() == Greedy(counterfeits, groups)
