"""The ledger: the append-only record of a series."""

from reissue.ledger.chain import LedgerEntry, broken, canonical, entry_after, misplaced, misshapen, sealed_after
from reissue.ledger.key import Key, KeyWarning, find_key
from reissue.ledger.ledger import Ledger
from reissue.ledger.recorded import Recorded, ReleaseRecord
from reissue.ledger.trust import Trust, TrustOutcome

__all__ = [
    "Key",
    "KeyWarning",
    "Ledger",
    "LedgerEntry",
    "Recorded",
    "ReleaseRecord",
    "Trust",
    "TrustOutcome",
    "broken",
    "canonical",
    "entry_after",
    "find_key",
    "misplaced",
    "misshapen",
    "sealed_after",
]
