"""The update attack's worst case: one person's update graph."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.publishing.attack import attack
from reissue.schema import Schema
from tests.attacks.cases import sound
from tests.effort import examples
from tests.papers.test_updates import NAMES, SCHEMA, TABLE_3, TABLE_4, TABLE_5, TREE, published

DISEASES = [disease for branch in TREE.values() for disease in branch]
BRANCH = {disease: branch for branch, some in TREE.items() for disease in some}


def test_ben_of_tables_3_and_4() -> None:
    """Of those whose value becomes certain the first: flu, since nothing else of his first group became pneumonia."""
    finding = attack([TABLE_3, TABLE_4], SCHEMA, only="updates")["updates"]
    case = sound(finding, secrets=["Julia", "Harry", "Lily"])
    box = {"zip": "box 3", "hours": "box 3"}
    assert case["picture"] == {
        "kind": "paths",
        "columns": [
            {
                "label": "release 1",
                "published": box,
                "nodes": [
                    {"value": "Flu", "share": 0.5, "posterior": 1.0},
                    {"value": "Glaucoma", "share": 0.5, "posterior": 0.0},
                ],
            },
            {
                "label": "release 2",
                "published": box,
                "nodes": [
                    {"value": "Dyspepsia", "share": 0.5, "posterior": 0.0},
                    {"value": "Pneumonia", "share": 0.5, "posterior": 1.0},
                ],
            },
        ],
        "edges": [{"column": 0, "from": 0, "to": 1, "possible": True}],
        "limit": 0.5,
    }
    assert case["steps"] == [
        (
            "The adversary knows that the person is in releases 1 and 2, and knows the person's quasi-identifiers: "
            "that tells the person's group in each of them."
        ),
        "By itself, release 1 links this person to Flu with a probability of 50%: it shows 2 values there.",
        (
            "A value can only become what the update model says, so each value needs a way through all of these "
            "groups: of the 2 in release 1, 1 is ruled out and 1 left."
        ),
        "So it is certain that this person had Flu in release 1; the limit is 50%.",
    ]


def test_where_nothing_is_certain_the_likeliest_is_shown() -> None:
    """Table V is 2-Distinct with table III: 3/5 at worst."""
    finding = attack([TABLE_3, TABLE_5], SCHEMA, only="updates")["updates"]
    picture = sound(finding, secrets=["Julia", "Harry"])["picture"]
    posteriors = [node["posterior"] for column in picture["columns"] for node in column["nodes"]]
    assert max(posteriors) == pytest.approx(finding.worst)
    assert all(edge["possible"] for edge in picture["edges"])


def test_one_release_tells_its_own_worst() -> None:
    finding = attack([TABLE_3], SCHEMA, only="updates")["updates"]
    case = sound(finding)
    assert finding.status == Status.WITHSTOOD
    assert (len(case["picture"]["columns"]), case["picture"]["edges"]) == (1, [])
    assert "in release 1 only" in case["steps"][0]


def tables(seed: int) -> list[pl.DataFrame]:
    """Six people in random groups of three releases; some stay away."""
    rng = np.random.default_rng(seed)
    made = []
    for release in range(3):
        here = [name for name in NAMES if not release or rng.random() < 0.8]
        rows: list[tuple[str | None, int, str]] = [
            (name, int(rng.integers(2)), DISEASES[rng.integers(len(DISEASES))]) for name in here or NAMES[:1]
        ]
        made.append(published(rows))
    return made


def paths_of(columns: list[list[str]], updates: bool) -> list[tuple[str, ...]]:
    """All ways through the values: within branches, in however many steps, or without any change."""

    def can(before: str, after: str) -> bool:
        return BRANCH[before] == BRANCH[after] if updates else before == after

    every = itertools.product(*columns)
    return [path for path in every if all(can(a, b) for a, b in itertools.pairwise(path))]


@given(st.integers(0, 10**6), st.booleans())
@examples(80)
def test_the_picture_against_all_paths(seed: int, updates: bool) -> None:
    schema = SCHEMA if updates else Schema(SCHEMA.columns, SCHEMA.hierarchies)
    finding = attack(tables(seed), schema, only="updates")["updates"]
    if finding.status == Status.NOT_RUN:
        return
    picture, risk = sound(finding)["picture"], finding.details["risk"]
    values = [[node["value"] for node in column["nodes"]] for column in picture["columns"]]
    paths = paths_of(values, updates)
    assert paths
    for at, column in enumerate(picture["columns"]):
        left = {path[at] for path in paths}
        assert {node["value"] for node in column["nodes"] if node["posterior"] > 0} == left
        assert sum(node["posterior"] for node in column["nodes"]) == pytest.approx(1)
        assert sum(node["share"] for node in column["nodes"]) == pytest.approx(1)
        mine = [edge for edge in picture["edges"] if edge["column"] == at]
        through = {(values[at][e["from"]], values[at + 1][e["to"]]) for e in mine if e["possible"]}
        assert through == ({path[at : at + 2] for path in paths} if at + 1 < len(values) else set())
        assert all(paths_of([[values[at][e["from"]]], [values[at + 1][e["to"]]]], updates) for e in mine)
    assert max(node["posterior"] for column in picture["columns"] for node in column["nodes"]) <= risk + 1e-8


def test_long_and_wide_histories_stay_small() -> None:
    """Somebody in 20 releases, in groups of 30 values that can all become each other."""
    names = [f"value {place:02}" for place in range(30)]
    rows: list[tuple[str | None, int, str]] = [(f"person {place:02}", 1, name) for place, name in enumerate(names)]
    schema = Schema(SCHEMA.columns, updates={"order": names})
    several = [published(rows)] * 20
    case = sound(attack(several, schema, only="updates")["updates"], secrets=["person 1"])
    assert len(case["picture"]["columns"]) == 12
    assert {node["value"] for node in case["picture"]["columns"][0]["nodes"]} > {"others"}
    assert "shows the 12 of the 20 releases" in case["steps"][-1]


# --- a living population ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[pl.DataFrame], list[Any], Schema]:
    folder = tmp_path_factory.mktemp("updates")
    synth.updates().write_csv(folder / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv", "close": True}, folder=folder)
    frames = list(synth.Population(seed=3, people=600).months(4))
    frames = [frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String)) for frame in frames]
    return frames, [anonymize(frame, schema, "k=5", seed=1, effort="fast") for frame in frames], schema


def test_own_releases_and_files_show_published_values_only(
    months: tuple[list[pl.DataFrame], list[Any], Schema], tmp_path: Path
) -> None:
    frames, releases, schema = months
    paths = []
    for number, release in enumerate(releases):
        paths += release.write(str(tmp_path / f"{number}.csv"))
    limits = {"updates": 0.9}
    people = Knowledge(members=[frame.drop("disease") for frame in frames])
    own = attack(releases, schema, only="updates", limits=limits)["updates"]
    outside = attack(paths, schema, only="updates", limits=limits, knowledge=people)["updates"]
    texts = {
        t for release in releases for name in schema.quasi for t in release.tables["release"][name].cast(pl.String)
    }
    zips = {text for frame in frames for text in frame["zip"].cast(pl.String)} - texts
    assert zips
    for finding in (own, outside):
        case = sound(finding, secrets=["patient-", *zips], published=texts)
        assert all(column["published"] for column in case["picture"]["columns"])
        assert len(case["picture"]["columns"]) > 1
        values = {node["value"] for column in case["picture"]["columns"] for node in column["nodes"]}
        assert values <= set(frames[0]["disease"]) | set(frames[1]["disease"]) | set(frames[3]["disease"])
    assert attack(releases, schema, only="updates", limits=limits)["updates"] == own


def test_bucketized_releases_show_no_quasi_identifiers() -> None:
    frames = list(synth.Population(seed=3, people=300).months(2))
    schema = synth.schema()
    releases = [anonymize(frame, schema, "l=2", method="anatomy", seed=1) for frame in frames]
    updating = replace(schema, updates={"taxonomy": 2})
    case = sound(attack(releases, updating, only="updates")["updates"])
    assert not any(column["published"] for column in case["picture"]["columns"])
