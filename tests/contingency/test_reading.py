"""Published tables of counts in the forms in which statistical offices and cities write them."""

import io
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.contingency import UNBOUNDED, CountRules, CountTable, count_tables
from reissue.contingency.cells import read_cells, rounding_base, rules_from
from reissue.contingency.recognition import counts_in
from reissue.published import open_counts
from reissue.published.counts_table import linked
from reissue.schema import Schema

BY_SEX = """SEX_GROUP,CASE_RATE,DEATH_RATE,CASE_COUNT,DEATH_COUNT
Female,2531.13,173.74,111187,7632
Male,2890.41,283.7,115789,11365
Citywide,2704.67,226.21,226976,18997
"""
STACKED = """group,subgroup,DEATH_RATE,CASE_COUNT,DEATH_COUNT
Age,0-17,0.5,1000,
Age,18-44,1.5,2000,30
Age,45-64,2.5,3000,300
Age,65+,3.5,1000,700
Sex,Female,1.5,3600,500
Sex,Male,1.5,3400,530
"""
CONDITIONS = """AGE_GROUP,DEATH_COUNT_TOTAL,DEATH_COUNT_ILLNESS,DEATH_COUNT_NO_ILLNESS
0-17,12,11,1
18-44,725,702,23
"""


def read(text: str, **more: object) -> tuple[CountTable, ...]:
    return count_tables(pl.read_csv(io.StringIO(text), infer_schema=False), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("12", 12, 12),
        ("12.0", 12, 12),
        ("1,204", 1204, 1204),
        ("1 204 503", 1204503, 1204503),
        ("12 [r]", 12, 12),
        ("<5", 0, 4),
        ("≤5", 0, 5),
        ("fewer than 10", 0, 9),
        ("0-2", 0, 2),
        ("1 to 4", 1, 4),
        ("100+", 100, UNBOUNDED),
        ("> 95", 96, UNBOUNDED),
        ("*", 0, UNBOUNDED),
        ("..", 0, UNBOUNDED),
        ("[c]", 0, UNBOUNDED),
        ("[REDACTED]", 0, UNBOUNDED),
        ("-9", 0, UNBOUNDED),
        ("", 0, UNBOUNDED),
    ],
)
def test_a_cell_is_an_interval(text: str, low: int, high: int) -> None:
    cells = read_cells(pl.Series([text])).protected(CountRules(), 1, zeros=False)
    assert (cells.low.tolist(), cells.high.tolist()) == ([low], [high])


def test_where_zeros_are_shown_a_hidden_cell_is_none() -> None:
    (table,) = read("sex,age,count\nf,a,0\nf,b,<5\nm,a,*\nm,b,7\n")
    assert (table.low.tolist(), table.high.tolist()) == ([0, 1, 1, 7], [0, 4, UNBOUNDED, 7])
    assert table.hidden == 2
    assert "2 cells" not in "".join(table.assumed), "what '<5' stands for is said"


def test_rounding_is_found_or_stated() -> None:
    numbers = [5, 10, 35, 40, 0, 15, 20, 25, 60, 85]
    assert rounding_base([read_cells(pl.Series([str(one) for one in numbers]))]) == 5
    assert rounding_base([read_cells(pl.Series(["5", "10", "15"]))]) == 1, "three numbers may be chance"
    text = "sex,age,count\n" + "".join(f"{'fm'[n % 2]},{n // 2},{one}\n" for n, one in enumerate(numbers))
    (found,) = read(text)
    assert (found.base, found.low[:3].tolist(), found.high[:3].tolist()) == (5, [3, 8, 33], [7, 12, 37])
    (stated,) = read(text, rules=CountRules(rounding=5, random=True))
    assert (stated.low[1], stated.high[1]) == (6, 14)
    (exact,) = read(text, rules=CountRules(rounding=1))
    assert (exact.low == exact.high).all()
    assert rules_from({"rounding": 5, "suppressed": "1-4"}) == CountRules(rounding=5, suppressed=(1, 4))
    with pytest.raises(ri.InputError):
        rules_from({"rounding": "five"})


def test_a_row_that_is_the_sum_of_the_others_is_their_total() -> None:
    cases, deaths = read(BY_SEX)
    assert [cases.name, deaths.name] == ["CASE_COUNT", "DEATH_COUNT"]
    assert deaths.categories.rows() == [("Female",), ("Male",), (None,)]
    assert [margin.dimensions for margin in deaths.margins()] == [("SEX_GROUP",), ()]


def test_classifications_one_below_the_other_are_tables_of_their_own() -> None:
    tables = read(STACKED)
    assert [(one.name, one.dimensions) for one in tables] == [
        ("CASE_COUNT", ("Age",)),
        ("CASE_COUNT", ("Sex",)),
        ("DEATH_COUNT", ("Age",)),
        ("DEATH_COUNT", ("Sex",)),
    ]
    assert tables[2].cells == 3, "an empty count is none"


def test_a_total_among_the_columns_makes_a_cross_table() -> None:
    (table,) = read(CONDITIONS)
    assert table.dimensions == ("AGE_GROUP", "column")
    assert [margin.dimensions for margin in table.margins()] == [("AGE_GROUP", "column"), ("AGE_GROUP",)]


def test_tables_of_counts_are_recognized() -> None:
    for text in (BY_SEX, STACKED, CONDITIONS):
        assert counts_in(pl.read_csv(io.StringIO(text), infer_schema=False)), text
    people = pl.DataFrame({"name": [f"p{n}" for n in range(30)], "visit_count": [n % 4 for n in range(30)]})
    assert not counts_in(people), "people may have a count of something"


def test_dimensions_are_linked_to_a_schema() -> None:
    schema = Schema.of_columns(quasi=["age", "sex"], sensitive=["disease"])
    (table,) = read("AGE_GROUP,Sex,flu,HIV\n0-17,f,5,0\n18+,f,7,1\n0-17,m,5,0\n18+,m,7,1\n")
    assert linked(table, schema).dimensions == ("age", "sex", "disease")


def test_files_with_titles_sheets_and_folders(tmp_path: Path) -> None:
    titled = tmp_path / "titled.csv"
    titled.write_text("Table 1: deaths\n\nBorough,Age,Deaths\nA,0-17,<5\nA,18+,12\nB,0-17,4\nB,18+,30\n\nSource: us\n")
    (opened,) = open_counts([titled])
    assert [one.cells for one in opened.counts] == [4]
    book = pytest.importorskip("xlsxwriter").Workbook(str(tmp_path / "book.xlsx"))
    for name, column in (("by sex", ["f", "m"]), ("by age", ["0-17", "18+"])):
        sheet = book.add_worksheet(name)
        sheet.write_row(0, 0, [name[3:], "death_count"])
        for row, label in enumerate(column, start=1):
            sheet.write_row(row, 0, [label, 10 * row])
    book.close()
    (workbook,) = open_counts([tmp_path / "book.xlsx"])
    assert [one.dimensions for one in workbook.counts] == [("sex",), ("age",)]
    folder = tmp_path / "march"
    folder.mkdir()
    (folder / "sex.csv").write_text(BY_SEX)
    (folder / "age.csv").write_text(CONDITIONS)
    (both,) = open_counts([folder])
    assert len(both.counts) == 3


def test_what_is_no_table_of_counts_stays_as_it_is() -> None:
    people = pl.DataFrame({"age": [1, 2], "disease": ["a", "b"]})
    assert open_counts([people])[0] is people
    with pytest.raises(ri.DataError):
        count_tables(people.select("disease"))
