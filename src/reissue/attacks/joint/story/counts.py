"""The joint attack's worst case where tables of counts are among the releases: which cells the person is in."""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.finding import Judgment
from reissue.attacks.stories import Case, case, value_text
from reissue.published.series import Series
from reissue.solver.observation import Observation
from reissue.solver.states import ReleaseStates
from reissue.words import listed, percent

__all__ = ["tell_counts"]

_SHOWN = 6
"""Cells that the story names, the smallest first."""


def tell_counts(judged: Judgment, series: Series, observations: Sequence[Observation], limit: float) -> Case | None:
    """The case of whoever is worst off; None where nobody is in the releases."""
    if not (judged.confidences.release >= 0).any():
        return None
    person = int(judged.worth.argmax())
    place, value = int(judged.confidences.release[person]), int(judged.confidences.value[person])
    if value < 0:
        return None
    marginal = judged.marginals[int(judged.confidences.marginal[person])]
    name = value_text(marginal.view.names[value])
    chance = float(judged.confidences.chance[person])
    bars = [
        (series.numbers[at], _chance(marginal.releases[at], marginal.chance[at], person, value))
        for at in range(len(series.numbers))
    ]
    shown: dict[int, float] = {}
    for number, likely in bars:
        if likely is not None:
            shown[number] = max(likely, shown.get(number, 0.0))
    numbers = list(dict.fromkeys(series.numbers))
    labels = [f"release {number}" for number in numbers]
    return case(
        [
            "Someone knows who was counted, and in which class of each table this person is.",
            *_cells(series, observations, person, marginal.view.label, value),
            _subtract(numbers),
            (
                f"So this person had {name} in release {series.numbers[place]} with a probability of "
                f"{percent(chance)}; the limit is {percent(limit)}."
            ),
        ],
        {
            "kind": "bars",
            "labels": labels,
            "series": {"probability": [shown.get(number) for number in numbers]},
            "unit": "probability",
            "limit": limit,
            "across": "releases",
            "sentence": "How probable this value is for this person in each release, all of them solved together.",
        },
    )


def _chance(release: ReleaseStates, chance: Floats, person: int, value: int) -> float | None:
    """How likely a person has a value in a release; None where the person is not in it."""
    row = np.flatnonzero(release.person == person)
    if not len(row):
        return None
    states = slice(*release.starts[row[0] : row[0] + 2].tolist())
    mine = chance[states][release.value[states] == value]
    return float(mine.sum())


def _cells(series: Series, observations: Sequence[Observation], person: int, label: Ints, value: int) -> list[str]:
    """The published cells that the person is in and that show the value, the smallest first."""
    found = []
    for number, seen in zip(series.numbers, observations, strict=True):
        groups = seen.group[seen.person == person]
        cells = np.flatnonzero(np.isin(seen.cell_group, groups) & (label[seen.cell_value] == value))
        people = int(np.isin(seen.group, groups).sum())
        for cell in cells.tolist():
            low = int(seen.cell_least[cell]) if len(seen.cell_least) else int(seen.cell_count[cell])
            high = int(seen.cell_count[cell])
            count = f"{high:,}" if low == high else f"{low:,} to {high:,}"
            found.append((high, f"Release {number} shows this value for {count} of {people:,} people of a class."))
    found.sort(key=lambda pair: pair[0])
    return list(dict.fromkeys(text for _, text in found))[:_SHOWN]


def _subtract(numbers: Sequence[int]) -> str:
    if len(numbers) < 2:
        return "Tables of one release overlap: what one says of a class bounds the cells of the others."
    pairs = listed([f"release {number}" for number in numbers[:3]])
    return (
        f"The same people are counted in {pairs}{' and more' if len(numbers) > 3 else ''}: subtracting one release "
        "from the next leaves those who came and left, and their values."
    )
