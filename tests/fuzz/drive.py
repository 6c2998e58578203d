"""Runs cases through the command line's own entry, in this process or another one, and says what went wrong.

By hand:  python -m tests.fuzz.drive FIRST COUNT  prints each kind of problem once, with the seed that shows it.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reissue.cli._app import _warn, run
from reissue.errors import ReadingNote
from tests.fuzz.generate import VALUE, Case, Command, make
from tests.fuzz.judge import judge, judge_series

__all__ = ["Problem", "drive"]

CODES = {0, 1, 2, 3, 4}
SECONDS = 30
PRIVATE = (".ledger", "memory", ".key")
"""What stays with the holder and so may hold identifiers."""


@dataclass(frozen=True)
class Problem:
    """What one command of a case did wrong."""

    seed: int
    command: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        """For a list of them."""
        return f"seed {self.seed}: {self.what}\n    reissue {' '.join(map(repr, self.command))}"


@dataclass(frozen=True)
class _Outcome:
    code: int
    out: str
    err: str
    crash: str = ""


class _HangError(BaseException):
    """A command that does not end; no `except Exception` stops it."""


def drive(case: Case, *, apart: bool = False) -> list[Problem]:
    """Run the commands of a case in a folder of their own; `apart` as a process each."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as place, contextlib.chdir(place):
        folder = Path(place)
        for name, raw in case.files.items():
            folder.joinpath(name).mkdir() if raw is None else folder.joinpath(name).write_bytes(raw)
        found, released = [], []
        for command in case.commands:
            before = _hashes(folder)
            outcome = _apart(command.arguments) if apart else _here(command.arguments)
            found += [Problem(case.seed, command.arguments, what) for what in _wrong(case, command, outcome, before)]
            released += [command.asked] if command.asked is not None and outcome.code == 0 else []
        together = judge_series(released, folder) if released else []
        return found + [Problem(case.seed, ("all together",), what) for what in together]


def _here(arguments: tuple[str, ...]) -> _Outcome:
    """In this process: warnings are errors but for notes about reading, and a watchdog ends what does not end."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("error")
        # How a file was read is said to its holder, and no fault: it is a message, and must show no data.
        warnings.simplefilter("always", ReadingNote)
        warnings.showwarning = _warn  # type: ignore[assignment]
        try:
            with _watchdog():
                code, crash = run(arguments), ""
        except _HangError:
            code, crash = -1, f"it did not end in {SECONDS} seconds"
        except BaseException as problem:  # noqa: BLE001 - panics of libraries are no Exceptions
            last = traceback.extract_tb(problem.__traceback__)[-1]
            code, crash = -1, f"{type(problem).__name__} at {Path(last.filename).name}:{last.lineno}"
    return _Outcome(code, out.getvalue(), err.getvalue(), crash)


@contextlib.contextmanager
def _watchdog() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _HangError

    # Seconds of work, not of waiting for others who use the machine.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _apart(arguments: tuple[str, ...]) -> _Outcome:
    """As its user runs it."""
    if any("\x00" in each for each in arguments):
        return _Outcome(2, "", "")  # no shell can pass it
    script = [sys.executable, "-c", "from reissue.cli import main; main()", *arguments]
    try:
        done = subprocess.run(script, capture_output=True, check=False, timeout=10 * SECONDS, stdin=subprocess.DEVNULL)  # noqa: S603
    except subprocess.TimeoutExpired:
        return _Outcome(-1, "", "", f"it did not end in {10 * SECONDS} seconds")
    return _Outcome(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def _wrong(case: Case, command: Command, outcome: _Outcome, before: Mapping[str, str]) -> Iterator[str]:
    """Everything that must not be."""
    folder = Path.cwd()
    after = _hashes(folder)
    new = [name for name in after if after[name] != before.get(name)]
    if outcome.crash:
        yield outcome.crash
        return
    if outcome.code not in CODES:
        yield f"exit {outcome.code}: {(outcome.err or outcome.out)[-300:]}"
    if "Traceback" in outcome.err + outcome.out:
        yield "a traceback"
    if VALUE in outcome.err or any(person in outcome.err + outcome.out for person in case.persons):
        yield f"a message shows data: {(outcome.err + outcome.out)[:300]}"
    if "\x1b" in outcome.out + outcome.err or "\x00" in outcome.out + outcome.err:
        yield "control characters reach the terminal"
    if outcome.code == 2 and (new or set(before) - set(after)):
        yield f"exit 2, but files were written: {new} {outcome.err[:200]}"
    if set(case.files) & set(new):
        yield f"an input was replaced: {sorted(set(case.files) & set(new))}"
    if "--json" in command.arguments and not _is_json(outcome.out):
        yield f"no JSON: {outcome.out[:100]}"
    for name in new:
        if not any(part in name for part in PRIVATE) and _shows(folder / name, case.persons):
            yield f"an identifier in {name}"
    if command.asked is not None and outcome.code == 0:
        yield from judge(command.asked, folder)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _shows(path: Path, persons: tuple[str, ...]) -> bool:
    raw = path.read_bytes()
    return any(person.encode() in raw for person in persons)


def _hashes(folder: Path) -> dict[str, str]:
    """Every file below a folder; a database's own side files and empty folders do not count."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _kind(problem: Problem) -> str:
    """What problems of one cause have in common."""
    if problem.what.startswith("exit 2, but"):
        return problem.command[0] + "exit 2"
    return problem.command[0] + re.sub(r"\d{3,}|'[^']*'|\[.*?\]", "", problem.what)[-120:]


def main() -> None:
    """Hunt: problems, each kind once, and how many of it there are."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    seen: dict[str, int] = {}
    codes = 0
    for seed in range(first, first + count):
        for problem in drive(make(seed), apart="--apart" in sys.argv):
            codes += 1
            kind = _kind(problem)
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] == 1:
                print(problem, flush=True)  # noqa: T201
    print(f"{count} cases, {codes} problems of {len(seen)} kinds; pid {os.getpid()}")  # noqa: T201


if __name__ == "__main__":
    main()
