"""What must hold after any crash: nothing lost, nothing half, nothing twice, and the command can be given again."""

import contextlib
import hashlib
import io
import json
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from reissue.cli._app import BAD_INPUT, BUG, NOT_MET, run
from reissue.ledger import Ledger as Book
from reissue.ledger.store import NoLedgerError
from tests.crashes.database import Rows, write_rows
from tests.crashes.disk import Call, Disk, Tree, read_calls, read_tree, states_of, write_tree
from tests.crashes.scenarios import POSTGRES, SCENARIOS, SCRATCH, WORK, Scenario, living_in

__all__ = ["Recording", "State", "Steward"]

_TEMPORARY = re.compile(r"(^|/)(\.reissue-|reissue[-.]|\.writing\.|tmp)[^/]*")
_SECOND_HEAD = re.compile(r"/reissue/heads/[0-9a-f]{32}-[0-9a-f]{16}\.head$")
"""It is named by the key and the place, which differ from run to run."""
_OF_PYTHON = re.compile(f"^{SCRATCH}/[a-z0-9_]{{8}}$")
"""By which its `tempfile` tries out whether a folder can be written."""
_OF_A_LEDGER = re.compile(r"(^|/)[^/]*ledger/")
_TABLES = (".csv", ".parquet", ".toml", ".memory", "_manifest.json")
"""Files that are the same every time; others tell the time."""


@dataclass(frozen=True)
class State:
    """What a crash left."""

    done: int
    """The calls before it."""
    kind: str
    tree: Tree
    commits: int
    """Of those of a server."""

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.kind} after {self.done} calls"


@dataclass(frozen=True)
class Recording:
    """A scenario as it went when nothing happened."""

    scenario: Scenario
    before: Tree
    after: Tree
    inodes: dict[str, int]
    calls: list[Call]
    rows: list[Rows | None]
    code: int
    base: "Recording | None" = None
    """The one that was killed before it."""
    versions: dict[str, set[bytes]] = field(default_factory=dict)
    """What was at each place at some time, whole."""

    @classmethod
    def read(cls, folder: Path) -> "Recording":
        """As `record` wrote it."""
        root, noted = folder / "root", json.loads((folder / "noted.json").read_text())
        calls = read_calls(folder / "trace", root)
        scenario = SCENARIOS[folder.name]
        base = cls.read(folder.with_name(scenario.after)) if scenario.killed else None
        return cls(scenario, read_tree(folder / "before"), read_tree(root), calls=calls, base=base, **noted)

    def __post_init__(self) -> None:
        self._note(self.before)
        self._note(self.after)
        disk = self.disk()
        for call in self.calls:
            disk.apply(call)
            if call.op in "rl":
                self._note(disk.killed(), call.second)

    def _note(self, tree: Tree, only: str = "") -> None:
        for path, content in tree.items():
            if content is not None and (not only or path == only or path.startswith(f"{only}/")):
                self.versions.setdefault(path, set()).add(content)

    def disk(self) -> Disk:
        """Before the first call; after a kill what was not synced before it may still be lost."""
        return (
            Disk(self.before, self.inodes)
            if self.base is None
            else self.base.killed(self.scenario.killed).renumbered(self.inodes)
        )

    def killed(self, place: str) -> Disk:
        """When it had just put a file at a place, or below it."""
        disk = self.disk()
        for call in self.calls:
            disk.apply(call)
            if call.op in "rl" and call.second.startswith(place):
                return disk
        raise LookupError(place)

    @cached_property
    def settled(self) -> Tree:
        """What no crash can take away."""
        return self.disk().cut("bare")

    @cached_property
    def outputs(self) -> dict[str, bytes]:
        """What the command adds or replaces for people to take away."""
        new = {path: content for path, content in self.after.items() if content is not None}
        return {path: content for path, content in new.items() if self._is_output(path, content)}

    def _is_output(self, path: str, content: bytes) -> bool:
        if not path.startswith(f"{WORK}/") or _OF_A_LEDGER.search(path):
            return False
        private = path.endswith((".key", ".head", ".memory"))
        return not private and self.settled.get(path) != content

    @property
    def secrets(self) -> dict[str, bytes]:
        """New files on which outputs depend."""
        new = {path: content for path, content in self.after.items() if content and path not in self.settled}
        return {path: content for path, content in new.items() if path.endswith((".key", ".memory"))}

    def halves(self, state: State) -> Iterator[str]:
        """Files and folders at their places that are not whole."""
        for path, content in state.tree.items():
            inside = _TEMPORARY.search(path) or _OF_A_LEDGER.search(path) or path.startswith(f"{SCRATCH}/")
            if content is not None and not inside and content not in self.versions.get(path, set()):
                yield f"{path} is not whole"
        for folder in self.folders:
            within = [path for path in self.outputs if path.startswith(f"{folder}/")]
            if folder in state.tree and not all(path in state.tree for path in within):
                yield f"the folder {folder} is there before all that is in it"

    @cached_property
    def folders(self) -> list[str]:
        """Folders that a command makes, each of which is one release."""
        new = [path for path, content in self.after.items() if content is None and path not in self.settled]
        return [path for path in new if not _OF_A_LEDGER.search(f"{path}/") and not self.scenario.many]

    def differences(self, found: Tree, *, same: bool, swept: bool) -> Iterator[str]:
        """What is not as it was when nothing happened; `same`: the outputs, too; `swept`: no temporary file is left.

        Who has nothing left to do writes nothing, and leaves that to the next command that does.
        """
        ignored = [_OF_A_LEDGER, _OF_PYTHON, _SECOND_HEAD, *([] if swept else [_TEMPORARY])]
        names, expected = (
            {path for path in tree if not any(one.search(path) for one in ignored)} for tree in (found, self.after)
        )
        if names != expected:
            yield f"left: {sorted(names - expected)}, lacking: {sorted(expected - names)}"
        memories = {path: content for path, content in self.after.items() if path.endswith(".memory")}
        for path, content in {**self.outputs, **memories}.items() if same else ():
            if path.endswith(_TABLES) and found.get(path) != content:
                yield f"{path} differs"

    def states(self) -> list[State]:
        """All different states that a kill or a power cut leaves."""
        seen: dict[bytes, State] = {}
        contents: dict[bytes, bytes] = {}  # each once: states differ in few files
        for done, kind, found in states_of(self.disk(), self.calls):
            tree = {path: content and contents.setdefault(content, content) for path, content in found.items()}
            commits = sum(call.op == "c" for call in self.calls[:done])
            digest = hashlib.sha256(str(commits).encode())
            for path, content in tree.items():
                if not path.endswith("-shm"):
                    digest.update(repr((path, None if content is None else hashlib.sha256(content).digest())).encode())
            seen.setdefault(digest.digest(), State(done, kind, tree, commits))
        return list(seen.values())

    def some_states(self, number: int) -> list[State]:
        """So many of them, the same every time."""
        states = self.states()
        chosen = random.Random(number).sample(range(len(states)), min(number, len(states)))  # noqa: S311
        return [states[place] for place in sorted(chosen)]


def say(arguments: tuple[str, ...]) -> tuple[int, str]:
    """Give a command; its exit code, and what it says in one line."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = run(arguments)
    return code, " ".join(said.getvalue().split())


# --- going on afterwards ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ledger:
    """What a ledger says: of each release its tables, and whether it was withdrawn; and the schema that it goes by."""

    releases: tuple[tuple[Any, ...], ...]
    schema: str


def look_at(place: str, key: tuple[str, ...]) -> Ledger | None:
    """What a ledger says; None where there is none."""
    try:
        with Book.open(place, key=key[1] if key else None) as book:
            releases = tuple((one.record.csv, one.withdrawn) for one in book.releases)
            return Ledger(releases, book.schema.dumps())
    except NoLedgerError:
        return None


@dataclass(frozen=True)
class Steward:
    """Somebody who finds what a crash left in a folder, and gives the command again."""

    recording: Recording
    root: Path
    url: str

    @cached_property
    def command(self) -> tuple[str, ...]:
        """The command, with the database's URL in it."""
        return tuple(one.replace(POSTGRES, self.url) for one in self.recording.scenario.command)

    @cached_property
    def place(self) -> str:
        """The ledger's; empty where a command has none."""
        return next((one for one in self.command if one in {"x.ledger", self.url}), "")

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The option that names the key."""
        at = self.command.index("--key") if "--key" in self.command else len(self.command)
        return self.command[at : at + 2]

    def _enter(self, tree: Tree, rows: Rows | None) -> None:
        write_tree(tree, self.root)
        if self.recording.scenario.postgres:
            write_rows(self.url, rows)

    @cached_property
    def expected(self) -> Ledger | None:
        """The ledger when nothing happened."""
        self._enter(self.recording.after, self.recording.rows[-1])
        with living_in(self.root):
            return look_at(self.place, self.key) if self.place else None

    def problems(self, state: State) -> list[str]:
        """What is wrong after a crash, before and after the command is given again."""
        _ = self.expected
        self._enter(state.tree, self.recording.rows[state.commits])
        with living_in(self.root):
            return [f"{state.name}: {problem}" for problem in self._problems(state)]

    def _problems(self, state: State) -> Iterator[str]:
        recording = self.recording
        yield from recording.halves(state)
        found = None
        if self.place:
            code, words = say(("ledger", "verify", self.place, *self.key))
            found = look_at(self.place, self.key) if code != BAD_INPUT else None
            if code in {NOT_MET, BUG} or (code == BAD_INPUT and not words.startswith("Error: There is no ledger at")):
                yield f"the ledger does not verify: {words}"
                return
        shown = [path for path, content in recording.outputs.items() if state.tree.get(path) == content]
        if shown and self.command[0] == "publish" and (found is None or found != self.expected):
            yield "a release is out that the ledger does not know"
        known = bool(shown) or all(path in state.tree for path in recording.secrets)
        code, words = self._give_again(state)
        refused = code == BAD_INPUT and self._is_finished(state) and "already" in words
        if code != recording.code and not refused:
            yield f"given again, it ends with {code}: {words}"
        yield from recording.differences(read_tree(self.root), same=known, swept=not refused)
        if self.place:
            yield from self._ledger_at_last(same=known)

    def _is_finished(self, state: State) -> bool:
        """Whether there was nothing left to do."""
        return all(state.tree.get(path) == content for path, content in self.recording.outputs.items())

    def _give_again(self, state: State) -> tuple[int, str]:
        """The command once more; with --force where it says that files are there, unless it would read what it made."""
        code, words = say(self.command)
        reads = self._is_finished(state) and self.recording.before.keys() & self.recording.outputs.keys()
        if code == BAD_INPUT and "--force" in words and not reads:
            code, words = say((*self.command, "--force"))
        return code, words

    def _ledger_at_last(self, *, same: bool) -> Iterator[str]:
        code, words = say(("ledger", "verify", self.place, *self.key))
        if code:
            yield f"in the end, the ledger does not verify: {words}"
            return
        found, expected = look_at(self.place, self.key), self.expected
        if found is None or expected is None or len(found.releases) != len(expected.releases):
            yield f"the ledger has {len(found.releases) if found else 0} releases in the end"
        elif same and found != expected:
            yield "the ledger says something else in the end"
