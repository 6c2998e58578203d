"""Checks of what published columns satisfy, by code that shares no arithmetic with the methods."""

from reissue.verify.by_parts import meets_by_parts
from reissue.verify.check import meets, read_for_check, unmet
from reissue.verify.groups import CheckedGroups, read_groups
from reissue.verify.measures import distance, judge, log_ratio, worst_odds
from reissue.verify.recheck import make_release
from reissue.verify.risk import PRESETS, RiskInputs

__all__ = [
    "PRESETS",
    "CheckedGroups",
    "RiskInputs",
    "distance",
    "judge",
    "log_ratio",
    "make_release",
    "meets",
    "meets_by_parts",
    "read_for_check",
    "read_groups",
    "unmet",
    "worst_odds",
]
