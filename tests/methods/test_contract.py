"""The contract itself: it passes the simplest correct method and catches each kind of broken one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue._arrays import Codes
from reissue.errors import InternalError
from reissue.methods import Algorithm, Job, registry
from reissue.release.form import Form
from reissue.release.release import Draft
from reissue.requirements import parse, registered
from reissue.schema import Schema
from reissue.testing.meanings import lies_under
from reissue.testing.releases import SAMPLES, check_release, samples
from tests.effort import examples
from tests.strategies import Case, tables


def one_group(job: Job) -> Draft:
    return Draft(np.zeros(job.table.rows, np.int32))


def one_group_less_one(job: Job) -> Draft:
    groups = np.zeros(job.table.rows, np.int32)
    groups[0] = -1
    return Draft(groups)


def halves(job: Job) -> Draft:
    return Draft((np.arange(job.table.rows) % 2).astype(np.int32))


def wrong_cuts(job: Job) -> Draft:
    """All rows in one group, published as if every value were the first."""
    cuts: tuple[Codes, ...] = tuple(taxonomy.cut(0) for taxonomy in job.table.taxonomies)
    return Draft(np.zeros(job.table.rows, np.int32), cuts)


def buckets(job: Job) -> Draft:
    return Draft(np.zeros(job.table.rows, np.int32), form=Form.TWO_TABLES)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for run in (one_group, one_group_less_one, halves, wrong_cuts, buckets):
        monkeypatch.setitem(registry._REGISTRY, run.__name__, Algorithm(run.__name__, run, "For tests."))


@examples(40)
@given(tables(), st.sampled_from([text for text in samples() if parse(text).monotone]))
@pytest.mark.parametrize("method", ["one_group", "buckets"])
def test_the_simplest_methods_keep_the_contract(method: str, case: Case, requirement: str) -> None:
    check_release(method, case.frame, case.schema, requirement)


def test_every_requirement_has_samples() -> None:
    assert set(SAMPLES) >= set(registered()), "add the new requirement to SAMPLES"
    assert set(samples()) == {text for texts in SAMPLES.values() for text in texts}


CASE = Case(
    pl.DataFrame({"q0": ["p", "q", "p", "q"], "secret": ["s", "s", "t", "t"]}),
    Schema.of_columns(quasi=["q0"], sensitive=["secret"]),
)


@pytest.mark.parametrize(
    ("method", "requirement", "complaint"),
    [("one_group_less_one", "k=2", "left out"), ("halves", "k=3", "does not meet"), ("wrong_cuts", "k=2", "not under")],
)
def test_broken_methods_are_caught(method: str, requirement: str, complaint: str) -> None:
    with pytest.raises((AssertionError, InternalError), match=complaint):
        check_release(method, CASE.frame, CASE.schema, requirement)
    assert check_release("one_group_less_one", CASE.frame, CASE.schema, "k=2", suppress=0.25)


@pytest.mark.parametrize(
    ("value", "text", "hierarchy", "expected"),
    [
        ("112", "11*", Hierarchy("prefix", prefix=(2,)), True),
        ("112", "12*", Hierarchy("prefix", prefix=(2,)), False),
        ("x", "A", Hierarchy("tree", tree={"A": ["x"], "B": ["y"]}), True),
        ("y", "A", Hierarchy("tree", tree={"A": ["x"], "B": ["y"]}), False),
        (4, "[2, 4]", Hierarchy("ranges", ranges=(2,)), True),
        (4.0, "[2, 4)", Hierarchy("ranges", ranges=(2,)), False),
        (None, "*", Hierarchy("flat"), True),
        (None, None, Hierarchy("flat"), True),
        (None, "x", Hierarchy("flat"), False),
        ("x", None, Hierarchy("flat"), False),
        ("x", "y", Hierarchy("flat"), False),
    ],
)
def test_lies_under(value: object, text: str | None, hierarchy: Hierarchy, expected: bool) -> None:
    assert lies_under(value, text, hierarchy) == expected
