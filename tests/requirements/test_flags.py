"""What requirements claim about unions and growing groups."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.counting import Counts
from reissue.requirements import All, Requirement, parse, registered
from tests.effort import examples
from tests.requirements.strategies import Sample, requirements, samples


def judged(requirement: Requirement, sample: Sample, group: list[int]) -> bool:
    """Whether one group of leaf codes meets a requirement, beside the sample's table."""
    counts = Counts(np.zeros(len(group), np.int32), np.array(group, np.int32), sample.domain, 1)
    return bool(requirement.holds(counts)[0])


def drawn(data: Any, name: str) -> tuple[Sample, Requirement]:
    kind = "number" if name == "k-e" else data.draw(st.sampled_from(["tree", "number"]))
    return data.draw(samples(kind, most=24)), parse(data.draw(requirements(name, kind)))


@pytest.mark.parametrize("name", list(registered()))
@examples(80)
@given(data=st.data())
def test_a_monotone_requirement_survives_unions(name: str, data: Any) -> None:
    sample, requirement = drawn(data, name)
    good = [group for group in sample.groups if judged(requirement, sample, group)]
    for one, other in pairwise(good):
        if requirement.monotone:
            assert judged(requirement, sample, one + other)


@pytest.mark.parametrize("name", list(registered()))
@examples(50)
@given(data=st.data())
def test_a_growing_requirement_survives_additions(name: str, data: Any) -> None:
    sample, requirement = drawn(data, name)
    assert not requirement.growing or requirement.monotone
    for group in sample.groups if requirement.growing else ():
        if judged(requirement, sample, group):
            assert judged(requirement, sample, group + sample.groups[0][:1])


def test_what_is_not_claimed_does_not_hold() -> None:
    sample = Sample(((0, "flu"), (1, "cold"), (2, "ulcer"), (3, "none")))
    flu, cold = sample.groups[0][0], sample.groups[1][0]
    assert not parse("m-unique=2").monotone
    assert judged(parse("m-unique=2"), sample, [flu, cold])
    assert not judged(parse("m-unique=2"), sample, [flu, cold, flu, cold])
    guarded = parse("personalized=0.5:flu>infection")
    assert not guarded.monotone
    assert parse("personalized=0.5:infection").monotone
    other = sample.groups[3][0]
    assert judged(guarded, sample, [flu, other])
    assert judged(guarded, sample, [cold, cold])
    assert not judged(guarded, sample, [flu, other, cold, cold])
    for text in ("entropy-l=2", "recursive=2,2", "simple-l=2", "confidence=0.5", "alpha-k=0.5,2", "c-k=0.9,0"):
        assert not parse(text).growing
        assert judged(parse(text), sample, [flu, cold])
        assert not judged(parse(text), sample, [flu, cold] + [flu] * 20)


def test_together_they_claim_what_all_of_them_claim() -> None:
    both = parse("k=2") & parse("l=2")
    assert isinstance(both, All)
    assert (both.monotone, both.growing, both.sensitive) == (True, True, True)
    assert not (both & parse("m-unique=2")).monotone
    assert not (both & parse("entropy-l=2")).growing
    assert not (parse("k=2") & parse("k=3")).sensitive
