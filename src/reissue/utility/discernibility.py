"""Discernibility (Bayardo and Agrawal 2005): a row costs the size of its group, a suppressed one the whole table."""

from reissue._arrays import Ints

__all__ = ["discernibility"]


def discernibility(sizes: Ints, suppressed: int, rows: int) -> int:
    """The sum of squared group sizes, and of the table's size for each suppressed row. O(groups)."""
    return int(sizes @ sizes) + suppressed * rows
