"""The report at scale: `python -m benchmarks report [--people N] [--releases N]`.

Months of a synthetic register, each made k-anonymous and diverse by itself, attacked by someone who knows who was in
them. Prints what the attacks cost, with and without the timeline, what the page weighs, how long it takes to make, and
how long a browser takes to show it, where a Chromium is found.
"""

import argparse
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path

import reissue as ri
from benchmarks._measure import cpu
from reissue.report import write_report
from reissue.synth import Population, schema, updates

ATTACKS = ("coalition", "correspondence", "definetti", "equivalence", "minimality", "updates")
"""All but `mechanism`, which runs the anonymizer hundreds of times."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks report")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=12)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder), given.people, given.releases)


def _run(folder: Path, people: int, releases: int) -> None:
    updates().write_csv(folder / "updates.csv")
    (folder / "schema.toml").write_text(f'{schema().dumps()}\n[updates]\nfile = "updates.csv"\n')
    plan = ri.Schema.load(folder / "schema.toml")
    months = Population(seed=1, people=people).months(releases)
    made = [ri.anonymize(month, plan, "k=5 & l=3", seed=number) for number, month in enumerate(months)]
    for name in ATTACKS:
        seconds, found = cpu(partial(ri.attack, made, plan, only=name), times=1)
        print(f"{name}: {found[name].status}, {seconds:.1f} s", flush=True)
    seconds, found = cpu(lambda: ri.attack(made, plan, only=ATTACKS, timeline=True), times=1)
    print(f"all of them, with the timeline: {seconds:.1f} s")
    page = folder / "report.html"
    seconds, _ = cpu(lambda: write_report(found, page, force=True))
    weight = page.stat().st_size / 1e3
    print(f"{releases} releases of {people:,} people: a page of {weight:,.0f} kB, made in {seconds:.2f} s")
    _show(page)


def _show(page: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium was found, so nobody looked at it")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page()
        start = time.perf_counter()
        view.goto(page.as_uri())
        view.screenshot()
        print(f"shown by a browser in {time.perf_counter() - start:.2f} s")
        browser.close()
