"""Worked examples of the papers that defined the requirements, and of tables XI to XV of Wong et al. (2009)."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue import Hierarchy, Table
from reissue.counting import Counts
from reissue.published import read_published
from reissue.requirements import Personalized, parse
from reissue.schema import Schema
from reissue.verify import CheckedGroups, distance, judge, read_groups
from tests.requirements.definitions import disclosure

DISEASES = {
    "respiratory": {
        "infection": ["flu", "pneumonia", "bronchitis"],
        "vascular": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {
        "stomach": ["gastric ulcer", "stomach cancer", "gastritis"],
        "colon": ["colitis", "colon cancer"],
    },
}


def table(groups: list[list[Any]], tree: dict[str, Any] | None = None) -> tuple[Counts, CheckedGroups]:
    """Groups of sensitive values, counted both ways."""
    frame = pl.DataFrame(
        {"g": [g for g, group in enumerate(groups) for _ in group], "s": [value for group in groups for value in group]}
    )
    trees = {"s": Hierarchy(kind="tree", tree=tree)} if tree else {}
    schema = Schema.of_columns(quasi=["g"], sensitive=["s"], taxonomies=trees)
    coded = Table.read(frame, schema)
    counts = Counts(frame["g"].to_numpy().astype(np.int32), coded.sensitive, coded.domain)
    return counts, read_groups(read_published({"release": frame}, schema))


def met(text: str, groups: list[list[Any]], tree: dict[str, Any] | None = None) -> list[bool]:
    """Which groups meet a requirement, by both answers."""
    counts, published = table(groups, tree)
    answer = parse(text).holds(counts).tolist()
    assert judge(parse(text), published).to_list() == answer
    return [bool(one) for one in answer]


def test_li_salaries() -> None:
    _, published = table([[3, 4, 5], [6, 8, 11], [7, 9, 10]])
    assert distance(published, "ordered").to_list()[:2] == pytest.approx([0.375, 1 / 6])
    assert met("t=0.375:ordered", [[3, 4, 5], [6, 8, 11], [7, 9, 10]])[0]
    assert not met("t=0.374:ordered", [[3, 4, 5], [6, 8, 11], [7, 9, 10]])[0]


def test_li_table_5_has_close_salaries() -> None:
    _, published = table([[3, 5, 9], [6, 11, 8], [4, 7, 10]])
    assert max(distance(published, "ordered")) == pytest.approx(1 / 6)


def test_li_ground_distances_in_a_tree() -> None:
    leaves = [leaf for middle in DISEASES.values() for low in middle.values() for leaf in low]
    _, published = table([["flu"] * 10, leaves * 1000], DISEASES)
    # From flu: two leaves at 1/3, two at 2/3, five at 1, each a tenth of the table (but for the ten rows of flu).
    assert distance(published, "hierarchical").to_list()[0] == pytest.approx(0.7, abs=1e-3)


def test_table_xi_recursive_diversity() -> None:
    rest = ["Ulcer", "Alzheimer", "Gallstones"]
    assert met("recursive=3,3", [["Diabetes", "HIV", "Lung"], ["HIV", *rest]]) == [True, True]
    assert met("recursive=3,3", [["Diabetes", "HIV", "HIV"], ["Lung", *rest]]) == [False, True]
    assert met("recursive=3,3", [["Diabetes", "HIV", "HIV", "Lung", *rest]]) == [True]
    assert met("recursive=3,3", [["Diabetes", "HIV", "HIV", "Lung"], rest]) == [True, True]


def test_table_xii_closeness() -> None:
    ill, well = ["HIV"], ["none"]
    assert met("t=0.5", [ill + well, well * 4 + ill * 2]) == [True, True]
    assert met("t=0.5", [ill * 2, well * 6 + ill * 2]) == [False, True]
    assert met("t=0.5", [ill * 2 + well * 4, well * 2 + ill]) == [True, True]


def test_table_xiii_numbers() -> None:
    assert met("k-e=2,5000", [[30000, 20000], [30000, 20000, 40000]]) == [True, True]
    assert met("k-e=2,5000", [[30000, 30000], [20000, 10000, 40000]]) == [False, True]
    assert met("k-e=2,5000", [[30000, 30000, 20000], [10000, 40000]]) == [True, True]
    assert met("k-e=2,0.2", [[0.1, 0.3]]) == [True]


def test_a_range_is_as_wide_as_it_says_however_large_the_numbers() -> None:
    large = 10**13
    assert met("k-e=2,5", [[large, large + 1], [large, large + 5]]) == [False, True]
    assert met("k-e=2,5", [[1, 2], [large, large + 5]]) == [False, True]
    assert met("k-e=1,5", [[1e300, 1e300], [1e300, -1e300]]) == [False, True]
    assert met("k-e=2,0.25", [[large / 8, large / 8 + 0.125], [large / 8, large / 8 + 0.25]]) == [False, True]


def test_table_xiv_counts_one_implication_more_than_martin() -> None:
    """The paper calls a group with HIV once in three rows (0.6,2)-safe, and speaks of nothing but HIV."""
    hiv, other = 1, 0
    assert disclosure([[hiv, other, other]], 1, {hiv}) == [0.5]
    assert disclosure([[hiv, other, other]], 2, {hiv}) == [1]
    assert met("c-k=0.6,1", [["HIV", "other", "other"]]) == [False]


def test_table_xv_guarding_nodes() -> None:
    tree = {"elementary": ["1st-4th", "5th-6th"], "university": ["undergrad", "grad"]}
    text = "personalized=0.5:1st-4th>elementary"
    assert met(text, [["1st-4th"], ["undergrad", "undergrad"]], tree) == [False, True]
    assert met(text, [["1st-4th", "undergrad", "undergrad"]], tree) == [True]
    assert met(text, [["1st-4th", "undergrad"], ["undergrad"]], tree) == [True, True]
    assert met(text, [["5th-6th"]], tree) == [True]
    people = Personalized.of_records(0.5, ["1st-4th", "undergrad", "undergrad"], ["elementary", None, None])
    assert people == parse(text)


@pytest.mark.parametrize("text", ["simple-l=2", "confidence=0.5", "alpha-k=0.5,2", "entropy-l=2", "c-k=1,0", "l=2"])
def test_half_and_half_is_two_diverse(text: str) -> None:
    assert met(text, [["a", "b"], ["a", "b"] * 50, ["a", "a", "b"]])[:2] == [True, True]


def test_thirds_and_tenths_stay_exact() -> None:
    three = [["a"] * 3 + ["b"] * 3 + ["c"] * 3]
    assert met("confidence=0.3333333333333333", three) == [True]
    assert met("entropy-l=3", three) == [True]
    assert met("confidence=0.3", [["a"] * 3 + list("bcdefgh")]) == [True]
    assert met("confidence=0.3", [["a"] * 4 + list("bcdefg")]) == [False]
    assert met("recursive=0.3,2", [["a"] * 3 + list("bcdefghijk")]) == [False]
    assert met("recursive=0.3000001,2", [["a"] * 3 + list("bcdefghijk")]) == [True]
    assert met("t=0.2", [["a", "a", "b", "b", "b"], ["a", "a", "a", "b", "b"] * 1, ["a"] * 4 + ["b"] * 4]) == [True] * 3
