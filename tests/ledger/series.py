"""A small series for tests: patients of three months whose diseases stay, and policies for it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from reissue import synth
from reissue.schema import Schema

__all__ = ["FREE", "HARMLESS", "INVARIANCE", "JUDGED", "MONTHS", "POOL", "UNJUDGED", "schema"]


def _months(people: int, number: int) -> list[pl.DataFrame]:
    """Months in which everybody keeps the disease of the first one."""
    frames = list(synth.Population(seed=11, people=people).months(number))
    first = pl.concat(frames).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    return [frame.drop("disease").join(first, on="patient", maintain_order="left") for frame in frames]


MONTHS = _months(150, 4)
HARMLESS: Mapping[str, Any] = {"harmless_values": sorted(pl.concat(MONTHS)["disease"].unique())}
FREE: Mapping[str, Any] = {**HARMLESS, "counterfeits": 1}
"""No value needs protection, so nothing is refused: for tests of something else."""
INVARIANCE: Mapping[str, Any] = {
    "require": "m-unique=3",
    "method": "invariance",
    "counterfeits": 1,
    "attacks": ["updates", "equivalence"],
    "limits": {"equivalence": 1},
}
UNJUDGED: Mapping[str, Any] = {"limit": 1, "not_run": ["joint"], "counterfeits": 1}
"""Not judged by the joint attack: for tests of another one."""
JUDGED: Mapping[str, Any] = {**UNJUDGED, "require": "k=5", "attacks": ["updates"]}
"""Every release by itself, and judged by the paper's update attack alone."""
POOL: Mapping[str, Any] = {
    "require": "k=5",
    "attacks": ["updates"],
    **HARMLESS,
}
"""Every release by itself, and nothing refused."""


def schema(policy: Mapping[str, Any]) -> Schema:
    """The patients' schema with a policy."""
    return replace(synth.schema(), policy=dict(policy), updates={})
