"""What is expected of newcomers: base rates where groups are made by quasi-identifiers, all alike where by value."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.confidence import Confidences, plain_marginal
from reissue.attacks.joint.update_model import base_rates
from reissue.ledger import Ledger
from reissue.publishing.attack import attack
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.publishing.series import anonymize_series
from reissue.schema import Schema
from reissue.solver import Model, Observation, solve
from tests.solver.worlds import observed, posterior


def test_values_are_expected_as_often_as_they_are_published() -> None:
    series = [observed([([0, 1, 2], {0: 2, 1: 1}, 0)]), observed([([0, 3], {0: 2}, 0)])]
    assert base_rates(series, 3) == pytest.approx([0.8, 0.2, 0], abs=1e-5)
    assert base_rates(series, 3).min() > 0


def test_where_every_group_shows_its_values_equally_often_all_are_alike() -> None:
    series = [observed([([0, 1], {0: 1, 1: 1}, 0), ([2, 3, 4, 5], {0: 2, 2: 2}, 0)])]
    assert base_rates(series, 3) == pytest.approx([1 / 3] * 3)


def test_who_knows_true_totals_expects_what_people_have_unless_values_stay() -> None:
    """Four people and two counterfeits of the second value: where values stay, whoever came was chosen for one."""
    told = replace(observed([([0, 1], {0: 1, 1: 1}, 0), ([2, 3], {0: 2, 1: 2}, 2)]), counterfeits=np.array([0, 2]))
    assert base_rates([told], 2) == pytest.approx([0.5, 0.5])
    assert base_rates([told], 2, changing=True) == pytest.approx([0.75, 0.25])
    uneven = replace(observed([([0, 1], {0: 2, 1: 1}, 1)]), counterfeits=np.array([0, 1]))
    assert base_rates([uneven], 2) == pytest.approx([1.0, 0.0], abs=1e-5)


STEPS = np.array([[0.8, 0.15, 0.05], [0.6, 0.3, 0.1], [0.6, 0.1, 0.3]])


def lives(rng: np.random.Generator, people: int, releases: int) -> list[tuple[Ints, Ints]]:
    """Who is there and with which value: a third is replaced each time, and most have the first value."""
    here, born = np.arange(people), people
    value = rng.choice(3, people, p=[0.75, 0.18, 0.07])
    made = [(here, value)]
    for _ in range(1, releases):
        new = rng.random(people) < 0.3
        value = np.array([rng.choice(3, p=STEPS[one]) for one in value])
        value[new] = rng.choice(3, int(new.sum()), p=[0.75, 0.18, 0.07])
        here = here.copy()
        here[new] = born + np.arange(int(new.sum()))
        born += int(new.sum())
        made.append((here, value))
    return made


def grouped(here: Ints, value: Ints, rng: np.random.Generator) -> Observation:
    order = rng.permutation(len(here)).reshape(-1, 5)
    groups = []
    for rows in order:
        shown, count = np.unique(value[rows], return_counts=True)
        groups.append((here[rows].tolist(), dict(zip(shown.tolist(), count.tolist(), strict=True)), 0))
    return observed(groups)


def expecting(series: Sequence[Observation], rates: Floats) -> list[Observation]:
    return [replace(seen, shares=rates) for seen in series]


def test_confidences_about_people_who_stay_are_not_too_sure() -> None:
    """Without base rates newcomers seemed to have the rare values, and those who stayed the common one."""
    rng = np.random.default_rng(3)
    truth = lives(rng, 2_000, 4)
    series = [grouped(here, value, rng) for here, value in truth]
    people = 1 + max(int(here.max()) for here, _ in truth)
    rates = base_rates(series, 3)
    prior = np.broadcast_to(rates, (people, 3))
    confidences = Confidences.of(
        [plain_marginal(solve(expecting(series, rates), Model(3, STEPS), prior=prior))], people
    )
    right = np.zeros(people, np.bool_)
    for place, (here, value) in enumerate(truth):
        mine = confidences.release[here] == place
        right[here[mine]] = confidences.value[here[mine]] == value[mine]
    bins = pl.DataFrame({"tenth": (confidences.chance * 10).astype(int), "claim": confidences.chance, "right": right})
    for _, people_of, confidence, hits in (
        bins.group_by("tenth")
        .agg(pl.len(), pl.col("claim").mean(), pl.col("right").mean())
        .filter(pl.col("len") >= 200)
        .iter_rows()
    ):
        assert hits == pytest.approx(confidence, abs=0.05), people_of


def test_equally_sure_values_are_right_in_turn() -> None:
    """A confidence of a half about each of two values is right about half of the time, whichever is common."""
    series = [observed([([person], {0: 1, 1: 1}, 1) for person in range(6)])]
    found = solve(series, Model(2))
    truth = [np.array([1, 1, 1, 1, 1, 0])]
    marginals = [plain_marginal(found)]
    confidences = Confidences.of(marginals, 6)
    assert confidences.right_by_lot(marginals, truth) == pytest.approx(0.5)
    assert confidences.right(marginals, truth).sum() == 1
    assert Confidences.of(marginals, 6, common=np.array([1 / 6, 5 / 6])).right(marginals, truth).sum() == 5


# --- what files alone cannot say -------------------------------------------------------------------------------------


def test_two_truths_that_are_published_alike_get_the_same_confidence() -> None:
    """One person and one counterfeit in each group: whatever people have, the counterfeit has the other value."""
    series = [observed([([person], {0: 1, 1: 1}, 1) for person in range(6)])]
    found = solve(expecting(series, base_rates(series, 2)), Model(2))
    assert found.chance[0] == pytest.approx(0.5)


def test_the_same_files_mean_something_else_by_another_method() -> None:
    """A register, and groups made by value: whether people keep their signature is not in the files, and matters."""
    fits = [([0, 2, 3], [1, 2, 3]), ([0, 1, 3], [1, 2, 3])]
    shown = [{0: 1, 1: 1}, {0: 1, 2: 1}]
    series = [observed([(fits[time][group], shown[group], 0) for group in range(2)]) for time in range(2)]

    def fitting(time: int, where: tuple[int, ...], values: tuple[int, ...]) -> bool:
        members = [[person for person in range(4) if where[person] == group] for group in range(2)]
        return all(
            set(members[group]) <= set(fits[time][group])
            and Counter(values[one] for one in members[group]) == shown[group]
            for group in range(2)
        )

    places = list(product(range(2), repeat=4))
    worlds = [
        (values, first == second)
        for values in product(range(3), repeat=4)
        for first, second in product(places, places)
        if fitting(0, first, values) and fitting(1, second, values)
    ]
    signatures_kept = [values for values, kept in worlds if kept]
    assert (len(worlds), len(signatures_kept)) == (7, 4)
    assert sum(values[0] == 1 for values, _ in worlds) == 5  # of 7: without a rule
    assert sum(values[0] == 1 for values in signatures_kept) == 2  # of 4: by `invariance`
    confidences = Confidences.of([plain_marginal(solve(series, Model(3)))], 4)
    assert (confidences.value[0], confidences.chance[0]) == (1, pytest.approx(5 / 7))


def test_exact_confidences_are_right_about_everyone_or_nobody_where_all_hang_together() -> None:
    """Two worlds: people take turns in having either value. A confidence of 0.6 is exact: right for all or for none.

    So confidences in tenths say how often they are right on average over worlds; in a single one they need not.
    """
    people, shown = 12, {0: 1, 1: 1}
    one = observed([([first, first + 1], shown, 0) for first in range(0, people, 2)])
    pairs = [([first, first + 1], shown, 0) for first in range(1, people, 2)]
    other = observed([([0], shown, 1), *pairs], shares=[0.4, 0.6])
    twin = posterior([one, other], 2)
    found = solve([one, other], Model(2))
    confidences = Confidences.of([plain_marginal(found)], people + 1)
    for person in range(people + 1):
        assert twin[person, int(person == people), person % 2] == pytest.approx(0.6)
        assert (confidences.value[person], confidences.chance[person]) == (person % 2, pytest.approx(0.6, abs=1e-3))
    worlds = [np.arange(people + 1) % 2, 1 - np.arange(people + 1) % 2]
    assert [confidences.right([plain_marginal(found)], [world, world]).sum() for world in worlds] == [people + 1, 0]


@pytest.mark.parametrize("rare", ["gout", "acne"])
def test_where_a_value_may_be_common_the_calibrated_confidence_exposes(tmp_path: Path, rare: str) -> None:
    """Nine of ten have one value, counterfeits the other: confidences stay at a half, and the gate still refuses.

    Whichever value comes first: of two that are equally sure the adversary guesses the common one.
    """
    people = pl.DataFrame({"p": range(200), "age": [30, 40] * 100, "ill": ["flu"] * 180 + [rare] * 20})
    plan = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="p")
    policy = {"require": "m-unique=2", "method": "invariance", "options": {"ineligible": "counterfeits"}}
    plan = replace(plan, policy={**policy, "attacks": ["joint"], "counterfeits": 1.0})
    with Ledger.create(tmp_path / "a.ledger", plan) as ledger, pytest.raises(RefusedError) as refused:
        publish_next(people, ledger)
    found = refused.value.report.findings["joint"]
    assert found.details["knowledge"] == "groups"
    assert found.details["risk"] == pytest.approx(0.5)
    assert found.worst is not None
    assert 0.8 < found.worst < 0.9
    assert found.people == 200


def test_a_method_that_keeps_peoples_values_together_is_judged_with_groups_known() -> None:
    """With or without a ledger: what a register alone says of such groups is too sure (decision 0191)."""
    people = pl.DataFrame({"p": range(60), "age": [20 + one % 30 for one in range(60)], "ill": ["a", "b", "c"] * 20})
    plan = replace(Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="p"), updates={"none": True})
    for method, knowledge in (("invariance", "groups"), ("distinct", "register")):
        made = anonymize_series([people] * 2, plan, "m-unique=3", method=method, seed=0)
        found = attack(made, plan, only="joint")["joint"]
        assert found.details["knowledge"] == knowledge
        assert found.worst is not None
        assert found.worst < 0.5
