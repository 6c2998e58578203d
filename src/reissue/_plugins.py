"""Registries: what is built in, and plug-ins, found by the entry points that other packages declare.

An entry point is named as the attack, method or requirement that it brings; its module registers that when it is
imported:

    [project.entry-points."reissue.attacks"]
    shadow = "my_package.shadow"

A package that cannot be loaded keeps nobody else's from being loaded: whoever asks for it by name gets the reason as an
error, whoever lists everything gets it as a warning.
"""

import warnings
from collections.abc import Mapping, MutableMapping
from functools import cache
from importlib import import_module, metadata
from typing import Any, TypeVar

from reissue.errors import InputError, InternalError, nearest

__all__ = ["all_names", "all_registered", "find_registered", "keep_registered", "load_plugin", "load_plugins"]

T = TypeVar("T")


def keep_registered(name: str, thing: T, kind: str, built_in: Mapping[str, str], known: MutableMapping[str, T]) -> None:
    """Keep a method or an attack under its name. Nobody replaces a built-in one, whose module `built_in` names."""
    if name in built_in:
        import_module(built_in[name])  # while that is imported itself, this does nothing
        if name in known:
            raise InputError(f"There is a built-in {kind} '{name}'. Choose another name.")
    known[name] = thing


def all_registered(group: str, built_in: Mapping[str, str], known: MutableMapping[str, T]) -> dict[str, T]:
    """Everything by name, in the order of names, whatever was imported first."""
    for module in built_in.values():
        import_module(module)
    load_plugins(group, known)
    return dict(sorted(known.items()))


def all_names(group: str, built_in: Mapping[str, str], known: MutableMapping[str, Any]) -> list[str]:
    """All names, sorted. Plug-ins are loaded, so that a broken one is left out; nothing built in is imported."""
    load_plugins(group, known)
    return sorted({*built_in, *known})


def find_registered(name: str, kind: str, group: str, built_in: Mapping[str, str], known: MutableMapping[str, T]) -> T:
    """What has this name; a built-in one is imported when it is asked for."""
    if name not in known and name in built_in:
        import_module(built_in[name])
        if name not in known:
            raise InternalError(f"The module {built_in[name]} registers no {kind} '{name}'.")
    if name not in known and not load_plugin(group, name, known):
        raise InputError(f"There is no {kind} '{name}'." + nearest(name, {*known, *built_in, *_points(group)}))
    return known[name]


@cache
def _points(group: str) -> Mapping[str, tuple[metadata.EntryPoint, ...]]:
    """Name to the entry points that claim it."""
    found: dict[str, tuple[metadata.EntryPoint, ...]] = {}
    for point in metadata.entry_points(group=group):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


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
