"""Side by side: against counting rows one by one, and rows as they really go out."""

from collections import Counter, defaultdict
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.errors import InputError
from reissue.published import read_published
from reissue.synth import Population, schema
from reissue.utility import compare, cross_table, distributions, paired_rows
from reissue.utility.estimates import models_of
from reissue.utility.tabulation import suggested_model

SCHEMA = ri.Schema.of_columns(quasi=["sex", "job"], sensitive=["disease"])
ROWS = st.lists(
    st.tuples(st.sampled_from(["f", "m"]), st.sampled_from(["a", "b", None]), st.sampled_from(["flu", "gout"])),
    min_size=4,
    max_size=12,
)


@given(rows=ROWS, k=st.integers(1, 4))
def test_counts_are_those_of_rows_spread_over_what_they_show(rows: list[tuple[str, str | None, str]], k: int) -> None:
    frame = pl.DataFrame(rows, schema={"sex": pl.String, "job": pl.String, "disease": pl.String}, orient="row")
    release = ri.anonymize(frame, SCHEMA, f"k={k}", method="mondrian", seed=1)
    published = read_published(release, release.schema)
    true = Counter(frame.select("sex", "disease").iter_rows())
    seen: defaultdict[tuple[str, str], float] = defaultdict(float)
    shown = release.frame.cast(pl.String)
    for sex, _, disease in shown.select("sex", "job", "disease").iter_rows():
        over = [sex] if sex != "*" else sorted(set(frame["sex"]))
        for one in over:
            seen[one, disease] += 1 / len(over)
    cross = cross_table(release.table, published, "sex", "disease")
    for (row, down), (column, across) in product(enumerate(cross.rows), enumerate(cross.columns)):
        assert cross.true[row][column] == true[down, across]
        assert cross.published[row][column] == pytest.approx(seen[down, across])
    spread = {one.column: one for one in distributions(release.table, published)}
    missing = dict(zip(spread["job"].labels, spread["job"].true, strict=True)).get("missing", 0)
    assert missing == frame["job"].null_count()
    assert sum(spread["disease"].published) == pytest.approx(len(rows))


@pytest.mark.parametrize(("method", "rule"), [("pool", "k=5 & l=3"), ("anatomy", "simple-l=3"), ("cohorts", "k=5")])
def test_rows_are_shown_as_they_go_out(method: str, rule: str) -> None:
    month = next(Population(seed=1, people=200).months(1))
    release = ri.anonymize(month, schema(), rule, method=method, seed=1)
    pairs = paired_rows(release, 6)
    first = next(iter(release.tables.values())).cast(pl.String)
    out = pairs.after.cast(pl.String)
    names = [name for name in out.columns if name in first.columns]
    assert pairs.before.height == out.height == 6
    assert out.select(names).join(first.unique(), on=names, how="anti", nulls_equal=True).height == 0
    if pairs.same:
        assert pairs.before["disease"].equals(pairs.after["disease"])


def test_many_values_become_few_and_a_suggested_model_runs() -> None:
    month = next(Population(seed=1, people=300).months(1))
    plain = ri.Schema.of_columns(quasi=["age", "zip", "sex"], sensitive=["disease"])
    release = ri.anonymize(month, plain, "k=5", seed=1)
    published = read_published(release, release.schema)
    for one in distributions(release.table, published):
        assert len(one.labels) <= 13
        assert sum(one.true) == pytest.approx(300)
        assert sum(one.published) == pytest.approx(300)
    asked = suggested_model(release.table)
    assert asked.endswith("~ age + sex")
    assert models_of(release.table, published, [asked])[0].lines
    found = compare(month, release.frame, plain, queries=0, spread=True, crosses=[("age", "disease")])
    assert found.as_dict()["crosses"][0]["sentence"] == found.sentences[-1]
    for wrong in (("age", "age"), ("age", "patient")):
        with pytest.raises(InputError):
            cross_table(release.table, published, *wrong)


def test_who_says_nothing_counts_as_anybody() -> None:
    """Only the retired are shown: the others, shown as `*`, are not all retired for that."""
    jobs = ["retired"] * 6 + ["clerk", "cook", "nurse", "pupil"]
    frame = pl.DataFrame({"job": jobs, "disease": ["flu", "gout"] * 5})
    plain = ri.Schema.of_columns(quasi=["job"], sensitive=["disease"])
    release = ri.anonymize(frame, plain, "k=1", method="mondrian", seed=1)
    shown = frame.with_columns(job=pl.Series(["retired"] * 6 + ["*"] * 4))
    job = next(one for one in distributions(release.table, read_published(shown, plain)) if one.column == "job")
    found = dict(zip(job.labels, job.published, strict=True))
    assert found == pytest.approx({"clerk": 0.8, "cook": 0.8, "nurse": 0.8, "pupil": 0.8, "retired": 6.8})
