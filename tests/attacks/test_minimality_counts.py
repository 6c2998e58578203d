"""Counting placements: three arithmetics and plain enumeration give the same numbers."""

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.papers.minimality.binomials import AlikeClasses, fast
from tests.attacks.binomials_twin import exact
from tests.effort import examples


def error_bound(blocks: list[AlikeClasses], sensitive: int) -> float:
    """A bound on the relative error of every credibility that `fast` gives."""
    copies = max(block.copies for block in blocks).bit_length()
    return float((sensitive + 4) * (2 * len(blocks) + 2 * copies + 4) * float(np.finfo(np.float64).eps))


def block(size: int, limit: int, copies: int = 1, known: int = 0, more: int = 0) -> AlikeClasses:
    """Classes that are fine while no more than 1/limit of size + more people are sensitive, `known` of them already."""
    j = np.arange(size + 1) + known
    return AlikeClasses(size, (j * limit <= size + more).astype(np.float64), copies)


def enumerated(blocks: list[AlikeClasses], sensitive: int) -> tuple[int, int, list[Fraction]]:
    """Straight from the definition: every placement one by one."""
    classes = [one for one in blocks for _ in range(one.copies)]
    owner = [number for number, one in enumerate(classes) for _ in range(one.size)]
    of_block = [place for place, one in enumerate(blocks) for _ in range(one.size * one.copies)]
    total, worlds, hits = 0, 0, [0] * len(blocks)
    for chosen in itertools.combinations(range(len(owner)), sensitive):
        total += 1
        counts = [0] * len(classes)
        for person in chosen:
            counts[owner[person]] += 1
        if all(one.fine[count] for one, count in zip(classes, counts, strict=True)):
            continue
        worlds += 1
        for person in chosen:
            hits[of_block[person]] += 1
    people = [one.people for one in blocks]
    if not worlds:
        return 0, total, [Fraction(sensitive, sum(people))] * len(blocks)
    return worlds, total, [Fraction(hit, mine * worlds) for hit, mine in zip(hits, people, strict=True)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[AlikeClasses], int]:
    limit = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    blocks = []
    for size in sizes:
        more = draw(st.integers(0, 3))
        blocks.append(block(size, limit, draw(st.integers(1, 2)), draw(st.integers(0, more)), more))
    people = sum(one.people for one in blocks)
    while people > 14:
        people -= blocks.pop().people
    return blocks, draw(st.integers(0, people))


@given(cases())
@examples(150)
def test_closed_form_and_floats_equal_enumeration(case: tuple[list[AlikeClasses], int]) -> None:
    blocks, sensitive = case
    worlds, total, shares = enumerated(blocks, sensitive)
    whole = exact(blocks, sensitive)
    assert (whole.worlds, whole.total, list(whole.credibility)) == (worlds, total, shares)
    odds = fast(blocks, sensitive)
    assert odds.kept == pytest.approx(worlds / total, rel=1e-13)
    assert odds.credibility == pytest.approx([float(share) for share in shares], rel=1e-13)


def test_table_vii_has_430_worlds() -> None:
    blocks = [block(2, 2, copies=2), block(10, 2)]
    whole = exact(blocks, 5)
    assert whole.worlds == 430
    assert whole.credibility == (Fraction(53, 86), Fraction(109, 430))


def test_nothing_excluded_gives_the_plain_share() -> None:
    odds = fast([block(1, 2), block(20, 2)], 21)
    assert odds.kept == 1
    assert odds.credibility == pytest.approx([1.0, 1.0])
    always = AlikeClasses(3, np.zeros(4))
    odds = fast([always, block(7, 2)], 4)
    assert odds.kept == pytest.approx(1, rel=1e-13)
    assert odds.credibility == pytest.approx([0.4, 0.4], rel=1e-13)


def test_chances_between_fine_and_not_weigh_the_placements() -> None:
    half = AlikeClasses(2, np.array([1.0, 1.0, 0.5]))
    odds = fast([half, AlikeClasses(2, np.ones(3))], 2)
    assert odds.kept == pytest.approx(0.5 / 6)
    assert odds.credibility == pytest.approx([1.0, 0.0])


LARGE = [
    ([block(400, 2), block(49_000, 2), block(50_600, 2)], 260),
    ([block(1, 2, 300), block(7, 2, 100), block(98_000, 2)], 120),
    ([block(300, 3), block(700, 3), block(99_000, 3)], 250),
    ([block(100_000, 400)], 300),
]


@pytest.mark.parametrize(("blocks", "sensitive"), LARGE)
def test_relative_error_stays_within_its_bound_up_to_a_hundred_thousand_people(
    blocks: list[AlikeClasses], sensitive: int
) -> None:
    merged = exact([_merged(one, sensitive) for one in blocks], sensitive)
    odds = fast(blocks, sensitive)
    bound = error_bound(blocks, sensitive)
    assert bound < 1e-9
    for approximate, share in zip(odds.credibility.tolist(), merged.credibility, strict=True):
        assert abs(Fraction(approximate) / share - 1) < bound if share else approximate == 0
    if merged.worlds / Fraction(merged.total) > Fraction(1, 10**300):
        assert abs(Fraction(odds.kept) * merged.total / merged.worlds - 1) < bound


def _merged(one: AlikeClasses, sensitive: int) -> AlikeClasses:
    """Classes that cannot break the rule are one class, so that whole numbers stay quick."""
    if one.copies > 1 and one.fine[: sensitive + 1].all():
        return AlikeClasses(one.people, np.ones(one.people + 1))
    return one


def test_a_violation_rarer_than_any_float_is_still_conditioned_on() -> None:
    odds = fast([block(1000, 2), block(99_000, 2)], 600)
    assert 0 < odds.kept < 1e-300
    assert 0.5 < odds.credibility[0] < 0.51
    assert odds.credibility[1] < 0.002


def test_many_different_sizes_take_seconds_not_hours() -> None:
    blocks = [block(size, 2) for size in range(1, 200)]
    started = time.process_time()
    odds = fast(blocks, 1500)
    assert time.process_time() - started < 10
    people = np.array([one.people for one in blocks])
    assert odds.credibility @ people == pytest.approx(1500, rel=1e-9)
