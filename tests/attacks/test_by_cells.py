"""Attacks that decide on counts: an engine that counts equal rows finds what all rows tell; others are not run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Accepts, Knowledge, registered
from reissue.attacks.findings import Status
from reissue.errors import NotMetError, RequirementError
from reissue.publishing.attack import attack
from reissue.synth import Population, schema
from tests.effort import examples

PLAN = ri.Schema.of_columns(quasi=["age", "place"], sensitive=["ill"], provider="hospital", several_rows=False)


def growing(seed: int, releases: int = 3) -> list[pl.DataFrame]:
    """A table that grows, each time recoded otherwise, with who gave each record: the holder's copies."""
    rng = np.random.default_rng(seed)
    rows = 40 * releases
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 8, rows),
            "place": rng.choice(["a", "b"], rows),
            "ill": rng.choice(["x", "y", "z"], rows),
            "hospital": rng.choice(["north", "south", "east"], rows),
        }
    )
    widths = rng.choice([1, 2, 4, 8], releases)
    shown = []
    for number, width in enumerate(widths.tolist(), start=1):
        low = pl.col("age") // width * width
        ages = low.cast(pl.String) if width == 1 else pl.format("[{}, {}]", low, low + width - 1)
        shown.append(table[: 40 * number].with_columns(age=ages))
    return shown


def told(finding: Any) -> Any:
    return json.loads(json.dumps(finding.as_dict(), default=str), parse_float=lambda text: round(float(text), 9))


@examples(40)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([(), ("north",)]))
def test_counts_tell_what_rows_tell(seed: int, exact: bool, coalition: tuple[str, ...]) -> None:
    tables = growing(seed)
    known = Knowledge(requirement="k=3 & l=2", coalition=coalition)
    asked: dict[str, Any] = {"only": ["correspondence", "coalition"], "exact": exact, "knowledge": known}
    one = attack(tables, PLAN, **asked)
    other = attack([table.lazy() for table in tables], PLAN, engine="stream", **asked)
    for name in asked["only"]:
        assert told(other[name]) == told(one[name])
    assert other.releases == one.releases


@examples(40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["simple-l=2", "k=2 & simple-l=3", "l=2", "confidence=0.6"]),
    st.sampled_from(["topdown", "mondrian", "pool"]),
    st.sampled_from(["all", "more", "without values"]),
)
def test_minimality_by_counts(seed: int, require: str, method: str, who: str) -> None:
    """Someone who knows everyone's quasi-identifiers, which are counted too."""
    rng = np.random.default_rng(seed)
    rows = 50
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 6, rows),
            "place": rng.choice(["a", "b"], rows),
            "ill": rng.choice(["x", "y", "z", "w"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    plan = ri.Schema.of_columns(quasi=["age", "place"], sensitive=["ill"])
    try:
        shown = ri.anonymize(table, plan, require, method=method, seed=1).frame
    except (RequirementError, NotMetError):
        return
    people = table.drop("ill") if who == "without values" else table
    people = pl.concat([people, people[:7]]) if who == "more" else people
    one, other = (
        attack(
            given, plan, only="minimality", engine=engine, knowledge=Knowledge(requirement=require, population=known)
        )["minimality"]
        for engine, given, known in (("memory", [shown], people), ("stream", [shown.lazy()], people.lazy()))
    )
    assert told(one) == told(other)


def test_a_table_of_people_is_counted_where_it_lies(tmp_path: Path) -> None:
    table = next(Population(seed=6, people=600).months(1))
    made = ri.anonymize(table, schema(), "k=2 & simple-l=3", method="topdown", seed=1)
    table.write_parquet(tmp_path / "people.parquet")
    made.frame.write_parquet(tmp_path / "release.parquet")
    known = Knowledge(requirement="k=2 & simple-l=3", population=tmp_path / "people.parquet")
    found = attack([tmp_path / "release.parquet"], schema(), only="minimality", engine="stream", knowledge=known)
    right = attack([made.frame], schema(), only="minimality", knowledge=replace(known, population=table))
    assert told(found["minimality"]) == told(right["minimality"])
    assert found["minimality"].status != Status.NOT_RUN
    lacking = Knowledge(requirement="k=2", population=table.drop("age").lazy())
    with pytest.raises(ri.InputError, match="table of people lacks"):
        attack([made.frame.lazy()], schema(), only="minimality", engine="stream", knowledge=lacking)


def test_a_release_larger_than_memory_from_parquet(tmp_path: Path) -> None:
    months = list(Population(seed=6, people=400).months(2))
    plan = ri.Schema.of_columns(
        quasi=["age", "zip"], sensitive=["disease"], taxonomies={n: schema().hierarchies[n] for n in ("age", "zip")}
    )
    new = months[1].join(months[0], on="patient", how="anti")
    grown = [months[0], pl.concat([months[0], new])]
    for number, table in enumerate(grown):
        ri.anonymize_folder(table.lazy(), plan, "k=4", tmp_path / str(number), method="topdown", seed=1)
    paths = [tmp_path / "0", tmp_path / "1"]
    whole = [pl.concat(pl.read_parquet(one) for one in path.iterdir()) for path in paths]
    found = attack(paths, plan, only="correspondence", engine="stream")["correspondence"]
    assert told(found) == told(attack(whole, plan, only="correspondence")["correspondence"])
    assert found.status != Status.NOT_RUN


def test_others_are_not_run_and_say_why() -> None:
    tables = [table.lazy() for table in growing(1)]
    found = attack(tables, PLAN, only=list(registered()), engine="stream", knowledge=Knowledge(requirement="k=3"))
    for name, one in registered().items():
        if Accepts.COUNTED_ROWS not in one.accepts:
            assert found[name].status == Status.NOT_RUN
            assert "use engine memory" in str(found[name].reason), name
    with pytest.raises(ri.InputError, match="need one"):
        attack(tables, engine="stream")
