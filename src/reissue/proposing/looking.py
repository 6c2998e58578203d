"""look: what published files hold, and which role each of their columns seems to have, before anything is decided."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reissue.errors import DataError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.proposing.guess import guess
from reissue.published import Tables, order_hint, read_tables, releases_among
from reissue.schema import Role

__all__ = ["Overview", "SeenFile", "look"]


@dataclass(frozen=True)
class SeenFile:
    """One release as it was read."""

    name: str
    rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Overview:
    """What there is, what it was taken for, and what nobody could guess."""

    files: tuple[SeenFile, ...]
    columns: Mapping[str, Role]
    """All columns of all files, each with its role; `drop` for those that nothing is made of."""
    assumed: tuple[str, ...] = ()
    """In whole sentences."""
    problem: str = ""
    """Why the roles could not be guessed, if they could not."""

    def as_dict(self) -> dict[str, Any]:
        """As plain texts and numbers."""
        return {**asdict(self), "columns": {name: str(role) for name, role in self.columns.items()}}


def look(releases: Sequence[Path], *, dialect: Dialect = FOUND) -> Overview:
    """Read files and guess the roles of their columns; where that fails, everything is still there to be named."""
    paths = releases_among(releases)
    tables = [read_tables(path, dialect=dialect) for path in paths]
    files = tuple(
        SeenFile(path.name, table.main.height, tuple(table.public)) for path, table in zip(paths, tables, strict=True)
    )
    names = list(dict.fromkeys(name for file in files for name in file.columns))
    nothing = dict.fromkeys(names, Role.DROP)
    hint = [sentence for sentence in [order_hint(paths)] if sentence]
    try:
        guessed = guess(tables, dialect=dialect)
    except (SchemaError, DataError) as problem:
        _refuse_empty(tables)
        return Overview(files, nothing, tuple(hint), str(problem))
    roles = {name: guessed.schema.columns.get(name, Role.DROP) for name in names}
    return Overview(files, nothing | roles, (*guessed.assumed, *hint))


def _refuse_empty(tables: Sequence[Tables]) -> None:
    for number, one in enumerate(tables, start=1):
        if not one.main.height:
            raise DataError(f"File {number} has no rows: nothing was published there.")
