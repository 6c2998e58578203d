"""Findings for people: one self-contained page, or a few lines in a notebook."""

from reissue.report.page import Costs, report_html, write_report

__all__ = ["Costs", "report_html", "write_report"]
