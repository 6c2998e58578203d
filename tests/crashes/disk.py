"""A file system that forgets: calls that `shim.c` noted are done again on it, and what a crash leaves is written out.

Of every file and folder it has what programs see, and what is on disk for certain. POSIX promises the latter only for
what was synced: the bytes of a file after fsync of the file, its name after fsync of the folder. All else may be there
after a power cut or not, each change by itself; a write may be there in part. Within a folder a rename is one change.
"""

import random
import shutil
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

__all__ = ["Call", "Disk", "Folder", "Tree", "read_calls", "read_tree", "write_tree"]

_HEADER = struct.Struct("=cc6xQQQII")
_SECTOR = 512
Tree = Mapping[str, bytes | None]
"""What lies in a folder: the content of each file by its path, None for a folder."""


class Call(NamedTuple):
    """A call that changed something; paths are relative to the root."""

    op: str
    inode: int
    offset: int
    data: bytes
    first: str
    second: str
    is_new: bool


def read_calls(file: Path, root: Path) -> list[Call]:
    """What the shim noted; a last entry that is not whole was cut off with its process."""
    content, at, calls = file.read_bytes() if file.exists() else b"", 0, []
    while at + _HEADER.size <= len(content):
        op, flag, inode, offset, size, first, second = _HEADER.unpack_from(content, at)
        at += _HEADER.size
        names = [content[at : at + first].decode(), content[at + first : at + first + second].decode()]
        at += first + second
        one, two = (str(Path(_plain(name)).relative_to(root)) if name else "" for name in names)
        calls.append(Call(op.decode(), inode, offset, content[at : at + size], one, two, flag == b"c"))
        at += size
    return calls


def _plain(name: str) -> str:
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


@dataclass(eq=False)
class File:
    """Bytes, those on disk, and the writes in between."""

    now: bytearray = field(default_factory=bytearray)
    disk: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes (where, what), and truncations (to where, None)."""


@dataclass(eq=False)
class Folder:
    """Names, those on disk, and the changes in between: each is names that come (or go: None) at once."""

    now: "dict[str, File | Folder]" = field(default_factory=dict)
    disk: "dict[str, File | Folder]" = field(default_factory=dict)
    pending: "list[dict[str, File | Folder | None]]" = field(default_factory=list)


Node = File | Folder
Thing = TypeVar("Thing", File, Folder)


def _write(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
    else:
        content.extend(bytes(max(at - len(content), 0)))
        content[at : at + len(data)] = data


def _rename(names: "dict[str, Node]", change: "Mapping[str, Node | None]") -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Disk:
    """A folder as a file system has it."""

    def __init__(self, tree: Tree, inodes: Mapping[str, int]) -> None:
        """What lies in a folder is on disk for certain; of each thing in it, and of itself (""), the inode."""
        self.root = Folder()
        self.inodes: dict[int, Node] = {inodes[""]: self.root}
        for path, content in tree.items():
            node = Folder() if content is None else File(bytearray(content), bytearray(content))
            folder, name = self._at(path)
            self.inodes[inodes[path]] = folder.now[name] = folder.disk[name] = node

    def renumbered(self, inodes: Mapping[str, int]) -> Self:
        """The same with other inodes, as its copy has them."""
        self.inodes = {}
        for path, inode in inodes.items():
            folder, name = self._at(path) if path else (self.root, "")
            self.inodes[inode] = folder.now[name] if name else folder
        return self

    def _at(self, path: str) -> tuple[Folder, str]:
        *above, name = Path(path).parts
        folder = self.root
        for part in above:
            inside = folder.now[part]
            assert isinstance(inside, Folder)
            folder = inside
        return folder, name

    def _change(self, folder: Folder, change: "dict[str, Node | None]") -> None:
        _rename(folder.now, change)
        folder.pending.append(change)

    def apply(self, call: Call) -> None:
        """Do a call."""
        if call.op in "om":
            self._make(call)
        elif call.op in "wte":
            self._fill(call)
        elif call.op == "s":
            node = self.inodes[call.inode]
            node.disk = copy(node.now)
            node.pending.clear()
        elif call.op == "u":
            folder, name = self._at(call.first)
            self._change(folder, {name: None})
        elif call.op in "rl":
            self._move(call)

    def _make(self, call: Call) -> None:
        folder, name = self._at(call.first)
        if call.op == "o" and not call.is_new:
            self._fill(call._replace(op="t", offset=0))
            return
        node = self.inodes[call.inode] = File() if call.op == "o" else Folder()
        self._change(folder, {name: node})

    def _fill(self, call: Call) -> None:
        node = self.inodes[call.inode]
        assert isinstance(node, File)
        if call.op == "e" and call.offset <= len(node.now):
            return
        change = (call.offset, call.data if call.op == "w" else None)
        _write(node.now, *change)
        node.pending.append(change)

    def _move(self, call: Call) -> None:
        (old, name), (new, other) = self._at(call.first), self._at(call.second)
        node = old.now[name]
        if call.op == "l":
            self._change(new, {other: node})
        elif old is new:
            self._change(old, {name: None, other: node})
        else:
            self._change(new, {other: node})
            self._change(old, {name: None})

    # --- what is left --------------------------------------------------------------------------------------------

    def tree(self, names: "Callable[[Folder], Mapping[str, Node]]", content: Callable[[File], bytes]) -> Tree:
        """What lies there, if of folders and files that is there which is said."""
        return dict(_walk(self.root, "", names, content))

    def killed(self) -> Tree:
        """After the process was killed: all that programs saw."""
        return self.tree(lambda folder: folder.now, lambda file: bytes(file.now))

    def cut(self, kind: str, seed: int = 0) -> Tree:
        """After the power went: `bare`, nothing but what was synced; `names` or `data`, only those; or `some`."""
        if kind == "some":
            rng = random.Random(seed)  # noqa: S311
            return self.tree(lambda folder: _some_names(folder, rng), lambda file: _some_bytes(file, rng))
        return self.tree(
            lambda folder: folder.now if kind == "names" else folder.disk,
            lambda file: bytes(file.now if kind == "data" else file.disk),
        )


def _walk(
    folder: Folder, at: str, names: "Callable[[Folder], Mapping[str, Node]]", content: Callable[[File], bytes]
) -> Iterator[tuple[str, bytes | None]]:
    for name, node in sorted(names(folder).items()):
        path = f"{at}{name}"
        if isinstance(node, Folder):
            yield path, None
            yield from _walk(node, f"{path}/", names, content)
        else:
            yield path, content(node)


def _some_names(folder: Folder, rng: random.Random) -> "dict[str, Node]":
    names = copy(folder.disk)
    for change in folder.pending:
        if rng.random() < 0.5:
            _rename(names, change)
    return names


def _some_bytes(file: File, rng: random.Random) -> bytes:
    content = copy(file.disk)
    for at, data in file.pending:
        if rng.random() < 0.4:
            continue
        if data is not None and rng.random() < 0.4:
            data = data[: rng.randrange(0, len(data) // _SECTOR + 1) * _SECTOR]  # noqa: PLW2901
        _write(content, at, data)
    return bytes(content)


# --- folders ---------------------------------------------------------------------------------------------------------


def read_tree(root: Path) -> Tree:
    """What lies in a folder."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in sorted(root.rglob("*"))
    }


def write_tree(tree: Tree, root: Path) -> None:
    """A folder in which just that lies; files are private, as keys must be."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, content in tree.items():
        if content is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(content)
            (root / name).chmod(stat.S_IRUSR | stat.S_IWUSR)


def states_of(disk: Disk, calls: Sequence[Call]) -> Iterator[tuple[int, str, Tree]]:
    """What a kill or a power cut before each call, and after the last, leaves: the number of calls done, and how."""
    for number in range(len(calls) + 1):
        yield number, "killed", disk.killed()
        for kind in ("bare", "names", "data"):
            yield number, kind, disk.cut(kind)
        for seed in range(2):
            yield number, f"some {seed}", disk.cut("some", 1000 * number + seed)
        if number < len(calls):
            disk.apply(calls[number])
