"""How much memory a file from outside may take: half of the machine's, unless REISSUE_READ_MEMORY says otherwise."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reissue.errors import InputError

try:
    import resource
except ModuleNotFoundError:  # Windows has none
    resource = None  # type: ignore[assignment]

__all__ = [
    "ENVIRONMENT",
    "allowance",
    "holds",
    "keep_no_core_file",
    "limit_this_process",
    "machine_memory",
    "shown_bytes",
    "taken",
]

ENVIRONMENT = "REISSUE_READ_MEMORY"
_SHARE = 0.5
"""Of the machine's memory: one process hands the table over to another, and for a moment both hold it."""
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(%)|([KMGT]?)B?)", re.IGNORECASE)
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container says how much it has: version 2 of control groups, and version 1."""


def machine_memory() -> int:
    """Return the bytes of memory that this machine or container has; 0 where the system does not say."""
    return min(_memories(), default=0)


def _memories() -> Iterator[int]:
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for place in _GROUPS:
        with suppress(OSError, ValueError):  # "max" is no number
            yield int(Path(place).read_text(encoding="ascii"))
    if resource is not None:
        limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
        yield from (limit for limit in limits if limit != resource.RLIM_INFINITY)


def allowance() -> int:
    """Return the bytes that reading a file may take; 0 if there is no limit.

    Raises
    ------
    InputError
        If the environment variable holds no amount of memory.

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
    """Return an amount of memory as people write it."""
    return f"{number / 2**30:,.1f} GB" if number >= 2**30 else f"{number / 2**20:,.0f} MB"


def limit_this_process(most: int) -> None:
    """Let this process take at most so many bytes (0: as many as there are), where the system can do that.

    On Linux only private memory counts: a large Parquet file is mapped, which takes none.
    """
    if resource is None:
        return
    kind = resource.RLIMIT_DATA if sys.platform.startswith("linux") else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    wanted = most or hard
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def keep_no_core_file() -> None:
    """Let nothing of this process be written to disk if it crashes: it holds the data."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def taken() -> int:
    """Return the bytes of private memory that this process has asked for so far; a guess where the system is silent."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        return int(fields[5]) * os.sysconf("SC_PAGE_SIZE")
    return 2**30


def holds(most: int) -> bool:
    """Return whether the system refuses this process more than its limit of so many bytes; macOS and Windows do not."""
    import mmap

    try:
        mmap.mmap(-1, most + 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError):
        return True
    except AttributeError:  # Windows has no such flags
        return False
    return False
