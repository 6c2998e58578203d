"""How long a series lasts, before it begins: the simulation is a series of releases, and its refusal is told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.errors import InputError, NotMetError
from reissue.publishing.longevity import Longevity, longevity
from tests.hospital import SCHEMA, T1

TABLE = pl.concat([T1.with_columns(pl.col("owner") + str(copy)) for copy in range(6)])
ASKED: dict[str, Any] = {"e": 2, "form": "permuted", "ineligible": "counterfeits"}


def test_a_simulated_series_is_a_series_of_releases() -> None:
    found = longevity(TABLE, SCHEMA, "simple-l=2", limit=1.0, turnover=0.2, releases=4, **ASKED)
    assert found.lasts == len(found.shares) == 4
    first = ri.anonymize(TABLE, SCHEMA, "simple-l=2", method="equivalence", seed=0, **ASKED)
    assert found.shares[0] == first.counterfeits / TABLE.height
    found.raise_if_short()


def test_a_series_that_does_not_last_is_refused_in_advance() -> None:
    found = longevity(TABLE, SCHEMA, "simple-l=2", limit=0.01, turnover=0.5, releases=30, **ASKED)
    assert found.lasts == len(found.shares) - 1 < 30
    assert found.shares[-1] > 0.01
    with pytest.raises(NotMetError, match="the series lasts"):
        found.raise_if_short()


def test_sentences() -> None:
    assert "at most 5.0% counterfeits" in Longevity((0.0, 0.05), 0.1, "So", 2).sentence
    assert "lasts 1 simulated release" in Longevity((0.0, 0.2), 0.1, "So", 5).sentence
    assert Longevity((0.0,), 0.1, "So", 5, "nothing fits").sentence.endswith("nothing fits.")


def test_what_it_refuses() -> None:
    with pytest.raises(InputError, match="identifier"):
        longevity(TABLE, {"age": "quasi", "disease": "sensitive"}, "simple-l=2")
    with pytest.raises(InputError, match="shares between 0 and 1"):
        longevity(TABLE, SCHEMA, "simple-l=2", turnover=0)
    with pytest.raises(InputError, match="remembers nobody"):
        longevity(TABLE, SCHEMA, "k=2", method="mondrian")


def policy(**keys: Any) -> ri.Schema:
    asked = {"require": "simple-l=2", "method": "equivalence", "options": dict(ASKED), "attacks": ["equivalence"]}
    return replace(SCHEMA, policy={**asked, **keys})


def test_a_ledger_refuses_to_begin_a_series_that_will_run_out_of_counterfeits(tmp_path: Path) -> None:
    with pytest.raises(ri.RefusedError, match=r"lasts .* simulated release.*asks for 30 releases") as refused:
        ri.publish(TABLE, tmp_path / "book", policy(releases=30, turnover=0.5, counterfeits=0.01))
    assert "Randomized values" in str(refused.value)
    assert not (tmp_path / "book").exists()
    ri.publish(TABLE, tmp_path / "book", policy(releases=3, turnover=0.2, counterfeits=1.0))
    assert len(ri.Ledger.open(tmp_path / "book").releases) == 1


def test_a_plan_says_how_long_its_counterfeits_suffice() -> None:
    waves = [TABLE, TABLE.head(30).vstack(TABLE.tail(6).with_columns(owner="new " + pl.col("owner")))]
    setting = ri.Setting("equivalence", "simple-l=2", dict(ASKED))
    asked: dict[str, Any] = {"settings": [setting], "further": 0}
    found = ri.plan(waves, SCHEMA, limit=0.9, counterfeits=1.0, **asked)
    assert "26 simulated releases had at most" in found.lasting or "the series lasts" in found.lasting
    assert found.lasting in found.sentences
