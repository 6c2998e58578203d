"""Words for people: plurals and numbers, and texts from outside, made harmless to show."""

import re
import unicodedata
from collections.abc import Sequence

from reissue.language import counted, localized, text

__all__ = ["listed", "number", "percent", "plural", "visible", "words_of"]

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
    many = many or noun + "s"
    return counted(count, f"{{count}} {noun}", f"{{count}} {many}")


def listed(words: Sequence[object], last: str = "and") -> str:
    """Return `1, 2 and 3`."""
    texts = [str(word) for word in words]
    return f"{', '.join(texts[:-1])} {text(last)} {texts[-1]}" if len(texts) > 1 else "".join(texts)


def number(value: float | None) -> str:
    """A number as people read it."""
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        if 0.9995 <= value < 1:
            return text("over {number}", number=localized("0.999"))
        return localized(f"{value:.1%}" if value < 0.001 else f"{value:,.3g}")
    return localized(f"{int(value):,}")


def percent(share: float) -> str:
    """A share in words; what is not quite certain or impossible is not said to be."""
    if 0.999 < share < 1:
        return text("over {number}", number=localized("99.9%"))
    if 0 < share < 0.001:
        return text("under {number}", number=localized("0.1%"))
    return localized(f"{100 * share:.3g}%")


def words_of(name: str) -> frozenset[str]:
    """The words of a name: `dateOfBirth`, `zip_code` and `Código Postal` are two or three each."""
    name = name.replace("ß", "ss")
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return frozenset(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).lower()))
