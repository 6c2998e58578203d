"""The smallest difference in words, and how many differences there are of each size."""

from collections.abc import Sequence

from reissue.attacks.stories import Case, case
from reissue.contingency.differences import Difference
from reissue.words import plural

__all__ = ["describe"]


def describe(found: Sequence[Difference], limit: int) -> Case:
    """The case of the difference that isolates fewest people."""
    worst = found[0]
    sizes = [sum(one.low == size for one in found) for size in range(1, limit)]
    return case(
        _steps(worst, limit),
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


def _steps(worst: Difference, limit: int) -> list[str]:
    people = plural(worst.low, "person", "people")
    people = people if worst.low == worst.high else f"{worst.low:,} to {worst.high:,} people"
    return [_how(worst), f"What is left is {people}: {worst.population}.", _so(worst, limit)]


def _how(worst: Difference) -> str:
    first, last = worst.releases[0], worst.releases[-1]
    if worst.kind == "cell":
        return f"Release {last} hides a count, and shows totals that it is part of: subtract all other parts from them."
    if worst.kind == "beside":
        return (
            f"Two tables of release {last} have classes that end at different points: subtract the running total of "
            "one from that of the other."
        )
    return f"Subtract release {first} from release {last}, cell by cell."


def _so(worst: Difference, limit: int) -> str:
    single = worst.high == 1
    who = "this person" if single else "these people"
    came = ""
    if worst.kind == "over time":
        came = f" They are in release {worst.releases[-1]} and not in release {worst.releases[0]}."
    return (
        f"Whoever knows that somebody came or left then, or is of that description, finds {who}; the limit is "
        f"{limit} people.{came}"
    )
