"""Risk of re-identification in the numbers that regulators ask for: attackers, population, households, presets."""

from reissue.verify.risk.attackers import Attacker
from reissue.verify.risk.measure import GroupRisk, Risk, RiskInputs, measure_people, measure_risk
from reissue.verify.risk.presets import PRESETS, Preset, find_preset

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
