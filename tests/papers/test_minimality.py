"""Wong, Fu, Wang, Pei 2009: every worked table, as printed.

The stored text of the paper has lost a few rows of tables I and XII; where two readings are possible, both are tested.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue import Hierarchy, Table
from reissue._arrays import Bools
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.counting import Counts, Domain
from reissue.papers.mechanism.attack import by_running, possible_worlds
from reissue.papers.mechanism.possible import Belief, Possible
from reissue.papers.mechanism.refusals import median_splits, sequence
from reissue.papers.minimality.attack import credibility, link
from reissue.published import read_published
from reissue.publishing.attack import attack
from reissue.requirements import CKSafety, Requirement, parse
from reissue.schema import Schema
from tests.attacks.refusals import by_refusals, full_domain, information_loss

QID = Hierarchy("tree", tree={"Q": ["q1", "q2", "q3"], "q4": {}})
EDUCATION = {"elementary": ["1st-4th", "5th-6th", "7th-8th"], "university": ["undergrad", "postgrad"]}
NON = "non-sensitive"


def rows(*parts: tuple[str, Any, int]) -> pl.DataFrame:
    """A table from (QID, value, how many)."""
    flat = [(qid, value) for qid, value, number in parts for _ in range(number)]
    return pl.DataFrame(flat, schema=["QID", "Disease"], orient="row")


def people(*parts: tuple[str, int]) -> pl.DataFrame:
    """An external table from (QID, how many)."""
    return pl.DataFrame({"QID": [qid for qid, number in parts for _ in range(number)]})


def schema(disease: Hierarchy | None = None) -> Schema:
    return Schema.of_columns(
        quasi=["QID"], sensitive=["Disease"], taxonomies={"QID": QID} | ({"Disease": disease} if disease else {})
    )


def finding(
    published: pl.DataFrame,
    external: pl.DataFrame,
    requirement: Requirement | str,
    limit: float | None = None,
    values: tuple[str, ...] = (),
) -> Finding:
    knowledge = Knowledge(population=external, requirement=requirement, values=values)
    limits = {"minimality": limit} if limit else {}
    return attack([published], schema(), only="minimality", knowledge=knowledge, limits=limits)["minimality"]


def believed(
    published: pl.DataFrame,
    external: pl.DataFrame,
    requirement: Requirement | str,
    value: str,
    disease: Hierarchy | None = None,
) -> dict[str, float]:
    """QID to the credibility of a value."""
    linkage = link(read_published({"release": published}, schema(disease)), external)
    parsed = parse(requirement) if isinstance(requirement, str) else requirement
    found = credibility(linkage, parsed, [value])
    return dict(zip(external["QID"], found.believed[linkage.of_row, 0].tolist(), strict=True))


# --- tables I and II -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [5, 6])
def test_table_i_c_and_d_link_andre_and_kim_to_hiv(others: int) -> None:
    external = people(("q1", 2), ("q2", others))
    glob = rows(("Q", "HIV", 2), ("Q", NON, others))
    local = rows(("Q", "HIV", 2), ("Q", NON, 2), ("q2", NON, others - 2))
    for published in (glob, local):
        assert believed(published, external, "simple-l=2:HIV", "HIV") == {"q1": 1.0, "q2": 0.0}
        found = finding(published, external, "simple-l=2:HIV")
        assert (found.status, found.people, found.worst, found.limit) == (Status.EXPOSED, 2, 1.0, 0.5)
        assert found.details["problematic"] == 2


def test_table_i_a_was_not_generalized_and_gives_nothing_away() -> None:
    published = rows(("q1", "HIV", 1), ("q1", NON, 1), ("q2", "HIV", 1), ("q2", NON, 5))
    found = finding(published, people(("q1", 2), ("q2", 6)), "simple-l=2:HIV")
    assert (found.status, found.worst) == (Status.WITHSTOOD, 0.5)


@pytest.mark.parametrize("named", [True, False])
def test_table_ii_people_multisets_and_supersets_tell_the_same(named: bool) -> None:
    same, more = people(("q1", 2), ("q2", 5)), people(("q1", 2), ("q2", 5), ("q4", 2))
    published = rows(("Q", "HIV", 2), ("Q", NON, 5))
    names = pl.Series(["Andre", "Kim", "Jeremy", "Victoria", "Ellen", "Sally", "Ben", "Tim", "Joseph"])
    for table in (same, more):
        external = (
            table.with_columns(Name=names.head(table.height)) if named else table.sample(fraction=1, shuffle=True)
        )
        assert believed(published, external, "simple-l=2:HIV", "HIV")["q1"] == 1.0
        assert finding(published, external, "simple-l=2:HIV").people == 2


def test_a_superset_without_matching_cardinality_is_counted_with_its_absent_people() -> None:
    """One of six q2 people is not in the data; enumerated by hand: q1 still has both HIV."""
    published = rows(("Q", "HIV", 2), ("Q", NON, 5))
    external = people(("q1", 2), ("q2", 6))
    found = believed(published, external, "simple-l=2:HIV", "HIV")
    # Worlds: 2 of q1 both present with both HIV (6 absentees), or one of q1 absent and the other with HIV (2 x 6).
    assert found["q1"] == pytest.approx((6 * 2 + 12 * 1) / (6 * 2 + 12 * 1))
    assert found["q2"] == pytest.approx(12 / (6 * 5 + 12 * 6))


# --- tables III and IV -----------------------------------------------------------------------------------------------

REST = [("Gallstones", 1), ("Lung Cancer", 1), ("Ulcer", 1), ("Alzheimer", 1), ("Diabetes", 1)]


def test_table_iii_all_values_sensitive() -> None:
    external = people(("q1", 2), ("q2", 5), ("q4", 2))
    apart = [("q4", "Ulcer", 1), ("q4", "Alzheimer", 1)]
    glob = rows(("Q", "HIV", 2), *(("Q", value, number) for value, number in REST), *apart)
    kept = {"Ulcer", "Alzheimer", "Diabetes"}
    local = rows(("Q", "HIV", 2), *(("q2" if value in kept else "Q", value, number) for value, number in REST), *apart)
    for published in (glob, local):
        assert believed(published, external, "simple-l=2", "HIV") == {"q1": 1.0, "q2": 0.0, "q4": 0.0}
        assert finding(published, external, "simple-l=2").people == 2


def test_table_iv_near_to_minimality() -> None:
    """3-diversity was used to reach 2-diversity, and still q1 is linked with 2/3."""
    external = people(("q1", 3), ("q2", 8))
    glob = rows(("Q", "HIV", 2), ("Q", NON, 9))
    local = rows(("Q", "HIV", 2), ("Q", NON, 5), ("q2", NON, 4))
    for published in (glob, local):
        assert believed(published, external, "simple-l=3:HIV", "HIV")["q1"] == pytest.approx(2 / 3)
        found = finding(published, external, "simple-l=3:HIV", limit=1 / 2)
        assert (found.status, found.people, found.limit) == (Status.EXPOSED, 3, 0.5)


# --- tables V to X ---------------------------------------------------------------------------------------------------


def test_tables_v_to_vii() -> None:
    external = people(("q1", 2), ("q2", 2), ("q3", 10))
    published = rows(("Q", "HIV", 5), ("Q", NON, 9))
    found = believed(published, external, "simple-l=2:HIV", "HIV")
    assert found == pytest.approx({"q1": 53 / 86, "q2": 53 / 86, "q3": 109 / 430})
    assert round(found["q1"], 3) == 0.616


def test_table_x_local_recoding() -> None:
    external = people(("q1", 5), ("q2", 8))
    published = rows(("q1", "HIV", 2), ("q1", NON, 2), ("Q", "HIV", 1), ("Q", NON, 1), ("q2", NON, 6), ("q2", "HIV", 1))
    found = believed(published, external, "simple-l=2:HIV", "HIV")
    assert found == pytest.approx({"q1": 3 / 5, "q2": 1 / 8})
    assert finding(published, external, "simple-l=2:HIV").people == 5


def test_theorem_1_nothing_excluded() -> None:
    """A class of one person has HIV or not; with every value sensitive it is broken in every world."""
    external = people(("q1", 1), ("q2", 3))
    published = rows(("Q", "HIV", 1), ("Q", "Flu", 1), ("Q", "Ulcer", 1), ("Q", "Cold", 1))
    found = finding(published, external, "simple-l=2")
    assert (found.status, found.worst, found.details["excluded"]) == (Status.WITHSTOOD, 0.25, 0)
    assert "Nothing can be excluded" in found.sentence


def test_lemma_2_an_exclusion_need_not_be_an_attack() -> None:
    external = people(("q1", 4), ("q2", 4))
    published = rows(("Q", "HIV", 3), ("Q", NON, 5))
    found = finding(published, external, "simple-l=2:HIV")
    assert found.details["excluded"] == 1
    assert found.status == Status.WITHSTOOD


# --- tables XI to XV: other requirements -----------------------------------------------------------------------------


def test_table_xi_recursive_diversity() -> None:
    external = people(("q1", 3), ("q2", 4))
    values = [("Diabetics", 1), ("HIV", 2), ("Lung Cancer", 1), ("Ulcer", 1), ("Alzhema", 1), ("Gallstones", 1)]
    kept = {"Ulcer", "Alzhema", "Gallstones"}
    glob = rows(*(("Q", value, number) for value, number in values))
    local = rows(*(("q2" if value in kept else "Q", value, number) for value, number in values))
    for published in (glob, local):
        found = believed(published, external, "recursive=3,3", "HIV")
        assert found == pytest.approx({"q1": 2 / 3, "q2": 0.0})
        assert finding(published, external, "recursive=3,3").people == 3


@pytest.mark.parametrize(("hiv", "total"), [(3, 8), (4, 10), (3, 10)])
def test_table_xii_t_closeness(hiv: int, total: int) -> None:
    external = people(("q1", 2), ("q2", total - 2))
    glob = rows(("Q", "HIV", hiv), ("Q", NON, total - hiv))
    found = believed(glob, external, "t=0.5", "HIV")
    assert found == pytest.approx({"q1": 1.0, "q2": (hiv - 2) / (total - 2)})


def test_table_xii_t_closeness_local() -> None:
    external = people(("q1", 2), ("q2", 7))
    local = rows(("Q", "HIV", 2), ("Q", NON, 4), ("q2", NON, 2), ("q2", "HIV", 1))
    assert believed(local, external, "t=0.5", "HIV") == pytest.approx({"q1": 1.0, "q2": 1 / 7})


def test_table_xiii_k_e() -> None:
    external = people(("q1", 2), ("q2", 3))
    glob = rows(("Q", 30, 2), ("Q", 20, 1), ("Q", 10, 1), ("Q", 40, 1))
    local = rows(("Q", 30, 2), ("Q", 20, 1), ("q2", 10, 1), ("q2", 40, 1))
    for published in (glob, local):
        assert believed(published, external, "k-e=2,5", "30") == {"q1": 1.0, "q2": 0.0}


@dataclass(frozen=True)
class _OnlyHIV(Requirement):
    """(c,k)-safety of one value: every other record counts as a value of its own, as the paper's table has it."""

    name: ClassVar[str] = "only-hiv"
    safety: CKSafety

    def holds(self, counts: Counts) -> Bools:
        assert counts.domain.taxonomy is not None
        hiv = counts.domain.taxonomy.names.index("HIV")
        group = np.repeat(counts.group, counts.count)
        value = np.repeat(counts.value, counts.count)
        value = np.where(value == hiv, 0, 1 + np.arange(len(value)))
        apart = Domain(np.ones(len(value) + 1, np.int64))
        return self.safety.holds(Counts(group, value, apart, counts.total))

    @classmethod
    def parse(cls, argument: str) -> Requirement:
        return cls(CKSafety.parse(argument))

    def __str__(self) -> str:
        return f"only-hiv={self.safety}"


def test_table_xiv_c_k_safety_and_any_requirement_of_ones_own() -> None:
    """The paper's k counts one implication more than ours (see requirements/safety.py)."""
    external = people(("q1", 3), ("q2", 13))
    glob = rows(("Q", "HIV", 2), ("Q", NON, 14))
    local = rows(("Q", "HIV", 2), ("Q", NON, 8), ("q2", NON, 6))
    for published in (glob, local):
        found = believed(published, external, _OnlyHIV(CKSafety(0.6, 1)), "HIV")
        assert found == pytest.approx({"q1": 2 / 3, "q2": 0.0})
    assert finding(glob, external, _OnlyHIV(CKSafety(0.6, 1)), 0.6, ("HIV",)).people == 3


def test_table_xv_personalized_privacy() -> None:
    education = Hierarchy("tree", tree=EDUCATION)
    external = people(("q1", 1), ("q2", 2))
    glob = rows(("Q", "1st-4th", 1), ("Q", "undergrad", 2))
    local = rows(("Q", "1st-4th", 1), ("Q", "undergrad", 1), ("q2", "undergrad", 1))
    for published in (glob, local):
        found = believed(published, external, "personalized=0.5:1st-4th>elementary", "1st-4th", education)
        assert found == {"q1": 1.0, "q2": 0.0}


# --- tables XVI to XX: attacks by mechanism --------------------------------------------------------------------------

XVI = pl.DataFrame(
    {
        "Gender": ["Male", "Female", "Female", "Female", "Female"],
        "Education": ["postgraduate", "undergraduate", "postgraduate", "undergraduate", "undergraduate"],
        "Disease": ["HIV", "HIV", NON, NON, NON],
    }
)
OTHER = ["1st-4th", "5th-6th", "7th-8th", "9th-10th", "11th", "12th", "vocational"]


def xvi() -> Table:
    """Figure 1 has nine leaves: going from undergraduate to university loses 1/8 on one of two attributes."""
    tree = {"university": ["undergraduate", "postgraduate"], "school": OTHER}
    gender, education = Hierarchy("flat"), Hierarchy("tree", tree=tree)
    plan = {"Gender": gender, "Education": education}
    return Table.read(XVI, Schema.of_columns(quasi=["Gender", "Education"], sensitive=["Disease"], taxonomies=plan))


def hiv(table: Table, belief: Belief) -> list[float]:
    assert table.domain.taxonomy is not None
    return [float(share) for share in belief.posterior[:, table.domain.taxonomy.names.index("HIV")]]


def test_tables_xvi_to_xviii_incognito() -> None:
    table = xvi()
    assert information_loss(table, (0, 1)) == pytest.approx(0.0625)
    assert information_loss(table, (1, 0)) == pytest.approx(0.5)
    groups = table.codes[1].astype(np.int64)
    published = Possible(np.unique(groups, return_inverse=True)[1], table.sensitive, table.domain)
    assert published.number == 6
    belief = by_refusals(published, full_domain(table, (1, 0)), parse("simple-l=2:HIV"))
    male, *others = hiv(table, belief)
    assert male == 1.0
    assert others == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])


def test_table_xviii_gives_nothing_away_by_minimality_alone() -> None:
    """Section 5.2.1: knowing only that the release is minimal does not single out the man."""
    table = xvi()
    published = pl.DataFrame({"Gender": "*", "Education": XVI["Education"], "Disease": XVI["Disease"]})
    linkage = link(read_published({"release": published}, table.schema), XVI.drop("Disease"))
    found = credibility(linkage, parse("simple-l=2:HIV"))
    assert found.worst[linkage.of_row][0] == 0.5


XIX = pl.DataFrame(
    {
        "Age": [36, 36, 31, 31, 31, 31],
        "Zipcode": [51102, 51104, 51101, 51102, 51104, 51105],
        "Disease": ["HIV", "HIV", NON, NON, NON, NON],
    }
)


def test_table_xix_mondrian() -> None:
    """With k = 2 our own Mondrian publishes table XIX (d); with k = 1 it could go on, which the paper overlooks."""
    plan = Schema.of_columns(quasi=["Age", "Zipcode"], sensitive=["Disease"])
    requirement = "k=2 & simple-l=2:HIV"
    release = ri.anonymize(XIX, plan, requirement, method="mondrian", seed=0)
    low, high = release.draft.groups[[0, 2, 3]], release.draft.groups[[1, 4, 5]]
    assert len(set(low)) == len(set(high)) == 1
    assert low[0] != high[0]
    possible = possible_worlds(release)
    assert possible.number == 9
    refusals = median_splits(release.table, release.draft.groups.astype(np.int64))
    belief = by_refusals(possible, refusals, parse(requirement))
    assert hiv(release.table, belief) == [1, 1, 0, 0, 0, 0]
    assert hiv(release.table, by_running(release)) == [1, 1, 0, 0, 0, 0]


def test_table_xx_zhang() -> None:
    """The sequence is the table itself, D1 (q1 and q2 become Q), D2 (all) and nothing; D1 was published."""
    original = rows(("q1", "HIV", 2), ("q2", NON, 6))
    table = Table.read(original, schema())
    q, everyone = table.codes[0].astype(np.int64), np.zeros(8, np.int64)
    possible = Possible(everyone, table.sensitive, table.domain)
    assert possible.number == 28
    belief = by_refusals(possible, sequence([q, everyone], 1), parse("simple-l=2:HIV"))
    assert belief.kept == 1
    assert hiv(table, belief) == [1, 1, 0, 0, 0, 0, 0, 0]


# --- table XXI: MASK -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("under", ["pool", "topdown"])
def test_table_xxi_mask(under: str) -> None:
    tree = Hierarchy("tree", tree={"Q": ["q1", "q2"], "q3": {}, "q4": {}})
    plan = Schema.of_columns(quasi=["QID"], sensitive=["Disease"], taxonomies={"QID": tree})
    raw = rows(("q1", "HIV", 1), ("q2", "HIV", 1), ("q3", "HIV", 1), ("q3", NON, 1), ("q4", NON, 2))
    release = ri.anonymize(raw, plan, "k=2 & simple-l=2:HIV", method="mask", seed=0, under=under)
    published = release.tables["release"].sort("QID", "Disease")
    expected = rows(("Q", "HIV", 1), ("Q", NON, 1), ("q3", "HIV", 1), ("q3", NON, 1), ("q4", NON, 2))
    assert published.equals(expected)
    notes = release.draft.notes
    assert (notes["breaking"], notes["alike"], notes["changed"]) == (1, 1, 1)


# --- section 7.1: two cases found in Adult ---------------------------------------------------------------------------


@pytest.mark.parametrize(("others", "kept"), [(2, 1), (17, 16)])
def test_the_adult_cases_of_section_7(others: int, kept: int) -> None:
    external = people(("q1", 1), ("q2", others))
    published = rows(("Q", "7th-8th", 1), ("Q", "HS-grad", 1), ("q2", "HS-grad", kept))
    education = Hierarchy("tree", tree={**EDUCATION, "HS-grad": {}})
    assert believed(published, external, "simple-l=2:elementary", "elementary", education)["q1"] == 1.0


def test_our_own_release_of_table_i_is_attacked_by_its_holder() -> None:
    original = rows(("q1", "HIV", 2), ("q2", NON, 6))
    release = ri.anonymize(original, schema(), "simple-l=2:HIV", method="pool", seed=0)
    found = attack([release], schema(), only="minimality")["minimality"]
    assert (found.status, found.worst) == (Status.EXPOSED, 1.0)


def test_a_release_without_what_the_adversary_needs_is_not_attacked() -> None:
    published = rows(("Q", "HIV", 2), ("Q", NON, 5))
    found = attack([published], schema(), only="minimality")["minimality"]
    assert found.status == Status.NOT_RUN
    knowledge = Knowledge(requirement="simple-l=2:HIV")
    assert attack([published], schema(), only="minimality", knowledge=knowledge)["minimality"].status == Status.NOT_RUN
