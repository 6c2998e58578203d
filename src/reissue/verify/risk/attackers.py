"""Prosecutor, journalist and marketer (El Emam): how likely a record is linked to its person.

The *prosecutor* knows that somebody is in the release and looks for that person's record: 1 / records of the group. The
*journalist* looks for anybody at all, in a register or the population: 1 / people of the population who fit the group.
The *marketer* matches all records with a register and is content with how many are right on average.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints

__all__ = ["Attacker", "journalist", "marketer", "of_records", "prosecutor"]


@dataclass(frozen=True)
class Attacker:
    """One attacker's chances, over all records of a release."""

    name: str
    largest: float | None
    """The largest risk of a record; None for the marketer, who asks for the average only."""
    average: float
    above: float | None
    """The share of records whose risk is above the threshold."""
    method: str
    """How the numbers were found."""


def of_records(name: str, risk: Floats, records: Ints | Floats, threshold: float, method: str) -> Attacker:
    """The summary of a risk by group, each of some records."""
    total = float(records.sum())
    above = float(records[risk > threshold].sum()) / total
    return Attacker(name, float(risk.max()), float(risk @ records) / total, above, method)


def prosecutor(sizes: Ints, threshold: float) -> Attacker:
    """Someone who knows that a person is in the release; `sizes` are the records of each group."""
    return of_records("prosecutor", 1 / sizes, sizes, threshold, "1 / records of the group")


def journalist(sizes: Ints, people: Ints, threshold: float) -> Attacker:
    """Someone with a register, of whom `people` fit each group.

    The average is the larger of two, as El Emam has it: of the records, and of the register's people in these groups.
    """
    found = of_records("journalist", 1 / people, sizes, threshold, "1 / people of the register who fit the group")
    average = max(found.average, len(sizes) / float(people.sum()))
    return Attacker(found.name, found.largest, average, found.above, found.method)


def marketer(sizes: Ints, people: Ints | None = None, risk: Floats | None = None) -> Attacker:
    """Someone who matches all records: with the release's own people, a register, or an estimated population."""
    if risk is None:
        risk = 1 / (sizes if people is None else people)
        whom = "the people of the release" if people is None else "the register"
        method = f"expected share of records matched rightly with {whom}"
    else:
        method = "expected share of records matched rightly, estimated from the sampling"
    return Attacker("marketer", None, float(np.asarray(risk) @ sizes) / float(sizes.sum()), None, method)
