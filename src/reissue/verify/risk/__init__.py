"""Risk of re-identification in the numbers that regulators ask for: attackers, population, households, presets."""

from reissue.verify.risk.measure import (
    PRESETS,
    GroupRisk,
    Preset,
    Risk,
    RiskInputs,
    find_preset,
    measure_people,
    measure_risk,
)
from reissue.verify.risk.models import Attacker

__all__ = [
    "PRESETS",
    "Attacker",
    "GroupRisk",
    "Preset",
    "Risk",
    "RiskInputs",
    "find_preset",
    "measure_people",
    "measure_risk",
]
