"""People found again release after release, and what is known of them in each, against plain dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reissue.papers.tracking.presence import PresenceIntervals
from reissue.papers.updates.beliefs import _risks
from reissue.people.index import PersonIndex, update
from tests.effort import examples


@given(st.lists(st.lists(st.integers(-9, 30), unique=True), max_size=7))
@examples(150)
def test_everybody_keeps_a_place(releases: list[list[int]]) -> None:
    places: dict[int, int] = {}
    index = PersonIndex.none()
    for release in releases:
        index, at = update(index, np.array(release, np.int64))
        for one in sorted(set(release) - set(places)):
            places[one] = len(places)
        assert index.people.tolist() == list(places)
        assert at.tolist() == [places[one] for one in release]
        assert index.people[index.order].tolist() == sorted(places)
        assert index.people[index.here].tolist() == sorted(release)


def appearing(seed: int, releases: int, people: int) -> tuple[np.ndarray, PresenceIntervals]:
    """People x releases: who was there, in the order in which they came; and the same as stretches."""
    rng = np.random.default_rng(seed)
    inside = rng.random((people, releases)) < rng.choice([0.1, 0.5, 0.9])
    inside = inside[inside.any(axis=1)]
    inside = inside[np.argsort(inside.argmax(axis=1), kind="stable")]
    present = PresenceIntervals.none()
    for release, column in enumerate(inside.T):
        known = int((inside.argmax(axis=1) <= release).sum())
        present = present.after(known, release, rng.permutation(np.flatnonzero(column)))
    return inside, present


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1, 30, 300]))
@examples(60)
def test_who_was_in_which_release(seed: int, releases: int, people: int) -> None:
    inside, present = appearing(seed, releases, people)
    some = np.random.default_rng(seed).permutation(len(inside))[: people // 2]
    assert present.there(some, releases).tolist() == inside[some].tolist()
    assert [present.inside(release).tolist() for release in range(releases)] == [
        np.flatnonzero(column).tolist() for column in inside.T
    ]


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1, 30, 9000]))
@examples(60)
def test_the_largest_posterior_of_each_release(seed: int, releases: int, people: int) -> None:
    inside, present = appearing(seed, releases, people)
    rng = np.random.default_rng(seed)
    belief, top = rng.integers(0, 4, len(inside)).astype(np.int32), np.round(rng.random(4), 1)
    expected = [max((top[belief[p]] for p in np.flatnonzero(column)), default=0.0) for column in inside.T]
    assert _risks(present, releases, belief, top) == expected
