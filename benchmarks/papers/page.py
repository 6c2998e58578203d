"""Write the page that compares the papers' figures with ours, from the tables that the command made."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.figure import Curves, Figure, Paper

__all__ = ["render", "verdicts"]

HEAD = """\
# The papers' figures, reproduced

Five papers define most of the attacks and methods for series that Reissue implements. This page repeats their experiments with our
implementations and says, figure by figure, whether what the paper reports also holds here.

| paper | subject | in Reissue |
|---|---|---|
| Fung, Wang, Fu and Pei, *Anonymity for continuous data publishing*, EDBT 2008 | tables that only grow | [correspondence](../concepts/correspondence.md) |
| Li and Zhou, *Challenging more updates: towards anonymous re-publication of fully dynamic datasets*, 2008 | values that change | [updates, distinct](../concepts/updates.md) |
| Wong, Fu, Wang and Pei, *Anonymization-based attacks in privacy-preserving data publishing*, 2009 | readers who know the algorithm | [minimality, mask](../concepts/minimality.md) |
| He, Barman and Naughton, *Preventing equivalence attacks in updated, anonymized data*, ICDE 2011 | people who come and go | [invariance, equivalence](../concepts/invariance.md) |
| Rani and Nageswari, *Provider aware anonymization algorithm for preserving m-privacy*, IJERA 4(7), 2014 | several providers who may collude | [coalition, providers](../concepts/providers.md) |

**How to read it.** We have the papers' text without their pictures. The left column of each table says in our words what the text reports about a curve; the right column says what our curve shows, computed from the CSV file beside the
picture. *Holds* means that the direction is the same; sizes are printed beside each other. Where something differs, a remark says why, as far as we know. {total}

**Reproduce it.** `python -m benchmarks papers --out docs/papers` makes everything ({minutes} CPU minutes on two shared cores), `python -m benchmarks papers --figure {example}` a single figure. Some data sets of the papers may not be passed on; each section names the public one that
replaces them. CPU seconds are of our machine.
"""


def verdicts(figure: Figure, curves: Curves) -> list[tuple[str, bool, str]]:
    """Return each statement of the paper, whether it holds, and our numbers."""
    return [(claim.paper, *claim.judge(curves)) for claim in figure.claims]


def render(papers: Sequence[Paper], folder: Path, minutes: float) -> str:
    """Return the whole page, from the tables in a folder; figures without one are named as not made."""
    files = {figure.number: folder / f"{figure.number}.csv" for paper in papers for figure in paper.figures}
    curves = {number: Curves.load(path) for number, path in files.items() if path.is_file()}
    judged = {f.number: verdicts(f, curves[f.number]) for paper in papers for f in paper.figures if f.number in curves}
    parts = [_head(files, judged, minutes), _summary(papers, judged)]
    for paper in papers:
        parts.append(f"## {_heading(paper)}\n\n{paper.setting}\n")
        parts += [
            _section(one, curves[one.number], judged[one.number]) for one in paper.figures if one.number in curves
        ]
    return "\n".join(parts)


def _head(files: dict[str, Path], judged: dict[str, list[tuple[str, bool, str]]], minutes: float) -> str:
    holds = [good for found in judged.values() for _, good, _ in found]
    total = f"Of {len(holds)} statements {sum(holds)} hold here."
    return HEAD.format(minutes=f"{minutes:.0f}", example=next(iter(files)), total=total)


def _heading(paper: Paper) -> str:
    return f"{paper.number} {paper.title}"


def _summary(papers: Sequence[Paper], judged: dict[str, list[tuple[str, bool, str]]]) -> str:
    lines = ["| paper | figure | subject | statements that hold here |", "|---|---|---|---|"]
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
    """Return the address of its heading, as Markdown writes it."""
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
