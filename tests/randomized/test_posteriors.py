"""Posteriors against the enumeration of all histories; limits in every outcome; what memory is for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Ints
from reissue.errors import InputError
from reissue.randomized.adversaries import Adversary, ProtectedEvents
from reissue.randomized.audit import PublicRecord, exact_posteriors, log_odds, public_record
from reissue.randomized.series import Mechanism, TrueValues, mechanism, publish
from tests.effort import examples
from tests.randomized.worlds import KEY, Played, adversaries, changes, enumerated, lives, played, shares

RELEASES = [0, 1, 2, 3]


def world(
    seed: int, layers: int, limit: float = 0.8, gain: float = float("inf"), fresh: int = 12
) -> tuple[Mechanism, Played]:
    rng = np.random.default_rng(seed)
    size, classes = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    known = adversaries(rng, size, classes)
    protected = ProtectedEvents.of_values(size, np.where(rng.random(size) < 0.8, limit, 1.0), gain)
    first = "program" if seed % 2 else "closed form"
    made = mechanism(known, protected, first=first, layers=layers, changes=bool(seed % 3), fresh=fresh)
    return made, played(made, lives(rng, known[1], 40, RELEASES), RELEASES)


def recorded(one: Played, people: Ints) -> PublicRecord:
    shown = [(some.pseudonyms, made.published, made.chance) for some, made in zip(one.columns, one.made, strict=True)]
    return public_record(people, one.releases, shown, [some.classes for some in one.columns])


@given(st.integers(0, 10_000))
@examples(100)
def test_beliefs_carried_forward_and_the_audit_are_the_enumeration_of_histories(seed: int) -> None:
    made, one = world(seed, layers=5)
    last = one.columns[-1].pseudonyms
    everybody = np.unique(np.concatenate([some.pseudonyms for some in one.columns]))
    record = recorded(one, everybody)
    for number, view in enumerate(made.views):
        found = exact_posteriors(view.adversary, record)
        for place, person in enumerate(everybody.tolist()):
            exact = enumerated(view.adversary, one.record(person), one.class_of(person), len(RELEASES) - 1)
            np.testing.assert_allclose(found[:, place], exact, atol=1e-9)
            if person in last:
                row = int(np.flatnonzero(last == person)[0])
                np.testing.assert_allclose(one.made[-1].belief(number)[row], exact[-1], atol=1e-6)
                limits = made.views[number].protected.limit
                score = one.made[-1].judgements[number].score[row]
                # Past events that no later release can raise above their limit are forgotten.
                assert score == pytest.approx((exact / limits).max(), abs=1e-5) or score <= (exact / limits).max() <= 1


@given(st.integers(0, 10_000))
@examples(200)
def test_nobody_is_above_the_limit_whatever_is_drawn_and_whoever_leaves(seed: int) -> None:
    """The rest are people for whom presence and prior alone are enough."""
    made, one = world(seed, layers=1 + seed % 4, fresh=seed % 5)
    everybody = np.unique(np.concatenate([some.pseudonyms for some in one.columns]))
    record = recorded(one, everybody)
    for view in made.views:
        found = exact_posteriors(view.adversary, record)
        silent = np.where(record.published >= 0, 0, record.published)
        alone = exact_posteriors(
            view.adversary, PublicRecord(record.releases, silent, record.classes, np.ones_like(record.chance))
        )
        above = (found > view.protected.limit + 2e-3).any((0, 2))
        apart = (alone > view.protected.limit - 2e-3).any((0, 2))
        assert not (above & ~apart).any()


@given(st.integers(0, 10_000), st.integers(0, 2))
@examples(100)
def test_published_values_stay_for_good_after_a_while_and_beliefs_stay_exact(seed: int, fresh: int) -> None:
    made, one = world(seed, layers=2, fresh=fresh)
    record = recorded(one, one.columns[-1].pseudonyms)
    first = (record.published >= 0).argmax(0)
    for person, start in enumerate(first.tolist()):
        later = record.published[start + fresh :, person]
        assert len(np.unique(later[later >= 0])) <= 1
    for number, view in enumerate(made.views):
        found = exact_posteriors(view.adversary, record)
        np.testing.assert_allclose(one.made[-1].belief(number), found[-1], atol=1e-6)


@given(st.integers(0, 10_000))
@examples(100)
def test_few_layers_judge_the_past_conservatively(seed: int) -> None:
    made, one = world(seed, layers=1)
    last = one.columns[-1].pseudonyms
    for number, view in enumerate(made.views):
        for row, person in enumerate(last.tolist()):
            exact = enumerated(view.adversary, one.record(person), one.class_of(person), len(RELEASES) - 1)
            worst = (exact / view.protected.limit).max()
            assert one.made[-1].judgements[number].score[row] >= min(worst, 1) - 1e-5 or worst <= 1


def test_the_same_key_gives_the_same_release_whatever_the_order_of_rows() -> None:
    made, one = world(1, layers=3)
    before = one.made[-2].remembered
    turned = TrueValues(*(column[::-1] for column in one.columns[-1]))
    again = publish(made, before, RELEASES[-1], turned, key=KEY)
    np.testing.assert_array_equal(again.published[::-1], one.made[-1].published)
    other = played(made, one.columns, RELEASES, key=b"another sixteen.")
    assert any((a.published != b.published).any() for a, b in zip(other.made, one.made, strict=True))


def test_a_value_that_stays_is_published_as_before() -> None:
    _, one = world(4, layers=2)
    for before, after, first, second in zip(one.columns, one.columns[1:], one.made, one.made[1:], strict=False):
        both, old, new = np.intersect1d(before.pseudonyms, after.pseudonyms, return_indices=True)
        same = before.values[old] == after.values[new]
        assert len(both)
        np.testing.assert_array_equal(first.published[old][same], second.published[new][same])


def test_without_new_draws_odds_bound_what_a_series_tells() -> None:
    rng = np.random.default_rng(7)
    known = adversaries(rng, 3, 1)[0]
    made = mechanism([known], ProtectedEvents.of_values(3, 0.95), odds=5.0, redraw=False)
    one = played(made, lives(rng, known, 200, RELEASES), RELEASES)
    shown: dict[int, int] = {}
    for columns, release in zip(one.columns, one.made, strict=True):
        for person, value in zip(columns.pseudonyms.tolist(), release.published.tolist(), strict=True):
            assert shown.setdefault(person, value) == value
        assert release.judgements[0].epsilon.max() <= np.log(5) + 1e-9


def test_draws_follow_the_matrix_and_the_rule() -> None:
    rng = np.random.default_rng(5)
    step, prior = changes(rng, 3, 0.4), shares(rng, 1, 3)
    made = mechanism([Adversary("alike", prior, step)], ProtectedEvents.of_values(3, 0.9))
    people = np.arange(30_000)
    value = rng.choice(3, len(people), p=prior[0])
    zero = np.zeros(len(people), np.int64)
    one = publish(made, None, 0, TrueValues(people, value, zero), key=KEY)
    for true in range(3):
        share = np.bincount(one.published[value == true], minlength=3) / (value == true).sum()
        np.testing.assert_allclose(share, made.first[0, true], atol=0.02)
    later = (value + 1) % 3
    two = publish(made, one.remembered, 1, TrueValues(people, later, zero), key=KEY)
    states = np.unique(one.published)
    for shown in states.tolist():
        for true in range(3):
            some = (one.published == shown) & (later == true)
            if some.sum() > 500:
                for z in range(3):
                    row = np.flatnonzero(some & (two.published == z))
                    expected = two.chance[row[0], true] if len(row) else 0
                    assert abs((two.published[some] == z).mean() - expected) < 0.05 or not len(row)


def test_beliefs_are_calibrated_where_people_live_as_the_adversary_believes() -> None:
    rng = np.random.default_rng(8)
    known = adversaries(rng, 4, 2)
    made = mechanism(known, ProtectedEvents.of_values(4, 0.85), layers=3)
    one = played(made, lives(rng, known[1], 6_000, RELEASES), RELEASES)
    for columns, release in zip(one.columns, one.made, strict=True):
        belief = release.belief(1)
        sure, right = belief.max(1), belief.argmax(1) == columns.values
        assert abs(sure.mean() - right.mean()) < 0.03


def test_log_odds_bound_every_prior() -> None:
    rng = np.random.default_rng(2)
    prior, likelihood = shares(rng, 4), rng.random(4) + 0.1
    epsilon = log_odds(prior * likelihood / (prior @ likelihood), prior)
    assert epsilon == pytest.approx(np.log(likelihood.max() / likelihood.min()))


def test_what_cannot_be_published_is_refused() -> None:
    made, one = world(1, layers=2)
    with pytest.raises(InputError, match="order"):
        publish(made, one.made[-1].remembered, 2, one.columns[0], key=KEY)
    twice = TrueValues(*(np.repeat(column[:1], 2) for column in one.columns[0]))
    with pytest.raises(InputError, match="once"):
        publish(made, None, 0, twice, key=KEY)
    with pytest.raises(InputError, match="sum to 1"):
        Adversary("wrong", np.ones((1, 2)), np.eye(2))
    with pytest.raises(InputError, match="limit"):
        ProtectedEvents.of_values(2, 0.0)
