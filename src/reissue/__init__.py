"""Reissue: publish microdata again and again without giving anyone away."""

from reissue.anonymize import anonymize
from reissue.attack import attack
from reissue.attacks import Knowledge
from reissue.errors import InputError, NotMetError, ReissueError, RiskError
from reissue.findings import Finding, Findings
from reissue.hierarchies import Hierarchy
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
    "MUnique",
    "NotMetError",
    "Personalized",
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
]
