import itertools

import numpy as np
import polars as pl
import pytest

from reissue import Table, synth
from reissue.errors import InputError
from reissue.schema import Schema
from reissue.synth import Population

COLUMNS = ["patient", "hospital", "age", "zip", "sex", "job", "disease"]


@pytest.fixture(scope="module")
def year() -> list[pl.DataFrame]:
    return list(Population(seed=7, people=3000, hospitals=4).months(13))


def test_the_same_seed_gives_the_same_lives() -> None:
    first, again = (list(Population(seed=3, people=500).months(4)) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert one.equals(other)
    assert not first[0].equals(next(Population(seed=4, people=500).months(1)))


def test_a_longer_series_begins_with_the_shorter_one() -> None:
    short, long = (list(Population(seed=3, people=500).months(count)) for count in (2, 4))
    assert all(one.equals(other) for one, other in zip(short, long, strict=False))


def test_months_have_the_columns_and_values_of_the_schema(year: list[pl.DataFrame]) -> None:
    for month in year:
        assert month.columns == COLUMNS
        assert month["patient"].is_unique().all()
        assert month["age"].is_between(0, 99).all()
        assert month["hospital"].n_unique() == 4
        assert month["zip"].str.len_chars().eq(5).all()
        assert month["zip"].str.starts_with("0").any()
        Table.read(month, synth.schema())  # every value lies in its taxonomy


def test_the_schema_survives_a_file() -> None:
    text = synth.schema().dumps()
    assert Schema.loads(text).dumps() == text


def test_people_arrive_and_leave_and_their_number_stays_near(year: list[pl.DataFrame]) -> None:
    for before, after in itertools.pairwise(year):
        stayed = before.join(after, on="patient", how="semi").height
        assert 0.75 * before.height < stayed < before.height
        assert stayed < after.height
        assert 2400 < after.height < 3600


def test_a_number_once_given_is_never_given_again(year: list[pl.DataFrame]) -> None:
    for early, middle, late in zip(year, year[1:], year[2:], strict=False):
        gone = early.join(middle, on="patient", how="anti")
        assert gone.join(late, on="patient", how="semi").is_empty()


def test_people_grow_older_move_and_change_jobs_but_never_sex(year: list[pl.DataFrame]) -> None:
    before, after = year[0], year[12]
    both = before.join(after, on="patient", suffix="_later")
    assert (both["age_later"] - both["age"] == 1).all()
    assert (both["sex_later"] == both["sex"]).all()
    for column, least, most in (("zip", 0.06, 0.2), ("job", 0.03, 0.3), ("hospital", 0.005, 0.1)):
        changed = (both[column] != both[f"{column}_later"]).mean()
        assert isinstance(changed, float)
        assert least < changed < most, column


def test_children_go_to_school_and_old_people_rest(year: list[pl.DataFrame]) -> None:
    last = year[-1]
    assert last.filter(pl.col("age") < 6)["job"].unique().to_list() == ["child"]
    assert last.filter(pl.col("age").is_between(6, 17))["job"].unique().to_list() == ["pupil"]
    assert last.filter(pl.col("age") >= 65)["job"].unique().to_list() == ["retired"]
    assert not last.filter(pl.col("age").is_between(18, 64))["job"].is_in(["child", "pupil", "retired"]).any()


def test_diseases_change_along_the_update_graph_only(year: list[pl.DataFrame]) -> None:
    allowed = synth.updates().select("from", "to")
    changes = 0
    for before, after in itertools.pairwise(year):
        both = before.join(after, on="patient", suffix="_later")
        seen = both.select(pl.col("disease").alias("from"), pl.col("disease_later").alias("to"))
        assert seen.join(allowed, on=["from", "to"], how="anti").is_empty()
        changes += int((seen["from"] != seen["to"]).sum())
    assert changes > 100


def test_changes_are_as_likely_as_the_update_graph_says() -> None:
    before, after = Population(seed=1, people=100_000).months(2)
    both = before.join(after, on="patient", suffix="_later").filter(pl.col("disease") == "pneumonia")
    expected = synth.updates().filter((pl.col("from") == "pneumonia") & (pl.col("to") == "bronchitis"))
    share = (both["disease_later"] == "bronchitis").mean()
    assert share == pytest.approx(expected["probability"].item(), abs=0.03)


def test_the_update_graph_is_closed_and_its_rows_add_up() -> None:
    graph = synth.updates()
    pairs = set(graph.select("from", "to").iter_rows())
    names = {name for family in synth.DISEASES.values() for name in family}
    assert {before for before, _ in pairs} == names
    for (a, b), (c, d) in itertools.product(pairs, pairs):
        assert b != c or (a, d) in pairs
    sums = graph.group_by("from").agg(pl.col("probability").sum())["probability"]
    assert np.allclose(sums.to_numpy(), 1)
    assert ("flu", "lung cancer") in pairs
    assert ("lung cancer", "flu") not in pairs
    assert not any(before == "HIV" and after != "HIV" for before, after in pairs)


def test_most_people_go_to_a_hospital_near_their_home(year: list[pl.DataFrame]) -> None:
    shares = year[0].group_by(pl.col("zip").str.head(1)).agg((pl.col("hospital").mode().first()).alias("most"))
    assert shares["most"].n_unique() == 4


@pytest.mark.parametrize("bad", [{"people": 0}, {"hospitals": 0}, {"seed": -1}])
def test_an_impossible_population_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InputError):
        Population(**bad)


def test_one_person_can_be_a_population() -> None:
    assert [month.width for month in Population(people=1, hospitals=1).months(6)] == [7] * 6


def test_bench_tables_are_nearly_all_distinct() -> None:
    table = synth.bench_table(20_000)
    assert table.columns == [*(f"q{number}" for number in range(1, 9)), "s"]
    assert table.select(pl.exclude("s")).n_unique() > 19_990
    assert table["s"].n_unique() == 30
    assert table.equals(synth.bench_table(20_000))
    assert not table.equals(synth.bench_table(20_000, seed=1))
    wide = synth.bench_table(50, quasi=100)
    assert wide.width == 101
    assert Table.read(wide, synth.bench_schema(100)).codes.shape == (100, 50)
