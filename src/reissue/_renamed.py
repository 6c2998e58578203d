"""Earlier names of public functions and arguments: they work for one more release, and warn."""

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["renamed", "warn_renamed"]

Function = TypeVar("Function", bound=Callable[..., Any])


def warn_renamed(old: str, new: str, *, level: int = 3) -> None:
    """Warn whoever called the caller that a name has changed."""
    warnings.warn(
        f"`{old}` is called `{new}` now. The old name works in this release and not in the next.",
        DeprecationWarning,
        stacklevel=level,
    )


def renamed(**names: str | Callable[[Any], Mapping[str, Any]]) -> Callable[[Function], Function]:
    """Let a function take arguments by their earlier names, `renamed(old="new")`, with a DeprecationWarning.

    Where one argument became several, a function says which: `renamed(limits=lambda one: {"limit": one.limit})`.
    """

    def accepting(function: Function) -> Function:
        @wraps(function)
        def called(*positional: Any, **named: Any) -> Any:
            for old in names.keys() & named.keys():
                new, value = names[old], named.pop(old)
                given = {new: value} if isinstance(new, str) else new(value)
                for name in given.keys() & named.keys():
                    raise TypeError(f"{function.__name__}() got '{name}' and its earlier name '{old}'.")
                warn_renamed(f"{old}=", ", ".join(f"{name}=" for name in given))
                named |= given
            return function(*positional, **named)

        return cast("Function", called)

    return accepting
