"""What a correspondence attack found, as a finding: over all releases at once, or carried from one to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reissue.attacks.findings import Finding, Status

__all__ = ["MEASURE", "NAME", "ChainGroup", "Tally", "WorstTarget", "finding", "records"]

NAME = "correspondence"
MEASURE = "records left for a target"
_LISTED = 12
"""How many groups of the worst target are listed: a ledger keeps every finding."""


@dataclass(frozen=True, eq=False)
class WorstTarget:
    """The target that is worst off; of several the one that arrived first, then the one with the smallest nodes."""

    left: int
    arrived: int
    """The release that it arrived with, from 0."""
    nodes: tuple[int, ...]
    """The smallest node of each quasi-identifier along its chain of groups."""

    def __lt__(self, other: "WorstTarget") -> bool:
        return (self.left, self.arrived, self.nodes) < (other.left, other.arrived, other.nodes)


@dataclass(frozen=True, eq=False)
class ChainGroup:
    """A group of a chain."""

    size: int
    published: Mapping[str, str | None]


@dataclass(frozen=True, eq=False)
class Tally:
    """What all targets come to."""

    left: tuple[int, ...]
    """The least that is left by arrival time; 0 where nobody can have arrived."""
    worst: WorstTarget
    groups: tuple[ChainGroup, ...]
    """The groups of the one worst off, from the release on that it arrived with."""
    exposed: int
    """How many chains of groups have less left than the limit."""
    people: int
    population: int


def finding(numbers: Sequence[int], tally: Tally, limit: int, more: Mapping[str, Any]) -> Finding:
    """The finding; `more` are further details."""
    worst = tally.worst
    details = {"left": list(tally.left), **more, "targets": tally.exposed, "worst_target": _target(numbers, tally)}
    if len(numbers) == 2:
        details |= {"FA": tally.left[0], "CA": tally.left[0], "BA": tally.left[1]}
    return Finding(
        NAME,
        Status.EXPOSED if worst.left < limit else Status.WITHSTOOD,
        _sentence(numbers, tally, limit),
        tuple(numbers),
        people=tally.people,
        population=tally.population,
        measure=MEASURE,
        worst=worst.left,
        limit=limit,
        at_least=True,
        details=details,
    )


def _target(numbers: Sequence[int], tally: Tally) -> dict[str, object]:
    """The worst target: when it arrived, and its group in every release, as published; of many the first and last."""
    worst = tally.worst
    groups = [
        {"release": number, "size": one.size, "cracked": one.size - worst.left, "published": one.published}
        for number, one in zip(numbers[worst.arrived :], tally.groups, strict=True)
    ]
    if len(groups) > _LISTED:
        groups = groups[: _LISTED // 2] + groups[-_LISTED // 2 :]
    return {"arrived": numbers[worst.arrived], "left": worst.left, "groups": groups}


def _sentence(numbers: Sequence[int], tally: Tally, limit: int) -> str:
    worst = tally.worst
    together = f"Holding releases {_listed(numbers)} together"
    if worst.left >= limit:
        return f"{together}, anyone still has at least {records(worst.left)} to hide among; the limit is {limit:,}."
    return (
        f"{together}, {records(min(one.size for one in tally.groups))} that look alike are only {worst.left:,} for "
        f"someone {_when(numbers, worst.arrived)}; the limit is {limit:,}, and up to {tally.people:,} of "
        f"{tally.population:,} people get less."
    )


def records(number: int) -> str:
    """How many, in words."""
    return f"{number:,} record" if number == 1 else f"{number:,} records"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _when(numbers: Sequence[int], arrived: int) -> str:
    if not arrived:
        return f"who is in release {numbers[0]}"
    return f"who arrived between releases {numbers[arrived - 1]} and {numbers[arrived]}"
