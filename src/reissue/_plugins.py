"""Plug-ins: attacks, methods and requirements of other packages, found by the entry points that they declare.

An entry point is named as what it brings, and its module registers that when it is imported:

    [project.entry-points."reissue.attacks"]
    shadow = "my_package.shadow"

A package that cannot be loaded keeps nobody else's from being loaded: whoever asks for it by name gets the reason as an
error, whoever lists everything gets it as a warning.
"""

import warnings
from collections.abc import Mapping, MutableMapping
from functools import cache
from importlib import metadata
from typing import Any

from reissue.errors import InputError

__all__ = ["load_plugin", "load_plugins", "plugin_names"]


@cache
def _points(group: str) -> Mapping[str, tuple[metadata.EntryPoint, ...]]:
    """Name to the entry points that claim it."""
    found: dict[str, tuple[metadata.EntryPoint, ...]] = {}
    for point in metadata.entry_points(group=group):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def plugin_names(group: str) -> set[str]:
    """What plug-ins of a group are called, whether or not they can be loaded."""
    return set(_points(group))


def load_plugin(group: str, name: str, known: MutableMapping[str, Any]) -> bool:
    """Load the plug-in of a name, so that it is `known`; False if there is none such, an InputError if it is broken."""
    if name not in _points(group):
        return False
    new = name not in known
    problem = _loaded(group, name) or ("" if name in known else "it registers nothing of that name")
    if problem:
        if new:
            known.pop(name, None)  # it may have broken after it registered
        raise InputError(f"The plug-in '{name}' ({_packages(group, name)}) cannot be used: {problem}.")
    return True


def load_plugins(group: str, known: MutableMapping[str, Any]) -> None:
    """Load all plug-ins of a group; each that is broken is warned of, and the others are there."""
    for name in sorted(_points(group)):
        try:
            load_plugin(group, name, known)
        except InputError as problem:
            warnings.warn(str(problem), stacklevel=3)


@cache
def _loaded(group: str, name: str) -> str:
    """Load a plug-in once: what is wrong with it, or nothing."""
    first, *others = _points(group)[name]
    if others:
        return "several packages bring one of that name; uninstall all but one"
    try:
        first.load()
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is theirs, and there was no data yet
        return f"{type(problem).__name__}: {str(problem).rstrip('.')}"
    return ""


def _packages(group: str, name: str) -> str:
    named = [point.dist.name for point in _points(group)[name] if point.dist is not None]
    return f"of {' and '.join(sorted(set(named)))}" if named else f"of {group}"
