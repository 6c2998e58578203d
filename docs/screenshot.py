"""Take the README's picture anew: `python docs/screenshot.py DEMO-FOLDER`, after `reissue demo --out DEMO-FOLDER`.

Needs a Chromium and the extra `dev`.
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TARGET = Path(__file__).parent / "img" / "report.png"


def main() -> None:
    """Show the first act's report, and keep what a reader sees first."""
    page = Path(sys.argv[1]).resolve() / "act-one.html"
    chromium = os.environ.get("REISSUE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": 1000, "height": 900})
        view.goto(page.as_uri())
        view.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
