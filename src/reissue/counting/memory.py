"""Memory that was freed is given back: of large arrays that come and go the allocator keeps much for itself."""

import ctypes
import sys
from functools import lru_cache
from typing import Any

__all__ = ["give_back"]


def give_back() -> None:
    """Give freed memory back to the system, where that can be asked for (Linux); costs a few milliseconds."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


@lru_cache(maxsize=1)
def _library() -> Any:
    """The C library; None where it cannot be asked."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "malloc_trim") else None
    except OSError:
        return None
