"""The earlier releases of a ledger, for a method that makes the next one after them."""

from collections.abc import Sequence
from typing import Any

from reissue.errors import CannotRunError
from reissue.kernels.chains.history import ChainHistory, add_release
from reissue.ledger.ledger import Ledger, Recorded
from reissue.published import read_published
from reissue.publishing.gate import kept_state
from reissue.schema import Schema

__all__ = ["after"]


def after(
    ledger: Ledger, earlier: Sequence[Recorded], schema: Schema, *, accepts_history: bool
) -> ChainHistory | list[Any]:
    """What was carried on of them, if the method can use that, else the releases themselves.

    Where nothing was kept that fits (adopted releases, a changed schema, an older ledger, a lost file) the stored
    releases are taken up again, once. Releases that cannot be followed are the method's to refuse.
    """
    if not accepts_history or not earlier:
        return [ledger.tables(one) for one in earlier]
    kept: ChainHistory | None = kept_state(ledger, earlier[-1], "past", schema, ChainHistory)
    if kept is not None:
        return kept
    past = None
    for one in earlier:
        frame = read_published(ledger.tables(one), schema).generalized
        try:
            past = add_release(past, frame, schema) if frame is not None else None
        except CannotRunError:
            past = None
        if past is None:
            return [ledger.tables(one) for one in earlier]
    return past or []
