import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table, synth
from reissue.errors import DataError
from reissue.proposing import Guess, as_toml, describe, propose, read_proposed
from reissue.schema import Role, Schema
from tests.effort import examples

PATIENTS = next(synth.Population(seed=2, people=800).months(1))


def guess_of(column: pl.Series) -> Guess:
    return propose(column.to_frame())[0]


def test_the_synthetic_hospital_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    PATIENTS.write_csv(path)
    frame = read_proposed(path)
    guesses = propose(frame)
    assert {guess.column: str(guess.role) for guess in guesses} == {
        "patient": "identifier",
        "hospital": "provider",
        "age": "quasi",
        "zip": "quasi",
        "sex": "quasi",
        "job": "quasi",
        "disease": "sensitive",
    }
    assert [guess.column for guess in guesses if guess.role == Role.SENSITIVE and not guess.confirm] == ["disease"]
    by_name = {guess.column: guess for guess in guesses}
    assert describe(by_name["age"].hierarchy) == "ranges of 5, 10, 20, 40, 80"
    assert describe(by_name["zip"].hierarchy) == "first 3, 2, 1 characters"
    assert frame["zip"].to_list() == PATIENTS["zip"].to_list()  # leading zeros survive


def test_the_written_schema_loads_and_reads_the_table(tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    PATIENTS.write_csv(path)
    text = as_toml(propose(read_proposed(path)), "Schema for patients.csv")
    schema = Schema.loads(text)
    assert schema.quasi == ("age", "zip", "sex", "job")
    assert schema.sensitive == ("disease",)
    assert Table.read(path, schema).domain.size == PATIENTS["disease"].n_unique()


def test_of_several_plausible_columns_the_first_is_sensitive() -> None:
    frame = pl.DataFrame({"age": range(40), "Diagnose": ["flu", "cold"] * 20, "Gehalt": [1000.5, 2000.5] * 20})
    text = as_toml(propose(frame), "x")
    assert Schema.loads(text).sensitive == ("Diagnose",)
    assert Schema.loads(text.replace("# Gehalt", "Gehalt")).sensitive == ("Diagnose", "Gehalt")


def test_timestamps_are_dates_and_a_phone_is_no_better_identifier_than_a_number() -> None:
    hours = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 3), "1h", eager=True)
    frame = pl.DataFrame(
        {"phone": range(49), "Patientennummer": range(49), "Aufnahme": hours, "took": hours - hours[0]}
    )
    found = {guess.column: guess for guess in propose(frame)}
    assert found["Patientennummer"].role == Role.IDENTIFIER
    assert found["phone"].role == Role.DROP
    assert found["took"].role == Role.DROP
    assert found["Aufnahme"].hierarchy == Hierarchy("dates")


TIMES = [dt.time(7 + n % 12, n % 60) for n in range(60)]


@pytest.mark.parametrize(
    ("values", "prefix"),
    [
        (TIMES, (3, 1)),
        ([f"{one:%H:%M}" for one in TIMES], (3, 1)),
        ([f"{one:%H:%M}:{n % 60:02}" for n, one in enumerate(TIMES)], (5, 3, 1)),
        ([f"{one.hour}:{one:%M}" for one in TIMES], (2,)),
    ],
)
def test_times_of_day_are_known_to_others_and_go_by_the_hour(values: list[object], prefix: tuple[int, ...]) -> None:
    found = guess_of(pl.Series("arrived", values))
    assert (found.role, found.hierarchy) == (Role.QUASI, Hierarchy("prefix", prefix=prefix))
    assert "time of day" in found.why


def test_categories_are_texts() -> None:
    codes = pl.Series("Vorgang", [f"{n:05d}" for n in range(40)] * 2, dtype=pl.Categorical())
    (found,) = propose(pl.DataFrame([codes, pl.Series("age", range(80))]))[:1]
    assert found.hierarchy == Hierarchy("prefix", prefix=(3, 2, 1))


@pytest.mark.parametrize("role", ["drop", "keep", "sensitive", "quasi", "provider"])
def test_a_role_is_changed_in_one_place(role: str) -> None:
    frame = pl.DataFrame({"patient": range(40), "age": [20, 30] * 20, "Beruf": ["a", "b"] * 20})
    text = as_toml(propose(frame), "x")
    changed = Schema.loads(text.replace('Beruf   = "quasi"', f'Beruf   = "{role}"'))
    assert changed.columns["Beruf"] == role
    assert Table.read(frame, changed).rows == 40


def test_widths_are_written_out_so_that_releases_share_their_ranges() -> None:
    text = as_toml(propose(PATIENTS.select("age")), "x")
    assert "ranges = [5, 10, 20, 40, 80]" in text
    assert "auto" not in text


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("row", list(range(30)), Role.IDENTIFIER),
        ("token", [f"x{i * 7919 % 1000:03d}" for i in range(30)], Role.IDENTIFIER),
        ("email", [f"p{i}@example.org" for i in range(5)], Role.IDENTIFIER),
        ("email", ["a@example.org"] * 5, Role.DROP),
        ("label", [f"word {i}" for i in range(29)] + ["word 1"], Role.DROP),
        ("remark", [f"this patient told us a long story, number {i}" for i in range(12)], Role.DROP),
        ("note", ["ok", "ok", "see file"] * 10, Role.DROP),
        ("doctors_comment", ["none"] * 30, Role.DROP),
        ("note", [1, 2, 3] * 10, Role.QUASI),
        ("note_date", ["2024-01-31", "2024-02-01"] * 20, Role.QUASI),
        ("job", ["nurse", "doctor, senior", "head of unit"] * 10, Role.QUASI),
        ("education", ["some college, no degree", "high school"] * 20, Role.QUASI),
        ("nothing", [None] * 5, Role.DROP),
        ("same", ["x"] * 5, Role.DROP),
        ("weight", [60.5 + i for i in range(30)], Role.QUASI),
        ("colour", ["red", "green"] * 10, Role.QUASI),
        ("patient_age", list(range(30)), Role.QUASI),
        ("countryName", ["France", "Spain"], Role.QUASI),
        ("hospital_id", [1, 2, 1, 2], Role.PROVIDER),
        ("Monthly Income", [1000 + i for i in range(30)], Role.SENSITIVE),
        ("member", [True, False], Role.DROP),
    ],
)
def test_roles_by_name_and_content(name: str, values: list[object], role: Role) -> None:
    column = pl.Series(name, values * 2 if name == "member" else values)
    assert guess_of(column).role == role


def test_kinds_by_type() -> None:
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=97 * i) for i in range(40)]
    kinds: dict[str, tuple[list[Any], str]] = {
        "born": (days, "dates"),
        "birth": ([str(day) for day in days], "dates"),
        "zip": ([1067 + i for i in range(40)], "prefix"),
        "stay": ([f"A{100 + i % 30}" for i in range(40)], "prefix"),
        "height": ([1.5 + i / 100 for i in range(40)], "ranges"),
        "smoker": ([i % 2 for i in range(40)], "flat"),
        "trade code": ([i % 30 for i in range(40)], "flat"),
    }
    for name, (values, kind) in kinds.items():
        hierarchy = guess_of(pl.Series(name, values)).hierarchy
        assert hierarchy is not None
        assert hierarchy.kind == kind, name


def test_there_is_one_identifier_and_one_provider_at_most() -> None:
    frame = pl.DataFrame({"id": [1, 2], "ssn": [3, 4], "clinic": ["a", "b"], "bank": ["c", "d"], "age": [5, 6]})
    roles = [guess.role for guess in propose(frame)]
    assert roles == [Role.IDENTIFIER, Role.DROP, Role.PROVIDER, Role.DROP, Role.QUASI]
    assert Schema.loads(as_toml(propose(frame), "x")).identifier == "id"


def test_a_table_of_sensitive_columns_only_still_gives_a_schema_that_loads() -> None:
    text = as_toml(propose(pl.DataFrame({"disease": ["flu", "cold"]})), "x")
    assert Schema.loads(text).columns == {"disease": Role.SENSITIVE}


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        propose(pl.DataFrame({"age": []}))


def test_no_cell_value_enters_the_schema_file() -> None:
    frame = pl.DataFrame({"job": ["Xanthippe", "Yorick"] * 20, "age": [71, 72] * 20})
    text = as_toml(propose(frame), "x")
    assert "Xanthippe" not in text
    assert "71" not in text


columns = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), min_size=1, max_size=30),
    st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9, allow_subnormal=False)), min_size=1, max_size=30),
    st.lists(st.one_of(st.none(), st.text(max_size=8)), min_size=1, max_size=30),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=30),
    st.lists(st.one_of(st.none(), st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))), min_size=1, max_size=30),
)


@examples(150)
@given(name=st.text(max_size=12), values=columns, title=st.text(max_size=20))
def test_any_column_gives_a_schema_that_loads_and_fits(name: str, values: list[object], title: str) -> None:
    frame = pl.Series(name, values).to_frame()
    guesses = propose(frame)
    schema = Schema.loads(as_toml(guesses, title))
    assert list(schema.columns) == [name]
    if schema.quasi:
        assert Table.read(frame, schema).rows == len(values)


_HABITS = ("no complaints", "felt well", "came with wife", "ok", "see letter", "walks with a stick", "sleeps badly")


@pytest.mark.parametrize("name", ["remarks", "x7", "Befund", "other"])
@pytest.mark.parametrize("repeated", [0.0, 0.6, 0.95])
def test_free_text_of_thousands_is_dropped(name: str, repeated: float) -> None:
    """Short remarks, most of them written again and again: never a quasi-identifier."""
    rng = np.random.default_rng(4)
    parts = ("pain", "cough", "fever", "moved to Leeds", "mother ill", "lost her job", "twins", "new flat", "knee")

    def remark() -> str:
        if rng.random() < repeated:
            return str(rng.choice(_HABITS))
        return f"{rng.choice(parts)} since {rng.integers(1, 30)} {rng.choice(['days', 'weeks'])}, {rng.choice(parts)}"

    remarks = pl.Series(name, [remark() for _ in range(4_000)])
    assert guess_of(remarks).role == Role.DROP
    frame = PATIENTS.with_columns(remarks.head(PATIENTS.height))
    assert {guess.column: guess.role for guess in propose(frame)}[name] == Role.DROP


def test_places_and_jobs_of_several_words_stay() -> None:
    towns = [f"{kind} {name}" for kind in ("North", "South", "New") for name in ("Ham", "Ford", "Wick", "Ton", "By")]
    jobs = [
        f"{one} {two}"
        for one in ("head", "chief", "junior", "night", "deputy")
        for two in ("nurse", "cook", "clerk", "guard", "vet")
    ]
    for name, values in (("town", towns), ("job", jobs), ("unknown", jobs)):
        assert guess_of(pl.Series(name, values * 20)).role == Role.QUASI
