"""Panels of cohorts: what rows with a seat that lasts show, and what they must not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table, anonymize
from reissue.attacks.findings import Status
from reissue.attacks.joint.state import Thoroughness, add
from reissue.errors import InputError, NotMetError, SchemaError
from reissue.people.knowledge import Knowledge
from reissue.policy import Policy
from reissue.published import Form, read_published
from reissue.published.series import Series
from reissue.publishing.attack import attack
from reissue.publishing.gate import gate_attacks
from reissue.publishing.publish import publish
from reissue.release.release import Counterfeits, Draft, Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.utility import transitions
from reissue.verify import make_release
from tests.effort import examples
from tests.methods.test_cohorts import SCHEMA, published, seats_of, stream
from tests.silence import refused

LIMITS = {"joint": 0.99, "trajectory": 3}


def panel(seed: int) -> list[Release]:
    return published(stream(seed, releases=4, size=30), form="panel", size=4, later=4)


def histories(releases: list[Release]) -> dict[int, list[int]]:
    """Seat to the group of each release, -1 where it is not published."""
    found: dict[int, list[int]] = {}
    for place, release in enumerate(releases):
        for seat, group in release.tables["release"].select("slot", "group").rows():
            found.setdefault(seat, [-1] * len(releases))[place] = group
    return found


@examples(10)
@given(st.integers(0, 10_000))
def test_a_panel_keeps_to_what_it_promises(seed: int) -> None:
    releases = panel(seed)
    assert all(release.draft.form == Form.PANEL for release in releases)
    _alike_in_every_release(releases)
    _own_slots_and_values(releases)


def _alike_in_every_release(releases: list[Release]) -> None:
    """k=3 and l=2 hold for all seats that a person can be in, over the series: so no value has all of them."""
    alike: dict[tuple[int, ...], set[int]] = {}
    for seat, groups in histories(releases).items():
        alike.setdefault(tuple(groups), set()).add(seat)
    for history, seats in alike.items():
        for place, release in enumerate(releases):
            values = release.tables["release"].filter(pl.col("slot").is_in(list(seats)))["s"]
            if history[place] >= 0:
                assert len(values) == len(seats) >= 3
                assert values.n_unique() >= 2


def _own_slots_and_values(releases: list[Release]) -> None:
    """Everyone keeps a seat, shows the own value in it, and is not back in it after it was shown without the person."""
    groups = histories(releases)
    homes: dict[int, tuple[int, int]] = {}
    for place, release in enumerate(releases):
        truth = dict(release.table.frame.select("id", "s").rows())
        shown = dict(release.tables["release"].select("slot", "s").rows())
        assert set(shown) == set(seats_of(release))
        for seat, (_, _, person) in seats_of(release).items():
            if person is not None:
                home, before = homes.get(person, (seat, place))
                assert shown[seat] == truth[person]
                assert home == seat
                assert all(groups[seat][between] < 0 for between in range(before + 1, place))
                homes[person] = seat, place


@examples(4)
@given(st.integers(0, 10_000))
def test_the_attacks_say_the_same_as_the_shares(seed: int) -> None:
    """Everyone at once over our own releases, and seats followed in the published files alone."""
    releases = panel(seed)
    told = {one.attack: one for one in attack(releases, SCHEMA, only=["joint", "trajectory"], limits=LIMITS)}
    assert told["trajectory"].status == Status.WITHSTOOD
    assert told["trajectory"].details["below"] == 0
    assert told["joint"].status == Status.WITHSTOOD
    assert told["joint"].worst == pytest.approx(told["trajectory"].details["largest_share"], abs=0.02)


def test_numbers_of_slots_do_not_follow_the_order_of_the_table() -> None:
    (release,) = panel(1)[:1]
    assert release.draft.slots is not None
    rows = release.draft.slots[: release.table.rows]
    kept = rows[rows >= 0]
    assert (np.diff(kept) > 0).any()
    assert (np.diff(kept) < 0).any()


def test_kept_columns_would_show_who_is_in_a_slot() -> None:
    frame = stream(1)[0].with_columns(ward=pl.lit("x"))
    schema = Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"], keep=["ward"])
    message = refused(SchemaError, lambda: anonymize(frame, schema, "k=3", method="cohorts", form="panel", seed=1))
    assert "kept column" in message


@pytest.mark.parametrize("forms", [("panel", "generalized"), ("permuted", "panel")])
def test_a_series_stays_a_panel_or_none(forms: tuple[str, str]) -> None:
    first, then = stream(1, releases=2)
    asked: dict[str, Any] = {"method": "cohorts", "seed": 1, "suppress": 0.5, "newcomers": True}
    one = anonymize(first, SCHEMA, "k=3 & l=2", form=forms[0], **asked)
    message = refused(
        InputError,
        lambda: anonymize(then, SCHEMA, "k=3 & l=2", form=forms[1], memory=one.draft.memory, **asked),
    )
    assert "begun as a panel" in message


def test_newcomers_too_few_for_a_cohort_are_left_out_or_refused() -> None:
    """One newcomer whose value no seat has: a cohort of one would be that person's."""
    first = pl.DataFrame({"id": range(8), "q": [1] * 8, "r": ["x"] * 8, "s": ["a", "b", "c", "d"] * 2})
    then = first.vstack(pl.DataFrame({"id": [99], "q": [1], "r": ["x"], "s": ["e"]}))
    asked: dict[str, Any] = {"method": "cohorts", "form": "panel", "seed": 1, "newcomers": True}
    one = anonymize(first, SCHEMA, "k=3 & l=2", **asked)
    two = anonymize(then, SCHEMA, "k=3 & l=2", suppress=0.2, memory=one.draft.memory, **asked)
    assert two.suppressed == 1
    message = refused(NotMetError, lambda: anonymize(then, SCHEMA, "k=3 & l=2", memory=one.draft.memory, **asked))
    assert "1 person is in no cohort" in message


# --- files -----------------------------------------------------------------------------------------------------------


def test_files_are_recognized_followed_and_compared(tmp_path: Path) -> None:
    frames = stream(5, releases=3, size=60)
    releases = published(frames, form="panel", size=8, later=4)
    paths = [release.write(str(tmp_path / f"{place}.csv"))[0] for place, release in enumerate(releases)]
    plain = Schema.of_columns(quasi=["q", "r"], sensitive=["s"])
    assert [read_published(path, plain).form for path in paths] == [Form.PANEL] * 3
    (found,) = attack(paths, plain, only=["trajectory"], limits={"trajectory": 3})
    assert found.status == Status.WITHSTOOD
    assert found.details["linked_by"] == "slots"
    (too_few,) = attack(paths, plain, only=["trajectory"], limits={"trajectory": 60})
    assert too_few.status == Status.EXPOSED
    moved = transitions((frames[0], paths[0]), (frames[1], paths[1]), SCHEMA)
    assert moved.linked
    assert moved.stay.published == pytest.approx(moved.stay.true, abs=0.2)


def test_someone_with_a_register_uses_the_slots_too(tmp_path: Path) -> None:
    """Two cohorts share a box in the second release only: the numbers of their seats keep them apart there."""
    people = pl.DataFrame({"id": range(8), "q": [1, 1, 1, 1, 5, 5, 5, 5], "s": list("aabcbbcd")})
    shown = pl.DataFrame({"slot": [3, 1, 4, 2, 8, 6, 5, 7], "s": people["s"]})
    paths = []
    for place, (group, q) in enumerate([([1] * 4 + [2] * 4, ["1"] * 4 + ["5"] * 4), ([1] * 8, ["[1, 5]"] * 8)]):
        paths.append(tmp_path / f"{place}.csv")
        shown.select(pl.Series("group", group), "slot", pl.Series("q", q), "s").write_csv(paths[-1])
    schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"])
    now = [people, people.with_columns(q=pl.lit(3))]
    (found,) = attack(paths, schema, only=["joint"], knowledge=Knowledge(members=now), limits={"joint": 0.45})
    assert found.status == Status.EXPOSED
    assert found.people == 8  # half of a cohort, three eighths of the group
    frames = [pl.read_csv(path).drop("slot") for path in paths]
    (without,) = attack(
        frames[1:], schema, only=["joint"], knowledge=Knowledge(members=now[1:]), limits={"joint": 0.45}
    )
    assert without.status == Status.WITHSTOOD


def test_a_column_of_that_name_in_the_data_is_no_slot() -> None:
    frame = pl.DataFrame({"group": [1, 1], "slot": [7, 8], "q": ["1", "1"], "s": ["a", "b"]})
    named = Schema.of_columns(quasi=["q", "slot"], sensitive=["s"])
    assert read_published(frame, named).form == Form.PERMUTED
    plain = Schema.of_columns(quasi=["q"], sensitive=["s"])
    assert read_published(frame, plain).form == Form.PANEL
    assert read_published(frame.with_columns(slot=pl.lit(7)), plain).form == Form.NUMBERED


# --- the gate --------------------------------------------------------------------------------------------------------

POLICY = {
    "method": "cohorts",
    "require": "k=3 & l=2",
    "suppress": 0.4,
    "counterfeits": 0.5,
    "attacks": ["joint"],
    "options": {"form": "panel", "size": 6, "later": 4, "counterfeits": 0.4},
}


def test_a_ledger_follows_the_slots_of_a_panel(tmp_path: Path) -> None:
    schema = replace(SCHEMA, policy=POLICY)
    assert gate_attacks(Policy.of(schema), schema) == ["joint"]
    assert gate_attacks(Policy.of(schema), schema, Form.PANEL) == ["joint", "trajectory"]
    for frame in stream(2, releases=3, size=80, change=0.3):
        release = publish(frame, tmp_path / "series.ledger", schema, newcomers=True)
        assert "slot" in release.tables["release"].columns


def test_a_slot_that_ends_alone_is_found_by_both_attacks() -> None:
    """Four people, one leaves, and nobody carries the seat on: made by hand, for the method does not do that."""
    values = [["a", "b", "c", "d"], ["a", "b", "c"]]
    releases = []
    for shown in values:
        people = range(len(shown))
        frame = pl.DataFrame({"id": people, "q": [1] * len(shown), "s": shown})
        schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"])
        draft = Draft(np.zeros(len(shown), np.int32), form=Form.PANEL, slots=np.array([40, 10, 30, 20][: len(shown)]))
        table = Table.read(frame, schema)
        releases.append(make_release(table, draft, KAnonymity(3), "cohorts", np.random.default_rng(1)))
    found = {
        one.attack: one
        for one in attack(releases, schema, only=["joint", "trajectory"], knowledge=Knowledge(groups=True))
    }
    assert (found["trajectory"].status, found["trajectory"].worst) == (Status.EXPOSED, 1)
    assert (found["joint"].status, found["joint"].people) == (Status.EXPOSED, 1)


def test_a_counterfeit_that_carries_it_on_hides_it() -> None:
    releases = []
    schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"])
    for number in (4, 3):
        frame = pl.DataFrame({"id": range(number), "q": [1] * number, "s": list("abcd")[:number]})
        fakes = None
        if number == 3:
            fakes = Counterfeits(np.zeros(1, np.int32), np.zeros((1, 1), np.int32), np.array([0], np.int32))
        draft = Draft(np.zeros(number, np.int32), form=Form.PANEL, slots=np.array([40, 10, 30, 20]), counterfeits=fakes)
        table = Table.read(frame, schema)
        releases.append(make_release(table, draft, KAnonymity(3), "cohorts", np.random.default_rng(1)))
    found = attack(releases, schema, only=["joint", "trajectory"], limits={"trajectory": 4})
    assert [one.status for one in found] == [Status.WITHSTOOD] * 2


# --- what is known besides -------------------------------------------------------------------------------------------


def by_hand(tables: list[tuple[list[int], list[str]]], seats: list[int]) -> list[Release]:
    """One cohort whose seats nobody leaves; the first two people are the provider x's."""
    schema = Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"], provider="p")
    made = []
    for people, shown in tables:
        given = ["x" if person < 2 else "y" for person in people]
        frame = pl.DataFrame({"id": people, "q": [1] * len(people), "s": shown, "p": given})
        draft = Draft(np.zeros(len(people), np.int32), form=Form.PANEL, slots=np.array(seats))
        table = Table.read(frame, schema)
        made.append(make_release(table, draft, KAnonymity(3), "cohorts", np.random.default_rng(1)))
    return made


def test_a_coalition_finds_its_own_slots_and_what_others_showed_in_them_before() -> None:
    """Two join the cohort in the second release and know their values: so they know who of the first had them."""
    before, after = ([5, 6, 2, 3], list("abcd")), ([0, 1, 2, 3], list("uvwz"))
    releases = by_hand([before, after], [70, 10, 30, 20])
    schema = releases[0].schema
    (outside,) = attack(releases, schema, only=["joint"], limits={"joint": 0.6})
    assert outside.status == Status.WITHSTOOD
    (inside,) = attack(releases, schema, only=["joint"], limits={"joint": 0.6}, knowledge=Knowledge(coalition=["x"]))
    assert inside.status == Status.EXPOSED
    assert inside.people == 2  # five and six; the other two remain among two seats
    assert inside.worst == pytest.approx(1.0)


def test_what_a_later_release_tells_is_not_known_before_it() -> None:
    releases = by_hand([([0, 1, 2, 3], list("abcd"))] * 2, [70, 10, 30, 20])
    last = by_hand([([0, 1, 2], list("abc"))], [70, 10, 30])
    found = attack([*releases, *last], releases[0].schema, only=["joint"], timeline=True)
    assert [point.people for point in found.timeline["joint"]] == [0, 0, 1]


def test_a_state_that_goes_on_finds_in_earlier_releases_what_the_newest_tells() -> None:
    """As a ledger attacks: a release at a time. Also after the last one is gone from the window."""
    releases = by_hand([([0, 1, 2, 3], list("abcd"))] * 2, [70, 10, 30, 20])
    releases += by_hand([([0, 1, 2], list("abc"))] * 2, [70, 10, 30])
    schema, state, grown = releases[0].schema, None, []
    for number, one in enumerate(releases, start=1):
        series = Series((read_published(one, schema),), schema, numbers=(number,))
        state = add(state, series, Thoroughness(story=False, window=2))
        grown.append(len(state.exposed))
    assert grown == [0, 0, 1, 0]  # person 3 is counted once
    assert state is not None
    assert state.before.tolist() == [3]


def test_cohorts_of_one_provider_each_are_a_panel_too() -> None:
    frames = [
        one.with_columns(p=pl.when(pl.col("id") % 2 == 0).then(pl.lit("x")).otherwise(pl.lit("y")))
        for one in stream(4, size=60)
    ]
    schema = Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"], provider="p")
    releases = published(frames, schema=schema, form="panel", size=4, later=4, apart=True)
    _alike_in_every_release(releases)
    for release in releases:
        given = release.table.frame["p"].to_list()
        groups = zip(release.draft.groups.tolist(), given, strict=True)
        owners = {(group, owner) for group, owner in groups if group >= 0}
        assert len(owners) == len({group for group, _ in owners})
