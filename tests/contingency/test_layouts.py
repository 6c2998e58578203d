"""Layouts in which offices publish counts, none of which a schema explains: the person who comes alone is found."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import reissue as ri
from reissue.contingency.sheet import sheet_tables

AGES, SEXES, BOROUGHS = ("0-17", "18-44", "45-64", "65+"), ("Female", "Male"), ("Bronx", "Queens", "Richmond")
Person = tuple[str, str, str]
Rows = list[list[object]]


def world() -> list[list[Person]]:
    """Six dates; on the fourth one man of 18-44 in Richmond is the only one who comes."""
    draw = Random(3)  # noqa: S311

    def some(number: int) -> list[Person]:
        return [(draw.choice(AGES), draw.choice(SEXES), draw.choice(BOROUGHS)) for _ in range(number)]

    dates = [some(220)]
    for number in (9, 6, 0, 8, 11):
        came = some(number) if number else [("18-44", "Male", "Richmond")]
        dates.append(dates[-1] + came)
    return dates


def count(people: list[Person], *classes: str) -> int:
    return sum(set(classes) <= set(person) for person in people)


def small(number: int) -> object:
    return "<5" if 0 < number < 5 else number


def day(number: int) -> str:
    return f"2021-03-{number + 1:02d}"


def a_file_a_dimension(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    for name, values in (("AGE_GROUP", AGES), ("SEX_GROUP", SEXES), ("BOROUGH_GROUP", BOROUGHS)):
        rows: Rows = [[name, "DEATH_RATE", "DEATH_COUNT"]]
        rows += [[one, round(count(people, one) / 7.3, 2), count(people, one)] for one in values]
        yield f"by-{name[:3].lower()}-{date}.csv", [*rows, ["Citywide", 50.21, len(people)]]


def stacked(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["group", "subgroup", "DEATH_COUNT"]]
    for name, values in (("Age", AGES), ("Sex", SEXES), ("Borough", BOROUGHS)):
        rows += [[name, one, count(people, one)] for one in values]
    yield f"data-{date.replace('-', '')}.csv", [*rows, ["Citywide", "Citywide", len(people)]]


def titled_cross_table(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["Table 2: deaths by age and sex"], ["Small counts are not shown [c]."], []]
    rows += [["Age group", "All people", "Females", "Males", "Percentage of total"]]
    rows += [["All ages", f"{1000 + len(people):,}", *(1000 + count(people, one) for one in SEXES), "100.0"]]
    for age in AGES:
        rows += [
            [age, count(people, age), *(count(people, age, sex) for sex in SEXES), round(count(people, age) / 3, 1)]
        ]
    yield f"deaths {date}.csv", [*rows, [], ["Source: the register of deaths, read on the day of publication."]]


def merged_header(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["Borough", "Female", *[""] * 3, "Male", *[""] * 3], ["", *AGES, *AGES]]
    rows += [[place, *(count(people, place, sex, age) for sex in SEXES for age in AGES)] for place in BOROUGHS]
    yield f"table {date}.csv", rows


def with_percentages(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["", *(f"{sex}, n (%)" for sex in SEXES), "Total, n (%)"]]
    for age in AGES:
        numbers = [*(count(people, age, sex) for sex in SEXES), count(people, age)]
        rows += [[age, *(f"{one} ({100 * one / len(people):.1f}%)" for one in numbers)]]
    yield f"t{date}.csv", rows


def rows_of_percentages(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["", "", *SEXES, "Total"]]
    for age in AGES:
        rows += [[age, "Count", *(count(people, age, sex) for sex in SEXES), count(people, age)]]
        rows += [["", "% within age", "40.0%", "60.0%", "100.0%"]]
    yield f"x-{date}.csv", rows


def one_below_the_other(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = []
    for name, values in (("Age", AGES), ("Sex", SEXES)):
        rows += [[f"Deaths by {name}"], [name, "Deaths"], *([one, count(people, one)] for one in values)]
        rows += [["Total", len(people)], []]
    yield f"report-{date}.csv", rows


def of_a_statistical_office(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["DATAFLOW", "LAST UPDATE", "freq", "sex", "age", "TIME_PERIOD", "OBS_VALUE", "OBS_FLAG"]]
    for code, sex in (("T", ()), ("F", SEXES[:1]), ("M", SEXES[1:])):
        for age in (None, *AGES):
            classes = (*sex, *([] if age is None else [age]))
            rows += [["A:B(1.0)", f"{date} 11:00", "A", code, age or "TOTAL", 2020, count(people, *classes), ""]]
    yield f"demo_{date}.csv", rows


def codes_for_totals(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["dep", "sexe", "dc"]]
    for code, place in zip(("01", "02", "2A"), BOROUGHS, strict=True):
        for sex, classes in ((0, ()), (1, SEXES[1:]), (2, SEXES[:1])):
            rows += [[code, sex, count(people, place, *classes)]]
    yield f"covid-{date}.csv", rows


def in_spanish(people: list[Person], date: str) -> Iterator[tuple[str, Rows]]:
    rows: Rows = [["provincia", "sexo", "grupo_edad", "num_casos", "num_def"]]
    for place in BOROUGHS:
        for code, sex in zip("MH", SEXES, strict=True):
            rows += [
                [place, code, age, 7 * count(people, place, sex, age), count(people, place, sex, age)] for age in AGES
            ]
    yield f"casos_{date}.csv", rows


EACH_DATE = [
    a_file_a_dimension,
    stacked,
    titled_cross_table,
    merged_header,
    with_percentages,
    rows_of_percentages,
    one_below_the_other,
    of_a_statistical_office,
    codes_for_totals,
    in_spanish,
]


def written(folder: Path, files: Iterator[tuple[str, Rows]]) -> None:
    for name, rows in files:
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


def attacked(folder: Path) -> Any:
    found = ri.attack(sorted(folder.iterdir()), only="differencing")["differencing"]
    return found.details


@pytest.mark.parametrize("layout", EACH_DATE)
def test_who_comes_alone_is_found_and_described(
    tmp_path: Path, layout: Callable[[list[Person], str], Iterator[tuple[str, Rows]]]
) -> None:
    for number, people in enumerate(world()):
        written(tmp_path, layout(people, day(number)))
    details = attacked(tmp_path)
    (alone,) = [one for one in details["described"] if one["came"]]
    told = {str(text).casefold() for text in alone["classes"].values()}
    assert told & {"18-44", "male", "m", "h", "richmond", "2a", "males", "male, n (%)"}, alone
    assert not told & {"female", "queens", "0-17"}
    assert details["single"] >= 1


def test_one_file_of_all_dates_is_subtracted_along_its_dates_if_counts_only_rise(tmp_path: Path) -> None:
    rows: Rows = [["as_of", "borough", "age", "count"]]
    for number, people in enumerate(world()):
        rows += [[day(number), one, age, count(people, one, age)] for one in BOROUGHS for age in AGES]
    written(tmp_path, iter([("all.csv", rows)]))
    details = attacked(tmp_path)
    assert details["described"] == [
        {
            "came": True,
            "releases": [1, 1],
            "dates": [day(2), day(3)],
            "classes": {"borough": "Richmond", "age": "18-44"},
        }
    ]


def test_counts_that_rise_and_fall_are_not_subtracted_unless_somebody_says_that_people_are_the_same(
    tmp_path: Path,
) -> None:
    draw = Random(5)  # noqa: S311
    rows: Rows = [["month", "ward", "patients"]]
    rows += [[f"2023-{month:02d}", ward, draw.randint(1, 40)] for month in range(1, 8) for ward in "ABCD"]
    written(tmp_path, iter([("patients.csv", rows)]))
    (found,) = ri.attack([tmp_path / "patients.csv"], only="differencing")
    assert found.reason is not None
    assert "rise and fall along 'month'" in found.reason
    (said,) = ri.attack([tmp_path / "patients.csv"], only="differencing", counts=ri.CountRules(repeated=True))
    assert said.details["pairs"] == 6


def test_tables_of_dates_in_a_header(tmp_path: Path) -> None:
    rows: Rows = [["Province", "Lat", "Long", *(f"3/{number + 1}/21" for number in range(6))]]
    for place in BOROUGHS:
        rows += [[place, 40.5, -73.1, *(count(people, place) for people in world())]]
    written(tmp_path, iter([("series.csv", rows)]))
    (alone,) = attacked(tmp_path)["described"]
    assert (alone["dates"], alone["classes"]) == (["3/3/21", "3/4/21"], {"Province": "Richmond"})


def test_categories_that_are_written_in_another_way_later_are_the_same(tmp_path: Path) -> None:
    for number, people in enumerate(world()):
        names = [one if number < 3 else f"{one.replace('-', ' to ')} years" for one in AGES]
        header = "AGE_GROUP" if number < 2 else "Age group"
        rows: Rows = [[header, "Deaths"], *([name, count(people, age)] for name, age in zip(names, AGES, strict=True))]
        written(tmp_path, iter([(f"age-{day(number)}.csv", [*rows, ["Total", len(people)]])]))
    details = attacked(tmp_path)
    assert details["pairs"] == 5
    assert [one["classes"] for one in details["described"]] == [{"Age group": "18 to 44 years"}]


def test_rounding_at_random_shows_where_parts_exceed_their_totals(tmp_path: Path) -> None:
    for number, people in enumerate(world()[:3]):
        rows: Rows = [["Sex", "Age group", "UOM", "VECTOR", "VALUE"]]
        for sex in (None, *SEXES):
            for age in (None, *AGES):
                true = count(people, *filter(None, (sex, age))) * 3
                shown = 5 * (true // 5 if not sex or not age else -(-true // 5))  # totals down, parts up
                rows += [[sex or "Both sexes", age or "All ages", "Persons", f"v{len(rows)}", shown]]
        written(tmp_path, iter([(f"{day(number)}.csv", rows)]))
    found = ri.attack(sorted(tmp_path.iterdir()), only="differencing")
    assert any("at random" in sentence for sentence in found.assumptions)
    assert not any("nearest" in sentence for sentence in found.assumptions), "what one release shows holds for all"


def test_blocks_titles_notes_and_header_lines_of_a_sheet() -> None:
    lines = "Deaths||Region,,Deaths,|,,n,%|North,,,|Young,,1,2|Old,,12,98|South,,,|Young,,4,9|Old,,30,91||note: x"
    text = lines.replace("|", "\n")
    (table,) = sheet_tables(list(csv.reader(io.StringIO(text))))
    assert table.title == "Deaths"
    assert table.frame.columns == ["block", "Region", "Deaths\nn", "Deaths\n%"]
    assert table.frame.rows()[2] == ("South", "Young", "4", "9")
