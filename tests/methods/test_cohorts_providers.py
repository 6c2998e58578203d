"""Cohorts with providers apart: no coalition of providers, however large, sees more than a reader does."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize, synth
from reissue.errors import DataError, InputError, NotMetError, SchemaError
from reissue.ledger import Ledger
from reissue.people.knowledge import Knowledge
from reissue.publishing.attack import attack
from reissue.publishing.publish import publish_next
from reissue.release.release import Release
from reissue.schema import Schema
from tests.effort import examples
from tests.methods.test_cohorts import stream

SCHEMA = Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"], provider="h")
NAMES = ["north", "south", "west"]


def owned(frame: pl.DataFrame, providers: int = 3) -> pl.DataFrame:
    """Everyone has a provider for life."""
    return frame.with_columns(h=pl.Series([NAMES[one * 7 // 5 % providers] for one in frame["id"]]))


def published(frames: Sequence[pl.DataFrame], schema: Schema = SCHEMA, **options: Any) -> list[Release]:
    made: list[Release] = []
    for frame in frames:
        memory = made[-1].draft.memory if made else None
        asked = {"method": "cohorts", "suppress": 0.6, "apart": True, **options}
        made.append(anonymize(frame, schema, "k=3 & l=2", seed=3, memory=memory, newcomers=True, **asked))
    return made


def others_left(release: Release, coalition: Sequence[str]) -> list[tuple[int, Counter[int]]]:
    """Twin: for each group with people of others, how many of the coalition's are in it and the values of all."""
    draft, names = release.draft, release.table.frame["h"].to_list()
    found = []
    for group in range(release.groups):
        rows = np.flatnonzero(draft.groups == group).tolist()
        own = [row for row in rows if names[row] in coalition]
        values = Counter(release.table.sensitive[rows].tolist())
        if draft.counterfeits is not None:
            values.update(draft.counterfeits.sensitive[draft.counterfeits.groups == group].tolist())
        if len(own) < len(rows):
            found.append((len(own), values))
    return found


@examples(10)
@given(st.integers(0, 10_000))
def test_every_coalition_owns_all_of_a_group_or_nothing_in_it(seed: int) -> None:
    for release in published([owned(one) for one in stream(seed, size=60)]):
        for coalition in (some for size in range(4) for some in combinations(NAMES, size)):
            for own, values in others_left(release, coalition):
                assert own == 0
                assert values.total() >= 3
                assert len(values) >= 2


def test_a_slot_stays_with_its_provider() -> None:
    owner: dict[int, str] = {}
    refilled, people = 0, dict[int, int]()
    for release in published([owned(one, 2) for one in stream(4, releases=6, size=60)], grow=5.0):
        assert release.draft.slots is not None
        rows = zip(release.draft.slots.tolist(), release.table.frame["h"], release.table.frame["id"], strict=False)
        for seat, name, person in rows:
            if seat >= 0:
                assert owner.setdefault(seat, name) == name
                refilled += people.setdefault(seat, person) != person
    assert refilled


def test_who_changes_providers_is_left_out_until_back() -> None:
    first = owned(stream(7, size=60)[0])
    person = first["id"][0]
    other = next(name for name in NAMES if name != first["h"][0])
    moved = first.with_columns(h=pl.when(pl.col("id") == person).then(pl.lit(other)).otherwise(pl.col("h")))
    releases = published([first, moved, moved, first])
    assert [release.suppressed for release in releases] == [0, 1, 1, 0]
    assert [release.draft.notes["left_out"] for release in releases] == [0, 1, 1, 0]
    assert [int(release.draft.groups[0]) >= 0 for release in releases] == [True, False, False, True]
    assert [release.counterfeits for release in releases] == [0, 1, 1, 0]
    seats = [release.draft.slots for release in releases]
    assert seats[0] is not None
    assert seats[3] is not None
    assert seats[0][0] == seats[3][0]
    with pytest.raises(NotMetError, match="changed providers"):
        published([first, moved], suppress=0.0)


def test_what_cannot_be_kept_apart_is_refused() -> None:
    frame = owned(stream(7)[0])
    with pytest.raises(SchemaError, match="provider"):
        published([frame.drop("h")], Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"]))
    with pytest.raises(DataError, match="missing in 1 row"):
        published([frame.with_columns(h=pl.when(pl.col("id") == frame["id"][0]).then(None).otherwise("h"))])
    (before,) = published([frame], apart=False)
    with pytest.raises(InputError, match="from the first release"):
        anonymize(
            frame,
            SCHEMA,
            "k=3",
            method="cohorts",
            memory=before.draft.memory,
            apart=True,
            seed=1,
        )


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Release], Schema]:
    """Three months of two hospitals through a ledger, whose gate asks for every coalition."""
    folder: Path = tmp_path_factory.mktemp("hospitals")
    synth.updates().write_csv(folder / "updates.csv")
    policy = {
        "require": "k=5 & l=3",
        "method": "cohorts",
        "options": {"apart": True},
        "suppress": 0.03,
        "counterfeits": 0.2,
        "knowledge": "groups",
        "attacks": ["joint", "coalition"],
        "limits": {"coalition": 1},
    }
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=folder, policy=policy)
    made = []
    with Ledger.create(folder / "x.ledger", schema) as ledger:
        for frame in synth.Population(seed=5, people=600, hospitals=2).months(3):
            one = publish_next(frame, ledger)
            assert one.findings["coalition"].status == "withstood"
            made.append(one.release)
    return made, schema


def test_a_coalition_that_knows_its_own_learns_nothing_about_others(months: tuple[list[Release], Schema]) -> None:
    releases, schema = months
    assert any(release.counterfeits for release in releases)

    def worst(*coalition: str) -> float:
        knows = Knowledge(groups=True, coalition=coalition)
        (found,) = attack(releases, schema, only=["joint"], knowledge=knows, limits={"joint": 0.75}, exact=True)
        assert found.status == "withstood"
        return found.worst or 0.0

    outsider = worst()
    for name in releases[0].table.frame["hospital"].unique().to_list():
        assert worst(name) <= outsider + 0.005


def test_counterfeits_in_groups_of_several_providers_are_judged(months: tuple[list[Release], Schema]) -> None:
    releases, schema = months
    assert attack(releases, schema, only=["coalition"])["coalition"].status == "withstood"
    mixed = published([owned(one) for one in stream(4, size=60)], apart=False)
    found = attack(mixed, SCHEMA, only=["coalition"])["coalition"]
    found = attack(mixed, SCHEMA, only=["coalition"])["coalition"]
    assert found.status == "exposed"
