"""Several sensitive columns, missing cells and harmless values: requirements, check and methods against rows."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Table, check
from reissue.counting import Counts, PeopleCounts, value_sets
from reissue.errors import DataError, NotMetError, RequirementError, SchemaError
from reissue.papers.coalition.contributions import Contributions, private
from reissue.published import Form
from reissue.requirements import Requirement, by_column, parse
from reissue.schema import Schema
from reissue.taxonomy import Taxonomy
from reissue.verify import meets
from tests.effort import examples
from tests.requirements.definitions import holds

VALUES = ("a", "b", "c", None)
ANY = ("l", "entropy-l", "recursive", "simple-l", "confidence", "alpha-k", "m-unique")
TEXTS = (
    "k=3 & l=2",
    "l=3",
    "entropy-l=1.8",
    "recursive=2,2",
    "simple-l=2",
    "confidence=0.6",
    "confidence=0.6:a",
    "alpha-k=0.6,3",
    "alpha-k=0.6,2:b",
    "t=0.4",
    "beta=1.5",
    "delta-disclosure=1.5",
    "personalized=0.6",
    "personalized=0.6:a",
    "m-unique=2",
)


@dataclass(frozen=True)
class World:
    """Rows of a table: the quasi-identifier that says whose group each is in, and one to three sensitive values."""

    rows: tuple[tuple[int, tuple[str | None, ...]], ...]
    policy: tuple[tuple[str, Any], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"s{place}" for place in range(len(self.rows[0][1])))

    @cached_property
    def frame(self) -> pl.DataFrame:
        own = {name: pl.Series([row[1][at] for row in self.rows], dtype=pl.String) for at, name in self.names}
        return pl.DataFrame({"q": [row[0] for row in self.rows], **own})

    @property
    def names(self) -> list[tuple[int, str]]:
        return list(enumerate(self.columns))

    @cached_property
    def schema(self) -> Schema:
        roles = {"q": "quasi", **dict.fromkeys(self.columns, "sensitive")}
        return Schema.read({"columns": roles, "policy": dict(self.policy)})

    @cached_property
    def table(self) -> Table:
        return Table.read(self.frame, self.schema)

    def harmless(self, column: str, value: str | None) -> bool:
        """By the words of the policy, nothing else."""
        known: Mapping[str, Any] = dict(self.policy)
        if value is None:
            return column not in known.get("missing_is_sensitive", ())
        listed = known.get("sensitive_values", {}).get(column)
        return value in known.get("harmless_values", {}).get(column, ()) or (listed is not None and value not in listed)

    def views(self) -> Iterator[tuple[tuple[str, ...], list[Any], list[bool]]]:
        """Each column, and all together: names, the value of each row, and whether it needs no protection."""
        free = [[self.harmless(n, row[1][at]) for at, n in self.names] for row in self.rows]
        for at, name in self.names:
            yield (name,), [row[1][at] for row in self.rows], [one[at] for one in free]
        if len(self.columns) > 1:
            yield self.columns, [row[1] for row in self.rows], [all(one) for one in free]

    def met(self, part: Requirement, groups: Sequence[Sequence[int]]) -> list[bool]:
        """Whether each group, given by its rows, meets a part in every column that the part fits."""
        named = {name for names in part.named_values for name in names} | {
            node for _, node in getattr(part, "guards", ())
        }
        found, asked = [True] * len(groups), False
        for names, values, free in self.views():
            if named and (len(names) > 1 or not named <= set(values)):
                continue
            asked = True
            code, tree = self._codes(names, values)
            if part.name in ANY and not part.named_values:
                code = [-1 - row if spared else one for row, (one, spared) in enumerate(zip(code, free, strict=True))]
            for at, rows in enumerate(groups):
                found[at] &= holds(part, [code[row] for row in rows], code, tree)
        return found if asked else []

    def _codes(self, names: tuple[str, ...], values: list[Any]) -> tuple[list[int], Any]:
        if len(names) == 1:
            tree = self.table.secrets[self.columns.index(names[0])].taxonomy
            return [tree.names.index(value) for value in values], tree
        number = {value: place for place, value in enumerate(dict.fromkeys(values))}
        return [number[value] for value in values], _flat(len(number))


def _flat(size: int) -> Taxonomy:
    series = pl.DataFrame({"q": [0] * size, "s": [f"v{n:03}" for n in range(size)]})
    return Table.read(series, Schema.of_columns(quasi=["q"], sensitive=["s"])).secrets[0].taxonomy


@st.composite
def worlds(draw: st.DrawFn, most: int = 14) -> World:
    columns = draw(st.integers(1, 3))
    row = st.tuples(st.integers(0, 2), st.tuples(*[st.sampled_from(VALUES)] * columns))
    rows = draw(st.lists(row, min_size=2, max_size=most))
    names = [f"s{place}" for place in range(columns)]
    some = st.lists(st.sampled_from(names), unique=True)
    listed = {name: draw(st.lists(st.sampled_from("abc"), unique=True, max_size=2)) for name in draw(some)}
    key = draw(st.sampled_from(["harmless_values", "sensitive_values"]))
    return World(tuple(rows), ((key, listed), ("missing_is_sensitive", draw(some))))


def grouped(world: World) -> list[list[int]]:
    keys = sorted({row[0] for row in world.rows})
    return [[at for at, row in enumerate(world.rows) if row[0] == key] for key in keys]


@pytest.mark.parametrize("text", TEXTS)
@examples(80)
@given(world=worlds())
def test_requirement_and_check_agree_with_rows(text: str, world: World) -> None:
    requirement, groups = parse(text), grouped(world)
    expected = [world.met(part, groups) for part in requirement.parts()]
    if not all(expected):
        with pytest.raises(RequirementError):
            by_column(requirement, world.table.margins, world.table.domain).fits(world.table.domain)
        return
    met = [all(one) for one in zip(*expected, strict=True)]
    of_row = np.unique(world.frame["q"].to_numpy(), return_inverse=True)[1].astype(np.int32)
    asked = by_column(requirement, world.table.margins, world.table.domain)
    assert asked.holds(Counts(of_row, world.table.sensitive, world.table.domain)).tolist() == met
    assert str(asked) == text
    assert meets({"release": world.frame}, world.schema, requirement, world.table.secrets) == all(met)
    found = check(world.frame, world.schema, requirement)
    assert found.met == all(met)
    for part, verdict, own in zip(requirement.parts(), found.verdicts, expected, strict=True):
        assert verdict.groups == own.count(False), part
        for column in verdict.columns:
            assert column in {*world.columns, ", ".join(world.columns)}


@examples(60)
@given(world=worlds())
def test_measures_are_the_thresholds_at_which_the_worst_column_fails(world: World) -> None:
    found, groups = check(world.frame, world.schema), grouped(world)
    for name in ("l", "m-unique"):
        value = int(found[name] or 0)
        assert value == 0 or all(world.met(parse(f"{name}={value}"), groups))
        assert not all(world.met(parse(f"{name}={value + 1}"), groups))
    share = found["confidence"]
    assert share is not None
    assert all(world.met(parse(f"confidence={share}"), groups))
    assert share < 1e-3 or not all(world.met(parse(f"confidence={share * 0.99}"), groups))
    for column, measures in found.columns.items():
        own = {one.name: one.value for one in measures}
        assert column in (*world.columns, ", ".join(world.columns))
        assert (own["l"] or 0) >= (found["l"] or 0)


@pytest.mark.parametrize("text", TEXTS)
@examples(60)
@given(world=worlds(), data=st.data())
def test_unions_and_additions_keep_what_the_flags_promise(text: str, world: World, data: Any) -> None:
    try:
        requirement = by_column(parse(text), world.table.margins, world.table.domain)
        requirement.fits(world.table.domain)
    except RequirementError:
        return
    halves = data.draw(st.lists(st.integers(0, 2), min_size=len(world.rows), max_size=len(world.rows)))
    at = np.array(halves, np.int32)

    def met(rows: Any) -> bool:
        sensitive = world.table.sensitive[rows]
        counts = Counts(np.zeros(len(sensitive), np.int32), sensitive, world.table.domain, 1)
        return bool(requirement.holds(counts)[0])

    first, second = at == 0, at == 1
    if not first.any() or not second.any():
        return
    if requirement.monotone and met(first) and met(second):
        assert met(first | second)
    if requirement.growing and met(first):
        assert met(first | second)


@pytest.mark.parametrize("text", ["l=2", "simple-l=2", "confidence=0.6", "entropy-l=1.5", "t=0.5", "recursive=3,2"])
@examples(60)
@given(world=worlds(most=7), data=st.data())
def test_a_coalition_breaks_what_rows_say_it_breaks(text: str, world: World, data: Any) -> None:
    """One provider takes any of its own records out of its group; what is left must meet the requirement."""
    size = len(world.rows)
    provider = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)), np.int64)
    requirement = parse(text)
    asked = by_column(requirement, world.table.margins, world.table.domain)
    groups = np.zeros(size, np.int64)
    given_ = Contributions.of_rows(groups, provider, world.table.sensitive.astype(np.int64), world.table.domain)
    people, kept = list(range(size)), True
    owners = set(provider.tolist())
    for member in owners if len(owners) > 1 else ():
        own = [row for row in people if provider[row] == member]
        for number in range(len(own) + 1):
            for gone in itertools.combinations(own, number):
                left = [row for row in people if row not in gone]
                kept &= all(world.met(requirement, [left])) if left else True
    if len(owners) == 1:
        kept = all(world.met(requirement, [people]))
    assert bool(private(given_, asked, 1)[0]) == kept


@examples(60)
@given(world=worlds(), data=st.data())
def test_people_with_several_rows_are_counted_once_in_each_column(world: World, data: Any) -> None:
    size = len(world.rows)
    people = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), np.int64)
    people = np.unique(people, return_inverse=True)[1].astype(np.int64)
    domain, sensitive = world.table.domain, world.table.sensitive
    asked = by_column(parse("confidence=0.6"), world.table.margins, domain)
    one = PeopleCounts(np.zeros(size, np.int32), sensitive, people, domain, 1)
    met = True
    for _, values, free in world.views():
        who = {(values[row], int(people[row])) for row in range(size) if not free[row]}
        most = max((sum(value == other for other, _ in who) for value, _ in who), default=1)
        met &= most / len(set(people.tolist())) <= 0.6
    assert bool(asked.holds(one)[0]) == met
    sets = value_sets(people, sensitive, domain)
    by_set = Counts(np.zeros(len(sets.of_person), np.int32), sets.of_person, domain, 1)
    by_set.domain = type(domain)(np.bincount(sets.of_person, minlength=sets.number))
    assert bool(asked.holds(sets.expand(by_set))[0]) == met


METHODS = {
    "pool": "k=2 & confidence=0.7",
    "mondrian": "k=2 & l=2",
    "topdown": "k=2 & simple-l=2",
    "incognito": "k=2 & entropy-l=1.5",
    "anatomy": "l=2",
    "mask": "k=2 & simple-l=2",
    "providers": "k=2 & l=2",
    "cohorts": "k=2 & l=2",
    "correspondence": "k=2",
    "invariance": "m-unique=2",
    "equivalence": "simple-l=2",
    "distinct": "m-unique=2",
}
OPTIONS: dict[str, dict[str, Any]] = {"equivalence": {"k": 2}, "cohorts": {"size": 2}}


@pytest.mark.parametrize("method", METHODS)
@examples(60)
@given(world=worlds(most=24), seed=st.integers(0, 9), data=st.data())
def test_no_method_publishes_what_rows_reject(method: str, world: World, seed: int, data: Any) -> None:
    size = len(world.rows)
    who = data.draw(st.lists(st.sampled_from(["north", "south"]), min_size=size, max_size=size))
    frame = world.frame.with_columns(id=pl.int_range(pl.len()), who=pl.Series(who))
    roles = {"q": "quasi", "id": "identifier", "who": "provider", **dict.fromkeys(world.columns, "sensitive")}
    schema = Schema.read({"columns": roles, "policy": dict(world.policy)})
    requirement = parse(METHODS[method])
    try:
        release = ri.anonymize(frame, schema, requirement, method=method, seed=seed, **OPTIONS.get(method, {}))
    except (DataError, NotMetError, RequirementError, SchemaError):
        return
    assert release.requirement == requirement
    published = check(release, schema, requirement)
    assert published.met
    if release.counterfeits or release.draft.sensitive is not None or release.draft.form != Form.GENERALIZED:
        return
    groups = release.draft.groups
    rows = [np.flatnonzero(groups == number).tolist() for number in range(int(groups.max(initial=-1)) + 1)]
    for part in requirement.parts():
        assert all(world.met(part, rows))
