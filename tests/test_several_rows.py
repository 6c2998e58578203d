"""People with several rows, against the definitions written out person by person."""

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Table, check
from reissue.attacks import Accepts
from reissue.attacks import registered as attacks
from reissue.counting import Counts, Domain, PeopleCounts, value_sets
from reissue.errors import DataError, InputError, RequirementError, SchemaError
from reissue.methods.lattice.lattice import Ladder
from reissue.methods.registry import registered as methods
from reissue.papers.series_check import check_series
from reissue.proposing import as_toml, propose
from reissue.requirements import parse, registered
from reissue.schema import Role, Schema
from tests.effort import examples
from tests.strategies import Case, tables

TOGETHER, APART = ("pool", "mondrian"), ("topdown", "incognito")
REQUIREMENTS = (
    "k=2",
    "k=3",
    "l=2",
    "k=2 & l=3",
    "confidence=0.7",
    "alpha-k=0.8,2",
    "simple-l=2",
    "k=2 & confidence=0.5",
)

Groups = Mapping[Any, Mapping[Any, set[Any]]]
"""Group to person to the values that they have in it."""


@st.composite
def visits(draw: st.DrawFn, max_rows: int = 14) -> Case:
    """A small table in which people have several rows."""
    case = draw(tables(max_rows=max_rows, max_quasi=2, sensitive="flat"))
    people = draw(st.lists(st.integers(0, 6), min_size=case.frame.height, max_size=case.frame.height))
    frame = case.frame.with_columns(pl.Series("person", people))
    return Case(frame, replace(case.schema, several_rows=True))


def groups_of(frame: pl.DataFrame, schema: Schema) -> Groups:
    """The definition: rows with the same quasi-identifiers are a group, and a person has the values of their rows."""
    found: dict[Any, dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for row in frame.iter_rows(named=True):
        found[tuple(row[name] for name in schema.quasi)][row["person"]].add(row["secret"])
    return found


def share(people: Mapping[Any, set[Any]]) -> float:
    """The share of people who have the value that most of them have."""
    values = set().union(*people.values())
    return max(sum(value in own for own in people.values()) for value in values) / len(people)


def meets(people: Mapping[Any, set[Any]], requirement: str) -> bool:
    """One group against a requirement, each written out anew."""
    for part in requirement.split(" & "):
        name, _, text = part.partition("=")
        first = float(text.split(",")[0])
        if name == "k" and len(people) < first:
            return False
        if name == "l" and (len(set().union(*people.values())) < first or (first > 1 and share(people) == 1)):
            return False
        if name == "confidence" and share(people) > first:
            return False
        if name == "alpha-k" and (share(people) > first or len(people) < int(text.split(",")[1])):
            return False
        if name == "simple-l" and share(people) * first > 1 + 1e-12:
            return False
    return True


@pytest.mark.parametrize("method", TOGETHER + APART)
@given(case=visits(), requirement=st.sampled_from(REQUIREMENTS), suppress=st.sampled_from([0.0, 0.3]))
@examples(60)
def test_published_groups_hold_so_many_different_people(
    method: str, case: Case, requirement: str, suppress: float
) -> None:
    whole = groups_of(case.frame.with_columns(pl.lit(0).alias(name) for name in case.schema.quasi), case.schema)
    try:
        release = ri.anonymize(case.frame, case.schema, requirement, method=method, seed=1, suppress=suppress)
    except RequirementError:
        assert not all(meets(people, requirement) for people in whole.values())
        return
    assert "person" not in release.frame.columns
    copy = release.private_copy
    groups = groups_of(copy, case.schema)
    assert all(meets(people, requirement) for people in groups.values())
    if method in TOGETHER:
        assert sum(len(people) for people in groups.values()) == copy["person"].n_unique()
    else:
        assert release.suppressed <= suppress * case.frame.height
    values = case.frame.select("person", "secret")
    published = copy.select("person", "secret")
    assert not suppress or published.height <= values.height
    assert suppress or published.sort("person", "secret").equals(values.sort("person", "secret"))
    assert release.group_people.sum() >= copy["person"].n_unique()


@given(case=visits(max_rows=10), requirement=st.sampled_from(["k=2", "confidence=0.7", "l=2"]))
@examples(60)
def test_incognito_finds_the_best_levels_though_shares_are_not_monotone(case: Case, requirement: str) -> None:
    table = Table.read(case.frame, case.schema)
    ladders = [Ladder.of(taxonomy) for taxonomy in table.taxonomies]
    losses = []
    for levels in itertools.product(*(range(len(ladder)) for ladder in ladders)):
        nodes = [
            ladder.levels[rung].node[codes] for ladder, rung, codes in zip(ladders, levels, table.codes, strict=True)
        ]
        frame = case.frame.with_columns(pl.Series(n, c) for n, c in zip(case.schema.quasi, nodes, strict=True))
        if all(meets(people, requirement) for people in groups_of(frame, case.schema).values()):
            each = [ladder.losses[rung][node].mean() for ladder, rung, node in zip(ladders, levels, nodes, strict=True)]
            losses.append(sum(each) / len(each))
    try:
        release = ri.anonymize(table, case.schema, requirement, method="incognito", seed=1)
    except RequirementError:
        assert not losses
        return
    assert release.draft.notes["loss"] == pytest.approx(min(losses))


@given(case=visits())
@examples(60)
def test_check_counts_people(case: Case) -> None:
    found = check(case.frame, case.schema)
    groups = list(groups_of(case.frame, case.schema).values())
    assert found.rows == case.frame.height
    assert found.people == case.frame["person"].n_unique()
    assert found["k"] == min(map(len, groups))
    assert found["confidence"] == pytest.approx(max(map(share, groups)))
    known = any(share(people) == 1 for people in groups)
    assert found["l"] == (1 if known else min(len(set().union(*people.values())) for people in groups))
    for requirement in REQUIREMENTS:
        short = [people for people in groups if not all(meets(people, one) for one in requirement.split(" & "))]
        assert check(case.frame, case.schema, requirement).met == (not short)


@given(case=visits(), requirement=st.sampled_from([*REQUIREMENTS, "m-unique=2"]))
@examples(60)
def test_two_ways_of_counting_people_agree(case: Case, requirement: str) -> None:
    """Rows with their people, and people with the sets of their values, where everybody is in one group."""
    table = Table.read(case.frame, case.schema)
    assert table.people is not None
    group = np.arange(table.people.max() + 1) % 2
    by_rows = PeopleCounts(group[table.people], table.sensitive, table.people, table.domain, 2)
    sets = value_sets(table.people, table.sensitive, table.domain)
    by_sets = sets.expand(Counts(group, sets.of_person, Domain(np.zeros(sets.number, np.int64)), 2))
    there = by_rows.sizes > 0
    assert by_rows.sizes.tolist() == by_sets.sizes.tolist()
    assert by_rows.histogram.count.tolist() == by_sets.histogram.count.tolist()
    asked = parse(requirement)
    assert (asked.holds(by_rows) == asked.holds(by_sets))[there].all()
    assert (asked.holds(by_rows.only(there)) == asked.holds(by_rows)[there]).all()


@pytest.mark.parametrize("method", TOGETHER + APART)
@given(case=tables(max_rows=16), requirement=st.sampled_from(["k=2", "k=3 & l=2", "l=2"]))
@examples(30)
def test_with_one_row_each_nothing_changes(method: str, case: Case, requirement: str) -> None:
    def made(schema: Schema) -> Any:
        try:
            return ri.anonymize(case.frame, schema, requirement, method=method, seed=3).frame
        except RequirementError:
            return None

    one, several = made(case.schema), made(replace(case.schema, several_rows=True))
    assert (one is None) == (several is None)
    assert one is None or one.equals(several)


def people_with_visits() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = [
        (f"p{person:03}", int(age) + visit // 2, rng.choice(["flu", "cold", "asthma", "cancer"]))
        for person, age in enumerate(rng.integers(20, 60, 80))
        for visit in range(int(rng.integers(1, 5)))
    ]
    return pl.DataFrame(rows, schema=["patient", "age", "disease"], orient="row")


VISITS = people_with_visits()
SCHEMA = Schema.of_columns(quasi=["age"], sensitive=["disease"], identifier="patient", several_rows=True)


def test_five_rows_of_one_person_are_no_five_people() -> None:
    frame = pl.DataFrame({"patient": ["a"] * 5 + ["b"], "age": [30] * 6, "disease": ["flu"] * 6})
    assert not check(frame, SCHEMA, "k=5").met
    assert check(frame, SCHEMA, "k=2").met
    assert not check(frame, SCHEMA, "l=2").met
    with pytest.raises(RequirementError, match="2 people in one group"):
        ri.anonymize(frame, SCHEMA, "k=3")


def test_a_value_that_everybody_has_is_known_whatever_else_they_have() -> None:
    frame = pl.DataFrame({"patient": ["a", "a", "b", "b"], "age": [30] * 4, "disease": ["hiv", "flu", "hiv", "cold"]})
    assert check(frame, SCHEMA)["l"] == 1
    assert not check(frame, SCHEMA, "l=3").met
    assert check(frame, SCHEMA, "confidence=1").met


@pytest.mark.parametrize("name", sorted(registered()))
def test_a_requirement_is_defined_by_people_or_refused(name: str) -> None:
    asked = parse(registered()[name].example.partition(" or ")[0])
    if registered()[name].by_people:
        check(VISITS, SCHEMA, asked)
        return
    for refused in (lambda: check(VISITS, SCHEMA, asked), lambda: ri.anonymize(VISITS, SCHEMA, asked)):
        with pytest.raises(RequirementError):
            refused()


def test_values_taken_together_are_refused() -> None:
    with pytest.raises(RequirementError, match="single values"):
        ri.anonymize(VISITS, SCHEMA, "confidence=0.9:{flu, cold}")
    assert ri.anonymize(VISITS, SCHEMA, "confidence=0.9:flu").groups


@pytest.mark.parametrize("name", sorted(methods()))
def test_a_method_counts_people_or_refuses_before_work_starts(name: str) -> None:
    if methods()[name].several_rows:
        assert ri.anonymize(VISITS, SCHEMA, "k=5", method=name).group_people.min() >= 5
        return
    with pytest.raises(InputError, match="needs one row per person") as refused:
        ri.anonymize(VISITS, SCHEMA, "k=5", method=name)
    assert not any(person in str(refused.value) for person in VISITS["patient"])


@pytest.mark.parametrize("name", sorted(attacks()))
def test_an_attack_that_needs_one_row_each_says_so(name: str) -> None:
    release = ri.anonymize(VISITS, SCHEMA, "k=5")
    finding = ri.attack([release, release], SCHEMA, only=name)[name]
    assert Accepts.REPEATED_RECORDS in attacks()[name].accepts or "needs one row per person" in str(finding.reason)


def test_what_follows_people_through_a_series_refuses(tmp_path: Path) -> None:
    release = ri.anonymize(VISITS, SCHEMA, "k=5")
    with pytest.raises(SchemaError, match="needs one row per person"):
        ri.publish(VISITS, tmp_path / "x.ledger", replace(SCHEMA, policy={"require": "k=5"}))
    assert not list(tmp_path.iterdir())
    with pytest.raises(SchemaError, match="needs one row per person"):
        ri.plan([VISITS, VISITS], SCHEMA)
    with pytest.raises(SchemaError, match="needs one row per person"):
        check_series([release, release], SCHEMA)


def test_a_release_without_identifiers_cannot_be_counted() -> None:
    release = ri.anonymize(VISITS, SCHEMA, "k=5 & l=2")
    with pytest.raises(DataError, match="may all be one person's"):
        check(release.frame, SCHEMA, "k=5")
    copy = release.private_copy
    assert release.frame.columns == ["age", "disease"]  # the copy left the release alone
    for counted in (release, copy):
        assert check(counted, SCHEMA, "k=5 & l=2").met
    missing = copy.with_columns(patient=pl.lit(None, pl.String))
    with pytest.raises(DataError, match="is missing"):
        check(missing, SCHEMA)
    with pytest.raises(InputError, match="one row per person"):
        check(copy, SCHEMA, sampling=0.1)
    assert check(copy, SCHEMA, preset="cell-5").met


def test_the_schema_says_so_in_every_form(tmp_path: Path) -> None:
    text = '[columns]\npatient = "identifier"\nage = "quasi"\n[person]\nseveral_rows = true\n'
    schema = Schema.loads(text)
    assert schema.several_rows
    assert Schema.loads(schema.dumps()) == schema
    assert "several_rows = false" in Schema.loads(text.replace("true", "false")).dumps()
    assert "person" not in Schema.loads(text.partition("[person]")[0]).dumps()
    assert not schema.with_roles({"patient": Role.DROP}).several_rows
    for wrong in ("several_row = true", 'several_rows = "yes"'):
        with pytest.raises(SchemaError, match="person"):
            Schema.loads(text.replace("several_rows = true", wrong))
    with pytest.raises(SchemaError, match="identifier"):
        Schema.loads(text.replace("identifier", "drop"))


def test_a_repeated_identifier_is_advised_upon() -> None:
    with pytest.raises(DataError, match=r"several_rows = true") as refused:
        Table.read(VISITS, replace(SCHEMA, several_rows=False))
    assert not any(person in str(refused.value) for person in VISITS["patient"])


def test_init_proposes_it_where_an_identifier_repeats() -> None:
    frame = VISITS.with_row_index("visit")
    guesses = {guess.column: guess for guess in propose(frame)}
    assert guesses["patient"].role == Role.IDENTIFIER
    assert "people have several rows" in guesses["patient"].why
    assert guesses["visit"].role == Role.DROP
    assert Schema.loads(as_toml(tuple(guesses.values()), "visits")).several_rows
    named = propose(VISITS.rename({"patient": "name"}))
    assert named[0].role == Role.DROP
