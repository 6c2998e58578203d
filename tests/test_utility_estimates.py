"""What an analyst computes from the true and from the published table: against textbook formulas, row by row."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue import Table, anonymize
from reissue.errors import InputError
from reissue.release.form import Form
from reissue.release.release import Counterfeits, Draft, Release
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.utility import Comparison, Estimate, compare, measure
from reissue.utility.records import Formula, Variable
from reissue.utility.tabulation import suggested_means, suggested_model
from reissue.verify import make_release
from tests.silence import refused

RNG = np.random.default_rng(0)
ROWS = 400
AGE = RNG.integers(20, 60, ROWS)
SOUTH = RNG.choice(["no", "yes"], ROWS)
JOB = RNG.choice(["cook", "monk", "smith"], ROWS)
WAGE = 5 + 0.3 * AGE - 2 * (SOUTH == "yes") + 3 * (JOB == "smith") + RNG.normal(0, 1, ROWS)
FRAME = pl.DataFrame({"age": AGE, "south": SOUTH, "job": JOB, "wage": WAGE.round(2), "note": RNG.integers(0, 5, ROWS)})
SCHEMA = Schema.of_columns(quasi=["age", "south", "job"], sensitive=["wage"], keep=["note"])
EXACT = FRAME


def made(groups: Any, **draft: Any) -> Release:
    drafted = Draft(np.asarray(groups, np.int32), **draft)
    return make_release(Table.read(FRAME, SCHEMA), drafted, KAnonymity(1), "test", np.random.default_rng(0))


def lines(comparison: Comparison) -> dict[str, tuple[Estimate | None, Estimate | None]]:
    return {line.name: (line.true, line.published) for line in comparison.lines}


def test_a_regression_is_the_textbooks() -> None:
    """Least squares by the normal equations, and White's variances, with plain loops."""
    (model,) = compare(FRAME, EXACT, SCHEMA, queries=0, models=["wage ~ age + south + job"]).models
    design = [
        [1.0, float(a), float(s == "yes"), float(j == "monk"), float(j == "smith")]
        for a, s, j in zip(AGE, SOUTH, JOB, strict=True)
    ]
    outcome = FRAME["wage"].to_list()
    gram = np.array([[sum(row[i] * row[j] for row in design) for j in range(5)] for i in range(5)])
    beta = np.linalg.solve(gram, [sum(row[i] * y for row, y in zip(design, outcome, strict=True)) for i in range(5)])
    rest = [y - sum(b * x for b, x in zip(beta, row, strict=True)) for row, y in zip(design, outcome, strict=True)]
    meat = sum(np.outer(row, row) * e * e for row, e in zip(design, rest, strict=True))
    spread = np.linalg.inv(gram) @ meat @ np.linalg.inv(gram) * ROWS / (ROWS - 5)
    names = ["intercept", "age", "south[yes]", "job[monk]", "job[smith]"]
    assert [line.name for line in model.lines] == names
    assert (model.people, model.records) == (ROWS, ROWS)
    for place, line in enumerate(model.lines):
        assert line.true is not None
        assert line.true.value == pytest.approx(beta[place])
        assert line.true.high - line.true.low == pytest.approx(2 * 1.959964 * spread[place, place] ** 0.5, rel=1e-5)
        assert line.published is not None
        assert line.published.value == pytest.approx(line.true.value), "what is published exactly says the same"
        assert line.inside


def test_intervals_cover_the_population() -> None:
    """Of 200 samples about 95% have an interval that holds the slope of the population."""
    rng, hits = np.random.default_rng(1), 0
    schema = Schema.of_columns(quasi=["x"], sensitive=["y"])
    for _ in range(200):
        x = rng.integers(0, 20, 80)
        frame = pl.DataFrame({"x": x, "y": (2 * x + rng.normal(0, 1 + x / 5, 80)).round(3)})
        (model,) = compare(frame, frame, schema, queries=0, models=["y ~ x"]).models
        slope = lines(model)["x"][0]
        assert slope is not None
        hits += slope.low <= 2 <= slope.high
    assert 180 <= hits <= 199


def test_ranges_enter_by_their_middle_and_stars_by_the_mean() -> None:
    published = FRAME.with_columns(pl.Series("age", [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in AGE]))
    published = published.with_columns(age=pl.when(pl.int_range(ROWS) < 100).then(pl.lit("*")).otherwise(pl.col("age")))
    (model,) = compare(FRAME, published, SCHEMA, queries=0, models=["wage ~ age"]).models
    middle = np.array([(max(a // 10 * 10, AGE.min()) + min(a // 10 * 10 + 9, AGE.max())) / 2 for a in AGE])
    middle[:100] = middle[100:].mean()
    slope = np.polyfit(middle, FRAME["wage"].to_numpy(), 1)[0]
    found = lines(model)["age"][1]
    assert found is not None
    assert found.value == pytest.approx(slope)


def test_a_column_that_says_nothing_has_no_coefficient() -> None:
    published = FRAME.with_columns(age=pl.lit("*"), south=pl.lit("*"))
    (model,) = compare(FRAME, published, SCHEMA, queries=0, models=["wage ~ age + south + job"]).models
    found = lines(model)
    assert found["age"][0] is not None
    assert found["age"][1] is None
    assert found["south[yes]"][1] is None
    assert found["job[monk]"][1] is not None
    assert "of 5 estimates 3 can be computed" in model.sentence


def test_values_apart_enter_by_the_mean_of_their_group() -> None:
    groups = np.arange(ROWS) // 20
    for form in ({"form": Form.PERMUTED}, {"form": Form.TWO_TABLES}):
        (model,) = measure(made(groups, **form), models=["wage ~ age"]).models
        means = np.array([FRAME["wage"].to_numpy()[groups == group].mean() for group in groups])
        found = lines(model)["age"][1]
        assert found is not None
        assert found.value == pytest.approx(np.polyfit(AGE, means, 1)[0])


def test_counterfeits_are_counted_out() -> None:
    """Every row of the first half stands beside a copy of itself that is nobody."""
    table = Table.read(FRAME, SCHEMA)
    groups = np.arange(ROWS, dtype=np.int32)
    some = np.arange(200, dtype=np.int32)
    fakes = Counterfeits(some, table.codes[:, some], table.sensitive[some])
    release = make_release(
        table, Draft(groups, form=Form.NUMBERED, counterfeits=fakes), KAnonymity(1), "test", np.random.default_rng(0)
    )
    utility = measure(release, models=["wage ~ age + south"], means=["wage ~ south"])
    for comparison in (*utility.models, *utility.means):
        assert comparison.records == pytest.approx(ROWS)
        for line in comparison.lines:
            assert line.true is not None
            assert line.published is not None
            assert line.published.value == pytest.approx(line.true.value)
    bare = compare(FRAME, release.tables["release"], SCHEMA, queries=0, models=["wage ~ age + south"]).models[0]
    assert bare.records == ROWS + 200


def test_means_and_shares_by_hand() -> None:
    utility = compare(
        FRAME, EXACT, SCHEMA, queries=0, means=["wage ~ south", "job ~ south", "wage ~ age", "note ~ job"]
    )
    wages, jobs, ages, notes = map(lines, utility.means)
    yes = FRAME["wage"].to_numpy()[SOUTH == "yes"]
    for found in wages["wage | south[yes]"]:
        assert found is not None
        assert found.value == pytest.approx(yes.mean())
        assert found.high - found.low == pytest.approx(2 * 1.959964 * (yes.var() / (len(yes) - 1)) ** 0.5, rel=1e-6)
    smith = jobs["job[smith] | south[no]"][1]
    assert smith is not None
    assert smith.value == pytest.approx((JOB[SOUTH == "no"] == "smith").mean())
    assert 1 < len(ages) <= 12, "ages by ranges"
    assert set(notes) == {"note | job[cook]", "note | job[monk]", "note | job[smith]"}


def test_a_node_counts_for_each_of_its_values() -> None:
    """Half of the rows say only `*` of their job, so each counts for a third to each job's mean, which thus meet."""
    published = FRAME.with_columns(job=pl.lit("*"))
    (means,) = compare(FRAME, published, SCHEMA, queries=0, means=["wage ~ job"]).means
    for _, seen in lines(means).values():
        assert seen is not None
        assert seen.value == pytest.approx(FRAME["wage"].mean())


def test_codes_of_diseases_are_no_numbers() -> None:
    codes = pl.Series("wage", ["E11.9" if w < 12 else "I10" if w < 16 else "J45.0" for w in WAGE])
    table = Table.read(FRAME.with_columns(codes), SCHEMA)
    assert suggested_model(table).startswith("wage[")
    assert suggested_means(table) == suggested_model(table).partition(" ~ ")[0] + " ~ south"


def test_bands_and_single_values_as_outcomes() -> None:
    bands = pl.Series("wage", ["v0" if w < 12 else "v12-15" if w < 16 else "v16+" for w in WAGE])
    frame = FRAME.with_columns(bands)
    first, second = compare(frame, frame, SCHEMA, queries=0, models=["wage ~ age", "wage[v16+] ~ age"]).models
    middle = bands.replace_strict({"v0": 0.0, "v12-15": 13.5, "v16+": 16.0}).to_numpy()
    assert lines(first)["age"][0].value == pytest.approx(np.polyfit(AGE, middle, 1)[0])  # type: ignore[union-attr]
    assert lines(second)["age"][0].value == pytest.approx(np.polyfit(AGE, bands == "v16+", 1)[0])  # type: ignore[union-attr]


def test_missing_values_are_left_out() -> None:
    frame = FRAME.with_columns(age=pl.when(pl.int_range(ROWS) % 7 == 0).then(None).otherwise(pl.col("age")))
    (model,) = compare(frame, frame, SCHEMA, queries=0, models=["wage ~ age"]).models
    assert model.people == model.records == ROWS - len(range(0, ROWS, 7))
    known = frame.drop_nulls()
    slope = np.polyfit(known["age"], known["wage"], 1)[0]
    assert [line.published.value for line in model.lines][1] == pytest.approx(slope)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "model",
    [
        "wage",
        "wage ~",
        "~ age",
        "wage ~ age ~ job",
        "wage ~ agee",
        "wage ~ age + age",
        "wage ~ wage",
        "job ~ age",
        "wage ~ age * job",
        "job[zebra] ~ age",
        "",
    ],
)
def test_models_that_make_no_sense(model: str) -> None:
    message = refused(InputError, lambda: compare(FRAME, EXACT, SCHEMA, queries=0, models=[model]), ["zebra", "smith"])
    assert "agee" not in model or "Did you mean 'age'?" in message
    refused(InputError, lambda: compare(FRAME, EXACT, SCHEMA, queries=0, means=["wage ~ age + job"]))


def test_formulas_are_read() -> None:
    columns = ["wage per hour", "a+b", "south", "x[1]"]
    read = Formula.parse("`wage per hour`[7] ~ `a+b` + south[yes] + x[1]", columns)
    assert read.outcome == Variable("wage per hour", "7")
    assert read.terms == (Variable("a+b"), Variable("south", "yes"), Variable("x[1]"))


def test_on_a_real_release() -> None:
    release = anonymize(FRAME, SCHEMA, "k=5", seed=0)
    (model,) = measure(release, models=["wage ~ age + south + job"]).models
    assert all(line.inside for line in model.lines if line.name != "intercept")
    assert model.sentence in str(measure(release, models=["wage ~ age + south + job"]))


def test_a_classifier_learns_less_from_larger_groups() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 70, 3000)
    town = rng.choice(["oslo", "rome", "bari"], 3000)
    rich = (age > 45) == (town != "bari")
    frame = pl.DataFrame({"age": age, "town": town, "rich": np.where(rich ^ (rng.random(3000) < 0.1), "yes", "no")})
    schema = Schema.of_columns(quasi=["age", "town"], sensitive=["rich"])
    found = {}
    for k in (5, 1000):
        release = anonymize(frame, schema, f"k={k}", seed=0)
        (found[k],) = measure(release, predict=["rich"]).predictions
        assert found[k].sentence in str(measure(frame, release.frame, schema, predict=["rich"]))
    few, many = found[5], found[1000]
    assert few.baseline - 0.03 < many.published < few.published  # of one group by chance below the baseline
    assert few.true == many.true
    assert abs(few.published - few.true) < 0.05
    with pytest.raises(InputError, match="cannot be predicted"):
        measure(frame, frame, schema, predict=["wage"])
