"""The page that puts the papers' figures beside ours: written from the tables that the command made."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.figure import Curves, Figure, Paper

__all__ = ["render", "verdicts"]

HEAD = """\
# The papers' figures, beside ours

Reissue's attacks and methods for series come from five papers. This page makes their experiments again, figure by figure. The papers
are at hand as text without pictures, so the left column is what their text says of a curve, in our words; the right one is what our
curves show, computed from the tables beside the pictures. *Holds* means that the direction is the same; the sizes stand beside each other.
What does not hold stays, with the reason where it is known.

Made by `python -m benchmarks papers --out docs/papers`, and a single figure by `python -m benchmarks papers --figure {example}`; the public data
sets that stand in for the papers' are named at each paper. The whole set took {minutes} CPU minutes on two shared cores. CPU seconds are of this
machine and not to be compared with the papers' machines of their time.
"""


def verdicts(figure: Figure, curves: Curves) -> list[tuple[str, bool, str]]:
    """Each claim of the paper, whether it holds, and our numbers."""
    return [(claim.paper, *claim.judge(curves)) for claim in figure.claims]


def render(papers: Sequence[Paper], folder: Path, minutes: float) -> str:
    """The whole page, from the tables in a folder; figures without one are named as not made."""
    files = {figure.number: folder / f"{figure.number}.csv" for paper in papers for figure in paper.figures}
    curves = {number: Curves.load(path) for number, path in files.items() if path.is_file()}
    judged = {f.number: verdicts(f, curves[f.number]) for paper in papers for f in paper.figures if f.number in curves}
    parts = [HEAD.format(minutes=f"{minutes:.0f}", example=next(iter(files))), _summary(papers, judged)]
    for paper in papers:
        parts.append(f"## {_heading(paper)}\n\n{paper.setting}\n")
        parts += [
            _section(one, curves[one.number], judged[one.number]) for one in paper.figures if one.number in curves
        ]
    return "\n".join(parts)


def _heading(paper: Paper) -> str:
    return f"{paper.number} {paper.title}"


def _summary(papers: Sequence[Paper], judged: dict[str, list[tuple[str, bool, str]]]) -> str:
    lines = ["| paper | figure | what | claims that hold here |", "|---|---|---|---|"]
    for paper in papers:
        for figure in paper.figures:
            if figure.number not in judged:
                lines.append(f"| {paper.title} | {figure.number} | {figure.title} | not made yet |")
                continue
            holds = [good for _, good, _ in judged[figure.number]]
            link = f"[{figure.number}](#{_anchor(figure)})"
            lines.append(f"| {paper.title} | {link} | {figure.title} | {sum(holds)} of {len(holds)} |")
    return "\n".join(lines) + "\n"


def _title(figure: Figure) -> str:
    return f"{figure.number} {figure.title}"


def _anchor(figure: Figure) -> str:
    """The address of its heading, as Markdown writes it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", _title(figure)).strip().lower())


def _section(figure: Figure, curves: Curves, judged: list[tuple[str, bool, str]]) -> str:
    remark = figure.remark if isinstance(figure.remark, str) else figure.remark(curves)
    lines = [
        f"### {_title(figure)}\n",
        f"{figure.setting}\n",
        f"![Figure {figure.number}, ours]({figure.number}.svg)\n",
        "| the paper's text | here | |",
        "|---|---|---|",
        *(f"| {said} | {ours} | {'holds' if good else '**differs**'} |" for said, good, ours in judged),
    ]
    return "\n".join([*lines, "", remark, ""] if remark else [*lines, ""])
