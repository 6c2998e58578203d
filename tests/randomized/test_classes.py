"""Classes of quasi-identifiers, and the noise of counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import InputError
from reissue.randomized.classes import grow_classes, noisy_counts, shares_of


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_classes_are_large_enough_and_everybody_has_one(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(1, 9, (3, 1)), (3, 200))
    grown = grow_classes(codes, least)
    sizes = np.bincount(grown.of(codes), minlength=len(grown))
    assert sizes.min() >= least
    assert sizes.sum() == 200
    assert (grown.of(rng.integers(-3, 20, (3, 50))) < len(grown)).all()


def test_classes_do_not_depend_on_anything_else() -> None:
    codes = np.random.default_rng(0).integers(0, 9, (2, 500))
    one, two = grow_classes(codes, 50), grow_classes(codes.copy(), 50)
    np.testing.assert_array_equal(one.of(codes), two.of(codes))
    assert len(one) >= 5
    with pytest.raises(InputError, match="people"):
        grow_classes(codes, 501)


def test_noise_has_the_stated_epsilon_and_is_repeatable() -> None:
    values, classes = np.zeros(10, np.int64), np.zeros(10, np.int64)
    key = b"sixteen bytes..."
    every = [
        noisy_counts(values, classes, (1, 2), epsilon=1.0, key=key, release=release) for release in [*range(4_000), 0]
    ]
    np.testing.assert_array_equal(every[0], every[-1])
    many = np.stack(every)[:-1, 0, 1]
    shares = [(many == far).mean() for far in range(4)]
    # Neighbouring counts: e to the epsilon / 2, as one person's other value moves two counts.
    np.testing.assert_allclose(np.divide(shares[:3], shares[1:]), np.exp(0.5), rtol=0.15)
    assert abs(many.mean()) < 0.2
    with pytest.raises(InputError, match="epsilon"):
        noisy_counts(values, classes, (1, 2), epsilon=0, key=key, release=0)


def test_shares_are_distributions_without_zeros() -> None:
    found = shares_of(np.array([[5.0, -2, 0], [0, 0, 0]]))
    np.testing.assert_allclose(found.sum(1), 1)
    assert (found > 0).all()
    assert found[0, 0] > found[1, 0]
