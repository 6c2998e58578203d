"""What a notebook shows for our objects: a sentence and a table, escaped like the report."""

from reissue.check import Check
from reissue.findings import Findings, gravity
from reissue.release import Release
from reissue.report import _words
from reissue.report.page import template
from reissue.utility import Utility

__all__ = ["check_html", "findings_html", "release_html", "utility_html"]

ROWS = 5


def findings_html(findings: Findings) -> str:
    """The verdict, and a line for each attack."""
    told = _words.verdict(findings, None)
    rows = [
        [
            one.attack,
            _words.outcome(one),
            _words.people(one),
            _words.number(one.worst),
            _words.number(one.limit),
            one.sentence,
        ]
        for one in sorted(findings, key=gravity)
    ]
    return _shown(f"{told.word}. {told.sentence}", ["attack", "outcome", "people", "worst", "limit", "in words"], rows)


def release_html(release: Release) -> str:
    """What went out, and its first rows as published; nothing private."""
    frame = next(iter(release.tables.values())).head(ROWS)
    rows = [["" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()]
    return _shown(str(release), frame.columns, rows)


def check_html(check: Check) -> str:
    """What was measured, and the verdicts."""
    verdicts = [["met" if one.met else "NOT MET", "", one.sentence] for one in check.verdicts]
    measures = [[one.name, _words.number(one.value), one.sentence] for one in check.measures]
    return _shown(check.first, ["measure", "value", "in words"], verdicts + measures)


def utility_html(utility: Utility) -> str:
    """What was lost, in words and by column."""
    rows = [[name, f"{loss:.1%}"] for name, loss in utility.losses.items()]
    return _shown(" ".join(utility.sentences), ["column", "loss"], rows)


def _shown(sentence: str, headings: list[str], rows: list[list[str]]) -> str:
    return template("notebook.html").render(sentence=sentence, headings=headings, rows=rows)
