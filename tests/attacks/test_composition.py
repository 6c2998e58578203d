"""The composition attack against a twin that tries every point of space and every set of releases."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.composition import places
from reissue.attacks.composition import search as searching
from reissue.attacks.composition.boxes import SeriesBoxes, groups_of
from reissue.attacks.composition.search import search
from reissue.attacks.findings import Finding, Status
from reissue.errors import SchemaError
from reissue.published.boxes import BoxBounds
from reissue.published.joins import overlapping
from reissue.schema import Schema
from reissue.updates import read_updates

SCHEMA = Schema.of_columns(quasi=["a", "b"], sensitive=["s"])
STAYING = replace(SCHEMA, updates={"none": True})
CHANGING = replace(SCHEMA, updates={"order": ["u", "v", "w"]})
WIDTH, HEIGHT, VALUES = 5, 3, "uvw"
Box = tuple[int, int, int, int]
"""First and last a, first and last b."""
Groups = dict[Box, str]
"""What a release shows: box to the values of its records."""


def frame(groups: Groups) -> pl.DataFrame:
    rows = [
        (f"[{box[0]}, {box[1]}]", f"[{box[2]}, {box[3]}]", value) for box, values in groups.items() for value in values
    ]
    return pl.DataFrame(rows, schema=["a", "b", "s"], orient="row")


def composition(releases: Sequence[Groups], schema: Schema = STAYING, limit: int = 2) -> Finding:
    frames = [frame(groups) for groups in releases]
    return ri.attack(frames, schema, only="composition", limits={"composition": limit})["composition"]


# --- the twin --------------------------------------------------------------------------------------------------------


Left = tuple[tuple[int, ...], int]
"""Some releases, and how many values are left for whoever is in all of them."""


def left_at(
    releases: Sequence[Groups], point: tuple[int, int], schema: Schema, harmless: Collection[str] = ()
) -> Iterator[Left]:
    """What is left at a point for whoever is in two releases or more: these, and the number of values."""
    can = read_updates(schema, list(VALUES)).can[:3, :3]
    held = [{value for box, values in groups.items() if inside(point, box) for value in values} for groups in releases]
    some = [number for number, values in enumerate(held) if values]
    for size in range(2, len(some) + 1):
        for chosen in combinations(some, size):
            ways = [
                way
                for way in product(*(sorted(held[number]) for number in chosen))
                if all(can[VALUES.index(x), VALUES.index(y)] for x, y in pairwise(way))
            ]
            if ways:
                yield chosen, min(judged({way[place] for way in ways}, harmless) for place in range(size))


def judged(left: set[str], harmless: Collection[str]) -> int:
    """How many values are left; what needs no protection by itself counts for many."""
    return 99 if left <= set(harmless) else len(left)


def inside(point: tuple[int, int], box: Box) -> bool:
    return box[0] <= point[0] <= box[1] and box[2] <= point[1] <= box[3]


def worst(releases: Sequence[Groups], schema: Schema, harmless: Collection[str] = ()) -> int | None:
    points = product(range(WIDTH), range(HEIGHT))
    return min((left for point in points for _, left in left_at(releases, point, schema, harmless)), default=None)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    a, b = (sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in (WIDTH, HEIGHT))
    return a[0], a[1], b[0], b[1]


SERIES = st.lists(
    st.dictionaries(boxes(), st.text(VALUES, min_size=1, max_size=4), min_size=1, max_size=4), min_size=2, max_size=4
)


def as_boxes(releases: Sequence[Groups], schema: Schema, harmless: Collection[str] = ()) -> SeriesBoxes:
    """What the front door would read, in codes that are the numbers themselves."""
    every = [(number, box, values) for number, groups in enumerate(releases) for box, values in groups.items()]
    counted = [sorted(Counter(VALUES.index(value) for value in values).items()) for _, _, values in every]
    slots = [slot for group in counted for slot in group]
    table = np.array([box for _, box, _ in every], np.int32).T
    model = read_updates(schema, list(VALUES))
    return SeriesBoxes(
        BoxBounds(table[[0, 2]], table[[1, 3]]),
        np.array([number for number, _, _ in every]),
        np.arange(len(every)),
        groups_of(
            np.cumsum([0, *map(len, counted)]),
            np.array([value for value, _ in slots]),
            np.array([count for _, count in slots]),
            model,
            len(VALUES),
        ),
        (),
        tuple(VALUES),
        None if model.fixed else model.can,
        tuple(sum(map(len, groups.values())) for groups in releases),
        np.array([value not in harmless for value in VALUES]),
    )


@pytest.mark.parametrize("schema", [STAYING, CHANGING], ids=["staying", "changing"])
@given(releases=SERIES, limit=st.integers(2, 3), harmless=st.one_of(st.just(""), st.text(VALUES, max_size=2)))
@settings(max_examples=100, deadline=None)
def test_it_finds_what_trying_every_point_finds(
    schema: Schema, releases: Sequence[Groups], limit: int, harmless: str
) -> None:
    found, least = search(as_boxes(releases, schema, harmless), limit), worst(releases, schema, harmless)
    assert found.complete
    left = None if found.worst is None else found.worst.left
    assert left == (least if least is not None and least < limit else None)


@given(releases=SERIES)
@settings(max_examples=25, deadline=None)
def test_published_texts_are_read_as_what_they_say(releases: Sequence[Groups]) -> None:
    """Ranges become codes in which whoever lies between two of them is somebody too."""
    found, least = composition(releases), worst(releases, STAYING)
    assert found.worst == (least if least == 1 else None)


# --- people who are really there -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    point: tuple[int, int]
    value: str
    groups: tuple[int, ...]
    """The group in each release; -1 where absent."""


PEOPLE = st.lists(
    st.builds(
        Person,
        st.tuples(st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1)),
        st.sampled_from(VALUES),
        st.tuples(*[st.integers(-1, 2)] * 3),
    ),
    min_size=3,
    max_size=14,
)


def published(people: Sequence[Person], release: int) -> Groups:
    """Groups as boxes around their people."""
    shown: Groups = {}
    for number in range(3):
        mine = [person for person in people if person.groups[release] == number]
        if mine:
            a, b = zip(*(person.point for person in mine), strict=True)
            box = min(a), max(a), min(b), max(b)
            shown[box] = shown.get(box, "") + "".join(person.value for person in mine)
    return shown


@given(people=PEOPLE)
@settings(max_examples=60, deadline=None)
def test_no_more_people_are_exposed_than_it_says(people: Sequence[Person]) -> None:
    releases = [published(people, release) for release in range(3)]
    if not all(releases):
        return
    found = search(as_boxes(releases, STAYING), 2)
    exposed = 0
    for person in people:
        there = {release for release in range(3) if person.groups[release] >= 0}
        left = [number for chosen, number in left_at(releases, person.point, STAYING) if set(chosen) <= there]
        exposed += bool(left) and min(left) < 2
    assert exposed <= found.people
    assert found.worst is not None or not exposed


# --- what is said ----------------------------------------------------------------------------------------------------

WARD = {(0, 2, 0, 2): "uuvv", (3, 4, 0, 2): "uvw"}
CLINIC = {(0, 1, 0, 2): "uuuww", (2, 4, 0, 2): "vvw"}


def test_the_worst_place_is_told_in_words() -> None:
    found = composition([WARD, CLINIC])
    place = str(found.details["place"])
    assert "a [0, 1]" in place
    assert "both release 1 and release 2, has u: at most 2 people" in place
    assert found.details["people_there"] == 2
    assert found.needs == ("people", "members")
    assert "--members" in found.details["case"]["steps"][-1]


def test_the_sentence_has_no_value_of_the_data_and_says_what_it_is_worth() -> None:
    sentence = composition([WARD, CLINIC]).sentence
    assert sentence.startswith("In 2 places fewer than 2 values are left")
    assert "at most 4 people, and nothing in the files says that somebody is there" in sentence


def test_a_value_that_needs_no_protection_exposes_nobody() -> None:
    releases = [{(0, 1, 0, 1): "uv"}, {(0, 1, 0, 1): "uw"}]
    assert composition(releases).status == Status.EXPOSED
    harmless = replace(STAYING, policy={"harmless_values": ["u"]})
    assert composition(releases, harmless).status == Status.WITHSTOOD
    assert composition(releases, replace(STAYING, policy={"harmless_values": ["v"]})).status == Status.EXPOSED


def test_values_that_may_change_leave_more() -> None:
    series = [{(0, 4, 0, 2): "uv"}, {(0, 4, 0, 2): "vw"}]
    assert composition(series, STAYING).status == Status.EXPOSED
    found = composition(series, CHANGING)
    assert (found.status, found.details["updates"]) == (Status.WITHSTOOD, "schema")
    assert "if values change as the schema says" in found.sentence
    back = composition(series[::-1], CHANGING)
    assert "has v in release 1" in str(back.details["place"])


def test_a_third_release_leaves_less_than_any_two() -> None:
    series = [{(0, 4, 0, 2): values} for values in ("xyz", "yzu", "xzu")]
    frames = [frame(groups) for groups in series]
    assert ri.attack(frames[:2], STAYING, only="composition")["composition"].status == Status.WITHSTOOD
    found = ri.attack(frames, STAYING, only="composition")["composition"]
    assert "was in releases 1, 2 and 3, has z: at most 1 person" in str(found.details["place"])


def test_releases_with_different_columns_join_on_what_they_share() -> None:
    one, other = frame({(0, 1, 0, 2): "uv"}), frame({(0, 2, 0, 1): "vw"}).drop("b")
    found = ri.attack([one, other], STAYING, only="composition")["composition"]
    assert found.status == Status.EXPOSED
    assert "has v" in str(found.details["place"])


def test_it_leaves_known_people_to_the_joint_attack() -> None:
    register = pl.DataFrame({"a": [1, 2], "b": [1, 1]})
    releases = [frame(WARD), frame(CLINIC)]
    found = ri.attack(releases, STAYING, only="composition", knowledge=Knowledge(population=register))["composition"]
    assert found.reason == "people are known here, and the attack `joint` says of each of them what is left."


def test_a_limit_is_a_number_of_values() -> None:
    with pytest.raises(SchemaError, match="a number of values, 2 or more"):
        composition([WARD, CLINIC], limit=1)


def test_what_a_bounded_search_leaves_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "STEPS", 1)
    series = [{(0, 4, 0, 2): "uvw"}] * 4
    found = composition(series)
    assert not found.details["complete"]
    assert "as far as was looked" in found.sentence
    monkeypatch.setattr(places, "CUTS", 1)
    crossing = [{(0, 4, 0, 2): "uv", (0, 1, 0, 2): "uw", (3, 4, 0, 2): "uw"}, {(0, 4, 0, 2): "vw"}]
    found = composition(crossing)
    assert found.details["undecided"]
    monkeypatch.setattr(searching, "ONE_BY_ONE", 0)
    assert composition(crossing).details["undecided"]
    monkeypatch.setattr(searching, "COMPARED", 1)
    assert not composition(crossing).details["complete"]


@given(st.lists(boxes(), max_size=40), st.lists(boxes(), max_size=40), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_overlapping_boxes_are_those_that_share_a_point(one: list[Box], other: list[Box], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reissue.published.joins._FEW", few)
        parts = overlapping(_bounds(one), _bounds(other))
        found = [pair for a, b in parts for pair in zip(a.tolist(), b.tolist(), strict=True)]
    points = [set(product(range(box[0], box[1] + 1), range(box[2], box[3] + 1))) for box in (*one, *other)]
    mine, its = points[: len(one)], points[len(one) :]
    expected = [(i, j) for i, a in enumerate(mine) for j, b in enumerate(its) if a & b]
    assert sorted(found) == expected


def _bounds(some: Sequence[Box]) -> BoxBounds:
    table = np.array(some, np.int32).reshape(-1, 4).T
    return BoxBounds(table[[0, 2]], table[[1, 3]])


def test_files_alone_are_enough(tmp_path: Path) -> None:
    files = []
    for number, groups in enumerate((WARD, CLINIC)):
        files.append(tmp_path / f"{number}.csv")
        frame(groups).write_csv(files[-1])
    assert ri.attack(files, only="composition")["composition"].people == 4
