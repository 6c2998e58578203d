"""(c,k)-safety against worlds: what k implications can really disclose, in one group and across groups."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reissue.counting import Counts, Domain
from reissue.published import read_published
from reissue.requirements import CKSafety
from reissue.schema import Schema
from reissue.verify import CheckedGroups, judge, read_groups, worst_odds
from tests.effort import examples
from tests.requirements.definitions import disclosure

GROUPS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=2)
MORE_GROUPS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=2), min_size=3, max_size=3)
LIMITS = st.sampled_from([0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0])
SCHEMA = Schema.of_columns(quasi=["g"], sensitive=["s"])


def counted(groups: list[list[int]]) -> Counts:
    number = np.array([g for g, group in enumerate(groups) for _ in group], np.int32)
    codes = np.array([value for group in groups for value in group], np.int32)
    return Counts(number, codes, Domain(np.bincount(codes, minlength=int(codes.max()) + 1)))


def published(groups: list[list[int]]) -> CheckedGroups:
    frame = pl.DataFrame(
        {"g": [g for g, group in enumerate(groups) for _ in group], "s": [value for group in groups for value in group]}
    )
    return read_groups(read_published(frame, SCHEMA))


@examples(60)
@given(groups=st.one_of(GROUPS, MORE_GROUPS), k=st.integers(0, 2))
def test_the_check_finds_the_true_maximum_over_all_groups(groups: list[list[int]], k: int) -> None:
    odds = worst_odds(published(groups), k)
    assert np.allclose(1 / (1 + odds), [float(worst) for worst in disclosure(groups, k)], atol=1e-12)


@examples(60)
@given(groups=st.one_of(GROUPS, MORE_GROUPS), k=st.integers(0, 2), c=LIMITS)
def test_what_holds_group_by_group_is_safe_as_a_whole(groups: list[list[int]], k: int, c: float) -> None:
    safe = max(disclosure(groups, k)) < Fraction(repr(c))
    held = bool(CKSafety(c, k).holds(counted(groups)).all())
    assert safe or not held
    if k <= 1:
        assert safe == held
    assert bool(judge(CKSafety(c, k), published(groups)).all()) == safe


@examples(150)
@given(
    groups=st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=30), min_size=1, max_size=4),
    k=st.integers(0, 5),
    c=LIMITS,
)
def test_accepted_groups_pass_the_exact_check_whatever_stands_beside_them(
    groups: list[list[int]], k: int, c: float
) -> None:
    held = CKSafety(c, k).holds(counted(groups)).tolist()
    kept = [group for group, met in zip(groups, held, strict=True) if met]
    if kept:
        assert judge(CKSafety(c, k), published(kept)).all()
        assert CKSafety(c, k).holds(counted([[value for group in kept for value in group]])).all()


def test_groups_that_are_safe_alone_need_not_be_safe_together() -> None:
    """Facts about a second group help: each group alone stays at 0.8 or below, both together do not."""
    one = [0] * 100 + list(range(1, 101))
    other = [0] * 80 + [1] * 80 + list(range(2, 42))
    alone = [1 / (1 + worst_odds(published([g]), 2)[0]) for g in (one, other)]
    together = 1 / (1 + worst_odds(published([one, other]), 2))
    assert max(alone) < 0.81 < max(together)
    assert not CKSafety(0.81, 2).holds(counted([one, other])).all()


@examples(15)
@given(st.lists(st.integers(0, 1), min_size=2, max_size=3))
def test_no_implication_says_more_than_one_atom_implying_the_target(group: list[int]) -> None:
    """All implications "some atoms imply one of some atoms" on a tiny group, against the simple ones."""
    worlds = sorted(set(permutations(group)))
    atoms = [
        sum(1 << w for w, world in enumerate(worlds) if world[who] == value)
        for who, value in product(range(len(group)), sorted(set(group)))
    ]
    everything = (1 << len(worlds)) - 1
    conjunctions = {everything & _all(chosen) for chosen in _subsets(atoms)}
    disjunctions = {_any(chosen) for chosen in _subsets(atoms)}
    best = Fraction(0)
    for when, then in product(conjunctions, disjunctions):
        left = everything & (~when | then)
        if left:
            best = max([best, *(Fraction((atom & left).bit_count(), left.bit_count()) for atom in atoms)])
    assert best == max(disclosure([group], 1))


def _subsets(atoms: list[int]) -> list[list[int]]:
    return [[atom for place, atom in enumerate(atoms) if bits >> place & 1] for bits in range(1, 1 << len(atoms))]


def _all(masks: list[int]) -> int:
    together = -1
    for mask in masks:
        together &= mask
    return together


def _any(masks: list[int]) -> int:
    together = 0
    for mask in masks:
        together |= mask
    return together
