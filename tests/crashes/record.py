"""Run scenarios and note what they do to files.

    LD_PRELOAD=shim.so python -m tests.crashes.record shim.so FOLDER NAME...

This process only imports, so that forking it is safe and costs nothing: each command runs in a child. Of every scenario
FOLDER gets `before` and `root` (what was there before and after), `trace` (the calls), `said`, and in `noted.json` the
inodes in `root`, the exit code, and what the database at CRASH_POSTGRES held after each commit, for commands that use
it. With CRASH_DIE=N the last scenario's process dies before its call N.
"""

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import reissue.publishing.gate  # noqa: F401
from reissue import attacks, methods
from reissue.cli._app import load, run
from tests.crashes.database import read_rows, wait_for_commit, write_rows
from tests.crashes.disk import write_tree
from tests.crashes.recovery import Recording
from tests.crashes.scenarios import POSTGRES, SCENARIOS, Scenario, lay_out, living_in

SHIM = ctypes.CDLL(sys.argv[1])
URL = os.environ.get("CRASH_POSTGRES", "")
NEVER = -1


def child(work: Callable[[], int | None], said: Path) -> int:
    """Run something in a child, what it says in a file; the child's process number."""
    number = os.fork()
    if number == 0:
        code: int | None = 99
        try:
            with said.open("w", buffering=1) as out:
                os.dup2(out.fileno(), 1)
                os.dup2(out.fileno(), 2)
                sys.stdout = sys.stderr = out
                code = work()
        except BaseException as problem:  # noqa: BLE001
            said.write_text(f"{said.read_text()}\n{type(problem).__name__}: {problem}")
        finally:
            os._exit(code or 0)
    return number


def record(name: str, scenario: Scenario, folder: Path, base: Path | None, die: int = NEVER) -> None:
    """Run a scenario's command on a copy of what an earlier one left."""
    root = folder / "root"
    folder.mkdir()
    if base is None:
        os.waitpid(child(lambda: lay_out(root), folder / "said"), 0)
    else:
        shutil.copytree(base / "root", root)
    if base is not None and scenario.killed:
        write_tree(Recording.read(base).killed(scenario.killed).killed(), root)
    shutil.copytree(root, folder / "before")
    inodes = {str(path.relative_to(root)): path.stat().st_ino for path in root.rglob("*")}
    rows = [json.loads((base / "noted.json").read_text())["rows"][-1] if base is not None else None]
    if scenario.postgres:
        write_rows(URL, rows[0])
    tell, answer = os.pipe(), os.pipe()

    def work() -> int:
        os.close(tell[0])
        os.close(answer[1])
        with living_in(root):
            SHIM.crash_begin(str(root).encode(), str(folder / "trace").encode(), die, tell[1], answer[0])
            return run([one.replace(POSTGRES, URL) for one in scenario.command])

    number = child(work, folder / "said")
    os.close(tell[1])
    os.close(answer[0])
    while os.read(tell[0], 1):
        wait_for_commit(URL)
        rows.append(read_rows(URL))
        os.write(answer[1], b"c")
    os.close(tell[0])
    os.close(answer[1])
    _, status = os.waitpid(number, 0)
    noted = {"code": os.waitstatus_to_exitcode(status), "inodes": {**inodes, "": root.stat().st_ino}, "rows": rows}
    (folder / "noted.json").write_text(json.dumps(noted))


def main() -> None:
    """Record the scenarios asked for, and those before them."""
    folder, asked, die = Path(sys.argv[2]), sys.argv[3:], int(os.environ.get("CRASH_DIE", NEVER))
    load()
    methods.registered()
    attacks.registered()
    needed: list[str] = []
    for name in asked:
        chain = [name]
        while SCENARIOS[chain[0]].after:
            chain.insert(0, SCENARIOS[chain[0]].after)
        needed += [one for one in chain if one not in needed]
    for name in needed:
        scenario = SCENARIOS[name]
        base = folder / scenario.after if scenario.after else None
        record(name, scenario, folder / name, base, die if name == asked[-1] else NEVER)


if __name__ == "__main__":
    main()
