"""Plan: try ways to publish a series on its own waves, and recommend the cheapest that stays below the limit."""

from reissue.publishing.plan.beginning import Beginning, begin_series, propose_series
from reissue.publishing.plan.one_table import Settings, compare_settings
from reissue.publishing.plan.outcome import KnownGroups, Outcome, Plan, RehearsalEnd, RehearsedRelease
from reissue.publishing.plan.planning import Progress, plan, seconds_of
from reissue.publishing.plan.policy_text import policy_toml, with_policy
from reissue.publishing.plan.rehearsal import Rehearsal, TriedSetting, rehearse, try_setting
from reissue.publishing.plan.settings import Limits, Setting, sensible_settings
from reissue.publishing.plan.waves import Dynamics, Waves, continued, read_waves

__all__ = [
    "Beginning",
    "Dynamics",
    "KnownGroups",
    "Limits",
    "Outcome",
    "Plan",
    "Progress",
    "Rehearsal",
    "RehearsalEnd",
    "RehearsedRelease",
    "Setting",
    "Settings",
    "TriedSetting",
    "Waves",
    "begin_series",
    "compare_settings",
    "continued",
    "plan",
    "policy_toml",
    "propose_series",
    "read_waves",
    "rehearse",
    "seconds_of",
    "sensible_settings",
    "try_setting",
    "with_policy",
]
