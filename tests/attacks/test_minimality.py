"""The minimality attack against plain enumeration of every world, on small tables."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy, Table, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.counting import Counts
from reissue.papers.minimality.attack import Linkage, credibility, limit_of, link, link_release
from reissue.papers.minimality.rules import judged
from reissue.published import read_published
from reissue.published.boxes import BoxBounds
from reissue.published.joins import _matches, containment
from reissue.publishing.attack import attack
from reissue.requirements import parse
from reissue.schema import Schema
from tests.effort import examples

TREE = {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"]}
LEAVES = ["a1", "a2", "a3", "b1", "b2"]
VALUES = ["x", "y", "z"]
SCHEMA = Schema.of_columns(
    quasi=["q"],
    sensitive=["s"],
    taxonomies={"q": Hierarchy("tree", tree=TREE), "s": Hierarchy("tree", tree={"x": {}, "y": {}, "z": {}})},
)
REQUIREMENTS = [
    "simple-l=2:x",
    "simple-l=3:{x, y}",
    "simple-l=2",
    "confidence=0.4:x, z",
    "alpha-k=0.5,2:x",
    "k=2 & simple-l=2:x",
    "recursive=2,2",
    "t=0.3",
    "entropy-l=1.5",
    "l=2",
    "c-k=0.8,1",
]


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    size = draw(st.integers(3, 8))
    q = draw(st.lists(st.sampled_from(LEAVES), min_size=size, max_size=size))
    s = draw(st.lists(st.sampled_from(VALUES), min_size=size, max_size=size))
    return pl.DataFrame({"q": q, "s": [*VALUES, *s][-size:]})


def enumerated(table: pl.DataFrame, recoded: list[str], requirement: str) -> dict[tuple[str, str], float]:
    """Straight from the definition: (class, value) to credibility, for a release that recodes whole values."""
    rule = parse(requirement)
    coded = Table.read(table, SCHEMA)
    assert coded.domain.taxonomy is not None
    names = [name for name in coded.domain.taxonomy.names if name]
    answer: dict[tuple[str, str], float] = {}
    for group in set(recoded):
        inside = [row for row, text in enumerate(recoded) if text == group]
        classes = [table["q"][row] for row in inside]
        kept = list(_worlds([table["s"][row] for row in inside]))
        if group not in LEAVES and rule.sensitive:
            broken = [world for world in kept if not _fine(world, classes, rule, coded, names)]
            kept = broken or kept
        for name, value in itertools.product(set(classes), VALUES):
            people = [place for place, own in enumerate(classes) if own == name]
            hits = sum(world[place] == value for world in kept for place in people)
            answer[name, value] = hits / (len(kept) * len(people))
    return answer


def _worlds(values: list[str]) -> Iterator[tuple[str, ...]]:
    return iter(set(itertools.permutations(values)))


def _fine(world: tuple[str, ...], classes: list[str], rule: Any, coded: Table, names: list[str]) -> bool:
    """Whether every class meets the requirement in this world."""
    of_class = {name: number for number, name in enumerate(sorted(set(classes)))}
    groups = np.array([of_class[name] for name in classes])
    codes = np.array([names.index(value) for value in world])
    return bool(rule.holds(Counts(groups, codes, coded.domain, len(of_class))).all())


@given(tables(), st.sampled_from(["A", "B", "AB"]), st.sampled_from(REQUIREMENTS))
@examples(150)
def test_credibility_equals_the_enumeration_of_worlds(table: pl.DataFrame, general: str, requirement: str) -> None:
    recoded = [text[0].upper() if text[0].upper() in general else text for text in table["q"]]
    published = table.with_columns(q=pl.Series(recoded)).sample(fraction=1, shuffle=True, seed=3)
    linkage = link(read_published({"release": published}, SCHEMA), table.drop("s"))
    present = sorted(set(table["s"]))
    found = credibility(linkage, parse(requirement), present)
    expected = enumerated(table, recoded, requirement)
    for row, name in enumerate(table["q"]):
        for place, value in enumerate(present):
            mine = found.believed[linkage.of_row[row], place]
            assert mine == pytest.approx(expected[name, value], abs=1e-9), (name, value)
    assert not found.unsolved
    assert not found.unknown


@given(tables(), st.lists(st.sampled_from(TREE["A"]), max_size=3), st.sampled_from(REQUIREMENTS))
@example(pl.DataFrame({"q": ["a2", "a2", "a3", "a3", "a3"], "s": list("xyyyy")}), ["a1"], "k=2 & simple-l=3:x")
@examples(100)
def test_people_of_the_external_table_may_be_absent(table: pl.DataFrame, others: list[str], requirement: str) -> None:
    """Against all ways to place the values among more people than there are rows, where all are of one group."""
    rule, inside = parse(requirement), table.filter(pl.col("q").str.starts_with("a"))
    assume(inside.height and rule.sensitive and inside.height + len(others) <= 7)
    general = pl.when(pl.col("q").str.starts_with("a")).then(pl.lit("A")).otherwise("q")
    published = table.with_columns(q=general)
    people = pl.concat([table["q"], pl.Series("q", others, pl.String)]).to_frame()
    linkage = link(read_published({"release": published}, SCHEMA), people)
    present = sorted(set(table["s"]))
    found = credibility(linkage, rule, present)
    coded = Table.read(table, SCHEMA)
    assert coded.domain.taxonomy is not None
    names = [name for name in coded.domain.taxonomy.names if name]
    classes = [*inside["q"], *others]
    worlds = list(_worlds([*inside["s"], *[""] * len(others)]))
    broken = [world for world in worlds if not _fine(*_there(world, classes), rule, coded, names)] or worlds
    for name in classes:
        own = [value for world in broken for value, its in zip(world, classes, strict=True) if its == name and value]
        for place, value in enumerate(present):
            mine = found.believed[linkage.of_row[_row(people, name)], place]
            assert not own or mine == pytest.approx(own.count(value) / len(own), abs=1e-9), (name, value)


def _there(world: tuple[str, ...], classes: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Those who are in the data, and their classes."""
    kept = [place for place, value in enumerate(world) if value]
    return tuple(world[place] for place in kept), [classes[place] for place in kept]


def _row(people: pl.DataFrame, name: str) -> int:
    return people["q"].to_list().index(name)


@given(tables())
@examples(40)
def test_the_holder_sees_what_an_adversary_with_the_whole_external_table_finds(table: pl.DataFrame) -> None:
    try:
        release = ri.anonymize(table, SCHEMA, "simple-l=2:x", method="mondrian", seed=0)
    except ri.errors.InputError:
        return
    rule = parse("simple-l=2:x")
    own, other = link_release(release), link(read_published(release.tables, SCHEMA), table)
    a, b = credibility(own, rule), credibility(other, rule)
    assert a.worst[own.of_row] == pytest.approx(b.worst[other.of_row])


def test_a_class_in_two_generalized_groups_is_judged_over_the_worlds_of_both() -> None:
    """Group 0: two of class 0, two of class 1; group 1: one of class 0, two of class 2."""
    first, second = ["x", "x", "y", "y"], ["x", "y", "z"]
    domain = Table.read(pl.DataFrame({"q": ["a1"] * 7, "s": first + second}), SCHEMA).domain
    codes = np.array([VALUES.index(value) for value in first + second])
    counts = Counts(np.array([0] * 4 + [1] * 3), codes, domain, 2)
    nobody = np.zeros(2, np.int64)
    cls, grp, num = np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]), np.array([2, 2, 1, 2])
    linkage = Linkage(np.arange(3), 3, cls, grp, num, counts, nobody > 0, nobody > 0, nobody)
    found = credibility(linkage, parse("simple-l=2:x"))
    assert not found.exact
    kept = [
        (one, other)
        for one, other in itertools.product(itertools.permutations(first), itertools.permutations(second))
        if 2 * [*one[:2], other[0]].count("x") > 3 or one[2:].count("x") > 1
    ]
    here = sum(one[:2].count("x") for one, _ in kept) / (2 * len(kept))
    there = [
        (one, other)
        for one, other in itertools.product(itertools.permutations(first), itertools.permutations(second))
        if 2 * [*one[:2], other[0]].count("x") > 3 or other[1:].count("x") > 1
    ]
    beside = sum(other[0] == "x" for _, other in there) / len(there)
    assert found.worst[0] == pytest.approx(2 / 3 * here + 1 / 3 * beside)


def test_who_stands_where_may_stay_open() -> None:
    table = pl.DataFrame({"q": ["a1", "a1", "a2", "a2", "b1", "b1"], "s": ["x", "y", "x", "y", "z", "z"]})
    published = pl.DataFrame({"q": ["A", "A", "A", "*", "*", "*"], "s": ["x", "y", "y", "x", "z", "z"]})
    linkage = link(read_published({"release": published}, SCHEMA), table)
    assert linkage.open.tolist() == [True, True]
    found = attack([published], SCHEMA, only="minimality", knowledge=Knowledge(population=table, requirement="l=2"))
    assert found["minimality"].status == Status.NOT_RUN


def test_more_worlds_than_the_budget_are_refused_not_guessed() -> None:
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], taxonomies={"q": SCHEMA.hierarchies["q"]})
    size = 40
    values = [f"v{number % 13}" for number in range(4 * size)]
    table = pl.DataFrame({"q": ["a1"] * 2 * size + ["a2"] * 2 * size, "s": values})
    published = table.with_columns(q=pl.lit("A"))
    knowledge = Knowledge(population=table, requirement="entropy-l=5")
    found = attack([published], schema, only="minimality", knowledge=knowledge)["minimality"]
    assert found.status == Status.NOT_RUN
    assert found.details["unsolved"] == 1
    assert "more worlds than can be counted" in (found.reason or "")


def test_methods_that_do_not_look_at_values_exclude_nothing() -> None:
    table = pl.DataFrame({"q": ["a1", "a2", "a3", "b1"] * 3, "s": ["x", "y", "z"] * 4})
    release = ri.anonymize(table, SCHEMA, "k=4", method="mondrian", seed=0)
    found = attack([release], SCHEMA, only="minimality")["minimality"]
    assert found.status == Status.WITHSTOOD
    assert "does not look at sensitive values" in found.sentence


def test_an_external_table_of_other_people_is_refused() -> None:
    published = pl.DataFrame({"q": ["A", "b1"], "s": ["x", "y"]})
    for others in (["a1", "a2"], ["b1", "b1"]):
        knowledge = Knowledge(population=pl.DataFrame({"q": others}), requirement="simple-l=2:x")
        found = attack([published], SCHEMA, only="minimality", knowledge=knowledge)["minimality"]
        assert found.status == Status.NOT_RUN


def test_bucketized_releases_say_themselves_who_stands_where() -> None:
    quasi = pl.DataFrame({"group": [1, 1, 1, 2, 2], "q": ["a1", "a1", "a2", "b1", "b2"]})
    values = pl.DataFrame({"group": [1, 1, 2, 2], "s": ["x", "y", "x", "y"], "count": [2, 1, 1, 1]})
    linkage = link(read_published({"quasi": quasi, "sensitive": values}, SCHEMA), quasi)
    assert linkage.num.tolist() == [2, 1, 1, 1]
    assert linkage.counts.sizes.tolist() == [3, 2]
    found = credibility(linkage, parse("simple-l=2:x"))
    assert found.worst[linkage.of_row][:3] == pytest.approx([2 / 3, 2 / 3, 2 / 3])


@given(st.integers(1, 3), st.integers(1, 12), st.integers(1, 6), st.integers(0, 1000))
def test_containment_equals_the_definition(attributes: int, points: int, boxes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (attributes, points)).astype(np.int32)
    ends = np.sort(rng.integers(0, 4, (2, attributes, boxes)), axis=0).astype(np.int32)
    pairs = Counter(zip(*(part.tolist() for part in containment(codes, BoxBounds(ends[0], ends[1]))), strict=True))
    expected = Counter(
        (point, box)
        for point in range(points)
        for box in range(boxes)
        if ((codes[:, point] >= ends[0][:, box]) & (codes[:, point] <= ends[1][:, box])).all()
    )
    assert pairs == expected


def test_few_pairs_are_looked_at_where_boxes_are_narrow() -> None:
    """Points that agree with a box where it is one value are many; a range leaves few of them."""
    points = np.stack([np.zeros(2_000, np.int32), np.arange(2_000, dtype=np.int32), np.zeros(2_000, np.int32)])
    lo, hi = points.copy(), points + np.array([[0], [4], [3]], np.int32)
    looked_at = sum(len(point) for point, _ in _matches(points, lo, hi, np.array([True, False, False])))
    assert looked_at <= 5 * 2_000
    assert len(containment(points, BoxBounds(lo, hi))[0]) == looked_at


def test_limits_that_requirements_name() -> None:
    assert limit_of(parse("k=3 & simple-l=4:x")) == 0.25
    assert limit_of(parse("alpha-k=0.3,2 & confidence=0.2")) == 0.2
    assert limit_of(parse("c-k=0.6,1")) == 0.6
    assert limit_of(parse("t=0.2")) is None


def test_judged_asks_the_requirement_itself() -> None:
    coded = Table.read(pl.DataFrame({"q": ["a1"] * 3, "s": ["x", "y", "z"]}), SCHEMA)
    histograms = np.array([[1, 1, 1], [3, 0, 0]])
    assert judged(histograms, np.arange(3), parse("l=2"), coded.domain).tolist() == [True, False]


def test_the_concept_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "minimality.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 3
    exec("\n".join(blocks), {})  # noqa: S102


def test_releases_looked_at_in_several_threads_say_the_same_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    months = list(synth.Population(seed=3, people=400).months(4))
    releases = [ri.anonymize(one, synth.schema(), "l=3", method="mondrian", seed=2) for one in months]
    found = []
    for number in ("1", "2", "3"):
        monkeypatch.setenv("REISSUE_THREADS", number)
        (one,) = attack(releases, synth.schema(), only="minimality", timeline=True)
        found.append(one)
    assert found[0].details == found[1].details == found[2].details
    assert [one.sentence for one in found] == [found[0].sentence] * 3
    assert found[0].population > 300
