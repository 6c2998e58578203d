"""The page as a steward sees it: on a desk and on a phone, by day and by night, with and without script."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import reissue as ri
from reissue.synth import Population
from reissue.web.server import open_browser
from tests.web.client import Client, served

pytestmark = pytest.mark.xdist_group("browser")
Scheme = Literal["light", "dark"]
WAIT = 300_000
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
SMALLEST = (320, 640)
LABEL = 11
"""Pixels that the letters of a chart have at least, on whatever it is shown."""
PICTURES = os.environ.get("REISSUE_PICTURES")
"""A folder for a picture of every page that is looked at."""
_LABELS = """() => [...document.querySelectorAll("svg text")].filter(one => one.checkVisibility()).map(one => {
  const turned = one.getScreenCTM();
  return [one.textContent, parseFloat(getComputedStyle(one).fontSize) * Math.hypot(turned.a, turned.b)];
})"""


@contextmanager
def inside(
    browser: Browser, client: Client, size: str = "desktop", scheme: Scheme = "light", *, script: bool = True
) -> Iterator[Page]:
    """A browser that is let in, which must neither complain nor ask anybody else."""
    width, height = SIZES[size]
    own = f"http://127.0.0.1:{client.port}"
    viewport: Any = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, java_script_enabled=script, base_url=own)
    name, _, value = client.headers["Cookie"].partition("=")
    context.add_cookies([{"name": name, "value": value, "url": own, "httpOnly": True, "sameSite": "Strict"}])
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert not complaints
    assert all(url.startswith(own) for url in asked)


def looks_right(page: Page) -> None:
    """Nothing sticks out, letters can be read, and axe finds nothing serious."""
    page.wait_for_load_state()
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    size = page.viewport_size or {"width": 0, "height": 0}
    if size["width"] == SIZES["phone"][0]:
        page.set_viewport_size({"width": SMALLEST[0], "height": SMALLEST[1]})
        fits(page)
        page.set_viewport_size(size)
    fits(page)
    found: Any = Axe().run(page).response["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}]
    keep(page)


def fits(page: Page) -> None:
    """The page does not scroll sideways, and labels of charts are not too small."""
    wide = page.evaluate("document.documentElement.scrollWidth"), page.evaluate("window.innerWidth")
    assert wide[0] <= wide[1], f"{page.url} scrolls sideways: {wide}"
    small = [(text, round(size, 1)) for text, size in page.evaluate(_LABELS) if size < LABEL]
    assert not small, f"{page.url} has labels that are too small at {wide[1]}: {small[:3]}"


def keep(page: Page) -> None:
    """A picture of a page, for whoever looks at them all."""
    if PICTURES:
        walk = re.sub(r"\W+", "-", os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0])
        folder = Path(PICTURES) / walk
        folder.mkdir(parents=True, exist_ok=True)
        what = re.sub(r"\W+", "-", re.sub(r"[0-9a-f]{12,}", "x", page.url.split("/", 3)[3])).strip("-") or "home"
        path = folder / f"{len([*folder.glob('*.png')]):02}-{what}.png"
        page.screenshot(path=path, full_page=True, caret="initial")  # to hide it would be a style that we forbid


def audit(page: Page, files: Path, look: Callable[[Page], None] = lambda _: None) -> None:
    """The whole walk of an audit, from the first page to the report."""
    page.goto("/")
    look(page)
    page.get_by_role("link", name="Audit files").click()
    look(page)
    page.get_by_label("Published files").set_input_files([files / "jan.csv", files / "feb.csv"])
    page.get_by_role("button", name="Read the files").click()
    page.wait_for_url("**/audit/read/**", timeout=60_000)
    look(page)
    page.get_by_text("Run some attacks only").click()
    if not page.get_by_label("composition").is_visible():
        page.get_by_text("Run some attacks only").click()
    page.get_by_label("composition").check()
    page.get_by_label("joint", exact=True).check()
    page.get_by_role("button", name="Attack them").click()
    page.wait_for_url("**/audit/of/**", timeout=60_000)
    look(page)
    page.get_by_role("link", name="Read the report").click()
    page.get_by_role("heading", name="All attacks").wait_for()  # the page has its address before it has its text


def test_an_audit_on_a_phone_by_night(browser: Browser, client: Client, files: Path) -> None:
    with inside(browser, client, "phone", "dark") as page:
        audit(page, files, looks_right)


def test_an_audit_without_script(browser: Browser, client: Client, files: Path) -> None:
    with inside(browser, client, script=False) as page:
        audit(page, files, keep)


@pytest.fixture(scope="module")
def ledger(place: Path, files: Path) -> str:
    """A ledger of two releases on the shelf."""
    text = (files / "schema.toml").read_text()
    policy = '[policy]\nrequire = "k=5"\nattacks = ["joint"]\nsensitive_values = ["none of these"]\n'
    schema = ri.Schema.loads(f"{text}\n{policy}")
    folder = place / "ledgers"
    folder.mkdir(exist_ok=True)
    for name in ("jan", "feb"):
        ri.publish(files / f"{name}-original.csv", folder / "looks.ledger", schema if name == "jan" else None)
    return "looks.ledger"


def others(page: Page, files: Path, ledger: str) -> None:
    """Every other page that stands still, each looked at."""
    page.goto("/")
    looks_right(page)
    page.get_by_role("link", name=ledger).click()
    looks_right(page)
    for name in ("Publish the next release", "Policy", "Providers", "Release 2"):
        page.get_by_role("link", name=name).click()
        looks_right(page)
        page.go_back()
    page.goto("/publish")
    looks_right(page)
    page.goto("/table")
    page.get_by_label("The table, or its waves").set_input_files([files / "jan-original.csv"])
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_url("**/table/of/*", timeout=60_000)
    looks_right(page)
    page.get_by_role("button", name="Save the schema").click()
    page.wait_for_url("**/table/of/*/schema", timeout=60_000)
    looks_right(page)


def test_the_other_pages_look_right(browser: Browser, client: Client, files: Path, ledger: str) -> None:
    with inside(browser, client, "phone") as page:
        others(page, files, ledger)


Look = Callable[[Page], None]


def plan_and_publish(
    page: Page,
    waves: Sequence[Path],
    name: str,
    roles: Mapping[str, str],
    look: Look,
    *,
    script: bool,
    minutes: str = "0.3",
) -> None:
    """From tables to a first release with the page alone, then the next one, its providers, and the ledger."""
    page.goto("/table")
    page.get_by_label("The table, or its waves").set_input_files(waves[:2])
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_url("**/table/of/*", timeout=WAIT)
    look(page)
    for column, role in roles.items():
        card = page.locator("section.column", has=page.get_by_role("heading", name=column, exact=True))
        card.get_by_label("What it is").select_option(role)
    page.get_by_role("button", name="Save the schema").click()
    page.wait_for_url("**/schema", timeout=WAIT)
    look(page)
    page.locator("#f-minutes").fill(minutes)
    page.get_by_role("button", name="Plan it").click()
    page.wait_for_url("**/jobs/*", timeout=WAIT)
    page.locator("svg.chart").wait_for(timeout=WAIT)
    keep(page)
    page.wait_for_url("**/plan/*", timeout=WAIT)
    look(page)
    slid(page, look, script=script)
    if not page.get_by_role("radio", checked=True).count():
        page.get_by_role("radio").first.check()
    page.get_by_label("Name of the ledger").fill(name)
    page.get_by_label("It shows no particular day").check()
    page.get_by_role("button", name="Try the first release").click()
    page.wait_for_url("**/publish/*", timeout=WAIT)
    look(page)
    if page.get_by_role("link", name="What would they see?").count():
        page.get_by_role("link", name="What would they see?").click()
        look(page)
        page.go_back()
    page.get_by_role("button", name="Publish release 1").click()
    page.wait_for_url("**/published/*", timeout=WAIT)
    look(page)
    page.get_by_role("link", name=name).click()
    look(page)
    page.get_by_role("button", name="Verify the ledger").click()
    page.wait_for_url("**/verified/*", timeout=WAIT)
    assert page.get_by_text("Nothing was changed").is_visible()
    look(page)
    page.get_by_role("link", name=name).click()
    go_on(page, waves, look)


def go_on(page: Page, waves: Sequence[Path], look: Look) -> None:
    """The next release of a ledger, its policy, and its providers if there are some."""
    series = page.url
    page.get_by_role("link", name="Publish the next release").click()
    look(page)
    page.get_by_label("Today's table").set_input_files(waves[1])
    page.get_by_label("It shows no particular day").check()
    page.get_by_role("button", name="Try it").click()
    page.wait_for_url("**/publish/*", timeout=WAIT)
    look(page)
    page.get_by_role("button", name="Publish release 2").click()
    page.wait_for_url("**/published/*", timeout=WAIT)
    for one in ("", "/policy", "/releases/2"):
        page.goto(f"{series}{one}")
        look(page)
    page.goto(series)
    if not page.get_by_role("link", name="Providers").count():
        return
    page.get_by_role("link", name="Providers").click()
    look(page)
    page.get_by_label("The original tables of all releases").set_input_files(waves[:2])
    page.get_by_role("button", name="Look at all releases").click()
    page.wait_for_url("**/providers/over/*", timeout=WAIT)
    look(page)


def slid(page: Page, look: Look, *, script: bool) -> None:
    """Another k by a slider, or by a field and a button; then before and after."""
    page.locator("#f-k").fill("12")
    if script:
        page.locator("#f-k").press("Tab")
        page.get_by_role("link", name="Before and after", exact=True).click(timeout=WAIT)
    else:
        page.get_by_role("button", name="Try it").click()
    page.wait_for_url("**/beside/*", timeout=WAIT)
    look(page)
    page.get_by_role("button", name="Count").click()
    page.wait_for_url("**/beside/*", timeout=WAIT)
    page.get_by_role("link", name="Back to the plan").click(timeout=WAIT)


PANEL_ROLES = {"visits": "sensitive", "docvis": "drop", "hhninc": "drop"}
PANEL = Path(__file__).parents[3] / "shared" / "data" / "panel"
EVERYWHERE = [
    ("desktop", "light", True),
    ("desktop", "dark", False),
    ("phone", "light", False),
    ("phone", "dark", True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme", "script"), EVERYWHERE)
def test_the_whole_path_on_the_demos_months(
    browser: Browser, client: Client, place: Path, size: str, scheme: Scheme, *, script: bool
) -> None:
    (place / "ledgers").mkdir(exist_ok=True)
    months = []
    for number, month in enumerate(Population(seed=1, people=250).months(2), start=1):
        months.append(place / f"month-{number}.csv")
        month.write_csv(months[-1])
    look = looks_right if script else keep
    with inside(browser, client, size, scheme, script=script) as page:
        plan_and_publish(page, months, f"demo-{size}-{scheme}.ledger", {"disease": "sensitive"}, look, script=script)


@pytest.mark.slow
@pytest.mark.skipif(not PANEL.is_dir(), reason="the panel is not at ../shared/data")
@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_the_whole_path_on_the_panel(browser: Browser, client: Client, place: Path, size: str, scheme: Scheme) -> None:
    (place / "ledgers").mkdir(exist_ok=True)
    waves = sorted(PANEL.glob("*.csv"))
    with inside(browser, client, size, scheme) as page:
        plan_and_publish(page, waves, f"panel-{size}.ledger", PANEL_ROLES, looks_right, script=True, minutes="1")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_every_page_looks_right_everywhere(
    browser: Browser, client: Client, files: Path, ledger: str, size: str, scheme: Scheme
) -> None:
    with inside(browser, client, size, scheme) as page:
        audit(page, files, looks_right)
        others(page, files, ledger)


def test_the_keyboard_goes_everywhere(browser: Browser, client: Client) -> None:
    with inside(browser, client) as page:
        page.goto("/audit")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        reached = set()
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        assert {"f-published", "f-delimiter", "Read the files"} <= reached


def test_the_browser_comes_in_by_a_private_file(browser: Browser, place: Path, tmp_path: Path) -> None:
    with served(place / "by-file") as stranger:
        address = f"http://127.0.0.1:{stranger.port}/?token={stranger.keys.token}"
        opened: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("webbrowser.open", opened.append)
            open_browser(address, stranger.keys, tmp_path)
        page = browser.new_page()
        page.goto((tmp_path / "open.html").as_uri())
        page.wait_for_url(f"http://127.0.0.1:{stranger.port}/")
        page.get_by_role("heading", level=1).wait_for()
        keep(page)
        assert not (tmp_path / "open.html").exists()
        page.close()
        assert stranger.get(f"/?token={stranger.keys.token}").status == 403
