"""The worst case of a deFinetti attack: the share of values guessed right, with and without learning, by release."""

from collections.abc import Sequence

from reissue.attacks.stories import Bars, Case, case
from reissue.words import percent

__all__ = ["tell"]

_LEARNT = (
    "Across groups, some quasi-identifiers go with some values more often than with others. That is learnt from some "
    "of the groups, and used to guess within the rest."
)


def tell(
    numbers: Sequence[int], accuracy: Sequence[float], baseline: Sequence[float], worst: int, limit: float, people: int
) -> Case:
    """The case of a series; `worst` is the place of the release where guessing works best, and has this many people."""
    more = round((accuracy[worst] - baseline[worst]) * people)
    gained = f"{more:,} people more than" if more > 0 else "no more people than"
    right = f"{percent(baseline[worst])} of {people:,} people's values are guessed right"
    steps = [
        f"The adversary holds release {numbers[worst]} and knows everyone's quasi-identifiers and group.",
        f"Guessing everyone's most frequent value in the group, {right}: so much the groups' own histograms allow.",
        _LEARNT,
        f"Then {percent(accuracy[worst])} are guessed right, {gained} without learning; the limit is {percent(limit)}.",
    ]
    picture: Bars = {
        "kind": "bars",
        "labels": [f"release {number}" for number in numbers],
        "series": {"guessed right": list(accuracy), "allowed by the groups alone": list(baseline)},
        "unit": "share of people",
        "limit": None,
    }
    return case(steps, picture)
