"""Reissue: publish microdata again and again without giving anyone away."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reissue._version import __version__
from reissue.attacks.findings import Finding, Findings
from reissue.data.table import Table
from reissue.errors import InputError, NotMetError, ReissueError, RiskError
from reissue.people.knowledge import Knowledge
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.publish import publish
from reissue.release.release import Release
from reissue.requirements import (
    KE,
    AlphaK,
    CKSafety,
    Confidence,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    MUnique,
    Personalized,
    RecursiveLDiversity,
    SimpleLDiversity,
    TCloseness,
)
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Hierarchy
from reissue.verify.check import Check, check

if TYPE_CHECKING:
    from reissue.ledger import Ledger
    from reissue.policy import Policy
    from reissue.publishing.plan import Plan, plan
    from reissue.utility import Utility, compare, measure

__all__ = [
    "KE",
    "AlphaK",
    "CKSafety",
    "Check",
    "Confidence",
    "EntropyLDiversity",
    "Finding",
    "Findings",
    "Hierarchy",
    "InputError",
    "KAnonymity",
    "Knowledge",
    "LDiversity",
    "Ledger",
    "MUnique",
    "NotMetError",
    "Personalized",
    "Plan",
    "Policy",
    "RecursiveLDiversity",
    "ReissueError",
    "Release",
    "RiskError",
    "Role",
    "Schema",
    "SimpleLDiversity",
    "TCloseness",
    "Table",
    "Utility",
    "__version__",
    "anonymize",
    "attack",
    "check",
    "compare",
    "measure",
    "plan",
    "publish",
]


_LATER = {
    "Ledger": "reissue.ledger",
    "Plan": "reissue.publishing.plan",
    "Policy": "reissue.policy",
    "Utility": "reissue.utility",
    "compare": "reissue.utility",
    "measure": "reissue.utility",
    "plan": "reissue.publishing.plan",
}
"""What brings further libraries with it is imported when it is asked for."""


def __getattr__(name: str) -> Any:
    """The names of `_LATER`."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'reissue' has no attribute {name!r}")
