"""Those who read a ledger beside others: they wait as long as it takes, and a damaged database is called so."""

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from reissue.errors import InputError
from reissue.files.places import LEDGER_FILE
from reissue.ledger import Ledger
from reissue.publishing.publish import publish
from tests.ledger.series import MONTHS, POOL, schema

ROOT = Path(__file__).parents[2]


def test_readers_wait_while_a_database_is_held(tmp_path: Path) -> None:
    """As the last process does that closes one, and a backup."""
    with Ledger.create(tmp_path / "x.ledger", schema(POOL)):
        pass
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(tmp_path / "x.ledger" / LEDGER_FILE)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            held.set()
            release.wait(10)
            time.sleep(0.5)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    release.set()
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert ledger.releases == ()
    holder.join()


def test_readers_leave_the_journal_as_it_is(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger", schema(POOL)):
        pass
    file = tmp_path / "x.ledger" / LEDGER_FILE
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.execute("PRAGMA journal_mode = DELETE")
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert ledger.releases == ()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("damage") / "x.ledger"
    with Ledger.create(place, schema(POOL)) as ledger:
        publish(MONTHS[0], ledger)
    return place


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_database_is_called_so(whole: Path, seed: int) -> None:
    """Bytes of its pages, of the first one most often: a problem is named, or nothing that matters was hit."""
    file, chance = whole / LEDGER_FILE, random.Random(seed)  # noqa: S311
    before = file.read_bytes()
    damaged = bytearray(before)
    place = chance.randrange(4096 if seed % 2 else len(before))
    for offset in range(chance.choice([1, 8, 64])):
        damaged[min(place + offset, len(before) - 1)] ^= chance.randrange(1, 256)
    try:
        file.write_bytes(damaged)
        with suppress(InputError), Ledger.open(whole) as ledger:  # anything else would be our own mistake
            assert ledger.examine().problems or len(ledger.releases) == 1
    finally:
        for one in whole.glob(f"{LEDGER_FILE}*"):
            one.unlink()
        file.write_bytes(before)


@pytest.mark.slow
def test_no_reader_is_ever_told_that_somebody_publishes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.stress", "15", "4", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    readers = json.loads(done.stdout)["readers"]
    assert readers["tried"] > 100
    assert readers["refused"] == 0
