"""Several providers, some with records of the same people: verdicts against the definition, over people, by hand.

A coalition knows everybody of whom it has a record. It takes any of these people out of every group, with all records
that others gave of them. What is left of a group, unless it is nothing, must meet the requirement, people counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.errors import SchemaError
from tests.effort import examples

PROVIDERS = "PQRS"
Person = tuple[str, frozenset[str], frozenset[int]]
"""The group in which a person stands, the providers who hold the person's records, and their values."""

SCHEMA = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="who", provider="from")
VISITS = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="who", provider="from", several_rows=True)


def copy_of(people: list[Person]) -> pl.DataFrame:
    """The holder's copy: every provider's record of every person, with each of the person's values."""
    rows = [
        (f"person {number}", group, str(value), provider)
        for number, (group, holders, values) in enumerate(people)
        for provider in sorted(holders)
        for value in sorted(values)
    ]
    return pl.DataFrame(rows, schema=["who", "q", "s", "from"], orient="row")


def found(copy: pl.DataFrame, rule: str, schema: ri.Schema = SCHEMA, **more: Any) -> Finding:
    known = Knowledge(requirement=rule, **more)
    return ri.attack([copy], schema, only="coalition", knowledge=known)["coalition"]


def meets(values: list[frozenset[int]], rule: Mapping[str, float]) -> bool:
    """Whether people with these values meet the requirement."""
    have = Counter(chain.from_iterable(values))
    share = max(have.values()) / len(values)
    return (
        len(values) >= rule.get("k", 0)
        and len(have) >= rule.get("l", 0)
        and (share < 1 or rule.get("l", 0) < 2)  # a value that all of them have is everybody's
        and share <= rule.get("confidence", 1.0) + 1e-9
    )


def subsets(people: list[Person]) -> Iterator[tuple[Person, ...]]:
    return chain.from_iterable(combinations(people, size) for size in range(len(people) + 1))


def broken_by(people: list[Person], coalition: frozenset[str], rule: Mapping[str, float]) -> set[str]:
    """The groups in which a coalition breaks the requirement: whichever of the people it knows it leaves in."""
    groups = defaultdict(list)
    for one in people:
        groups[one[0]].append(one)
    broken = set()
    for name, own in groups.items():
        others = [one for one in own if not one[1] & coalition]
        known = [one for one in own if one[1] & coalition]
        if others and not all(meets([v for _, _, v in (*others, *some)], rule) for some in subsets(known)):
            broken.add(name)
    return broken


def smallest(people: list[Person], rule: Mapping[str, float]) -> int | None:
    """How many providers the smallest coalition has that breaks the requirement."""
    named = sorted(frozenset[str]().union(*(holders for _, holders, _ in people)))
    for size in range(len(named) + 1):
        if any(broken_by(people, frozenset(one), rule) for one in combinations(named, size)):
            return size
    return None


@st.composite
def held(draw: st.DrawFn, most: int = 2) -> list[Person]:
    """Up to nine people, many of them held by two or three providers, with one value or several."""
    holders = st.sets(st.sampled_from(PROVIDERS), min_size=1, max_size=3).map(frozenset)
    values = st.sets(st.integers(0, 2), min_size=1, max_size=most).map(frozenset)
    return draw(st.lists(st.tuples(st.sampled_from("xy"), holders, values), min_size=1, max_size=9))


RULES: dict[str, Mapping[str, float]] = {
    "k=2": {"k": 2},
    "k=3 & l=2": {"k": 3, "l": 2},
    "l=2": {"l": 2},
    "confidence=0.7": {"confidence": 0.7},
}


@examples(400)
@given(
    people=held(), rule=st.sampled_from(sorted(RULES)), m=st.integers(0, 5), schema=st.sampled_from([SCHEMA, VISITS])
)
def test_people_are_counted_and_not_records(people: list[Person], rule: str, m: int, schema: ri.Schema) -> None:
    finding = found(copy_of(people), rule, schema, m=m)
    size = smallest(people, RULES[rule])
    named = frozenset[str]().union(*(holders for _, holders, _ in people))
    assert finding.status == (Status.EXPOSED if size is not None and size <= m else Status.WITHSTOOD), finding
    assert finding.details["largest_m"] == (len(named) if size is None else size - 1)
    if size is None:
        assert finding.details["smallest_coalition"] is None
        return
    worst = frozenset(finding.details["smallest_coalition"])
    groups = broken_by(people, worst, RULES[rule])
    assert len(worst) == size
    assert finding.details["groups"] == len(groups) > 0
    exposed = sum(group in groups and not holders & worst for group, holders, _ in people)
    assert finding.people == (exposed if finding.status == Status.EXPOSED else 0)


@examples(200)
@given(people=held(), rule=st.sampled_from(sorted(RULES)), data=st.data())
def test_what_a_given_coalition_exposes(people: list[Person], rule: str, data: st.DataObject) -> None:
    named = sorted(frozenset[str]().union(*(holders for _, holders, _ in people)))
    coalition = data.draw(st.sets(st.sampled_from(named), min_size=1))
    finding = found(copy_of(people), rule, coalition=sorted(coalition))
    groups = broken_by(people, frozenset(coalition), RULES[rule])
    exposed = sum(group in groups and not holders & coalition for group, holders, _ in people)
    assert finding.people == exposed
    assert finding.status == (Status.EXPOSED if exposed else Status.WITHSTOOD)


TWICE: list[Person] = [
    ("x", frozenset("PQ"), frozenset({1})),
    ("x", frozenset("PQ"), frozenset({2})),
    ("x", frozenset("R"), frozenset({3})),
]


def test_whoever_holds_a_record_of_a_person_takes_out_all_of_them() -> None:
    """Three people in five rows: one provider knows two of them, and one person is left."""
    finding = found(copy_of(TWICE), "k=3", m=1)
    assert (finding.status, finding.people) == (Status.EXPOSED, 1)
    assert finding.details["smallest_coalition"] in (["P"], ["Q"])
    assert finding.details["case"]["picture"]["values"][0][0] == 1


def test_where_nothing_tells_who_is_who_it_is_never_said_to_withstand() -> None:
    nameless = copy_of(TWICE).drop("who")
    plain = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], provider="from")
    for schema in (plain, SCHEMA):
        finding = found(nameless, "k=3", schema, m=1)
        assert (finding.status, finding.needs) == (Status.NOT_RUN, ("identifier",))
        assert "several_rows = false" in str(finding.reason)
        assert found(nameless, "k=3", schema, coalition=["P"]).status == Status.NOT_RUN
        assert found(nameless, "k=6", schema, m=1).status == Status.EXPOSED, "fewer people make it no better"
        assert found(nameless, "confidence=0.3", schema, m=1).status == Status.NOT_RUN, "here they might"
    said = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], provider="from", several_rows=False)
    assert found(nameless, "k=3", said, m=1).status == Status.WITHSTOOD, "every row is somebody else's"
    assert ri.Schema.loads(said.dumps()).several_rows is False
    assert ri.Schema.loads(plain.dumps()).several_rows is None


def test_the_method_does_not_promise_what_it_cannot_know() -> None:
    table = pl.DataFrame({"q": [1, 2, 3, 4] * 3, "s": list("abcd") * 3, "from": ["P"] * 6 + ["Q"] * 6})
    plain = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], provider="from")
    with pytest.raises(SchemaError, match="several_rows = false"):
        ri.anonymize(table, plain, "k=2", method="providers", m=1)
    said = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], provider="from", several_rows=False)
    release = ri.anonymize(table, said, "k=2", method="providers", m=1)
    assert ri.attack([release], said, only="coalition")["coalition"].status == Status.WITHSTOOD
    blind = ri.anonymize(table, plain, "k=2", method="pool")
    assert ri.attack([blind], plain, only="coalition")["coalition"].status != Status.WITHSTOOD


def test_our_own_releases_of_people_with_several_rows() -> None:
    people = [("x", frozenset(PROVIDERS[n % 3] + PROVIDERS[(n + 1) % 3]), frozenset({n % 3})) for n in range(9)]
    release = ri.anonymize(copy_of(people), VISITS, "k=9", method="pool")
    finding = ri.attack([release], VISITS, only="coalition", knowledge=Knowledge(requirement="k=4", m=1))["coalition"]
    assert (finding.status, finding.people) == (Status.EXPOSED, 3), "each of three knows six of nine"
    assert ri.attack([release], VISITS, only="coalition", knowledge=Knowledge(requirement="k=3", m=1)).verdict == (
        "withstood"
    )


def test_where_nobody_can_break_anything_any_number_may_collude() -> None:
    people = [("x", frozenset("P"), frozenset({n % 2})) for n in range(2)]
    people += [("y", frozenset("Q"), frozenset({n % 2})) for n in range(2)]
    for m in range(6):
        finding = found(copy_of(people), "k=2 & l=2", m=m)
        assert (finding.status, finding.people) == (Status.WITHSTOOD, 0)
        assert finding.worst is not None
        assert finding.limit is not None
        assert finding.worst >= finding.limit
