"""Attacks that follow people: an engine that counts equal rows and says whose they are finds what all rows tell."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.publishing.attack import attack
from reissue.synth import Population, schema
from tests.effort import examples

PLAN = ri.Schema.of_columns(quasi=["age", "place"], sensitive=["ill"], identifier="who")
FOLLOWING = ["joint", "updates", "trajectory"]


def copies(seed: int, releases: int = 3, people: int = 60, *, texts: bool = False) -> list[pl.DataFrame]:
    """The holder's copies: people come, go and change; some rows are nobody's."""
    rng = np.random.default_rng(seed)
    home, age, ill = rng.choice(["a", "b"], people), rng.integers(0, 8, people), rng.choice(["x", "y", "z"], people)
    shown = []
    for _ in range(releases):
        width = int(rng.choice([2, 4, 8]))
        there = np.flatnonzero(rng.random(people) < 0.8)
        low = age[there] // width * width
        changed = rng.random(people) < 0.2
        ill = np.where(changed, rng.choice(["x", "y", "z"], people), ill)
        who = [None if rng.random() < 0.05 else int(one) + 100 for one in there]
        frame = pl.DataFrame(
            {
                "who": pl.Series(who, dtype=pl.Int64),
                "age": [f"[{one}, {one + width - 1}]" for one in low],
                "place": pl.Series(home[there]).set(pl.Series(rng.random(len(there)) < 0.05), None),
                "ill": ill[there],
            }
        )
        shown.append(frame.with_columns(pl.col("who").cast(pl.String) + "-n") if texts else frame)
    return shown


def told(finding: Any) -> Any:
    return json.loads(json.dumps(finding.as_dict(), default=str), parse_float=lambda text: round(float(text), 9))


@examples(30)
@given(st.integers(0, 10**6), st.booleans())
def test_who_has_which_row_tells_what_rows_tell(seed: int, texts: bool) -> None:
    tables = copies(seed, texts=texts)
    one = attack(tables, PLAN, only=FOLLOWING)
    other = attack([table.lazy() for table in tables], PLAN, only=FOLLOWING, engine="stream")
    for name in FOLLOWING:
        assert told(other[name]) == told(one[name])
        assert one[name].status != Status.NOT_RUN


def published(folder: Path) -> tuple[list[Path], list[pl.DataFrame]]:
    """A series published month by month with everyone's pseudonym, a private copy: in several files each, and whole."""
    plan = schema()
    paths, whole = [], []
    for number, month in enumerate(Population(seed=4, people=500).months(3)):
        release = ri.anonymize(month, plan, "k=4 & l=2", method="mondrian", seed=1)
        whole.append(release.frame.with_columns(month[str(plan.identifier)]))
        paths.append(folder / str(number))
        paths[-1].mkdir()
        for part, rows in enumerate(whole[-1].iter_slices(200)):
            rows.write_parquet(paths[-1] / f"{part}.parquet")
    return paths, whole


def test_folders_of_parquet_with_pseudonyms(tmp_path: Path) -> None:
    paths, whole = published(tmp_path)
    one, other = attack(whole, schema(), only=FOLLOWING), attack(paths, schema(), only=FOLLOWING, engine="stream")
    for name in FOLLOWING:
        assert told(other[name]) == told(one[name])
    assert other["joint"].people > 0


def test_the_same_people_in_other_forms() -> None:
    """A table with gaps that came through another tool: whole numbers became floating-point ones."""
    tables = copies(5)
    others = [tables[0], *(table.with_columns(pl.col("who").cast(pl.Float64)) for table in tables[1:])]
    one = attack(tables, PLAN, only=FOLLOWING)
    for given_tables, engine in ((others, "memory"), ([table.lazy() for table in others], "stream")):
        other = attack(given_tables, PLAN, only=FOLLOWING, engine=engine)
        for name in FOLLOWING:
            assert told(other[name]) == told(one[name])


@pytest.mark.parametrize("name", FOLLOWING)
def test_without_identifiers_nobody_is_followed(name: str) -> None:
    tables = [table.drop("who").lazy() for table in copies(1)]
    found = attack(tables, PLAN, only=name, engine="stream")[name]
    assert found.status == Status.NOT_RUN
    assert "every row" in str(found.reason)


def test_a_register_says_who_may_be_in_counted_rows() -> None:
    tables = copies(3)
    members = [table.select("who", "age", "place").drop_nulls() for table in tables]
    exact = [one.with_columns(pl.col("age").str.extract(r"(\d+)").cast(pl.Int64)) for one in members]
    shown = [table.drop("who") for table in tables]
    known = Knowledge(members=exact)
    one = attack(shown, PLAN, only=["joint", "updates"], knowledge=known)
    other = attack([t.lazy() for t in shown], PLAN, only=["joint", "updates"], knowledge=known, engine="stream")
    for name in ("joint", "updates"):
        assert told(other[name]) == told(one[name])
        assert one[name].status != Status.NOT_RUN
