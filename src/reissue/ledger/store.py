"""The storage of a ledger's entries and files: SQLite in a folder by default, PostgreSQL by URL for teams.

Entries are rows of one table. Files are content: with SQLite, in the folder `files`, each named by the SHA-256 of its
bytes and synced before the entry that names it is committed; in PostgreSQL, rows of the same transaction. So an entry
is there with all its files, or not at all.

A writer holds the store's only write lock from before it reads the last entry until it commits: publishers never
interleave, and a killed one leaves nothing but unnamed files, which the next writer removes.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from reissue.errors import DataError, InputError
from reissue.files.places import LEDGER_FILE
from reissue.files.staging import sync_folder
from reissue.ledger.chain import LedgerEntry, Seal, checked, content_name, is_content, sealed_after

__all__ = ["PARTS", "MissingFileError", "NoLedgerError", "Store", "Writer", "address_of", "is_url"]


class NoLedgerError(InputError):
    """There is no ledger at a place, or one that was created but never begun."""

    def __init__(self, place: str) -> None:
        """Explain how to begin one."""
        super().__init__(f"There is no ledger at '{place}'. A schema begins one: publish(data, ledger, schema).")


class MissingFileError(DataError):
    """A file that an entry names is missing."""


T = TypeVar("T")
_FILES = "files"
_LOCK = 7_315_118_250_001
"""The number of PostgreSQL's advisory lock: arbitrary, but always the same."""
_PATIENCE = 30.0
"""Seconds that a reader waits while another process opens, closes or commits to SQLite, which takes milliseconds."""
_HURRY = 2.0
"""Seconds that a writer waits for another one: publishing takes longer than anyone would wait."""

_METADATA = sa.MetaData()
_MIGRATIONS = sa.Table("migration", _METADATA, sa.Column("number", sa.Integer, primary_key=True))
_ENTRIES = sa.Table(
    "entry",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
_CONTENTS = sa.Table(
    "file", _METADATA, sa.Column("name", sa.Text, primary_key=True), sa.Column("content", sa.LargeBinary)
)

_SQLITE_GUARDS = [
    f"CREATE TRIGGER entry_{verb} BEFORE {verb} ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
    for verb in ("UPDATE", "DELETE")
]
_POSTGRES_GUARDS = [
    (
        "CREATE FUNCTION entry_guard() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RAISE EXCEPTION 'entries are never changed'; END $$"
    ),
    "CREATE TRIGGER entry_guard BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION entry_guard()",
]


def _create(connection: sa.Connection) -> None:
    """Migration 1: the tables."""
    _METADATA.create_all(connection)


def _guard(connection: sa.Connection) -> None:
    """Migration 2: entries can only be added.

    Against accidents, since whoever may change tables may drop a trigger too.
    """
    for line in _SQLITE_GUARDS if connection.dialect.name == "sqlite" else _POSTGRES_GUARDS:
        connection.exec_driver_sql(line)


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_create, _guard)
"""Migrations of the store, one per version; none is ever changed."""
PARTS = len(MIGRATIONS) + 1
"""The version of a store with releases in parts.

Its tables are unchanged. It is noted when the first such release is recorded: older versions of Reissue then say that
they cannot read it, and can still read all other ledgers.
"""


def is_url(place: str | Path) -> bool:
    """Whether a place is a database URL rather than a path."""
    return "://" in str(place)


def address_of(place: str | Path) -> str:
    """What identifies a place on this machine, without user and password."""
    if not is_url(place):
        return str(Path(place).resolve())
    url = sa.make_url(str(place))
    where = {name: url.query[name] for name in ("host", "port") if name in url.query}
    return f"{url.host}:{url.port}/{url.database}?{sorted(where.items())}"


@dataclass(frozen=True, eq=False)
class Store:
    """The storage of a ledger: a folder or a database."""

    name: str
    """Its name in messages: a path, or the kind of database without user and password."""
    engine: sa.Engine
    folder: Path | None
    """The folder of the files; None if they are in the database."""

    @classmethod
    def open(cls, place: str | Path, *, make: bool = False) -> "Store":
        """Open a store; `make` it if it does not exist."""
        store = cls._postgres(str(place)) if is_url(place) else cls._sqlite(Path(place), make=make)
        with _explained(store.name):
            store.migrate(make=make)
        return store

    @classmethod
    def begun(cls, place: str | Path) -> tuple["Store", LedgerEntry]:
        """Open a store that has entries; return it with the first of them, unchecked."""
        store = cls.open(place)
        entries = store.found()
        if not entries:
            store.close()
            raise NoLedgerError(store.name)
        return store, entries[0]

    @classmethod
    def _sqlite(cls, place: Path, *, make: bool) -> "Store":
        file = place / LEDGER_FILE
        if not make and not file.is_file():
            raise NoLedgerError(str(place))
        if make and (place.is_file() or not place.absolute().parent.is_dir()):
            raise InputError(
                f"A ledger cannot be made at '{place}': it is a file, or lies in a folder that is not there."
            )
        try:
            if make:
                place.mkdir(mode=0o700, exist_ok=True)
                (place / _FILES).mkdir(mode=0o700, exist_ok=True)
                os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))  # SQLite would let everybody read it
                _begin_log(file)
                # Synced before anything is committed in it, even if a killed process had created it.
                for folder in (place / _FILES, place, place.absolute().parent):
                    sync_folder(folder)
        except OSError as problem:
            raise InputError(f"The ledger '{place}' cannot be made: {problem.strerror or 'error'}.") from None
        address = sa.URL.create("sqlite+pysqlite", database=str(file))
        engine = sa.create_engine(address, connect_args={"timeout": _PATIENCE}, poolclass=sa.NullPool)
        sa.event.listen(engine, "connect", _prepare)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        return cls(str(place), engine, place / _FILES)

    @classmethod
    def _postgres(cls, place: str) -> "Store":
        try:
            address = sa.make_url(place)
        except (SQLAlchemyError, ValueError):
            raise InputError("The ledger's URL cannot be read; write postgresql://user@host/database.") from None
        if address.get_backend_name() not in {"postgresql", "postgres"}:
            raise InputError("A ledger lies in a folder or in PostgreSQL: give a path, or a URL postgresql://...")
        try:
            engine = sa.create_engine(address.set(drivername="postgresql+psycopg"), poolclass=sa.NullPool)
        except ModuleNotFoundError:
            raise InputError("PostgreSQL needs one package more: pip install 'reissue[postgres]'.") from None
        return cls("PostgreSQL", engine, None)

    @property
    def embedded(self) -> bool:
        """Whether it is a folder."""
        return self.folder is not None

    def migrate(self, *, make: bool) -> None:
        """Migrate the store to this version; `make` the tables if there are none."""
        have = self._version()
        if have > PARTS:
            raise DataError(
                f"The ledger '{self.name}' was written by a later version of Reissue. Update Reissue first."
            )
        if have == 0 and not make:
            raise NoLedgerError(self.name)
        if have < len(MIGRATIONS):
            with self.engine.connect() as connection, connection.begin():
                self._lock(connection)
                for number in range(self.version_by(connection) + 1, len(MIGRATIONS) + 1):
                    MIGRATIONS[number - 1](connection)
                    connection.execute(_MIGRATIONS.insert().values(number=number))

    def _version(self) -> int:
        return self._look(self.version_by)

    @staticmethod
    def version_by(connection: sa.Connection) -> int:
        """The version of a store's tables; 0 if there are none."""
        if not sa.inspect(connection).has_table(_MIGRATIONS.name):
            return 0
        return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(_MIGRATIONS.c.number), 0))).scalar_one())

    def _lock(self, connection: sa.Connection) -> None:
        """Become the only writer until the transaction ends, or report that there is another one."""
        if self.embedded:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * _HURRY)}")
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            except OperationalError as problem:
                raise (_busy(self.name) if _is_locked(problem) else problem) from None
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * _PATIENCE)}")
        elif not connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(_LOCK))).scalar_one():
            raise _busy(self.name)

    def found(self) -> list[LedgerEntry]:
        """All entries in order, unchecked, for those who look for what is wrong."""
        with _explained(self.name):
            return self._look(_entries)

    def _look(self, read: Callable[[sa.Connection], T]) -> T:
        """Read from the database, even on a full disk or without write permission."""
        try:
            with self.engine.connect() as connection:
                return read(connection)
        except OperationalError as problem:
            words = str(problem.orig).lower()
            if self.folder is None or not any(mark in words for mark in (*_FULL, *_READ_ONLY)):
                raise
        with _still(self.folder.parent / LEDGER_FILE).connect() as connection:
            return read(connection)

    def entries(self) -> list[LedgerEntry]:
        """All entries in order, each checked."""
        return checked(self.found(), self.name)

    def read(self, name: str) -> bytes:
        """The content of a file, checked against its name."""
        content = self._content(name)
        if content is None:
            raise MissingFileError(
                f"The ledger '{self.name}' lacks the file '{name}'. Restore it from a backup; `reissue ledger verify` "
                "says all that is wrong."
            )
        if not is_content(content, name):
            raise DataError(
                f"The file '{name}' of the ledger '{self.name}' was changed after it was written. Nothing is published "
                "on it. Restore it from a backup; `reissue ledger verify` says all that is wrong."
            )
        return content

    def _content(self, name: str) -> bytes | None:
        if self.folder is not None:
            try:
                return (self.folder / name).read_bytes()
            except OSError:
                return None
        with _explained(self.name), self.engine.connect() as connection:
            found = connection.execute(sa.select(_CONTENTS.c.content).where(_CONTENTS.c.name == name)).scalar()
        return None if found is None else bytes(found)

    @staticmethod
    def drop(connection: sa.Connection) -> None:
        """Remove all tables from a database, with their guards."""
        _METADATA.drop_all(connection)
        connection.exec_driver_sql("DROP FUNCTION IF EXISTS entry_guard()")

    def close(self) -> None:
        """Close the database."""
        self.engine.dispose()

    @contextmanager
    def writing(self, seal: Seal) -> Iterator["Writer"]:
        """Open the only writer; everything is committed at once at the end, or nothing if anything fails.

        Added entries are sealed. `Ledger.writing` also compares the ledger with its head.
        """
        with _explained(self.name), self.engine.connect() as connection, connection.begin():
            self._lock(connection)
            if self.folder is not None and not (self.folder.parent / LEDGER_FILE).is_file():
                raise InputError(f"The ledger '{self.name}' was removed in the meantime. Nothing was recorded.")
            yield Writer(self, connection, checked(_entries(connection), self.name), seal)


@dataclass(eq=False)
class Writer:
    """The only writer of a store at the moment."""

    store: Store
    connection: sa.Connection
    entries: list[LedgerEntry]
    seal: Seal
    kept: set[str] = field(default_factory=set)

    def keep(self, content: bytes, ending: str) -> str:
        """Store a file; return the name by which entries refer to it."""
        name = content_name(content, ending)
        self.kept.add(name)
        if self.store.folder is not None:
            _write_durably(self.store.folder, name, content, self.store.name)
            return name
        row = _CONTENTS.c.name == name
        there = self.connection.execute(sa.select(_CONTENTS.c.content).where(row)).scalar()
        if there is None or bytes(there) != content:
            self.connection.execute(_CONTENTS.delete().where(row))
            self.connection.execute(_CONTENTS.insert().values(name=name, content=content))
        return name

    def note(self, version: int) -> None:
        """Note that reading the store requires this version of Reissue."""
        if self.store.version_by(self.connection) < version:
            self.connection.execute(_MIGRATIONS.insert().values(number=version))

    def append(self, kind: str, content: Mapping[str, Any]) -> LedgerEntry:
        """Append an entry."""
        entry = sealed_after(self.entries[-1] if self.entries else None, kind, content, self.seal)
        row = {"number": entry.number, "kind": kind, "content": entry.text}
        self.connection.execute(_ENTRIES.insert().values(**row, previous=entry.previous, hash=entry.hash))
        self.entries.append(entry)
        return entry

    def remove_all_but(self, needed: Collection[str]) -> None:
        """Remove files that no entry needs: leftovers of killed writers, and memories and states that were replaced."""
        needed = {*needed, *self.kept}
        if self.store.folder is None:
            names = set(self.connection.execute(sa.select(_CONTENTS.c.name)).scalars())
            for name in sorted(names - needed):
                self.connection.execute(_CONTENTS.delete().where(_CONTENTS.c.name == name))
            return
        for path in self.store.folder.iterdir():
            if path.name not in needed:
                path.unlink(missing_ok=True)


def _entries(connection: sa.Connection) -> list[LedgerEntry]:
    columns = [_ENTRIES.c[name] for name in ("number", "kind", "content", "previous", "hash")]
    return [LedgerEntry(*row) for row in connection.execute(sa.select(*columns).order_by(_ENTRIES.c.number))]


def _still(file: Path) -> sa.Engine:
    """A SQLite database for reading only, without locks or temporary files beside it.

    Entries in the log of a killed publisher would be invisible this way, so a database with such a log is not read so.
    """
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise InputError(
            f"The ledger '{file.parent}' cannot be read where nothing can be written: its last entries are still in "
            f"'{log.name}'. Copy the folder to a place that can be written, and look there."
        )
    place = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    return sa.create_engine(
        "sqlite+pysqlite://", creator=lambda: sqlite3.connect(place, uri=True), poolclass=sa.NullPool
    )


def _prepare(connection: Any, _: object) -> None:
    """Set up SQLite for a ledger: transactions begin explicitly, and a commit is on disk when it returns."""
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")


def _begin_log(file: Path) -> None:
    """Let readers continue while somebody writes. The setting stays in the file, and is not set again."""
    with closing(sqlite3.connect(file, timeout=_PATIENCE)) as connection, suppress(sqlite3.Error):
        connection.execute("PRAGMA journal_mode = WAL")


def _write_durably(folder: Path, name: str, content: bytes, ledger: str) -> None:
    """Write a file completely and synced to disk, or raise an error and leave no file."""
    place = folder / name
    beside = None
    try:
        if place.is_file() and place.stat().st_size == len(content) and place.read_bytes() == content:
            sync_folder(folder)  # a killed writer may have left it there without syncing its name
            return
        handle, beside = tempfile.mkstemp(dir=folder, prefix=".writing.")
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        Path(beside).replace(place)
        sync_folder(folder)
    except OSError as problem:
        raise InputError(
            f"The ledger '{ledger}' cannot be written: {problem.strerror or 'error'}. Nothing was recorded."
        ) from None
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)


def _busy(name: str) -> InputError:
    return InputError(
        f"Somebody else is publishing with the ledger '{name}' just now. Only one can at a time: try again when it is "
        "done. Nothing was recorded."
    )


def _is_locked(problem: DBAPIError) -> bool:
    words = str(problem.orig).lower()
    return "locked" in words or "busy" in words


_FULL = ("full", "disk i/o", "no space")
_READ_ONLY = ("readonly", "read-only", "unable to open")
_DAMAGED = ("malformed", "not a database", "no such table", "no such column", "could not decode")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """The database's errors in our words, since its own may quote what was written."""
    try:
        yield
    except DBAPIError as problem:
        words = str(problem.orig).lower()
        if _is_locked(problem):
            raise InputError(
                f"The ledger '{name}' cannot be read: another process, a backup perhaps, has held it for "
                f"{_PATIENCE:g} seconds. Try again when it is done."
            ) from None
        if any(mark in words for mark in _FULL):
            reason = "the disk is full, or failed. Nothing was recorded"
        elif any(mark in words for mark in _READ_ONLY):
            reason = "it cannot be written (permissions?). Nothing was recorded"
        elif any(mark in words for mark in _DAMAGED):
            raise _damaged(name) from None
        elif "never changed" in words:
            reason = "entries are never changed"
        else:
            reason = "the database refused it. Is it there, and may you use it? Nothing was recorded"
        raise InputError(f"The ledger '{name}' cannot be used: {reason}.") from None
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError):  # a name or text of the database itself is damaged
        raise _damaged(name) from None


def _damaged(name: str) -> DataError:
    return DataError(
        f"The ledger '{name}' is damaged: its database cannot be read, or lacks what a ledger has. Restore it from a "
        "backup."
    )
