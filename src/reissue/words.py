"""Words for people: texts that came from outside, made harmless to show."""

import unicodedata

__all__ = ["visible"]

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's controls, formats (directions of writing, invisible marks), surrogates and separators of lines."""


def visible(text: str) -> str:
    """The text with everything that would steer a terminal, or hide in it, written as an escape that can be read."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDDEN else char for char in text
    )
