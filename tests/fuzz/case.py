"""A case of the fuzzer: files, and commands that are run on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.fuzz.judge import Asked
from tests.fuzz.words import PERSON

__all__ = ["Case", "Command"]


@dataclass(frozen=True)
class Command:
    """One command line, and the release that it makes if it succeeds."""

    arguments: tuple[str, ...]
    asked: Asked | None = None


@dataclass(frozen=True)
class Case:
    """Files in an empty folder (None: a folder), and commands that are run there one after the other."""

    seed: int
    files: Mapping[str, bytes | None]
    commands: tuple[Command, ...]
    persons: tuple[str, ...] = field(default=(PERSON,))
