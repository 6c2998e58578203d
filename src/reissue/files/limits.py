"""Limits on files from outside: how much memory reading may take, and how many rows and columns a file may claim.

Reading may take half of the machine's memory, unless REISSUE_READ_MEMORY says otherwise. What a file claims about its
own size may be a lie, so checking the claim is no protection by itself; the memory limit holds all the same (see
`child.py`). But the claim is known before anything is read, can be reported in rows and columns, and works on systems
that cannot limit memory.
"""

import os
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from reissue.errors import DataError, InputError

__all__ = [
    "ENVIRONMENT",
    "MOST_COLUMNS",
    "keep_no_core_file",
    "limit_holds",
    "limit_this_process",
    "machine_memory",
    "memory_in_use",
    "reading_allowance",
    "refuse_large_grid",
    "refuse_large_package",
    "refuse_large_parquet",
    "shown_bytes",
]

try:
    import resource
except ModuleNotFoundError:  # not available on Windows
    resource = None  # type: ignore[assignment]


ENVIRONMENT = "REISSUE_READ_MEMORY"
_SHARE = 0.5
"""Share of the machine's memory: two processes hand the table over, and for a moment both hold it."""
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(%)|([KMGT]?)B?)", re.IGNORECASE)
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container states its memory limit: control groups version 2 and version 1."""


def machine_memory() -> int:
    """Return the bytes of memory of this machine or container; 0 if the system does not say."""
    return min(_memories(), default=0)


def _memories() -> Iterator[int]:
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for place in _GROUPS:
        with suppress(OSError, ValueError):  # "max" is not a number
            yield int(Path(place).read_text(encoding="ascii"))
    if resource is not None:
        limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
        yield from (limit for limit in limits if limit != resource.RLIM_INFINITY)


def reading_allowance() -> int:
    """Return the bytes of memory that reading a file may take; 0 if there is no limit.

    Raises
    ------
    InputError
        If the environment variable is not an amount of memory.

    """
    given = os.environ.get(ENVIRONMENT, "").strip()
    if given.lower() == "unlimited":
        return 0
    if not given:
        return int(machine_memory() * _SHARE)
    found = _WRITTEN.fullmatch(given)
    if found is None or not float(found[1]):
        raise InputError(f"{ENVIRONMENT} must be an amount of memory such as 4GB or 50%, or the word unlimited.")
    number = float(found[1])
    return int(machine_memory() * number / 100 if found[2] else number * _UNITS[found[3].upper()])


def shown_bytes(number: float) -> str:
    """Format an amount of memory."""
    return f"{number / 2**30:,.1f} GB" if number >= 2**30 else f"{number / 2**20:,.0f} MB"


def limit_this_process(most: int) -> None:
    """Limit the memory of this process (0: no limit), where the system supports it.

    On Linux only private memory counts: a large Parquet file is memory-mapped, which needs none.
    """
    if resource is None:
        return
    kind = resource.RLIMIT_DATA if sys.platform.startswith("linux") else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    wanted = most or hard
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def keep_no_core_file() -> None:
    """Disable core files: a crash would write the data to disk."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def memory_in_use() -> int:
    """Return the bytes of private memory that this process uses; an estimate where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        return int(fields[5]) * os.sysconf("SC_PAGE_SIZE")
    return 2**30


def limit_holds(most: int) -> bool:
    """Return whether the system enforces a memory limit on this process; macOS and Windows do not."""
    import mmap

    try:
        mmap.mmap(-1, most + 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError):
        return True
    except AttributeError:  # Windows has no such flags
        return False
    return False


MOST_COLUMNS = 16_384
"""Maximum number of columns of a CSV file, and of a sheet. Each takes about 30 kB while types are detected."""
_CELL = 24
"""Bytes per cell of a sheet, empty or not: reading builds a rectangle of all cells up to the last one."""
_NUMBER = 8
"""Bytes of a number in memory."""
_MOST_ROWS = 1_048_576
"""Maximum number of rows of a sheet."""
_FILLED = rb'<c r="([A-Z]{1,3})%s"[^>]*[^/]>\s*<[vif]'
"""A non-empty cell of a sheet, as the usual programs write it."""
_COLUMN = re.compile(_FILLED % rb"\d+")
_ROW = re.compile(_FILLED.replace(b"([A-Z]{1,3})", b"[A-Z]{1,3}") % rb"(\d{1,7})")
_CHUNK = 2**20
"""Bytes of a sheet that are searched at a time."""


def refuse_large_grid(path: Path, rows: int, columns: int, cell: int = _NUMBER, advice: str = "") -> None:
    """Refuse a table whose cells would exceed the memory limit."""
    most = reading_allowance()
    if most and rows * columns * cell > most:
        raise DataError(
            f"'{path}' has {rows:,} rows and {columns:,} columns, which take {shown_bytes(rows * columns * cell)} of "
            f"memory; a file may take {shown_bytes(most)}. {advice}If it is right, raise the limit with {ENVIRONMENT}."
        )


def refuse_large_parquet(path: Path, rows: pl.LazyFrame, only: Sequence[str]) -> None:
    """Refuse a Parquet or Arrow file whose columns would exceed the memory limit."""
    if not any(kind.is_nested() for kind in rows.collect_schema().dtypes()):
        refuse_large_grid(path, rows.select(pl.len()).collect().item(), len(only))


def refuse_large_package(path: Path) -> None:
    """Refuse a workbook (a zip archive of XML) that would exceed the memory limit; others are left to the limit."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as package:
            size, most = sum(one.file_size for one in package.infolist()), reading_allowance()
            if most and size > most:
                raise DataError(
                    f"'{path}' unpacks to {shown_bytes(size)}; a file may take {shown_bytes(most)} of memory. If it is "
                    f"right, raise the limit with {ENVIRONMENT}."
                )
            for name in package.namelist():
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    _refuse_large_sheet(path, package, name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError):  # damaged or protected: the reader reports it
        return


def _refuse_large_sheet(path: Path, package: zipfile.ZipFile, name: str) -> None:
    columns = max((_number(one) for found in _found(package, name, _COLUMN) for one in set(found)), default=0)
    most = reading_allowance()
    if most and _MOST_ROWS * columns * _CELL > most:
        rows = max((int(one) for found in _found(package, name, _ROW) for one in found), default=0)
        advice = "Delete the cells far from the table, which may be forgotten ones. "
        refuse_large_grid(path, rows, columns, _CELL, advice)


def _found(package: zipfile.ZipFile, name: str, pattern: re.Pattern[bytes]) -> Iterator[list[bytes]]:
    """The matches of a pattern in a member, chunk by chunk; some of them twice."""
    with package.open(name) as member:
        before = b""
        while chunk := member.read(_CHUNK):
            yield pattern.findall(before + chunk)
            before = chunk[-200:]


def _number(letters: bytes) -> int:
    """The number of a column from its letters: A is 1, XFD is 16,384."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number
