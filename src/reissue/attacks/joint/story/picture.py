"""The picture of the joint attack's worst case: groups as small tables, each one an equation about its members."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np

from reissue._arrays import Floats
from reissue.attacks.stories import EquationGroup, EquationRow, Equations, Shown, value_text
from reissue.solver import Posterior
from reissue.solver.deduction import Equation, Neighbourhood, Proof

__all__ = ["Letters", "Scene", "picture_of_person", "picture_of_proof"]

_GROUPS = 6
_ROWS = 10
_OTHERS = "others"


@dataclass(frozen=True, eq=False)
class Scene:
    """All that a case is made of."""

    around: Neighbourhood
    posterior: Posterior
    names: Sequence[str | None]
    numbers: Sequence[int]
    shown: Callable[[int, int], Shown]
    knowledge: str
    limit: float
    learns: bool = False
    """Whether the reader has learnt which people tend to have which value."""

    def name(self, value: int) -> str:
        """A value as published."""
        return value_text(self.names[value])

    def release(self, place: int) -> str:
        """What a release is called."""
        return f"release {self.numbers[place]}"

    def counts(self, place: int, groups: Sequence[int]) -> dict[int, int]:
        """Value to its records in some groups of a release."""
        seen, found = self.around.observations[place], dict[int, int]()
        for group in groups:
            for slot in self.around.slots((place, group)):
                value = int(seen.cell_value[slot])
                found[value] = found.get(value, 0) + int(seen.cell_count[slot])
        return found

    def chances(self, person: int, place: int) -> dict[int, float]:
        """Value to its posterior for a person in a release; empty where the person was set aside."""
        layer, chance = self.posterior.releases[place], self.posterior.chance[place]
        row = int(np.searchsorted(layer.person, person))
        if row >= len(layer.person) or int(layer.person[row]) != person:
            return {}
        own = slice(int(layer.starts[row]), int(layer.starts[row + 1]))
        return dict(zip(layer.value[own].tolist(), chance[own].tolist(), strict=True))

    def places(self, person: int) -> list[int]:
        """The releases that a person may be in."""
        every = range(len(self.around.observations))
        return [place for place in every if self.around.groups(person, place)]


@dataclass(frozen=True)
class Letters:
    """What the people of a case are called: letters."""

    person: int
    letters: dict[int, str]

    @classmethod
    def of(cls, proof: Proof) -> "Letters":
        """In the order in which they matter."""
        named = dict.fromkeys(one for step in proof.steps for one in step.people if one != proof.person)
        return cls(proof.person, dict(zip(named, ascii_uppercase, strict=False)))

    def __contains__(self, person: int) -> bool:
        return person == self.person or person in self.letters

    def __getitem__(self, person: int) -> str:
        return "this person" if person == self.person else self.letters[person]


def picture_of_proof(scene: Scene, proof: Proof, labels: Letters) -> Equations:
    """The groups that the proof takes, and who fills which of their records."""
    # What follows from what was only supposed is nobody's.
    steps = [] if proof.supposes else proof.steps
    closed = frozenset(fact for step in steps for fact in step.closed) | _settled(scene, proof)
    own = [place for place, group in proof.equations if group in scene.around.groups(proof.person, place)]
    ordered = sorted(proof.equations, key=lambda one: (one[0] not in own, abs(one[0] - proof.place), one))
    groups = [_table(scene, labels, place, [group], closed) for place, group in sorted(ordered[:_GROUPS])]
    return _picture(groups, scene, len(proof.equations))


def _settled(scene: Scene, proof: Proof) -> frozenset[tuple[int, int, int]]:
    """What the person does not have in the release that the proof is about."""
    place = proof.place
    slots = [slot for group in scene.around.groups(proof.person, place) for slot in scene.around.slots((place, group))]
    return frozenset((proof.person, place, slot) for slot in slots if scene.around.value(place, slot) != proof.value)


def picture_of_person(scene: Scene, person: int, place: int) -> Equations:
    """The person's groups: the release named, and those that say most beside it."""
    own = scene.places(person)
    chosen = sorted(sorted(own, key=lambda one: (one != place, -_gain(scene, person, one), one))[:_GROUPS])
    labels = Letters(person, {})
    groups = [_table(scene, labels, one, scene.around.groups(person, one), frozenset()) for one in chosen]
    return _picture(groups, scene, len(own))


def _picture(groups: list[EquationGroup], scene: Scene, total: int) -> Equations:
    return {"kind": "equations", "groups": groups, "total": total, "limit": scene.limit}


def _gain(scene: Scene, person: int, place: int) -> float:
    """How much surer a value is than its share in the person's groups."""
    counts = scene.counts(place, scene.around.groups(person, place))
    size = max(sum(counts.values()), 1)
    chances = scene.chances(person, place)
    return max((chance - counts.get(value, 0) / size for value, chance in chances.items()), default=0.0)


def _table(
    scene: Scene, labels: Letters, place: int, groups: Sequence[int], closed: frozenset[tuple[int, int, int]]
) -> EquationGroup:
    """One group, or all that the person fits in a release."""
    members = sorted({one for group in groups for one in scene.around.members((place, group))})
    named = [one for one in (labels.person, *labels.letters) if one in members]
    others = [one for one in members if one not in labels]
    free = scene.around.observations[place].free
    whole = not scene.around.times[0]  # a ledger has the last releases at hand, not who was in older ones
    return {
        "label": scene.release(place),
        "published": scene.shown(place, groups[0]) if len(groups) == 1 else {},
        "groups": len(groups),
        "people": [labels[one] for one in named],
        "others": 0 if whole else len(others),
        "before": sum(_was_there(scene, one, place) for one in others) if whole else 0,
        "new": sum(not _was_there(scene, one, place) for one in others) if whole else 0,
        "unknown": int(sum(free[group] for group in groups)),
        "rows": _rows(scene, labels, place, groups, _filled(scene, labels, place, groups, closed)),
    }


def _was_there(scene: Scene, person: int, place: int) -> bool:
    return any(scene.around.groups(person, one) for one in range(place))


def _filled(
    scene: Scene, labels: Letters, place: int, groups: Sequence[int], closed: frozenset[tuple[int, int, int]]
) -> dict[int, list[str]]:
    """Value to the people who are shown to have it."""
    found: dict[int, list[str]] = {}
    for person in (labels.person, *labels.letters):
        mine = scene.around.groups(person, place)
        slots = {slot for group in mine for slot in scene.around.slots((place, group))}
        left = {slot for slot in slots if (person, place, slot) not in closed}
        if closed and len(left) == 1 and set(mine) & set(groups):
            found.setdefault(scene.around.value(place, min(left)), []).append(labels[person])
    return found


def _rows(
    scene: Scene, labels: Letters, place: int, groups: Sequence[int], filled: dict[int, list[str]]
) -> list[EquationRow]:
    """A row a value: its records, who has them, and how likely this person has it; of many values the first ones."""
    own = set(groups) <= set(scene.around.groups(labels.person, place))
    counts, chances = scene.counts(place, groups), scene.chances(labels.person, place) if own else {}
    order = sorted(counts, key=lambda value: (-chances.get(value, 0.0), value not in filled, -counts[value], value))
    shown, rest = (order, []) if len(order) <= _ROWS else (order[: _ROWS - 1], order[_ROWS - 1 :])
    rows: list[EquationRow] = [
        {
            "value": scene.name(value),
            "records": counts[value],
            "people": filled.get(value, []),
            "chance": _rounded(chances.get(value, 0.0)) if own and chances else None,
        }
        for value in sorted(shown, key=lambda value: (-counts[value], value))
    ]
    if rest:
        chance = _rounded(sum(chances.get(value, 0.0) for value in rest)) if own and chances else None
        total = sum(counts[value] for value in rest)
        rows.append({"value": _OTHERS, "records": total, "people": [], "chance": chance})
    return rows


def _rounded(chance: float) -> float:
    """To six digits; what is not quite impossible or certain stays so."""
    return float(chance) if chance in {0, 1} else min(max(round(float(chance), 6), 1e-6), 1 - 1e-6)


def expected_of_others(scene: Scene, person: int, equation: Equation, value: int) -> float:
    """How many records of a value the other members of a group are expected to have."""
    place, _ = equation
    layer, chance = scene.posterior.releases[place], scene.posterior.chance[place]
    others = np.array([one for one in scene.around.members(equation) if one != person], np.int64)
    mine: Floats = np.isin(layer.person[layer.row], others) & (layer.value == value)
    return float(chance[mine].sum())
