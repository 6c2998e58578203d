"""The report: one HTML file with everything in it, no script, nothing loaded from anywhere.

Sentences and tables come from the views of `reissue.outcome`, geometry from `charts` and `pictures`; templates place
them. Jinja escapes every value, and the page's own policy forbids it to run scripts or to load anything.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from reissue.attacks.findings import Findings
from reissue.files.tables import write_text
from reissue.language import counted, current, localized, text
from reissue.ledger.recorded import Recorded
from reissue.outcome.costs import Costs, cost_of
from reissue.outcome.costs import view_of as costs_view
from reissue.outcome.findings import INPUTS, refused, view_of
from reissue.outcome.person import view_of as person_view
from reissue.outcome.plan import view_of as plan_view
from reissue.outcome.series import findings_until
from reissue.outcome.utility import view_of as utility_view
from reissue.outcome.view import BAD, GOOD, UNSURE
from reissue.papers.personal import PersonalCase
from reissue.publishing.plan import Plan
from reissue.publishing.turn import PublicationInMemory
from reissue.report.charts import frontier_chart, growth_chart, interval_chart
from reissue.report.pictures import drawing
from reissue.utility import Transitions, Utility
from reissue.words import number, percent

if TYPE_CHECKING:
    from reissue.publishing.refusal import Report

__all__ = [
    "environment",
    "person_html",
    "plan_html",
    "publication_html",
    "release_html",
    "report_html",
    "template",
    "utility_html",
    "write_report",
]

_SYMBOLS = {BAD: "✕", GOOD: "✓", UNSURE: "?"}


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
    """Return the report as text; `refusal` is that of a release that was refused, whose advice comes first."""
    view = view_of(findings, None if refusal is None else refused(refusal.release))
    return template("report.html").render(
        title=title or view.title,
        view=view,
        chart=None if view.growth is None else growth_chart(view.growth),
        problems=() if refusal is None else refusal.problems,
        todo=view.todo if refusal is None else refusal.steps,
        warnings=warnings,
        costs=costs_view(utility),
    )


def publication_html(made: PublicationInMemory) -> str:
    """Return the report of a publication, or of a dry run of one."""
    title = text("Release {number}, attacked together with all earlier ones", number=made.number)
    utility = {"this release": [cost_of(made.release)]}
    return report_html(made.findings, title=title, utility=utility, warnings=made.warnings)


def release_html(releases: Sequence[Recorded], number: int) -> str:
    """Return the report of one release as its ledger has it, with how the risk grew up to it."""
    record = releases[number - 1].record
    title = text("Release {number}, as it was recorded on {day}", number=number, day=record.time[:10])
    return report_html(findings_until(releases, number), title=title, warnings=record.warnings)


def plan_html(plan: Plan) -> str:
    """Return a plan as one HTML page."""
    view = plan_view(plan)
    chart = None if view.frontier is None else frontier_chart(view.frontier)
    return template("plan.html").render(view=view, chart=chart)


def person_html(cases: Sequence[PersonalCase]) -> str:
    """Return one person's case as one HTML page: private."""
    return template("person.html").render(view=person_view(cases))


def utility_html(utility: Utility, transitions: Transitions | None = None) -> str:
    """Return a comparison as one HTML page."""
    return template("utility.html").render(view=utility_view(utility, transitions))


@cache
def environment() -> Environment:
    """Return the templates and filters: whatever they are given is escaped."""
    from reissue._version import __version__

    environment = Environment(
        loader=PackageLoader("reissue.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "number": number, "drawing": drawing, "intervals": interval_chart}
    environment.globals |= {"symbols": _SYMBOLS, "inputs": INPUTS, "version": __version__}
    environment.filters |= {"percent": percent, "localized": localized, "whole": _whole}
    environment.globals |= {"_": _message, "counted": counted, "language": current}
    return environment


def _message(message: str, **values: object) -> Markup:
    """A message in the current language; values are escaped unless they are markup already."""
    said = escape(text(message))
    return said.format(**values) if values else said


def _whole(count: float) -> str:
    return localized(f"{count:,.0f}")


def _code(sentence: str) -> Markup:
    """A sentence with what stands between backticks set as code; all of it escaped."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return escape(sentence)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def template(name: str) -> Template:
    """Return one of the templates, which escape whatever they are given."""
    return environment().get_template(name)
