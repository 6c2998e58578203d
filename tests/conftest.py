"""Hypothesis draws the same cases in every run of `make test`; `make test-all` looks for new ones."""

import tests.effort  # noqa: F401  (it loads the profile)
