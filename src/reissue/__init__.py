"""Reissue: publish microdata again and again without giving anyone away."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reissue._version import __version__

if TYPE_CHECKING:
    from reissue.attacks.findings import Finding, Findings
    from reissue.cleaning.recipe import CleanRecipe
    from reissue.contingency.cells import CountRules
    from reissue.data.table import Table
    from reissue.errors import (
        DataError,
        InputError,
        InternalError,
        NotMetError,
        NotWrittenError,
        ReissueError,
        RequirementError,
        RiskError,
        SchemaError,
        TaxonomyError,
    )
    from reissue.files.dialect import Dialect
    from reissue.installation import doctor
    from reissue.ledger import Ledger
    from reissue.ledger.store import MissingFileError, NoLedgerError
    from reissue.people.knowledge import Knowledge
    from reissue.policy import Policy
    from reissue.proposing.clean import Cleaning, clean
    from reissue.proposing.schema_proposal import SchemaProposal, propose
    from reissue.publishing.anonymize import anonymize
    from reissue.publishing.attack import attack
    from reissue.publishing.folder import anonymize_folder, anonymize_frame
    from reissue.publishing.longevity import Longevity, longevity
    from reissue.publishing.personal import personal_risks
    from reissue.publishing.plan import Plan, Setting, Settings, compare_settings, plan
    from reissue.publishing.price import Price
    from reissue.publishing.publish import preview, publish
    from reissue.publishing.refusal import RefusedError
    from reissue.release.release import Release
    from reissue.requirements import (
        KE,
        KM,
        AlphaK,
        BetaLikeness,
        CKSafety,
        Confidence,
        DeltaDisclosure,
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
    from reissue.utility import Estimation, Utility, estimate, measure
    from reissue.verify.check import Check, check

__all__ = [
    "KE",
    "KM",
    "AlphaK",
    "BetaLikeness",
    "CKSafety",
    "Check",
    "CleanRecipe",
    "Cleaning",
    "Confidence",
    "CountRules",
    "DataError",
    "DeltaDisclosure",
    "Dialect",
    "EntropyLDiversity",
    "Estimation",
    "Finding",
    "Findings",
    "Hierarchy",
    "InputError",
    "InternalError",
    "KAnonymity",
    "Knowledge",
    "LDiversity",
    "Ledger",
    "Longevity",
    "MUnique",
    "MissingFileError",
    "NoLedgerError",
    "NotMetError",
    "NotWrittenError",
    "Personalized",
    "Plan",
    "Policy",
    "Price",
    "RecursiveLDiversity",
    "RefusedError",
    "ReissueError",
    "Release",
    "RequirementError",
    "RiskError",
    "Role",
    "Schema",
    "SchemaError",
    "SchemaProposal",
    "Setting",
    "Settings",
    "SimpleLDiversity",
    "TCloseness",
    "Table",
    "TaxonomyError",
    "Utility",
    "__version__",
    "anonymize",
    "anonymize_folder",
    "anonymize_frame",
    "attack",
    "check",
    "clean",
    "compare_settings",
    "doctor",
    "estimate",
    "longevity",
    "measure",
    "personal_risks",
    "plan",
    "preview",
    "propose",
    "publish",
    "publish_folder",
]

_PLACES = {
    "reissue.attacks.findings": "Finding Findings",
    "reissue.cleaning.recipe": "CleanRecipe",
    "reissue.contingency.cells": "CountRules",
    "reissue.data.table": "Table",
    "reissue.errors": "DataError InputError InternalError NotMetError NotWrittenError ReissueError RequirementError "
    "RiskError SchemaError TaxonomyError",
    "reissue.files.dialect": "Dialect",
    "reissue.installation": "doctor",
    "reissue.ledger": "Ledger",
    "reissue.ledger.store": "MissingFileError NoLedgerError",
    "reissue.people.knowledge": "Knowledge",
    "reissue.policy": "Policy",
    "reissue.proposing.clean": "Cleaning clean",
    "reissue.proposing.schema_proposal": "SchemaProposal propose",
    "reissue.publishing.anonymize": "anonymize",
    "reissue.publishing.attack": "attack",
    "reissue.publishing.folder": "anonymize_folder anonymize_frame",
    "reissue.publishing.publish_folder": "publish_folder",
    "reissue.publishing.longevity": "Longevity longevity",
    "reissue.publishing.personal": "personal_risks",
    "reissue.publishing.plan": "Plan Setting Settings compare_settings plan",
    "reissue.publishing.price": "Price",
    "reissue.publishing.publish": "preview publish",
    "reissue.publishing.refusal": "RefusedError",
    "reissue.release.release": "Release",
    "reissue.requirements": "KE KM AlphaK BetaLikeness CKSafety Confidence DeltaDisclosure EntropyLDiversity "
    "KAnonymity LDiversity MUnique Personalized RecursiveLDiversity SimpleLDiversity TCloseness",
    "reissue.schema": "Role Schema",
    "reissue.taxonomy.codings": "Hierarchy",
    "reissue.utility": "Estimation Utility estimate measure",
    "reissue.verify.check": "Check check",
}
"""Where each public name lives. It is imported when it is first asked for: `reissue --help` needs none of them."""
_HOME = {name: module for module, names in _PLACES.items() for name in names.split()}
_RENAMED = {"compare": ("reissue.utility", "measure")}
"""Public names of the last release, where each lives now, and what it is called."""


def __getattr__(name: str) -> Any:
    """The public names."""
    if name in _RENAMED:
        from reissue._renamed import warn_renamed

        module, new = _RENAMED[name]
        warn_renamed(f"reissue.{name}", f"reissue.{new}")
        return getattr(import_module(module), name)
    if name not in _HOME:
        raise AttributeError(f"module 'reissue' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What is public, and nothing else."""
    return __all__
