"""A ledger forged in every way that somebody could who writes to its place: what each command says, and how it ends."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from reissue.cli._app import run
from reissue.ledger import Key, Ledger, LedgerEntry, entry_after, sealed_after
from tests.ledger import tamper
from tests.ledger.conftest import KEY
from tests.ledger.series import MONTHS, POOL, schema

OTHER = "d41c0e7b52f9483a96e07d1b3c58fa24"
"""A key of somebody else."""


@dataclass(frozen=True)
class Scene:
    """A folder with a ledger of two releases, and one of another series beside it."""

    folder: Path

    @property
    def place(self) -> Path:
        return self.folder / "x.ledger"

    @property
    def key(self) -> Path:
        return self.folder / "x.ledger.key"

    @property
    def head(self) -> Path:
        return self.folder / "x.ledger.head"

    @property
    def older(self) -> Path:
        """The ledger and its head as they were after the first release."""
        return self.folder / "older"

    @property
    def second(self) -> Path:
        """The second head, on this machine."""
        (found,) = (path for path in (self.folder / "state").rglob("*.head") if Key(KEY.encode()).check in path.name)
        return found

    def rewrite(self, change: Callable[[LedgerEntry], tuple[str, dict[str, Any]] | None]) -> None:
        """Write the chain anew, with all hashes right."""
        with Ledger.open(self.place) as ledger:
            tamper.rewrite(ledger, change)

    def run(self, statement: str) -> None:
        """Change the database."""
        with Ledger.open(self.place) as ledger:
            tamper.unguard(ledger)
            tamper.run(ledger, statement)

    def restore(self, *, head: bool) -> None:
        """Put the older copy in the place of the ledger, and of its head."""
        shutil.rmtree(self.place)
        shutil.copytree(self.older / "x.ledger", self.place)
        if head:
            shutil.copy(self.older / "x.ledger.head", self.head)


def weaker(entry: LedgerEntry) -> tuple[str, dict[str, Any]]:
    """The first entry with another policy."""
    if entry.number > 1:
        return entry.kind, entry.content
    return entry.kind, {**entry.content, "schema": entry.content["schema"].replace("k=5", "k=2")}


def without_heads(scene: Scene) -> None:
    scene.head.unlink()
    scene.second.unlink()


def policy_edited(scene: Scene) -> None:
    scene.rewrite(weaker)


def policy_edited_without_heads(scene: Scene) -> None:
    scene.rewrite(weaker)
    without_heads(scene)


def row_edited(scene: Scene) -> None:
    scene.run("UPDATE entry SET content = replace(content, 'k=5', 'k=2')")


def cut_off(scene: Scene) -> None:
    scene.run("DELETE FROM entry WHERE number = 3")


def cut_off_with_the_first_head(scene: Scene) -> None:
    cut_off(scene)
    scene.head.unlink()


def cut_off_without_heads(scene: Scene) -> None:
    cut_off(scene)
    without_heads(scene)


def entry_left_out(scene: Scene) -> None:
    scene.rewrite(lambda entry: None if entry.number == 2 else (entry.kind, entry.content))
    without_heads(scene)


def entries_swapped(scene: Scene) -> None:
    with Ledger.open(scene.place) as ledger:
        first, second = (entry.content for entry in ledger.store.found()[1:])
        contents = {2: second, 3: first}
        tamper.rewrite(ledger, lambda entry: (entry.kind, contents.get(entry.number, entry.content)))
    without_heads(scene)


def entry_added(scene: Scene) -> None:
    with Ledger.open(scene.place) as ledger:
        last = ledger.store.found()[-1]
        tamper.put(ledger, entry_after(last, "withdrawal", {"release": 2, "why": "x", "time": "x", "files": {}}))


def acceptance_forged(scene: Scene) -> None:
    """Entries cut off, and an acceptance that nobody with the key wrote."""
    head = json.loads(scene.head.read_text())
    cut_off(scene)
    with Ledger.open(scene.place) as ledger:
        said = {"heads": [head["hash"]], "lost": 0, "why": "x", "time": "x", "files": {}}
        tamper.put(ledger, entry_after(ledger.store.found()[-1], "acceptance", said))


def written_by_another_key(scene: Scene) -> None:
    """All of it sealed anew, by somebody with a key of their own."""
    other = Key(OTHER.encode())
    with Ledger.open(scene.place) as ledger:
        last, made = None, []
        for entry in ledger.store.found():
            kind, content = weaker(entry)
            content = {**content, "check": other.check} if entry.number == 1 else content
            content.pop("seal")
            last = sealed_after(last, kind, content, other.seal)
            made.append(last)
        tamper.unguard(ledger)
        tamper.run(ledger, "DELETE FROM entry")
        for one in made:
            tamper.put(ledger, one)


def written_by_another_key_without_head(scene: Scene) -> None:
    written_by_another_key(scene)
    scene.head.unlink()


def written_by_another_key_without_heads(scene: Scene) -> None:
    written_by_another_key(scene)
    without_heads(scene)


def head_of_another(scene: Scene) -> None:
    shutil.copy(scene.folder / "other.ledger.head", scene.head)


def head_unreadable(scene: Scene) -> None:
    scene.head.write_text("{")


def second_head_changed(scene: Scene) -> None:
    scene.second.write_text(json.dumps({**json.loads(scene.second.read_text()), "number": 1}))


def table_changed(scene: Scene) -> None:
    with Ledger.open(scene.place) as ledger:
        name = ledger.release(1).files["table.release"]
    (scene.place / "files" / name).write_bytes(b"x")


def emptied(scene: Scene) -> None:
    scene.run("DELETE FROM entry")


def key(text: str | None) -> Callable[[Scene], None]:
    """Another key in the place of the right one, or none."""

    def change(scene: Scene) -> None:
        scene.key.unlink()
        if text is not None:
            scene.key.write_text(text)
            scene.key.chmod(0o600)

    return change


FINE, BROKEN, REFUSED, NOT_PROVABLE = 0, 1, 2, 5
FORGERIES: dict[str, tuple[Callable[[Scene], object], int, int, int]] = {
    # what is done to it; how verify ends, how publish does, how those do who only read
    "nothing": (lambda _: None, FINE, FINE, FINE),
    "policy edited": (policy_edited, BROKEN, REFUSED, REFUSED),
    "policy edited, heads deleted": (policy_edited_without_heads, BROKEN, REFUSED, REFUSED),
    "row edited": (row_edited, BROKEN, REFUSED, REFUSED),
    "last entry cut off": (cut_off, BROKEN, REFUSED, REFUSED),
    "last entry cut off, first head deleted": (cut_off_with_the_first_head, BROKEN, REFUSED, REFUSED),
    "last entry cut off, heads deleted": (cut_off_without_heads, NOT_PROVABLE, FINE, FINE),
    "entry left out": (entry_left_out, BROKEN, REFUSED, REFUSED),
    "entries swapped": (entries_swapped, BROKEN, REFUSED, REFUSED),
    "entry added": (entry_added, BROKEN, REFUSED, REFUSED),
    "acceptance forged": (acceptance_forged, BROKEN, REFUSED, REFUSED),
    "written by another key": (written_by_another_key, BROKEN, REFUSED, REFUSED),
    "written by another key, first head deleted": (written_by_another_key_without_head, BROKEN, REFUSED, REFUSED),
    "written by another key, heads deleted": (written_by_another_key_without_heads, NOT_PROVABLE, REFUSED, FINE),
    "older copy": (lambda scene: scene.restore(head=False), BROKEN, REFUSED, REFUSED),
    "older copy with its head": (lambda scene: scene.restore(head=True), BROKEN, REFUSED, REFUSED),
    "first head deleted": (lambda scene: scene.head.unlink(), FINE, FINE, FINE),
    "second head deleted": (lambda scene: scene.second.unlink(), NOT_PROVABLE, FINE, FINE),
    "heads deleted": (without_heads, NOT_PROVABLE, FINE, FINE),
    "head of another ledger": (head_of_another, BROKEN, REFUSED, REFUSED),
    "head unreadable": (head_unreadable, BROKEN, REFUSED, REFUSED),
    "second head changed": (second_head_changed, BROKEN, REFUSED, REFUSED),
    "no key": (key(None), NOT_PROVABLE, REFUSED, FINE),
    "empty key": (key(""), NOT_PROVABLE, REFUSED, FINE),
    "short key": (key("secret"), NOT_PROVABLE, REFUSED, FINE),
    "key that can be guessed": (key("ab" * 32), NOT_PROVABLE, REFUSED, FINE),
    "key of nobody": (key("8c1e52f7a0b94d36e5c7f1029b3a6d48"), NOT_PROVABLE, REFUSED, FINE),
    "emptied": (emptied, REFUSED, REFUSED, REFUSED),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything lies, with a copy of it as it should be beside."""
    return tmp_path_factory.mktemp("trust")


@pytest.fixture
def scene(base: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """The same ledger at the same place, before each forgery."""
    del state
    folder, kept = base / "now", base / "kept"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    if not kept.exists():
        build(Scene(kept), folder)
    shutil.copytree(kept, folder)
    yield Scene(folder)
    shutil.rmtree(folder)


def build(kept: Scene, folder: Path) -> None:
    """Two ledgers, made where they are looked at, and kept elsewhere."""
    folder.mkdir()
    for number, month in enumerate(MONTHS, start=1):
        month.write_csv(folder / f"{number}.csv")
    (folder / "policy.toml").write_text(schema(POOL).dumps())
    for name, secret in (("x.ledger.key", KEY), ("other.ledger.key", OTHER)):
        (folder / name).write_text(secret)
        (folder / name).chmod(0o600)
    for ledger in ("other.ledger", "x.ledger"):
        assert (
            ends(folder, "publish", "1.csv", "--ledger", ledger, "--schema", "policy.toml", "--out", ledger + ".1.csv")
            == 0
        )
    (folder / "older").mkdir()
    shutil.copytree(folder / "x.ledger", folder / "older" / "x.ledger")
    shutil.copy(folder / "x.ledger.head", folder / "older")
    assert ends(folder, "publish", "2.csv", "--ledger", "x.ledger", "--out", "second.csv") == 0
    shutil.move(folder, kept.folder)


def ends(folder: Path, *words: str) -> int:
    """How a command ends that is run in a folder."""
    return said(folder, *words)[0]


def said(folder: Path, *words: str) -> tuple[int, str]:
    """The same with what it says."""
    before, text = Path.cwd(), StringIO()
    os.chdir(folder)
    try:
        with redirect_stdout(text), redirect_stderr(text):
            try:
                return run(list(words)), text.getvalue()
            except SystemExit as end:
                return int(end.code or 0), text.getvalue()
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", FORGERIES)
def test_every_command_decides_alike(name: str, scene: Scene) -> None:
    forge, verified, published, read = FORGERIES[name]
    forge(scene)
    head = scene.head.read_bytes() if scene.head.exists() else None
    code, text = said(scene.folder, "ledger", "verify", "x.ledger")
    assert code == verified, text
    assert ("Proven" in text) == (verified == FINE)
    assert ("Not provable" in text) == (verified == NOT_PROVABLE)
    export = ("export", "x.ledger", "1", "--out", "again.csv")
    for words in (("list", "x.ledger"), ("show", "x.ledger", "1"), ("recipients", "x.ledger"), export):
        code, text = said(scene.folder, "ledger", *words)
        assert code == read, text
        assert ("Not provable" in text) == (code == FINE and verified == NOT_PROVABLE)
    publish = ("publish", "3.csv", "--ledger", "x.ledger", "--out", "third.csv")
    assert ends(scene.folder, *publish, "--dry-run") == published
    code, text = said(scene.folder, *publish)
    assert code == published, text
    assert (scene.folder / "third.csv").exists() == (published == FINE)
    if published != FINE:
        assert head == (scene.head.read_bytes() if scene.head.exists() else None), "no fresh head is written over it"
    else:
        assert ("is not known" in text) == (verified != FINE), "what is not provable is said"
        assert ends(scene.folder, "ledger", "verify", "x.ledger") == FINE, "from now on there is a head"


def test_a_changed_table_is_found_by_who_reads_it(scene: Scene) -> None:
    table_changed(scene)
    assert ends(scene.folder, "ledger", "verify", "x.ledger") == BROKEN
    assert ends(scene.folder, "ledger", "export", "x.ledger", "1", "--out", "again.csv") == REFUSED
    assert ends(scene.folder, "ledger", "export", "x.ledger", "2", "--out", "again.csv") == FINE


def test_the_page_decides_alike(scene: Scene) -> None:
    from reissue.errors import DataError
    from reissue.web.routes.ledger import _series
    from reissue.web.work.publishing import verify

    def looked() -> str:
        return str(verify({"ledger": str(scene.place), "head": ""}, scene.folder, lambda *_: None)["headline"]["word"])

    assert looked() == "Proven"
    assert _series(str(scene.place))["unknown"] == ()
    scene.second.unlink()
    assert looked() == "Not provable"
    assert len(_series(str(scene.place))["unknown"]) == 1
    policy_edited(scene)
    assert looked() == "Broken"
    with pytest.raises(DataError, match="not written with its key"):
        _series(str(scene.place))


@pytest.mark.parametrize("both", [True, False])
def test_a_restored_backup_can_be_gone_on_with(scene: Scene, both: bool) -> None:
    scene.restore(head=both)
    code, text = said(scene.folder, "ledger", "accept", "x.ledger", "--why", "release 2 was never sent")
    assert code == FINE, text
    assert "is behind its head" in text
    assert ends(scene.folder, "ledger", "verify", "x.ledger") == FINE
    code, text = said(scene.folder, "publish", "3.csv", "--ledger", "x.ledger", "--out", "third.csv")
    assert (code, "lacked 1 entry" in text, "never sent" in text) == (FINE, True, True), text
    with Ledger.open(scene.place) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["begin", "release", "acceptance", "release"]
    scene.restore(head=True)
    assert ends(scene.folder, "ledger", "verify", "x.ledger") == BROKEN, "the backup comes back once more"


@pytest.mark.parametrize("name", ["policy edited", "entry added", "written by another key", "no key", "key of nobody"])
def test_what_was_forged_is_not_accepted(scene: Scene, name: str) -> None:
    FORGERIES[name][0](scene)
    head = scene.head.read_bytes()
    assert ends(scene.folder, "ledger", "accept", "x.ledger", "--why", "it is fine") == REFUSED
    assert scene.head.read_bytes() == head


def test_a_ledger_on_a_new_machine(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(scene.folder / "elsewhere"))
    code, text = said(scene.folder, "ledger", "verify", "x.ledger")
    assert (code, "no second head" in text) == (NOT_PROVABLE, True)
    last = json.loads(scene.head.read_text())["hash"]
    assert ends(scene.folder, "ledger", "verify", "x.ledger", "--head", last) == FINE, "noted elsewhere"
    assert ends(scene.folder, "ledger", "verify", "x.ledger", "--head", "0" * 64) == BROKEN
    assert ends(scene.folder, "ledger", "accept", "x.ledger", "--why", "it came from the old machine") == FINE
    assert ends(scene.folder, "ledger", "verify", "x.ledger") == FINE


def test_a_copy_at_another_place_of_this_machine(scene: Scene) -> None:
    for name in ("x.ledger", "x.ledger.key", "x.ledger.head"):
        source = scene.folder / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, scene.folder / f"copy{name[1:]}")
    assert ends(scene.folder, "ledger", "verify", "copy.ledger") == FINE, "it goes on from what is known"
    assert ends(scene.folder, "publish", "3.csv", "--ledger", "x.ledger", "--out", "third.csv") == FINE
    code, text = said(scene.folder, "ledger", "verify", "copy.ledger")
    assert (code, "publish with one only" in text) == (NOT_PROVABLE, True)


def test_where_no_second_head_can_be_written(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    (scene.folder / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(scene.folder / "file"))
    assert ends(scene.folder, "ledger", "verify", "x.ledger") == NOT_PROVABLE
    code, text = said(scene.folder, "publish", "3.csv", "--ledger", "x.ledger", "--out", "third.csv")
    assert (code, "All was recorded, but not the head" in text) == (FINE, True), text


def test_a_witness_is_told_number_and_hash_and_nothing_else(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    script, told = scene.folder / "witness.sh", scene.folder / "told"
    script.write_text(f'#!/bin/sh\necho "$@" "$(env | grep -c REISSUE_)" >> "{told}"\n')
    script.chmod(0o700)
    monkeypatch.setenv("REISSUE_WITNESS", str(script))
    monkeypatch.setenv("REISSUE_KEY", KEY)
    assert ends(scene.folder, "publish", "3.csv", "--ledger", "x.ledger", "--out", "third.csv") == FINE
    with Ledger.open(scene.place) as ledger:
        assert told.read_text() == f"4 {ledger.entries()[-1].hash} 0\n"


@pytest.mark.parametrize("witness", ["false", "/no/such/command", "'", "http://user:hidden@127.0.0.1:9/x", "https://"])
def test_a_witness_that_fails_is_said(scene: Scene, monkeypatch: pytest.MonkeyPatch, witness: str) -> None:
    monkeypatch.setenv("REISSUE_WITNESS", witness)
    code, text = said(scene.folder, "publish", "3.csv", "--ledger", "x.ledger", "--out", "third.csv")
    assert (code, "witness in REISSUE_WITNESS was not told" in text, "hidden" in text) == (FINE, True, False), text
    assert (scene.folder / "third.csv").exists()
