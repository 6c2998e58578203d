"""Take the pictures of the page anew: `python docs/page_pictures.py DEMO-FOLDER`.

DEMO-FOLDER is what `reissue demo --out DEMO-FOLDER` wrote. Needs a Chromium and the extra `dev`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from reissue.synth import Population

TARGET = Path(__file__).parent / "img"
WAIT = 600_000


def main() -> None:
    """Walk the path of the tutorial, from two tables to a first release, and keep what a steward sees."""
    chromium = os.environ.get("REISSUE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for wave, table in zip(("january", "february"), Population(seed=1, people=500).months(2), strict=True):
            table.write_csv(folder / f"{wave}.csv")
        command = [sys.executable, "-c", "from reissue.cli import main; main()", "open", "--no-browser", "--json"]
        command.append(str(Path(sys.argv[1]).resolve() / "ledger"))
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            try:
                view = browser.new_page(viewport={"width": 1000, "height": 760})
                view.goto(_address(server))
                _walk(view, folder)
            finally:
                browser.close()
                server.terminate()


def _address(server: "subprocess.Popen[str]") -> str:
    said = ""
    for line in server.stdout or ():
        said += line
        if line.startswith("}"):
            break
    return str(json.loads(said)["address"])


def _walk(view: Page, folder: Path) -> None:
    view.get_by_role("link", name="Plan a first release").click()
    view.get_by_label("The table, or its waves").set_input_files([folder / "january.csv", folder / "february.csv"])
    view.get_by_role("button", name="Look at it").click()
    view.wait_for_url("**/table/of/*", timeout=WAIT)
    view.locator("#c5kind").select_option("tree")
    for value in ("doctor", "nurse"):
        view.locator("section", has=view.locator("#c5")).get_by_label(value, exact=True).check()
    view.locator("#c5into").fill("Care")
    view.locator("section", has=view.locator("#c5")).get_by_role("button", name="Move").click()
    view.wait_for_url("**#c5")
    view.locator("section", has=view.locator("#c5")).get_by_label("Group of nurse").scroll_into_view_if_needed()
    _keep(view, "page-columns", "#c5")
    view.get_by_role("button", name="Save the schema").click()
    view.wait_for_url("**/schema", timeout=WAIT)
    view.get_by_role("button", name="Plan it").click()
    view.wait_for_url("**/plan/*", timeout=WAIT)
    _keep(view, "page-plan", "main h2")
    view.locator("#f-k").fill("8")
    view.locator("#f-k").press("Tab")
    view.get_by_role("link", name="Before and after", exact=True).click(timeout=WAIT)
    view.wait_for_url("**/beside/*", timeout=WAIT)
    _keep(view, "page-before-after", "main h2")
    view.get_by_role("link", name="Back to the plan").click()
    view.get_by_label("It shows no particular day").check()
    view.get_by_role("button", name="Try the first release").click()
    view.wait_for_url("**/publish/*", timeout=WAIT)
    view.screenshot(path=TARGET / "page-verdict.png")
    view.get_by_role("link", name="What would they see?").click()
    view.screenshot(path=TARGET / "page-providers.png")
    view.go_back()
    view.get_by_role("button", name="Publish release 1").click()
    view.wait_for_url("**/published/*", timeout=WAIT)
    view.goto("/".join(view.url.split("/")[:3]))
    view.set_viewport_size({"width": 1000, "height": 900})
    view.locator(".choices").last.get_by_role("link", name="12 releases").click()
    view.screenshot(path=TARGET / "page-series.png")


def _keep(view: Page, name: str, top: str) -> None:
    """A picture that begins at some part of the page."""
    view.evaluate("top => { document.querySelector(top).scrollIntoView(); scrollBy(0, -24); }", top)
    view.screenshot(path=TARGET / f"{name}.png")


if __name__ == "__main__":
    main()
