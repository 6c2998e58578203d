"""Normalized average group size (LeFevre, DeWitt, Ramakrishnan 2006): published rows / groups / k; 1 is the best."""

from reissue._arrays import Ints

__all__ = ["average_group_size"]


def average_group_size(sizes: Ints, k: int | None = None) -> float:
    """Rows per published group, in multiples of k if there is a k. O(groups)."""
    return float(sizes.sum()) / max(len(sizes), 1) / (k or 1)
