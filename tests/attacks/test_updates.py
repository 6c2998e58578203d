"""The update graph with nothing changing: posteriors against all paths, and the intersection attack's findings."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize
from reissue._arrays import Floats
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.counting import Histogram, starts_of
from reissue.errors import TaxonomyError
from reissue.papers.tracking.membership import Membership, membership
from reissue.published.series import Series
from reissue.publishing.attack import attack
from reissue.schema import Schema
from tests.attacks.posteriors import posteriors
from tests.effort import examples
from tests.methods.streams import SCHEMA, publish, stream

VALUES = 3


def random_membership(seed: int) -> Membership:
    rng = np.random.default_rng(seed)
    releases, people = 3, 6
    person, group = [], []
    for release in range(releases):
        for one in range(people):
            if rng.random() < 0.8 or not release:
                person.append(one)
                group.append(2 * release + int(rng.integers(2)))
    order = np.lexsort((person, group))
    counts = rng.integers(0, 3, (2 * releases, VALUES))
    counts[:, 0] += counts.sum(axis=1) == 0
    counts[0, VALUES - 1] += 1  # Every value of the model occurs.
    at, value = np.nonzero(counts)
    return Membership(
        np.array(person)[order],
        np.array(group)[order],
        np.repeat(np.arange(releases), 2),
        Histogram(starts_of(at, 2 * releases), value, counts[at, value], VALUES),
        np.ones(people, np.bool_),
    )


def all_paths(members: Membership, person: int, steps: Floats) -> Floats:
    """Releases x values: the weight of the paths through each value."""
    shares = np.ones((3, VALUES))
    for group in members.group[members.person == person]:
        counts = np.zeros(VALUES)
        for value, count in members.histogram.counts_of(int(group)).items():
            counts[value] = count
        shares[members.release[group]] = counts / counts.sum()
    through = np.zeros((3, VALUES))
    for path in itertools.product(range(VALUES), repeat=3):
        weight = float(np.prod([shares[release, value] for release, value in enumerate(path)]))
        weight *= float(np.prod([steps[a, b] for a, b in itertools.pairwise(path)]))
        for release, value in enumerate(path):
            through[release, value] += weight
    return np.asarray(through / max(through[0].sum(), 1e-300))


@given(st.integers(0, 10**6), st.booleans())
@examples(80)
def test_posteriors_against_all_paths(seed: int, changing: bool) -> None:
    members = random_membership(seed)
    steps = np.random.default_rng(seed).random((VALUES, VALUES)) if changing else np.eye(VALUES)
    steps /= steps.sum(axis=1, keepdims=True)
    found = posteriors(members, steps if changing else None)
    for person, release, largest, left in zip(
        found.person.tolist(), found.release.tolist(), found.largest, found.left.tolist(), strict=True
    ):
        paths = all_paths(members, person, steps)[release]
        assert largest == pytest.approx(paths.max())
        assert left == (paths > 1e-9).sum()


@given(st.integers(0, 10**6), st.integers(2, 3), st.booleans())
@examples(15)
def test_invariant_series_withstand_the_intersection(seed: int, m: int, returns: bool) -> None:
    frames = stream(seed, releases=4, returns=returns)
    for method, requirement in (("invariance", f"m-unique={m}"), ("equivalence", f"simple-l={m}")):
        releases = publish(frames, method, requirement)
        finding = attack(releases, SCHEMA, only="updates", limits={"updates": 1 / m})["updates"]
        assert (finding.status, finding.people) == (Status.WITHSTOOD, 0)
        assert max(finding.details["risks"]) == finding.details["risk"] == finding.worst
        assert finding.details["certains"] == [0, 0, 0, 0]


def test_groups_that_share_one_value_give_a_person_away() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    one = pl.DataFrame({"id": [1, 2], "q": ["a", "a"], "s": ["flu", "HIV"]})
    two = pl.DataFrame({"id": [1, 3], "q": ["a", "a"], "s": ["flu", "cold"]})
    finding = attack([one, two], schema, only="updates")["updates"]
    assert finding.status == Status.EXPOSED
    assert finding.people == 1
    told = {name: detail for name, detail in finding.details.items() if name != "case"}
    assert told == {"risk": 1.0, "certain": 1, "risks": [1.0, 1.0], "certains": [1, 1], "sure": 1}


def test_groups_without_a_common_value_are_no_case_for_intersection() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    one = pl.DataFrame({"id": [1, 2], "q": ["a", "a"], "s": ["flu", "HIV"]})
    two = pl.DataFrame({"id": [1, 3], "q": ["a", "a"], "s": ["cold", "gout"]})
    finding = attack([one, two], schema, only="updates")["updates"]
    assert finding.status == Status.NOT_RUN
    assert "no value in common" in str(finding.reason)


def test_a_limit_that_nobody_can_exceed_is_not_withstood() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    one = pl.DataFrame({"id": [1, 2], "q": ["a", "a"], "s": ["flu", "HIV"]})
    finding = attack([one, one], schema, only="updates", limits={"updates": 1})["updates"]
    assert finding.status == Status.NOT_RUN
    assert "below 1" in finding.sentence


def test_a_long_series_does_not_underflow() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    frame = pl.DataFrame({"id": range(40), "q": ["a"] * 40, "s": [f"v{n}" for n in range(40)]})
    found = posteriors(membership(Series.read([frame] * 300, schema), Knowledge()))
    assert found.largest == pytest.approx(1 / 40)


def test_a_group_of_one_value_sets_no_limit() -> None:
    """A single release that gives values away is no excuse for others to do so."""
    frame = pl.DataFrame({"id": [1, 2, 3, 4], "q": ["a", "a", "b", "b"], "s": ["flu", "flu", "flu", "ulcer"]})
    schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"])
    found = attack([frame, frame], schema, only="updates")["updates"]
    assert found.limit == 0.5
    assert (found.people, found.worst) == (2, 1.0)


def test_the_holder_counts_how_often_the_guess_is_right() -> None:
    """Three people: a group of two releases tells one for sure, and the others only by halves."""
    schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"])
    months = [
        pl.DataFrame({"id": [1, 2, 3, 4], "q": [1, 2, 8, 9], "s": ["flu", "ulcer", "flu", "burn"]}),
        pl.DataFrame({"id": [1, 5, 3, 4], "q": [1, 2, 8, 9], "s": ["flu", "burn", "flu", "burn"]}),
    ]
    releases = [anonymize(month, schema, "k=2", seed=1) for month in months]
    found = attack(releases, schema, only="updates")["updates"]
    assert (found.people, found.details["right"], found.details["certain"]) == (1, 1, 1)
    assert found.sentence.endswith("Guessing the likeliest one is right for 1 of the 1.")
    frames = [release.frame for release in releases]
    outside = attack(frames, schema, only="updates", knowledge=Knowledge(members=months))["updates"]
    assert outside.people == 1
    assert "right" not in outside.details


def test_who_fits_every_group_is_not_thought_to_have_the_most_frequent_value() -> None:
    """The same release twelve times, with nothing but the root in it: nothing is learnt from the repetition."""
    people = pl.DataFrame({"id": range(6), "q": range(6)})
    one = pl.DataFrame({"q": ["*"] * 3 + ["[0, 5]"] * 3, "s": ["flu", "flu", "burn", "flu", "ulcer", "burn"]})
    schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"])
    found = attack([one] * 12, schema, only="updates", knowledge=Knowledge(members=[people] * 12))["updates"]
    assert (found.status, found.people, found.details["several"]) == (Status.WITHSTOOD, 0, 6)
    assert found.worst == pytest.approx(1 / 2)
    assert "6 people who fit several groups" in found.sentence


@pytest.mark.parametrize("strange", ["unknown", "under 18"])
def test_a_text_beside_ranges_is_not_taken_for_nobodys_value(strange: str) -> None:
    """Where groups are numbered and rows of them look different, people whom it may mean were passed over."""
    release = pl.DataFrame(
        {"group": [1, 1, 1, 2, 2, 2], "age": ["[20, 29]"] * 4 + [strange] * 2, "ill": [*"abcdef"]},
    )
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="who")
    people = pl.DataFrame({"who": range(6), "age": [20, 25, 28, 12, 13, 25]})
    with pytest.raises(TaxonomyError, match="'age'"):
        attack([release] * 2, schema, only="updates", knowledge=Knowledge(members=[people] * 2))
