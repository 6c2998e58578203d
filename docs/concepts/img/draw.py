"""Draws pictures of the concepts: `python docs/concepts/img/draw.py`. Tested to be fresh.

`calibration.csv` is what `python -m benchmarks joint --only calibration` writes.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
INK, FAINT, ALERT = "#1f2933", "#9aa5b1", "#c81e1e"
FILLS = {
    "flu": "#4c78a8",
    "HIV": "#f58518",
    "asthma": "#54a24b",
    "cancer": "#b279a2",
    "diabetes": "#72b7b2",
    "ulcer": "#9d755d",
}
WIDTH, STEP = 720, 44


@dataclass(frozen=True)
class Group:
    """Records that look alike, in one release."""

    title: str
    records: Sequence[str]
    """Their sensitive values."""
    cracked: Sequence[int] = ()
    """Which of them are ruled out."""
    target: bool = False
    """Whether the target belongs to it."""


def pictures() -> dict[str, str]:
    """File name to picture."""
    uk, france, europe = ["flu"] * 3 + ["HIV"] * 2, ["flu"] * 2 + ["HIV"] * 3, ["flu"] * 3 + ["HIV"] * 2
    return {
        "correspondence-f.svg": picture(
            "F: who is in release 1, looked for in release 1",
            "Alice: France, lawyer, in release 1",
            [Group("Europe, lawyer", europe, cracked=[2], target=True)],
            [Group("UK, professional", uk), Group("France, professional", france, target=True)],
            "Release 1 has 3 flu records. Only 2 of them can be French: release 2 has no more. One is not Alice's.",
        ),
        "correspondence-c.svg": picture(
            "C: who is in release 1, looked for in release 2",
            "Alice: France, lawyer, in release 1",
            [Group("Europe, lawyer", europe, target=True)],
            [Group("UK, professional", uk), Group("France, professional", france, cracked=[4], target=True)],
            "France has 3 HIV records. Only 2 of them can be in release 1: it has no more. One is not Alice's.",
        ),
        "correspondence-b.svg": picture(
            "B: who came later, looked for in release 2",
            "Alice: UK, lawyer, arrived after release 1",
            [Group("Europe, lawyer", europe)],
            [Group("UK, professional", uk, cracked=[2], target=True), Group("France, professional", france)],
            "Release 1's 3 flu records must be somewhere; France holds 2. One of the UK's is old: not Alice's.",
        ),
        "correspondence-recipients.svg": picture(
            "Two recipients of the same data",
            "A cook in the thirties",
            [
                Group("[30, 39], any job", ["flu", "asthma", "HIV"], cracked=[0, 1], target=True),
                Group("[40, 49], any job", ["cancer", "diabetes", "ulcer"]),
            ],
            [
                Group("any age, nurse", ["flu", "asthma", "cancer"]),
                Group("any age, cook", ["HIV", "diabetes", "ulcer"], cracked=[1, 2], target=True),
            ],
            "Each file hides the cook among 3. Only one record can be in both groups.",
            headings=("the team's file", "the insurer's file"),
        ),
        "calibration.svg": calibration(HERE / "calibration.csv"),
        "cohort.svg": cohort(),
    }


def cohort() -> str:
    """Draw the seats of a cohort over four releases, and their occupants."""
    title = "A cohort over four releases: seats stay, people come and go"
    slots = (
        ("Ann flu", "Ann flu", "Ann ulcer", "Ann ulcer"),
        ("Bob HIV", "Bob HIV", "Bob HIV", "Bob HIV"),
        ("Cid asthma", "? asthma", "Dora asthma", "Dora asthma"),
        ("Eve ulcer", "Eve ulcer", "? ulcer", ""),
        ("Fred cancer", "? cancer", "? cancer", ""),
    )
    below = ("enter together", "two have left", "Dora takes a seat", "two seats end together")
    parts = [_text(20, 28, title, size=17, weight="bold")]
    for time, words in enumerate(below):
        x = 20 + 175 * time
        parts += [_text(x, 60, f"release {time + 1}", fill=FAINT), _text(x, 262, words, size=13)]
        for place, slot in enumerate(slots):
            if slot[time]:
                parts.append(_slot(x, 74 + 34 * place, *slot[time].split()))
    parts.append(_text(20, 292, "Dashed: an empty seat, continued by a counterfeit.", size=13))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 306" font-family="sans-serif">',
            f"<title>{title}</title>",
            f'<rect width="{WIDTH}" height="306" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _slot(x: float, y: float, who: str, value: str) -> str:
    """Draw a seat in one release: its value and its occupant."""
    dash = ' stroke-dasharray="5 4"' if who == "?" else ""
    name = "nobody" if who == "?" else who
    frame = f'<rect x="{x}" y="{y}" width="150" height="27" rx="5" fill="none" stroke="{FILLS[value]}" stroke-width="2"'
    return f"{frame}{dash}/>" + _text(x + 10, y + 18, f"{name}: {value}", fill=FAINT if who == "?" else INK)


def picture(
    title: str,
    target: str,
    left: Sequence[Group],
    right: Sequence[Group],
    reason: str,
    headings: tuple[str, str] = ("release 1", "release 2"),
) -> str:
    """Two releases side by side, the target's groups framed, ruled-out records crossed."""
    values = list(dict.fromkeys(value for group in (*left, *right) for value in group.records))
    height = 100 + 96 * max(len(left), len(right)) + 46
    parts = [
        _text(20, 28, title, size=17, weight="bold"),
        _text(20, 52, target, fill=ALERT),
        _text(20, 84, headings[0], fill=FAINT),
        _text(390, 84, headings[1], fill=FAINT),
        *(_box(20, 96 + 96 * place, group, values) for place, group in enumerate(left)),
        *(_box(390, 96 + 96 * place, group, values) for place, group in enumerate(right)),
        _legend(values, height - 42),
        _text(20, height - 10, reason),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
            f"<title>{title}</title>",
            f"<desc>{target}. {reason}</desc>",
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _text(x: float, y: float, words: str, *, size: int = 14, fill: str = INK, weight: str = "normal") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{fill}">{words}</text>'


def _box(x: float, y: float, group: Group, values: Sequence[str]) -> str:
    """A group: its published values, and a mark for each record."""
    edge, thick = (ALERT, 2.5) if group.target else (FAINT, 1)
    frame = (
        f'<rect x="{x:g}" y="{y:g}" width="310" height="84" rx="8" fill="none" stroke="{edge}" stroke-width="{thick}"/>'
    )
    marks = []
    for place, value in enumerate(group.records):
        middle = x + 32 + STEP * place
        marks.append(_mark(middle, y + 54, value, values))
        if place in group.cracked:
            marks.append(_cross(middle, y + 54))
    return "\n".join([frame, _text(x + 14, y + 24, group.title), *marks])


def _mark(x: float, y: float, value: str, values: Sequence[str]) -> str:
    """A record: colour and shape tell its value, so that neither is needed alone."""
    fill, shape = FILLS[value], values.index(value) % 3
    if shape == 0:
        return f'<circle cx="{x:g}" cy="{y:g}" r="13" fill="{fill}"/>'
    if shape == 1:
        return f'<rect x="{x - 12:g}" y="{y - 12:g}" width="24" height="24" fill="{fill}"/>'
    return f'<path d="M{x:g} {y - 14:g} L{x + 14:g} {y + 12:g} L{x - 14:g} {y + 12:g} Z" fill="{fill}"/>'


def _cross(x: float, y: float) -> str:
    return (
        f'<path d="M{x - 18:g} {y - 18:g} L{x + 18:g} {y + 18:g} M{x + 18:g} {y - 18:g} L{x - 18:g} {y + 18:g}" '
        f'stroke="{ALERT}" stroke-width="3"/>'
    )


def _legend(values: Sequence[str], y: float) -> str:
    parts = []
    for place, value in enumerate(values):
        parts += [_mark(32 + 104 * place, y, value, values), _text(52 + 104 * place, y + 5, value)]
    return "\n".join(parts)


def calibration(path: Path, least: int = 200) -> str:
    """Draw confidence against the share of right guesses: a mark for each tenth of a series with enough people."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["people"]) >= least]
    kinds = [*dict.fromkeys(row["source"] for row in rows)]
    marks = []
    for row in rows:
        x, y = 60 + 400 * float(row["claim"]), 440 - 400 * float(row["right"])
        by_value = row["method"].startswith(("distinct", "invariance", "equivalence"))
        filled = 0.35 if row["knowledge"].endswith("true totals") else 0.0 if by_value else 1.0
        marks.append(_dot(x, y, kinds.index(row["source"]), filled))
    words = "Confidence against the share of right guesses"
    below = f"one mark: {least} people or more of one series with confidence in the same tenth"
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 500" font-family="sans-serif">',
            f"<title>{words}</title>",
            "<desc>Confidence on one axis, the share of right guesses on the other: near the diagonal.</desc>",
            '<rect width="720" height="500" fill="#ffffff"/>',
            f'<path d="M60 440 L460 40" stroke="{FAINT}"/>',
            f'<path d="M60 420 L440 40 M80 440 L460 60" stroke="{FAINT}" stroke-dasharray="4 4"/>',
            f'<path d="M60 40 L60 440 L460 440" fill="none" stroke="{INK}"/>',
            *(_text(52 + 400 * tenth / 5, 460, f"{tenth / 5:.1f}", size=12) for tenth in range(6)),
            *(_text(30, 444 - 400 * tenth / 5, f"{tenth / 5:.1f}", size=12) for tenth in range(1, 6)),
            _text(20, 24, "right"),
            _text(470, 446, "confidence"),
            *marks,
            *(_dot(490, 80 + 28 * place, place) for place in range(len(kinds))),
            *(_text(506, 85 + 28 * place, kind) for place, kind in enumerate(kinds)),
            _dot(490, 180, 0, 0.0),
            _text(506, 185, "hollow: groups formed by value"),
            _dot(490, 208, 0, 0.35),
            _text(506, 213, "light: the same, totals known"),
            _text(490, 243, "dashed: off by 0.05", fill=FAINT),
            _text(60, 488, below, size=12),
            "</svg>\n",
        ]
    )


def _dot(x: float, y: float, kind: int, filled: float = 1.0) -> str:
    """A mark whose colour and shape tell the source."""
    edge = ("#4c78a8", "#f58518", "#54a24b")[kind]
    paint = f'fill="{edge}" fill-opacity="{filled:g}" stroke="{edge}" stroke-width="1.5"'
    if kind == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {paint}/>'
    if kind == 1:
        return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" {paint}/>'
    return f'<path d="M{x:.1f} {y - 6:.1f} L{x + 6:.1f} {y + 5:.1f} L{x - 6:.1f} {y + 5:.1f} Z" {paint}/>'


def main() -> None:
    """Write all pictures."""
    for name, drawn in pictures().items():
        (HERE / name).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
