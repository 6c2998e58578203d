"""Numba, once for all: compiled loops leave Python's lock, and their machine code is kept for the next process."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

__all__ = ["compiled"]

Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")


def compiled(function: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """A function of loops over arrays, as machine code from its first call on.

    Machine code lies beside the package, in the user's cache where that is read-only, or where NUMBA_CACHE_DIR says.
    Where nothing can be written, every process compiles anew.
    """
    try:
        made = numba.njit(function, cache=True, nogil=True)
    except RuntimeError:  # no place for a cache
        made = numba.njit(function, nogil=True)
    return cast("Callable[Given, Outcome]", made)
