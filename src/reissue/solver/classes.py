"""People whom no release tells apart are solved as one row that stands for all of them.

Whoever is in the same groups of all releases, and has the same prior, has the same posterior. In tables of counts these
are many: of 100,000 people in ten age groups, two sexes and five regions most share their classes with others for as
long as they stay. O(people x releases) to find them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.estimation import Departures
from reissue.solver.observation import Observation
from reissue.solver.states import ReleaseStates

__all__ = ["Classes"]

_FEWEST = 200_000
"""Possible values of people in releases from which on it pays to look for classes: below it components are exact."""
_WORTH = 0.7
"""Share of the people that classes may be at most to be worth it."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of each person, and one person of each."""

    of_person: Ints
    first: Ints
    size: Ints

    @classmethod
    def of(cls, series: Sequence[Observation], prior: Floats | None) -> "Classes | None":
        """The classes of a series; None where people differ, or too few are alike."""
        plain = all(_plain(seen) for seen in series) and (prior is None or prior.strides[0] == 0)
        if not plain or sum(seen.assignments for seen in series) < _FEWEST:
            return None
        people = max(int(seen.person.max(initial=-1)) + 1 for seen in series)
        key = np.zeros(people, np.int64)
        for seen in series:
            group = np.zeros(people, np.int64)
            group[seen.person] = seen.group + 1
            key = np.unique(key * (seen.groups + 1) + group, return_inverse=True)[1].reshape(-1)
        _, first, of_person, size = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        if len(first) > _WORTH * people:
            return None
        return cls(of_person.reshape(-1), first, size)

    def merged(self, seen: Observation) -> Observation:
        """A release with classes for persons."""
        here = np.isin(seen.person, self.first)
        person, group = self.of_person[seen.person[here]], seen.group[here]
        order = np.argsort(person)
        return replace(seen, person=person[order], group=group[order], size=self.size[person[order]])

    def fates(self, departures: Departures | None) -> Departures | None:
        """Who leaves, by class."""
        if departures is None:
            return None
        return replace(departures, fates=tuple(fate[self.first] for fate in departures.fates))

    def people(
        self, seen: Observation, release: ReleaseStates, parts: Sequence[Floats]
    ) -> tuple[ReleaseStates, list[Floats]]:
        """The states of all people of a release, and numbers of the classes' states as numbers of theirs."""
        person = np.sort(seen.person)
        row = np.searchsorted(release.person, self.of_person[person])
        widths = np.diff(release.starts)[row]
        states = ranges(release.starts[row], widths)
        made = replace(
            release,
            person=person,
            starts=np.append(0, np.cumsum(widths)),
            value=release.value[states],
            assignment_state=np.arange(len(states), dtype=np.int32),
            assignment_cell=release.assignment_cell[states],
            absent=np.zeros(len(person), np.bool_),
            vacant=np.zeros(len(person), np.bool_),
            size=np.empty(0),
        )
        return made, [part[states] for part in parts]


def _plain(seen: Observation) -> bool:
    """Whether everyone is in one known group, and nothing more is known of anybody."""
    single = len(np.unique(seen.person)) == len(seen.person)
    named = len(seen.known_person) or len(seen.occupant) or len(seen.label)
    more = named or len(seen.size) or len(seen.absent) or len(seen.counterfeits)
    return single and not more and not seen.strangers
