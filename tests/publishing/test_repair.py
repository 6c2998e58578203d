"""Repair: what becomes of a release that exposes few people, by every method."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue import Table
from reissue._arrays import Ints
from reissue.errors import NotMetError
from reissue.methods.cohorts.bounds import companions
from reissue.policy import Policy
from reissue.publishing.repair import Attempt, make_and_repair
from reissue.release.release import Release
from reissue.utility import measure
from tests.methods.test_cohorts import SCHEMA, stream


@dataclass(frozen=True, eq=False, kw_only=True)
class Once(Attempt):
    """The first release of a series."""

    def memory(self) -> None:
        return None

    def after(self) -> list[Release]:
        return []

    def seed(self) -> int:
        return 1


@dataclass(frozen=True)
class Found:
    exposed: Ints
    beside: Ints | None = None
    near: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    other: bool = False
    """Whether another attack exposes somebody."""

    @property
    def withstood(self) -> bool:
        return not len(self.exposed) and not self.other

    def companions(self, people: Ints) -> list[Ints]:
        return [people if self.beside is None else self.beside for _ in people]


def policy(suppress: float) -> Policy:
    asked = {"require": "k=3 & l=2", "method": "cohorts", "suppress": suppress}
    return Policy.of(replace(SCHEMA, policy=asked))


def test_the_whole_cohort_of_an_exposed_person_is_left_out_at_once() -> None:
    attempt = Once(table=Table.read(stream(7)[0], SCHEMA), schema=SCHEMA, policy=policy(0.5))
    ids = attempt.table.ids
    assert ids is not None
    together = companions(attempt.anonymize(lambda _: None), ids[:1])
    asked: list[int] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        asked.append(release.table.rows)
        return Found(ids[:1].to_numpy() if len(asked) == 1 else np.zeros(0, np.int64))

    repaired, release, _ = make_and_repair(attempt, attack)
    assert together.sum() > 1
    assert repaired.repairs.left_out == together.sum()
    assert asked == [len(ids), len(ids) - together.sum()]
    assert release.table.ids is not None
    assert not set(release.table.ids.to_list()) & set(ids.filter(together).to_list())


def test_for_someone_who_is_gone_the_cohorts_beside_are_left_out_as_far_as_that_is_allowed() -> None:
    attempt = Once(table=Table.read(stream(7)[0], SCHEMA), schema=SCHEMA, policy=policy(0.5))
    ids = attempt.table.ids
    assert ids is not None
    together = companions(attempt.anonymize(lambda _: None), ids[:1])

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        nobody = np.zeros(0, np.int64)
        return Found(np.array([-7]), ids[:1].to_numpy()) if release.table.rows == len(ids) else Found(nobody)

    repaired, _, _ = make_and_repair(attempt, attack)
    assert repaired.repairs.left_out == together.sum() > 1
    repaired, _, _ = make_and_repair(replace(attempt, policy=policy(1 / len(ids))), attack)
    assert repaired.repairs.left_out == 0


def test_where_not_all_can_be_left_out_some_are_and_it_is_tried_again() -> None:
    attempt = Once(table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=policy(0.5))
    ids = attempt.table.ids
    assert ids is not None
    together = companions(attempt.anonymize(lambda _: None), ids[:1])
    exposed = pl.concat([ids[:1], ids.filter(~together)[:1]])  # of two cohorts
    few = policy((together.sum() + 1) / len(ids))
    seen: list[int] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        seen.append(one.table.rows)
        return Found(exposed.to_numpy() if len(seen) == 1 else np.zeros(0, np.int64))

    repaired, _, _ = make_and_repair(replace(attempt, policy=few, reserve=0.0), attack)
    assert repaired.repairs.left_out == together.sum()
    assert len(seen) == 2


def test_where_joining_does_not_help_who_gives_a_leaver_away_is_left_out() -> None:
    plain = Policy.of(replace(SCHEMA, policy={"require": "k=3", "method": "pool", "suppress": 0.2}))
    attempt = Once(table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=plain)
    ids = attempt.table.ids
    assert ids is not None
    beside = ids[:2].to_numpy()

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        here = one.mentioned(beside).any()
        return Found(np.array([-7]) if here else np.zeros(0, np.int64), beside)

    repaired, release, found = make_and_repair(attempt, attack)
    assert not len(found.exposed)
    assert repaired.repairs.left_out == 2
    assert release.suppressed == 0
    assert "others who have left" in " ".join(repaired.repairs.sentences)


def test_where_leaving_out_helps_nobody_more_groups_are_joined() -> None:
    plain = Policy.of(replace(SCHEMA, policy={"require": "k=3", "method": "pool", "suppress": 0.2, "repair": 1}))
    attempt = Once(table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=plain)
    ids = attempt.table.ids
    assert ids is not None
    without: list[int] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        without.append(one.repairs.left_out)
        hidden = one.widened is not None and one.widened.sum() > 15 and not one.repairs.left_out
        return Found(np.zeros(0, np.int64) if hidden else ids[:1].to_numpy())

    repaired, _, found = make_and_repair(attempt, attack)
    assert not len(found.exposed)
    assert max(without) == 1, "it was tried"
    assert repaired.repairs.left_out == 0


def test_what_repair_would_cost_is_bounded_and_said() -> None:
    asked = {"require": "k=3", "method": "pool", "repair": 0.02}
    attempt = Once(
        table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=Policy.of(replace(SCHEMA, policy=asked))
    )
    ids = attempt.table.ids
    assert ids is not None
    made: list[Release] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        made.append(release)
        return Found(ids[:1].to_numpy())

    repaired, release, found = make_and_repair(attempt, attack)
    assert len(found.exposed) == 1
    first, last = measure(made[0]).loss, measure(release).loss
    assert first <= last <= first + 0.02
    assert repaired.repairs.lost == first
    assert repaired.repairs.asked is not None
    assert repaired.repairs.asked > first + 0.02
    assert f"{repaired.repairs.asked:.3f} instead of {first:.3f}" in repaired.repairs.price
    free = replace(attempt, policy=replace(attempt.policy, repair=1.0))
    assert not make_and_repair(free, attack)[0].repairs.price


def test_the_few_who_are_exposed_are_left_out_one_turn_after_the_other() -> None:
    """Each turn exposes somebody else: as long as the policy allows it nobody's group is joined for that."""
    plain = Policy.of(replace(SCHEMA, policy={"require": "k=3", "method": "pool", "suppress": 0.2}))
    attempt = Once(table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=plain)
    ids = attempt.table.ids
    assert ids is not None

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        here = ids.filter(ids.is_in(one.table.ids.implode()))  # type: ignore[union-attr]
        return Found(here[:1].to_numpy() if one.repairs.left_out < 4 else np.zeros(0, np.int64))

    repaired, release, found = make_and_repair(attempt, attack)
    assert not len(found.exposed)
    assert repaired.repairs.left_out == 4
    assert repaired.repairs.joins == 0
    assert release.table.rows == len(ids) - 4


@pytest.mark.parametrize("method", ["pool", "cohorts"])
@pytest.mark.parametrize(("helps", "other"), [(False, False), (True, False), (True, True)])
def test_who_is_near_the_limit_is_brought_away_from_it_if_that_helps(method: str, helps: bool, other: bool) -> None:
    """Not at the price that another attack exposes somebody then."""
    asked = {"require": "k=3 & l=2", "method": method, "suppress": 0.5}
    attempt = Once(
        table=Table.read(stream(7, size=400)[0], SCHEMA), schema=SCHEMA, policy=Policy.of(replace(SCHEMA, policy=asked))
    )
    ids, nobody = attempt.table.ids, np.zeros(0, np.int64)
    assert ids is not None
    attacked: list[Release] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        attacked.append(release)
        repaired = one.widened is not None or bool(one.repairs.left_out)
        near = nobody if helps and repaired else ids[:1].to_numpy()
        return Found(nobody, near=near, other=other and repaired)

    repaired, release, _ = make_and_repair(attempt, attack)
    assert len(attacked) == 2
    taken = helps and not other
    assert release is attacked[taken]
    assert bool(repaired.repairs.sentences) == taken


def test_a_release_that_exposes_nobody_is_kept_where_nobody_can_be_left_out() -> None:
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Needed(Once):
        def anonymize(self, progress: Callable[[float], None]) -> Release:
            if self.repairs.left_out:
                raise NotMetError("Not without them.")
            return super().anonymize(progress)

    attempt = Needed(table=Table.read(stream(7, size=400)[0], SCHEMA), schema=SCHEMA, policy=policy(0.5))
    ids = attempt.table.ids
    assert ids is not None
    near = Found(np.zeros(0, np.int64), near=ids[:1].to_numpy())
    repaired, release, found = make_and_repair(attempt, lambda *_: near)
    assert found is near
    assert release.groups
    assert not repaired.repairs.left_out


def test_a_random_method_begins_anew_where_repair_does_not_suffice() -> None:
    attempt = Once(table=Table.read(stream(7)[0], SCHEMA), schema=SCHEMA, policy=policy(0.0))
    seen: list[int] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        seen.append(one.draw)
        return Found(np.array([-7] if one.draw < 2 else [], np.int64), np.zeros(0, np.int64))

    repaired, _, found = make_and_repair(attempt, attack, draws=4)
    assert not len(found.exposed)
    assert repaired.draw == max(seen) == 2
    assert len(make_and_repair(attempt, attack, draws=2)[2].exposed) == 1, "it gives up"
    plain = Policy.of(replace(SCHEMA, policy={"require": "k=3", "method": "pool"}))
    assert make_and_repair(replace(attempt, policy=plain), attack, draws=4)[0].draw == 0, "nothing in it is random"


def test_what_one_draw_cannot_meet_another_may() -> None:
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Unlucky(Once):
        def anonymize(self, progress: Callable[[float], None]) -> Release:
            if self.draw < 1:
                raise NotMetError("Not with these random numbers.")
            return super().anonymize(progress)

    def attack(one: Unlucky, release: Release, _: Callable[[float], None]) -> Found:
        return Found(np.zeros(0, np.int64))

    attempt = Unlucky(table=Table.read(stream(7)[0], SCHEMA), schema=SCHEMA, policy=policy(0.0))
    assert make_and_repair(attempt, attack, draws=4)[0].draw == 3, "the last one"
    with pytest.raises(NotMetError):
        make_and_repair(attempt, attack)


@pytest.mark.parametrize(
    ("method", "require", "options"),
    [
        ("pool", "k=3", {}),
        ("mondrian", "k=3", {}),
        ("cohorts", "k=3 & l=2", {}),
        ("cohorts", "k=3 & l=2", {"by_itself": True, "size": 4}),
        ("invariance", "m-unique=2", {"ineligible": "counterfeits"}),
        ("equivalence", "simple-l=2", {"e": 2, "ineligible": "counterfeits"}),
        ("distinct", "m-unique=2", {"ineligible": "counterfeits"}),
    ],
)
def test_every_method_is_mended_where_it_hurts(method: str, require: str, options: dict[str, Any]) -> None:
    """Whoever is exposed stands in a joined group afterwards, or is left out; hardly anybody else is."""
    asked = {"require": require, "method": method, "options": options, "suppress": 0.4, "counterfeits": 1.0}
    chosen = Policy.of(replace(SCHEMA, policy=asked))
    attempt = Once(table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=chosen)
    ids = attempt.table.ids
    assert ids is not None

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        untouched = one.table.rows == len(ids) and one.widened is None
        return Found(ids[:1].to_numpy() if untouched else np.zeros(0, np.int64))

    repaired, _, found = make_and_repair(attempt, attack)
    assert not len(found.exposed)
    assert repaired.repairs.sentences
    rows = repaired.mentioned(ids[:1].to_numpy())
    assert not rows.any() or (repaired.widened is not None and bool(repaired.widened[rows].all()))
    assert repaired.repairs.left_out + repaired.repairs.rows < 0.5 * len(ids)


def test_records_of_a_table_that_only_grows_are_not_left_out() -> None:
    """They would be missed in the next release: what correspondence cannot hide is refused."""
    chosen = Policy.of(replace(SCHEMA, policy={"require": "k=3", "method": "correspondence", "suppress": 0.2}))
    attempt = Once(table=Table.read(stream(7, size=60)[0], SCHEMA), schema=SCHEMA, policy=chosen)

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        return Found(one.table.ids[:1].to_numpy())  # type: ignore[index]

    repaired, _, found = make_and_repair(attempt, attack)
    assert len(found.exposed) == 1
    assert not repaired.repairs.sentences


@pytest.mark.parametrize(("repair", "out"), [(1.0, 2), (0.0, 1)])
def test_people_near_the_limit_are_mended_with_the_exposed_where_the_price_allows_it(repair: float, out: int) -> None:
    """Whoever is near the limit is left out with the exposed, as far as the policy's share goes."""
    table = Table.read(stream(7, size=60)[0], SCHEMA)
    asked = {"require": "k=3", "method": "pool", "suppress": (out + 0.5) / table.rows, "repair": repair}
    plain = Policy.of(replace(SCHEMA, policy=asked))
    attempt = Once(table=table, schema=SCHEMA, policy=plain, reserve=1.0)
    ids = table.ids
    assert ids is not None
    groups = attempt.anonymize(lambda _: None).draft.groups
    spare = np.flatnonzero(np.bincount(groups)[groups] > 3)[0]  # the group meets k=3 without this person
    exposed, near = ids.gather([spare]).to_numpy(), ids.gather([int(spare == 0)]).to_numpy()

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        here = [people[: int(one.mentioned(people).any())] for people in (exposed, near)]
        return Found(here[0], near=here[1])

    repaired, _, found = make_and_repair(attempt, attack)
    assert not len(found.exposed)
    assert repaired.repairs.left_out == out
