"""Outputs are planned before work starts, written beside their places, and placed all together or not at all."""

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from reissue.data.outputs import Input, Output, Outputs, ledger_inputs, table_inputs
from reissue.errors import InputError
from reissue.files.staging import Staging, remove_leftovers, scratch_folder
from tests.silence import refused


def plan(path: Path, *, force: bool = False, inputs: tuple[Input, ...] = (), **more: bool) -> Outputs:
    return Outputs((Output("--out", path, **more),), inputs, force=force)


# --- planning --------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_by_force_only_and_so_are_its_second_tables(tmp_path: Path) -> None:
    for name in ("x.csv", "x.sensitive.csv", "x.counterfeits.csv"):
        (tmp_path / name).write_text("precious")
        assert "force=True" in refused(InputError, lambda: plan(tmp_path / "x.csv", table=True))
        plan(tmp_path / "x.csv", table=True, force=True)
        (tmp_path / name).unlink()
    plan(tmp_path / "x.csv", table=True)


@pytest.mark.parametrize("how", ["same", "dotted", "symbolic", "hard", "case", "folder"])
def test_an_input_is_never_replaced(tmp_path: Path, how: str) -> None:
    data = tmp_path / "data.csv"
    data.write_text("precious")
    out = tmp_path / "out.csv"
    if how == "symbolic":
        out.symlink_to(data)
    elif how == "hard":
        out.hardlink_to(data)
    elif how == "folder":
        (tmp_path / "link").symlink_to(tmp_path)
    names = {"same": data, "dotted": tmp_path / ".." / tmp_path.name / "data.csv", "case": tmp_path / "DATA.csv"}
    names |= {"symbolic": out, "hard": out, "folder": tmp_path / "link" / "data.csv"}
    inputs = tuple(table_inputs("the data", [data]))
    message = refused(InputError, lambda: plan(names[how], table=True, force=True, inputs=inputs))
    assert "--out would replace the data itself" in message


def test_the_second_table_of_an_output_is_no_input_either(tmp_path: Path) -> None:
    inputs = (Input("the data", tmp_path / "x.sensitive.csv"),)
    assert "the data" in refused(InputError, lambda: plan(tmp_path / "x.csv", table=True, force=True, inputs=inputs))


def test_no_table_goes_among_those_of_a_folder_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "members").mkdir()
    inputs = (Input("the people", tmp_path / "members"),)
    refused(InputError, lambda: plan(tmp_path / "members" / "x.csv", table=True, inputs=inputs))
    plan(tmp_path / "members" / "report.html", inputs=inputs)
    (tmp_path / "members" / "a.csv").touch()
    refused(InputError, lambda: plan(tmp_path / "members" / "a.csv", force=True, inputs=inputs))


@pytest.mark.parametrize("name", ["x.csv", "./x.csv", "x.sensitive.csv", "x.counterfeits.csv", "X.CSV"])
def test_two_outputs_are_two_files(tmp_path: Path, name: str) -> None:
    memory, out = Output("--memory", tmp_path / name, continues=True), Output("--out", tmp_path / "x.csv", table=True)
    for pair in ((memory, out), (out, memory)):
        message = refused(InputError, lambda pair=pair: Outputs(pair, force=True))  # type: ignore[misc]
        assert "--memory" in message
        assert "the same file" in message


def test_a_ledger_its_files_and_its_key_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.ledger" / "files").mkdir(parents=True)
    names = [
        "x.ledger/ledger.sqlite",
        "x.ledger/ledger.sqlite-wal",
        "x.ledger/files/a.csv",
        "x.ledger.key",
        "x.head",
    ]
    for name in names:
        (tmp_path / name).touch()
    for name in names:
        message = refused(InputError, lambda name=name: plan(tmp_path / name, force=True))  # type: ignore[misc]
        assert "belongs to a ledger" in message
    refused(InputError, lambda: plan(tmp_path / "x.ledger" / "files" / "new.csv"))


def test_a_key_that_is_not_there_yet_is_not_written_over(tmp_path: Path) -> None:
    inputs = tuple(ledger_inputs(str(tmp_path / "x.ledger"), None))
    assert "key" in refused(InputError, lambda: plan(tmp_path / "x.ledger.key", inputs=inputs))
    other = tuple(ledger_inputs("postgresql://me@host/db", tmp_path / "mine.txt"))
    assert "key" in refused(InputError, lambda: plan(tmp_path / "mine.txt", inputs=other))


@pytest.mark.parametrize("name", ["none/x.csv", "file/x.csv", "folder", "pipe", "link", "device"])
def test_places_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "device").symlink_to("/dev/null")
    refused(InputError, lambda: plan(tmp_path / name, force=True))


# --- writing ---------------------------------------------------------------------------------------------------------


def test_files_are_placed_together(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "sub" / "two"
    with Staging() as staging:
        staging.add_folder(two.parent)
        staging.add_bytes(one, b"1")
        staging.add_bytes(two, b"2", private=True)
        assert not one.exists()
        assert not two.exists()
        staging.place()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["one", "sub", "two"]
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")


def test_what_is_not_placed_leaves_nothing(tmp_path: Path) -> None:
    with Staging() as staging:
        staging.add_folder(tmp_path / "sub")
        staging.add_bytes(tmp_path / "sub" / "two", b"2")
    assert not list(tmp_path.iterdir())


def test_a_folder_comes_whole_is_taken_for_placed_if_alike_and_never_replaced(tmp_path: Path) -> None:
    place = tmp_path / "sub"

    def write(content: bytes) -> None:
        with Staging() as staging:
            staging.add_folder(place)
            staging.add_bytes(place / "one", content)
            staging.place()

    write(b"1")
    write(b"1")
    assert "exists already" in refused(InputError, lambda: write(b"2"))
    assert [path.name for path in tmp_path.iterdir()] == ["sub"]
    assert (place / "one").read_bytes() == b"1"


def test_if_one_cannot_be_placed_none_is(tmp_path: Path) -> None:
    old, new, last = tmp_path / "old", tmp_path / "new", tmp_path / "last"
    old.write_text("precious")

    def write() -> None:
        with Staging() as staging:
            staging.add_bytes(old, b"1", replaces=True)
            staging.add_bytes(new, b"2")
            staging.add_bytes(last, b"3")
            last.write_text("somebody else's, in the meantime")
            staging.place()

    assert "exists already" in refused(InputError, write)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last", "old"]
    assert (old.read_text(), last.read_text()) == ("precious", "somebody else's, in the meantime")


def test_a_folder_that_goes_away_in_between_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()

    def write() -> None:
        with Staging() as staging:
            staging.add_bytes(tmp_path / "one", b"1")
            staging.add_bytes(folder / "two", b"2")
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()
            staging.place()

    assert "cannot be written" in refused(InputError, write)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with Staging() as staging:
            staging.add_bytes(tmp_path / "public", b"1")
            staging.add_bytes(tmp_path / "private", b"1", private=True)
            staging.place()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_files_and_folders_are_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with Staging() as staging:
        staging.add_bytes(tmp_path / "x", b"1")
        staging.place()
    assert synced == [False, True]


# --- what killed runs leave ------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from reissue.files.staging import Staging, scratch_folder
with scratch_folder() as scratch, Staging() as staging:
    (scratch / "x").touch()
    staging.add_bytes(Path("out.csv"), b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_swept_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED], cwd=tmp_path, env={**os.environ, "TMPDIR": str(scratch)}, check=False
    )
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 2
    assert len(list(scratch.iterdir())) == 1
    with scratch_folder() as mine, Staging() as staging:
        staging.add_bytes(tmp_path / "out.csv", b"whole")
        assert list(scratch.iterdir()) == [mine]
        staging.place()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "scratch"]
    assert not list(scratch.iterdir())


def test_only_what_is_ours_and_left_is_swept(tmp_path: Path) -> None:
    with Staging() as staging:
        staging.add_bytes(tmp_path / "x", b"1")
        mine = next(tmp_path.iterdir()).name
        elsewhere = mine.replace(mine.split("-")[1], "0" * 8)
        for name in (".reissue-notes.tmp", "notes.tmp", ".reissue-a-b-c.tmp", elsewhere):
            (tmp_path / name).touch()
        remove_leftovers(tmp_path)
        assert len(list(tmp_path.iterdir())) == 5
        long_ago = time.time() - 2 * 24 * 60 * 60
        os.utime(tmp_path / elsewhere, (long_ago, long_ago))
        remove_leftovers(tmp_path)
        assert not (tmp_path / elsewhere).exists()
