"""A panel shows what each slot showed before: against all worlds of tiny cohorts, and what the attack makes of it.

What is safe is shown as well as what is not: a slot that ends when its occupant leaves, one that a person is back in
after it was shown without the person, newcomers who differ from everyone else.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats
from reissue.people.seat_histories import by_history
from reissue.solver import Model, Observation, solve
from reissue.solver.labels import matched, with_known_labels
from reissue.solver.posterior import of_occupants
from reissue.solver.states import states_of
from tests.effort import examples
from tests.solver.panel_worlds import Path, label_posterior
from tests.solver.seat_worlds import occupations
from tests.solver.test_seats import LIVES, MODELS, PRIOR
from tests.solver.worlds import observed

FOUNDERS = "abc"


def paths(seed: int, steps: Floats, slots: int, releases: int) -> list[Path]:
    """What labels show whose slots follow the model."""
    rng = np.random.default_rng(seed)
    made: list[Path] = []
    for _ in range(slots):
        path = [int(rng.choice(3, p=PRIOR))]
        for _ in range(releases - 1):
            path.append(int(rng.choice(3, p=steps[path[-1]])))
        made.append(tuple(path))
    return made


@pytest.mark.parametrize("lives", [one for one in LIVES if "back" not in one])
@pytest.mark.parametrize("model", MODELS)
def test_everyone_may_be_in_every_slot_whoever_left_or_arrived(model: str, lives: str) -> None:
    presence, steps = LIVES[lives], MODELS[model]
    for seed in range(3):
        labels = paths(seed, steps, 3, 3)
        found = label_posterior(occupations(presence, 3), labels, PRIOR, steps)
        for person, label in product({one for here in presence for one in here}, range(3)):
            assert found[person, label] == pytest.approx(1 / 3)


@pytest.mark.parametrize("model", MODELS)
def test_whoever_is_back_after_a_rest_of_the_cohort_may_be_in_every_slot(model: str) -> None:
    """Also where someone else did not come back, and a newcomer takes that slot."""
    steps = MODELS[model]
    for seed, last in product(range(3), ("abc", "ab", "abd")):
        labels = [(path[0], None, path[2]) for path in paths(seed, steps, 3, 3)]
        found = label_posterior(occupations([FOUNDERS, "", last], 3), labels, PRIOR, steps)
        assert list(found.values()) == pytest.approx([1 / 3] * len(found))


def test_a_slot_that_ends_when_someone_leaves_gives_the_whole_history_away() -> None:
    """Why counterfeits carry slots on: c leaves, and the label that ends is c's."""
    labels: list[Path] = [(0, 0, 1), (1, 1, 1), (2, 1, None)]
    found = label_posterior(occupations([FOUNDERS, FOUNDERS, "ab"], 3), labels, PRIOR, MODELS["restless"])
    ends = {key: chance for key, chance in found.items() if key[1] == 2}
    assert ends == {("c", 2): pytest.approx(1.0)}


def test_slots_that_end_together_are_alike() -> None:
    labels: list[Path] = [(0, 0, 1), (1, 1, 1), (2, 1, None), (0, 1, None)]
    found = label_posterior(occupations(["abcd", "abcd", "ab"], 4), labels, PRIOR, MODELS["restless"])
    assert [found[one, label] for one, label in product("cd", (2, 3))] == pytest.approx([1 / 2] * 4)
    assert [found[one, label] for one, label in product("ab", (0, 1))] == pytest.approx([1 / 2] * 4)


BACK: list[Path] = [(0, 0, 0), (1, 2, 1), (0, 1, 1)]


@pytest.mark.parametrize("own", [True, False])
def test_whoever_is_back_in_a_slot_that_was_shown_meanwhile_is_likelier_in_some(own: bool) -> None:
    """Why they are left out, be it with their own value or only where the slot has it: the way it went tells."""
    places = occupations([FOUNDERS, "ab", FOUNDERS], 3)
    found = label_posterior(places, BACK, PRIOR, MODELS["slow"], back_with_own=own)
    chances = [found.get(("c", label), 0.0) for label in range(3)]
    assert max(chances) > 0.45  # a third if nobody were back


def test_newcomers_who_mostly_have_one_value_are_likelier_in_slots_that_show_it() -> None:
    """What the lemma takes for granted: that newcomers' values are as likely as those of slots. Said in the docs."""
    labels: list[Path] = [(0, 0), (1, 1), (2, 2)]
    places = occupations([FOUNDERS, "abd"], 3)
    found = label_posterior(places, labels, PRIOR, MODELS["slow"], newcomers=np.array([0.8, 0.1, 0.1]))
    assert found["d", 0] == pytest.approx(0.8)
    assert found["c", 0] == pytest.approx(0.8)  # whose slot it was


# --- the attack ------------------------------------------------------------------------------------------------------


def panel_of(
    labels: Sequence[Path], inside: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]
) -> list[Observation]:
    """Each release as the attack sees it: who is in which slot (-1 nobody, -2 not published) and each slot's group.

    Labels are slots in another order: the attack must not use that they are the same numbers."""
    order = np.random.default_rng(1).permutation(len(labels))
    made = []
    for time, (here, group) in enumerate(zip(inside, groups, strict=True)):
        shown = [slot for slot in range(len(labels)) if here[slot] > -2]
        counts: dict[int, dict[int, int]] = {number: {} for number in sorted({group[slot] for slot in shown})}
        members: dict[int, list[int]] = {number: [] for number in counts}
        for slot in shown:
            value = labels[slot][time]
            assert value is not None
            counts[group[slot]][value] = counts[group[slot]].get(value, 0) + 1
            members[group[slot]].append(slot)
        one = observed([(members[number], counts[number], 0) for number in counts])
        of_group = {number: place for place, number in enumerate(counts)}
        by_label = sorted(shown, key=lambda slot: order[slot])
        more = {
            "occupant": np.array([here[slot] for slot in shown]),
            "label": np.sort(order[shown]),
            "label_group": np.array([of_group[group[slot]] for slot in by_label]),
            "label_value": np.array([labels[slot][time] for slot in by_label]),
        }
        made.append(Observation(**{**vars(one), **more}))
    return made


def believed(series: Sequence[Observation], steps: Floats) -> list[dict[int, dict[int, float]]]:
    """Release to person to value to its probability."""
    regrouped = [seen for seen, _ in by_history(series)]
    solved = solve(regrouped, Model(3, steps), prior=np.tile(PRIOR, (40, 1)))
    found = of_occupants(solved, regrouped)
    return [
        {
            int(person): {
                int(release.value[at]): float(chance[at]) for at in range(release.starts[row], release.starts[row + 1])
            }
            for row, person in enumerate(release.person)
        }
        for release, chance in zip(found.releases, found.chance, strict=True)
    ]


@pytest.mark.parametrize("model", MODELS)
def test_the_attack_finds_the_slot_that_ends_alone_in_all_releases(model: str) -> None:
    steps = MODELS[model]
    labels = [(*path[:2], None) if slot == 2 else path for slot, path in enumerate(paths(4, steps, 3, 3))]
    inside = [[20, 21, 22], [20, 21, 22], [20, 21, -2]]
    found = believed(panel_of(labels, inside, [[0, 0, 0]] * 3), steps)
    for time in range(2):
        assert found[time][22].get(labels[2][time] or 0, 0.0) == pytest.approx(1.0)


@given(st.data())
@examples(40)
def test_the_attack_says_the_share_among_slots_of_the_same_history(data: st.DataObject) -> None:
    """Cohorts of two and more, some of which are published in one group for a while, whole or in parts."""
    steps = MODELS[data.draw(st.sampled_from(sorted(MODELS)))]
    slots, releases = data.draw(st.integers(2, 6)), 3
    labels = paths(data.draw(st.integers(0, 1000)), steps, slots, releases)
    cohort = [data.draw(st.integers(0, 1)) for _ in range(slots)]
    inside, groups = [], []
    for _ in range(releases):
        inside.append([20 + slot if data.draw(st.booleans()) else -1 for slot in range(slots)])
        together = data.draw(st.booleans())
        groups.append([0 if together else one for one in cohort])
    found = believed(panel_of(labels, inside, groups), steps)
    apart = any(len(set(group)) > 1 for group in groups)
    for time, slot in product(range(releases), range(slots)):
        if inside[time][slot] < 0:
            continue
        alike = [other for other in range(slots) if not apart or cohort[other] == cohort[slot]]
        for value, chance in found[time][20 + slot].items():
            share = sum(labels[other][time] == value for other in alike) / len(alike)
            assert chance == pytest.approx(share, abs=1e-6)


# --- values that are known ------------------------------------------------------------------------------------------


@given(st.data())
@examples(40)
def test_known_values_leave_the_labels_that_had_them_and_all_they_showed(data: st.DataObject) -> None:
    """Against all worlds: what someone learns who knows some values, about these slots and about the others."""
    steps = MODELS[data.draw(st.sampled_from(sorted(MODELS)))]
    labels = paths(data.draw(st.integers(0, 1000)), steps, 4, 3)
    told = data.draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=3))
    inside = [[20, 21, 22, 23]] * 3
    series = panel_of(labels, inside, [[0] * 4] * 3)
    for time, seen in enumerate(series):
        known = {slot: labels[slot][time] or 0 for slot, at in told if at == time}
        slots = np.array(sorted(known), np.int64)
        values = np.array([known[slot] for slot in sorted(known)], np.int64)
        series[time] = Observation(**{**vars(seen), "known_person": slots, "known_value": values})
    regrouped = [seen for seen, _ in by_history(series)]
    releases = [states_of(seen, 3) for seen in regrouped]
    found = with_known_labels(regrouped, releases, [np.zeros(release.states) for release in releases])
    people = {("abcd"[slot], time): labels[slot][time] or 0 for slot, time in told}
    places = [[dict(zip("abcd", range(4), strict=True))] * 3]
    wanted = label_posterior(places, labels, PRIOR, steps, known=people)
    for time, (release, chance) in enumerate(zip(releases, found, strict=True)):
        for slot, value, one in zip(release.person[release.row], release.value, chance, strict=True):
            mine = [wanted.get(("abcd"[slot], label), 0.0) for label in range(4) if labels[label][time] == value]
            assert one == pytest.approx(sum(mine), abs=1e-9)


def test_large_cohorts_are_scaled_to_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(2).random((8, 8)) + 0.5
    exact = matched(weights)
    monkeypatch.setattr("reissue.solver.labels.MOST_VALUES", 4)
    assert np.abs(matched(weights) - exact).max() < 0.02


@given(st.integers(1, 5), st.integers(0, 1000))
@examples(40)
def test_matching_is_the_sum_over_all_orders(size: int, seed: int) -> None:
    weights = np.random.default_rng(seed).random((size, size))
    found = np.zeros((size, size))
    for order in permutations(range(size)):
        heavy = np.prod(weights[np.arange(size), list(order)])
        found[np.arange(size), list(order)] += heavy
    assert matched(weights) == pytest.approx(found / found.sum(axis=1, keepdims=True))


# --- a register ------------------------------------------------------------------------------------------------------


@given(st.data())
@examples(60)
def test_with_a_register_people_may_be_in_histories_that_fit_them_whenever_both_are_there(data: st.DataObject) -> None:
    """Against the definition, person by person."""
    slots, people, releases = 6, 3, 3
    groups = [[data.draw(st.integers(-1, 1)) for _ in range(slots)] for _ in range(releases)]
    for group in groups:
        group[0], group[1] = 0, 1
    fits = [[data.draw(st.sampled_from([(), (0,), (1,), (0, 1)])) for _ in range(people)] for _ in range(releases)]
    series = []
    for group, fit in zip(groups, fits, strict=True):
        shown = [slot for slot in range(slots) if group[slot] >= 0]
        counts = [Counter(slot % 3 for slot in shown if group[slot] == one) for one in (0, 1)]
        # Person 9 fits both groups always: somebody is there.
        people_of = [[*(person for person in range(people) if one in fit[person]), 9] for one in (0, 1)]
        seen = observed([(some, one, 0) for some, one in zip(people_of, counts, strict=True)])
        more = {
            "label": np.array(shown),
            "label_group": np.array([group[slot] for slot in shown]),
            "label_value": np.array([slot % 3 for slot in shown]),
        }
        series.append(Observation(**{**vars(seen), **more}))
    for time, (made, of_group) in enumerate(by_history(series)):
        histories = sorted({tuple(group[slot] for group in groups) for slot in range(slots) if groups[time][slot] >= 0})
        for person in range(people):
            first = [one for one in histories if one[time] in fits[time][person]]
            wanted = [
                one
                for one in first
                if all(not fits[t][person] or one[t] < 0 or one[t] in fits[t][person] for t in range(releases))
            ]
            mine = made.group[made.person == person]
            assert len(mine) == len(wanted or first)
            assert Counter(of_group[mine].tolist()) == Counter(one[time] for one in wanted or first)
        assert made.cell_count.sum() == len(series[time].label)
