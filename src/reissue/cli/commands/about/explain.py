"""`reissue explain`: a word in a sentence or two."""

import re
from collections.abc import Collection
from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption
from reissue.errors import InputError, nearest

_TERMS = re.compile(r"((?:\*\*[^*]+\*\*(?:, | or )?)+)[^:*.]{0,40}: ")
"""One or several words of the glossary, and what follows is what they mean."""


@app.command()
def explain(
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD", help="Such as m-unique, joint, pool or quasi-identifier. Without one: all words."
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Say what a requirement, a method, an attack or any other word means."""
    known = glossary() | _registered()
    if not word.strip():
        _render.show_json({"words": sorted(known)}) if as_json else _render.say(", ".join(sorted(known)))
        return
    asked = word.strip().lower().partition("=")[0]
    exact = (name for name in (asked, asked.removesuffix("s"), f"{asked}s") if name in known)
    longer = (name for name in known if re.match(rf"{re.escape(asked)}[ -]", name))  # quasi: quasi-identifiers
    found = next(exact, None) or next(longer, None)
    if found is None:
        raise InputError(f"This word is not in the glossary.{_near(asked, known)}")
    if as_json:
        _render.show_json({"word": found, "meaning": known[found]})
    else:
        _render.say(f"{found}: {known[found]}")


def _near(asked: str, known: Collection[str]) -> str:
    """What may have been meant; the whole list would fill the screen."""
    near = nearest(asked, known)
    return near if "Did you mean" in near else " All that are: `reissue explain` without a word."


def glossary() -> dict[str, str]:
    """The words of the glossary, and what each means."""
    from importlib.resources import files

    text = files("reissue").joinpath("glossary.md").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for entry in re.findall(r"^- ((?:.+\n?)(?:  .+\n?)*)", text, re.MULTILINE):
        line = " ".join(entry.split())
        found |= {name.lower(): meaning for name, meaning in re.findall(r"\*\*([^*]+)\*\* \(([^)*]+)\)", line)}
        parts = _TERMS.split(line)
        for words, meaning in zip(parts[1::2], parts[2::2], strict=True):
            plain = re.sub(r"[*`]|\[(.+?)\]\(.+?\)", r"\1", meaning).strip()
            found |= {name.lower(): plain for name in re.findall(r"\*\*([^*]+)\*\*", words)}
    return found


def _registered() -> dict[str, str]:
    """Requirements, methods and attacks by name."""
    from reissue import attacks, methods
    from reissue.requirements import registered as requirements

    found = {
        name: f"a requirement. {(kind.__doc__ or '').partition(chr(10))[0]}" for name, kind in requirements().items()
    }
    found |= {name: f"a method. {its.summary}" for name, its in methods.registered().items()}
    return found | {name: f"an attack. {its.summary}" for name, its in attacks.registered().items()}
