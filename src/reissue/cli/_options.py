"""Options that several commands share, and how their texts become values."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from reissue.errors import InputError

__all__ = [
    "DelimiterOption",
    "EngineOption",
    "ForceOption",
    "JsonOption",
    "NewcomersOption",
    "SchemaOption",
    "delimiter_of",
    "options_of",
]

SchemaOption = Annotated[
    Path, typer.Option("--schema", "-s", metavar="FILE.toml", help="The schema file; `reissue init` proposes one.")
]
DelimiterOption = Annotated[
    str, typer.Option("--delimiter", metavar="CHARACTER", help="What separates the cells of CSV files; `tab` for tabs.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON object on standard output, nothing else.")
]
NewcomersOption = Annotated[
    bool,
    typer.Option(
        "--newcomers",
        metavar="",
        help="Hardly anybody of the last release is in this table, and that is right: identifiers have not changed.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", metavar="", help="Replace output files that exist.")]


EngineOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Who counts: memory, stream (Parquet larger than memory) or auto, which goes by the size of the file.",
    ),
]


def delimiter_of(text: str) -> str:
    """One character; the word tab means a tab."""
    character = "\t" if text in {"tab", "\\t"} else text
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise InputError("The delimiter must be one character, such as ',' or ';', or the word tab.")
    return character


def options_of(texts: Sequence[str]) -> dict[str, Any]:
    """`name=value` texts as values: numbers, true, false and lists as in TOML, anything else as it stands."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("Give a name and a value, joined by an equals sign: name=value.")
        options[name.strip()] = _value(value.strip())
    return options


def _value(text: str) -> Any:
    text = text.lower() if text in {"True", "False"} else text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
