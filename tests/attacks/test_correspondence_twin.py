"""The correspondence attack beside the formula of what is left, at every point and for every arrival time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.attacks import Knowledge, Series, find, run_attack
from reissue.attacks.findings import Finding, Status
from reissue.papers.correspondence.chains import targets
from reissue.papers.second_look import records_left
from reissue.published.boxes import SeriesCounts, counts_of
from reissue.publishing.anonymize import anonymize
from reissue.schema import Schema
from tests.attacks.brute import brute_left, random_history, schema, seeded
from tests.effort import examples

SEEDS = st.integers(0, 10**6)
LIMITS = st.sampled_from([{}, {"correspondence": 2}, {"correspondence": 4}])
PLAN = Schema.of_columns(
    quasi=["age", "zip"],
    sensitive=["s", "t"],
    taxonomies={"age": Hierarchy("ranges", ranges=(5, 10, 20)), "zip": Hierarchy("prefix", prefix=(3, 1))},
)


def left_by_the_formula(views: SeriesCounts) -> list[int]:
    """The least that is left at any point, by arrival time; 0 where nobody can have arrived."""
    points = [np.array(point) for point in product(*(sorted({*column.lo.tolist()}) for column in views.quasi))]
    found = []
    for arrived in range(len(views.releases)):
        left = [some for point in points if (some := records_left(views, point, arrived))]
        found.append(min(left, default=0))
    return found


def every_beginning(
    releases: Sequence[Any], plan: Schema, limits: Mapping[str, float], *, exact: bool = False
) -> list[Finding]:
    """What the attack finds after every release."""
    return [
        run_attack(
            find("correspondence"), Series.read(releases[:number], plan, limits=limits, exact=exact), Knowledge()
        )
        for number in range(1, len(releases) + 1)
    ]


@given(SEEDS, st.integers(2, 5), st.integers(1, 3), LIMITS)
@examples(60)
def test_releases_as_chance_has_them(seed: int, releases: int, attributes: int, limits: dict[str, float]) -> None:
    history = random_history(seeded(seed), releases, attributes, 14, 3)
    found = every_beginning(history.frames(), schema(attributes), limits)
    assert all(one.status != Status.NOT_RUN for one in found[1:])
    views = counts_of(Series.read(history.frames(), schema(attributes)).releases, schema(attributes))
    assert views is not None
    left = left_by_the_formula(views)
    assert found[-1].details["left"] == left
    assert found[-1].worst == min(one for one in left if one)


@given(SEEDS)
@examples(25)
def test_two_releases_against_the_definition(seed: int) -> None:
    """What every chain keeps is what is left of it in the best of all histories."""
    history = random_history(seeded(seed), 2, 2, 6, 2)
    views = counts_of(Series.read(history.frames(), schema(2)).releases, schema(2))
    assert views is not None
    left = Counter(int(left) for part in targets(views) for left in part.sizes[part.sizes > 0])
    assert left == Counter(left for left in brute_left(history.releases).values() if left)


def tables(seed: int, number: int) -> list[pl.DataFrame]:
    """A growing table of several columns in which values are missing and new ones come up."""
    rng = seeded(seed)
    rows = rng.randint(20, 60)
    whole = [
        (
            rng.choice([None, *range(20, 25 + 10 * (row // 20))]),
            f"{rng.randint(530, 534 + row // 10)}{rng.randint(0, 4)}",
            rng.choice(["flu", "cold", None] + ["HIV"] * (row > 30)),
            rng.choice("xy"),
        )
        for row in range(rows + 25 * number)
    ]
    names = {"age": pl.Int64, "zip": pl.String, "s": pl.String, "t": pl.String}
    ends = np.cumsum([rows, *(rng.choice([0, 10, 25]) for _ in range(number - 1))]).tolist()
    return [pl.DataFrame(whole[:end], schema=names, orient="row") for end in ends]


@given(SEEDS, LIMITS)
@examples(40)
def test_ranges_prefixes_and_missing_values(seed: int, limits: dict[str, float]) -> None:
    """Each release by a method that knows nothing of the others: cuts cross, and texts that are new come in."""
    ks = seeded(seed).choices([2, 3, 5, 8], k=5)
    releases = [
        anonymize(table, PLAN, f"k={k}", method="topdown").tables["release"]
        for table, k in zip(tables(seed, 5), ks, strict=True)
    ]
    every_beginning(releases, PLAN, limits)


def test_what_only_all_releases_at_once_tell() -> None:
    """Local recodings, records that leave, and the exact answer."""
    frames = random_history(seeded(4), 4, 2, 14, 2).frames()
    every_beginning([*frames, frames[0], frames[3]], schema(2), {})
    local = pl.concat([frames[3], pl.DataFrame({"q0": ["a", "*"], "q1": ["*", "a"], "s": ["x", "x"]})])
    assert "Compared as boxes" in str(every_beginning([*frames, local, local], schema(2), {})[-1].reason)
    assert "components" in every_beginning(frames, schema(2), {}, exact=True)[-1].details


def test_values_apart_and_values_that_change() -> None:
    frames = random_history(seeded(4), 3, 2, 14, 2).frames()
    apart = {
        "quasi": frames[2].select("q0", "q1").with_columns(group=1),
        "sensitive": pl.DataFrame({"group": [1], "s": ["x"], "count": [frames[2].height]}),
    }
    found = every_beginning([*frames, apart, frames[2]], schema(2), {})
    assert [one.status for one in found] == [Status.NOT_RUN, Status.WITHSTOOD, Status.WITHSTOOD] + [Status.NOT_RUN] * 2
    changing = Schema(schema(2).columns, schema(2).hierarchies, updates={"order": ["x", "y"]})
    assert all(one.status == Status.NOT_RUN for one in every_beginning(frames, changing, {}))


def test_texts_that_come_to_mean_something_else_are_not_carried_on() -> None:
    """Without a taxonomy a set is a range of the names that occur: with a name in between it is one no more."""
    plain = Schema.of_columns(quasi=["q"], sensitive=["s"], taxonomies={"q": Hierarchy("flat")})
    first = pl.DataFrame({"q": ["{a, c}"] * 4, "s": ["x"] * 4})
    second = pl.DataFrame({"q": ["{a, c}"] * 4 + ["b"] * 4, "s": ["x"] * 8})
    found = every_beginning([first, first, second, second], plain, {})
    assert [one.status == Status.NOT_RUN for one in found] == [True, False, True, True]
