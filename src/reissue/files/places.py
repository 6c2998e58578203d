"""Paths of tables: their formats, further tables of a release, and files that are never read or replaced."""

import os
import sys
from difflib import get_close_matches
from pathlib import Path

from reissue.errors import DataError, InputError

__all__ = [
    "DATABASES",
    "FORMATS",
    "LARGEST",
    "LEDGER_FILE",
    "MANIFEST",
    "SECOND_TABLES",
    "beside_folder",
    "default_output",
    "format_of",
    "is_table_file",
    "part_of",
    "read_whole",
    "refuse_absent",
    "refuse_existing",
    "refuse_folder",
    "second_path",
    "state_folder",
]

FORMATS = (
    ".csv",
    ".csv.gz",
    ".tsv",
    ".tsv.gz",
    ".txt",
    ".txt.gz",
    ".parquet",
    ".arrow",
    ".feather",
    ".xlsx",
    ".xls",
    ".ods",
    ".sav",
    ".zsav",
    ".dta",
    ".xpt",
    ".sas7bdat",
)
"""File endings of tables that can be read."""
_WRITTEN_AS = {".xls": ".xlsx", ".ods": ".xlsx", ".sas7bdat": ".csv"}
"""Output formats for inputs that can only be read."""
DATABASES = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
"""File endings of databases; their tables are named as in clinic.sqlite#patients."""
SECOND_TABLES = ("sensitive", "counterfeits", "side")
"""Further tables that a release may have beside the first; see `second_path`."""
LARGEST = 2**28
"""Maximum bytes of a file that is read at once: a schema, a hierarchy, an update model, a key."""
MANIFEST = "_manifest.json"
"""The manifest of a release in parts. Parquet readers skip names that begin with an underscore."""
LEDGER_FILE = "ledger.sqlite"
"""The database of a ledger in a folder."""


def format_of(path: Path) -> str:
    """Return the file ending that determines a table's format."""
    name = path.name.lower()
    found = max((known for known in FORMATS if name.endswith(known)), key=len, default=None)
    if found is None:
        raise DataError(f"'{path}' must end in one of {', '.join(FORMATS)}.")
    return found


def part_of(path: Path) -> tuple[Path, str | None]:
    """Split a file name from the table in it: book.xlsx#January, clinic.sqlite#patients."""
    head, mark, part = path.name.rpartition("#")
    if not mark or path.exists() or not head.lower().endswith((*FORMATS, *DATABASES)):
        return path, None
    return path.with_name(head), part


def refuse_absent(path: Path) -> None:
    """Refuse a missing file, and suggest a similar name."""
    file, _ = part_of(path)
    if file.exists():
        return
    beside = [one.name for one in sorted(file.parent.iterdir())] if file.parent.is_dir() else []
    longer = [name for name in beside if name.lower().startswith(f"{file.name.lower()}.") and name.endswith(FORMATS)]
    near = longer or get_close_matches(file.name, beside, n=1, cutoff=0.85)
    raise DataError(f"There is no file '{file}'." + (f" Did you mean '{near[0]}'?" if near else ""))


def is_table_file(path: Path) -> bool:
    """Whether a file in a folder is one of its tables; .txt files usually are not."""
    name = path.name.lower()
    return name.endswith(FORMATS) and not name.endswith((".txt", ".txt.gz"))


def default_output(path: Path, name: str) -> Path:
    """The default output for a table made from another one: beside it, in its format if that can be written."""
    file, _ = part_of(path)
    ending = format_of(file)
    own = file.name[-len(ending) :]
    return file.with_name(f"{file.name[: -len(ending)]}.{name}{_WRITTEN_AS.get(ending, own)}")


def read_whole(path: Path, most: int = LARGEST) -> bytes:
    """Read a small file; raise OSError if it is not a regular file, such as a device or a pipe, or too large."""
    if not path.is_file():
        raise OSError("no regular file") if path.exists() else FileNotFoundError
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError("too large")
    return content


def refuse_existing(path: str | Path, *, force: bool, table: bool = True, option: str = "") -> None:
    """Refuse an output that exists or cannot be written, before work starts; `option` would choose another one."""
    path = Path(path)
    if table and format_of(path) in _WRITTEN_AS:
        other = _WRITTEN_AS[format_of(path)]
        raise InputError(f"'{path}' cannot be written: files that end in {format_of(path)} are read only. Try {other}.")
    if path.is_dir():
        raise InputError(f"'{path}' is a folder. Choose another name.")
    if _is_of_a_ledger(path):
        raise InputError(f"'{path}' belongs to a ledger, and is never replaced. Choose another name.")
    if os.path.lexists(path):
        if path.is_symlink() or not path.is_file():
            raise InputError(f"'{path}' is a link or a device, no regular file. Choose another name.")
        if not force:
            by = f" with {option}" if option else ""
            raise InputError(f"'{path}' exists already. Choose another name{by}, or force=True to replace it.")
    refuse_folder(path.parent)


def refuse_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, before work starts."""
    if not folder.is_dir():
        raise InputError(f"The folder '{folder}' does not exist.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"The folder '{folder}' cannot be written (permissions?).")


def _is_of_a_ledger(path: Path) -> bool:
    """Whether a file is a ledger's database, one of its files, its key or the key's head."""
    place = Path(os.path.realpath(path))
    if place.name.startswith(LEDGER_FILE) and (place.parent / LEDGER_FILE).exists():
        return True
    if any(folder.name == "files" and (folder.parent / LEDGER_FILE).exists() for folder in place.parents):
        return True
    return place.suffix.lower() in {".key", ".head"} and place.exists()


def beside_folder(folder: Path, name: str) -> Path:
    """The path of a further table of a release in a folder: out, out.sensitive."""
    return folder.with_name(f"{folder.name}.{name}")


def second_path(path: str | Path, name: str) -> str:
    """The path of a further table of a release: out.csv, out.sensitive.csv."""
    path = Path(path)
    ending = format_of(path)
    return str(path.with_name(f"{path.name[: -len(ending)]}.{name}{path.name[-len(ending) :]}"))


def state_folder() -> Path | None:
    """The folder in which Reissue keeps state between runs on this machine; None if the user has no home.

    `reissue` in XDG_STATE_HOME if that is set, else in the platform's folder for application state.
    """
    given = os.environ.get("XDG_STATE_HOME")
    if given:
        return Path(given) / "reissue"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "reissue"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    kept = ("Library", "Application Support") if sys.platform == "darwin" else (".local", "state")
    return home.joinpath(*kept, "reissue")
