"""Whether loops are left to Numba: an extra, `reissue[fast]`. Results never depend on it, so few rows are not."""

import os
from functools import cache

from reissue.errors import InputError

__all__ = ["ENVIRONMENT", "wanted"]

ENVIRONMENT = "REISSUE_COMPILE"
_LEAST = 10_000
"""Rows. Loading compiled loops takes as long as NumPy takes for about so many."""


def wanted(rows: int) -> bool:
    """Whether work on so many rows is left to compiled loops: yes, no, or as it pays and Numba is there."""
    given = os.environ.get(ENVIRONMENT, "")
    if given not in {"", "yes", "no"}:
        raise InputError(f"The environment variable {ENVIRONMENT} must be yes or no, or not be set.")
    if given == "yes" and not _installed():
        raise InputError(f"{ENVIRONMENT}=yes needs Numba:  pip install 'reissue[fast]'")
    return given == "yes" or (given != "no" and rows >= _LEAST and _installed())


@cache
def _installed() -> bool:
    """Numba refuses to load beside a NumPy that it does not know: then it is as if it were not there."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True
