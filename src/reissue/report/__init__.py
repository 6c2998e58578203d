"""Findings for people: one self-contained page, or a few lines in a notebook."""

from reissue.report.costs import costs_of
from reissue.report.page import Costs, report_html, write_report
from reissue.report.publication import publication_html

__all__ = ["Costs", "costs_of", "publication_html", "report_html", "write_report"]
