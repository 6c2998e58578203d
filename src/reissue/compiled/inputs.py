"""What compiled loops are given. All of it are whole numbers: sums are the same in any order."""

from typing import NamedTuple, TypeVar, cast

from reissue._arrays import Codes, Ints, NarrowCodes

__all__ = ["LossTables", "Quotas", "SplitRows", "plain"]

Given = TypeVar("Given", bound=tuple[object, ...])


def plain(given: Given) -> Given:
    """The same without its class: machine code that is kept would name it, and a later version may have another."""
    return cast("Given", tuple(given))


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


class SplitRows(NamedTuple):
    """Groups of rows that stand together, each split on one attribute.

    The child of a row is the node of its code, looked up from where its group's `level` begins, counted from `first`.
    """

    codes: NarrowCodes
    """Rows x attributes."""
    starts: Ints
    sizes: Ints
    place: Ints
    """Group to its attribute."""
    level: Ints
    first: Ints
    nodes: Codes

    def some(self, groups: Ints) -> "SplitRows":
        """Some of the groups."""
        starts, sizes, place, level, first = (part[groups] for part in self[1:-1])
        return SplitRows(self.codes, starts, sizes, place, level, first, self.nodes)
