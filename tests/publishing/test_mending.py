"""Repair of methods whose people stay together: whom they leave out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Ints
from reissue.algorithms.cohorts.companions import companions
from reissue.data.table import Table
from reissue.policy import Policy
from reissue.publishing.repair.mending import Attempt, make_and_mend
from reissue.release.release import Release
from tests.algorithms.test_cohorts import SCHEMA, stream


@dataclass(frozen=True, eq=False, kw_only=True)
class Once(Attempt):
    """The first release of a series."""

    def memory(self) -> None:
        return None

    def after(self, *, accepts_history: bool) -> None:
        return None

    def seed(self) -> int:
        return 1


@dataclass(frozen=True)
class Found:
    exposed: Ints

    def companions(self, people: Ints) -> list[Ints]:
        return [people for _ in people]


def test_the_whole_cohort_of_an_exposed_person_is_left_out_at_once() -> None:
    policy = Policy.of(replace(SCHEMA, policy={"require": "k=3 & l=2", "method": "cohorts", "suppress": 0.5}))
    attempt = Once(table=Table.read(stream(7)[0], SCHEMA), schema=SCHEMA, policy=policy)
    ids = attempt.table.ids
    assert ids is not None
    together = companions(attempt.anonymize(lambda _: None), ids[:1])
    asked: list[int] = []

    def attack(one: Once, release: Release, _: Callable[[float], None]) -> Found:
        asked.append(release.table.rows)
        return Found(ids[:1].to_numpy() if len(asked) == 1 else np.zeros(0, np.int64))

    mended, release, _ = make_and_mend(attempt, attack)
    assert together.sum() > 1
    assert mended.repairs.left_out == together.sum()
    assert asked == [len(ids), len(ids) - together.sum()]
    assert release.table.ids is not None
    assert not set(release.table.ids.to_list()) & set(ids.filter(together).to_list())
