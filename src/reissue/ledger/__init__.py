"""The ledger: the append-only record of a series."""

from reissue.ledger.ledger import Ledger, Recorded

__all__ = ["Ledger", "Recorded"]
