"""Names for the arrays that everything is made of."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int32]
"""Leaf codes, sensitive codes, group numbers of rows."""
NarrowCodes: TypeAlias = NDArray[np.uint8 | np.uint16 | np.int32]
"""Leaf codes, of 8 or 16 bits where they fit."""
Ints: TypeAlias = NDArray[np.int64]
"""Counts, packed keys, positions in other arrays."""
Flags: TypeAlias = NDArray[np.int8]
"""Yes, no, or not known: 1, 0, -1."""
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
