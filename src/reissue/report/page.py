"""The report: one HTML file with everything in it, no script, nothing loaded from anywhere.

What is shown was prepared by `words` (sentences) and `pictures` (geometry); templates only place it. Jinja escapes
every value, and the page's own policy forbids it to run scripts or to load anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from reissue.attacks import Attack, registered
from reissue.attacks.findings import Finding, Findings, Status, bound, gravity, outcome, people, verdict
from reissue.attacks.pictures import Case
from reissue.errors import Why
from reissue.files.tables import write_text
from reissue.report import words
from reissue.report.pictures import drawing
from reissue.report.timeline import risk_over_time
from reissue.utility import Utility
from reissue.words import number

if TYPE_CHECKING:
    from reissue.publishing.refusal import Report

__all__ = ["Costs", "environment", "report_html", "template", "write_report"]

Costs = Mapping[str, Sequence[Utility]]
"""What protection cost, release by release; several ways of publishing can stand beside each other, by name."""


def write_report(
    findings: Findings,
    path: str | Path,
    *,
    title: str | None = None,
    utility: Costs | None = None,
    refusal: "Report | None" = None,
    warnings: Sequence[str] = (),
    force: bool = False,
) -> Path:
    """Write the report as one HTML file; an existing file is replaced only by force."""
    page = report_html(findings, title=title, utility=utility, refusal=refusal, warnings=warnings)
    write_text(page, Path(path), force=force)
    return Path(path)


def report_html(
    findings: Findings,
    *,
    title: str | None = None,
    utility: Costs | None = None,
    refusal: "Report | None" = None,
    warnings: Sequence[str] = (),
) -> str:
    """The report as text. `refusal` is the report of a publication that was refused, whose advice comes first."""
    from reissue._version import __version__

    known = registered()
    sections = [_Section.of(finding, known.get(finding.attack)) for finding in sorted(findings, key=gravity)]
    costs = {name: list(some) for name, some in (utility or {}).items() if some}
    return template("report.html").render(
        title=title or words.title(findings),
        version=__version__,
        findings=findings,
        sections=sections,
        verdict=verdict(findings, None if refusal is None else refusal.release),
        figures=words.figures(findings),
        refusal=refusal,
        warnings=warnings,
        timeline=risk_over_time(findings),
        todo=_todo(sections, refusal),
        commands=[] if refusal else list(dict.fromkeys(one.command for one in _exposing(sections) if one.command)),
        ran=[section for section in sections if section.finding.status != Status.NOT_RUN],
        not_run=[section for section in sections if section.finding.why not in {None, Why.DOES_NOT_APPLY}],
        apart=[section for section in sections if section.finding.why == Why.DOES_NOT_APPLY],
        costs=costs,
        prices=words.costs(costs),
        price=words.price(costs),
        compared=words.compared(costs),
    )


@dataclass(frozen=True)
class _Section:
    """One attack, as the report tells it."""

    finding: Finding
    summary: str
    story: str
    needs: str
    prevention: tuple[str, ...]
    command: str
    steps: tuple[str, ...]
    picture: dict[str, Any] | None
    calibration: dict[str, Any] | None
    """How claims compare with what is right, where that is known."""

    @classmethod
    def of(cls, finding: Finding, attack: Attack | None) -> "_Section":
        case: Case | None = finding.details.get("case")
        return cls(
            finding,
            "" if attack is None else attack.summary,
            "" if attack is None else attack.story,
            "" if attack is None else attack.needs,
            () if attack is None else attack.prevention,
            "" if attack is None else attack.command,
            tuple(case["steps"]) if case and "steps" in case else (),
            drawing(case["picture"]) if case and case.get("picture") else None,
            _calibration(finding.details.get("calibration") or ()),
        )


def _calibration(tenths: Sequence[Mapping[str, float]]) -> dict[str, Any] | None:
    """Claims in tenths beside the share of them that is right."""
    if not tenths:
        return None
    labels = [f"{one['from']:.1f}" for one in tenths]
    series = {"claimed": [one["claim"] for one in tenths], "right": [one["right"] for one in tenths]}
    sentence = "Of people about whom a claim is so sure, how many guesses are right."
    return drawing(
        {
            "kind": "bars",
            "labels": labels,
            "series": series,
            "sentence": sentence,
            "unit": "share of people",
            "across": "claims from",
            "limit": None,
        }
    )


def _todo(sections: Sequence[_Section], refusal: "Report | None") -> list[str]:
    """What would help, each once, in the order of the attacks."""
    if refusal is not None:
        return list(refusal.advice)
    return list(dict.fromkeys(sentence for section in _exposing(sections) for sentence in section.prevention))


def _exposing(sections: Sequence[_Section]) -> list[_Section]:
    return [section for section in sections if section.finding.mark == "bad"]


@cache
def environment() -> Environment:
    """Templates and filters: whatever they are given is escaped."""
    environment = Environment(
        loader=PackageLoader("reissue.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    environment.filters["number"] = number
    environment.filters["people"] = people
    environment.filters["outcome"] = outcome
    environment.filters["bound"] = bound
    return environment


def _code(sentence: str) -> Markup:
    """A sentence with what stands between backticks set as code; all of it escaped."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return escape(sentence)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def template(name: str) -> Template:
    """One of the templates, which escape whatever they are given."""
    return environment().get_template(name)
