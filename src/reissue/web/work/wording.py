"""Messages of the library as a page says them."""

import re
from pathlib import Path

__all__ = ["for_page"]

_FIELDS = {
    r"(Say what it is, for example|Say which it is:|If it is UTF-16, say so:) "
    r"dialect=Dialect\(encoding='[^']*'\)(, or save it as UTF-8)?": "Save it as UTF-8, or as a workbook",
    r"Try dialect=Dialect\(delimiter='X'\)": "Choose what separates the cells",
    r" \(`budget`\)": "",
    r"newcomers=True": "tick that hardly anybody returns",
    r"unchanged=True": "tick that nothing has changed",
    r"lookalikes=True": "tick that they are other people",
}
"""Advice for Python to advice for the page."""


def for_page(text: str, scratch: Path) -> str:
    """A message for who sees pages: files by their names, and fields instead of arguments."""
    text = re.sub(rf"{re.escape(str(scratch))}/(?:[^/']+/)*", "", text)
    for argument, field in _FIELDS.items():
        text = re.sub(argument, field, text)
    return text
