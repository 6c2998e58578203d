"""The start that is peeled off the lattice: groups of whole nodes, against the definition, and what it saves."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy, Table
from reissue.counting import Counts
from reissue.methods import Job
from reissue.methods.partition import peeling
from reissue.methods.partition.peeling import peeled
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.synth import Population
from reissue.synth import schema as patients
from tests.strategies import Case, tables

REQUIREMENTS = ["k=2", "k=3", "k=2 & simple-l=2", "k=2 & t=0.4", "simple-l=2"]


@given(tables(min_rows=2), st.sampled_from(REQUIREMENTS), st.booleans())
def test_every_group_meets_the_requirement(case: Case, require: str, tight: bool) -> None:
    table, requirement = Table.read(case.frame, case.schema).with_boxes(tight=tight), parse(require)
    group = peeled(Job(table, requirement, np.random.default_rng(0)))
    whole = Counts(np.zeros(table.rows, np.int64), table.sensitive, table.domain, 1)
    if group is None:
        assert not requirement.holds(whole)[0], "only what no grouping can meet is given up"
        return
    assert sorted(set(group.tolist())) == list(range(int(group.max()) + 1))
    assert requirement.holds(Counts(group, table.sensitive, table.domain)).all()
    # Whoever has the same quasi-identifiers, and value where values matter, stands in the same group.
    same = np.vstack([table.codes, table.sensitive if requirement.sensitive else np.zeros_like(table.sensitive)])
    assert len({(*row, one) for *row, one in np.vstack([same, group]).T.tolist()}) == len(
        set(map(tuple, same.T.tolist()))
    )


@given(tables(min_rows=2), st.floats(0, 1))
def test_a_start_that_loses_too_much_is_given_up_and_never_another_one(case: Case, share: float) -> None:
    table = Table.read(case.frame, case.schema)
    job, everything = Job(table, parse("k=2"), np.random.default_rng(0)), float(table.rows * len(table.codes))
    whole, some = peeled(job), peeled(job, share * everything)
    assert some is None or (whole is not None and (some == whole).all())
    sure = peeled(job, everything + 1e-6)
    assert (whole is None) == (sure is None)


def test_frequent_rows_stay_as_they_are_and_rare_ones_are_generalized() -> None:
    towns = ["oslo"] * 50 + ["umea"] * 50 + ["rome", "bari"]
    schema = Schema.of_columns(
        quasi=["town"],
        sensitive=["ill"],
        taxonomies={"town": Hierarchy(tree={"north": {"oslo": {}, "umea": {}}, "south": {"rome": {}, "bari": {}}})},
    )
    frame = pl.DataFrame({"town": towns, "ill": ["flu", "gout"] * 51})
    group = peeled(Job(Table.read(frame, schema), parse("k=2"), np.random.default_rng(0)))
    assert group is not None
    assert len({*group[:50]}) == len({*group[50:100]}) == 1
    assert group[100] == group[101] not in {group[0], group[50]}


def test_a_lattice_that_is_too_large_is_thinned_and_at_last_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.read(next(Population(seed=4, people=300).months(1)), patients())
    job = Job(table, parse("k=5"), np.random.default_rng(0))
    fine = peeled(job)
    monkeypatch.setattr(peeling, "_WORK", 100 * table.rows)
    coarse = peeled(job)
    monkeypatch.setattr(peeling, "_WORK", table.rows)
    assert peeled(job) is None
    assert fine is not None
    assert coarse is not None
    assert len(set(coarse.tolist())) < len(set(fine.tolist()))


def test_pool_loses_less_with_it_where_values_are_skewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many columns with a frequent value each, as in a census: whole branches need not be generalized for rare rows."""
    rng = np.random.default_rng(3)
    names = [f"q{number}" for number in range(8)]
    share = 0.5 ** np.arange(1, 7)
    columns = {name: rng.choice(list("abcdef"), 3000, p=share / share.sum()) for name in names}
    frame = pl.DataFrame(columns | {"ill": rng.choice(["flu", "gout"], 3000)})
    schema, found = Schema.of_columns(quasi=names, sensitive=["ill"]), []
    for start in (peeled, lambda *_: None):
        monkeypatch.setattr("reissue.methods.partition.pool.peeled", start)
        found.append(ri.measure(ri.anonymize(frame, schema, "k=50", effort="balanced", seed=1)).loss)
    assert found[0] < 0.95 * found[1]
