"""The whole path by keyboard alone: focus is always seen, goes down the page, is never caught and never lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from reissue.synth import Population
from tests.web.client import Client
from tests.web.test_browser import WAIT, inside

pytestmark = pytest.mark.xdist_group("browser")
_MOST = 400
"""Stops of one page, at most."""
_FOCUS = """() => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const look = getComputedStyle(it), box = it.getBoundingClientRect();
  const around = (it.closest(".tall") || it).getBoundingClientRect();
  const by = document.getElementById(it.getAttribute("aria-labelledby")) || (it.labels || [])[0];
  const label = by ? by.textContent : "";
  return {
    tag: it.tagName, id: it.id, type: it.type || "", value: it.value || "",
    name: (it.getAttribute("aria-label") || label || it.textContent || "").trim().replace(/\\s+/g, " "),
    seen: (look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2) || look.boxShadow !== "none",
    inView: box.width > 0 &&
      box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    top: around.top + scrollY, bottom: around.bottom + scrollY,
  };
}"""
Stop = dict[str, Any]


class Keyboard:
    """Somebody without a mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def focus(self) -> Stop | None:
        found: Stop | None = self.page.evaluate(_FOCUS)
        return found

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """In place of what a field holds."""
        self.press("Control+a")
        self.page.keyboard.type(text)

    def to(self, wanted: Callable[[Stop], bool], key: str = "Tab") -> Stop:
        """Go on until something has the focus; every stop on the way must be seen, and lie below the one before."""
        last: Stop | None = None
        for _ in range(_MOST):
            self.press(key)
            now = self.focus
            if now is None:
                last = None  # the end of the page: the browser itself has the focus
                continue
            assert now["seen"], f"focus is not seen on {now}"
            assert now["inView"], f"focus is out of sight on {now}"
            if last is not None and key == "Tab" and now["tag"] != "A" and last["tag"] != "A":
                assert now["bottom"] > last["top"] - 2, f"focus goes up the page, from {last} to {now}"
            if wanted(now):
                return now
            last = now
        pytest.fail(f"nothing on {self.page.url} is reached by the keyboard")

    def to_name(self, name: str, key: str = "Tab") -> Stop:
        return self.to(lambda stop: stop["name"].startswith(name), key)

    def to_id(self, own: str, key: str = "Tab") -> Stop:
        return self.to(lambda stop: stop["id"] == own, key)

    def enter(self, name: str, url: str) -> None:
        """Press a link or a button, and wait for where it leads."""
        self.to_name(name)
        self.press("Enter")
        self.page.wait_for_url(url, timeout=WAIT)
        self.page.wait_for_load_state()

    def give(self, own: str, *files: Path) -> None:
        """Reach a field for files; the window that the browser opens then is not ours."""
        self.to_id(own)
        self.page.locator(f"#{own}").set_input_files(files)

    def round_trip(self) -> int:
        """Once through all stops of a page and out of it: no trap. Backwards the same stops come."""
        there: list[Stop] = []
        while (now := self._pressed("Tab")) is not None:
            there.append(now)
            assert len(there) < _MOST, f"the keyboard is caught on {self.page.url}"
        back = [self._pressed("Shift+Tab") for _ in there]
        assert [one["name"] for one in reversed(there)] == [one["name"] for one in back if one is not None]
        return len(there)

    def _pressed(self, key: str) -> Stop | None:
        self.press(key)
        return self.focus


def _home_and_audit(keys: Keyboard, files: Path) -> None:
    keys.page.goto("/")
    assert keys.to(lambda _: True)["name"] == "Skip to the page"
    keys.press("Enter")
    assert keys.to(lambda _: True)["name"].startswith("Audit files"), "the skip link leads past the header"
    keys.page.goto("/")
    assert keys.round_trip() >= 8
    keys.enter("Audit files", "**/audit")
    keys.give("f-published", files / "jan.csv", files / "feb.csv")
    keys.enter("Read the files", "**/audit/read/**")
    assert keys.to(lambda stop: stop["tag"] == "SELECT")["name"].startswith("What ")
    before = (keys.focus or {})["value"]
    keys.press("ArrowDown", "ArrowUp")
    assert (keys.focus or {})["value"] == before
    keys.to_name("Run some attacks only")
    keys.press("Enter")
    for name in ("composition", "joint"):
        keys.to_name(name)
        keys.press("Space")
        assert keys.page.get_by_label(name).is_checked()
    keys.enter("Attack them", "**/audit/of/**")
    keys.enter("Read the report", "**/report.html")
    keys.page.go_back()  # Alt and an arrow: a key of the browser, which has no window here
    keys.page.wait_for_url("**/audit/of/**")


def _table(keys: Keyboard, waves: list[Path]) -> None:
    keys.enter("Reissue", "**/")
    keys.enter("Plan a first release", "**/table")
    keys.give("f-wave", *waves)
    keys.enter("Look at it", "**/table/of/*")
    card = next(
        one for one in keys.page.locator("section.column").all() if one.get_by_label("doctor", exact=True).count()
    )
    own = card.get_by_role("heading").first.get_attribute("id")
    keys.to_id(f"{own}kind")
    keys.page.keyboard.type("groups")
    assert (keys.focus or {})["value"] == "tree"
    keys.to_id(f"{own}into")
    keys.type("Care")
    keys.to_name("doctor")
    keys.press("Space")
    keys.to_name("nurse")
    keys.press("Space")
    keys.to_name("Move", "Shift+Tab")
    keys.press("Enter")
    keys.page.wait_for_url(f"**#{own}")
    after = keys.to(lambda _: True)
    assert after["id"] == f"{own}role", "after a move the keyboard goes on at the same column"
    assert keys.page.get_by_label("Group of doctor").input_value() == "Care"
    disease = keys.page.locator("section.column", has=keys.page.get_by_role("heading", name="disease", exact=True))
    keys.to_id(f"{disease.get_by_role('heading').first.get_attribute('id')}role")
    keys.page.keyboard.type("nobody")
    keys.enter("Save the schema", "**/schema")


def _plan(keys: Keyboard) -> None:
    slider = keys.to(lambda stop: stop["type"] == "range")
    keys.press("ArrowLeft")
    assert float((keys.focus or {})["value"]) == pytest.approx(float(slider["value"]) - 0.01)
    keys.press("ArrowRight")
    keys.to_id("f-minutes")
    keys.type("0.2")
    keys.enter("Plan it", "**/plan/*")
    keys.to(lambda stop: stop["type"] == "range")
    with keys.page.expect_response("**/plan/*?limit=*"):
        keys.press("ArrowLeft")
    expect(keys.page.locator("#verdict")).to_contain_text("by a limit of 0.74", timeout=WAIT)
    still = keys.focus
    assert still is not None
    assert still["type"] == "range", "focus stays where it was when the plan is drawn anew"
    keys.press("ArrowRight")
    keys.to(lambda stop: stop["type"] == "range" and "Records of a group" in stop["name"])
    keys.press(*["ArrowRight"] * 7)
    expect(keys.page.get_by_role("link", name="Before and after", exact=True)).to_be_visible(timeout=WAIT)
    assert (keys.focus or {})["type"] == "range", "and when a setting of one's own was tried"
    keys.enter("Before and after", "**/beside/*")
    keys.enter("Back to the plan", "**/plan/*")
    keys.to(lambda stop: stop["type"] == "radio")
    keys.press("ArrowDown")
    chosen = keys.focus
    keys.press("ArrowUp")
    assert chosen is not None
    assert chosen["type"] == "radio"
    keys.to_id("f-name")
    keys.type("keyboard.ledger")
    keys.enter("Try the first release", "**/publish/*")


def _publish_and_series(keys: Keyboard) -> None:
    keys.enter("What would they see?", "**/providers")
    keys.to(lambda stop: stop["type"] == "checkbox")
    keys.press("Space")
    keys.to_name("What do they see?")
    keys.press("Enter")
    keys.page.wait_for_url("**/providers?member=0", timeout=WAIT)
    keys.enter("Back", "**/publish/*")
    keys.enter("Publish release 1", "**/published/*")
    keys.enter("keyboard.ledger", "**/ledgers/*")
    keys.enter("Verify the ledger", "**/verified/*")
    keys.enter("keyboard.ledger", "**/ledgers/*")
    keys.enter("Policy", "**/policy")
    keys.to_id("f-text")
    keys.to_name("Record the change")  # a field of several lines lets the keyboard go
    keys.enter("keyboard.ledger", "**/ledgers/*")
    keys.enter("Release 1", "**/releases/1")
    keys.to_name("It was never sent")
    keys.press("Enter")
    keys.to_id("f-why")
    keys.enter("keyboard.ledger", "**/ledgers/*")


def _providers(keys: Keyboard, waves: list[Path]) -> None:
    keys.enter("Providers", "**/providers")
    keys.give("f-table", waves[1])
    keys.enter("Look at the next release", "**/providers/of/*")
    keys.enter("Back", "**/providers")
    keys.give("f-tables", *waves)
    keys.enter("Look at all releases", "**/providers/over/*")
    assert keys.round_trip() >= 5


@pytest.mark.slow
def test_the_whole_path_by_keyboard_alone(browser: Browser, client: Client, place: Path, files: Path) -> None:
    (place / "ledgers").mkdir(exist_ok=True)
    waves = []
    for number, month in enumerate(Population(seed=1, people=200).months(2), start=1):
        waves.append(place / f"wave-{number}.csv")
        month.write_csv(waves[-1])
    with inside(browser, client) as page:
        page.set_default_timeout(WAIT)
        keys = Keyboard(page)
        _home_and_audit(keys, files)
        _table(keys, waves)
        _plan(keys)
        _publish_and_series(keys)
        _providers(keys, waves)
