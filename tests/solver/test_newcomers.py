"""What newcomers have is learnt: counted as the posterior says, near the truth, and counts still fit."""

from dataclasses import replace

import numpy as np
import pytest

from reissue._arrays import Ints
from reissue.attacks.joint.base_rates import base_rates, expecting
from reissue.attacks.joint.solving.beliefs import Beliefs
from reissue.attacks.joint.solving.believe import believe
from reissue.attacks.joint.solving.past import Past, first_times
from reissue.solver.elimination import narrow
from reissue.solver.iterative_scaling import Chains, Scaling, messages_of, posterior, scale
from reissue.solver.learning.newcomers import Latecomers
from reissue.solver.lots import lots
from reissue.solver.observations import Observation
from reissue.solver.settled import unsettled
from reissue.solver.transitions import Model
from tests.solver.series import tiny
from tests.solver.worlds import observed

STAYING = np.array([[0.98, 0.02], [0.7, 0.3]])
"""The first value lasts; who has the second has it for a month."""
_LONG = Scaling(sweeps=400, tolerance=1e-4, elsewhere=0.0)
COMING = np.array([0.1, 0.9])


@pytest.mark.parametrize("seed", range(20))
def test_what_is_learnt_is_the_posterior_of_newcomers_certain_or_not(seed: int) -> None:
    case = tiny(np.random.default_rng(seed), people=8, releases=3)
    model, rates = Model(case.values, case.steps), base_rates(case.series, case.values)
    prior, new = np.broadcast_to(rates, (8, case.values)), np.arange(8) % 3 == 0
    layers = narrow(case.series, model).layers
    part = unsettled(layers, model, prior, newcomers=Latecomers(new, rates, np.zeros(case.values)))
    chains = part.chains
    scaled = scale(chains, _LONG)
    if not scaled.converged:
        return
    known = chains.as_scaled(scaled)
    chance = part.whole(layers, posterior(known, messages_of(known, scaled)))
    expected, whole = np.zeros(case.values), Chains.of(layers, model)
    for place, layer in enumerate(layers):
        first = whole.beginners(place)[layer.row]
        mine = (first >= 0) & new[first]
        expected += np.bincount(layer.value[mine], chance[place][mine], case.values)
    counted = expected + 100 * rates  # beside a hundred people's worth of what is published
    assert scaled.rates == pytest.approx(counted / counted.sum(), abs=0.002)
    again = scale(chains, _LONG)  # nothing is left in the chains of what was learnt
    assert np.array_equal(again.rates, scaled.rates)
    further = scale(chains, _LONG, scaled.multipliers, scaled.rates)  # from what was found before it is not far
    assert further.rates == pytest.approx(scaled.rates, abs=0.002)
    assert further.sweeps <= scaled.sweeps


def test_it_comes_near_what_newcomers_have_where_that_is_not_what_is_published() -> None:
    series, first, truth = long_stays()
    rates = base_rates(series, 2)
    assert rates[0] > 0.5 > truth[0] + 0.2
    learnt = solved(series, first, rates).scaled.rates
    assert abs(learnt[0] - truth[0]) < 0.25 * abs(rates[0] - truth[0])


def test_claims_are_righter_with_it() -> None:
    series, first, truth = long_stays()
    rates = base_rates(series, 2)
    newcomer = first > 0
    for place in range(1, len(series)):
        without, learnt = (
            one.chance[place] for one in (solved(series, first, rates, learn=False), solved(series, first, rates))
        )
        layer = solved(series, first, rates).layers[place]
        mine = newcomer[layer.person[layer.row]] & (first[layer.person[layer.row]] == place) & (layer.value == 0)
        assert abs(learnt[mine].mean() - truth[0]) < abs(without[mine].mean() - truth[0])


def test_few_newcomers_move_what_is_expected_little() -> None:
    one = observed([([0, 1, 2], {0: 2, 1: 1}, 0)])
    other = observed([([0, 1, 3], {0: 1, 1: 2}, 0)])
    first = first_times([one, other], [0, 1], 4)
    rates = base_rates([one, other], 2)
    learnt = solved([one, other], first, rates).scaled.rates
    assert learnt == pytest.approx(rates, abs=0.01)


def test_counts_of_large_groups_fit_though_what_is_expected_moves() -> None:
    """Learnt after every sweep, counts of groups of hundreds swung to and fro and never fitted."""
    rng = np.random.default_rng(0)
    people, series = 0, []
    for release in range(6):
        people += 1200 if release == 0 else 300
        side = rng.integers(2, size=people)
        value = np.arange(people) * 7 % 10  # values stay
        groups = []
        for number in range(2):
            members = np.flatnonzero(side == number)
            shown, count = np.unique(value[members], return_counts=True)
            groups.append((members.tolist(), dict(zip(shown.tolist(), count.tolist(), strict=True)), 0))
        series.append(observed(groups))
    first = first_times(series, range(6), people)
    found = solved(series, first, base_rates(series, 10), Model(10))
    assert found.scaled.converged
    assert found.scaled.rates == pytest.approx(np.full(10, 0.1), abs=0.03)


def test_of_groups_made_by_value_newcomers_are_learnt_of_where_values_change() -> None:
    even = [observed([([0, 1], {0: 1, 1: 1}, 0)]), observed([([1, 2], {0: 1, 1: 1}, 0)])]
    odd = [observed([([0, 1, 3], {0: 2, 1: 1}, 0)]), observed([([1, 2, 3], {0: 2, 1: 1}, 0)])]
    told = [replace(one, fakes=np.array([0, 1])) for one in even]
    changing = Model(2, STAYING)

    def found(series: list[Observation], model: Model) -> Latecomers | None:
        first = first_times(series, [0, 1], 4)
        return Past.none().of(4).newcomers(np.arange(4), first, series, model, np.array([0.6, 0.4]))

    for series, model, by_value in ((odd, Model(2), False), (even, changing, True), (told, changing, False)):
        new = found(series, model)
        assert new is not None
        assert (new.people.tolist(), new.by_value) == ([False, False, True, False], by_value)
    roughly = [replace(one, roughly=True) for one in told]
    strangers, absent = ([replace(one, **more) for one in even] for more in ({"strangers": 1}, {"absent": [0]}))
    slots = [replace(one, occupant=one.person) for one in odd]
    assert found(even, Model(2)) is None
    assert [found(one, changing) for one in (roughly, strangers, absent, slots)] == [None] * 4


def test_each_lot_has_its_part_of_those_who_are_certain() -> None:
    groups = [([3 * one, 3 * one + 1, 3 * one + 2], {0: 1, 1: 1, 2: 1}, 0) for one in range(4)]
    series, model = [observed(groups), observed(groups)], Model(3, np.full((3, 3), 1 / 3))
    certain = np.array([4.0, 0.0, 8.0])
    newcomers = Latecomers(np.ones(12, np.bool_), np.full(3, 1 / 3), certain)
    part = unsettled(narrow(series, model).layers, model, newcomers=newcomers)
    shares = [lot.part.newcomers.certain for lot in lots(part, most=20) if lot.part.newcomers is not None]
    assert len(shares) > 1
    assert sum(shares) == pytest.approx(certain)


def test_a_lot_that_is_solved_again_stays_linked_and_weighs_what_is_expected_now() -> None:
    groups = [([3 * one, 3 * one + 1, 3 * one + 2], {0: 1, 1: 1, 2: 1}, 0) for one in range(4)]
    series, model = [observed(groups), observed(groups)], Model(3, np.full((3, 3), 1 / 3))
    layers, other = narrow(series, model).layers, np.random.default_rng(0).random((12, 3))
    part = unsettled(layers, model, np.full((12, 3), 1 / 3))
    next(lots(part, most=20))  # whoever stops early leaves no half
    before = [lot.part.chains for lot in lots(part, most=20)]
    after = [lot.part.chains for lot in lots(part.expecting(other), most=20)]
    anew = [lot.part.chains for lot in lots(unsettled(layers, model, other), most=20)]
    assert len(before) > 1
    for old, again, fresh in zip(before, after, anew, strict=True):
        assert all(one is two for one, two in zip(old.links, again.links, strict=True))
        assert again.known is not None
        assert fresh.known is not None
        assert all(np.array_equal(*pair) for pair in zip(again.known, fresh.known, strict=True))


def long_stays() -> tuple[list[Observation], Ints, np.ndarray]:
    """Groups of four at random; each month one in five goes, those mostly who have the value that does not last."""
    rng = np.random.default_rng(5)
    here, born = np.arange(1200), 1200
    value = (rng.random(1200) >= 0.8).astype(np.int64)
    series, begun = [grouped(here, value, rng)], []
    for _ in range(5):
        value = np.array([rng.choice(2, p=STAYING[one]) for one in value])
        goes = rng.random(1200) < 0.2
        here, value = here.copy(), value.copy()
        here[goes] = born + np.arange(int(goes.sum()))
        value[goes] = rng.choice(2, int(goes.sum()), p=COMING)
        begun.append(value[goes])
        born += int(goes.sum())
        series.append(grouped(here, value, rng))
    truth = np.bincount(np.concatenate(begun), minlength=2)
    return series, first_times(series, range(6), born), truth / truth.sum()


def grouped(here: Ints, value: Ints, rng: np.random.Generator) -> Observation:
    groups = []
    for rows in rng.permutation(len(here)).reshape(-1, 4):
        shown, count = np.unique(value[rows], return_counts=True)
        groups.append((here[rows].tolist(), dict(zip(shown.tolist(), count.tolist(), strict=True)), 0))
    return observed(groups)


def solved(
    series: list[Observation], first: Ints, rates: np.ndarray, model: Model | None = None, *, learn: bool = True
) -> Beliefs:
    people, everyone = len(first), np.arange(len(first))
    new = Past.none().of(people).newcomers(everyone, first, series, Model(2, STAYING), rates) if learn else None
    prior = np.broadcast_to(rates, (people, len(rates)))
    return believe(expecting(series, rates), model or Model(2, STAYING), prior=prior, newcomers=new)
