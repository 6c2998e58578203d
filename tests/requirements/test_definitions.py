"""Every requirement and its independent check against the definition, on tiny random tables."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.requirements import TCloseness, parse, registered
from reissue.verify import distance, judge
from tests.effort import examples
from tests.requirements.definitions import emd, holds
from tests.requirements.strategies import Sample, requirements, samples

NUMERIC = {"k-e"}
NAMES = [name for name in registered() if name != "c-k"]


@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(data=st.data())
def test_holds_and_the_check_agree_with_the_definition(name: str, data: Any) -> None:
    kind = "number" if name in NUMERIC else data.draw(st.sampled_from(["tree", "number"]))
    sample: Sample = data.draw(samples(kind))
    requirement = parse(data.draw(requirements(name, kind)))
    if name == "t" and sample.tree.height < 2:
        requirement = TCloseness(float(getattr(requirement, "t", 1)))
    requirement.fits(sample.domain)
    expected = [holds(requirement, group, sample.everyone, sample.tree) for group in sample.groups]
    assert requirement.holds(sample.counts).tolist() == expected
    assert judge(requirement, sample.published).to_list() == expected


@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
@examples(50)
@given(sample=samples())
def test_distances_are_those_of_the_linear_program(kind: str, sample: Sample) -> None:
    expected = [emd(group, sample.everyone, sample.tree, kind) for group in sample.groups]
    assert distance(sample.published, kind).to_list() == pytest.approx(expected, abs=1e-9)
    for place, value in enumerate(expected):
        assert TCloseness(min(value + 1e-6, 1), kind).holds(sample.counts)[place]
        assert value < 1e-6 or not TCloseness(value - 1e-6, kind).holds(sample.counts)[place]


@examples(100)
@given(sample=samples())
def test_counted_again_from_the_published_columns(sample: Sample) -> None:
    assert sample.published.size.to_list() == [len(group) for group in sample.groups]
    assert sample.published.distinct.to_list() == [len(set(group)) for group in sample.groups]
    assert sample.published.domain.totals.tolist() == sample.domain.totals.tolist()
