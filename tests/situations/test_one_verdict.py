"""One verdict by whatever way: a ledger's gate, and an attack on the releases that it let pass."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.findings import Findings, Status
from reissue.errors import Why
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.publishing.turn import ledger_at

PLAN = """
[columns]
who = "identifier"
age = "quasi"
ill = "sensitive"

[policy]
require = "k=12 & l=4"
method = "pool"
limit = 0.99
attacks = ["joint", "equivalence"]
not_run = ["equivalence"]
"""


def waves(seed: int, change: float, number: int = 4) -> list[pl.DataFrame]:
    """People of whom some are away; in each wave the values of a share of them are drawn anew."""
    rng, people = np.random.default_rng(seed), 120
    age, value, made = rng.integers(20, 60, people), rng.integers(0, 5, people), []
    for _ in range(number):
        table = pl.DataFrame({"who": range(people), "age": age, "ill": ["abcde"[one] for one in value]})
        made.append(table.filter(pl.Series(rng.random(people) < 0.9)))
        value = np.where(rng.random(people) < change, rng.integers(0, 5, people), value)
    return made


def published(tables: list[pl.DataFrame], plan: str, folder: Path) -> tuple[list[ri.Release], Findings]:
    """The releases, all of which went out, and what the gate found of the last one."""
    schema, made = ri.Schema.loads(plan), []
    for table in tables:
        with ledger_at(folder, schema, key=None, dry_run=False) as book:
            made.append(publish_next(table, book, schema=schema))
    return [one.release for one in made], made[-1].findings


@pytest.mark.parametrize("seed", range(5))
def test_values_that_change_are_not_judged_as_fixed(seed: int, tmp_path: Path) -> None:
    """The gate lets four waves pass, and an attack on the four releases says the same."""
    releases, gate = published(waves(seed, change=0.3), PLAN, tmp_path / "x.ledger")
    found = ri.attack(releases, ri.Schema.loads(PLAN), only=["joint", "equivalence", "updates"])
    own = found["equivalence"]
    assert (own.status, own.why) == (Status.NOT_RUN, Why.DOES_NOT_APPLY)
    assert "values change here" in str(own.reason)
    assert gate["equivalence"].reason == own.reason
    assert gate["joint"].status == found["joint"].status == Status.WITHSTOOD
    assert gate.verdict == found.verdict == "withstood"


@pytest.mark.parametrize("seed", range(4))
def test_values_that_stay_are_judged_alike(seed: int, tmp_path: Path) -> None:
    """Where nothing contradicts, the attack runs, and the gate finds what an attack on the same releases finds."""
    plan = PLAN.replace("k=12 & l=4", "k=2 & l=2")
    schema, made = ri.Schema.loads(plan), list[ri.Release]()
    with ledger_at(tmp_path / "x.ledger", schema, key=None, dry_run=False) as book:
        for table in waves(seed, change=0):
            try:
                gate = publish_next(table, book, schema=schema, when_made=made.append).findings
            except RefusedError as refused:
                gate = refused.report.findings
                break
    found = ri.attack(made, schema, only="equivalence")["equivalence"]
    own = gate["equivalence"]
    assert (own.status, own.people, own.worst, own.limit) == (found.status, found.people, found.worst, found.limit)
    told = [{key: one.details[key] for key in one.details if key != "case"} for one in (own, found)]
    assert told[0] == told[1]
    assert (own.sentence, own.reason) == (found.sentence, found.reason)


def test_a_paper_s_measure_decides_by_neither_way_unless_it_is_asked_for(tmp_path: Path) -> None:
    plan = PLAN.replace('"joint", "equivalence"', '"joint"').replace('not_run = ["equivalence"]', "")
    releases, _ = published(waves(3, change=0.3), plan, tmp_path / "x.ledger")
    assert not ri.attack(releases, ri.Schema.loads(plan), only=["joint", "updates"])["updates"].decides
    asked = plan.replace('attacks = ["joint"]', 'attacks = ["joint", "updates"]')
    assert ri.attack(releases, ri.Schema.loads(asked), only=["joint", "updates"])["updates"].decides
