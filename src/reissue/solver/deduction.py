"""Deduction: the few groups that make one person's value certain, and every step of the reasoning.

`propagation` says what is certain; this says why, for one person, by the same three rules on the groups around the
person. Every conclusion is kept together with what it rests on, and of these only what the last one needs. Leaving
groups out only weakens conclusions, so a proof from a few groups is a proof. Where the rules do not get there, every
other value is supposed in turn until the rules contradict each other. O(rounds x assignments) of the groups looked at,
in plain Python.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np

from reissue._arrays import Ints
from reissue.solver.observation import Observation
from reissue.solver.transitions import Model

__all__ = ["Equation", "Neighbourhood", "Proof", "Rule", "Step", "prove", "refute"]

_ROUNDS = 12
_SUPPOSED = 4
"""Other values that are supposed in turn, at most."""
_FEW = 12
"""Groups of a proof, at most, of which it is tried whether they can be spared."""

Equation = tuple[int, int]
"""A group: the place of its release, and its number there."""
_Cell = tuple[int, int]
"""A person and the place of a release."""
_Fact = tuple[int, int, int]
"""A person, the place of a release, and a slot of it that the person does not fill."""


class Rule(StrEnum):
    """Why something is impossible."""

    CHAIN = "chain"
    """Nothing that the person can have in another release leads to it."""
    FULL = "full"
    """Others fill all records of the value."""
    NEEDED = "needed"
    """No more people are left for the records of another value than there are records."""
    SUPPOSED = "supposed"
    """Nothing is, yet: another value is supposed, to see that it cannot be."""
    TOO_FEW = "too few"
    """Fewer people are left for a value's records than there are: what was supposed cannot be."""
    TOO_MANY = "too many"
    """More people have no other value left than there are records of it: what was supposed cannot be."""
    NOTHING = "nothing"
    """A person has no value left: what was supposed cannot be."""


@dataclass(frozen=True)
class Step:
    """One conclusion."""

    rule: Rule
    place: int
    """The release that it is about."""
    people: tuple[int, ...]
    """The person whose chain it is, or those who fill the slot."""
    other: int
    """Of a chain the place of the other release; of what is supposed the value; else the slot that it is about."""
    closed: frozenset[_Fact]
    rests: frozenset[_Fact]


@dataclass(frozen=True)
class Proof:
    """Why a person's value is certain in a release."""

    person: int
    place: int
    value: int
    equations: tuple[Equation, ...]
    """The groups that it takes."""
    steps: tuple[Step, ...]

    @property
    def joint(self) -> bool:
        """Whether other people's groups matter, not only the person's own."""
        return any(step.rule != Rule.CHAIN for step in self.steps)

    @property
    def supposes(self) -> bool:
        """Whether other values had to be supposed."""
        return any(step.rule == Rule.SUPPOSED for step in self.steps)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Looks up who may be where."""

    observations: Sequence[Observation]
    model: Model
    times: Sequence[int]

    @cached_property
    def _by_group(self) -> list[tuple[Ints, Ints]]:
        """Place to the people of its pairs sorted by group, and where each group begins."""
        made = []
        for seen in self.observations:
            order = np.argsort(seen.group, kind="stable")
            made.append((seen.person[order], np.searchsorted(seen.group[order], np.arange(seen.groups + 1))))
        return made

    def members(self, equation: Equation) -> list[int]:
        """Who may be in a group."""
        people, starts = self._by_group[equation[0]]
        return [int(one) for one in people[starts[equation[1]] : starts[equation[1] + 1]]]

    def groups(self, person: int, place: int) -> list[int]:
        """The groups of a release that a person may be in."""
        seen = self.observations[place]
        low, high = np.searchsorted(seen.person, [person, person + 1])
        return [int(one) for one in seen.group[low:high]]

    def everywhere(self, person: int) -> list[Equation]:
        """The groups of all releases that a person may be in."""
        return [(place, group) for place in range(len(self.observations)) for group in self.groups(person, place)]

    def slots(self, equation: Equation) -> range:
        """The slots of a group."""
        starts = self.observations[equation[0]].group_starts
        return range(int(starts[equation[1]]), int(starts[equation[1] + 1]))

    def value(self, place: int, slot: int) -> int:
        """The value of a slot."""
        return int(self.observations[place].cell_value[slot])

    def known(self, person: int, place: int) -> int | None:
        """The value that the adversary knows anyway."""
        seen = self.observations[place]
        at = int(np.searchsorted(seen.known_person, person))
        found = at < len(seen.known_person) and int(seen.known_person[at]) == person
        return int(seen.known_value[at]) if found else None

    def absent(self, person: int, place: int) -> bool:
        """Whether the person may be in no group of the release."""
        absent = self.observations[place].absent
        at = int(np.searchsorted(absent, person))
        return at < len(absent) and int(absent[at]) == person


def prove(around: Neighbourhood, person: int, most: int) -> Proof | None:
    """Why some value of the person is certain, from the person's groups and those of the others in them.

    None if these do not show it, or if more than `most` ways would have to be looked at.
    """
    equations = _near(around, person, most)
    if equations is None:
        return None
    proof = _Board.of(around, equations).solved(person)
    if proof is None or len(proof.equations) > _FEW:
        return proof
    for equation in proof.equations:
        fewer = _Board.of(around, set(proof.equations) - {equation}).solved(person)
        if fewer is not None and len(fewer.equations) < len(proof.equations):
            proof = fewer
    return proof


def refute(around: Neighbourhood, person: int, place: int, value: int, most: int) -> Proof | None:
    """Why the person cannot have any other value in a release: each is supposed, and contradicts the groups around.

    None if these do not show it, or if more than `most` ways would have to be looked at.
    """
    equations = _near(around, person, most)
    if equations is None:
        return None
    board = _Board.of(around, equations)
    others = sorted(board.shown((person, place)) - {value})
    if not others or len(others) > _SUPPOSED or (person, place) in board.loose:
        return None
    steps: list[Step] = []
    used: set[Equation] = {(place, group) for group in around.groups(person, place)}
    for other in others:
        found = _Board.of(around, equations).contradicted(person, place, other)
        if found is None:
            return None
        steps += found[0]
        used |= found[1]
    return Proof(person, place, value, tuple(sorted(used)), tuple(steps))


def _near(around: Neighbourhood, person: int, most: int) -> set[Equation] | None:
    """The person's groups and those of the others in them; None if there are more than `most` ways in them."""
    own = around.everywhere(person)
    others = {other for equation in own for other in around.members(equation)}
    equations = set(own).union(*(around.everywhere(other) for other in sorted(others)))
    return equations if sum(len(around.members(one)) * len(around.slots(one)) for one in equations) <= most else None


@dataclass(eq=False)
class _Board:
    """What is still open, and why the rest is not."""

    around: Neighbourhood
    equations: list[Equation]
    open: dict[_Cell, set[int]]
    """Slots that a person may fill."""
    loose: set[_Cell]
    """Who may be somewhere else, where nobody looks."""
    places: dict[int, list[int]]
    """Person to the releases in which the person's values are known to be among open ones."""
    steps: list[Step] = field(default_factory=list)
    why: dict[_Fact, int] = field(default_factory=dict)

    @classmethod
    def of(cls, around: Neighbourhood, equations: Iterable[Equation]) -> "_Board":
        """Everything is open that the groups show."""
        chosen = sorted(equations)
        among, ways = set(chosen), dict[_Cell, set[int]]()
        for place, group in chosen:
            for person in around.members((place, group)):
                known = around.known(person, place)
                slots = [
                    slot for slot in around.slots((place, group)) if known is None or around.value(place, slot) == known
                ]
                ways.setdefault((person, place), set()).update(slots)
        loose = {
            (person, place)
            for person, place in ways
            if around.absent(person, place)
            or any((place, group) not in among for group in around.groups(person, place))
        }
        places: dict[int, list[int]] = {}
        for person, place in sorted(ways.keys() - loose):
            places.setdefault(person, []).append(place)
        return cls(around, chosen, ways, loose, places)

    def solved(self, person: int) -> Proof | None:
        """Reason in rounds until a value of the person is certain."""
        for _ in range(_ROUNDS):
            place = self._certain(person)
            if place is not None:
                return self._proof(person, place)
            before = len(self.steps)
            self._round()
            if len(self.steps) == before:
                return None
        return None

    def contradicted(self, person: int, place: int, value: int) -> tuple[list[Step], set[Equation]] | None:
        """Suppose a value and reason in rounds until nothing fits; the steps that it takes, and their groups."""
        cell = person, place
        lost = frozenset((*cell, slot) for slot in self.open[cell] if self.around.value(place, slot) != value)
        self.steps.append(Step(Rule.SUPPOSED, place, (person,), value, lost, frozenset()))
        self.why |= dict.fromkeys(lost, 0)
        self.open[cell] -= {slot for _, _, slot in lost}
        for _ in range(_ROUNDS):
            end = next(self._impossible(), None)
            if end is not None:
                steps = [*self._needed_for([*end.rests]), end]
                return steps, {one for step in steps for one in self._equations(step)}
            before = len(self.steps)
            self._round()
            if len(self.steps) == before:
                return None
        return None

    def _certain(self, person: int) -> int | None:
        """A release in which one value of the person is left, if any; the one with most values first."""
        sure = [place for place in self.places.get(person, []) if len(self._values((person, place))) == 1]
        return min(sure, key=lambda place: -len(self.shown((person, place))), default=None)

    def _values(self, cell: _Cell) -> set[int]:
        return {self.around.value(cell[1], slot) for slot in self.open[cell]}

    def shown(self, cell: _Cell) -> set[int]:
        """The values that the person's groups show."""
        return {
            self.around.value(cell[1], slot)
            for group in self.around.groups(*cell)
            for slot in self.around.slots((cell[1], group))
        }

    def _round(self) -> None:
        """Each rule once; conclusions of a round are used in the next one."""
        found = [*self._chains(), *self._counts()]
        for step in found:
            new = frozenset(fact for fact in step.closed if fact not in self.why)
            if new:
                self.steps.append(Step(step.rule, step.place, step.people, step.other, new, step.rests))
                self.why |= dict.fromkeys(new, len(self.steps) - 1)
        for person, place, slot in self.why:
            self.open[person, place].discard(slot)

    # --- rules -------------------------------------------------------------------------------------------------------

    def _chains(self) -> Iterator[Step]:
        for person, places in self.places.items():
            for one, other in pairwise(places):
                yield from self._chain(person, one, other, backward=False)
                yield from self._chain(person, other, one, backward=True)

    def _chain(self, person: int, source: int, target: int, *, backward: bool) -> Iterator[Step]:
        """What the person can have in one release by what is left in another."""
        steps = self.around.model.after(abs(self.around.times[target] - self.around.times[source])) > 0
        leads = steps.T if backward else steps
        left = np.zeros(len(leads), np.bool_)
        left[list(self._values((person, source)))] = True
        reached = left @ leads
        lost = [slot for slot in self.open[person, target] if not reached[self.around.value(target, slot)]]
        if lost:
            values = [self.around.value(target, slot) for slot in lost]
            rests = frozenset(
                fact
                for fact in self._closed((person, source))
                if leads[self.around.value(source, fact[2]), values].any()
            )
            closed = frozenset((person, target, slot) for slot in lost)
            yield Step(Rule.CHAIN, target, (person,), source, closed, rests)

    def _closed(self, cell: _Cell) -> list[_Fact]:
        """What was found out about a person in a release."""
        groups = self.around.groups(*cell)
        facts = [(*cell, slot) for group in groups for slot in self.around.slots((cell[1], group))]
        return [fact for fact in facts if fact in self.why]

    def _counts(self) -> Iterator[Step]:
        for place, group in self.equations:
            seen = self.around.observations[place]
            members = self.around.members((place, group))
            unknown = int(seen.free[group]) + seen.strangers
            for slot in self.around.slots((place, group)):
                can = [one for one in members if slot in self.open[one, place]]
                forced = [one for one in can if len(self.open[one, place]) == 1 and (one, place) not in self.loose]
                count = int(seen.cell_count[slot])
                if len(forced) == count < len(can):
                    yield self._full(place, slot, forced, can)
                elif len(can) + unknown == count:
                    yield from self._needed(place, slot, members, can)

    def _full(self, place: int, slot: int, forced: list[int], can: list[int]) -> Step:
        closed = frozenset((one, place, slot) for one in can if one not in forced)
        rests = frozenset(fact for one in forced for fact in self._closed((one, place)))
        return Step(Rule.FULL, place, tuple(forced), slot, closed, rests)

    def _needed(self, place: int, slot: int, members: list[int], can: list[int]) -> Iterator[Step]:
        closed = frozenset((one, place, other) for one in can for other in self.open[one, place] if other != slot)
        rests = frozenset((one, place, slot) for one in members if one not in can and (one, place, slot) in self.why)
        if closed:
            yield Step(Rule.NEEDED, place, tuple(can), slot, closed, rests)

    def _impossible(self) -> Iterator[Step]:
        """Where nothing fits any more."""
        nothing: frozenset[_Fact] = frozenset()
        for person, places in self.places.items():
            for place in places:
                if not self.open[person, place]:
                    yield Step(Rule.NOTHING, place, (person,), -1, nothing, frozenset(self._closed((person, place))))
        for place, group in self.equations:
            seen, members = self.around.observations[place], self.around.members((place, group))
            for slot in self.around.slots((place, group)):
                can = [one for one in members if slot in self.open[one, place]]
                forced = [one for one in can if len(self.open[one, place]) == 1 and (one, place) not in self.loose]
                count = int(seen.cell_count[slot])
                if len(forced) > count:
                    rests = frozenset(fact for one in forced for fact in self._closed((one, place)))
                    yield Step(Rule.TOO_MANY, place, tuple(forced), slot, nothing, rests)
                if len(can) + int(seen.free[group]) + seen.strangers < count:
                    rests = frozenset((one, place, slot) for one in members if (one, place, slot) in self.why)
                    yield Step(Rule.TOO_FEW, place, tuple(can), slot, nothing, rests)

    # --- what the conclusion needs -----------------------------------------------------------------------------------

    def _proof(self, person: int, place: int) -> Proof:
        steps = tuple(self._needed_for(self._closed((person, place))))
        equations = {(place, group) for group in self.around.groups(person, place)}
        for step in steps:
            equations |= set(self._equations(step))
        return Proof(person, place, min(self._values((person, place))), tuple(sorted(equations)), steps)

    def _needed_for(self, wanted: list[_Fact]) -> list[Step]:
        """The steps that facts rest on, in order."""
        used = set[int]()
        while wanted:
            number = self.why[wanted.pop()]
            if number not in used:
                used.add(number)
                wanted += self.steps[number].rests
        return [self.steps[number] for number in sorted(used)]

    def _equations(self, step: Step) -> Iterator[Equation]:
        """The groups that a step looks at."""
        if step.rule in {Rule.SUPPOSED, Rule.NOTHING}:
            yield from ((step.place, group) for group in self.around.groups(step.people[0], step.place))
        elif step.rule == Rule.CHAIN:
            for place in (step.place, step.other):
                yield from ((place, group) for group in self.around.groups(step.people[0], place))
        else:
            yield step.place, int(self.around.observations[step.place].cell_group[step.other])
