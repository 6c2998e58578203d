"""Optional libraries, and what to install if one is missing."""

from importlib import import_module
from typing import Any

from reissue.errors import InputError

__all__ = ["import_optional"]


def import_optional(module: str, extra: str, what: str) -> Any:
    """Import an optional library, or raise an error that names the extra that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(f"{what}, which needs one more package: pip install 'reissue[{extra}]'.") from None
