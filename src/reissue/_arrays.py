"""Names for the arrays that everything is made of."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int32]
"""Leaf codes, sensitive codes, group numbers of rows."""
Ints: TypeAlias = NDArray[np.int64]
"""Counts, packed keys, positions in other arrays."""
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

State: TypeAlias = Mapping[str, Any]
"""What an attack carries from release to release: arrays, numbers and texts by name; people are numbers in it."""
