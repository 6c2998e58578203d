"""What a ledger's PostgreSQL database holds, as JSON and back: a server keeps its own promises, and is not tested."""

import base64
import time
from typing import Any

import psycopg

from reissue.ledger.store import MIGRATIONS, Store

__all__ = ["Rows", "read_rows", "wait_for_commit", "write_rows"]

Rows = dict[str, list[list[Any]]]
_TABLES = ("migration", "entry", "file")


def wait_for_commit(url: str) -> None:
    """Wait until no transaction of this database is under way."""
    here = "datname = current_database() AND pid <> pg_backend_pid()"
    busy = f"SELECT count(*) FROM pg_stat_activity WHERE {here} AND state <> 'idle'".encode()  # noqa: S608
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(busy).fetchone() != (0,):
            time.sleep(0.01)


def read_rows(url: str) -> Rows | None:
    """All tables; None if there are none."""
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('migration')").fetchone() == (None,):
            return None
        return {
            table: [
                [base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell for cell in row]
                for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1".encode())  # noqa: S608
            ]
            for table in _TABLES
        }


def write_rows(url: str, rows: Rows | None) -> None:
    """Let the database hold this and nothing else."""
    store = Store._postgres(url)
    with store.engine.begin() as connection:
        store.drop(connection)
        if rows is not None:
            for migrate in MIGRATIONS:
                migrate(connection)
    store.close()
    if rows is None:
        return
    with psycopg.connect(url) as connection:
        for table, lines in rows.items():
            for line in lines:
                cells = [line[0], base64.b64decode(line[1])] if table == "file" else line
                marks = ", ".join(["%s"] * len(cells))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})".encode(), cells)  # noqa: S608
