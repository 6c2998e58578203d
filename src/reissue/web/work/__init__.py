"""What jobs do, each in a process of its own: it calls the library, and leaves what came of it in the job's folder."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["Tell", "Verb", "verb"]

Tell = Callable[[float, str], None]
"""How far the work is, from 0 to 1, and what is being done."""
Verb = Callable[[Mapping[str, Any], Path, Tell], Mapping[str, Any]]
"""What is given, the job's folder, and whom to tell how far it is; gives what the page shows."""

_VERBS = {
    "look": "looking",
    "audit": "auditing",
    "person": "auditing",
    "rehearse": "publishing",
    "publish": "publishing",
    "collude": "publishing",
    "collude_over_series": "publishing",
    "verify": "publishing",
    "play": "playing",
    "propose": "planning",
    "settle": "planning",
    "plan_series": "planning",
    "try_own": "planning",
    "compare_tables": "planning",
}
"""Verbs and their modules: a job loads its own only."""


def verb(name: str) -> Verb:
    """The work of a name."""
    found: Verb = getattr(import_module(f"reissue.web.work.{_VERBS[name]}"), name)
    return found
