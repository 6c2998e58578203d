"""Hashing of numbers: scattered over 64 bits, so that sums of them tell sets apart."""

from typing import Any

import numpy as np

__all__ = ["mix"]


def mix(keys: Any) -> Any:
    """Numbers scattered over 64 bits (splitmix64), so that sums of them tell sets apart."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
