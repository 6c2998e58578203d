"""Counterfeits in groups of several providers are judged: as records of one more, against the definition."""

from collections import Counter
from itertools import combinations
from typing import Any

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.errors import InputError
from reissue.papers.coalition.records import COUNTERFEITS
from reissue.publishing.attack import attack
from tests.effort import examples

SCHEMA = ri.Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="name", provider="ward", several_rows=False)


def release_of(rows: list[tuple[str, int, str]]) -> ri.Release:
    wards, ages, values = zip(*rows, strict=True)
    names = [f"p{row}" for row in range(len(rows))]
    table = pl.DataFrame({"name": names, "ward": wards, "age": ages, "ill": values})
    options: dict[str, Any] = {"ineligible": "counterfeits", "form": "two tables"}
    return ri.anonymize(table, SCHEMA, "m-unique=2", method="invariance", seed=1, **options)


def groups_of(release: ri.Release) -> list[Counter[str]]:
    """The records of each group by provider; counterfeits are their only provider's, or one more's."""
    found: dict[int, Counter[str]] = {}
    for ward, group in zip(release.table.frame["ward"], release.draft.groups.tolist(), strict=True):
        found.setdefault(group, Counter())[ward] += 1
    fakes = release.draft.counterfeits
    for group in [] if fakes is None else fakes.groups.tolist():
        own = list(found[group])
        found[group][own[0] if len(own) == 1 and own[0] != COUNTERFEITS else COUNTERFEITS] += 1
    return list(found.values())


def smallest(groups: list[Counter[str]], k: int) -> int | None:
    """The size of the smallest coalition that leaves a group with fewer than k records, but not with none."""
    everyone = sorted(set().union(*groups))
    for size in range(len(everyone)):
        for chosen in combinations(everyone, size):
            left = [sum(number for who, number in group.items() if who not in chosen) for group in groups]
            if any(0 < number < k for number in left):
                return size
    return None


people = st.tuples(st.sampled_from("ABC"), st.sampled_from([30, 40]), st.sampled_from(["flu", "flu", "cold", "ill"]))


@examples(60)
@given(st.lists(people, min_size=3, max_size=9), st.integers(1, 3))
def test_mixed_groups_are_judged_by_the_definition(rows: list[tuple[str, int, str]], k: int) -> None:
    try:
        release = release_of(rows)
    except InputError:
        assume(False)
        return
    found = attack([release], SCHEMA, only="coalition", knowledge=Knowledge(requirement=f"k={k}", m=3))["coalition"]
    least = smallest(groups_of(release), k)
    assert found.status != Status.NOT_RUN
    assert found.details["largest_m"] == (
        len(found.details["smallest_coalition"]) - 1 if least is not None else found.details["providers"]
    )
    if least is not None:
        assert found.details["largest_m"] == least - 1
