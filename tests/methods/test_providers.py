"""Provider-aware partitioning: the contract, m-privacy by its definition, and never more loss than the baseline."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table, anonymize
from reissue.errors import DataError, InputError, RequirementError, SchemaError
from reissue.methods import Job
from reissue.papers.coalition.exact import worst_coalition
from reissue.papers.coalition.search import STRATEGIES, Group
from reissue.papers.providers import _by_name, _followed, _most_first, providers
from reissue.release.recode import boxes_of
from reissue.release.release import Draft
from reissue.requirements import parse
from reissue.schema import Role, Schema
from reissue.testing.releases import ROW, check_release, published_groups, samples
from tests.attacks import test_coalition_search as definition
from tests.effort import examples
from tests.strategies import Case, tables

WAYS = [{"choose": "best"}, {"choose": "last"}, {"choose": "first"}, {"choose": "fitness"}, {"aware": False}]


def with_providers(case: Case, seed: int, number: int = 3) -> tuple[pl.DataFrame, Schema]:
    """The case with a column that names one of some providers, the first ones more often."""
    names = np.random.default_rng(seed).geometric(0.5, case.frame.height).clip(1, number)
    frame = case.frame.with_columns(pl.Series("from", [f"P{name}" for name in names]))
    return frame, replace(case.schema.with_roles({"from": Role.PROVIDER}), several_rows=False)


@pytest.mark.parametrize("way", WAYS, ids=str)
@examples(40)
@given(case=tables(), requirement=st.sampled_from(samples()), seed=st.integers(0, 99))
def test_contract(way: dict[str, Any], requirement: str, case: Case, seed: int) -> None:
    frame, schema = with_providers(case, seed)
    check_release("providers", frame, schema, requirement, m=0, **way)


def group_of(table: Table, rows: list[int]) -> Group:
    """One published group by provider and value."""
    names, provider = np.unique(table.frame["from"].to_numpy()[rows], return_inverse=True)
    values, value = np.unique(table.sensitive[rows], return_inverse=True)
    counts = np.zeros((len(names), len(values)), np.int64)
    np.add.at(counts, (provider, value), 1)
    return Group(counts, values.astype(np.int64), table.domain)


RULES = [
    "k=2",
    "l=2",
    "k=3 & l=2",
    "entropy-l=1.5",
    "confidence=0.7",
    "simple-l=2",
    "t=0.5",
    "recursive=2,2",
    "m-unique=2",
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@examples(40)
@given(
    case=tables(max_rows=14, max_quasi=2, sensitive="flat"),
    rule=st.sampled_from(RULES),
    m=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_every_published_group_is_private(way: dict[str, Any], case: Case, rule: str, m: int, seed: int) -> None:
    frame, schema = with_providers(case, seed)
    frame, schema = frame.with_columns(pl.Series(ROW, range(frame.height))), schema.with_roles({ROW: Role.KEEP})
    try:
        release = anonymize(frame, schema, rule, method="providers", m=m, seed=1, **way)
    except RequirementError:
        whole = Table.read(frame, schema)
        group = group_of(whole, list(range(whole.rows)))
        assert worst_coalition(group, parse(rule), m).coalition is not None, "refused for nothing"
        return
    for rows in published_groups(release):
        group = group_of(release.table, rows)
        verdict = worst_coalition(group, parse(rule), m)
        assert verdict.coalition is None
        if group.providers <= 3 and group.sizes.sum() <= 10:
            assert definition.private(group, parse(rule), m)


@pytest.mark.parametrize("strategy", STRATEGIES)
@examples(10)
@given(
    case=tables(max_rows=14, max_quasi=2),
    rule=st.sampled_from(RULES[:6]),
    m=st.integers(0, 3),
    seed=st.integers(0, 99),
    way=st.sampled_from(WAYS),
    alpha=st.sampled_from([None, 0.0, 0.3, 1.0]),
)
def test_every_way_of_verifying_gives_the_same_release(
    strategy: str, case: Case, rule: str, m: int, seed: int, way: dict[str, Any], alpha: float | None
) -> None:
    table = Table.read(*with_providers(case, seed))
    try:
        expected = draft_of(table, rule, m=m, **way).groups
    except RequirementError:
        with pytest.raises(RequirementError):
            draft_of(table, rule, m=m, verify=strategy, verify_alpha=alpha, **way)
        return
    found = draft_of(table, rule, m=m, verify=strategy, verify_alpha=alpha, **way).groups
    assert found.tolist() == expected.tolist()


def test_the_weight_of_values_decides_between_splits() -> None:
    """Cutting by age leaves larger halves, cutting by place leaves halves with more values: alpha says which counts."""
    ages, places, values = [1, 1, 1, 1, 2, 2, 2, 2], list("nsnsnsns"), list("abababab")
    frame = pl.DataFrame({"age": ages, "place": places, "ill": values, "from": ["P", "Q"] * 4})
    frame = pl.concat([frame, frame.head(3).with_columns(age=pl.lit(2, pl.Int64), place=pl.lit("s"), ill=pl.lit("a"))])
    schema = replace(
        Schema({"age": Role.QUASI, "place": Role.QUASI, "ill": Role.SENSITIVE, "from": Role.PROVIDER}),
        several_rows=False,
    )
    table = Table.read(frame, schema)
    found = {a: draft_of(table, "k=2 & l=1", m=0, choose="fitness", alpha=a).groups.tolist() for a in (0.0, 1.0)}
    assert found[0.0] != found[1.0]


def test_weights_lie_between_0_and_1_and_too_long_a_search_is_refused() -> None:
    frame = pl.DataFrame({"age": range(40), "ill": list("abcd") * 10, "from": [f"P{n % 30}" for n in range(40)]})
    roles = {"age": Role.QUASI, "ill": Role.SENSITIVE, "from": Role.PROVIDER}
    table = Table.read(frame, replace(Schema(roles), several_rows=False))
    with pytest.raises(InputError, match="between 0 and 1"):
        draft_of(table, "k=2", alpha=2)
    with pytest.raises(RequirementError, match=r"checks more than 20,000 coalitions.*verify=bounds"):
        draft_of(table, "k=2", m=15, verify="direct")


def loss(table: Table, draft: Draft) -> float:
    boxes = boxes_of(table, draft)
    widths = [t.loss(lo, hi) for t, lo, hi in zip(table.taxonomies, boxes.lo, boxes.hi, strict=True)]
    return float(sum(width @ boxes.sizes for width in widths))


def draft_of(table: Table, rule: str, **options: Any) -> Draft:
    return providers(Job(table, parse(rule), np.random.default_rng(0), options=options))


@examples(60)
@given(
    case=tables(min_rows=6, max_rows=60), rule=st.sampled_from(RULES[:6]), m=st.integers(0, 3), seed=st.integers(0, 99)
)
def test_the_baseline_never_loses_less(case: Case, rule: str, m: int, seed: int) -> None:
    frame, schema = with_providers(case, seed)
    table = Table.read(frame, schema)
    try:
        baseline = draft_of(table, rule, m=m, aware=False)
    except RequirementError:
        return
    best = draft_of(table, rule, m=m)
    assert loss(table, best) <= loss(table, baseline) + 1e-9
    if not parse(rule).growing:
        return
    last = draft_of(table, rule, m=m, choose="last")
    for group in np.unique(last.groups):
        assert len(np.unique(baseline.groups[last.groups == group])) == 1, "inside one of the baseline's groups"
    assert loss(table, last) <= loss(table, baseline) + 1e-9


def test_many_colluding_providers_are_split_first() -> None:
    """Ten providers, nine of which may collude: only groups of one provider stay small."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "q": rng.integers(0, 100, 3000),
            "s": rng.integers(0, 8, 3000),
            "from": rng.choice([f"P{n}" for n in range(10)], 3000),
        }
    )
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], provider="from", several_rows=False)
    aware = anonymize(frame, schema, "k=5 & l=2", method="providers", m=9, seed=0)
    blind = anonymize(frame, schema, "k=5 & l=2", method="providers", m=9, aware=False, seed=0)
    first = anonymize(frame, schema, "k=5 & l=2", method="providers", m=9, choose="first", seed=0)
    codes, groups = _by_name(first.table), first.draft.groups
    assert len(np.unique(groups * 10 + codes)) == len(np.unique(groups)), "one provider to a group"
    assert aware.groups > 10 * blind.groups


def test_joining_follows_to_the_end() -> None:
    assert _followed(np.array([1, 2, 2, 3])).tolist() == [2, 2, 2, 3]
    assert _followed(np.array([1, 0, 2])).tolist() == [0, 0, 2]


def simple(names: list[str | None]) -> tuple[pl.DataFrame, Schema]:
    frame = pl.DataFrame({"q": range(len(names)), "s": ["a", "b"] * (len(names) // 2), "from": names})
    return frame, Schema.of_columns(quasi=["q"], sensitive=["s"], provider="from", several_rows=False)


def test_the_largest_provider_has_the_first_code() -> None:
    named = _by_name(Table.read(*simple(["B", "C", "B", "C", "C", "A"])))
    assert named.tolist() == [1, 2, 1, 2, 2, 0]
    assert _most_first(named).tolist() == [1, 0, 1, 0, 0, 2]
    assert _most_first(np.array([1, 0, 2, 2, 1, 0])).tolist() == [1, 0, 2, 2, 1, 0], "as many: by name"


def test_refusals() -> None:
    frame, schema = simple(["A", "B", "A", "B"])
    with pytest.raises(SchemaError, match="provider"):
        anonymize(frame, schema.with_roles({"from": Role.DROP}), "k=2", method="providers")
    with pytest.raises(DataError, match="missing in 1 rows"):
        anonymize(*simple(["A", "B", None, "B"]), "k=2", method="providers")
    with pytest.raises(RequirementError, match="k=3 against any 1 of its providers"):
        anonymize(frame, schema, "k=3", method="providers", m=1)
    for wrong in (-1, 1.5, True, "two"):
        with pytest.raises(InputError, match="'m'"):
            anonymize(frame, schema, "k=2", method="providers", m=wrong)


@pytest.mark.slow
def test_adult_sized_tables_take_little_time() -> None:
    from time import process_time

    rng = np.random.default_rng(0)
    rows = 45_000
    share = np.exp(-0.3 * np.arange(10))
    frame = pl.DataFrame(
        {f"q{place}": rng.integers(0, size, rows) for place, size in enumerate([74, 16, 7, 14, 5, 2, 41])}
    )
    frame = frame.with_columns(
        pl.Series("s", rng.integers(0, 14, rows)), pl.Series("from", rng.choice(10, rows, p=share / share.sum()))
    )
    table = Table.read(
        frame, Schema.of_columns(quasi=frame.columns[:7], sensitive=["s"], provider="from", several_rows=False)
    )
    draft_of(table, "k=15 & l=5", m=3)
    start = process_time()
    draft_of(table, "k=15 & l=5", m=3)
    assert process_time() - start < 2
