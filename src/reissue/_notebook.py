"""What a notebook shows for our objects: a sentence, a table, a small chart; every text escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module

__all__ = ["card", "notebook"]


_COLOURS = {"bad": "#a3270f", "good": "#00634a", "unsure": "#8a6100", "": "currentColor"}
_LINES = ("#0072b2", "#c04a00", "#00795a", "#a8508a", "#8a6100", "#444b55")
_WIDTH, _HEIGHT = 320, 90


def notebook(result: object) -> str:
    """Return what a notebook shows for a result: its view, which is made far above this module, as HTML."""
    shown: str = import_module("reissue.outcome.notebook").card_of(result)
    return shown


def card(
    sentence: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    mark: str = "",
    lines: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> str:
    """Return a sentence in bold and a table as HTML; `mark` (bad, good, unsure) colours it, `lines` are drawn."""
    head = "".join(f'<th scope="col" style="text-align: left">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    look = f"font-size: 1.1em; font-weight: 600; border-left: 6px solid {_COLOURS[mark]}; padding-left: .6em"
    title = f'<p style="{look if mark else look.partition("; border")[0]}">{escape(sentence)}</p>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="max-width: 70em">{title}{_chart(lines or {})}{table}</div>'


def _chart(lines: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """A line for each name; nothing where no line has two points, or none leaves the ground."""
    shown = {name: points for name, points in lines.items() if len(points) > 1 and any(high for _, high in points)}
    if not shown:
        return ""
    first, last = (end(at for points in shown.values() for at, _ in points) for end in (min, max))
    most = max(high for points in shown.values() for _, high in points)
    drawn, names = [], []
    for colour, (name, points) in zip(_LINES * len(shown), shown.items(), strict=False):
        places = [
            (4 + (_WIDTH - 8) * (at - first) / max(last - first, 1), _HEIGHT - 4 - (_HEIGHT - 8) * high / most)
            for at, high in points
        ]
        way = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
        drawn.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        names.append(f'<span style="color: {colour}">■</span> {escape(name)} ({points[-1][1]:,})')
    caption = f"People exposed after release {first} to {last}: {', '.join(names)}"
    picture = f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="How it grew">{"".join(drawn)}</svg>'
    return f'<figure style="margin: .5em 0">{picture}<figcaption>{caption}</figcaption></figure>'


def _cell(text: str) -> str:
    return f'<td style="text-align: left; white-space: normal">{escape(text)}</td>'
