"""Words for people: plurals and numbers, and texts from outside, made harmless to show."""

import unicodedata

__all__ = ["number", "plural", "visible"]

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's controls, formats (directions of writing, invisible marks), surrogates and separators of lines."""


def visible(text: str) -> str:
    """The text with everything that would steer a terminal, or hide in it, written as an escape that can be read."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDDEN else char for char in text
    )


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 release`, `12 releases`; `many` is the word for several, where it has no s."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def number(value: float | None) -> str:
    """A number as people read it."""
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.1%}" if value < 0.001 else f"{value:,.3g}"
    return f"{int(value):,}"
