"""Work in several threads: as many as there are processors, or as REISSUE_THREADS says. Results never depend on it."""

import os

from reissue.errors import InputError

__all__ = ["ENVIRONMENT", "threads"]

ENVIRONMENT = "REISSUE_THREADS"


def threads() -> int:
    """How many threads there may be."""
    given = os.environ.get(ENVIRONMENT, "")
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or not int(given):
        raise InputError(f"The environment variable {ENVIRONMENT} must be a whole number of 1 or more.")
    return int(given)
