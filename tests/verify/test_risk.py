"""Risk numbers by their definitions, on tables that can be counted by hand, and by second formulas."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb, exp, log, prod
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import check
from reissue.errors import DataError, InputError, SchemaError
from reissue.verify import PRESETS, RiskInputs
from reissue.verify.risk.models import households_of, individual_risk, some_columns

SCHEMA = ri.Schema.of_columns(quasi=["age", "zip"], sensitive=["disease"])
PUBLISHED = pl.DataFrame(
    {
        "age": ["[20, 29]"] * 3 + ["[30, 39]"] * 2,
        "zip": ["53711"] * 5,
        "disease": ["flu", "flu", "cold", "flu", "cold"],
        "weight": [10, 20, 30, 5, 5],
        "home": ["a", "a", "b", "c", "b"],
    }
)
"""Groups of 3 and of 2."""
REGISTER = pl.DataFrame({"age": [20, 21, 22, 25, 29, 30, 31, 35, 60], "zip": ["53711"] * 9})
"""5 people fit the first group, 3 the second, 1 none."""


def measured(**inputs: Any) -> Any:
    risk = check(PUBLISHED, SCHEMA, **inputs).risk
    assert risk is not None
    return risk


def test_prosecutor_and_marketer() -> None:
    risk = measured(threshold=0.4)
    assert (risk.records, risk.alone, risk.threshold) == (5, 0, 0.4)
    assert [one.name for one in risk.attackers] == ["prosecutor", "marketer"]
    assert (risk["prosecutor"].largest, risk["prosecutor"].above) == (1 / 2, 2 / 5)
    assert risk["prosecutor"].average == risk["marketer"].average == pytest.approx(2 / 5)  # groups / records
    assert risk["marketer"].largest is None
    with pytest.raises(KeyError, match="needs a register"):
        risk["journalist"]


def test_register() -> None:
    risk = measured(population=REGISTER, threshold=0.3)
    journalist = risk["journalist"]
    assert (journalist.largest, journalist.above) == (1 / 3, 2 / 5)
    mean = (3 * Fraction(1, 5) + 2 * Fraction(1, 3)) / 5
    assert risk["marketer"].average == pytest.approx(float(mean))
    assert journalist.average == pytest.approx(float(max(mean, Fraction(2, 8))))
    assert (risk.register.people, risk.register.k_map) == (9, 3)
    assert risk.register.presence == (0, 2 / 3)  # whoever is 60 is not in it; 2 of the 3 in their thirties are
    everyone = measured(population=REGISTER.head(8))
    assert everyone.register.presence == (3 / 5, 2 / 3)


def test_people_who_fit_several_groups_have_no_presence() -> None:
    wide = PUBLISHED.with_columns(age=pl.Series(["[20, 35]"] * 3 + ["[30, 39]"] * 2))
    risk = check(wide, SCHEMA, population=REGISTER).risk
    assert risk is not None
    assert risk.register is not None
    assert risk.register.presence is None
    assert "not known" in str(risk.sentences)


def test_a_register_that_lacks_people_is_refused() -> None:
    with pytest.raises(DataError, match="1 group there are more records than people"):
        measured(population=REGISTER.filter(pl.col("age") != 30).head(6))


def test_journalist_by_sampling_and_by_weights() -> None:
    by_fraction, by_weights = measured(sampling=0.1), measured(weights="weight")
    assert by_fraction["journalist"].largest == pytest.approx(negative_binomial(2, Fraction(1, 10)))
    first, second = negative_binomial(3, Fraction(3, 60)), negative_binomial(2, Fraction(2, 10))
    assert by_weights["journalist"].largest == pytest.approx(second)
    assert by_weights["marketer"].average == pytest.approx((3 * first + 2 * second) / 5)
    assert by_weights.uniqueness.fraction == pytest.approx(5 / 70)
    assert by_weights.uniqueness.people == 0
    assert measured(sampling=1.0)["journalist"].largest == 1 / 2


def negative_binomial(records: int, share: Fraction) -> float:
    """E(1/F) summed from the distribution itself: F draws until `records` successes."""
    p, total = float(share), 0.0
    for people in range(records, 4000):
        total += comb(people - 1, records - 1) * exp(records * log(p) + (people - records) * log(1 - p)) / people
    return total


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9, 0.999999])
def test_individual_risk_is_the_closed_form(p: float) -> None:
    odds = p / (1 - p)
    found = individual_risk(np.array([1, 2]), np.array([1 / p, 2 / p]))
    assert found[0] == pytest.approx(odds * log(1 / p))
    # Two terms that nearly cancel where p is nearly 1.
    assert found[1] == pytest.approx(odds - odds**2 * log(1 / p), rel=1e-3 if p > 0.99 else 1e-9)


@given(st.integers(1, 40), st.floats(0.05, 1))
def test_individual_risk_is_the_sum_over_populations(records: int, share: float) -> None:
    found = float(individual_risk(np.array([records]), np.array([records / share]))[0])
    expected = 1 / records if share == 1 else negative_binomial(records, Fraction(share))
    assert found == pytest.approx(expected, rel=1e-6)


def test_households() -> None:
    homes = measured(household="home", population=REGISTER, threshold=0.35).households
    risks = {"a": [0.2, 0.2], "b": [0.2, 1 / 3], "c": [1 / 3]}
    found = [1 - prod(1 - risk for risk in members) for members in risks.values()]
    assert (homes.households, homes.largest) == (3, pytest.approx(max(found)))
    assert homes.average == pytest.approx(sum(found) / 3)
    assert homes.expected == pytest.approx(sum(found))
    assert homes.above == pytest.approx(2 / 3)
    certain = households_of(np.array([0, 0, 1]), np.array([1.0, 0.5, 0.5]), 0.9)
    assert (certain.largest, certain.average, certain.above) == (1, 0.75, 0.5)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1), st.integers(1, 3))
def test_any_columns_against_counting(rows: list[tuple[int, ...]], known: int) -> None:
    columns = [(np.array(column), 4) for column in zip(*rows, strict=True)]
    found, least = some_columns(columns, ["a", "b", "c"], known)
    sets = list(combinations(range(3), known))
    seen = [Counter(tuple(row[place] for place in chosen) for row in rows) for chosen in sets]
    smallest = [
        min(count[tuple(row[place] for place in chosen)] for chosen, count in zip(sets, seen, strict=True))
        for row in rows
    ]
    assert least.tolist() == smallest
    assert (found.smallest, found.alone) == (min(smallest), smallest.count(1))


def test_any_columns_of_wide_domains() -> None:
    columns = [(np.array([5, 5, 9, 10**9]), 10**9 + 1), (np.array([1, 1, 1, 2]), 3)]
    found, least = some_columns(columns, ["a", "b"], 7)
    assert (found.columns, found.worst, least.tolist()) == (2, ("a", "b"), [2, 2, 1, 1])


def test_presets_are_judged_of_the_attacker_that_is_known() -> None:
    alone = check(PUBLISHED, SCHEMA, "k=2", preset="cell-3")
    assert [(one.met, one.groups, one.rows) for one in alone.verdicts] == [(True, 0, 0), (False, 1, 2)]
    assert "prosecutor's risk at most 1 in 3 is not met: 1 groups with 2 rows" in str(alone)
    assert alone.risk is not None
    assert alone.risk.threshold == 1 / 3
    assert check(PUBLISHED, SCHEMA, preset="cell-3", population=REGISTER).met
    assert not check(PUBLISHED, SCHEMA, preset="cell-5", population=REGISTER).met
    with pytest.raises(InputError, match=r"no preset of that name.*cell-11"):
        check(PUBLISHED, SCHEMA, preset="cell-12")
    assert all(one.source for one in PRESETS.values())


def test_eleven_in_a_group_keep_to_0_09() -> None:
    eleven = pl.DataFrame({"age": [30] * 11, "zip": [1] * 11, "disease": ["flu"] * 11})
    assert check(eleven, SCHEMA, preset="0.09").met
    assert not check(eleven.head(10), SCHEMA, preset="0.09").met


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"sampling": 0}, InputError, "above 0"),
        ({"threshold": 1.5}, InputError, "at most 1"),
        ({"known": 0}, InputError, "at least 1"),
        ({"sampling": 0.1, "weights": "weight"}, InputError, "not both"),
        ({"weights": "wieght"}, SchemaError, "Did you mean 'weight'"),
        ({"weights": "home"}, DataError, "numbers above 0"),
        ({"weights": "one"}, DataError, "no more than there are records"),
        ({"household": "nobody"}, DataError, "missing in 5 records"),
        ({"population": REGISTER, "by": "home"}, InputError, "show their quasi-identifiers"),
    ],
)
def test_what_cannot_be_measured(inputs: dict[str, Any], error: type[Exception], words: str) -> None:
    table = PUBLISHED.with_columns(one=pl.lit(1.0), nobody=pl.lit(None, pl.String))
    with pytest.raises(error, match=words):
        check(table, SCHEMA, **inputs)


def test_other_forms() -> None:
    numbered = check(PUBLISHED, SCHEMA, by="home", weights="weight", household="home").risk
    assert numbered is not None
    assert numbered.some_columns is None
    assert numbered["prosecutor"].largest == 1
    assert numbered.households is not None
    assert numbered.households.households == 3
    assert RiskInputs().by_record is False


@pytest.mark.parametrize("records", [39, 40, 41, 100, 500, 20_000])
@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.003, 0.1, 0.9, 1.0])
def test_individual_risk_of_large_groups_is_the_integral(records: int, share: float) -> None:
    """E[1/F] is the integral of u^(f - 1) / (1 + u (1 - p)/p) over u from 0 to 1; with u = exp(-x/f), by Laguerre."""
    found = float(individual_risk(np.array([records]), np.array([records / share]))[0])
    nodes, weights = np.polynomial.laguerre.laggauss(40)
    expected = float(weights @ (1 / (share + (1 - share) * np.exp(-nodes / records)))) * share / records
    assert found == pytest.approx(expected, rel=1e-8)
