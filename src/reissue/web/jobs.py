"""Jobs: long work in a process of its own, one at a time; it goes on when nobody looks, and ends when it is told to."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from reissue.errors import InputError
from reissue.language import current, text
from reissue.words import plural

__all__ = ["BusyError", "Jobs", "PieceOfWork", "State"]

_PATIENCE = 1.0
"""Seconds that a cancelled job has to put its things away."""
_KEPT = 20
"""Jobs whose outcomes can still be read."""
_BUG = "A bug in Reissue ({what}). Please report it."
_CANCELLED = "It was cancelled. Nothing is recorded but what the series shows."


class BusyError(InputError):
    """Something is under way already."""


class State(StrEnum):
    """How far a job is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(eq=False)
class PieceOfWork:
    """One piece of work: its folder holds what is asked, and what comes of it."""

    name: str
    title: str
    folder: Path
    after: str
    """The page that shows what came of it."""
    given: Mapping[str, Any] = field(default_factory=dict)
    ended: Callable[["PieceOfWork"], None] = lambda _: None
    """Called once, however it ends."""
    verb: str = ""
    back: str = ""
    """The page that leads on where it comes to no end; empty: where such work begins."""
    state: State = State.RUNNING
    share: float = 0.0
    doing: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    problem: str = ""
    outcome: Mapping[str, Any] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def left(self) -> str:
        """How long it will take yet, in words; nothing as long as nobody can say."""
        spent = time.monotonic() - self.started
        if self.share < 0.03 or spent < 1:
            return ""
        seconds = spent * (1 - self.share) / self.share
        if seconds < 55:
            return text("about {time} left", time=plural(max(5 * round(seconds / 5), 5), "second"))
        return text("about {time} left", time=plural(round(seconds / 60), "minute"))

    @property
    def points(self) -> Mapping[str, Any]:
        """What was found so far, of work that tells it; empty as long as there is nothing."""
        found: Mapping[str, Any] = {}
        with suppress(OSError, ValueError):
            found = json.loads((self.folder / "points.json").read_text(encoding="utf-8"))
        return found

    def tell(self) -> None:
        """Wake whoever watches."""
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(eq=False)
class Jobs:
    """All jobs under one folder; at most one runs."""

    folder: Path
    command: tuple[str, ...] = (sys.executable, "-P", "-m", "reissue.web.worker")
    """-P: modules in the current folder, which may be full of downloads, are not run."""
    _all: dict[str, PieceOfWork] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    @property
    def running(self) -> PieceOfWork | None:
        """What is under way."""
        return next((job for job in self._all.values() if job.state == State.RUNNING), None)

    def find(self, name: str) -> PieceOfWork:
        """The job of a name."""
        if name not in self._all:
            raise InputError(text("This is not here any more: begin again."))
        return self._all[name]

    def done(self, name: str) -> PieceOfWork:
        """The same, if something has come of it."""
        job = self.find(name)
        if job.state != State.DONE:
            raise InputError(text("This is not done."))
        return job

    async def start(
        self,
        verb: str,
        given: Mapping[str, Any],
        *,
        title: str,
        after: str,
        back: str = "",
        ended: Callable[[PieceOfWork], None] = lambda _: None,
    ) -> PieceOfWork:
        """Begin a job; `{job}` in the address of its outcome is its name."""
        if self.running is not None:
            raise BusyError(text("Something is under way already, and only one thing is done at a time."))
        name = secrets.token_hex(8)
        folder = self.folder / f"job-{name}"
        folder.mkdir(mode=0o700)
        (folder / "job.json").write_text(
            json.dumps({"verb": verb, "given": given, "language": current()}), encoding="utf-8"
        )
        job = self._all[name] = PieceOfWork(name, title, folder, after.replace("{job}", name), given, ended, verb, back)
        self._forget()
        job.process = await asyncio.create_subprocess_exec(
            *(*self.command, str(folder)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # libraries may show values there
            start_new_session=True,
        )
        self._task = asyncio.create_task(_follow(job, job.process))
        return job

    async def cancel(self, job: PieceOfWork) -> None:
        """End a job: it may put its things away, and is ended by force if it does not."""
        if job.state != State.RUNNING or job.process is None:
            return
        job.state = State.CANCELLED
        with suppress(ProcessLookupError):
            job.process.terminate()
        try:
            await asyncio.wait_for(job.process.wait(), _PATIENCE)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(job.process.pid, signal.SIGKILL)
            await job.process.wait()
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """End what runs."""
        if self.running is not None:
            await self.cancel(self.running)

    def _forget(self) -> None:
        """Remove the oldest outcomes."""
        for name in list(self._all)[:-_KEPT]:
            shutil.rmtree(self._all.pop(name).folder, ignore_errors=True)


async def _follow(job: PieceOfWork, process: asyncio.subprocess.Process) -> None:
    """Read how far a job is until it ends."""
    if process.stdout is not None:
        async for line in process.stdout:
            said = json.loads(line)
            job.share, job.doing = max(job.share, float(said["share"])), str(said["doing"])
            job.tell()
    code = await process.wait()
    job.seconds = time.monotonic() - job.started
    _conclude(job, code)
    job.ended(job)
    job.tell()


def _conclude(job: PieceOfWork, code: int) -> None:
    """What came of it; of a job that failed nothing is kept."""
    said: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        said = json.loads((job.folder / "outcome.json").read_text(encoding="utf-8"))
    if job.state == State.CANCELLED:
        job.problem = text(_CANCELLED)
    elif code == 0 and "outcome" in said:
        job.state, job.outcome, job.share = State.DONE, said["outcome"], 1.0
        return
    else:
        job.state = State.FAILED
        job.problem = said.get("problem") or text(_BUG, what=said.get("what", f"{code}"))
    shutil.rmtree(job.folder, ignore_errors=True)
