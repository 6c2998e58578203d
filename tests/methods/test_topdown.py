"""Top-down specialization: the contract, that every step was the best one, and that nothing was left to do."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table
from reissue._arrays import Codes
from reissue.errors import RequirementError
from reissue.methods import Job
from reissue.methods.lattice import cuts as cuts_module
from reissue.methods.lattice import topdown
from reissue.methods.lattice.cuts import Node
from reissue.requirements import KAnonymity, Requirement, parse
from reissue.schema import Schema
from reissue.testing.meanings import meets
from reissue.testing.releases import check_release, samples
from tests.effort import examples
from tests.strategies import Case, tables

SCORES = ("balanced", "loss", "squares")


@pytest.mark.parametrize("requirement", samples())
@examples(15)
@given(case=tables(), suppress=st.sampled_from([0.0, 0.2]), score=st.sampled_from(SCORES))
def test_contract(requirement: str, case: Case, suppress: float, score: str) -> None:
    check_release("topdown", case.frame, case.schema, requirement, suppress, score=score)


# --- a twin straight from the definition -----------------------------------------------------------------------------

Cut = tuple[Codes, ...]


def grouped(table: Table, cuts: Cut) -> dict[tuple[int, ...], list[int]]:
    together: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in range(table.rows):
        together[tuple(int(cut[code]) for cut, code in zip(cuts, table.codes[:, row], strict=True))].append(row)
    return together


def specializations(table: Table, cuts: Cut) -> Iterator[tuple[int, int, int, Cut]]:
    """Every node of the cuts that has children and rows: its attribute, interval, and the cuts with it specialized."""
    for place, (taxonomy, cut) in enumerate(zip(table.taxonomies, cuts, strict=True)):
        for lo in sorted(set(cut.tolist())):
            hi = int(np.flatnonzero(cut == lo)[-1])
            children = taxonomy.children(lo, hi)
            if children and ((table.codes[place] >= lo) & (table.codes[place] <= hi)).any():
                finer = cut.copy()
                for low, high in children:
                    finer[low : high + 1] = low
                yield place, lo, hi, (*cuts[:place], finer, *cuts[place + 1 :])


def valid(table: Table, cuts: Cut, requirement: Requirement) -> bool:
    everyone = range(table.rows)
    return all(meets(table, group, requirement, everyone) for group in grouped(table, cuts).values())


def total_loss(table: Table, cuts: Cut) -> float:
    return sum(
        float(taxonomy.loss(cut[codes], taxonomy.ends(cut)[codes]).sum())
        for taxonomy, cut, codes in zip(table.taxonomies, cuts, table.codes, strict=True)
    )


def score_of(table: Table, cuts: Cut, place: int, lo: int, hi: int, finer: Cut, score: str) -> float:
    touched = [g for g in grouped(table, cuts).values() if lo <= table.codes[place][g[0]] <= hi]
    pieces = [g for g in grouped(table, finer).values() if lo <= table.codes[place][g[0]] <= hi]
    if score == "squares":
        return float(sum(len(group) ** 2 for group in touched))
    saved = total_loss(table, cuts) - total_loss(table, finer)
    return saved * (min(map(len, pieces)) if score == "balanced" else 1)


@examples(120)
@given(
    case=tables(max_rows=16),
    requirement=st.sampled_from(["k=1", "k=2", "k=3", "l=2", "entropy-l=1.8", "t=0.4"]),
    score=st.sampled_from(SCORES),
)
def test_every_step_is_the_best_that_is_valid(case: Case, requirement: str, score: str) -> None:
    table, asked = Table.read(case.frame, case.schema), parse(requirement)
    steps = 0

    class Watched(topdown._Search):
        def _take(self, step: topdown._Step) -> list[Node]:
            nonlocal steps
            cuts = tuple(cut.copy() for cut in self.cuts.cuts)
            best = max(
                score_of(table, cuts, place, lo, hi, finer, score)
                for place, lo, hi, finer in specializations(table, cuts)
                if valid(table, finer, asked)
            )
            assert topdown._SCORES[score](step) == pytest.approx(best, abs=1e-9)
            nodes = super()._take(step)
            finer = tuple(self.cuts.cuts)
            assert valid(table, finer, asked)
            steps += 1
            return nodes

    search = Watched(Job(table, asked, np.random.default_rng(0), options={"score": score}))
    if not valid(table, tuple(np.zeros(size, np.int32) for size in table.sizes), asked):
        with pytest.raises(RequirementError, match="starts from all rows in one group"):
            search.run()
        return
    search.run()
    assert steps == search.taken


@examples(100)
@given(case=tables(max_rows=16), requirement=st.sampled_from(samples()), score=st.sampled_from(SCORES))
def test_nothing_is_left_to_specialize(case: Case, requirement: str, score: str) -> None:
    table, asked = Table.read(case.frame, case.schema), parse(requirement)
    try:
        asked.fits(table.domain)
        draft = topdown.topdown(Job(table, asked, np.random.default_rng(0), options={"score": score}))
    except RequirementError:
        return
    assert draft.cuts is not None
    assert not any(valid(table, finer, asked) for *_, finer in specializations(table, draft.cuts))
    expected = {frozenset(group) for group in grouped(table, draft.cuts).values()}
    assert {frozenset(np.flatnonzero(draft.groups == g).tolist()) for g in np.unique(draft.groups)} == expected


@examples(100)
@given(case=tables(min_rows=10), requirement=st.sampled_from(samples()), suppress=st.sampled_from([0.1, 0.3]))
def test_leaving_rows_out_pays(case: Case, requirement: str, suppress: float) -> None:
    """The loss it keeps is the loss there is, and never more than with all rows in one group."""
    table, asked = Table.read(case.frame, case.schema), parse(requirement)
    search = topdown._Search(Job(table, asked, np.random.default_rng(0), suppress, {"score": "balanced"}))
    try:
        asked.fits(table.domain)
        search.run()
    except RequirementError:
        return
    kept = np.flatnonzero(search.cuts.groups[search.of_row] >= 0)
    each = [
        taxonomy.loss(cut[codes[kept]], taxonomy.ends(cut)[codes[kept]])
        for taxonomy, cut, codes in zip(table.taxonomies, search.cuts.cuts, table.codes, strict=True)
    ]
    assert search.loss[search.of_row][kept] == pytest.approx(np.sum(each, axis=0))
    roots = tuple(np.zeros(size, np.int32) for size in table.sizes)
    lost = (table.rows - len(kept)) * len(table.codes)
    assert np.sum(each) + lost <= total_loss(table, roots) + 1e-9
    assert search.spare == int(suppress * table.rows + 1e-9) - (table.rows - len(kept))
    published = table.sensitive[kept] if asked.sensitive else table.sensitive
    assert search.domain.totals.tolist() == np.bincount(published, minlength=table.domain.size).tolist()


def test_cuts_may_stand_on_several_levels() -> None:
    tree = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    frame = pl.DataFrame({"q": ["a1", "a1", "a2", "a2", "b1", "b2"]})
    schema = Schema.of_columns(quasi=["q"], taxonomies={"q": Hierarchy("tree", tree=tree)})
    table = Table.read(frame, schema)
    draft = topdown.topdown(Job(table, KAnonymity(2), np.random.default_rng(0), options={"score": "balanced"}))
    assert draft.cuts is not None
    assert draft.cuts[0].tolist() == [0, 1, 2, 2]
    assert draft.groups[::2].tolist() == draft.groups[1::2].tolist()
    assert len(set(draft.groups.tolist())) == 3


def test_a_refused_node_is_looked_at_again_where_that_can_help() -> None:
    """Whoever has `a` guards N = {a, b}: too sure where q is split alone, not where r was split before."""
    frame = pl.DataFrame({"q": list("xxxyy"), "r": list("uuvuv"), "s": list("acbcc")})
    hierarchies = {"s": Hierarchy("tree", tree={"N": ["a", "b"], "c": []})}
    table = Table.read(frame, Schema.of_columns(quasi=["q", "r"], sensitive=["s"], taxonomies=hierarchies))
    asked = parse("personalized=0.5:a>N")
    assert not asked.monotone
    for score in SCORES:
        draft = topdown.topdown(Job(table, asked, np.random.default_rng(0), options={"score": score}))
        assert len(set(draft.groups.tolist())) == 4
        assert draft.notes == {"specialized": 2, "scored": 3}


def test_many_flat_values() -> None:
    values = [f"v{number}" for number in range(3000)]
    frame = pl.DataFrame({"q": list(itertools.chain(values, values)), "r": ["a"] * 6000})
    table = Table.read(frame, Schema.of_columns(quasi=["q", "r"]))
    draft = topdown.topdown(Job(table, KAnonymity(2), np.random.default_rng(0), options={"score": "loss"}))
    assert int(draft.groups.max()) == 2999


@examples(40)
@given(
    case=tables(min_rows=10),
    requirement=st.sampled_from(["k=2", "k=2 & l=2"]),
    suppress=st.sampled_from([0.0, 0.2]),
    score=st.sampled_from(SCORES),
)
def test_however_entries_are_counted(case: Case, requirement: str, suppress: float, score: str) -> None:
    """A few at a time or all at once, in an array of all keys or sorted."""
    table = Table.read(case.frame, case.schema)
    job = Job(table, parse(requirement), np.random.default_rng(0), suppress, {"score": score})
    if not job.requirement.holds(table.whole())[0]:
        return
    found = []
    for chunk, sparse in itertools.product((2, 1 << 17), (True, False)):
        with patch.object(cuts_module, "_CHUNK", chunk), patch.object(cuts_module, "_sparse", return_value=sparse):
            found.append(topdown.topdown(job))
    assert all((one.groups == found[0].groups).all() and one.notes == found[0].notes for one in found)
