"""Plan: every sensible way to publish a series tried on its own waves, and the cheapest that stays below the limit."""

from reissue.publishing.plan.outcome import Outcome, Plan, RehearsedRelease
from reissue.publishing.plan.planning import plan
from reissue.publishing.plan.settings import Limits, Setting
from reissue.publishing.plan.waves import Dynamics

__all__ = ["Dynamics", "Limits", "Outcome", "Plan", "RehearsedRelease", "Setting", "plan"]
