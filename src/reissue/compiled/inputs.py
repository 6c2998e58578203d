"""What compiled loops are given. All of it are whole numbers: sums are the same in any order."""

from typing import NamedTuple

from reissue._arrays import Codes, Ints

__all__ = ["LossTables", "Quotas"]


class LossTables(NamedTuple):
    """What is lost between two leaves: the table of a column begins at `first` and has a row for each of its `leaves`.

    A column that is lost as a whole loses `unit`.
    """

    loss: Codes
    first: Ints
    leaves: Ints
    unit: int


class Quotas(NamedTuple):
    """How groups are made up. A row counts as many as the table has rows, so that shares of rows are whole numbers."""

    size: int
    row: int
    wanted: Ints
    """Value to how much of it a group has without excess."""
    limit: int
    """The excess that a group may have."""
    least: Ints
    """The excess that single further rows would bring, smallest first: `value` is theirs, of which each is `number`."""
    value: Ints
    number: Ints
