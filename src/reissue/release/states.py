"""Typed states as bytes and back: the one place where what attacks and methods keep is written and read.

A state is a frozen dataclass of arrays, numbers, texts, bytes, tables, JSON objects, tuples of these and further
dataclasses. Its class says by `VERSION` what it keeps; a state of another class or version is none. States are read and
written whole with every release: arrays are written as they lie in memory, but whole numbers with as few bytes as they
need.
"""

import io
import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
import polars as pl

from reissue.errors import InternalError

__all__ = ["pack_state", "unpack_state"]

_ALIGNED = 64
_KIND, _PARTS, _JSON = "kind", "parts", "json"
_TREE = "\0tree"
State = TypeVar("State")


# --- arrays by name --------------------------------------------------------------------------------------------------


def _pack_arrays(named: dict[str, Any]) -> bytes:
    """Arrays, after a line of JSON that tells of them, with all else."""
    arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
    written = {name: np.ascontiguousarray(_narrow(array)) for name, array in arrays.items()}
    rest = {name: value for name, value in named.items() if name not in arrays}
    described = [[name, one.dtype.str, written[name].dtype.str, one.shape] for name, one in arrays.items()]
    head = json.dumps({"arrays": described, "rest": rest}).encode()
    parts: list[bytes | memoryview] = [head + b" " * (-(len(head) + 1) % _ALIGNED) + b"\n"]
    for array in written.values():
        parts += [array.reshape(-1).view(np.uint8).data, bytes(-array.nbytes % _ALIGNED)]
    return b"".join(parts)


def _narrow(array: np.ndarray) -> np.ndarray:
    """The same whole numbers in the smallest kind that holds them all."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    kind = np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max()))
    return array.astype(kind) if kind.itemsize < array.dtype.itemsize else array


def _unpack_arrays(content: bytes) -> dict[str, Any]:
    """The same again; arrays may be such as cannot be written to."""
    at = content.index(b"\n") + 1
    head = json.loads(content[:at])
    named: dict[str, Any] = {}
    for name, kind, written, shape in head["arrays"]:
        array = np.frombuffer(content, np.dtype(written), math.prod(shape), at)
        at += -(-array.nbytes // _ALIGNED) * _ALIGNED
        named[name] = array.astype(np.dtype(kind), copy=False).reshape(shape)
    return {**named, **head["rest"]}


def _table_bytes(frame: pl.DataFrame) -> np.ndarray:
    written = io.BytesIO()
    frame.write_ipc(written)
    return np.frombuffer(written.getvalue(), np.uint8)


_ASIDE: Mapping[str, tuple[type, Callable[[Any], np.ndarray], Callable[[np.ndarray], Any]]] = {
    "array": (np.ndarray, lambda array: array, lambda array: array),
    "bytes": (bytes, lambda content: np.frombuffer(content, np.uint8), lambda array: array.tobytes()),
    "table": (pl.DataFrame, _table_bytes, lambda array: pl.read_ipc(io.BytesIO(array.tobytes()))),
}
"""What is put aside as an array, by its mark: its class, the array of it, and it again."""


# --- typed states ----------------------------------------------------------------------------------------------------


def pack_state(state: Any) -> bytes:
    """A state as bytes."""
    arrays: dict[str, Any] = {}
    tree = _tree(state, arrays)
    return _pack_arrays({**arrays, _TREE: {"version": type(state).VERSION, "state": tree}})


def _tree(part: Any, arrays: dict[str, Any]) -> Any:
    """Parts as JSON; arrays are put aside, by number."""
    for mark, (kind, array_of, _) in _ASIDE.items():
        if isinstance(part, kind):
            arrays[str(len(arrays))] = array_of(part)
            return {mark: str(len(arrays) - 1)}
    if is_dataclass(part):
        parts = {one.name: _tree(getattr(part, one.name), arrays) for one in fields(part)}
        return {_KIND: type(part).__name__, _PARTS: parts}
    if isinstance(part, dict):
        return {_JSON: part}
    if isinstance(part, tuple):
        return [_tree(one, arrays) for one in part]
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, np.integer | np.floating):
        return part.item()
    raise InternalError("A state holds something that cannot be kept. Please report this.")


def unpack_state(kind: type[State], content: bytes) -> State | None:
    """The state again; None if it is of another class or version, and has to be made again."""
    named = _unpack_arrays(content)
    kept = named.get(_TREE)
    if kept is None or kept["version"] != kind.VERSION or kept["state"][_KIND] != kind.__name__:  # type: ignore[attr-defined]
        return None
    try:
        found: State = _built(kept["state"], named, _kinds(kind))
    except (KeyError, TypeError):
        # A part is called otherwise, or made of other parts: an older state, whose version was not raised.
        return None
    return found


def _kinds(kind: type) -> dict[str, type]:
    """The dataclasses that a state is made of, by name."""
    found: dict[str, type] = {}
    waiting: list[Any] = [kind]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and is_dataclass(one):
            if one.__name__ not in found:
                found[one.__name__] = one
                waiting.extend(get_type_hints(one).values())
        elif isinstance(one, types.UnionType) or get_args(one):
            waiting.extend(get_args(one))
    return found


def _built(tree: Any, named: dict[str, Any], kinds: dict[str, type]) -> Any:
    if isinstance(tree, list):
        return tuple(_built(one, named, kinds) for one in tree)
    if not isinstance(tree, dict):
        return tree
    for mark, (_, _, part_of) in _ASIDE.items():
        if mark in tree:
            return part_of(named[tree[mark]])
    if _JSON in tree:
        return tree[_JSON]
    parts = {name: _built(one, named, kinds) for name, one in tree[_PARTS].items()}
    return kinds[tree[_KIND]](**parts)
