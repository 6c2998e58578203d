"""Ledger: the append-only record of a series, opened.

Entries are of three kinds: "begin" (the schema, the policy in it, and the check value of the key), "schema" (a changed
policy or taxonomy) and "release" (one release with its findings). Reading needs no key; publishing and adopting do.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from reissue.errors import DataError, InputError, SchemaError
from reissue.files.dialect import PLAIN, Dialect
from reissue.files.places import beside_folder, refuse_existing, second_path
from reissue.files.staging import Staging, scratch_folder
from reissue.files.tables import stage_tables
from reissue.ledger.chain import LedgerEntry, broken, content_name
from reissue.ledger.entry import FORMAT, later_format
from reissue.ledger.folders import FolderInLedger
from reissue.ledger.handing_out import KEPT, original_ending, table_bytes
from reissue.ledger.head import Head, head_file, lost, mismatch, read_head, refuse_unwritable, unknown, write_head
from reissue.ledger.key import Key, find_key
from reissue.ledger.pack import pack_schema, unpack_frame, unpack_roster
from reissue.ledger.recorded import Recorded, releases_of, replaced_files
from reissue.policy import Policy
from reissue.release.memory import Memory, fingerprint, read_memory
from reissue.release.roster import Roster
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.ledger.store import Store, Writer
    from reissue.published import PublishedRelease

__all__ = ["Ledger", "Recorded"]


class Ledger:
    """The append-only record of a series: schema, policy, releases, findings, and the memory for the next one."""

    def __init__(self, store: "Store", key_file: Path | None, head: Path | None = None) -> None:
        """Use `Ledger.open` or `Ledger.create`."""
        self.store = store
        self._key_file = key_file
        self.head_file = head
        self.unwritten = ""
        """Why the head could not be written after the last entry, if it could not."""
        self._scratch = ExitStack()
        self._folder: Path | None = None
        """Where files of a database lie for those who read paths."""

    def __repr__(self) -> str:
        """How many releases it holds, in one sentence."""
        return f"Ledger {self.name} with {plural(len(self.releases), 'release')}."

    @classmethod
    def open(cls, place: str | Path, *, key: str | Path | None = None, head: str | Path | None = None) -> "Ledger":
        """Open a ledger: a folder, or `postgresql://...`.

        The key lies in `<folder>.key` unless said otherwise, and the head beside the key.
        """
        from reissue.ledger.store import NoLedgerError, Store

        key_file = _key_file(place, key)
        file = head_file(place, key_file) if head is None else Path(head)
        try:
            store, first = Store.begun(place)
        except NoLedgerError:
            before = read_head(file)
            if before is None:
                raise
            raise lost(_shown(place), before, file) from None
        ledger = cls(store, key_file, file)
        if later_format(first.said):
            raise DataError(
                f"The ledger '{ledger.name}' was written by a later version of Reissue. Update Reissue first."
            )
        return ledger

    @classmethod
    def create(
        cls, place: str | Path, schema: Schema, *, key: str | Path | None = None, head: str | Path | None = None
    ) -> "Ledger":
        """Begin a ledger; the policy is in the schema. A key is made if there is none.

        Where there is a head, there was a ledger: it is not begun again.
        """
        from reissue.ledger.store import NoLedgerError, Store

        Policy.of(schema)
        pack_schema(schema, content_name)  # files that cannot be read are noticed before anything is there
        with suppress(NoLedgerError):
            cls.open(place, key=key, head=head).close()
            raise InputError(f"There is a ledger at '{_shown(place)}' already. Open it, or choose another place.")
        key_file = _key_file(place, key)
        file = head_file(place, key_file) if head is None else Path(head)
        if file is not None:
            refuse_unwritable(file)
        store = Store.open(place, make=True)
        ledger = cls(store, key_file, file)
        secret = find_key(ledger._key_file, make=True)
        with store.writing(secret.seal) as writer:
            if writer.entries:
                raise InputError(f"There is a ledger at '{ledger.name}' already.")
            text, files = pack_schema(schema, writer.keep)
            content = {"format": FORMAT, "check": secret.check, "series": fingerprint(schema)}
            begun = writer.append("begin", {**content, "schema": text, "files": files})
        if file is not None:
            write_head(file, Head.of(begun, secret), secret)
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the place."""
        self.store.close()
        self._scratch.close()
        self._folder = None

    @property
    def name(self) -> str:
        """Where it is, without user or password."""
        return self.store.name

    @cached_property
    def key(self) -> Key:
        """The secret key, recognized as this ledger's own."""
        key = find_key(self._key_file)
        if key.check != self.entries()[0].content["check"]:
            raise InputError(
                f"This is not the key of the ledger '{self.name}': with another key nobody in it would be recognized. "
                "Nothing was recorded."
            )
        return key

    # --- whether it is whole -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """The only writer, of a ledger that fits its head; the new head is written when all is committed."""
        if self.head_file is not None:
            refuse_unwritable(self.head_file)
        with self.store.writing(self.key.seal) as writer:
            self.compare(writer.entries)
            yield writer
        if self.head_file is not None:
            try:
                write_head(self.head_file, Head.of(writer.entries[-1], self.key), self.key)
            except InputError as problem:
                # All is committed, and a ledger may be ahead of its head: the next writer makes up for it.
                self.unwritten = f"All was recorded, but not the head of the ledger: {problem}"

    def compare(self, entries: Sequence[LedgerEntry]) -> None:
        """Refuse entries that do not fit the head."""
        head = read_head(self.head_file)
        problem = "" if head is None else mismatch(entries, head, self.key, self.head_file)
        if problem:
            raise DataError(f"The ledger '{self.name}' does not fit its head. {problem}")

    @property
    def unknown(self) -> tuple[str, ...]:
        """What cannot be known about it, in words."""
        return () if read_head(self.head_file) is not None else (unknown(self.head_file),)

    # --- what it says ------------------------------------------------------------------------------------------------

    def entries(self) -> list[LedgerEntry]:
        """All entries, in order."""
        return self.store.entries()

    @property
    def schema(self) -> Schema:
        """The schema that the next release follows, with the policy in it."""
        return self.schema_of(self.entries())

    def schema_of(self, entries: Sequence[LedgerEntry]) -> Schema:
        """The schema as it stands after some entries."""
        entry = next(entry for entry in reversed(entries) if entry.kind in {"begin", "schema"})
        return Schema.loads(entry.content["schema"], folder=self._folder_with(entry.files.values()))

    @property
    def policy(self) -> Policy:
        """What the holder wants."""
        return Policy.of(self.schema)

    @property
    def releases(self) -> tuple[Recorded, ...]:
        """All releases, in the order published."""
        return releases_of(self.entries())

    def release(self, number: int) -> Recorded:
        """One release."""
        return _numbered(self.releases, number)

    def tables(self, release: Recorded) -> dict[str, pl.DataFrame]:
        """The tables of a release, as they were published, in memory."""
        return {name: pl.concat(self.parts(release, name)) for name in release.tables}

    def parts(self, release: Recorded, table: str) -> Iterator[pl.DataFrame]:
        """A table of a release one part at a time, each checked; one that is not in parts is one part."""
        folder = FolderInLedger.of(release, table, self.store.read)
        whole = (unpack_frame(self.store.read(release.files[f"table.{table}"])) for _ in range(1))
        return whole if folder is None else folder.frames()

    def published(self, release: Recorded, schema: Schema) -> "PublishedRelease":
        """A release for attacks: what went out, and who stands where in it, if that is known."""
        from reissue.published import Tables, read_published

        return read_published(Tables(self.tables(release), kept=self.roster(release, schema)), schema)

    def followed(self, release: Recorded, schema: Schema, people: pl.Series | None = None) -> "PublishedRelease":
        """A release for attacks that only follow people: who is where, of all or of some people."""
        from reissue.published import Tables, read_published

        roster = self.roster(release, schema, people)
        return read_published(Tables({} if roster else self.tables(release), kept=roster), schema)

    def roster(self, release: Recorded, schema: Schema, people: pl.Series | None = None) -> Roster | None:
        """Who is in which group of a release, of all or of some people; None where that is not known."""
        if "roster" not in release.files or schema.identifier is None:
            return None
        packed, record = self.store.read(release.files["roster"]), release.record
        return replace(unpack_roster(packed, parse(record.requirement), people), e=record.promises.get("e"))

    def memory(self, releases: Sequence[Recorded], schema: Schema, method: str) -> Memory:
        """What a method remembers after some releases; for a first one only the key of its own.

        If the last release was withdrawn, that is the memory of the one before, as if it had never been. Where an
        earlier one was withdrawn, later releases were made after it, and their memory with it is kept: it holds people
        to what they were promised in a release that nobody has, which binds the method more than need be, and never
        less. What is promised of a series (the same values for life, m or e of them possible) holds of a part of it,
        for whoever has fewer releases can rule out less. Probabilities are no such promise, and may be higher without a
        release than with it; they are for the attacks to judge, which start again from the releases that are out.
        """
        own = self.key.derive("memory")
        last = releases[-1] if releases else None
        if last is None or "memory" not in last.files:
            return Memory(fingerprint(schema), method, own)
        return replace(read_memory(self._kept_memory(last), "The memory of this ledger"), key=own)

    def _kept_memory(self, last: Recorded) -> bytes:
        """The memory after a release; if only later ones, withdrawn since, are still kept, the first of those."""
        from reissue.ledger.store import MissingFileError

        for one in self.releases[last.number :]:
            try:
                return self.store.read(last.files["memory"])
            except MissingFileError:
                last = one if "memory" in one.files else last
        return self.store.read(last.files["memory"])

    # --- what is done with it ----------------------------------------------------------------------------------------

    def export(self, number: int, path: str | Path, *, force: bool = False) -> list[str]:
        """Write a release again, as CSV or Parquet byte for byte; a second table goes beside the first.

        One that is kept in parts goes to a folder where the path has no ending.
        """
        with Staging() as staging:
            places = self.stage(number, path, staging, force=force)
            staging.place()
        return places

    def stage(
        self, number: int, path: str | Path, staging: Staging, *, force: bool = False, dialect: Dialect = PLAIN
    ) -> list[str]:
        """The same beside their places, to be placed with other files. Returns their paths."""
        release = self._handed_out(number)
        in_folder = "." not in Path(path).name
        further = release.tables[1:]
        beside = [str(beside_folder(Path(path), one)) if in_folder else second_path(path, one) for one in further]
        places = [str(path), *beside]
        for name, place in zip(release.tables, places, strict=True):
            parts = in_folder and FolderInLedger.of(release, name, self.store.read)
            if not parts or not parts.is_at(Path(place)):
                refuse_existing(place, force=force, table=not parts)
        for name, place in zip(release.tables, places, strict=True):
            folder = FolderInLedger.of(release, name, self.store.read)
            how = {"in_folder": in_folder, "force": force}
            if folder is not None and dialect == PLAIN and folder.stage(Path(place), staging, **how):
                continue
            if folder is None and dialect == PLAIN and place.lower().endswith((*KEPT, *original_ending(release, name))):
                staging.add_bytes(Path(place), table_bytes(release, name, place, self.store.read), replaces=force)
            else:
                frame = pl.concat(self.parts(release, name))
                stage_tables(staging, [(frame, place)], force=force, dialect=dialect)
        return places

    def is_exported(self, number: int, folder: Path) -> bool:
        """Whether a folder is what `export` would write there."""
        release = self.release(number)
        parts = FolderInLedger.of(release, release.tables[0], self.store.read)
        return parts is not None and parts.is_at(folder)

    def contents(self, number: int, name: str) -> list[bytes]:
        """What `export` would write to files of a name, nothing written; empty where they are not kept as they go out.

        Those are releases in parts, and formats that libraries write anew.
        """
        release = self._handed_out(number)
        parts = any(FolderInLedger.of(release, table, self.store.read) is not None for table in release.tables)
        if parts or not name.lower().endswith(KEPT):
            return []
        return [table_bytes(release, table, name, self.store.read) for table in release.tables]

    def _handed_out(self, number: int) -> Recorded:
        """A release that still is."""
        release = self.release(number)
        if release.withdrawn is not None:
            raise InputError(
                f"Release {number} was withdrawn: later ones are made as if nobody had it. It is not handed out any "
                "more."
            )
        return release

    def amend(self, schema: Schema) -> bool:
        """Record a changed policy or taxonomy for the releases to come; False if nothing has changed."""
        with self.writing() as writer:
            return self.amend_by(writer, schema)

    def amend_by(self, writer: "Writer", schema: Schema) -> bool:
        """The same, to be committed together with what else a writer adds."""
        Policy.of(schema)
        if fingerprint(schema) != writer.entries[0].content["series"]:
            raise SchemaError(
                "The identifier, quasi-identifiers and sensitive columns of a series stay what they are: people "
                "could not be followed otherwise. Begin a new ledger for other columns."
            )
        text, files = pack_schema(schema, writer.keep)
        last = next(entry for entry in reversed(writer.entries) if entry.kind in {"begin", "schema"})
        if last.content["schema"] == text:
            return False
        writer.append("schema", {"schema": text, "files": files})
        return True

    def withdraw(self, number: int, why: str) -> None:
        """Record that a release never left the house, and why: the releases to come are made and attacked without it.

        Its number is used up. It cannot be taken back: a release that somebody has must never be withdrawn.
        """
        if not why.strip() or not why.isprintable():
            raise InputError("Say in a line of text why the release never left the house.")
        with self.writing() as writer:
            release = _numbered(releases_of(writer.entries), number)
            if release.withdrawn is not None:
                raise InputError(f"Release {number} was withdrawn already.")
            writer.append("withdrawal", {"release": number, "why": why.strip(), "time": _now(), "files": {}})

    def differs(self, schema: Schema) -> bool:
        """Whether a schema, with its files and policy, is another one than the ledger's."""
        text, _ = pack_schema(schema, content_name)
        return self.schema.dumps() != Schema.loads(text, self.schema.folder).dumps()

    def verify(self, head: str | None = None) -> list[str]:
        """What was changed since it was written, in words; nothing if all is as it was.

        `head` is the hash of an entry that was noted elsewhere: it must still be there.
        """
        entries = self.store.found()
        problems = broken(entries)
        problems += [f"Entry {entry.number} {entry.problem}." for entry in entries if entry.problem]
        if head is not None and head not in {entry.hash for entry in entries}:
            problems.append("The entry with the given hash is not in the ledger: it was rewritten, or cut short.")
        problems += self._apart(entries)
        usable = [entry for entry in entries if not entry.problem]
        replaced = replaced_files(usable)
        for entry in usable:
            for what, name in entry.files.items():
                problem = self._problem(name, gone_is_fine=name in replaced)
                if problem:
                    problems.append(f"Entry {entry.number}: the file of {what} {problem}.")
        return problems

    def _apart(self, entries: Sequence[LedgerEntry]) -> list[str]:
        """What is wrong by the head; whether it is genuine only the key can show."""
        key = None
        with suppress(InputError):
            key = self.key
        try:
            head = read_head(self.head_file)
        except DataError as unreadable:
            return [str(unreadable)]
        problem = "" if head is None else mismatch(entries, head, key, self.head_file)
        return [problem] if problem else []

    def _problem(self, name: str, *, gone_is_fine: bool) -> str:
        from reissue.ledger.store import MissingFileError

        try:
            self.store.read(name)
        except MissingFileError:
            return "" if gone_is_fine else "is missing"
        except DataError:
            return "was changed"
        return ""

    def _folder_with(self, names: Any) -> Path:
        """A folder that holds files of the ledger, each checked, for those who read paths."""
        if self.store.folder is not None:
            for name in names:
                self.store.read(name)
            return self.store.folder
        if self._folder is None:
            self._folder = self._scratch.enter_context(scratch_folder())
        for name in names:
            if not (self._folder / name).exists():
                (self._folder / name).write_bytes(self.store.read(name))
        return self._folder


def _numbered(releases: Sequence[Recorded], number: int) -> Recorded:
    if not 1 <= number <= len(releases):
        count = f"releases 1 to {len(releases)}" if releases else "no release yet"
        raise InputError(f"There is no release {number}: the ledger has {count}.")
    return releases[number - 1]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _shown(place: str | Path) -> str:
    from reissue.ledger.store import is_url

    return "PostgreSQL" if is_url(place) else str(place)


def _key_file(place: str | Path, key: str | Path | None) -> Path | None:
    from reissue.ledger.store import is_url

    if not is_url(place) and not Path(place).name:
        raise InputError("A ledger is a folder with a name of its own, such as hospital.ledger.")
    if key is not None:
        return Path(key)
    return None if is_url(place) else Path(place).with_name(f"{Path(place).name}.key")
