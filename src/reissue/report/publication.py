"""The page of a release that goes out: what the attacks found on it, and what it cost."""

from reissue.publishing.turn import Publication
from reissue.report.page import report_html
from reissue.utility import measure

__all__ = ["publication_html"]


def publication_html(made: Publication) -> str:
    """The report of a publication, or of a dry run of one."""
    title = f"Release {made.number}, attacked together with all earlier ones"
    utility = {"this release": [measure(made.release)]}
    return report_html(made.findings, title=title, utility=utility, warnings=made.warnings)
