"""Show defaults of parameters so that a reader can use them: an extension of griffe, which reads the signatures.

A default that is a lambda or a long constant is shown as `...`, a short constant as its own expression.
"""

from typing import Any

import griffe

LONGEST = 60
"""Characters of a constant that is shown as what it is made of."""


class ReadableDefaults(griffe.Extension):
    """Rewrite defaults that say nothing to a reader."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the defaults of every function of a package, once all of it has been read."""
        _rewrite(pkg, pkg)


def _rewrite(found: griffe.Object, package: griffe.Module) -> None:
    for member in found.members.values():
        if isinstance(member, griffe.Attribute) and _is_dataclass(found):
            member.value = _readable(member.value, package)  # the defaults of a dataclass are made of these
        if isinstance(member, griffe.Function):
            for parameter in member.parameters:
                parameter.default = _readable(parameter.default, package)
        elif isinstance(member, griffe.Module | griffe.Class):
            _rewrite(member, package)


def _is_dataclass(found: griffe.Object) -> bool:
    return isinstance(found, griffe.Class) and any("dataclass" in str(one.value) for one in found.decorators)


def _readable(default: Any, package: griffe.Module) -> Any:
    if "lambda" in str(default):
        return "..."
    if isinstance(default, griffe.ExprName) and default.name.isupper():
        return _value_of(default, package) or "..."
    if isinstance(default, griffe.ExprAttribute):
        return _default_of(default, package) or default
    if isinstance(default, griffe.ExprSubscript) and isinstance(default.left, griffe.ExprName):
        items = getattr(_value_of(default.left, package), "elements", ())
        return items[int(str(default.slice))] if str(default.slice).isdigit() and items else default
    return default


def _default_of(default: griffe.ExprAttribute, package: griffe.Module) -> Any:
    """Return the default of a dataclass's field, `Limits.suppress`, that another function takes over."""
    path = default.canonical_path.removeprefix(f"{package.name}.")
    try:
        value = getattr(package[path], "value", None)
    except (KeyError, griffe.GriffeError):
        return None
    return _readable(value, package)


def _value_of(name: griffe.ExprName, package: griffe.Module) -> Any:
    """Return what a constant is made of, if that is short."""
    path = name.canonical_path.removeprefix(f"{package.name}.")
    try:
        value = getattr(package[path], "value", None)
    except (KeyError, griffe.GriffeError):
        return None
    return value if value is not None and len(str(value)) < LONGEST else None
