"""Texts for people in their language: English messages, and catalogues that translate them.

A message is written in English where it is used, `text("{people} people")`. A catalogue `LANGUAGE.po` beside this
module has its translation, in the format of GNU gettext; what it lacks stays English. The language is the one chosen
with `speaking`, else `REISSUE_LANGUAGE`, else English.
"""

import ast
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

__all__ = [
    "LANGUAGES",
    "Catalogue",
    "counted",
    "current",
    "localized",
    "preferred",
    "read_catalogue",
    "speaking",
    "text",
]

LANGUAGES = ("en", "de", "fr")
"""English, in which messages are written, and the languages of the catalogues."""
VARIABLE = "REISSUE_LANGUAGE"
_CHOSEN: ContextVar[str] = ContextVar("language", default="")
_SEPARATORS = {"de": (".", ","), "fr": ("\N{NARROW NO-BREAK SPACE}", ",")}
"""Of thousands and of decimals, where they are not those of English."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Catalogue:
    """The translations of a language: of messages, and of messages in singular and plural."""

    texts: dict[str, str] = field(default_factory=dict)
    plurals: dict[str, tuple[str, ...]] = field(default_factory=dict)


def current() -> str:
    """Return the language that texts are in."""
    return _CHOSEN.get() or preferred(os.environ.get(VARIABLE, ""))


def preferred(wished: str) -> str:
    """Return the first language that there is of those wished for, `de-CH,fr;q=0.8` or `de_DE.UTF-8`; else English."""
    for one in wished.split(","):
        name = re.split(r"[-_.;]", one.strip().lower())[0]
        if name in LANGUAGES:
            return name
    return LANGUAGES[0]


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Have texts in a language inside a block."""
    before = _CHOSEN.set(preferred(language))
    try:
        yield
    finally:
        _CHOSEN.reset(before)


def text(message: str, **values: object) -> str:
    """Return a message in the current language, with values in the places of their names."""
    found = _catalogue(current()).texts.get(message) or message
    return found.format(**values) if values else found


def counted(count: int, one: str, many: str, **values: object) -> str:
    """Return the message for a number of things, which is written in the place `{count}`."""
    forms, language = _catalogue(current()).plurals.get(one, (one, many)), current()
    single = count in {0, 1} if language == "fr" else count == 1
    return forms[0 if single else 1].format(count=localized(f"{count:,}"), **values)


def localized(number: str) -> str:
    """Return a number, as English writes it, in the way of the current language."""
    separators = _SEPARATORS.get(current())
    if separators is None:
        return number
    swap = str.maketrans({",": separators[0], ".": separators[1]})
    said = _NUMBER.sub(lambda found: found[0].translate(swap), number)
    return said.replace("%", "\N{NO-BREAK SPACE}%")


@cache
def _catalogue(language: str) -> Catalogue:
    if language == LANGUAGES[0]:
        return Catalogue()
    return read_catalogue(files(__name__).joinpath(f"{language}.po").read_text(encoding="utf-8"))


def read_catalogue(source: str) -> Catalogue:
    """Read a catalogue in the format of GNU gettext: messages, plurals, comments and texts over several lines."""
    texts: dict[str, str] = {}
    plurals: dict[str, tuple[str, ...]] = {}
    for block in re.split(r"\n\s*\n", source):
        parts: dict[str, str] = {}
        key = ""
        for line in block.splitlines():
            found = re.match(r'(msgid_plural|msgid|msgstr(?:\[\d\])?)?\s*(".*")$', line.strip())
            if found is not None:
                key = found[1] or key
                parts[key] = parts.get(key, "") + ast.literal_eval(found[2])
        if not parts.get("msgid"):
            continue
        if "msgid_plural" in parts:
            plurals[parts["msgid"]] = (parts.get("msgstr[0]", ""), parts.get("msgstr[1]", ""))
        else:
            texts[parts["msgid"]] = parts.get("msgstr", "")
    return Catalogue(texts, plurals)
