"""Hypothesis draws the same cases in every run of `make test`; and a real browser, wherever a Chromium is found."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import tests.effort  # noqa: F401  (it loads the profile)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium; REISSUE_CHROMIUM names it where it lies elsewhere."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("REISSUE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium was found, so the report was not looked at in a browser (apt install chromium)")
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*FLAGS, *as_root])
        yield browser
        browser.close()
