"""What is certain is taken out: the same posterior from less, and chains cut at every known value."""

import numpy as np
import pytest

from reissue.solver.elimination import narrow
from reissue.solver.iterative_scaling import Chains, Scaling, messages_of, posterior, scale
from reissue.solver.settled import unsettled
from reissue.solver.transitions import Model
from tests.solver.series import tiny
from tests.solver.worlds import observed

_LONG = Scaling(sweeps=400, tolerance=1e-6, elsewhere=0.0)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_has_the_posterior_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    register, counterfeits, coalition = bool(seed % 2), 0.4 * (seed % 3 == 0), seed % 5 == 0
    case = tiny(rng, people=6, releases=4, register=register, counterfeits=counterfeits, coalition=coalition)
    model, prior, times = Model(case.values, case.steps), rng.random((6, case.values)) + 0.1, [0, 1, 3, 4]
    layers = narrow(case.series, model, times).layers
    chains = Chains.of(layers, model, prior, times)
    part = unsettled(layers, model, prior, times)
    whole, less = scale(chains, _LONG), scale(part.chains, _LONG)
    if not whole.converged:
        return  # a multiplier goes to a corner; with what is certain taken out that is rarer
    assert less.converged
    found = part.whole(layers, posterior(part.chains, messages_of(part.chains, less)))
    for one, other in zip(posterior(chains, messages_of(chains, whole)), found, strict=True):
        assert other == pytest.approx(one, abs=1e-3)


def test_a_known_value_cuts_a_person_s_chain_and_leaves_fewer_records() -> None:
    steps = np.array([[0.8, 0.2], [0.3, 0.7]])
    apart = observed([([0], {0: 1}, 0), ([1, 2], {0: 1, 1: 1}, 0)])
    together = observed([([0, 1], {0: 1, 1: 1}, 0), ([2], {1: 1}, 0)])
    model = Model(2, steps)
    part = unsettled(narrow([together, apart, together], model).layers, model)
    first, second, third = part.chains.layers
    assert [layer.settled for layer in part.chains.layers] == [1, 1, 1]
    assert first.count.tolist() == [1, 1, 0]
    assert part.person[first.person].tolist() == part.person[third.person].tolist() == [0, 1]
    # Person 0 has value 0 in the second release: two stretches. Person 1 is open there: one chain through all three.
    assert first.person[0] != third.person[0]
    assert first.person[1] == second.person[0] == third.person[1]
    assert part.chains.beginnings(0)[:2] == pytest.approx(steps[:, 0])
    assert part.chains.beginnings(2)[:2] == pytest.approx(steps[0])


def test_people_whom_no_world_has_room_for_stay_where_they_are() -> None:
    """More people with one way than records: that counts fit nowhere must still be seen."""
    crowded = observed([([0, 1], {0: 1}, 0), ([2, 3], {0: 1, 1: 1}, 0)])
    part = unsettled(narrow([crowded], Model(2)).layers, Model(2))
    assert part.chains.layers[0].settled == 0
    assert scale(part.chains).elsewhere > 0.1
