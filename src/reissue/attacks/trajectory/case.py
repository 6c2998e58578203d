"""A pattern that few share, as published."""

from collections.abc import Sequence

import numpy as np

from reissue.attacks.stories import Bars, Case, case, in_words, shown
from reissue.attacks.trajectory.classes import LookedAt, SeatHistories, TrajectoryClasses
from reissue.published import PublishedRelease
from reissue.words import plural

__all__ = ["describe", "describe_seats"]

_STEPS = 4
"""Releases that are gone through one by one."""


def describe(
    found: TrajectoryClasses,
    releases: Sequence[PublishedRelease],
    seen: Sequence[LookedAt],
    numbers: Sequence[int],
    limit: int,
) -> Case:
    """The smallest class: of equal ones that of someone who is in most releases."""
    sizes = found.sizes[found.of_person]
    there = (found.looks >= 0).sum(axis=1)
    person = int(np.lexsort((-there, sizes))[0])
    steps = ["The adversary knows what somebody looked like each time, and when the person was in the releases."]
    same = np.ones(len(sizes), np.bool_)
    left = []
    for place, (number, release) in enumerate(zip(numbers, releases, strict=True)):
        look = int(found.looks[person, place])
        same &= found.looks[:, place] == look
        left.append(int(same.sum()))
        if place < _STEPS:
            said = "the person is not in it" if look < 0 else f"the person has {_shown(release, seen[place], look)}"
            steps.append(f"Release {number}: {said}. So far {plural(left[-1], 'person', 'people')} share the pattern.")
    if len(releases) > _STEPS:
        steps.append(f"After all {len(releases)} releases {plural(left[-1], 'person', 'people')} share it.")
    labels = [f"{number}" for number in numbers]
    series = {"people with this pattern so far": left}
    sentence = "How many people share the pattern of the person who is worst off, after each release."
    picture: Bars = {
        "kind": "bars",
        "labels": labels,
        "series": series,
        "limit": limit,
        "unit": "people",
        "across": "release",
        "sentence": sentence,
    }
    return case(steps, picture)


def describe_seats(seats: SeatHistories, numbers: Sequence[int], limit: int) -> Case:
    """The smallest class of seats of a panel after all releases, and how it became so small."""
    found = seats.found
    sizes = found.sizes[found.of_person]
    there = (found.looks >= 0).sum(axis=1)
    seat = int(np.lexsort((-there, sizes))[0])
    steps = ["The adversary knows in which group a person was each time, and follows seats by their numbers."]
    same, left = np.ones(len(sizes), np.bool_), []
    for place in range(len(numbers)):
        same &= found.looks[:, place] == found.looks[seat, place]
        left.append(int((same & (found.looks[:, : place + 1] >= 0).any(axis=1)).sum()))
    steps.append(f"After {plural(len(numbers), 'release')} {plural(left[-1], 'seat')} could be the person's.")
    steps.append(seats.sentence)
    picture: Bars = {
        "kind": "bars",
        "labels": [f"{number}" for number in numbers],
        "series": {"seats with this history so far": left},
        "limit": limit,
        "unit": "seats",
        "across": "release",
        "sentence": "How many seats share the history of groups of the one that is worst off, after each release.",
    }
    return case(steps, picture)


def _shown(release: PublishedRelease, looked: LookedAt, look: int) -> str:
    """What a release shows of a person; of several rows the first, and how many there are."""
    if looked.first is None or looked.rows is None:
        return in_words(shown(release.looks.texts.row(look, named=True)))
    one = in_words(shown(release.looks.texts.row(int(looked.first[look]), named=True)))
    rows = int(looked.rows[look])
    return one if rows == 1 else f"{rows:,} rows, one of them with {one}"
