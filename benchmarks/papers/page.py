"""Write the page that compares the papers' figures with ours, from the tables that the command made."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from benchmarks.papers.figure import Curves, Figure, Paper, Verdict

__all__ = ["Judged", "render"]

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
picture. A statement *holds* if the rule in the middle column is met, and *differs* if it is not; sizes are printed beside each other. Absolute times of other machines are *not comparable*. Where something differs, a remark says why, as far as we know.
The rules are ours: a paper says "slightly" or "far fewer" without a number. {total}

**Version and seeds.** {versions} A figure is one run with one seed where the papers mostly show means (Wong et al. of 100 runs). How much the seed matters is measured at a few cheap points of every figure with seeds 0 to 4 (data drawn anew, methods' own random numbers too); the line
*spread* under a picture has least, median and most. `make test` recomputes those points with seed 0, `make test-all` every figure, and compares all but CPU times.

**Reproduce it.** `python -m benchmarks papers --out docs/papers` makes everything ({minutes} CPU minutes on two shared cores), `python -m benchmarks papers --figure {example}` a single figure. Some data sets of the papers may not be passed on; each section names the public one that
replaces them. CPU seconds are of our machine. [Every definition, theorem and algorithm of the papers](contents.md) has a row of its own page.
"""


Judged = list[tuple[Verdict, str]]
"""For each statement of a figure what our curves say, and our numbers."""


def render(papers: Sequence[Paper], folder: Path, made: Mapping[str, tuple[float, str]], spreads: pl.DataFrame) -> str:
    """Return the whole page, from the tables in a folder; figures without one are named as not made."""
    files = {figure.number: folder / f"{figure.number}.csv" for paper in papers for figure in paper.figures}
    curves = {number: Curves.load(path) for number, path in files.items() if path.is_file()}
    judged = {
        figure.number: [claim.verdict(curves[figure.number]) for claim in figure.claims]
        for paper in papers
        for figure in paper.figures
        if figure.number in curves
    }
    parts = [_head(files, judged, made), _summary(papers, judged)]
    for paper in papers:
        parts.append(f"## {_heading(paper)}\n\n{paper.setting}\n")
        parts += [
            _section(one, curves[one.number], judged[one.number], spreads.filter(pl.col("figure") == one.number))
            for one in paper.figures
            if one.number in curves
        ]
    return "\n".join(parts)


def _head(files: dict[str, Path], judged: dict[str, Judged], made: Mapping[str, tuple[float, str]]) -> str:
    found = [verdict for one in judged.values() for verdict, _ in one]
    counts = {verdict: found.count(verdict) for verdict in Verdict}
    total = (
        f"Of {len(found)} statements {counts[Verdict.HOLDS]} hold here, {counts[Verdict.DIFFERS]} differ, "
        f"and {counts[Verdict.NOT_COMPARABLE]} are not comparable."
    )
    numbers = sorted({version for _, version in made.values()})
    return HEAD.format(
        minutes=f"{sum(seconds for seconds, _ in made.values()) / 60:.0f}",
        example=next(iter(files)),
        total=total,
        versions=f"Made with Reissue {' and '.join(numbers)}.",
    )


def _heading(paper: Paper) -> str:
    return f"{paper.number} {paper.title}"


def _summary(papers: Sequence[Paper], judged: dict[str, Judged]) -> str:
    lines = ["| paper | figure | subject | statements that hold here |", "|---|---|---|---|"]
    for paper in papers:
        for figure in paper.figures:
            if figure.number not in judged:
                lines.append(f"| {paper.title} | {figure.number} | {figure.title} | not made yet |")
                continue
            found = [verdict for verdict, _ in judged[figure.number]]
            link = f"[{figure.number}](#{_anchor(figure)})"
            compared = len(found) - found.count(Verdict.NOT_COMPARABLE)
            lines.append(f"| {paper.title} | {link} | {figure.title} | {found.count(Verdict.HOLDS)} of {compared} |")
    return "\n".join(lines) + "\n"


def _title(figure: Figure) -> str:
    return f"{figure.number} {figure.title}"


def _anchor(figure: Figure) -> str:
    """Return the address of its heading, as Markdown writes it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", _title(figure)).strip().lower())


def _section(figure: Figure, curves: Curves, judged: Judged, points: pl.DataFrame) -> str:
    remark = figure.remark if isinstance(figure.remark, str) else figure.remark(curves)
    lines = [
        f"### {_title(figure)}\n",
        f"{figure.setting}\n",
        f"![Figure {figure.number}, ours]({figure.number}.svg)\n",
        _spread(figure, points),
        "| the paper's text | holds if | here | |",
        "|---|---|---|---|",
        *(
            f"| {claim.paper} | {claim.rule} | {ours} | {'**differs**' if verdict is Verdict.DIFFERS else verdict} |"
            for claim, (verdict, ours) in zip(figure.claims, judged, strict=True)
        ),
    ]
    return "\n".join([*lines, "", remark, ""] if remark else [*lines, ""])


_SHOWN = 6
"""So many points are named in a line of spread; the file has all."""


def _spread(figure: Figure, points: pl.DataFrame) -> str:
    """Return what the seeds do to a few points."""
    parts = []
    for (panel, line, x), some in points.group_by("panel", "line", "x", maintain_order=True):
        ys = sorted(some["y"].to_list())
        where = f"{panel}, {line}" if panel != "checks" else str(line)
        size = f"{ys[0]:.4g}" if ys[0] == ys[-1] else f"{ys[0]:.4g}, {ys[len(ys) // 2]:.4g}, {ys[-1]:.4g}"
        parts.append(f"{where} at {figure.axis(str(panel)) or 'x'} = {x:g}: {size}")
    more = [f"{len(parts) - _SHOWN} more in spread.csv"] if len(parts) > _SHOWN else []
    return f"*Spread* over five seeds (least, median, most). {'; '.join([*parts[:_SHOWN], *more])}.\n"
