"""Processor threads and memory: how many threads to use, and how to return freed memory to the system.

The number of threads is that of the processors, or what REISSUE_THREADS says. Results never depend on it.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from reissue.errors import InputError

__all__ = ["ENVIRONMENT", "give_back", "in_threads", "threads", "workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")

ENVIRONMENT = "REISSUE_THREADS"


def threads() -> int:
    """Return the number of threads to use."""
    given = os.environ.get(ENVIRONMENT, "")
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or not int(given):
        raise InputError(f"The environment variable {ENVIRONMENT} must be a whole number of 1 or more.")
    return int(given)


def workers() -> ThreadPoolExecutor:
    """Return a permanent thread pool, for tasks that do not wait for each other.

    The C library gives every new thread a heap of its own, and never returns memory that is freed there.
    """
    return _workers(threads())


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results of items in their order, each made in one of several threads."""
    with ThreadPoolExecutor(threads()) as several:
        return list(several.map(work, items))


@lru_cache
def _workers(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)  # a forked process has none of its parent's threads


def give_back() -> None:
    """Return freed memory to the system where that is possible (Linux); takes a few milliseconds."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


@lru_cache(maxsize=1)
def _library() -> Any:
    """The C library, or None if it cannot trim its heap."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "malloc_trim") else None
    except OSError:
        return None
