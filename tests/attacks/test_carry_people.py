"""People found again release after release, and what is known of them in each, against plain dictionaries."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.attacks._carry_beliefs import _risks
from reissue.attacks._carry_people import meet


@given(st.lists(st.lists(st.integers(-9, 30), unique=True), max_size=7))
@settings(max_examples=150, deadline=None)
def test_everybody_keeps_a_place(releases: list[list[int]]) -> None:
    places: dict[int, int] = {}
    state = None
    for release in releases:
        met = meet(state, np.array(release, np.int64))
        for one in sorted(set(release) - set(places)):
            places[one] = len(places)
        assert met.people.tolist() == list(places)
        assert met.at.tolist() == [places[one] for one in release]
        assert met.people[met.order].tolist() == sorted(places)
        assert met.people[met.here].tolist() == sorted(release)
        state = met.arrays()


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1, 30, 9000]))
@settings(max_examples=60, deadline=None)
def test_the_largest_posterior_of_each_release(seed: int, releases: int, people: int) -> None:
    rng = np.random.default_rng(seed)
    inside = rng.random((people, releases)) < rng.choice([0.001, 0.5])
    belief, top = rng.integers(0, 4, people), np.round(rng.random(4), 1)
    expected = [max((top[belief[p]] for p in np.flatnonzero(column)), default=0.0) for column in inside.T]
    assert _risks(np.packbits(inside, axis=1), releases, belief, top) == expected
