"""Who holds whose records, where several providers have records of the same people.

A coalition knows everybody of whom one of its members has a record. So it can take out all records of these people,
those that others gave too: what is left is people whom nobody of the coalition knows. People are counted, not rows, and
people with the same set of providers are alike to every coalition.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Domain
from reissue.counting.keys import rank
from reissue.counting.people import ValueSets, value_sets
from reissue.papers.coalition.contributions import Contributions

__all__ = ["Held", "held"]


@dataclass(frozen=True, eq=False)
class Held:
    """People by group, set of providers and value."""

    contributions: Contributions
    """Of sets of providers, as if each were one provider."""
    holders: Bools
    """Sets of providers x providers."""
    sets: ValueSets | None
    """What the values of `contributions` stand for, where somebody has several in one group."""


def held(groups: Ints, providers: Ints, values: Ints, people: Ints, domain: Domain, total: int) -> Held:
    """Count people: rows (of no group: -1) with the numbers of their provider, value and person."""
    inside = groups >= 0
    groups, providers, values, people = groups[inside], providers[inside], values[inside], rank(people[inside])[0]
    has = np.zeros((int(people.max(initial=-1)) + 1, total), np.bool_)
    has[people, providers] = True
    holders, of_person = np.unique(has, axis=0, return_inverse=True)
    there, place = np.unique(np.stack([groups, people]), axis=1, return_inverse=True)
    sets = value_sets(place.reshape(-1), values.astype(np.int32), domain)
    several = bool((sets.lengths > 1).any())
    code = sets.of_person.astype(np.int64) if several else sets.values[sets.starts[sets.of_person]]
    counted = Domain(np.bincount(code, minlength=sets.number if several else domain.size).astype(np.int64))
    whole = counted if several or domain.taxonomy is None else Domain(counted.totals, domain.taxonomy)
    contributions = Contributions.of_rows(there[0], of_person.reshape(-1)[there[1]], code, whole)
    return Held(contributions, holders, sets if several else None)
