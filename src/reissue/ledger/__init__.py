"""The ledger: the append-only record of a series. `Ledger` is the door; what it stands on has an underscore."""

from reissue.ledger._refusal import RefusedError, Report
from reissue.ledger.ledger import Ledger, Recorded

__all__ = ["Ledger", "Recorded", "RefusedError", "Report"]
