"""The equivalence attack beside its twin, and releases for both."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.attacks import CannotRunError, Knowledge, Series, find, run_attack
from reissue.attacks.findings import Finding, Status
from reissue.schema import Schema
from tests.attacks import equivalence_twin

__all__ = ["assert_at_hand", "assert_every_beginning", "assert_same", "random_groups"]


def random_groups(
    seed: int, releases: int = 5, people: int = 12, values: int = 3, *, changing: bool = False, names: bool = False
) -> list[pl.DataFrame]:
    """Private copies of releases: people come, go and return, and stand in groups as chance has it."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, values, people)
    frames = []
    for _ in range(releases):
        there = np.flatnonzero(rng.random(people) < rng.uniform(0.4, 1))
        there = there if len(there) else np.array([0])
        value = np.where(changing & (rng.random(people) < 0.3), rng.integers(0, values, people), value)
        group = rng.integers(0, max(len(there) // int(rng.integers(2, 5)), 1), len(there))
        nobody = rng.random(len(there)) < (0.15 if names else 0)
        ids = pl.Series("id", np.where(nobody, -1, there + 100)).replace(-1, None)
        shown = {"q": [f"g{g}" for g in group], "r": "*", "s": [f"v{v}" for v in value[there]]}
        frames.append(pl.DataFrame({"id": ids, **shown}))
    return frames


def assert_every_beginning(releases: Sequence[Any], schema: Schema, limits: Mapping[str, float]) -> list[Finding]:
    """After every release the equivalence attack finds what its twin finds."""
    every = range(1, len(releases) + 1)
    return [assert_at_hand(Series.read(releases[:number], schema, limits=limits)) for number in every]


def assert_at_hand(series: Series) -> Finding:
    """The attack exposes whom its twin exposes; how many components can be solved depends on the order of people."""
    found = run_attack(find("equivalence"), series, Knowledge())
    if found.status == Status.NOT_RUN:
        with pytest.raises(CannotRunError) as obstacle:
            equivalence_twin.whole(series, Knowledge())
        assert found.reason == str(obstacle.value)
        return found
    outcome, below, people = equivalence_twin.whole(series, Knowledge())
    assert found.status == (Status.EXPOSED if len(below) else Status.WITHSTOOD)
    assert (found.people, found.population) == (len(below), people)
    assert found.worst == (int(below.min()) if len(below) else None)
    assert found.details["people_by_e"] == {str(e): int((below <= e).sum()) for e in range(1, int(found.limit or 1))}
    assert found.details["exact"] or not outcome.exact or bool(found.people)
    return found


def assert_same(own: Finding, whole: Finding) -> None:
    """The same finding, but for the case that it tells: a ledger knows no names."""
    mine, its = own.as_dict(), whole.as_dict()
    details, expected = dict(mine.pop("details")), dict(its.pop("details"))
    for told in (details, expected):
        told.pop("case", None)
    worst, limit = mine.pop("worst"), mine.pop("limit")
    assert worst == pytest.approx(its.pop("worst"))
    assert limit == pytest.approx(its.pop("limit"))
    assert mine == its
    assert set(details) == set(expected)
    for key, value in details.items():
        same = value if isinstance(value, dict) else pytest.approx(value)
        assert expected[key] == same, key
