"""Evidence for the file: a record as JSON and as one HTML page in the order of a dossier, no script, nothing loaded."""

from collections.abc import Sequence

from reissue.attacks.registry import Heading
from reissue.data.outputs import Output
from reissue.files.staging import Staging
from reissue.outcome.evidence import Record, attack_record, check_record, publish_record, record_of
from reissue.report.page import template

__all__ = [
    "Record",
    "attack_record",
    "check_record",
    "evidence_html",
    "publish_record",
    "record_of",
    "stage_record",
]

_QUESTIONS = {
    Heading.SINGLING_OUT: "Can a person's records be isolated?",
    Heading.LINKABILITY: "Can records about one person be linked, in this release, with another or with a register?",
    Heading.INFERENCE: "Can a person's value be deduced?",
}


def evidence_html(record: Record) -> str:
    """The record as a page."""
    headings = [
        {
            "name": str(heading).capitalize(),
            "anchor": str(heading).replace(" ", "-"),
            "question": question,
            "initial": [one for one in record.initial if one.heading == heading],
            "residual": [one for one in record.residual if one.heading == heading],
            "tests": [one for one in record.tests if one.heading == heading and one.outcome != "not run"],
        }
        for heading, question in _QUESTIONS.items()
    ]
    not_run = [one for one in record.tests if one.outcome == "not run"]
    return template("evidence.html").render(record=record, headings=headings, not_run=not_run)


def stage_record(record: Record, files: Sequence[Output], staging: Staging, *, force: bool) -> list[str]:
    """Write the record as JSON to the first of two files, and as a page to the second."""
    path, page = (one.path for one in files)
    staging.add_bytes(path, record.to_json().encode(), replaces=force)
    staging.add_bytes(page, evidence_html(record).encode(), replaces=force)
    return [str(path), str(page)]
