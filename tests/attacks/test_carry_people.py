"""People found again release after release, against plain dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
