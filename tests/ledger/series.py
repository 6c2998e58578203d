"""A small series for tests: patients of three months whose diseases stay, and policies for it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from reissue import synth
from reissue.schema import Schema

__all__ = ["FREE", "INVARIANCE", "MONTHS", "POOL", "schema"]


def _months(people: int, number: int) -> list[pl.DataFrame]:
    """Months in which everybody keeps the disease of the first one."""
    frames = list(synth.Population(seed=11, people=people).months(number))
    first = pl.concat(frames).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    return [frame.drop("disease").join(first, on="patient", maintain_order="left") for frame in frames]


MONTHS = _months(150, 4)
FREE: Mapping[str, Any] = {"limit": 1, "not_run": ["joint"], "counterfeits": 1}
"""Whatever the joint attack says, nothing is refused: for tests of something else."""
INVARIANCE: Mapping[str, Any] = {
    "require": "m-unique=3",
    "method": "invariance",
    "counterfeits": 1,
    "attacks": ["updates", "equivalence"],
    "limits": {"equivalence": 1},
}
POOL: Mapping[str, Any] = {
    "require": "k=5",
    "attacks": ["updates"],
    "limits": {"updates": 1.0},
    "limit": 1,
    "not_run": ["joint"],
}
"""Every release by itself, and nothing refused."""


def schema(policy: Mapping[str, Any]) -> Schema:
    """The patients' schema with a policy."""
    return replace(synth.schema(), policy=dict(policy), updates={})
