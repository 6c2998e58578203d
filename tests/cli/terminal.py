"""A command at a real terminal: what it shows, and what is typed."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

PATIENCE = 60


class Terminal:
    """A command at a pseudo-terminal: what it shows, and what is typed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._mine, its = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200", "NO_COLOR": "1"}
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", "from reissue.cli import main; main()", *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=folder,
            env=environment,
            close_fds=True,
        )
        os.close(its)
        self.shown = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._mine)

    def wait_for(self, text: str) -> None:
        """Read until a text is shown, after the last one that was waited for."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown[self._read_to :]:
            assert self._read(until), f"'{text}' was never shown, but: {self.shown}"
        self._read_to = self.shown.index(text, self._read_to) + len(text)

    def type(self, line: str, end: str = "\n") -> None:
        """What somebody types."""
        os.write(self._mine, f"{line}{end}".encode())

    def end(self) -> int:
        """Read all that is left; the exit code."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self.process.wait(PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._mine], [], [], max(until - time.monotonic(), 0))
        try:
            read = os.read(self._mine, 4096) if ready else b""
        except OSError:  # the other side is closed
            return False
        self.shown += read.decode(errors="replace")
        return bool(read)
