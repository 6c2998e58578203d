"""Every writing command, killed and powered off at every call that changes files: nothing lost, half, or twice."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from reissue.cli._app import load
from tests.crashes.disk import Tree
from tests.crashes.recovery import Recording, State, Steward
from tests.crashes.scenarios import SCENARIOS

HERE = Path(__file__).parent
SOME, FEW = 6, 2
"""States of a scenario under `make test`; of one whose command takes seconds."""
FILES = [name for name, scenario in SCENARIOS.items() if not scenario.postgres]
SERVED = [name for name, scenario in SCENARIOS.items() if scenario.postgres]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`shim.c`, compiled."""
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
    if compiler is None or sys.platform != "linux":
        pytest.skip("crashes are simulated on Linux with a C compiler (apt install gcc)")
    out = tmp_path_factory.mktemp("shim") / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(out), str(HERE / "shim.c"), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)  # noqa: S603
    return out


def record(shim: Path, folder: Path, names: Sequence[str], url: str = "", die: int = -1) -> dict[str, Recording]:
    """Run scenarios under the shim."""
    more = {"LD_PRELOAD": str(shim), "POLARS_MAX_THREADS": "1", "CRASH_POSTGRES": url, "CRASH_DIE": str(die)}
    command = [sys.executable, "-m", "tests.crashes.record", str(shim), str(folder), *names]
    done = subprocess.run(  # noqa: S603
        command, cwd=HERE.parents[1], env={**os.environ, **more}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = {name: Recording.read(folder / name) for name in names}
    assert die >= 0 or [name for name, one in found.items() if one.code != one.scenario.ends] == []
    return found


@pytest.fixture(scope="module")
def recorded(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    """Commands that work on files alone, as they go when nothing happens."""
    load()
    return record(shim, tmp_path_factory.mktemp("recorded"), FILES)


@pytest.fixture(scope="module")
def database(server: str) -> str:
    """A database of its own."""
    import psycopg

    name = f"crashes_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="module")
def served(shim: Path, database: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    """Commands that use a database."""
    load()
    return record(shim, tmp_path_factory.mktemp("served"), SERVED, database)


def without_index(tree: Tree) -> Tree:
    """What lies there but for SQLite's index of its log, which is written through memory and made anew."""
    return {path: content for path, content in tree.items() if not path.endswith("-shm")}


def check(recording: Recording, states: Sequence[State], root: Path, url: str = "") -> None:
    """Go on after each of some crashes."""
    disk = recording.disk()
    for call in recording.calls:
        disk.apply(call)
    assert without_index(disk.killed()) == without_index(recording.after), "no call may go unnoticed"
    steward = Steward(recording, root, url)
    assert [problem for state in states for problem in steward.problems(state)] == []


def some(recording: Recording) -> list[State]:
    return recording.some_states(FEW if recording.scenario.heavy else SOME)


@pytest.mark.parametrize("name", FILES)
def test_after_a_crash_a_command_can_be_given_again(name: str, recorded: dict[str, Recording], tmp_path: Path) -> None:
    check(recorded[name], some(recorded[name]), tmp_path / "root")


@pytest.mark.parametrize("name", SERVED)
def test_so_can_one_with_a_database(name: str, served: dict[str, Recording], database: str, tmp_path: Path) -> None:
    check(served[name], some(served[name]), tmp_path / "root", database)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_after_every_crash(name: str, recorded: dict[str, Recording], tmp_path: Path) -> None:
    check(recorded[name], recorded[name].states(), tmp_path / "root")


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVED)
def test_after_every_crash_with_a_database(
    name: str, served: dict[str, Recording], database: str, tmp_path: Path
) -> None:
    check(served[name], served[name].states(), tmp_path / "root", database)


def really_kill(shim: Path, recording: Recording, name: str, die: int, folder: Path) -> None:
    """Kill a process in its work: what it leaves is what its calls leave on the disk that forgets nothing."""
    killed = record(shim, folder, [name], die=die)[name]
    assert killed.code == -9
    assert 0 < len(killed.calls) < len(recording.calls)
    disk = killed.disk()
    for call in killed.calls:
        disk.apply(call)
    assert without_index(disk.killed()) == without_index(killed.after)


def test_a_real_kill_leaves_what_the_calls_before_it_leave(
    shim: Path, recorded: dict[str, Recording], tmp_path: Path
) -> None:
    name = "publish in parts"
    really_kill(shim, recorded[name], name, len(recorded[name].calls) * 2 // 3, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["publish in parts", "publish with the key elsewhere", "begin a series"])
def test_real_kills_leave_what_the_calls_before_them_leave(
    name: str, shim: Path, recorded: dict[str, Recording], tmp_path: Path
) -> None:
    calls = len(recorded[name].calls)
    for die in range(1, calls, max(calls // 20, 1)):
        really_kill(shim, recorded[name], name, die, tmp_path / str(die))


@pytest.mark.parametrize(
    ("name", "words"),
    [("publish with the key elsewhere", "is gone or empty"), ("anonymize a folder", "is not whole")],
)
def test_a_command_that_syncs_nothing_would_be_found_out(
    name: str, words: str, recorded: dict[str, Recording], tmp_path: Path
) -> None:
    careless = replace(recorded[name], calls=[call for call in recorded[name].calls if call.op != "s"])
    steward = Steward(careless, tmp_path / "root", "")
    assert any(words in problem for state in careless.states()[-25:] for problem in steward.problems(state))
