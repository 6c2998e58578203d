"""Optimal m-confidentiality against all recodings and all worlds, the reduction of theorem 2, and MASK beside it."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.counting import Counts
from reissue.errors import CannotRunError, InputError, NotMetError, TaxonomyError
from reissue.papers.minimality.credible import credibility
from reissue.papers.minimality.linkage import linked_rows
from reissue.papers.optimal import Dag, optimal_confidentiality
from reissue.requirements import Requirement, parse
from reissue.schema import Schema
from tests.attacks.test_minimality import LEAVES, SCHEMA, TREE, VALUES, enumerated, tables
from tests.effort import examples

HIV = parse("simple-l=2:HIV")
NODES = [[leaf] for leaf in LEAVES] + [TREE["A"], TREE["B"], LEAVES]


def brute(table: pl.DataFrame, requirement: str, m: int) -> float | None:
    """The least loss over all sets of disjoint nodes, every credibility by enumeration of all worlds."""
    losses = []
    there = set(table["q"])
    for size in range(1, len(LEAVES) + 1):
        for nodes in combinations(NODES, size):
            values = [value for node in nodes for value in node]
            if len(values) > len(set(values)) or not there <= set(values):
                continue
            of_value = {value: place for place, node in enumerate(nodes) for value in node}
            shown = [nodes[of_value[value]] for value in table["q"]]
            texts = [node[0] if len(node) == 1 else str(node) for node in shown]
            if not meets(table, texts, requirement):
                continue
            asked = VALUES if ":" not in requirement else requirement.partition(":")[2]
            believed = [one for (_, value), one in enumerated(table, texts, requirement).items() if value in asked]
            if max(believed) <= 1 / m + 1e-9:
                losses.append(sum((len(node) - 1) / 4 for node in shown) / table.height)
    return min(losses, default=None)


def meets(table: pl.DataFrame, texts: list[str], requirement: str) -> bool:
    coded = ri.Table.read(table, SCHEMA)
    groups = pl.Series(texts).rank("dense").to_numpy().astype(np.int64) - 1
    counts = Counts(groups, coded.sensitive, coded.domain, int(groups.max()) + 1)
    return bool(parse(requirement).holds(counts).all())


@given(tables(), st.sampled_from(["simple-l=2:x", "simple-l=2", "confidence=0.5:x, z", "k=2 & simple-l=2:x"]))
@examples(40)
def test_global_recoding_against_all_recodings_and_worlds(table: pl.DataFrame, requirement: str) -> None:
    table = table.head(5)
    found = optimal_confidentiality(ri.Table.read(table, SCHEMA), parse(requirement), 2)
    expected = brute(table, requirement, 2)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.loss == pytest.approx(expected)


@given(tables())
@examples(15)
def test_local_recoding_against_all_recodings(table: pl.DataFrame) -> None:
    table = table.head(4)
    coded = ri.Table.read(table, SCHEMA)
    found = optimal_confidentiality(coded, parse("simple-l=2:x"), 2, local=True)
    least = None
    rule, choices = parse("simple-l=2:x"), [[node for node in NODES if value in node] for value in table["q"]]
    for shown in product(*choices):
        groups = pl.Series([str(node) for node in shown]).rank("dense").to_numpy().astype(np.int64) - 1
        if ours := m_confidential(coded, groups, [len(node) == 1 for node in shown], rule):
            loss = sum((len(node) - 1) / 4 for node in shown) / len(shown)
            least = loss if least is None else min(least, loss)
        assert ours in {True, False}
    assert (None if found is None else found.loss) == (None if least is None else pytest.approx(least))


def m_confidential(coded: ri.Table, groups: np.ndarray, single: list[bool], rule: Requirement) -> bool:
    """Whether a recoding is 2-confidential, its linkage counted anew."""
    total = int(groups.max()) + 1
    counts = Counts(groups, coded.sensitive, coded.domain, total)
    exact = np.array([single[int(np.flatnonzero(groups == group)[0])] for group in range(total)])
    of_row = np.unique(coded.codes[0], return_inverse=True)[1]
    linkage = linked_rows(of_row, of_row, groups, counts, exact)
    worst = credibility(linkage, rule).worst[linkage.placed > 0].max()
    return bool(rule.holds(counts).all()) and worst <= 0.5 + 1e-9


@pytest.mark.parametrize(
    ("triples", "covered"),
    [(["abc", "def", "bcd"], True), (["abc", "cde", "bdf"], False), (["ace", "bdf", "abf"], True)],
)
def test_theorem_2_exact_cover_by_3_sets(triples: list[str], covered: bool) -> None:
    """A value of the table belongs to several taxonomies, which overlap: a directed acyclic graph."""
    spare = [[f"{number}{place}" for place in range(3)] for number in range(len(triples))]
    rows = [(x, "HIV") for x in "abcdef"] + [(n, "none") for some in spare for n in some]
    table = ri.Table.read(
        pl.DataFrame(rows, ["q", "ill"], orient="row"), Schema.read({"q": "quasi", "ill": "sensitive"})
    )
    dags: list[Dag] = [[{*triple, *some}] for triple, some in zip(triples, spare, strict=True)]
    found = optimal_confidentiality(table, HIV, 2, taxonomies={"q": dags})
    e = 2 * 2 / (2 + len(triples))
    assert (found is not None and found.loss == pytest.approx(e)) == covered


def test_no_taxonomy_of_a_schema_has_a_value_with_two_parents() -> None:
    """Section 3 allows graphs; methods and published files go by trees, and say so."""
    cancer = {"cancer": ["lung", "skin"], "respiratory": ["lung", "asthma"]}
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], taxonomies={"q": ri.Hierarchy("tree", tree=cancer)})
    with pytest.raises(TaxonomyError, match="one parent"):
        ri.Table.read(pl.DataFrame({"q": ["lung", "skin"], "s": ["a", "b"]}), schema)


def test_table_xxi_mask_beside_the_optimum() -> None:
    """The optimum changes no value and has to publish one group; MASK changes one value and loses less."""
    rows = pl.DataFrame({"q": ["q1", "q2", "q3", "q3", "q4", "q4"], "ill": ["HIV", "HIV", "HIV", "no", "no", "no"]})
    tree = {"Q": ["q1", "q2"], "R": ["q3", "q4"]}
    schema = Schema.of_columns(quasi=["q"], sensitive=["ill"], taxonomies={"q": ri.Hierarchy("tree", tree=tree)})
    found = optimal_confidentiality(ri.Table.read(rows, schema), HIV, 2)
    made = ri.anonymize(rows, schema, "k=2 & simple-l=2:HIV", method="mask", seed=1)
    assert found is not None
    assert found.loss == 1.0
    lost = (made.frame["q"] == "Q").sum() * (1 / 3) / rows.height
    assert lost < found.loss
    assert made.draft.notes["changed"] == 1


def test_what_it_refuses() -> None:
    table = ri.Table.read(
        pl.DataFrame({"q": list("abcd"), "ill": ["HIV", "HIV", "no", "no"]}),
        Schema.read({"q": "quasi", "ill": "sensitive"}),
    )
    with pytest.raises(InputError, match="no quasi-identifier"):
        optimal_confidentiality(table, HIV, 2, taxonomies={"z": []})
    with pytest.raises(CannotRunError, match="cheapest recodings"):
        optimal_confidentiality(table, HIV, 2, budget=0)
    assert not issubclass(CannotRunError, NotMetError)
