"""The same table by a second implementation: pycanon, run where it is installed, and what its version 1.3.6 printed."""

import importlib
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.published import read_published
from reissue.verify import log_ratio, read_groups

ROWS = [(i % 5 // 2, i % 3, "abcd"[(i * i + i // 7) % 4]) for i in range(60)]
TABLE = pl.DataFrame(ROWS, schema=["x", "y", "s"], orient="row").cast(pl.String)
SCHEMA = ri.Schema.of_columns(quasi=["x", "y"], sensitive=["s"])
PRINTED = {"k": 4, "l": 2, "alpha-k": 0.75, "t": 0.5333333333333333, "beta": 1.5, "delta": 0.9162907318741551}
"""pycanon's delta looks only at the values that a group has; by the definition a group must have all."""


def measured() -> dict[str, float | None]:
    found = ri.check(TABLE, SCHEMA)
    delta = log_ratio(read_groups(read_published(TABLE, SCHEMA))).max()
    assert isinstance(delta, float)
    return {name: found[name] for name in ("k", "l", "alpha-k", "t", "beta")} | {"delta": delta}


def test_what_pycanon_printed() -> None:
    assert measured() == pytest.approx(PRINTED)


def test_pycanon_itself() -> None:
    pytest.importorskip("pycanon", reason="pycanon is not installed; it needs an older NumPy than ours")
    theirs: Any = importlib.import_module("pycanon.anonymity")
    frame, quasi = TABLE.to_pandas(), ["x", "y"]
    found = {
        "k": theirs.k_anonymity(frame, quasi),
        "l": theirs.l_diversity(frame, quasi, ["s"]),
        "alpha-k": theirs.alpha_k_anonymity(frame, quasi, ["s"])[0],
        "t": theirs.t_closeness(frame, quasi, ["s"]),
        "beta": theirs.basic_beta_likeness(frame, quasi, ["s"]),
        "delta": theirs.delta_disclosure(frame, quasi, ["s"]),
    }
    assert found == pytest.approx(measured())
