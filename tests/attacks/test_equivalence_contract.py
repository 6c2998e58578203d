"""Buckets contracted before they are attacked: the same answers as without, and as by definition."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reissue.papers.equivalence.exact import BucketHistory, _patterns, cheapest, coefficients, tied
from tests.effort import examples


def some_bucket(seed: int) -> BucketHistory:
    """A bucket of a few releases, with people who came back and patterns of many people."""
    rng = np.random.default_rng(seed)
    releases = int(rng.integers(2, 6))
    patterns = np.unique(rng.random((int(rng.integers(2, 9)), releases)) < rng.uniform(0.4, 0.8), axis=0)
    patterns = patterns[patterns.any(axis=1)]
    patterns = np.unique(np.vstack([patterns, np.ones((1, releases), np.bool_)]), axis=0)
    weights = rng.integers(1, int(rng.integers(2, 9)), len(patterns))
    return BucketHistory(patterns, weights, np.arange(weights.sum()))


@given(st.integers(0, 10**6), st.integers(1, 4))
@examples(120)
def test_the_same_with_and_without(seed: int, limit: int) -> None:
    bucket = some_bucket(seed)
    plain = _patterns(bucket.patterns.astype(np.int64), bucket.weights, limit)
    assert cheapest(bucket, limit).tolist() == plain.tolist()


@given(st.integers(0, 10**6), st.integers(2, 4))
@examples(60)
def test_no_attack_tells_tied_releases_apart(seed: int, limit: int) -> None:
    """Of all potentials that balance and cost less than the limit, none differs within a class."""
    bucket = some_bucket(seed % 1000)
    nodes = bucket.patterns.shape[1] + 1
    if nodes > 5:
        return
    potentials = np.array([(0, *rest) for rest in itertools.product(range(-3, 4), repeat=nodes - 1)])
    counted = potentials @ coefficients(bucket.patterns, np.arange(nodes)).T
    cost, balance = np.abs(counted) @ bucket.weights, counted @ bucket.weights
    attacks = potentials[(balance == 0) & (cost > 0) & (cost < 2 * limit - 1)]
    classes = tied(bucket.patterns, bucket.weights, limit)
    for one, other in itertools.combinations(range(nodes), 2):
        if classes[one] == classes[other]:
            assert (attacks[:, one] == attacks[:, other]).all()


def test_an_old_bucket_is_one_class() -> None:
    """Ten people come and ten go each time: nothing small can be told apart, however long it goes on."""
    releases = 40
    came = np.repeat(np.arange(-9, releases), 1)
    patterns = np.array([[0 <= release - start < 10 for release in range(releases)] for start in came])
    bucket = BucketHistory(
        patterns[patterns.any(axis=1)], np.full(int(patterns.any(axis=1).sum()), 10), np.empty(0, np.int64)
    )
    assert len(np.unique(tied(bucket.patterns, bucket.weights, 3))) < 12
    assert not cheapest(bucket, 3).any()
