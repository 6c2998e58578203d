"""Outputs: the files that a command will write and those it must not touch, checked before any work starts."""

import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reissue.errors import InputError
from reissue.files.places import (
    FORMATS,
    MANIFEST,
    SECOND_TABLES,
    is_table_file,
    part_of,
    refuse_existing,
    refuse_folder,
    second_path,
)

if TYPE_CHECKING:
    from reissue.schema import Schema

__all__ = ["Input", "Output", "Outputs", "ledger_inputs", "schema_inputs", "table_inputs"]


@dataclass(frozen=True)
class Input:
    """A file or folder that a command reads, or must not write for another reason."""

    what: str
    """Its name in messages, such as "the data"."""
    path: Path


@dataclass(frozen=True)
class Output:
    """A file that a command will write."""

    option: str
    """The option that names it, such as "--out"."""
    path: Path
    table: bool = False
    """Whether it is a release, with further tables beside it."""
    continues: bool = False
    """Whether it is read first and then replaced, as the memory of a series is."""

    repeats: bool = False
    """Whether it may be an existing folder of parts; the writer checks whether that is the same release."""

    @property
    def places(self) -> tuple[Path, ...]:
        """All files that it may become."""
        beside = [Path(second_path(self.path, name)) for name in SECOND_TABLES] if self.table else []
        return (self.path, *beside)


@dataclass(frozen=True)
class Outputs:
    """The outputs of a command, checked when created: they exist only if they can be written."""

    files: tuple[Output, ...]
    inputs: tuple[Input, ...] = ()
    force: bool = False
    folder: Path | None = None
    """The folder of all files, if it is created with them."""

    def __post_init__(self) -> None:
        self._refuse_inputs()
        self._refuse_duplicates()
        for file in self.files:
            for place in file.places:
                self._refuse_place(file, place)

    def _refuse_place(self, file: Output, place: Path) -> None:
        if self.folder is not None and not self.folder.exists():
            refuse_folder(self.folder.parent)
        elif not (file.repeats and (place / MANIFEST).is_file()):
            refuse_existing(place, force=self.force or file.continues, table=file.table, option=file.option)

    def _refuse_duplicates(self) -> None:
        seen: dict[object, Output] = {}
        for file in self.files:
            for place in file.places:
                marks = _marks(place)
                other = next((seen[mark].option for mark in marks if mark in seen), None)
                if other is not None:
                    both = other if other == file.option else f"{other} and {file.option}"
                    raise InputError(f"{both} would write the same file '{place}'. Choose another name.")
                seen |= dict.fromkeys(marks, file)

    def _refuse_inputs(self) -> None:
        read = {mark: one for one in self.inputs for path in _within(one.path) for mark in _marks(path)}
        for file in self.files:
            for place in file.places:
                found = next((read[mark].what for mark in _marks(place) if mark in read), None)
                if found is not None:
                    raise InputError(f"{file.option} would replace {found} itself: '{place}'. Choose another name.")
                among = next((one.what for one in self.inputs if _lies_among(place, one.path)), None)
                if among is not None:
                    raise InputError(
                        f"{file.option} would lie in the folder of {among}: '{place}'. Choose another one."
                    )


def table_inputs(what: str, paths: Iterable[Any]) -> Iterator[Input]:
    """Return the tables that are read, with their further tables."""
    for path in paths:
        if isinstance(path, Path):
            path, _ = part_of(path)  # noqa: PLW2901
            yield Input(what, path)
            if path.name.lower().endswith(FORMATS):
                yield from (Input(what, Path(second_path(path, name))) for name in SECOND_TABLES)


def schema_inputs(path: Path | None, schema: "Schema | None" = None) -> Iterator[Input]:
    """Return a schema file, and the files that the schema names."""
    if path is not None:
        yield Input("the schema", path)
    if schema is not None:
        named = [one.file for one in schema.hierarchies.values() if one.file is not None]
        for said in schema.updates_by_column.values():
            earlier = said.get("history", [])
            files = [*earlier] if isinstance(earlier, list) else [earlier]
            named += [schema.folder / str(one) for one in [*files, *([said["file"]] if "file" in said else [])]]
        yield from (Input("a file that the schema names", file) for file in named)


def ledger_inputs(place: str, key: Path | None) -> Iterator[Input]:
    """Return a ledger, its key and the key's head, whether or not they exist yet."""
    folder = None if "://" in place else Path(place)
    if folder is not None:
        yield Input("the ledger", folder)
    given = os.environ.get("REISSUE_HEAD")
    if given:
        yield Input("the head of the ledger", Path(given))
    if folder is not None and not folder.name:
        raise InputError("A ledger is a folder with a name of its own, such as hospital.ledger.")
    key = key or (None if folder is None else folder.with_name(f"{folder.name}.key"))
    if key is not None:
        yield Input("the ledger's key", key)
        heads = (f"{key.name}.head", f"{key.stem}.head")
        yield from (Input("the head of the ledger", key.with_name(name)) for name in heads)


def _within(path: Path) -> Iterator[Path]:
    """A file, or a folder with the files in it."""
    yield path
    if path.is_dir():
        yield from path.iterdir()


def _lies_among(place: Path, folder: Path) -> bool:
    """Whether a new table would become one of those that are read from a folder."""
    return is_table_file(place) and folder.is_dir() and bool(_marks(place.parent) & _marks(folder))


def _marks(path: Path) -> set[object]:
    """What identifies a file under all its names: the path it resolves to, ignoring case, or the file itself."""
    try:
        real = os.path.realpath(path)
    except ValueError:
        return {path}  # no file can have such a name
    marks: set[object] = {unicodedata.normalize("NFC", real).casefold()}
    try:
        found = path.stat()
    except OSError:
        return marks
    return marks | {(found.st_dev, found.st_ino)}
