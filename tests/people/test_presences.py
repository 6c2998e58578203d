"""Presences against the definition: who may be in which group, by a register, a copy, and our own releases."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import synth
from reissue.attacks import Knowledge
from reissue.errors import InputError
from reissue.people.presences import by_register, from_copy, own_register
from reissue.people.series import number_series
from reissue.published import read_published
from reissue.release.presences import presences_of
from reissue.schema import Schema
from tests.effort import examples

SCHEMA = Schema.of_columns(identifier="who", quasi=["age", "zip"], sensitive=["ill"])
MONTHS = list(synth.Population(seed=4, people=120).months(2))
Box = tuple[int, int, int, int]


@st.composite
def spans(draw: st.DrawFn) -> Box:
    low, high = sorted(draw(st.tuples(st.integers(20, 26), st.integers(20, 26))))
    first, last = sorted(draw(st.tuples(st.integers(1, 5), st.integers(1, 5))))
    return low, high, first, last


@examples(60)
@given(
    st.lists(st.tuples(spans(), st.sampled_from("xyz")), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(20, 26), st.integers(1, 5)), min_size=1, max_size=12),
)
def test_a_register_fits_the_groups_whose_ranges_hold_its_people(
    records: list[tuple[Box, str]], people: list[tuple[int, int]]
) -> None:
    shown = pl.DataFrame(
        [(f"[{a}, {b}]", f"[{c}, {d}]", ill) for (a, b, c, d), ill in records], ["age", "zip", "ill"], orient="row"
    )
    register = pl.DataFrame([(f"p{n}", *one) for n, one in enumerate(people)], ["who", "age", "zip"], orient="row")
    release = read_published(shown, SCHEMA)
    known = by_register(release, register, presence=False)
    boxes = {(shown["age"][row], shown["zip"][row]): int(release.group[row]) for row in range(shown.height)}
    spelled = {(f"[{a}, {b}]", f"[{c}, {d}]"): (a, b, c, d) for (a, b, c, d), _ in records}
    expected = {
        (f"p{n}", group)
        for n, (age, place) in enumerate(people)
        for texts, group in boxes.items()
        for a, b, c, d in [spelled[texts]]
        if a <= age <= b and c <= place <= d
    }
    names = known.ids.gather(known.row).to_list()
    assert Counter(zip(names, known.group.tolist(), strict=True)) == Counter(expected)
    assert known.of_people == len(records)
    assert known.complete == (len(known.ids) == len(records))


@pytest.mark.parametrize("method", ["pool", "mondrian"])
def test_our_own_release_seen_with_a_register_is_as_anyone_sees_it(method: str) -> None:
    release = ri.anonymize(MONTHS[0], synth.schema(), "k=4", method=method, seed=1)
    own = presences_of(release)
    assert own is not None
    mine = own_register(own, release)
    theirs = by_register(read_published(release.frame, synth.schema()), MONTHS[0], presence=True)
    assert mine.groups == theirs.groups
    fits = [
        Counter(
            zip(one.ids.cast(pl.String).gather(one.row).to_list(), one.histogram.sizes[one.group].tolist(), strict=True)
        )
        for one in (mine, theirs)
    ]
    assert fits[0] == fits[1]
    assert theirs.complete


def test_a_copy_says_what_our_own_release_says() -> None:
    release = ri.anonymize(MONTHS[0], synth.schema(), "k=4", seed=1)
    own = presences_of(release)
    assert own is not None
    copy = from_copy(read_published(release.private_copy, synth.schema()))
    assert copy.groups_known
    place = dict(zip(copy.ids.to_list(), copy.group.tolist(), strict=True))
    assert set(place) == set(own.ids.cast(pl.String).to_list())
    together = {(group, place[who]) for who, group in zip(own.ids.cast(pl.String), own.group.tolist(), strict=True)}
    assert len(together) == own.groups  # groups that look alike are one for whoever reads files
    assert copy.others is not None
    assert not len(copy.others)
    with pytest.raises(InputError, match="no identifier column"):
        from_copy(read_published(release.frame, synth.schema()))


@pytest.mark.parametrize("method", ["pool", "cohorts"])
def test_people_and_values_have_one_number_in_all_releases(method: str) -> None:
    releases = [ri.anonymize(month, synth.schema(), "k=4", method=method, seed=1) for month in MONTHS]
    known = [one for release in releases if (one := presences_of(release)) is not None]
    series = number_series(known)
    identifiers = series.identifiers
    for one, month, rows, truth in zip(series.releases, MONTHS, series.rows, series.truth, strict=True):
        assert identifiers[rows].tolist() == one.ids.cast(pl.Int64).to_list()
        ill = dict(zip(month["patient"].to_list(), month["disease"].to_list(), strict=True))
        assert truth is not None
        assert [series.names[value] for value in truth[rows].tolist()] == [ill[who] for who in one.ids.to_list()]
        assert (truth >= 0).sum() == len(rows)
        if one.seats is not None:
            assert set(identifiers.tolist()) >= set((-(2**62) - one.seats).tolist())
    first = series.of_first(1)
    assert len(first.observations) == 1
    assert np.array_equal(first.identifiers[first.rows[0]], identifiers[series.rows[0]])


def test_exact_values_that_nobody_of_a_register_has_are_strangers() -> None:
    quasi = pl.DataFrame({"group": [1, 1, 2, 2], "age": [20, 21, 30, 31], "zip": [1, 2, 3, 4]})
    values = pl.DataFrame({"group": [1, 1, 2, 2], "ill": ["x", "y", "x", "z"]})
    register = pl.DataFrame({"who": ["a", "b", "c"], "age": [20, 21, 30], "zip": [1, 2, 3]})
    tables = {"quasi": quasi, "sensitive": values}
    known = by_register(read_published(tables, SCHEMA), register, presence=False)
    assert known.ids.to_list() == ["a", "b", "c"]
    assert known.group.tolist() == [0, 0, 1]
    found = ri.attack([tables], SCHEMA, only="joint", knowledge=Knowledge(population=register))["joint"]
    assert found.population == 3
