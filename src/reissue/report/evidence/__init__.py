"""Evidence for the file: what was published, by which criteria, at which risk, and what was tried against it."""

from reissue.report.evidence.made import attack_record, check_record, publish_record
from reissue.report.evidence.page import evidence_html, stage_record
from reissue.report.evidence.record import Record, record_of

__all__ = [
    "Record",
    "attack_record",
    "check_record",
    "evidence_html",
    "publish_record",
    "record_of",
    "stage_record",
]
