"""What is certain is taken out: the same posterior from less, and chains cut at every known value."""

import numpy as np
import pytest

from reissue.solver import Model, Scaling
from reissue.solver.conditioning import OpenStates
from reissue.solver.propagation import propagate
from reissue.solver.scaling import Chains, beginners, first_weights, marginals, scale
from reissue.solver.transitions import pairings
from tests.solver.series import tiny
from tests.solver.worlds import observed

_LONG = Scaling(sweeps=400, tolerance=1e-6, elsewhere=0.0)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_has_the_posterior_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    register, counterfeits, coalition = bool(seed % 2), 0.4 * (seed % 3 == 0), seed % 5 == 0
    case = tiny(rng, people=6, releases=4, register=register, counterfeits=counterfeits, coalition=coalition)
    model, prior, times = Model(case.values, case.steps), rng.random((6, case.values)) + 0.1, [0, 1, 3, 4]
    releases = propagate(case.series, model, times).releases
    pairs = zip(releases, pairings(releases, times), strict=True)
    chains = Chains.of(releases, model, times, [first_weights(one, beginners(one, pair), prior) for one, pair in pairs])
    part = OpenStates.of(releases, model, times)
    opened = part.chains(prior)
    whole, less = scale(chains, _LONG), scale(opened, _LONG)
    if not whole.converged:
        return  # a multiplier goes to a corner; with what is certain taken out that is rarer
    assert less.converged
    found = part.whole(releases, marginals(opened, less.messages(opened)))
    for one, other in zip(marginals(chains, whole.messages(chains)), found, strict=True):
        assert other == pytest.approx(one, abs=1e-3)


def test_a_known_value_cuts_a_person_s_chain_and_leaves_fewer_records() -> None:
    steps = np.array([[0.8, 0.2], [0.3, 0.7]])
    apart = observed([([0], {0: 1}, 0), ([1, 2], {0: 1, 1: 1}, 0)])
    together = observed([([0, 1], {0: 1, 1: 1}, 0), ([2], {1: 1}, 0)])
    model = Model(2, steps)
    part = OpenStates.of(propagate([together, apart, together], model).releases, model)
    first, second, third = part.releases
    assert [release.certain for release in part.releases] == [1, 1, 1]
    assert first.count.tolist() == [1, 1, 0]
    assert part.person[first.person].tolist() == part.person[third.person].tolist() == [0, 1]
    # Person 0 has value 0 in the second release: two stretches. Person 1 is open there: one chain through all three.
    assert first.person[0] != third.person[0]
    assert first.person[1] == second.person[0] == third.person[1]
    assert part.chains().weights(0)[:2] == pytest.approx(steps[:, 0])
    assert part.chains().weights(2)[:2] == pytest.approx(steps[0])


def test_people_whom_no_world_has_room_for_stay_where_they_are() -> None:
    """More people with one way than records: that counts fit nowhere must still be seen."""
    crowded = observed([([0, 1], {0: 1}, 0), ([2, 3], {0: 1, 1: 1}, 0)])
    part = OpenStates.of(propagate([crowded], Model(2)).releases, Model(2))
    assert part.releases[0].certain == 0
    assert scale(part.chains()).elsewhere > 0.1
