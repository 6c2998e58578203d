"""Releases of a ledger that are made after the earlier ones: the same as from these releases themselves."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.errors import DataError, NotMetError
from reissue.ledger import Ledger
from reissue.ledger.pack import csv_bytes
from reissue.publishing.adopt import adopt
from reissue.publishing.anonymize import anonymize
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.release.release import Release
from reissue.schema import Schema
from tests.attacks.brute import seeded
from tests.effort import examples

POLICY = {
    "method": "correspondence",
    "require": "k=3",
    "attacks": ["correspondence"],
    "sensitive_values": ["none of these"],
}
PLAN = Schema.of_columns(
    quasi=["age", "zip"],
    sensitive=["s"],
    identifier="id",
    taxonomies={"age": Hierarchy("ranges", ranges=(5, 10, 20)), "zip": Hierarchy("prefix", prefix=(3, 1))},
)
SEED = 7


def plan(**policy: object) -> Schema:
    return replace(PLAN, policy={**POLICY, **policy})


def tables(seed: int, number: int = 6, rows: int = 40, few: int = 4) -> list[pl.DataFrame]:
    """A table to which people of more ages and places come from time to time."""
    rng = seeded(seed)
    sizes = [rows, *(rng.choice([few, 12, 30]) for _ in range(number - 1))]
    ends = [sum(sizes[: place + 1]) for place in range(number)]
    whole = pl.DataFrame(
        {
            "id": range(ends[-1]),
            "age": [rng.choice([None, rng.randint(20, 44 + row // 3)]) for row in range(ends[-1])],
            "zip": [f"{rng.randint(530, 535 + row // 20)}{rng.randint(0, 3)}" for row in range(ends[-1])],
            "s": [rng.choice(["flu", "cold", None] + ["HIV"] * (row > rows)) for row in range(ends[-1])],
        }
    )
    return [whole[:end] for end in ends]


def made_after(table: pl.DataFrame, earlier: Sequence[pl.DataFrame], schema: Schema = PLAN, k: int = 3) -> Release:
    return anonymize(table, schema, f"k={k}", method="correspondence", seed=SEED, after=list(earlier))


def _made_or_refused(table: pl.DataFrame, earlier: Sequence[pl.DataFrame]) -> Release | str:
    try:
        return made_after(table, earlier)
    except NotMetError as problem:
        return str(problem)


def publish(table: pl.DataFrame, ledger: Ledger) -> Release:
    return publish_next(table, ledger, seed=SEED).release


def same(release: Release, other: Release) -> bool:
    return csv_bytes(release.tables["release"]) == csv_bytes(other.tables["release"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "x.ledger"


@given(st.integers(0, 10**6))
@examples(25)
def test_a_ledger_makes_what_the_method_makes_of_all_releases(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    earlier: list[pl.DataFrame] = []
    with Ledger.create(tmp_path_factory.mktemp("series") / "x.ledger", plan()) as ledger:
        for table in tables(seed, few=2 + seed % 3):
            expected = _made_or_refused(table, earlier)
            if isinstance(expected, str):
                with pytest.raises(RefusedError) as refused:
                    publish(table, ledger)
                assert expected in str(refused.value)
                break
            assert same(publish(table, ledger), expected)
            earlier.append(expected.tables["release"])


def test_another_method_begins_anew(place: Path) -> None:
    """What one method keeps is nothing to another."""
    months = tables(9)
    with Ledger.create(place, plan()) as ledger:
        for table in months[:2]:
            publish(table, ledger)
        ledger.amend(plan(method="invariance", require="m-unique=2", attacks=[], alone=True))
        assert publish(months[2], ledger).method == "invariance"
        assert ledger.verify() == []


def test_another_policy_begins_anew(place: Path) -> None:
    months = tables(3)
    with Ledger.create(place, plan()) as ledger:
        earlier = [publish(table, ledger).tables["release"] for table in months[:2]]
        ledger.amend(plan(require="k=2"))
        third = publish(months[2], ledger)
        assert same(third, made_after(months[2], earlier, k=2))
        fourth = publish(months[3], ledger)
        assert same(fourth, made_after(months[3], [*earlier, third.tables["release"]], k=2))


def test_ranges_that_cross_as_texts_only(place: Path) -> None:
    """[25, 29] and [28, 34] cross, but to a holder who knows nobody from 25 to 27 the one lies inside the other.

    The attack, who does not know that, compares boxes.
    """
    rng = seeded(4)
    ages = [rng.choice([21, 22, 23, 24, 28, 29, 30, 33, 34]) for _ in range(400)]
    whole = pl.DataFrame({"id": range(400), "age": ages, "s": [rng.choice("xyz") for _ in ages]})
    columns = {name: role for name, role in PLAN.columns.items() if name != "zip"}
    compared = {"attacks": ["correspondence", "updates"], "sensitive_values": ["none of these"]}
    policy = {**POLICY, **compared, "require": "k=20", "not_run": ["correspondence"]}
    first = Schema(columns, {"age": Hierarchy("ranges", ranges=(5,))}, policy=policy)
    other = Schema(columns, {"age": Hierarchy("ranges", ranges=(7,))}, policy=policy)
    earlier: list[pl.DataFrame] = []
    with Ledger.create(place, first) as ledger:
        for number, schema in enumerate([first, first, other, other]):
            ledger.amend(schema)
            table = whole[: 100 * number + 100]
            expected = made_after(table, earlier, schema, k=20)
            assert same(publish(table, ledger), expected)
            earlier.append(expected.tables["release"])
        assert "[28, 34]" in earlier[2]["age"]


def test_adopted_releases_are_taken_up(place: Path, tmp_path: Path) -> None:
    months = tables(5)
    earlier = [made_after(months[0], []).tables["release"]]
    earlier.append(made_after(months[1], earlier).tables["release"])
    paths = [tmp_path / f"{number}.csv" for number in range(2)]
    for frame, path in zip(earlier, paths, strict=True):
        path.write_bytes(csv_bytes(frame))
    with Ledger.create(place, plan()) as ledger:
        adopt(ledger, paths)
        for table in months[2:5]:
            expected = made_after(table, earlier)
            assert same(publish(table, ledger), expected)
            earlier.append(expected.tables["release"])


def test_releases_that_cannot_be_followed_are_refused(place: Path) -> None:
    months = tables(6)
    local = anonymize(months[0], PLAN, "k=3", method="mondrian").tables["release"]
    with Ledger.create(place, plan()) as ledger:
        adopt(ledger, [local])
        with pytest.raises(DataError, match="cannot be followed"):
            publish(months[1], ledger)


def test_a_table_that_lacks_records_is_refused(place: Path) -> None:
    months = tables(7)
    with Ledger.create(place, plan()) as ledger:
        for table in months[:3]:
            publish(table, ledger)
        with pytest.raises(DataError, match=r"lacks \d+ records that release 1 published"):
            publish(months[0][5:], ledger)
