"""Changes a ledger behind its back, as somebody who may write to its database and files could."""

from collections.abc import Callable
from typing import Any

from reissue.ledger import Ledger, LedgerEntry, entry_after

__all__ = ["put", "rewrite", "run", "swap", "unguard"]


def run(ledger: Ledger, statement: str, *values: Any) -> None:
    """Run one statement; `?` stands for a value."""
    marked = statement if ledger.store.embedded else statement.replace("?", "%s")
    with ledger.store.engine.connect() as connection:
        connection.exec_driver_sql(marked, values or None)
        connection.commit()


def unguard(ledger: Ledger) -> None:
    """Drop the triggers."""
    if ledger.store.embedded:
        run(ledger, "DROP TRIGGER IF EXISTS entry_UPDATE")
        run(ledger, "DROP TRIGGER IF EXISTS entry_DELETE")
    else:
        run(ledger, "DROP TRIGGER IF EXISTS entry_guard ON entry")


def rewrite(ledger: Ledger, change: Callable[[LedgerEntry], tuple[str, dict[str, Any]] | None]) -> None:
    """Write the whole chain anew, with each entry changed or left out, all hashes right."""
    unguard(ledger)
    last, made = None, []
    for entry in ledger.store.found():
        changed = change(entry)
        if changed is not None:
            last = entry_after(last, *changed)
            made.append(last)
    run(ledger, "DELETE FROM entry")
    for one in made:
        put(ledger, one)


def put(ledger: Ledger, entry: LedgerEntry) -> None:
    """Add a row."""
    values = (entry.number, entry.kind, entry.text, entry.previous, entry.hash)
    run(ledger, "INSERT INTO entry (number, kind, content, previous, hash) VALUES (?, ?, ?, ?, ?)", *values)


def swap(ledger: Ledger, one: str, other: str) -> None:
    """Exchange the contents of two files."""
    contents = [ledger.store._content(name) for name in (one, other)]
    for name, content in zip((other, one), contents, strict=True):
        assert content is not None
        if ledger.store.folder is not None:
            (ledger.store.folder / name).write_bytes(content)
        else:
            run(ledger, "UPDATE file SET content = ? WHERE name = ?", content, name)
