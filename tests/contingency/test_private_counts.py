"""Differentially private counts: their noise, the budget of a ledger, and what happens without the extra."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.contingency import CountTable
from reissue.contingency.noise import private_counts
from reissue.contingency.protection import protector_from
from reissue.publishing.refusal import RefusedError
from reissue.publishing.tables import publish_table, tabulated

POLICY = {"require": "k=2", "attacks": ["differencing"], "epsilon": 1.0, "not_run": "allow"}
ROLES = {"patient": "identifier", "sex": "quasi", "disease": "sensitive", "policy": POLICY}


def people() -> pl.DataFrame:
    number = range(400)
    columns = {"patient": [f"p{n}" for n in number], "sex": ["fm"[n % 2] for n in number]}
    return pl.DataFrame(columns | {"disease": [("flu", "HIV")[n % 3 == 0] for n in number]})


def test_the_noise_has_the_scale_that_the_budget_asks_for() -> None:
    pytest.importorskip("opendp")
    cells = pl.DataFrame({"cell": [str(n) for n in range(4000)]})
    (made,) = private_counts([CountTable.of("count", cells, [1000] * 4000)], 0.5)
    assert made.shown is not None
    noise = made.shown - 1000
    assert abs(float(np.abs(noise).mean()) - 2.0) < 0.2, "the mean size of Laplace noise is its scale, one margin / 0.5"
    assert ((made.low <= 1000) & (made.high >= 1000)).all()
    two = private_counts([CountTable.of("count", cells, [1000] * 4000)] * 2, 0.5)
    assert abs(float(np.abs((two[0].shown if two[0].shown is not None else noise) - 1000).mean()) - 4.0) < 0.4


def test_a_ledger_adds_up_the_budget_and_refuses_beyond_it(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    schema = ri.Schema.read(ROLES)
    with ri.Ledger.create(tmp_path / "ledger", schema) as ledger:

        def publish(budget: str) -> None:
            tables, frame = tabulated(people(), schema, [["sex", "disease"]], protection=budget, key=ledger.key)
            publish_table(tables, ledger, register=people(), shown=frame, protection=budget)

        publish("dp=0.6")
        publish("dp=0.4")
        assert [one.record.promises for one in ledger.releases] == [{"epsilon": 0.6}, {"epsilon": 0.4}]
        with pytest.raises(RefusedError, match="0 is left of the policy's epsilon of 1"):
            publish("dp=0.1")
        assert len(ledger.releases) == 2


def test_without_the_extra_or_with_several_rows_of_a_person_there_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = ri.Schema.read(ROLES)
    with pytest.raises(ri.InputError, match="one row for each person"):
        tabulated(pl.concat([people(), people()]), schema, [["sex"]], protection="dp=1")
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ri.InputError, match=r"reissue\[dp\]"):
        tabulated(people(), schema, [["sex"]], protection="dp=1")
    for wrong in ("dp", "dp=0", "dp=-1", "dp=nan", "dp=1e3"):
        with pytest.raises(ri.InputError):
            protector_from(wrong)
