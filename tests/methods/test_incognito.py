"""Incognito: the contract, and that what it finds is the best of the whole lattice, by exhaustive search."""

import itertools
import os
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table
from reissue.errors import InputError, RequirementError
from reissue.methods import Job, find
from reissue.methods.lattice.incognito import incognito
from reissue.requirements import KAnonymity, Requirement, parse
from reissue.schema import Schema
from reissue.testing.meanings import meets
from reissue.testing.releases import check_release, samples
from tests.effort import examples
from tests.strategies import Case, tables

LOSSES = ("cells", "discernibility", "groups")


@pytest.mark.parametrize("requirement", samples())
@examples(15)
@given(case=tables(), suppress=st.sampled_from([0.0, 0.2]), loss=st.sampled_from(LOSSES))
def test_contract(requirement: str, case: Case, suppress: float, loss: str) -> None:
    check_release("incognito", case.frame, case.schema, requirement, suppress, loss=loss)


def node_loss(table: Table, levels: tuple[int, ...], requirement: Requirement, spare: int, loss: str) -> float:
    """The loss at one node of the lattice straight from the definitions, row by row."""
    together: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in range(table.rows):
        rungs = zip(table.taxonomies, levels, table.codes[:, row].tolist(), strict=True)
        together[tuple(int(taxonomy.levels[level].node[code]) for taxonomy, level, code in rungs)].append(row)
    groups = list(together.values())
    kept, before = groups, None
    while kept != before:
        published = list(itertools.chain(*kept))
        kept, before = [group for group in kept if meets(table, group, requirement, published)], kept
    lost = table.rows - len(published)
    if lost > spare:
        return np.inf
    if loss == "discernibility":
        return sum(len(group) ** 2 for group in kept) + lost * table.rows
    if loss == "groups":
        return table.rows / max(len(kept), 1)
    total = float(lost * len(levels))
    for place, level in enumerate(levels):
        taxonomy = table.taxonomies[place]
        codes = table.codes[place][published]
        total += taxonomy.loss(taxonomy.levels[level].lo[codes], taxonomy.levels[level].hi[codes]).sum()
    return total / (table.rows * len(levels))


@examples(150)
@given(
    case=tables(max_rows=16),
    requirement=st.sampled_from(samples()),
    suppress=st.sampled_from([0.0, 0.1, 0.3]),
    loss=st.sampled_from(LOSSES),
)
def test_finds_the_optimum_of_the_whole_lattice(case: Case, requirement: str, suppress: float, loss: str) -> None:
    table, asked = Table.read(case.frame, case.schema), parse(requirement)
    try:
        asked.fits(table.domain)
    except RequirementError:
        return
    job = Job(table, asked, np.random.default_rng(0), suppress, {"loss": loss})
    heights = [range(taxonomy.height + 1) for taxonomy in table.taxonomies]
    best = min(node_loss(table, levels, asked, job.spare, loss) for levels in itertools.product(*heights))
    if np.isinf(best):
        with pytest.raises(RequirementError, match="No full-domain generalization"):
            incognito(job)
        return
    found = incognito(job).notes
    assert found["loss"] == pytest.approx(best)
    levels = tuple(found["levels"].values())
    assert node_loss(table, levels, asked, job.spare, loss) == pytest.approx(best)


def test_refuses_a_lattice_that_is_too_large() -> None:
    names = [f"q{number}" for number in range(24)]
    frame = pl.DataFrame({name: ["a", "b", "a", "b"] for name in names})
    schema = Schema.of_columns(quasi=names)
    with pytest.raises(InputError, match=r"24 quasi-identifiers.*'topdown'"):
        incognito(Job(Table.read(frame, schema), KAnonymity(2), np.random.default_rng(0), options={"loss": "cells"}))


def test_levels_without_effect_are_left_out() -> None:
    tree = {"A": {"B": ["x"]}, "C": {"D": ["y"]}}
    frame = pl.DataFrame({"q": ["x", "x", "y"]})
    schema = Schema.of_columns(quasi=["q"], taxonomies={"q": Hierarchy("tree", tree=tree)})
    settled = find("incognito").settle({})
    draft = incognito(Job(Table.read(frame, schema), KAnonymity(1), np.random.default_rng(0), options=settled))
    assert draft.notes["nodes"] == 2
    assert draft.notes["levels"] == {"q": 0}


def test_progress_ends_where_the_work_ends() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"q{place}": rng.integers(0, 40, 300) for place in range(4)})
    told: list[float] = []
    job = Job(
        Table.read(frame, Schema.of_columns(quasi=frame.columns)),
        KAnonymity(5),
        rng,
        0.1,
        {"loss": "groups"},
        told.append,
    )
    incognito(job)
    assert told
    assert all(0 <= share <= 1 for share in told)


# --- Adult -----------------------------------------------------------------------------------------------------------

ADULT = Path(os.environ.get("REISSUE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "adult"
NAMES = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "income")
needs_adult = pytest.mark.skipif(not ADULT.is_dir(), reason="needs the Adult data: set REISSUE_DATA")


def adult(names: tuple[str, ...]) -> Table:
    files = {name: "salary-class" if name == "income" else name for name in names}
    hierarchies = {name: Hierarchy("file", file=ADULT / "hierarchies" / f"{file}.csv") for name, file in files.items()}
    return Table.read(ADULT / "train.csv", Schema.of_columns(quasi=names, taxonomies=hierarchies))


@needs_adult
@pytest.mark.parametrize(("suppress", "most", "judged"), [(0.05, 0.2697, 700), (0.0, 0.6356, 300)])
def test_adult(suppress: float, most: float, judged: int) -> None:
    table = adult(NAMES)
    draft = incognito(Job(table, KAnonymity(5), np.random.default_rng(0), suppress, {"loss": "cells"}))
    assert draft.notes["loss"] <= most
    assert draft.notes["nodes"] == 12_960
    assert draft.notes["judged"] <= judged
    sizes = Counter(draft.groups.tolist())
    assert sizes.pop(-1, 0) <= suppress * table.rows
    assert min(sizes.values()) >= 5


@needs_adult
@pytest.mark.parametrize("suppress", [0.0, 0.02])
def test_adult_with_four_attributes_against_every_node(suppress: float) -> None:
    table = adult(("age", "education", "marital-status", "native-country"))
    job = Job(table, KAnonymity(5), np.random.default_rng(0), suppress, {"loss": "cells"})
    best = np.inf
    for levels in itertools.product(*(range(taxonomy.height + 1) for taxonomy in table.taxonomies)):
        rungs = [t.levels[level] for t, level in zip(table.taxonomies, levels, strict=True)]
        nodes = pl.DataFrame({str(a): rung.node[table.codes[a]] for a, rung in enumerate(rungs)})
        each = [t.loss(r.lo[c], r.hi[c]) for t, r, c in zip(table.taxonomies, rungs, table.codes, strict=True)]
        kept = nodes.select(pl.len().over(nodes.columns) >= 5).to_series().to_numpy()
        if (~kept).sum() <= job.spare:
            best = min(best, float(np.where(kept, np.mean(each, axis=0), 1.0).mean()))
    assert incognito(job).notes["loss"] == pytest.approx(best)
