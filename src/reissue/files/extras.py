"""Libraries that only some files need, and what to install where they are missing."""

from importlib import import_module
from typing import Any

from reissue.errors import InputError

__all__ = ["import_optional"]


def import_optional(module: str, extra: str, what: str) -> Any:
    """A library; where it is not installed, an error that says which extra brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(f"{what}, which needs one more package: pip install 'reissue[{extra}]'.") from None
