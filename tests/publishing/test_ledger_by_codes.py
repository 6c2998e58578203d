"""A ledger fed with codes: whatever a policy asks for, the entries are those of tables in memory, file for file."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.ledger import Ledger, Recorded
from reissue.publishing.publish import publish_next
from reissue.publishing.publish_folder import publish_folder
from reissue.publishing.refusal import RefusedError
from reissue.schema import Role, Schema
from tests.ledger.series import INVARIANCE, MONTHS, schema
from tests.publishing.test_publish_larger import folder_of

CHANGING = list(synth.Population(seed=11, people=150).months(3))
GROWING = [MONTHS[0][:60], MONTHS[0][:100], MONTHS[0]]
OPEN: dict[str, Any] = {
    "attacks": ["joint"],
    "not_run": "allow",
    "sensitive_values": ["none of these"],
    "counterfeits": 1,
}
EQUIVALENCE = {**INVARIANCE, "require": "simple-l=3", "method": "equivalence", "options": {"e": 2}}
SERIES: dict[str, tuple[dict[str, Any], list[pl.DataFrame]]] = {
    "invariance": (dict(INVARIANCE), MONTHS[:3]),
    "equivalence": (EQUIVALENCE, MONTHS[:2]),
    "cohorts": ({**OPEN, "require": "k=5 & l=3", "method": "cohorts", "suppress": 0.2}, CHANGING),
    "cohorts judged": (
        {"require": "k=5 & l=3", "method": "cohorts", "attacks": ["joint"], "suppress": 0.3, "counterfeits": 1},
        CHANGING,
    ),
    "cohorts in two tables": (
        {**OPEN, "require": "k=5", "method": "cohorts", "suppress": 0.2, "options": {"form": "two tables"}},
        CHANGING,
    ),
    "distinct": ({**OPEN, "require": "m-unique=3", "method": "distinct"}, CHANGING[:2]),
    "anatomy": ({**OPEN, "require": "simple-l=3", "method": "anatomy"}, CHANGING[:2]),
    "mask": ({**OPEN, "require": "k=5 & simple-l=2", "method": "mask", "suppress": 0.1}, CHANGING[:2]),
    "providers": ({**OPEN, "require": "k=4", "method": "providers", "attacks": ["joint", "coalition"]}, CHANGING[:2]),
    "correspondence": (
        {**OPEN, "require": "k=4", "method": "correspondence", "attacks": ["joint", "correspondence"]},
        GROWING,
    ),
    "other attacks": (
        {**OPEN, "require": "k=6", "method": "mondrian", "attacks": ["joint", "definetti", "minimality"]},
        MONTHS[:2],
    ),
    "regions": ({**OPEN, "require": "k=6", "method": "pool"}, MONTHS[:2]),
    "cuts": ({**OPEN, "require": "k=4 & l=2", "method": "incognito"}, MONTHS[:2]),
    "tight boxes": ({**OPEN, "require": "k=6", "method": "pool", "boxes": "tight", "suppress": 0.1}, MONTHS[:2]),
}


LONGER = {"cohorts in two tables", "distinct", "equivalence", "mask", "other attacks", "tight boxes"}


def plan(policy: dict[str, Any]) -> Schema:
    """With a kept column, which shows that rows stay together."""
    return schema(policy).with_roles({"kept": Role.KEEP})


def kept(month: pl.DataFrame) -> pl.DataFrame:
    return month.with_columns(kept=pl.col("sex") + pl.lit(" and more text"))


def said(one: Recorded) -> dict[str, Any]:
    """All that an entry says, but when it was written, and how its tables lie in files."""
    files = {what: name for what, name in one.files.items() if not what.startswith(("part.", "table."))}
    return {**one.record.as_json(), "files": files, "time": None}


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (one in LONGER)) for one in SERIES])
def test_entries_are_those_of_tables_in_memory(name: str, tmp_path: Path) -> None:
    policy, months = SERIES[name]
    codes = Ledger.create(tmp_path / "codes.ledger", plan(policy))
    shutil.copy(tmp_path / "codes.ledger.key", tmp_path / "whole.ledger.key")
    whole = Ledger.create(tmp_path / "whole.ledger", plan(policy))
    for number, month in enumerate(map(kept, months), start=1):
        data = folder_of(month, tmp_path / f"month{number}")
        found = publish_next(month, whole)
        made = publish_folder(data, codes, fits=40)
        assert said(codes.release(number)) == said(whole.release(number))
        assert (made.number, made.warnings) == (number, found.warnings)
        assert made.findings.as_dict() == found.findings.as_dict()
        for table, frame in whole.tables(whole.release(number)).items():
            parts = list(codes.parts(codes.release(number), table))
            assert pl.concat(parts).equals(frame)
            assert max(part.height for part in parts) <= 40
        again = publish_folder(data, codes)
        assert (again.again, again.number) == (True, number)
    assert codes.verify() == []
    codes.export(1, tmp_path / "out")
    codes.export(1, tmp_path / "out.csv")
    whole.export(1, tmp_path / "other.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    assert ri.check(tmp_path / "out", plan(policy), policy["require"], engine="stream").met


def test_a_series_may_change_between_memory_and_codes(tmp_path: Path) -> None:
    policy, months = SERIES["cohorts"]
    codes = Ledger.create(tmp_path / "codes.ledger", plan(policy))
    shutil.copy(tmp_path / "codes.ledger.key", tmp_path / "whole.ledger.key")
    whole = Ledger.create(tmp_path / "whole.ledger", plan(policy))
    for number, month in enumerate(map(kept, months), start=1):
        publish_next(month, whole)
        if number == 2:
            publish_next(month, codes)
        else:
            publish_folder(folder_of(month, tmp_path / f"{number}"), codes, fits=60)
    assert [said(one) for one in codes.releases] == [said(one) for one in whole.releases]


def test_what_is_refused_in_memory_is_refused_by_codes(tmp_path: Path) -> None:
    strict = {"require": "k=3", "method": "anatomy", "attacks": ["joint"], "limit": 0.2}
    month = kept(CHANGING[0])
    for number, policy in enumerate([{**strict, "require": "simple-l=2"}, {**strict, "require": "simple-l=30"}]):
        codes = Ledger.create(tmp_path / f"{number}.ledger", plan(policy))
        shutil.copy(tmp_path / f"{number}.ledger.key", tmp_path / f"{number}whole.ledger.key")
        whole = Ledger.create(tmp_path / f"{number}whole.ledger", plan(policy))
        with pytest.raises((RefusedError, ri.InputError)) as one:
            publish_next(month, whole)
        with pytest.raises(type(one.value)) as other:
            publish_folder(folder_of(month, tmp_path / f"data{number}"), codes)
        assert str(one.value) == str(other.value)
        assert codes.releases == ()
        assert not [file for file in (tmp_path / f"{number}.ledger" / "files").iterdir() if file.suffix == ".parquet"]
