"""`reissue open` as a process: what it says, and what is left when it is stopped, politely or not."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from reissue.web.jobs import Jobs

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """`reissue open` with temporary folders of its own."""
    (tmp_path / "temporary").mkdir()

    def run(browser: str = "--no-browser") -> "subprocess.Popen[str]":
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", "from reissue.cli import main; main()", "open", browser],
            env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return run


def address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    said = process.stdout.readline() + process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", said.replace("\n", ""))
    assert found, said
    return found[0]


def answered(url: str) -> None:
    """Once it answers, its folder is there."""
    with urllib.request.urlopen(url.partition("?")[0] + "static/page.css", timeout=20) as answer:  # noqa: S310
        assert answer.status == 200


def folders(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "temporary").iterdir())


def test_a_stopped_server_leaves_nothing(start: Start, tmp_path: Path) -> None:
    with start() as process:
        answered(address(process))
        assert len(folders(tmp_path)) == 1
        process.send_signal(signal.SIGTERM)
        process.wait(10)
    assert not folders(tmp_path)


def test_what_a_killed_server_leaves_is_swept_at_the_next_start(start: Start, tmp_path: Path) -> None:
    with start() as killed:
        answered(address(killed))
        (folder,) = folders(tmp_path)
        (folder / "desk-1").mkdir()
        killed.kill()
    assert folders(tmp_path) == [folder]
    with start() as process:
        answered(address(process))
        assert len(folders(tmp_path)) == 1
        assert not folder.exists()
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stdout
        assert not process.stdout.read()
    assert time.monotonic() - started < 5
    assert not folders(tmp_path)


def test_a_port_that_is_taken_is_bad_input(start: Start) -> None:
    with start() as process:
        port = re.findall(r":(\d+)/", address(process))[0]
        second = [sys.executable, "-c", "from reissue.cli import main; main()", "open", "--no-browser", "--port", port]
        done = subprocess.run(second, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 2
        assert "cannot be used" in done.stderr
        process.terminate()


def test_no_other_user_sees_the_token(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What programs are started with and their environment are all that others see; the file is its owner's."""
    browser, called = tmp_path / "browser", tmp_path / "called"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" > "{called}.new"\nmv "{called}.new" "{called}"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with start("--browser") as process:
        said = address(process)
        token = said.partition("=")[2]
        until = time.monotonic() + 20
        while not called.exists() and time.monotonic() < until:
            time.sleep(0.05)
        page = Path(called.read_text().removeprefix("file://"))
        assert token not in called.read_text()
        assert said in page.read_text()
        assert (page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        for shown in ("cmdline", "environ"):
            seen = Path(f"/proc/{process.pid}/{shown}")
            assert not seen.exists() or token.encode() not in seen.read_bytes()
        with urllib.request.urlopen(said, timeout=20) as answer:  # noqa: S310
            assert answer.status == 200
        assert not page.exists()
        process.terminate()
        process.wait(10)
    assert not folders(tmp_path)


def test_a_module_beside_the_data_is_not_run_by_a_job(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("open('harm', 'w').close()\n")
    command = [*Jobs(tmp_path).command, str(tmp_path / "job")]
    (tmp_path / "job").mkdir()
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, timeout=60)  # noqa: S603
    assert not (tmp_path / "harm").exists()
