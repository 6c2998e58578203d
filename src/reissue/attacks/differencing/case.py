"""The smallest difference in words, and how many differences there are of each size."""

from collections.abc import Sequence

from reissue.attacks.stories import Case, case
from reissue.contingency.differences import Difference, Single
from reissue.words import plural

__all__ = ["describe"]


def describe(found: Sequence[Difference], singles: Sequence[Single], limit: int) -> Case:
    """The case of somebody who came or left alone; else of the difference that isolates fewest people."""
    worst = found[0]
    known = max(singles, key=lambda one: len(one.classes), default=None)
    sizes = [sum(one.low == size for one in found) for size in range(1, limit)]
    return case(
        _steps(worst, limit) if known is None else _alone(known),
        {
            "kind": "bars",
            "labels": [plural(size, "person", "people") for size in range(1, limit)],
            "series": {"differences": [float(size) for size in sizes]},
            "unit": "differences",
            "limit": None,
            "across": "people whom a difference isolates",
            "sentence": "How many differences of published counts isolate how many people.",
        },
    )


def _alone(known: Single) -> list[str]:
    """Somebody whom all tables of two dates describe."""
    what = ", ".join(f"{name} {text}" for name, text in known.classes)
    moved = "came" if known.came else "left"
    return [
        _subtract(known.releases, known.dates),
        f"In every table exactly one count differs, by one. So one person {moved}, and no other.",
        f"The differing cells describe this person: {what}.",
    ]


def _subtract(releases: Sequence[int], dates: Sequence[str]) -> str:
    if len(dates) > 1:
        return (
            f"Release {releases[-1]} has tables of several dates: subtract {dates[0]} from {dates[-1]}, cell by cell."
        )
    return f"Subtract release {releases[0]} from release {releases[-1]}, cell by cell."


def _steps(worst: Difference, limit: int) -> list[str]:
    people = plural(worst.low, "person", "people")
    people = people if worst.low == worst.high else f"{worst.low:,} to {worst.high:,} people"
    return [_how(worst), f"What is left is {people}: {worst.population}.", _so(worst, limit)]


def _how(worst: Difference) -> str:
    last = worst.releases[-1]
    if worst.kind == "cell":
        return f"Release {last} hides a count, and shows totals that it is part of: subtract all other parts from them."
    if worst.kind == "beside":
        return (
            f"Two tables of release {last} have classes that end at different points: subtract the running total of "
            "one from that of the other."
        )
    return _subtract(worst.releases, worst.dates)


def _so(worst: Difference, limit: int) -> str:
    single = worst.high == 1
    who = "this person" if single else "these people"
    came = ""
    if worst.kind == "over time":
        one, other = worst.dates or [f"release {number}" for number in worst.releases]
        came = f" They are in {other} and not in {one}."
    return (
        f"Whoever knows that somebody came or left then, or is of that description, finds {who}; the limit is "
        f"{limit} people.{came}"
    )
