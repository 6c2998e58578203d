"""Whole walks of a steward in a real browser: a dirty workbook to the third release, an audit, a refusal repaired."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import polars as pl
import pytest
import xlsxwriter
from playwright.sync_api import Browser, Page

import reissue as ri
from reissue.ledger import Ledger
from reissue.synth import Population, schema
from tests.web.client import Client, served
from tests.web.test_browser import WAIT, inside, looks_right

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
HEADINGS = ("Patientennummer", "Alter", "Geschlecht", "PLZ", "Diagnose")
CODES = ("E11.90", "I10.00", "J45.0", "K21.9", "M54.5")


def months(random: Random, people: int = 220) -> list[list[list[object]]]:
    """Three months of a ward: some leave, some come, some values change."""
    number = iter(range(10_000, 99_999))
    ward = [_person(random, next(number)) for _ in range(people)]
    made = []
    for _ in range(3):
        made.append([list(one) for one in ward])
        ward = [one for one in ward if random.random() > 0.1]
        for one in ward:
            one[4] = random.choice(CODES) if random.random() < 0.1 else one[4]
        ward += [_person(random, next(number)) for _ in range(people // 10)]
    return made


def _person(random: Random, number: int) -> list[object]:
    place = random.choice(["10115", "10117", "20095", "20097", "80331", "80333"])
    return [f"P{number}", random.randint(18, 90), random.choice("mw"), place, random.choice(CODES)]


def workbook(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    """As wards keep it: a note above the header, a code in two spellings, a doubled row, a total below."""
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["Bericht der Station 3"])
    sheet.write_row(2, 0, HEADINGS)
    dirty = [list(one) for one in rows]
    for place in range(0, len(dirty), 17):
        dirty[place][4] = f"{str(dirty[place][4]).lower()} "
    dirty.append(dirty[5])
    for place, row in enumerate([*dirty, ["Summe", len(rows), "", "", ""]], start=3):
        sheet.write_row(place, 0, row)
    book.close()
    return path


@pytest.fixture
def steward(place: Path) -> Iterator[Client]:
    folder = place / "walks"
    folder.mkdir(exist_ok=True)
    with served(folder) as client:
        yield client.enter()


def choose(page: Page, column: str, role: str) -> None:
    card = page.locator("section.column", has=page.get_by_role("heading", name=column, exact=True))
    card.get_by_label("What it is").select_option(role)


def publish(page: Page, number: int) -> None:
    """The price is read, the release recorded and taken away."""
    page.wait_for_url("**/publish/*", timeout=WAIT)
    looks_right(page)
    assert page.get_by_role("heading", name="What it costs").is_visible()
    assert page.get_by_text(re.compile(r"Nobody can be surer of a value than 0\.\d+; the limit is 0\.75")).is_visible()
    page.get_by_role("button", name=f"Publish release {number}").click()
    page.wait_for_url("**/published/*", timeout=WAIT)
    looks_right(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download it (CSV)").click()
    frame = pl.read_csv(download.value.path(), infer_schema=False)
    assert "Patientennummer" not in frame.columns
    assert frame.height > 100


def test_from_a_dirty_workbook_to_the_third_release(browser: Browser, steward: Client, tmp_path: Path) -> None:
    random = Random(3)  # noqa: S311  # invented people
    books = [workbook(tmp_path / f"monat-{n}.xlsx", rows) for n, rows in enumerate(months(random), start=1)]
    with inside(browser, steward) as page:
        page.goto("/")
        looks_right(page)
        page.get_by_role("link", name="Plan a first release").click()
        page.get_by_label("The table, or its waves").set_input_files(books[:2])
        page.get_by_role("region", name="Rows of monat-2.xlsx").wait_for(timeout=WAIT)
        looks_right(page)
        page.get_by_role("button", name="Look at it").click()
        page.wait_for_url("**/table/of/*", timeout=WAIT)
        looks_right(page)
        assert page.get_by_role("heading", name="What is wrong with the tables").is_visible()
        assert page.get_by_role("region", name="Rows of monat-1.xlsx").is_visible()
        page.get_by_role("button", name="Repair what is ticked").click()
        page.wait_for_url("**/table/of/*", timeout=WAIT)
        choose(page, "Diagnose", "sensitive")
        page.get_by_role("button", name="Save the schema").click()
        page.wait_for_url("**/schema", timeout=WAIT)
        looks_right(page)
        page.locator("#f-minutes").fill("0.3")
        page.get_by_role("button", name="Plan it").click()
        page.wait_for_url("**/plan/*", timeout=WAIT)
        looks_right(page)
        if not page.get_by_role("radio", checked=True).count():
            page.get_by_role("radio").first.check()
        page.get_by_label("Name of the ledger").fill("ward.ledger")
        page.get_by_label("The day that the table shows").fill("2026-01-31")
        page.get_by_role("button", name="Try the first release").click()
        publish(page, 1)
        for number, day in ((2, "2026-02-28"), (3, "2026-03-31")):
            page.get_by_role("link", name="publish it here").click()
            page.get_by_label("Today's table").set_input_files(books[number - 1])
            page.get_by_label("The day that the table shows").fill(day)
            page.get_by_role("button", name="Try it").click()
            publish(page, number)


def test_three_foreign_files_and_a_register_that_comes_later(
    browser: Browser, steward: Client, files: Path, tmp_path: Path
) -> None:
    with inside(browser, steward) as page:
        page.goto("/audit")
        page.get_by_label("Published files").set_input_files([files / f"{name}.csv" for name in ("jan", "feb", "mar")])
        page.get_by_role("button", name="Read the files").click()
        page.wait_for_url("**/audit/read/**", timeout=WAIT)
        looks_right(page)
        assert page.get_by_role("region", name="Rows of jan.csv").is_visible()
        page.get_by_label("The method by which they were made").select_option(label="Mondrian, of any tool")
        page.get_by_role("button", name="Attack them").click()
        page.wait_for_url("**/audit/of/**", timeout=WAIT)
        looks_right(page)
        page.get_by_label("A register", exact=True).set_input_files(files / "jan-original.csv")
        page.get_by_role("button", name="Attack them again").click()
        page.wait_for_url("**/jobs/**", timeout=WAIT)
        page.wait_for_url("**/audit/of/**", timeout=WAIT)
        looks_right(page)
        assert page.get_by_text("joint (with a register of people)").is_visible()
        page.get_by_role("link", name="Read the report").click()
        assert page.get_by_role("heading", name="How sure somebody can be").is_visible()


def test_a_refused_release_is_understood_and_repaired(
    browser: Browser, steward: Client, place: Path, tmp_path: Path
) -> None:
    tables = []
    for number, month in enumerate(Population(seed=1, people=150).months(2), start=1):
        tables.append(tmp_path / f"month-{number}.csv")
        month.write_csv(tables[-1])
    policy = '\n[policy]\nrequire = "k=5"\nmethod = "pool"\nattacks = ["joint"]\nlimit = 0.75\n'
    ri.publish(tables[0], place / "walks" / "strict.ledger", ri.Schema.loads(schema().dumps() + policy))
    with inside(browser, steward) as page:
        page.goto("/")
        page.get_by_role("link", name="strict.ledger").click()
        page.get_by_role("link", name="Publish the next release").click()
        page.get_by_label("Today's table").set_input_files(tables[1])
        page.get_by_label("It shows no particular day").check()
        page.get_by_role("button", name="Try it").click()
        page.wait_for_url("**/publish/*", timeout=WAIT)
        looks_right(page)
        assert page.get_by_role("heading", name="Why").is_visible()
        step = page.locator("ol.steps li", has_text="tried, and nobody is exposed").first
        step.get_by_role("button", name="Do this and try again").click()
        page.wait_for_url("**/jobs/*", timeout=WAIT)
        page.wait_for_url("**/publish/*", timeout=WAIT)
        looks_right(page)
        page.get_by_role("button", name="Publish release 2").click()
        page.wait_for_url("**/published/*", timeout=WAIT)
        looks_right(page)
    with Ledger.open(place / "walks" / "strict.ledger") as book:
        assert len(book.releases) == 2
