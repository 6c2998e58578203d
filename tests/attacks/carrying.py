"""An attack carried on from release to release, beside the same attack on all of them at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.attacks import CannotRunError, Knowledge, Series, find, run_attack
from reissue.attacks.findings import Finding, Status
from reissue.attacks.run import cannot_run
from reissue.release.states import pack_state, unpack_state
from reissue.schema import Schema
from tests.attacks import equivalence_twin

__all__ = ["assert_at_hand", "assert_carries", "assert_same", "random_groups"]


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


def assert_carries(attack: str, releases: Sequence[Any], schema: Schema, limits: Mapping[str, float]) -> list[Finding]:
    """After every release the attack finds what its whole twin finds, at hand and in a ledger; states can be packed."""
    fold = find(attack).kept
    assert fold is not None
    changing = schema.updates.get("none", not schema.updates) is not True
    state, found = None, []
    for number in range(1, len(releases) + 1):
        series = Series.read(releases[:number], schema, limits=limits)
        at_hand = assert_at_hand(series) if attack == "equivalence" else run_attack(find(attack), series, Knowledge())
        newest = Series.read(releases[number - 1 : number], schema, limits=limits)
        newest = Series(newest.releases, schema, limits=dict(limits), numbers=(number,))
        try:
            (seen,) = fold.see(newest, Knowledge())
            assert fold.state is not None
            state = unpack_state(fold.state, pack_state(fold.add(state, seen)))
            own = fold.judge(state, newest)
            if own.status == Status.EXPOSED:
                own = fold.explain(state, own, series, Knowledge())
                assert own.details.get("case") == at_hand.details.get("case")
        except CannotRunError as obstacle:
            own = cannot_run(attack, tuple(range(1, number + 1)), obstacle)
        assert_same(own, at_hand, changing=changing)
        found.append(own)
    return found


def assert_at_hand(series: Series) -> Finding:
    """The equivalence attack finds what its whole twin finds in the releases at hand.

    How many parts can be solved for good depends on the order of people, which the twin has otherwise.
    """
    found = run_attack(find("equivalence"), series, Knowledge())
    try:
        twin = equivalence_twin.whole(series, Knowledge())
    except CannotRunError as obstacle:
        twin = cannot_run("equivalence", series.numbers, obstacle)
    assert_same(_whatever_is_certain(found), _whatever_is_certain(twin))
    return found


def _whatever_is_certain(found: Finding) -> Finding:
    if found.status != Status.WITHSTOOD:
        return replace(found, details={**found.details, "exact": None, "linear": None})
    return replace(found, sentence="", details={**found.details, "exact": None, "linear": None})


def assert_same(own: Finding, whole: Finding, *, changing: bool = False) -> None:
    """The same finding, but for what only the whole attack tells.

    That is a case, how often guesses are right, and where values change what is known in each release.
    """
    mine, its = own.as_dict(), whole.as_dict()
    details, expected = dict(mine.pop("details")), dict(its.pop("details"))
    for told in (details, expected):
        told.pop("case", None)
        told.pop("right", None)
    if changing and whole.attack == "updates":
        for name in ("certain", "risks", "certains"):
            expected.pop(name, None)
    for told in (mine, its):
        told["sentence"] = told["sentence"].partition(" Guessing")[0]
        told.pop("right", None)
    its["sentence"] = its["sentence"].partition(" Guessing")[0]
    worst, limit = mine.pop("worst"), mine.pop("limit")
    assert worst == pytest.approx(its.pop("worst"))
    assert limit == pytest.approx(its.pop("limit"))
    assert mine == its
    assert set(details) == set(expected)
    for key, value in details.items():
        same = value if isinstance(value, dict) else pytest.approx(value)
        assert expected[key] == same, key
