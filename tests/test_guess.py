"""A schema from published files: our own releases of every method, others' notations, what cannot be guessed."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import synth
from reissue.attacks import Series
from reissue.methods import registered
from reissue.proposing import ColumnHints, guess
from reissue.published import read_published
from reissue.published.boxes import counts_of
from reissue.schema import Role, Schema
from tests.effort import examples
from tests.strategies import Case, tables

MONTHS = list(synth.Population(seed=3, people=400).months(2))
REQUIREMENTS = {"invariance": "m-unique=3", "distinct": "m-unique=3", "equivalence": "simple-l=3", "mask": "k=3"}
OPTIONS: dict[str, dict[str, Any]] = {
    "invariance": {"ineligible": "counterfeits"},
    "distinct": {"ineligible": "counterfeits"},
    "equivalence": {"ineligible": "counterfeits", "e": 3},
    "mask": {"m": 2},
}
PUBLISHED = {name: role for name, role in synth.schema().columns.items() if role in {Role.QUASI, Role.SENSITIVE}}


def written(release: ri.Release, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.csv"
    release.write(str(path))
    return path


@pytest.mark.parametrize("method", sorted(registered()))
def test_the_roles_of_our_own_releases_are_found_back(method: str, tmp_path: Path) -> None:
    require = REQUIREMENTS.get(method, "k=3 & l=2")
    first = ri.anonymize(MONTHS[0], synth.schema(), require, method=method, seed=1, **OPTIONS.get(method, {}))
    found = guess([written(first, tmp_path)])
    assert found.schema.columns == PUBLISHED
    assert all(sentence.endswith(".") for sentence in found.assumed)
    assert guess([first.tables]).schema.columns == PUBLISHED
    assert guess([first]).schema is first.schema


@examples(40)
@given(tables(min_rows=6, missing=False), st.sampled_from(["pool", "mondrian", "topdown"]))
def test_roles_are_found_without_any_help_from_names(case: Case, method: str) -> None:
    release = ri.anonymize(case.frame, case.schema, "k=2", method=method, seed=0)
    frame = release.frame
    found = guess([frame]).schema if _told(frame) else None
    if found is not None:
        assert found.sensitive == ("secret",)
        assert set(found.quasi) == {name for name in case.schema.quasi if not _same(frame[name])}


def _same(column: pl.Series) -> bool:
    """A column that says nothing, and does not look generalized, is left out."""
    return column.n_unique() == 1 and not set("*-{[").intersection(str(column[0])[1:] + str(column[0])[:1])


def _told(frame: pl.DataFrame) -> bool:
    return any(not _same(frame[name]) for name in frame.columns if name != "secret")


@pytest.mark.parametrize("seed", range(3))
def test_the_guessed_schema_reads_ranges_and_prefixes_as_the_true_one_does(seed: int, tmp_path: Path) -> None:
    schema = Schema.of_columns(
        quasi=["age", "zip"],
        sensitive=["disease"],
        taxonomies={name: synth.schema().hierarchy(name) for name in ("age", "zip")},
    )
    whole = next(synth.Population(seed=seed, people=300).months(1)).select("age", "zip", "disease")
    releases = [ri.anonymize(part, schema, "k=3", seed=seed, method="mondrian") for part in (whole[:200], whole)]
    paths = [written(release, tmp_path) for release in releases]
    known, guessed = (ri.attack(paths, plan, only="correspondence")["correspondence"] for plan in (schema, None))
    assert (guessed.status, guessed.worst, guessed.people) == (known.status, known.worst, known.people)


def frame(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(columns)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["20-29", "30-39", "20-39"], "auto"),
        (["[20, 30)", "[30, 40)", "*"], "auto"),
        (["4123", "41**", "4***"], "prefix"),
        (["2024-03", "2024-Q1", "2024"], "dates"),
        (["{red, blue}", "green", "*"], "flat"),
        (["25", "unknown", "20-29"], "auto"),
        (["{20, 25}", "unknown", "[20, 29]"], "auto"),
    ],
)
def test_other_tools_notations_are_read_and_the_last_value_includes_the_first(values: list[str], kind: str) -> None:
    table = frame(x=values * 2, result=["a", "b", "c"] * 2)
    schema = guess([table, table]).schema
    assert schema.columns == {"x": Role.QUASI, "result": Role.SENSITIVE}
    assert schema.hierarchy("x").kind == kind
    views = counts_of(Series.read([table, table], schema).releases, schema)
    assert views is not None
    (nodes,) = views.quasi
    first, last = nodes.texts.index(values[0]), nodes.texts.index(values[-1])
    assert nodes.lo[last] <= nodes.lo[first] <= nodes.hi[first] <= nodes.hi[last]
    assert nodes.hi[last] - nodes.lo[last] > nodes.hi[first] - nodes.lo[first]


def test_what_a_private_copy_holds_besides(tmp_path: Path) -> None:
    for number, month in enumerate(MONTHS):
        month.write_csv(tmp_path / f"{number}.csv")
    found = guess([tmp_path / "0.csv", tmp_path / "1.csv"])
    assert found.schema.columns == synth.schema().columns
    assert "'patient' is taken to be the identifier" in " ".join(found.assumed)


def test_row_numbers_free_text_and_empty_columns_are_left_out() -> None:
    rows = 40
    table = frame(
        id=list(range(1, rows + 1)),
        note=[f"was seen on day {number} and complained about one thing or another" for number in range(rows)],
        surname=[f"name {number % 30}" for number in range(rows)],
        nothing=[None] * rows,
        land=["DE"] * rows,
        measured=[number * 1.5 for number in range(rows)],
        age=["20-29", "30-39"] * (rows // 2),
        salary=[100, 200, 300, 400] * (rows // 4),
        disease=["flu", "cold"] * (rows // 2),
    )
    found = guess([table])
    assert found.schema.columns == {"age": Role.QUASI, "disease": Role.SENSITIVE}
    told = " ".join(found.assumed)
    for name, why in {
        "id": "it numbers the rows",
        "note": "nearly every row has its own text",
        "surname": "it names people, and not one for each row",
        "nothing": "it is empty",
        "land": "it is the same in every row",
        "measured": "it has many exact values",
        "salary": "it looks sensitive too",
    }.items():
        assert f"'{name}' is dropped: {why}" in told


def test_what_the_user_says_goes_first() -> None:
    table = frame(age=["20-29", "30-39"] * 3, group_of=["a", "b"] * 3, disease=["flu", "cold", "flu"] * 2)
    found = guess([table], ColumnHints(sensitive="group_of", quasi=("age",)))
    assert found.schema.columns == {"age": Role.QUASI, "group_of": Role.SENSITIVE}
    assert "'disease' is dropped: it was not named." in found.assumed
    with pytest.raises(ri.InputError, match="one role only"):
        guess([table], ColumnHints(sensitive="age", quasi=("age",)))
    with pytest.raises(ri.InputError, match=r"no column 'illness'.*"):
        guess([table], ColumnHints(sensitive="illness"))


@pytest.mark.parametrize("beside", ["unknown", "under 18"])
def test_texts_that_only_a_schema_explains_are_not_compared_with_people(beside: str) -> None:
    table = frame(age=["[20, 29]", "[30, 39]", beside] * 2, sex=["f", "m"] * 3, disease=["flu", "cold", "flu"] * 2)
    people = frame(who=list("abcdef"), age=[20, 30, 12, 25, 35, 45], sex=["f", "m"] * 3)
    assert guess([table]).schema.hierarchy("age").kind == "auto"
    assert guess([table], population=people).schema.quasi == ("sex",)


@pytest.mark.parametrize(("beside", "said"), [("others", True), ("9912", False), ("99**", False)])
def test_texts_beside_first_digits_that_nobody_has_are_said(beside: str, said: bool) -> None:
    table = frame(zip=["4101", "41**", beside] * 2, sex=["f", "m"] * 3, disease=["flu", "cold", "flu"] * 2)
    people = frame(who=list("abcdef"), zip=["4101", "4102", "9912"] * 2, sex=["f", "m"] * 3)
    found = guess([table], population=people)
    assert found.schema.hierarchy("zip").kind == "prefix"
    assert any("'zip' shows texts that nobody in the tables" in sentence for sentence in found.assumed) is said


def test_tables_of_people_tell_the_identifier_and_what_can_be_compared(tmp_path: Path) -> None:
    schema = synth.schema()
    releases = [ri.anonymize(month, schema, "k=5 & l=3", seed=1) for month in MONTHS]
    paths = [written(release, tmp_path) for release in releases]
    who = [month.select("patient", *schema.quasi) for month in MONTHS]
    found = guess(paths, members=who)
    assert found.schema.identifier == "patient"
    assert found.schema.quasi == ("age", "zip", "sex")
    assert "'job' is dropped: it shows names that nobody in the tables of people has" in " ".join(found.assumed)
    finding = ri.attack(paths, only="updates", knowledge=ri.Knowledge(members=who))["updates"]
    assert finding.population == pl.concat([one["patient"] for one in who]).n_unique() or finding.reason is not None
    assert guess(paths, population=MONTHS[0]).schema.quasi == ("age", "zip", "sex")


def test_what_cannot_be_guessed_is_said() -> None:
    general = frame(age=["20-29", "30-39"] * 3, zip=["41**", "42**"] * 3)
    with pytest.raises(ri.InputError, match="No column of these files looks sensitive"):
        guess([general])
    with pytest.raises(ri.InputError, match="that others know about a person"):
        guess([frame(result=["a", "b"] * 3)])
    with pytest.raises(ri.InputError, match="Release 2 has no rows"):
        guess([general, general.clear()])
    with pytest.raises(ri.InputError, match="at least one"):
        guess([])
    with pytest.raises(ri.InputError, match="must be a list"):
        guess("jan.csv")


def test_files_that_show_different_columns_are_read_with_all_of_them() -> None:
    table = frame(age=["20-29", "30-39"] * 6, zip=["41**", "42**"] * 6, disease=["flu", "cold", "HIV"] * 4)
    found = guess([table, table.rename({"zip": "city"})])
    assert set(found.schema.quasi) == {"age", "zip", "city"}
    assert found.schema.sensitive == ("disease",)
    said = "The files have different columns: release 1 lacks 'city'; release 2 lacks 'zip'."
    assert found.assumed[-1].startswith(said)
    assert guess([table, table.drop("disease")]).schema.sensitive == ("disease",)
    with pytest.raises(ri.InputError, match="None of these files has a column 'town'"):
        guess([table, table], ColumnHints(quasi=("town",)))


def test_the_findings_tell_what_was_assumed() -> None:
    table = frame(age=["20-29", "30-39"] * 3, disease=["flu", "cold", "flu"] * 2)
    findings = ri.attack([table, table])
    assert findings.assumptions == guess([table, table]).assumed
    assert findings.as_dict()["assumed"] == list(findings.assumptions)
    assert not ri.attack([table, table], guess([table]).schema).assumptions


def test_ranges_between_days_are_dates() -> None:
    table = frame(birth=["[1960-07-08, 1969-09-11]", "*"] * 3, disease=["flu", "cold", "flu"] * 2)
    assert guess([table]).schema.hierarchies["birth"].kind == "dates"
    years = frame(birth=["[1960, 1969]", "*"] * 3, disease=["flu", "cold", "flu"] * 2)
    assert guess([years]).schema.hierarchies["birth"].kind == "auto"


def test_a_column_called_group_is_data_unless_it_numbers_groups() -> None:
    rows = {"age": ["20-29", "30-39"] * 3, "disease": ["flu", "cold", "flu"] * 2}
    assert "group" in guess([frame(group=["a", "b"] * 3, **rows)]).schema.columns
    found = guess([frame(group=[1, 2] * 3, **rows)])
    assert "group" not in found.schema.columns
    assert any("'group' is taken to number the groups" in sentence for sentence in found.assumed)


def test_files_are_read_once(tmp_path: Path) -> None:
    table = frame(age=["20-29", "30-39"] * 3, code=["007", "008"] * 3, disease=["flu", "cold", "flu"] * 2)
    table.write_csv(tmp_path / "one.csv")
    found = guess([tmp_path / "one.csv"])
    (tmp_path / "one.csv").unlink()
    assert read_published(found.tables[0], found.schema).groups == 2


def test_side_tables_say_which_column_is_randomized(tmp_path: Path) -> None:
    release = ri.anonymize(MONTHS[0], synth.schema(), "k=5", values="randomized")
    release.write(str(tmp_path / "first.csv"))
    found = ri.attack([str(tmp_path / "first.csv")])
    said = "'disease' is taken to be sensitive: the side table says how its values were randomized."
    assert said in found.assumptions
    assert found["posterior"].status == "withstood"
