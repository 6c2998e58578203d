"""The report as people see it: in a browser, on a desk and on a phone, by day and by night, and on paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import reissue as ri
from reissue.report import write_report
from reissue.synth import Population, schema
from tests.report.cases import every_picture

pytestmark = pytest.mark.xdist_group("browser")
Scheme = Literal["light", "dark"]
SIZES = {"desktop": (1280, 900), "phone": (375, 812)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(every_picture(), tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a real attack on three months."""
    months = Population(seed=2, people=400).months(3)
    releases = [ri.anonymize(month, schema(), "k=3 & l=2", seed=1) for month in months]
    found = ri.attack(releases, schema(), only=["coalition", "updates", "definetti", "equivalence"], timeline=True)
    return write_report(found, tmp_path_factory.mktemp("report") / "real.html")


@contextmanager
def opened(browser: Browser, path: Path, size: str = "desktop", scheme: Scheme = "light") -> Iterator[Page]:
    """The page, which must neither complain nor ask for anything beside itself."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert not complaints
    assert asked == [path.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("which", ["report", "real"])
def test_the_page_is_drawn_and_accessible(
    browser: Browser, request: pytest.FixtureRequest, which: str, size: str, scheme: Scheme, tmp_path: Path
) -> None:
    with opened(browser, request.getfixturevalue(which), size, scheme) as page:
        assert page.locator(".verdict").is_visible()
        assert page.locator("figure svg.chart").first.bounding_box()
        picture = page.screenshot(path=tmp_path / f"{which}-{size}-{scheme}.png", full_page=True)
        assert len(picture) > 20_000
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found: Any = Axe().run(page).response["violations"]
        assert not [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}]


def test_night_is_dark_and_day_is_light(browser: Browser, report: Path) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        with opened(browser, report, scheme=scheme) as page:
            shades[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shades == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}


def test_hostile_values_are_shown_as_text(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        assert page.locator("script").count() == 0
        assert page.get_by_text("<script>alert(1)</script>").count() > 5


def test_the_keyboard_reaches_everything(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#attacks"
        wanted = page.locator("a[href], summary, [tabindex='0']").count()
        page.evaluate("window.scrollTo(0, 0); document.activeElement.blur(); document.body.focus()")
        reached = set()
        for _ in range(wanted + 3):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        assert len(reached - {-1}) >= wanted


def test_links_lead_to_sections(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        targets = page.eval_on_selector_all(
            "a[href^='#']", "some => some.map(one => one.getAttribute('href').slice(1))"
        )
        assert targets
        for target in targets:
            assert page.locator(f"[id='{target}']").count() == 1, target


def test_on_paper_nothing_is_folded_away(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        seen = "[...document.querySelectorAll('details table')].map(one => one.checkVisibility())"
        assert not any(page.evaluate(seen))
        page.emulate_media(media="print")
        assert all(page.evaluate(seen))
        assert page.pdf(format="A4").startswith(b"%PDF")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_an_attack_the_page_still_stands(browser: Browser, tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": ["20-29"] * 6, "zip": ["4*"] * 6, "sex": ["*"] * 6, "job": ["*"] * 6})
    one = frame.with_columns(pl.Series("disease", ["flu", "ulcer"] * 3))
    path = write_report(ri.attack([one], schema(), only="correspondence"), tmp_path / "one.html")
    with opened(browser, path) as page:
        assert page.locator(".verdict .word").inner_text() == "? NOTHING SHOWN"
