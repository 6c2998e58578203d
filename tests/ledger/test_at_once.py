"""Two publishers at once, full disks, folders that cannot be written: whole or not at all, and nothing lost."""

import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from reissue.errors import InputError
from reissue.ledger import Ledger
from reissue.ledger.store import _still
from reissue.publishing.publish import publish
from tests.ledger.conftest import Begin
from tests.ledger.series import INVARIANCE, MONTHS, schema
from tests.silence import refused


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A ledger with one release, and the table that comes next."""
    folder = tmp_path / "base"
    folder.mkdir()
    with Ledger.create(folder / "base.ledger", schema(INVARIANCE)) as ledger:
        publish(MONTHS[0], ledger)
    MONTHS[1].write_parquet(folder / "next.parquet")
    return folder


def test_of_two_publishers_one_wins(begin: Begin, place: str) -> None:
    ledger = begin(INVARIANCE)
    publish(MONTHS[0], ledger)
    with ledger.writing(), Ledger.open(place) as other:
        message = refused(InputError, lambda: publish(MONTHS[1], other))
        assert "Somebody else is publishing" in message
        assert len(other.releases) == 1, "who only reads need not wait"
    publish(MONTHS[1], ledger)
    assert len(ledger.releases) == 2


def test_many_publishers_at_once_do_not_interleave(begin: Begin, place: str) -> None:
    begin(INVARIANCE)
    ended: list[str] = []

    def work() -> None:
        with Ledger.open(place) as mine:
            try:
                publish(MONTHS[0], mine)
                ended.append("published")
            except InputError as problem:
                ended.append("busy" if "Somebody else" in str(problem) else str(problem))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(ended) <= {"published", "busy"}
    assert "published" in ended
    with Ledger.open(place) as ledger:
        assert len(ledger.releases) == 1, "the same table is one release"
        assert ledger.verify() == []


def limited(base: Path, prepare: Callable[[], None]) -> "subprocess.CompletedProcess[str]":
    """Publish in a child that lives under a limit."""
    code = (
        "import sys, polars as pl; from reissue.ledger import Ledger; from reissue.publishing.publish import publish\n"
        "from reissue.errors import InputError\n"
        "try:\n"
        "    publish(pl.read_parquet('next.parquet'), Ledger.open('base.ledger'))\n"
        "except InputError as problem:\n"
        "    sys.exit(f'refused: {problem}')\n"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(  # noqa: S603
        command,
        cwd=base,
        preexec_fn=prepare,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("size", [0, 1_000, 4_096])
def test_a_full_disk_is_said_and_nothing_is_lost(base: Path, size: int) -> None:
    outcome = limited(base, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    assert outcome.stderr.startswith("refused: The ledger"), outcome.stderr
    with Ledger.open(base / "base.ledger") as ledger:
        assert ledger.verify() == []
        assert len(ledger.releases) == 1
        publish(MONTHS[1], ledger)
        assert len(ledger.releases) == 2


LOOK = (
    "from reissue.ledger import Ledger\n"
    "with Ledger.open('base.ledger') as ledger:\n"
    "    print(ledger.verify(), len(ledger.releases))\n"
)
READ_ONLY = 'mount --bind base.ledger base.ledger && mount -o remount,ro,bind base.ledger && exec "$0" -c "$1"'


def look(base: Path, *before: str, prepare: Callable[[], None] | None = None) -> "subprocess.CompletedProcess[str]":
    """Look at a ledger in a child."""
    command = [*before, sys.executable, *(() if before else ("-c",)), LOOK]
    return subprocess.run(  # noqa: S603
        command, cwd=base, preexec_fn=prepare, capture_output=True, text=True, check=False
    )


def test_on_a_full_disk_a_ledger_is_verified_all_the_same(base: Path) -> None:
    outcome = look(base, prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert outcome.stdout == "[] 1\n", outcome.stderr


def test_where_nothing_can_be_written_a_ledger_is_verified_all_the_same(base: Path) -> None:
    outcome = look(base, "unshare", "--mount", "--map-root-user", "sh", "-c", READ_ONLY)
    if "unshare" in outcome.stderr or "mount:" in outcome.stderr:
        pytest.skip("this machine lets nobody mount a folder read-only")
    assert outcome.stdout == "[] 1\n", outcome.stderr
    assert not list((base / "base.ledger").glob("*-shm")), "nothing was written beside it"


def test_entries_that_are_still_in_the_log_are_not_overlooked(base: Path) -> None:
    (base / "base.ledger" / "ledger.sqlite-wal").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="still in 'ledger"):
        _still(base / "base.ledger" / "ledger.sqlite")


def test_a_folder_that_cannot_be_written_is_said(base: Path) -> None:
    script = 'mount --bind base.ledger base.ledger && mount -o remount,ro,bind base.ledger && exec "$0" -c "$1"'
    code = (
        "import sys, polars as pl; from reissue.ledger import Ledger; from reissue.publishing.publish import publish\n"
        "from reissue.errors import InputError\n"
        "try:\n"
        "    publish(pl.read_parquet('next.parquet'), Ledger.open('base.ledger'))\n"
        "except InputError as problem:\n"
        "    sys.exit(f'refused: {problem}')\n"
    )
    outcome = subprocess.run(  # noqa: S603
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script, sys.executable, code],  # noqa: S607
        cwd=base,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in outcome.stderr or "mount:" in outcome.stderr:
        pytest.skip("this machine lets nobody mount a folder read-only")
    assert outcome.stderr.startswith("refused: The ledger"), outcome.stderr
    with Ledger.open(base / "base.ledger") as ledger:
        assert ledger.verify() == []
        assert len(ledger.releases) == 1
