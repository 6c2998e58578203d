"""Makes the reports of the gallery from invented people: `python docs/gallery/make.py`, as `make docs` does.

With `--pictures` it takes the small pictures that the page shows, too; that needs a Chromium and the extra `dev`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import reissue as ri
from reissue.synth import Population, schema

HERE = Path(__file__).parent
COMMANDS = (
    "attack one.csv two.csv three.csv --schema columns.toml --report audit.html --record evidence.json",
    "publish january.csv --schema schema.toml --ledger x.ledger --out first.csv --report publication.html",
    "plan january.csv february.csv --schema schema.toml --newcomers --policy policy.toml --report plan.html",
    "utility january.csv one.csv --schema columns.toml --report utility.html",
)
"""What makes the pages that are shown."""


def main() -> None:
    """All reports, and pictures of them if they are asked for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _tables(folder)
        for words in COMMANDS:
            command = [sys.executable, "-m", "reissue", *words.split()]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode not in {0, 1, 3}:
                raise SystemExit(done.stderr)
        for page in folder.glob("*.html"):
            shutil.copy(page, HERE)
    if "--pictures" in sys.argv:
        _pictures()


def _tables(folder: Path) -> None:
    """Two months as they are, and three that went out one by one."""
    months = list(Population(seed=1, people=600).months(3))
    for name, month in zip(("january", "february"), months, strict=False):
        month.write_csv(folder / f"{name}.csv")
    for name, month in zip(("one", "two", "three"), months, strict=True):
        ri.anonymize(month, schema(), "k=5", seed=1).write(folder / f"{name}.csv")
    (folder / "columns.toml").write_text(schema().dumps())
    (folder / "schema.toml").write_text(ri.propose(months[0]).text)


def _pictures() -> None:
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("REISSUE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": 900, "height": 560})
        for page in sorted(HERE.glob("*.html")):
            view.goto(page.resolve().as_uri())
            view.screenshot(path=page.with_suffix(".png"))
        browser.close()


if __name__ == "__main__":
    main()
