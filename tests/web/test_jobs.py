"""Jobs: real processes, one at a time, that end when they are told to."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from reissue.web.jobs import BusyError, Jobs, PieceOfWork, State

Result = TypeVar("Result")
STUBBORN = """
import json, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(json.dumps({"share": 0.25, "doing": "nothing"}), flush=True)
time.sleep(60)
"""


def finished(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives, run in a thread of its own: a browser of other tests may have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def jobs(folder: Path, script: str) -> Jobs:
    path = folder / "script.py"
    path.write_text(script)
    return Jobs(folder, command=(sys.executable, str(path)))


async def until(job: PieceOfWork, share: float) -> None:
    while job.share < share and job.state == State.RUNNING:
        await job.changed.wait()


def test_what_does_not_listen_is_ended_by_force_within_two_seconds(tmp_path: Path) -> None:
    ends: list[State] = []

    async def run() -> tuple[PieceOfWork, float]:
        all_jobs = jobs(tmp_path, STUBBORN)
        job = await all_jobs.start("look", {}, title="A", after="/", ended=lambda one: ends.append(one.state))
        await until(job, 0.25)
        assert all_jobs.running is job
        with pytest.raises(BusyError):
            await all_jobs.start("look", {}, title="B", after="/")
        started = time.monotonic()
        await all_jobs.cancel(job)
        return job, time.monotonic() - started

    job, seconds = finished(run())
    assert seconds < 2
    assert ends == [job.state] == [State.CANCELLED]
    assert not job.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(job.process.pid, 0)  # type: ignore[union-attr]


def test_time_left_follows_from_the_time_spent(tmp_path: Path) -> None:
    job = PieceOfWork("x", "A", tmp_path, "/")
    assert job.left == ""
    job.share, job.started = 0.5, job.started - 30
    assert job.left == "about 30 seconds left"
    job.share = 0.1
    assert job.left == "about 5 minutes left"


def outcome(tmp_path: Path, verb: str, given: dict[str, object]) -> PieceOfWork:
    async def run() -> PieceOfWork:
        all_jobs = Jobs(tmp_path)
        job = await all_jobs.start(verb, given, title="A", after="/{job}")
        while job.state == State.RUNNING:
            await job.changed.wait()
        return job

    return finished(run())


def test_an_outcome_is_kept_and_a_mistake_said(tmp_path: Path, files: Path) -> None:
    done = outcome(tmp_path, "look", {"published": [str(files / "jan.csv")], "delimiter": ","})
    assert (done.state, done.after) == (State.DONE, f"/{done.name}")
    assert done.outcome["columns"]["disease"] == "sensitive"
    failed = outcome(tmp_path, "look", {"published": [str(files / "none.csv")], "delimiter": ","})
    assert failed.state == State.FAILED
    assert failed.problem.startswith("There is no file")
    assert not failed.folder.exists()


def test_a_bug_is_told_without_its_words(tmp_path: Path) -> None:
    job = outcome(tmp_path, "look", {"published": 1234567, "delimiter": ","})
    assert job.state == State.FAILED
    assert "TypeError" in job.problem
    assert "1234567" not in json.dumps([job.problem, dict(job.outcome)])


def test_a_job_ends_with_its_server(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    fifo = folder / "job.json"
    os.mkfifo(fifo)  # the job waits for somebody to say what it is

    async def run() -> int:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "reissue.web.worker", str(folder)), stdin=asyncio.subprocess.PIPE
        )
        await asyncio.sleep(0.5)
        assert process.stdin
        process.stdin.close()
        return await asyncio.wait_for(process.wait(), 10)

    assert finished(run()) == 143
