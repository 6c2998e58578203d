"""How engines are registered and found, the built-in ones the same way as anyone's, and which one "auto" takes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from reissue._plugins import all_registered, find_registered, keep_registered
from reissue.data.frames import is_spark
from reissue.engines.base import Engine, Source

__all__ = ["AUTO", "MEMORY", "SPARK", "choose", "engine", "open_where_it_lies", "registered"]

AUTO = "auto"
MEMORY = "memory"
SPARK = "spark"
BUILT_IN = {
    MEMORY: "reissue.engines.memory",
    SPARK: "reissue.engines.spark.engine",
    "stream": "reissue.engines.stream",
}
"""Built-in engines and their modules, which are imported when they are asked for."""
GROUP = "reissue.engines"
"""The entry points by which other packages bring their own."""

_REGISTRY: dict[str, Engine] = {}

Open = Callable[[Any], Source]


def engine(name: str, summary: str, *, suits: Callable[[Any], bool] = lambda _: False) -> Callable[[Open], Open]:
    """Register a function that opens tables: `--engine` finds it by its name, "auto" takes it where it `suits`."""

    def keep(opens: Open) -> Open:
        keep_registered(name, Engine(name, summary, opens, suits), "engine", BUILT_IN, _REGISTRY)
        return opens

    return keep


def registered() -> dict[str, Engine]:
    """All engines by name."""
    return all_registered(GROUP, BUILT_IN, _REGISTRY)


def choose(name: str, data: Any) -> Engine:
    """The engine of this name; for "auto" the one that suits the data, which is memory unless another one does."""
    if name != AUTO:
        return find_registered(name, "engine", GROUP, BUILT_IN, _REGISTRY)
    suiting = (one for one in registered().values() if one.name != MEMORY and one.suits(data))
    return next(suiting, registered()[MEMORY])


def open_where_it_lies(name: str, data: Any) -> Source:
    """A table beside the one that an engine works on; a frame in memory stays there."""
    lies = isinstance(data, str | Path | pl.LazyFrame) or is_spark(data)
    return choose(name if lies else MEMORY, data).open(data)
