"""Findings for people: one self-contained page."""

from reissue.outcome.costs import Costs, costs_of
from reissue.report.page import person_html, plan_html, publication_html, report_html, utility_html, write_report

__all__ = [
    "Costs",
    "costs_of",
    "person_html",
    "plan_html",
    "publication_html",
    "report_html",
    "utility_html",
    "write_report",
]
