"""How many cases Hypothesis draws: a tenth of what a test asks for under `make test`, all under `make test-all`."""

import os

from hypothesis import settings

__all__ = ["examples"]

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")
SHARE = 10 if PROFILE == "steady" else 1

settings.register_profile("steady", derandomize=True, deadline=None, database=None, max_examples=100 // SHARE)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(PROFILE)


def examples(number: int) -> settings:
    """So many of them, in place of a hundred."""
    return settings(max_examples=max(number // SHARE, 1))
