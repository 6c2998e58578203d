"""Tables of databases, in and out, by URL: postgresql://..., sqlite:///clinic.db, duckdb:///clinic.duckdb; ?table=name.

A table is read as it is, and written in one transaction, which is rolled back if any other output of the same command
fails. No message shows a URL, since it may contain a password.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import polars as pl

from reissue.errors import DataError, InputError
from reissue.files.cells import column_of
from reissue.files.child import ask_reader
from reissue.files.extras import import_optional

__all__ = ["DatabaseTable", "database_table", "is_database_url", "read_duckdb", "writing"]

_URL = "The database's URL cannot be read. It looks like this: postgresql://user@host/name?table=patients."
_EXTERNAL = "enable_external_access"
_KINDS = ("postgresql", "postgres", "sqlite", "duckdb")


def is_database_url(text: object) -> bool:
    """Whether a text is the URL of a database."""
    return isinstance(text, str) and "://" in text and text.partition("://")[0].partition("+")[0].lower() in _KINDS


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database; accepted wherever a dataframe is."""

    url: str = field(repr=False)
    """The database's URL, perhaps with a password."""
    table: str
    """The table's name, perhaps qualified by a schema."""
    external: bool = False
    """Whether a DuckDB view may read other files."""

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table

    @property
    def kind(self) -> str:
        """The kind of database."""
        return self.url.partition("://")[0].partition("+")[0].lower().replace("postgresql", "postgres")

    def __str__(self) -> str:
        return f"table {self.table}"

    def beside(self, name: str) -> "DatabaseTable":
        """The further table of the same release."""
        return replace(self, table=f"{self.table}_{name}")

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows."""
        if self.kind != "duckdb":
            return _from_sql(self)
        _refuse_absent_file(self)
        frame: pl.DataFrame = ask_reader("duckdb", f"table {self.table}", asdict(self))
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's interface for libraries that read dataframes."""
        return self.frame.__arrow_c_stream__(requested_schema)


def database_table(url: str) -> DatabaseTable:
    """Return the table that a URL names by `?table=`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError(_URL) from None
    asked = dict(parse_qsl(parts.query))
    table = asked.pop("table", "")
    external = asked.pop(_EXTERNAL, "false").lower()
    if external not in {"true", "false"} or (external == "true" and parts.scheme != "duckdb"):
        raise InputError(f"{_EXTERNAL} is true or false, and for DuckDB only.")
    if not table:
        raise InputError("Which table of the database? Say it at the URL's end, as in ?table=patients.")
    bare = urlunsplit(parts._replace(query=urlencode(asked)))
    if parts.scheme in {"sqlite", "duckdb"} and not parts.netloc:  # urlunsplit drops the empty host
        bare = f"{parts.scheme}://{parts.path}" + (f"?{urlencode(asked)}" if asked else "")
    return DatabaseTable(bare, table, external == "true")


# --- SQLite and PostgreSQL, through SQLAlchemy -----------------------------------------------------------------------


@contextmanager
def _engine(place: DatabaseTable) -> Iterator[Any]:
    """An SQLAlchemy engine. The database's own messages are not passed on, since they may quote values."""
    import sqlalchemy as sa

    url = place.url
    if place.kind == "postgres":
        import_optional("psycopg", "postgres", "A PostgreSQL database is asked for")
        url = "postgresql+psycopg://" + url.partition("://")[2]
    try:
        # SQLite's driver would commit each new table by itself if transactions were left to it.
        engine = sa.create_engine(url, connect_args={"isolation_level": None} if place.kind == "sqlite" else {})
        try:
            yield engine
        finally:
            engine.dispose()
    except (sa.exc.ArgumentError, ValueError):
        raise InputError(_URL) from None
    except sa.exc.NoSuchTableError:
        raise DataError(f"The database refused the {place}: there is none of this name.") from None
    except sa.exc.SQLAlchemyError as problem:
        raise DataError(f"The database refused the {place}: {_reason(problem)}") from None


def _reason(problem: Exception) -> str:
    words = str(problem).lower()
    if "disabled by configuration" in words or "disabled through configuration" in words:
        return (
            "it is a view that reads other files, which is not followed unasked. If you trust it, add "
            f"&{_EXTERNAL}=true to the end of the URL duckdb:///FILE?table=NAME."
        )
    if "no such table" in words or "does not exist" in words or "undefinedtable" in words:
        return "there is none of this name, or the database is not there."
    if "already exists" in words:
        return "it exists already. Choose another name, or force=True to replace it."
    if "password" in words or "permission" in words or "readonly" in words:
        return "it may not be used with this name and password."
    return "it cannot be reached, or is not such a database."


def _split(place: DatabaseTable) -> tuple[str | None, str]:
    schema, point, name = place.table.rpartition(".")
    return (schema if point else None), name


def _from_sql(place: DatabaseTable) -> pl.DataFrame:
    import sqlalchemy as sa

    _refuse_absent_file(place)
    schema, name = _split(place)
    with _engine(place) as engine, engine.connect() as connection:
        table = sa.Table(name, sa.MetaData(), schema=schema, autoload_with=connection)
        for column in table.columns:
            if isinstance(column.type, sa.Uuid):
                column.type = sa.Uuid(as_uuid=False)  # as text: Polars has no such type
        rows = connection.execute(sa.select(table))
        names, cells = list(rows.keys()), [tuple(row) for row in rows]
    try:
        return pl.DataFrame(cells, schema=names, orient="row", infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError):  # SQLite keeps cells of any type in any column
        columns = zip(*cells, strict=True) if cells else ((),) * len(names)
        return pl.DataFrame([column_of(list(column), name) for name, column in zip(names, columns, strict=True)])


def _refuse_absent_file(place: DatabaseTable) -> None:
    """Refuse a missing file: SQLite and DuckDB would create it."""
    file = place.url.partition(":///")[2].partition("?")[0]
    if place.kind != "postgres" and not Path(file).is_file():
        raise DataError("There is no such database file. Three slashes lead to a file here, four to one from the root.")


@contextmanager
def writing(tables: Sequence[tuple[pl.DataFrame, DatabaseTable]], *, force: bool) -> Iterator[None]:
    """A transaction that creates and fills tables of one database; it is rolled back if its block fails."""
    write = _into_duckdb if tables[0][1].kind == "duckdb" else _into_sql
    with write(tables, force=force):
        yield


@contextmanager
def _into_sql(tables: Sequence[tuple[pl.DataFrame, DatabaseTable]], *, force: bool) -> Iterator[None]:
    import sqlalchemy as sa

    with _engine(tables[0][1]) as engine, engine.begin() as connection:
        if tables[0][1].kind == "sqlite":
            connection.exec_driver_sql("BEGIN")
        for frame, place in tables:
            schema, name = _split(place)
            columns = [sa.Column(column, _sql_type(sa, dtype)) for column, dtype in frame.schema.items()]
            table = sa.Table(name, sa.MetaData(), *columns, schema=schema)
            if force:
                table.drop(connection, checkfirst=True)
            table.create(connection, checkfirst=False)
            for part in frame.iter_slices(10_000):
                connection.execute(table.insert(), part.to_dicts())
        yield


def _sql_type(sa: Any, dtype: pl.DataType) -> Any:
    if dtype.is_integer():
        return sa.BigInteger()
    if dtype.is_float():
        return sa.Double()
    kinds = {pl.Date: sa.Date(), pl.Datetime: sa.DateTime(), pl.Time: sa.Time(), pl.Boolean: sa.Boolean()}
    return kinds.get(dtype.base_type(), sa.Text())


# --- DuckDB ----------------------------------------------------------------------------------------------------------


@contextmanager
def _duckdb(place: DatabaseTable, *, read_only: bool) -> Iterator[Any]:
    duckdb = import_optional("duckdb", "duckdb", "A DuckDB database is asked for")
    try:
        config = {} if place.external or not read_only else {_EXTERNAL: "false"}
        with duckdb.connect(place.url.partition(":///")[2], read_only=read_only, config=config) as connection:
            yield connection
    except duckdb.Error as problem:
        raise DataError(f"The database refused the {place}: {_reason(problem)}") from None


def _quoted(place: DatabaseTable) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in _split(place) if part)


def read_duckdb(place: DatabaseTable) -> pl.DataFrame:
    """Read a DuckDB table or view in this process; called in the reader process."""
    with _duckdb(place, read_only=True) as connection:
        return pl.DataFrame(connection.sql(f"select * from {_quoted(place)}"))  # noqa: S608


@contextmanager
def _into_duckdb(tables: Sequence[tuple[pl.DataFrame, DatabaseTable]], *, force: bool) -> Iterator[None]:
    verb = "create or replace table" if force else "create table"
    with _duckdb(tables[0][1], read_only=False) as connection:
        connection.begin()
        for frame, place in tables:
            plain = frame.with_columns(pl.col(n).cast(pl.String) for n, d in frame.schema.items() if d == pl.Enum)
            connection.register("given", plain)
            connection.execute(f"{verb} {_quoted(place)} as select * from given")  # noqa: S608
        yield
        connection.commit()
