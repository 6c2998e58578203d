"""How values move from one release of a person to the next: pair by pair, in pieces, and as a table of all values."""

from collections.abc import Sequence

import numpy as np
import pytest

from reissue.counting import segments
from reissue.solver import transitions
from reissue.solver.states import ReleaseStates, states_of
from reissue.solver.transitions import Model, link
from tests.solver.series import tiny

_TIMES = [0, 1, 3, 4]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("way", ["pair by pair", "in pieces", "as a table"])
def test_links_move_weights_as_the_model_says(seed: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    case = tiny(rng, people=7, releases=4, values=4, register=bool(seed % 2), absent=seed % 3 == 0)
    model, releases = Model(case.values, case.steps), [states_of(seen, case.values) for seen in case.series]
    monkeypatch.setattr(transitions, "_DENSE", 0 if way == "as a table" else 100)
    monkeypatch.setattr(segments, "_PIECE", 5 if way == "in pieces" else 1000)
    offsets = np.append(0, np.cumsum([release.states for release in releases]))
    for place, links in enumerate(link(releases, model, _TIMES)):
        pairs = _pairs(releases, place, model)
        before, after = rng.random(offsets[-1]), rng.random(releases[place].states)
        forward, backward = np.zeros(releases[place].states), np.zeros(offsets[-1])
        for source, target, chance in pairs:
            forward[target] += before[source] * chance
            backward[source] += after[target] * chance
        assert links.forward(before[links.sources]) == pytest.approx(forward[links.targets])
        assert links.backward(after[links.targets]) == pytest.approx(backward[links.sources])
        assert {target for _, target, _ in pairs} == set(links.targets.tolist())
        assert {source for source, _, _ in pairs} == set(links.sources.tolist())


def _pairs(releases: Sequence[ReleaseStates], place: int, model: Model) -> list[tuple[int, int, float]]:
    """Number of an earlier entry over all releases, entry of this release, and how likely the one becomes the other."""
    offsets, made = np.append(0, np.cumsum([release.states for release in releases])), []
    for row, person in enumerate(releases[place].person.tolist()):
        earlier = [at for at in range(place) if person in releases[at].person]
        if not earlier:
            continue
        last = releases[earlier[-1]]
        there = int(np.flatnonzero(last.person == person)[0])
        chances = model.after(_TIMES[place] - _TIMES[earlier[-1]])
        for source in range(last.starts[there], last.starts[there + 1]):
            for target in range(releases[place].starts[row], releases[place].starts[row + 1]):
                chance = float(chances[last.value[source], releases[place].value[target]])
                made.append((int(offsets[earlier[-1]] + source), target, chance))
    return made


def test_few_possible_steps_are_linked_pair_by_pair_however_many_values_people_may_have() -> None:
    """All values that anybody may have, of which each becomes one of two: a table would be nearly empty."""
    values = 12
    case = tiny(np.random.default_rng(1), people=8, releases=2, values=values, absent=True)
    steps = (np.eye(values) + np.roll(np.eye(values), 1, axis=1)) / 2
    releases = [states_of(seen, values) for seen in case.series]
    assert all(one.matrix is not None for one in link(releases, Model(values, steps)))
    assert link(releases, Model(values, np.full((values, values), 1 / values)))[1].matrix is None
