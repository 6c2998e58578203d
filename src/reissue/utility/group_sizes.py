"""Sizes of groups: discernibility, and the normalized average.

Discernibility (Bayardo and Agrawal 2005): a row costs the size of its group, a suppressed one the whole table. The
average (LeFevre, DeWitt, Ramakrishnan 2006) is published rows / groups / k; 1 is the best.
"""

from reissue._arrays import Ints

__all__ = ["average_group_size", "discernibility"]


def discernibility(sizes: Ints, suppressed: int, rows: int) -> int:
    """The sum of squared group sizes, and of the table's size for each suppressed row. O(groups)."""
    return int(sizes @ sizes) + suppressed * rows


def average_group_size(sizes: Ints, k: int | None = None) -> float:
    """Rows per published group, in multiples of k if there is a k. O(groups)."""
    return float(sizes.sum()) / max(len(sizes), 1) / (k or 1)
