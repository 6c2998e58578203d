"""Reissue: publish microdata again and again without giving anyone away."""

from typing import TYPE_CHECKING, Any

from reissue.anonymize import anonymize
from reissue.attack import attack
from reissue.attacks import Knowledge
from reissue.errors import InputError, NotMetError, ReissueError, RiskError
from reissue.findings import Finding, Findings
from reissue.hierarchies import Hierarchy
from reissue.publish import publish
from reissue.release import Release
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
from reissue.table import Table

if TYPE_CHECKING:
    from reissue.ledger import Ledger
    from reissue.policy import Policy

__version__ = "0.1.0"

__all__ = [
    "KE",
    "AlphaK",
    "CKSafety",
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
    "anonymize",
    "attack",
    "publish",
]


def __getattr__(name: str) -> Any:
    """What is not needed for a single release is imported when it is asked for."""
    if name == "Ledger":
        from reissue.ledger import Ledger

        return Ledger
    if name == "Policy":
        from reissue.policy import Policy

        return Policy
    raise AttributeError(f"module 'reissue' has no attribute {name!r}")
