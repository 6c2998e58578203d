"""What a notebook shows for our objects: a sentence and a table, every text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["card"]


def card(sentence: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A sentence in bold and a table under it, as HTML."""
    head = "".join(f'<th scope="col" style="text-align: left">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f'<p style="font-size: 1.1em; font-weight: 600">{escape(sentence)}</p>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="max-width: 70em">{title}{table}</div>'


def _cell(text: str) -> str:
    return f'<td style="text-align: left; white-space: normal">{escape(text)}</td>'
