"""Cohorts: who is together stays together, seats live on, and what a release shows keeps to what was promised."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reissue import Table, anonymize, synth
from reissue.attacks.findings import Finding
from reissue.counting import Domain
from reissue.errors import InputError, NotMetError
from reissue.methods.cohorts.bounds import Bounds, LastingShare, companions, without_collided
from reissue.methods.cohorts.carrying import Arrival, Changes, distance
from reissue.methods.cohorts.ending import split, without_empty
from reissue.methods.cohorts.seats import CohortState, Seats, nothing_shown
from reissue.people.knowledge import Knowledge
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.solver.transitions import Model
from reissue.utility import measure
from tests.effort import examples

VALUES = [f"v{number}" for number in range(5)]
SCHEMA = Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"])


def stream(seed: int, releases: int = 4, size: int = 24, change: float = 0.2) -> list[pl.DataFrame]:
    """People come, leave and come back, and their values change."""
    rng = np.random.default_rng(seed)
    state: dict[int, list[int]] = {}
    live: list[int] = []
    frames = []
    for release in range(releases):
        for one in live:
            if rng.random() < change:
                state[one][2] = int(rng.integers(5))
        fresh = range(len(state), len(state) + (size if not release else int(rng.integers(0, size // 3))))
        for one in fresh:
            state[one] = [int(rng.integers(30)), int(rng.integers(3)), int(rng.integers(5))]
        back = [one for one in state if one not in live and one not in fresh and rng.random() < 0.3]
        live = [one for one in live if rng.random() < 0.75] + back + list(fresh)
        rows = [(one, *state[one]) for one in rng.permutation(live).tolist()]
        ids, q, r, s = zip(*rows, strict=True)
        frames.append(pl.DataFrame({"id": ids, "q": q, "r": ["xyz"[x] for x in r], "s": [VALUES[x] for x in s]}))
    return frames


def published(
    frames: Sequence[pl.DataFrame], require: str = "k=3 & l=2", schema: Schema = SCHEMA, **options: Any
) -> list[Release]:
    made: list[Release] = []
    for frame in frames:
        memory = made[-1].draft.memory if made else None
        made.append(
            anonymize(
                frame, schema, require, method="cohorts", suppress=0.6, seed=3, memory=memory, newcomers=True, **options
            )
        )
    return made


def seats_of(release: Release) -> dict[int, tuple[int, int, int | None]]:
    """Seat to its cohort, its value's code and who is in it."""
    draft, state = release.draft, release.draft.state
    assert isinstance(state, CohortState)
    cohort = dict(zip(state.slots.name.tolist(), state.slots.cohort.tolist(), strict=True))
    assert draft.slots is not None
    values, people = release.table.sensitive.tolist(), release.table.frame["id"].to_list()
    if draft.counterfeits is not None:
        values += draft.counterfeits.sensitive.tolist()
        people += [None] * len(draft.counterfeits.groups)
    every = zip(draft.slots.tolist(), values, people, strict=True)
    return {seat: (cohort[seat], value, person) for seat, value, person in every if seat >= 0}


@examples(30)
@given(st.integers(0, 10_000))
@example(180)  # more than half of all records have one value
@example(237)  # two people who had a seat one after the other are back at once
def test_people_keep_their_slot_and_groups_hold_whole_cohorts(seed: int) -> None:
    releases = published(stream(seed))
    homes: dict[int, int] = {}
    for release in releases:
        seats = seats_of(release)
        groups: dict[int, set[int]] = {}
        draft = release.draft
        assert release.suppressed == draft.notes["left_out"], "someone is missing, and nobody said so"
        every = draft.groups.tolist() + ([] if draft.counterfeits is None else draft.counterfeits.groups.tolist())
        assert draft.slots is not None
        for seat, group in zip(draft.slots.tolist(), every, strict=True):
            assert (seat < 0) == (group < 0)
            if seat >= 0:
                groups.setdefault(seats[seat][0], set()).add(group)
        assert all(len(found) == 1 for found in groups.values()), "a cohort in two groups"
        assert {cohort for cohort, _, person in seats.values() if person is not None} == set(groups), "an empty cohort"
        for seat, (_, _, person) in seats.items():
            if person is not None:
                assert homes.setdefault(person, seat) == seat, "someone has another seat than before"


@examples(15)
@given(st.integers(0, 10_000))
def test_boxes_are_finer_than_the_same_groups_and_hold_k_rows_each(seed: int) -> None:
    """The same histograms as in generalized groups; ranges of k rows or more, whatever the values are."""
    plain, fine = (published(stream(seed), form=form) for form in ("generalized", "boxes"))
    for wide, narrow in zip(plain, fine, strict=True):
        shown = narrow.tables["release"]
        counted = [
            sorted(release.tables["release"].group_by("group").agg(pl.col("s").sort())["s"].to_list())
            for release in (wide, narrow)
        ]
        assert counted[0] == counted[1], "the histograms of the groups"
        assert min(shown.group_by("q", "r").len()["len"].to_list()) >= 3, "fewer rows than k are alike"
        wider, finer = measure(wide, queries=0).losses, measure(narrow, queries=0).losses
        assert sum(finer.values()) <= sum(wider.values()) + 1e-9


@examples(30)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.6]))
def test_slots_go_several_at_once_and_no_value_has_too_many(seed: int, share: float) -> None:
    releases = published(stream(seed, change=0.0), share=share)
    for before, after in pairwise(releases):
        old, new = seats_of(before), seats_of(after)
        living = {cohort for cohort, _, _ in new.values()}
        gone: dict[int, list[int]] = {}
        for seat, (cohort, value, _) in old.items():
            if cohort in living and seat not in new:
                gone.setdefault(cohort, []).append(value)
        for values in gone.values():
            assert len(values) > 1
            assert max(values.count(value) for value in values) <= share * len(values) + 1e-9


@examples(15)
@given(st.integers(0, 10_000), st.sampled_from(["generalized", "permuted"]))
def test_by_itself_slots_that_were_shown_alike_meet_the_requirement(seed: int, form: str) -> None:
    """So k=3 and l=2 hold for all seats that a reader cannot tell apart by when they were shown, in every release."""
    shown = [seats_of(one) for one in published(stream(seed, size=30), by_itself=True, size=4, later=4, form=form)]
    for seats in shown:
        parts: dict[tuple[int, ...], list[int]] = {}
        for seat, (_, value, _) in seats.items():
            parts.setdefault(tuple(one[seat][0] if seat in one else -1 for one in shown), []).append(value)
        assert all(len(values) >= 3 and len(set(values)) >= 2 for values in parts.values())


@pytest.mark.parametrize("form", ["generalized", "permuted", "two tables"])
def test_every_form_goes_out_and_continues(form: str) -> None:
    releases = published(stream(1), form=form)
    assert all(release.counterfeits == len(release.draft.slots) - release.table.rows for release in releases)  # type: ignore[arg-type]
    assert any(release.counterfeits for release in releases)


@pytest.mark.parametrize("require", ["k=4", "t=0.7", "entropy-l=2", "k=3 & confidence=0.6", "recursive=3,2"])
def test_any_requirement_on_histograms_is_kept(require: str) -> None:
    published(stream(2, size=60), require)  # a release that does not meet it is no release


def test_a_requirement_that_joining_cannot_meet_is_refused() -> None:
    with pytest.raises(NotMetError, match="all records together"):
        published(stream(2), "m-unique=2")


def test_counterfeits_stay_what_they_are_where_values_stay() -> None:
    schema = Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"])
    schema = Schema.loads(schema.dumps() + "\n[updates]\nnone = true\n")
    shown: dict[int, int] = {}
    for release in published(stream(5, change=0.0), schema=schema):
        for seat, (_, value, _) in seats_of(release).items():
            text = release.table.decode(np.array([value], np.int32)).item()
            assert shown.setdefault(seat, text) == text


def test_refills_come_several_at_once_or_not_at_all() -> None:
    releases = published(stream(4, releases=6, size=60), e=2, grow=5.0)
    known, refills = set(releases[0].table.frame["id"].to_list()), 0
    for before, after in pairwise(releases):
        old, taken = seats_of(before), Counter[int]()
        for seat, (cohort, _, person) in seats_of(after).items():
            taken[cohort] += seat in old and person is not None and person not in known
        known |= set(after.table.frame["id"].to_list())
        assert 1 not in taken.values()
        refills += taken.total()
    assert refills


def test_a_cohort_that_is_left_out_rests_and_comes_back() -> None:
    frames = stream(7, change=0.0)
    frames = [frames[0], frames[0], frames[0]]
    (first,) = published(frames[:1])
    gone = first.table.frame["id"].filter(pl.Series(companions(first, first.table.frame["id"][:1])))
    without = frames[1].filter(~pl.col("id").is_in(gone.implode()))
    releases = published([frames[0], without, frames[2]])
    homes = [{person: seat for seat, (_, _, person) in seats_of(one).items() if person is not None} for one in releases]
    assert not set(homes[1]) & set(gone.to_list())
    assert homes[0] == homes[2]
    assert releases[1].counterfeits == releases[2].counterfeits == 0


def test_companions_are_the_whole_cohort() -> None:
    release = published(stream(7))[0]
    seats = seats_of(release)
    ids = release.table.frame["id"]
    cohort = {person: home for home, _, person in seats.values()}
    broken = companions(release, ids[:1])
    assert [cohort[one] == cohort[ids[0]] for one in ids.to_list()] == broken.tolist()


@pytest.mark.parametrize(
    "options", [{"size": 1}, {"share": 0.4}, {"share": 1.0}, {"grow": -1}, {"e": 0}, {"size": 2.5}, {"later": True}]
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="option"):
        published(stream(1), **options)


# --- parts -----------------------------------------------------------------------------------------------------------


def seats(cohort: Sequence[int], value: Sequence[int], row: Sequence[int], before: Sequence[int]) -> Seats:
    home, history = np.array(cohort), nothing_shown(len(cohort))
    history[:, 0] = before
    zero = np.zeros(len(cohort), np.int64)
    return Seats(np.arange(len(cohort)), home, np.array(value, np.int32), np.array(row), history, home, zero, zero)


BOUNDS = Bounds(Domain(np.ones(4, np.int64)), LastingShare(0.5), LastingShare(0.5))


def test_two_slots_of_one_value_do_not_go() -> None:
    same = seats([0, 0, 0, 0], [0, 0, 1, 2], [-1, -1, 0, 1], [0, 0, 1, 2])
    assert len(without_empty(same, BOUNDS).name) == 4
    differ = seats([0, 0, 0, 0], [0, 3, 1, 2], [-1, -1, 0, 1], [0, 3, 1, 2])
    assert without_empty(differ, BOUNDS).name.tolist() == [2, 3]
    # What they showed last counts, not what they have become since.
    moved = seats([0, 0, 0, 0], [0, 3, 1, 2], [-1, -1, 0, 1], [0, 0, 1, 2])
    assert len(without_empty(moved, BOUNDS).name) == 4


def test_a_change_that_looks_like_a_loss_keeps_slots() -> None:
    # Seats 0 and 1 showed 0 and 1, but seat 2 became 1: a reader would miss two records of 0.
    looks = seats([0] * 4, [0, 1, 1, 2], [-1, -1, 0, 1], [0, 1, 0, 2])
    assert len(without_empty(looks, BOUNDS).name) == 4


def test_slots_that_were_alike_once_do_not_go_together() -> None:
    """Different values last time, but one value the time before: then they give each other away."""
    then = seats([0] * 4, [0, 1, 2, 3], [-1, -1, 0, 1], [0, 1, 2, 3])
    assert len(without_empty(then, BOUNDS).name) == 2
    then.history[:, 1] = [0, 0, 1, 2]
    assert len(without_empty(then, BOUNDS).name) == 4


def plane(values: Sequence[int], ages: Sequence[int]) -> Table:
    frame = pl.DataFrame({"id": range(len(ages)), "q": ages, "r": "x", "s": [VALUES[value] for value in values]})
    return Table.read(frame, SCHEMA)


def test_whoever_moves_far_away_goes_on_with_an_empty_slot() -> None:
    table = plane([0, 1, 2, 3, 0], [20, 21, 22, 90, 23])
    # Seats 0 to 4 are the rows' own, the last one is empty.
    together = seats([0] * 6, [0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 4, -1], [0, 1, 2, 3, 0, 1])
    assert split(table, together, BOUNDS).cohort.tolist() == [0, 0, 0, 1, 0, 1]
    near = plane([0, 1, 2, 3, 0, 0], [20, 21, 22, 21, 23, 90])
    assert split(near, together, BOUNDS).cohorts == 1
    # The empty seat had the mover's value once: another one goes with the mover.
    together.history[:, 1] = [0, 1, 2, 3, 0, 3]
    apart = split(table, together, BOUNDS).cohort
    assert apart[3] == 1
    assert apart[5] == 0
    assert np.bincount(apart).tolist() == [4, 2]


def test_a_new_cohort_is_not_split() -> None:
    table = plane([0, 1, 2, 3], [20, 21, 22, 90])
    assert split(table, seats([0] * 4, [0, 1, 2, 3], [0, 1, 2, 3], [-1] * 4), BOUNDS).cohorts == 1


def test_collided_cohorts_are_left_out_as_far_as_that_is_allowed() -> None:
    there = seats([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 0, 1], [0, 1, 2, 3, 4, 5], [0, 1, 1, 2, 0, 1])
    none = np.empty(0, np.int64)
    arrival = Arrival(there, none, none, none, none, Changes(np.empty((3, 0), np.int64)), Model(4), 6)
    assert without_collided(arrival, BOUNDS, 4).refused.tolist() == [0, 1, 2, 3]
    assert without_collided(arrival, BOUNDS, 3).refused.tolist() == [0, 1]
    assert not len(without_collided(arrival, BOUNDS, 1).refused)
    assert without_collided(arrival, BOUNDS, 4).seats.people().tolist() == [0, 0, 2]


def test_changes_are_counted_over_releases() -> None:
    counted = Changes(np.empty((3, 0), np.int64)).more(np.array([0, 0, 1]), np.array([1, 1, 1]))
    assert counted.more(np.array([0]), np.array([1])).table(2).tolist() == [[0, 3], [0, 1]]


def test_a_model_forgets() -> None:
    steps = np.array([[0.6, 0.4], [0.4, 0.6]])
    assert distance(Model(2, steps), 1) == pytest.approx(0.2)
    assert distance(Model(2, steps), 3) == pytest.approx(0.008)
    assert distance(Model(2), 9) == 1.0


# --- what everyone at once says --------------------------------------------------------------------------------------


def hospital(folder: Path) -> tuple[list[pl.DataFrame], Schema]:
    """Six months of a synthetic hospital, with how diseases change."""
    synth.updates().write_csv(folder / "updates.csv")
    schema = Schema.loads(synth.schema().dumps() + f'\n[updates]\nfile = "{folder / "updates.csv"}"\n')
    return list(synth.Population(seed=5, people=900, hospitals=2).months(6)), schema


def calibrated(found: Finding) -> bool:
    """Whether claims about a hundred people or more are right about as often as they say."""
    bands = [band for band in found.details["calibration"] if band["people"] >= 100]
    return bool(bands) and all(band["right"] == pytest.approx(band["claim"], abs=0.08) for band in bands)


def test_claims_are_right_as_often_as_they_say(tmp_path: Path) -> None:
    """On a synthetic hospital: nobody is linked by more than the share, but for few, and claims are calibrated."""
    frames, schema = hospital(tmp_path)
    releases = published(frames, "k=5 & l=3", schema)
    alike = replace(schema, policy={"prior": "common"})
    (found,) = attack(releases, alike, only=["joint"], knowledge=Knowledge(groups=True))
    assert found.details["knowledge"] == "groups"
    assert found.details["prior"] == "common"
    assert found.people <= 0.01 * found.population
    assert calibrated(found)


def test_who_leaves_gives_small_cohorts_away_and_claims_are_right_as_often_as_they_say(tmp_path: Path) -> None:
    """The acutely ill leave soon, which the files alone teach: dozens are linked, rightly; by themselves hardly any."""
    frames, schema = hospital(tmp_path)
    small, large = (
        attack(published(frames, "k=5 & l=3", schema, by_itself=asked), schema, only=["joint"])["joint"]
        for asked in (False, True)
    )
    assert small.details["leaving"] == "learnt"
    assert small.people > 0.03 * small.population
    assert small.details["right"] > 0.9 * small.people
    assert calibrated(small)
    assert large.people <= 0.003 * large.population


def test_by_itself_who_learns_links_hardly_anybody_and_says_how_surely(tmp_path: Path) -> None:
    """The acutely ill leave soon: in small cohorts that gives them away."""
    frames, schema = hospital(tmp_path)
    usual, by_itself = (
        attack(published(frames, "k=5 & l=3", schema, by_itself=asked), schema, only=["joint", "definetti"])
        for asked in (False, True)
    )
    assert by_itself["joint"].people == 0
    assert calibrated(by_itself["definetti"])
    assert by_itself["definetti"].details["above"]["right"] < 0.2 * usual["definetti"].details["above"]["right"]
