"""Tables I to VI and the examples of Li and Zhou, "Challenging more updates" (2008)."""

import numpy as np
import polars as pl
import pytest

from reissue import Hierarchy
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.papers.series_check import check_series
from reissue.papers.tracking.forward_backward import ValueDistributions, blocks
from reissue.papers.tracking.membership import link_people
from reissue.papers.updates.attack import risks
from reissue.published.series import Series
from reissue.publishing.attack import attack
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates

TREE = {
    "Respiratory": ["Flu", "Pneumonia", "Lung Cancer"],
    "Digestive": ["Dyspepsia", "Gastritis"],
    "Eye": ["Glaucoma", "Cataract"],
}
SCHEMA = Schema(
    {"name": "identifier", "zip": "quasi", "hours": "quasi", "disease": "sensitive"},  # type: ignore[dict-item]
    {"disease": Hierarchy("tree", tree=TREE)},
    updates={"taxonomy": True},
)
NAMES = ["Ken", "Julia", "Tom", "Harry", "Lily", "Ben"]


def published(rows: list[tuple[str | None, int, str]]) -> pl.DataFrame:
    names, groups, diseases = zip(*rows, strict=True)
    boxes = [f"box {group}" for group in groups]
    return pl.DataFrame({"name": names, "zip": boxes, "hours": boxes, "disease": diseases})


TABLE_3 = published(
    [
        ("Ken", 1, "Dyspepsia"),
        ("Julia", 1, "Pneumonia"),
        ("Tom", 2, "Pneumonia"),
        ("Harry", 2, "Gastritis"),
        ("Lily", 3, "Glaucoma"),
        ("Ben", 3, "Flu"),
    ]
)
TABLE_4 = published(
    [
        ("Ken", 1, "Dyspepsia"),
        ("Lily", 1, "Glaucoma"),
        ("Julia", 2, "Lung Cancer"),
        ("Tom", 2, "Pneumonia"),
        ("Harry", 3, "Dyspepsia"),
        ("Ben", 3, "Pneumonia"),
    ]
)
TABLE_5 = published(
    [
        ("Ken", 1, "Dyspepsia"),
        ("Tom", 1, "Pneumonia"),
        ("Julia", 2, "Lung Cancer"),
        ("Harry", 2, "Dyspepsia"),
        ("Lily", 3, "Glaucoma"),
        (None, 3, "Pneumonia"),
        ("Ben", 4, "Pneumonia"),
        (None, 4, "Cataract"),
    ]
)


def posterior(tables: list[pl.DataFrame], name: str) -> list[dict[str | None, float]]:
    """What is known of one person's disease, release by release."""
    linked = link_people(Series.read(tables, SCHEMA), Knowledge())
    (person,) = [place for place, one in enumerate(sorted(NAMES)) if one == name]
    (block,) = blocks(linked.table[[person]], linked.places, read_updates(SCHEMA, linked.names))
    return [
        {linked.names[v]: float(p) for v, p in zip(values, chances, strict=True) if p > 0}
        for values, chances in zip(block.value[0].tolist(), block.posterior[0].tolist(), strict=True)
    ]


def test_example_2_julia() -> None:
    """After table III one half; after table IV her old disease is certain, and her new one is one of two."""
    assert posterior([TABLE_3], "Julia") == [{"Dyspepsia": 0.5, "Pneumonia": 0.5}]
    first, second = posterior([TABLE_3, TABLE_4], "Julia")
    assert first == {"Pneumonia": 1.0}
    assert second == pytest.approx({"Lung Cancer": 0.5, "Pneumonia": 0.5})


def test_ben_ken_and_lily_are_certain_in_both_releases() -> None:
    tables = [TABLE_3, TABLE_4]
    assert posterior(tables, "Ben") == [{"Flu": 1.0}, {"Pneumonia": 1.0}]
    assert posterior(tables, "Ken") == [{"Dyspepsia": 1.0}, {"Dyspepsia": 1.0}]
    assert posterior(tables, "Lily") == [{"Glaucoma": 1.0}, {"Glaucoma": 1.0}]


def test_l_diverse_tables_give_five_of_six_away() -> None:
    finding = attack([TABLE_3, TABLE_4], SCHEMA, only="updates")["updates"]
    assert (finding.status, finding.limit, finding.worst) == (Status.EXPOSED, 0.5, 1.0)
    assert finding.details["certains"] == [5, 3]  # all but Harry at first; Ken, Lily and Ben still
    assert check_series([TABLE_3, TABLE_4], SCHEMA).distinct == 0


def test_table_5_is_2_distinct_with_table_3() -> None:
    outcome = check_series([TABLE_3, TABLE_5], SCHEMA)
    assert (outcome.distinct, outcome.star, outcome.certain) == (2, 2, 0)
    finding = attack([TABLE_3, TABLE_5], SCHEMA, only="updates")["updates"]
    assert finding.details["certains"] == [0, 0]
    # Lemma 4 would say 1/2: but a respiratory disease has three updates, the others two.
    assert finding.details["risk"] == pytest.approx(3 / 5)


def test_example_4() -> None:
    """Five paths of weights 1/18, 1/36, 1/72, 1/72, 1/18: the posteriors are 1/3, 1/6 and 1/12."""
    names = ("a1", "a2", "a3", "b1", "b3", "b4", "b5", "c1", "c2", "c3", "c4", "c5")
    at = {name: place for place, name in enumerate(names)}
    chance = np.zeros((12, 12))
    for before, after, weight in (
        ("a1", "b1", 1), ("a2", "b3", 1 / 2), ("a2", "b4", 1 / 2), ("a3", "b5", 1), ("b1", "c1", 1),
        ("b3", "c2", 1), ("b4", "c3", 1 / 2), ("b4", "c4", 1 / 2), ("b5", "c5", 1),
    ):  # fmt: skip
        chance[at[before], at[after]] = weight
    last = np.arange(7, 12)
    chance[last, last] = 1
    place = np.repeat([0, 1, 2], [3, 4, 5])
    shown = ValueDistributions.of(place, np.arange(12), np.ones(12), 3)
    (block,) = blocks(np.array([[0, 1, 2]]), shown, UpdateModel(names, chance))
    found = [
        dict(zip(v, p, strict=True)) for v, p in zip(block.value[0].tolist(), block.posterior[0].tolist(), strict=True)
    ]
    assert found[0][at["a2"]] == pytest.approx(1 / 3)
    assert found[1][at["b4"]] == pytest.approx(1 / 6)
    assert found[2][at["c3"]] == found[2][at["c4"]] == pytest.approx(1 / 12)


def test_lemma_1_and_lemma_2() -> None:
    """If anything can become anything, releases say nothing about each other; certain means that one value is left."""
    free = Schema(SCHEMA.columns, SCHEMA.hierarchies, updates={"taxonomy": 2})
    linked = link_people(Series.read([TABLE_3, TABLE_4], free), Knowledge())
    found = risks(linked, read_updates(free, linked.names))
    assert found.largest == pytest.approx(0.5)
    linked = link_people(Series.read([TABLE_3, TABLE_4], SCHEMA), Knowledge())
    found = risks(linked, read_updates(SCHEMA, linked.names))
    assert ((found.left == 1) == (found.largest == 1)).all()
