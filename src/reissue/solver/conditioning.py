"""Conditioning on what is certain: known values cut everyone's chain and leave fewer records to fill.

A person with one assignment left in a release fills that cell: the others have one record less. The person's next state
begins with the transition from the known value and the one before ends with the transition to it, so each stretch
between known values is a chain of its own. The distribution is the same; what is solved is smaller, and exact messages
take fewer states. O(states).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.scaling import Chains, beginners
from reissue.solver.states import ReleaseStates, as_small, split
from reissue.solver.transitions import Links, Model, Pairing, link, pairings

__all__ = ["OpenStates"]


@dataclass(frozen=True, eq=False)
class OpenStates:
    """The states that are not certain, linked, and where they are among all states."""

    releases: tuple[ReleaseStates, ...]
    links: tuple[Links, ...]
    state: tuple[Ints, ...]
    """Number of each of its states in the whole release."""
    person: Ints
    """Person of each stretch; rows of `releases` name stretches as their persons."""
    begins: tuple[Ints, ...]
    """Who begins with each state, -1 nobody."""
    stepped: tuple[Floats, ...]
    """Weight of each state by the transitions from and to known values."""

    @classmethod
    def of(
        cls,
        releases: Sequence[ReleaseStates],
        model: Model,
        times: Sequence[int] | None = None,
        arrivals: Sequence[Ints] | None = None,
    ) -> "OpenStates":
        """Take out what is certain; `arrivals` names the newcomer of each seat, by release."""
        pairs = pairings(releases, times)
        certain = [_certain(release) for release in releases]
        weights = _transition_weights(releases, pairs, certain, model)
        stretch, person = _stretches(releases, pairs, certain)
        kept = [~rows[release.row] for release, rows in zip(releases, certain, strict=True)]
        made = tuple(_without(*one) for one in zip(releases, certain, kept, stretch, strict=True))
        arrived: Sequence[Ints | None] = arrivals or [None] * len(releases)
        begins = [beginners(*one)[one[0].row] for one in zip(releases, pairs, arrived, strict=True)]
        return cls(
            made,
            link(made, model, times),
            tuple(as_small(np.flatnonzero(one)) for one in kept),
            person,
            tuple(as_small(who[some]) for who, some in zip(begins, kept, strict=True)),
            tuple(weight[some] for weight, some in zip(weights, kept, strict=True)),
        )

    def chains(
        self, prior: Floats | None = None, weights: Sequence[Floats] = (), shares: Floats | None = None
    ) -> Chains:
        """The chains by a prior of first values, further weights of all states, and prior shares of counterfeits."""
        given = []
        for place, (release, begins, weight) in enumerate(zip(self.releases, self.begins, self.stepped, strict=True)):
            mine = weight * weights[place][self.state[place]] if weights else weight.copy()
            some = np.flatnonzero(begins >= 0)
            if prior is not None:
                mine[some] *= prior[begins[some], release.value[some]]
            given.append(mine)
        releases = self.releases if shares is None else tuple(one.sharing(shares) for one in self.releases)
        return Chains(releases, self.links, tuple(given))

    def whole(self, releases: Sequence[ReleaseStates], parts: Sequence[Floats]) -> tuple[Floats, ...]:
        """Numbers of open states as numbers of all states, 1 for what is certain."""
        made = []
        for release, state, part in zip(releases, self.state, parts, strict=True):
            full = np.ones(release.states)
            full[state] = part
            made.append(full)
        return tuple(made)


def _certain(release: ReleaseStates) -> Bools:
    """Whether one assignment is left to each row; not where more people must fill a cell than it has records.

    Nor of vacant seats where the number of counterfeits with each value is known: that counts them too.
    """
    row = release.assignment_row
    single = (np.bincount(row, minlength=len(release.person)) == 1) & ~release.absent
    if len(release.counterfeits):
        single &= ~release.vacant
    ways = single[row]
    must = np.bincount(release.assignment_cell[ways], release.people[row[ways]], len(release.count))
    over = (must > release.count)[release.assignment_cell]
    single[row[over]] = False
    return np.asarray(single)


def _transition_weights(
    releases: Sequence[ReleaseStates], pairs: Sequence[Pairing], certain: Sequence[Bools], model: Model
) -> list[Floats]:
    """Weight of each state by the transitions from and to known values."""
    weight = np.ones(sum(one.states for one in releases))
    value = np.concatenate([one.value for one in releases])
    sure = np.concatenate([rows[one.row] for one, rows in zip(releases, certain, strict=True)])
    offset = 0
    for release, pairing in zip(releases, pairs, strict=True):
        target = pairing.target_start + offset
        from_sure, to_sure = sure[pairing.source_start], sure[target]
        after, before = np.flatnonzero(from_sure & ~to_sure), np.flatnonzero(to_sure & ~from_sure)
        widths = pairing.target_width[after]
        some, beside = ranges(target[after], widths), np.repeat(pairing.source_start[after], widths)
        weight[some] *= model.chances(np.repeat(pairing.gap[after], widths), value[beside], value[some])
        widths = pairing.source_width[before]
        some, beside = ranges(pairing.source_start[before], widths), np.repeat(target[before], widths)
        weight[some] *= model.chances(np.repeat(pairing.gap[before], widths), value[some], value[beside])
        offset += release.states
    return split(weight, releases)


def _stretches(
    releases: Sequence[ReleaseStates], pairs: Sequence[Pairing], certain: Sequence[Bools]
) -> tuple[list[Ints], Ints]:
    """The stretch of each row that is left, by release; and the person of each stretch."""
    people = max((int(one.person.max(initial=-1)) + 1 for one in releases), default=0)
    now, made, person, total = np.full(people, -1), [], [np.empty(0, np.int64)], 0
    for release, pairing, sure in zip(releases, pairs, certain, strict=True):
        linked = np.zeros(len(release.person), np.bool_)
        linked[pairing.rows] = True
        new = release.person[~sure & (~linked | (now[release.person] < 0))]
        now[new] = total + np.arange(len(new))
        total += len(new)
        person.append(new)
        now[release.person[sure]] = -1
        made.append(now[release.person[~sure]])
    return made, np.concatenate(person)


def _without(release: ReleaseStates, certain: Bools, kept: Bools, stretch: Ints) -> ReleaseStates:
    """The release without certain rows and without their records."""
    number = np.cumsum(kept, dtype=np.int32) - 1
    ways = kept[release.assignment_state]
    people = release.people[release.assignment_row[~ways]]
    filled = np.bincount(release.assignment_cell[~ways], people, len(release.count))
    return replace(
        release,
        person=stretch,
        starts=np.append(0, np.cumsum(np.diff(release.starts)[~certain])),
        value=release.value[kept],
        assignment_state=as_small(number[release.assignment_state[ways]]),
        assignment_cell=release.assignment_cell[ways],
        count=release.count - filled,
        absent=release.absent[~certain],
        vacant=release.vacant[~certain],
        certain=int(release.people[certain].sum()),
        least=np.maximum(release.least - filled, 0.0) if len(release.least) else release.least,
        size=release.size[~certain] if len(release.size) else release.size,
    )
