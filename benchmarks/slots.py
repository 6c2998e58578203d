"""Panels of cohorts: the synthetic hospital's twelve months with slots that can be followed, attacked with all we have.

Beside cost and the attacks of the gate: the prior that `definetti` learns; and someone who knows besides how likely
people with each value leave, and how likely slots with each value are taken over (by the true tables), and weighs
every way to give out the slots with it. Then what the form is for: transitions, true and as the linked rows say.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._waves import SOURCES, Waves
from benchmarks.cohorts import LIMIT, POLICY, READERS, Cost, exposed, published
from reissue.people.knowledge import Knowledge
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.solver.labels import matched
from reissue.utility import transitions

SETTINGS: tuple[dict[str, Any], ...] = (
    {"options": {"size": 12, "later": 8}, "prior": "common"},
    {"options": {"size": 24, "later": 12}, "prior": "common"},
    {"require": "k=5 & l=4 & confidence=0.4", "suppress": 0.04},
)
"""For readers who take people for alike, and for those who look at who leaves."""
ONLY = ("definetti", "trajectory")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="slots", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer people and releases")
    chosen = parser.parse_args(arguments)
    for setting in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            _series(Path(folder), SOURCES["hospital"](Path(folder), None, quick=chosen.quick), setting)


def _series(folder: Path, waves: Waves, setting: dict[str, Any]) -> None:
    options = {"form": "panel", **setting.get("options", {})}
    policy = {**POLICY, "require": "k=5 & l=3", "suppress": 0.02, "counterfeits": 0.25, "knowledge": "groups"}
    began = time.process_time()
    made = published(folder, waves, {**policy, **setting, "options": options})
    took = time.process_time() - began
    cost = Cost.of(made, sum(table.height for table in waves.tables[: len(made)]))
    print(
        f"{setting}: {len(made)} releases, width {cost.width:.3f}, counterfeits {cost.counterfeits:.1%}, left out "
        f"{cost.left_out:.2%}, {took:.0f} CPU s",
        flush=True,
    )
    for prior in READERS:
        print(f"everyone at once, prior {prior}: {exposed(made, waves, groups=True, prior=prior)}", flush=True)
    for found in attack(made, waves.schema, only=ONLY, knowledge=Knowledge(groups=True), limits={"joint": LIMIT}):
        print(f"{found.attack} {found.status.value}: {found.sentence} {found.details.get('above', '')}", flush=True)
    hospital = str(waves.tables[0]["hospital"].min())
    for said, knowledge in (
        ("true totals known", Knowledge(groups=True, totals=True)),
        ("one hospital knows its patients' values", Knowledge(groups=True, coalition=[hospital])),
    ):
        (found,) = attack(made, waves.schema, only=["joint"], knowledge=knowledge, limits={"joint": LIMIT})
        print(f"{said}: {found.sentence}", flush=True)
    print(f"leaving and taking over known: {with_rates(made)}", flush=True)
    for before, after in list(pairwise(range(len(made))))[:: max(len(made) // 3, 1)]:
        pairs = [(waves.tables[place], made[place]) for place in (before, after)]
        moves = transitions(pairs[0], pairs[1], waves.schema)
        worst = max(abs(one.true - one.published) for one in moves.each)
        print(f"releases {before + 1} and {after + 1}: {moves.sentence} Worst cell off by {worst:.1%}.", flush=True)


# --- someone who knows rates -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Slots:
    """Slot x release: group, value and person, -1 where there is none; and who is in which table."""

    group: np.ndarray
    value: np.ndarray
    person: np.ndarray
    there: list[set[int]]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> "_Slots":
        names = np.unique(np.concatenate([_slots(one)[_slots(one) >= 0] for one in releases]))
        made = np.full((3, len(names), len(releases)), -1)
        people: dict[object, int] = {}
        values: dict[object, int] = {}
        there = []
        for place, one in enumerate(releases):
            codes, groups, fakes = one.table.sensitive, one.draft.groups, one.draft.counterfeits
            person = [people.setdefault(text, len(people)) for text in one.table.frame[one.schema.identifier or ""]]
            there.append(set(person))
            if fakes is not None:
                codes, groups = np.append(codes, fakes.sensitive), np.append(groups, fakes.groups)
                person += [-1] * len(fakes.groups)
            shown = one.table.decode(codes)[one.schema.sensitive[0]]
            value = [values.setdefault(text, len(values)) for text in shown]
            kept = np.flatnonzero(_slots(one) >= 0)
            made[:, np.searchsorted(names, _slots(one)[kept]), place] = np.stack([groups, value, person])[:, kept]
        return cls(made[0], made[1], made[2], there)

    def events(self) -> list[tuple[int, int, int, bool]]:
        """What happens to slots: kind (0 someone may leave, 1 someone may take it over), slot, release, whether."""
        found = []
        for slot, place in zip(*np.nonzero(self.value >= 0), strict=True):
            person = int(self.person[slot, place])
            if person >= 0 and place + 1 < len(self.there):
                found.append((0, int(slot), int(place), person not in self.there[place + 1]))
            if (
                place
                and self.value[slot, place - 1] >= 0
                and int(self.person[slot, place - 1]) not in self.there[place]
            ):
                found.append((1, int(slot), int(place), person >= 0))
        return found


def _slots(release: Release) -> np.ndarray:
    return np.empty(0, np.int64) if release.draft.slots is None else release.draft.slots


def with_rates(releases: Sequence[Release]) -> str:
    """How surely people are linked to a value by someone who knows how often each value goes with what happens."""
    slots = _Slots.of(releases)
    events, width = slots.events(), int(slots.value.max()) + 1
    rates = np.full((2, width, 2), [0.5, 1.0])
    told: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    for kind, slot, place, happens in events:
        rates[kind, slots.value[slot, place]] += happens, 1
        told[slot].append((kind, place, happens))
    likely = rates[..., 0] / rates[..., 1]
    classes, of_slot = np.unique(slots.group, axis=0, return_inverse=True)
    claims: dict[int, tuple[float, bool]] = {}
    for number in range(len(classes)):
        mine = np.flatnonzero(of_slot.reshape(-1) == number)
        weights = np.zeros((len(mine), len(mine)))
        for row, slot in enumerate(mine.tolist()):
            for kind, place, happens in told[slot]:
                rate = likely[kind, slots.value[mine, place]]
                weights[row] += np.log(rate if happens else 1 - rate)
        chance = matched(np.exp(weights - weights.max(axis=1, keepdims=True)))
        for row, place in zip(*np.nonzero(slots.person[mine] >= 0), strict=True):
            shown = np.bincount(slots.value[mine, place], chance[row], width)
            best, slot = int(shown.argmax()), mine[row]
            claim = float(shown[best]), best == int(slots.value[slot, place])
            person = int(slots.person[slot, place])
            claims[person] = max(claims.get(person, (0.0, False)), claim)
    surest = np.array(list(claims.values()))
    above = surest[:, 0] > LIMIT
    right = f"{int(surest[above, 1].sum()):,} right; of all surest guesses {surest[:, 1].mean():.1%} are right"
    return f"{above.sum():,} of {len(surest):,} above {LIMIT}, {right}"
