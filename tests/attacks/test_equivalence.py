"""Equivalence attacks: the exact program and propagation against their definitions; membership; findings."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.counting import Histogram
from reissue.errors import InputError, SchemaError
from reissue.papers.equivalence.attack import domino
from reissue.papers.equivalence.components import Component, _by_weights, no_values_fit
from reissue.papers.equivalence.exact import BucketHistory, buckets, cheapest
from reissue.papers.equivalence.groups import ValueGroups, propagate
from reissue.papers.tracking.membership import Membership, membership
from reissue.papers.worlds import worlds_of
from reissue.published.series import Series
from reissue.publishing.attack import attack
from reissue.publishing.personal import personal_risks
from reissue.release.release import Release
from reissue.schema import Schema
from tests.effort import examples
from tests.hospital import SCHEMA as HOSPITAL
from tests.hospital import T1, T2, T3
from tests.methods.streams import SCHEMA, publish, stream

# --- the exact program -----------------------------------------------------------------------------------------------


def random_bucket(seed: int) -> BucketHistory:
    rng = np.random.default_rng(seed)
    patterns = np.unique(rng.random((rng.integers(1, 6), 3)) < 0.6, axis=0)
    patterns = patterns[patterns.any(axis=1)]
    patterns = np.vstack([patterns, np.eye(3, dtype=np.bool_)[~patterns.any(axis=0)]]).astype(np.bool_)
    weights = rng.integers(1, 4, len(patterns))
    return BucketHistory(patterns, weights, np.arange(weights.sum()))


@given(st.integers(0, 10**6), st.integers(1, 4))
@examples(60)
def test_cheapest_attack_against_definition_10(seed: int, limit: int) -> None:
    bucket = random_bucket(seed)
    halves = np.arange(-12, 13) / 2
    weights = np.array(list(itertools.product(halves, repeat=3)))
    counted = weights @ bucket.patterns.T
    sizes = bucket.weights @ bucket.patterns
    valid = (counted == np.rint(counted)).all(axis=1) & (weights @ sizes == 0)
    cost = (np.abs(counted) @ bucket.weights) / 2
    for pattern, found in enumerate(cheapest(bucket, limit).tolist()):
        mine = valid & (counted[:, pattern] != 0) & (cost < limit)
        assert found == (cost[mine].min() if mine.any() else 0)


# --- propagation -----------------------------------------------------------------------------------------------------


def random_series(seed: int) -> Membership:
    """Groups of two or three people with the same values in release after release, people moving between them."""
    rng = np.random.default_rng(seed)
    size, number, releases = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(2, 4))
    person, group = [], []
    for release in range(releases):
        people = rng.choice(size * number + 2, size * number, replace=False)
        people = people if rng.random() < 0.5 else np.sort(people)
        for place, one in enumerate(people.tolist()):
            person.append(one)
            group.append(release * number + place // size)
    total = releases * number
    everyone, again = np.unique(person, return_inverse=True)
    values = np.tile(np.arange(size), total)
    return Membership(
        again.astype(np.int64),
        np.array(group, np.int64),
        np.repeat(np.arange(releases), number),
        Histogram(np.arange(total + 1) * size, values, np.ones(total * size, np.int64), size),
        np.ones(len(everyone), np.bool_),
    )


def groups_of(members: Membership) -> list[list[int]]:
    return [members.person[members.group == g].tolist() for g in range(len(members.release))]


def by_definition(members: Membership, limit: int) -> tuple[list[int], list[int]]:
    """Compare all pairs of groups, merge people, and begin again until nothing changes."""
    label = list(range(len(members.real)))
    groups = groups_of(members)
    pairs = [p for p in itertools.combinations(range(len(groups)), 2) if members.kinds[p[0]] == members.kinds[p[1]]]

    def differences() -> list[tuple[Counter[int], Counter[int], int, int]]:
        counts = [Counter(label[p] for p in group) for group in groups]
        return [(counts[a] - counts[b], counts[b] - counts[a], a, b) for a, b in pairs]

    changed = True
    while changed:
        changed = False
        for one, other, _, _ in differences():
            if one.total() == 1:
                (x,), (y,) = one, other
                if x != y:
                    label = [min(x, y) if place in {x, y} else place for place in label]
                    changed = True
                    break
    least = [0] * len(label)
    sizes = Counter(label)
    for person, mine in enumerate(label):
        if sizes[mine] > 1 and limit > 1:
            least[person] = 1
    for one, other, a, b in differences():
        # Groups that share nobody differ in all of their members: no attack, but what any single release shows.
        if 0 < one.total() < min(limit, len(groups[a])):
            for person in {p for p in groups[a] if label[p] in one} | {p for p in groups[b] if label[p] in other}:
                least[person] = min(least[person] or limit, one.total())
    return label, least


@given(st.integers(0, 10**6), st.integers(1, 4))
@examples(120)
def test_propagation_against_all_pairs(seed: int, limit: int) -> None:
    members = random_series(seed)
    label, least = by_definition(members, limit)
    found = propagate(members, limit)
    assert (
        len(set(zip(label, found.classes.tolist(), strict=True))) == len(set(label)) == len(set(found.classes.tolist()))
    )
    twice = any(len({label[p] for p in group}) < len(group) for group in groups_of(members))
    if not twice:  # Two of one class in a group: which of them is the odd one is a matter of taste.
        assert found.least.tolist() == least


def test_domino_falls_through_groups() -> None:
    # Pairs {0,1}, {0,2}, {2,3}: 1 and 2 are the same, so 0 and 3 are too; knowing one tells all four.
    members = Membership(
        np.array([0, 1, 0, 2, 2, 3]),
        np.array([0, 0, 1, 1, 2, 2]),
        np.array([0, 1, 2]),
        Histogram(np.arange(4) * 2, np.tile([0, 1], 3), np.ones(6, np.int64), 2),
        np.ones(4, np.bool_),
    )
    found = propagate(members, 2)
    assert len(set(found.classes.tolist())) == 2
    assert domino(members, found) == (1, 3)


# --- membership ------------------------------------------------------------------------------------------------------


def same(one: Membership, other: Membership) -> None:
    """The same people stand together, whatever they are called."""
    for members in (one, other):
        assert (np.diff(members.group) >= 0).all()
    assert one.release.tolist() == other.release.tolist()
    assert sorted(one.sizes.tolist()) == sorted(other.sizes.tolist())
    assert one.people == other.people


def invariant() -> list[Release]:
    releases: list[Release] = []
    for frame in (T1, T2, T3):
        memory = releases[-1].draft.memory if releases else None
        releases.append(anonymize(frame, HOSPITAL, "m-unique=2", method="invariance", memory=memory, seed=1))
    return releases


def test_membership_from_our_releases_from_private_copies_and_from_tables_of_people() -> None:
    own = invariant()
    first = membership(Series.read(own, HOSPITAL), Knowledge())
    published = [release.tables for release in own]
    by_people = membership(Series.read(published, HOSPITAL), Knowledge(members=[T1, T2, T3]))
    assert by_people.release.tolist() == first.release.tolist()
    assert by_people.people <= first.people
    assert sorted(by_people.sizes.tolist()) == sorted(first.sizes.tolist())
    copies = [
        release.table.frame.with_columns(pl.Series("group", release.draft.groups)).with_columns(age=pl.lit("*"))
        for release in own[:1]
    ]
    private = membership(Series.read(copies, HOSPITAL), Knowledge())
    same(private, membership(Series.read(own[:1], HOSPITAL), Knowledge()))


def test_membership_needs_to_be_known() -> None:
    published = [release.tables for release in invariant()]
    finding = attack(published, HOSPITAL, only="equivalence")["equivalence"]
    assert finding.status == Status.NOT_RUN
    assert "a table of people for each release" in str(finding.reason)
    with pytest.raises(InputError, match="one table for each"):
        attack(published, HOSPITAL, only="equivalence", knowledge=Knowledge(members=[T1]))


def test_one_release_is_not_attacked() -> None:
    assert attack(invariant()[:1], HOSPITAL, only="equivalence")["equivalence"].status == Status.NOT_RUN


# --- findings --------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
@examples(10)
def test_a_release_more_never_exposes_fewer(seed: int) -> None:
    releases = publish(stream(seed, releases=3), "invariance", "m-unique=2")
    limits = {"equivalence": 3}
    found = [attack(releases[:number], SCHEMA, only="equivalence", limits=limits)["equivalence"] for number in (2, 3)]
    counted, finding = [one.people for one in found], found[-1]
    assert counted == sorted(counted)
    assert counted[-1] == finding.people == finding.details["people_by_e"]["2"]
    assert (finding.status == Status.EXPOSED) == (finding.people > 0)
    assert finding.details["minimum"] is None or 1 <= finding.details["minimum"] < 3


def test_buckets_are_told_from_fine_groups() -> None:
    frames = stream(4, releases=3, size=20, values=3)
    whole = publish(frames, "equivalence", "simple-l=2", e=2)
    fine = publish(frames, "invariance", "m-unique=2")
    assert buckets(membership(Series.read(whole, SCHEMA), Knowledge())) is not None
    assert buckets(membership(Series.read(fine, SCHEMA), Knowledge())) is None
    finding = attack(whole, SCHEMA, only="equivalence")["equivalence"]
    assert (finding.status, finding.limit, finding.details["exact"]) == (Status.WITHSTOOD, 2, True)


@pytest.mark.parametrize("limit", [0, 1.5])
def test_a_limit_is_a_whole_number(limit: float) -> None:
    with pytest.raises(InputError, match="whole number"):
        attack(invariant(), HOSPITAL, only="equivalence", limits={"equivalence": limit or -1})


def test_an_identifier_is_needed_to_match_people() -> None:
    schema = Schema.of_columns(quasi=["age", "zip"], sensitive=["disease"])
    tables = [release.tables for release in invariant()]
    with pytest.raises(SchemaError, match="names people"):
        attack(tables, schema, only="equivalence", knowledge=Knowledge(members=[T1, T2, T3]))


def test_series_whose_values_change_are_another_attacks_case() -> None:
    """The groups of the same two people have no value in common."""
    tables = [
        pl.DataFrame({"id": [1, 2], "q": ["a", "b"], "s": values}) for values in (["flu", "cold"], ["ulcer", "cancer"])
    ]
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    releases = [anonymize(table, schema, "k=2", seed=1) for table in tables]
    finding = attack(releases, schema, only=["equivalence"])["equivalence"]
    assert finding.status == Status.NOT_RUN
    assert "values change here" in (finding.reason or "")
    declared = Schema.loads(schema.dumps() + "\n[updates]\norder = ['cold', 'flu', 'cancer', 'ulcer']\n")
    finding = attack(releases, declared, only=["equivalence"])["equivalence"]
    assert "the schema says that sensitive values change" in (finding.reason or "")


# --- small components ------------------------------------------------------------------------------------------------


def component_of(seed: int) -> Component:
    """Five people with values that stay, in four groups of two or three."""
    rng = np.random.default_rng(seed)
    people, values = 5, rng.integers(0, 3, 5)
    groups = [rng.choice(people, rng.integers(2, 4), replace=False) for _ in range(4)]
    inside = np.array([np.bincount(group, minlength=people) for group in groups])
    shows = np.array([np.bincount(values[group], minlength=3) for group in groups])
    there = np.flatnonzero(inside.any(axis=0))
    return Component(inside[:, there], shows, np.arange(3), np.arange(len(there)), np.ones(len(there), np.int64))


@given(st.integers(0, 10**6), st.integers(2, 4))
@examples(60)
def test_groups_of_all_kinds_against_definition_10(seed: int, limit: int) -> None:
    one = component_of(seed)
    counted = np.array(list(itertools.product(range(-3, 4), repeat=len(one.classes))))
    sought = np.hstack([counted, np.zeros((len(counted), 3))])
    sums = np.hstack([one.inside, one.shows]).astype(np.float64)
    valid = np.abs(sought - sought @ np.linalg.pinv(sums) @ sums).max(axis=1) < 1e-9  # some weights give just that
    cost = np.abs(counted).sum(axis=1) / 2
    least, certain = _by_weights(one, limit)
    assert certain
    for person, found in enumerate(least.tolist()):
        mine = valid & (counted[:, person] != 0) & (cost < limit)
        assert found == (cost[mine].min() if mine.any() else 0)


@given(st.integers(0, 10**6))
@examples(100)
def test_values_that_no_world_fits(seed: int) -> None:
    """What the linear program calls impossible has no world, and what stayed is never called so."""
    one, rng = component_of(seed), np.random.default_rng(seed)
    member = np.nonzero(one.inside)[1]
    starts = np.append(0, np.cumsum(one.inside.sum(axis=1)))
    for shows in (one.shows, rng.permuted(one.shows, axis=1)):
        where, value = np.nonzero(shows)
        ends = np.append(0, np.cumsum((shows > 0).sum(axis=1)))
        shown = Histogram(ends, value.astype(np.int64), shows[where, value], 3)
        groups = ValueGroups(starts, member.astype(np.int64), np.arange(4))
        nobody = np.full(len(one.classes), -1, np.int64)
        fits, _ = worlds_of(one.inside, shows, 5_000)
        assert fits is not None
        impossible = no_values_fit(groups, shown, nobody)
        assert not (impossible and len(fits))
        assert shows is not one.shows or len(fits)


# --- values declared harmless ----------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sets(st.sampled_from("abc"), max_size=3), st.booleans())
@examples(40)
def test_people_with_a_harmless_value_are_not_counted(seed: int, harmless: set[str], known: bool) -> None:
    """Whoever is in an attack counts if the true value is protected; where it is not known, if all groups allow one."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame({"id": np.arange(8), "q": ["x"] * 8, "s": rng.choice(list("abc"), 8)})
    plain = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    spared = replace(plain, policy={"harmless_values": sorted(harmless)})
    frames, members = [], []
    for _ in range(3):
        here = people.sample(6, seed=int(rng.integers(2**31)))
        groups = pl.Series("q", np.repeat([0, 1], 3).astype(str))
        frames.append(here.with_columns(groups))
        members.append(here.with_columns(groups).select("id", "q"))
    releases = frames if known else [frame.drop("id") for frame in frames]
    knowledge = Knowledge() if known else Knowledge(members=members)
    limits = {"equivalence": 3}
    every = personal_risks(releases, plain, knowledge=knowledge, limits=limits).frame
    found = attack(releases, spared, only="equivalence", knowledge=knowledge, limits=limits)["equivalence"]
    if found.status == Status.NOT_RUN:
        return
    below = {row["person"] for row in every.to_dicts() if row["smallest_e"] is not None}
    protected = set("abc") - harmless
    truth = {str(one): value for one, value in people.select("id", "s").rows()}
    may = {
        name: all(
            protected & set(frame.filter(pl.col("q") == frame.filter(pl.col("id").cast(str) == name)["q"][0])["s"])
            for frame in frames
            if name in frame["id"].cast(str)
        )
        for name in truth
    }
    counted = {name for name in below if (truth[name] in protected if known else may[name])}
    assert (found.people or 0) == len(counted)
