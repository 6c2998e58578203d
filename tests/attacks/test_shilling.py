"""Shilling: whom invented records single out, against every set of records that could be invented."""

from itertools import combinations_with_replacement, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.errors import InputError, NotMetError
from reissue.publishing.attack import attack
from tests.effort import examples

SCHEMA = ri.Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="name", provider="ward", several_rows=False)
MINE = "an invented account 1"
people = st.lists(
    st.tuples(st.sampled_from("AB"), st.sampled_from([30, 40, 50]), st.sampled_from(["flu", "cold"])),
    min_size=4,
    max_size=7,
)
Row = tuple[str, int, str]


def publish(rows: list[Row], rule: str, method: str) -> ri.Release:
    wards, ages, values = zip(*rows, strict=True)
    names = [f"p{row}" for row in range(len(rows))]
    frame = pl.DataFrame({"name": names, "ward": wards, "age": ages, "ill": values})
    return ri.anonymize(frame, SCHEMA, rule, method=method, seed=0)


def singled_out(rows: list[Row], invented: tuple[Row, ...], k: int, least: int, method: str) -> set[int]:
    """By the definition: people in whose published group too few others, or values of others, are left."""
    try:
        release = publish([*rows, *invented], f"k={k} & l={least}", method)
    except (InputError, NotMetError):
        return set()
    boxes = release.boxes
    looks = [tuple(boxes.lo[:, g].tolist() + boxes.hi[:, g].tolist()) for g in release.draft.groups.tolist()]
    found = set()
    for person in range(len(rows)):
        others = [one for one in range(len(rows)) if looks[one] == looks[person]]
        if len(others) < k or len({rows[one][2] for one in others}) < least:
            found.add(person)
    return found


def every_invention(most: int) -> list[tuple[Row, ...]]:
    records = [(MINE, age, value) for age, value in product([30, 40, 50], ["flu", "cold"])]
    return [some for number in range(1, most + 1) for some in combinations_with_replacement(records, number)]


def shilled(release: ri.Release, most: int) -> Finding:
    return attack([release], SCHEMA, only="shilling", limits={"shilling": most})["shilling"]


@pytest.mark.parametrize("method", ["mondrian", "incognito", "providers"])
@examples(15)
@given(rows=people, k=st.integers(1, 2), least=st.integers(1, 2))
def test_what_it_finds_some_invention_does_and_m_privacy_stops_all(
    method: str, rows: list[Row], k: int, least: int
) -> None:
    try:
        release = publish(rows, f"k={k} & l={least}", method)
    except (InputError, NotMetError):
        return
    found = shilled(release, 3)
    truth = {person for invented in every_invention(3) for person in singled_out(rows, invented, k, least, method)}
    assert found.people <= len(truth), "each of those found can be singled out"
    if method == "providers":
        assert not truth, "m = 1 covers one account, whatever it invents"
    assert (found.status == Status.EXPOSED) == (found.people > 0)


def table(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"p{row}" for row in range(rows)],
            "ward": [f"w{row % 7}" for row in range(rows)],
            "age": [20 + row * 7 % 50 for row in range(rows)],
            "ill": [["flu", "cold", "gout"][row % 3] for row in range(rows)],
        }
    )


def test_who_knows_no_providers_is_exposed_and_m_counts_accounts() -> None:
    blind = ri.anonymize(table(40), SCHEMA, "k=3", method="mondrian", seed=0)
    found = shilled(blind, 6)
    assert found.status == Status.EXPOSED
    assert found.people > 10
    assert found.population == 40
    assert found.details["fewest"] <= 3
    assert found.worst == found.details["fewest"] - 1
    aware = ri.anonymize(table(40), SCHEMA, "k=3", method="providers", seed=0)
    assert shilled(aware, 6).status == Status.WITHSTOOD
    two = Knowledge(m=2)
    assert attack([aware], SCHEMA, only="shilling", knowledge=two)["shilling"].status == Status.EXPOSED
    withstands = ri.anonymize(table(40), SCHEMA, "k=3", method="providers", seed=0, m=2)
    known = Knowledge(m=2, options={"m": 2})
    assert attack([withstands], SCHEMA, only="shilling", knowledge=known)["shilling"].status == Status.WITHSTOOD


def test_a_coalition_that_invents_takes_out_its_true_records_too() -> None:
    blind = ri.anonymize(table(40), SCHEMA, "k=3", method="mondrian", seed=0)
    known = Knowledge(coalition=["w1", "w2"])
    found = attack([blind], SCHEMA, only="shilling", knowledge=known)["shilling"]
    assert found.population + found.details["before"] == sum(row % 7 not in {1, 2} for row in range(40))
    assert found.status == Status.EXPOSED


def test_what_it_does_not_run_on() -> None:
    release = ri.anonymize(table(20), SCHEMA, "m-unique=2", method="invariance", seed=0, ineligible="counterfeits")
    assert "remembers earlier releases" in str(attack([release], SCHEMA, only="shilling")["shilling"].reason)
    aware = ri.anonymize(table(60), SCHEMA, "k=3", method="providers", seed=0, m=2)
    assert "its options differ" in str(attack([aware], SCHEMA, only="shilling")["shilling"].reason)
