"""Requirements: predicates on groups' counts, one family per file. They compose with `&` and parse from text."""

from reissue.requirements._base import Adapter, All, Loss, Remaining, Requirement, parse, register, registered
from reissue.requirements._subsets import Subsets
from reissue.requirements.adapters import ByColumn, ColumnView, by_column
from reissue.requirements.anonymity import KM, KAnonymity
from reissue.requirements.closeness import BetaLikeness, DeltaDisclosure, TCloseness
from reissue.requirements.confidence import AlphaK, Confidence, SimpleLDiversity
from reissue.requirements.diversity import EntropyLDiversity, LDiversity, MUnique, RecursiveLDiversity
from reissue.requirements.numeric import KE
from reissue.requirements.personalized import Personalized
from reissue.requirements.safety import CKSafety

__all__ = [
    "KE",
    "KM",
    "Adapter",
    "All",
    "AlphaK",
    "BetaLikeness",
    "ByColumn",
    "CKSafety",
    "ColumnView",
    "Confidence",
    "DeltaDisclosure",
    "EntropyLDiversity",
    "KAnonymity",
    "LDiversity",
    "Loss",
    "MUnique",
    "Personalized",
    "RecursiveLDiversity",
    "Remaining",
    "Requirement",
    "SimpleLDiversity",
    "Subsets",
    "TCloseness",
    "by_column",
    "parse",
    "register",
    "registered",
]
