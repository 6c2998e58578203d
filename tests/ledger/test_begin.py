"""A ledger by its place: opened if it is there, begun if not, and never there where nothing came of it."""

from dataclasses import replace
from pathlib import Path

import pytest

import reissue as ri
from reissue.ledger.store import NoLedgerError
from reissue.publishing.turn import ledger_at
from tests.ledger.series import JUDGED, MONTHS, POOL, schema

PLAN = schema(POOL)


def test_publish_takes_a_place(tmp_path: Path) -> None:
    place = tmp_path / "patients.ledger"
    first = ri.publish(MONTHS[0], place, PLAN, date="2026-01-31")
    second = ri.publish(MONTHS[1], str(place), date="2026-02-28")
    assert first.method == second.method == "pool"
    with ri.Ledger.open(place) as ledger:
        assert [one.date for one in ledger.releases] == ["2026-01-31", "2026-02-28"]
        ri.publish(MONTHS[2], ledger, schema=PLAN)
        assert len(ledger.releases) == 3


def test_a_place_without_a_ledger_needs_a_schema(tmp_path: Path) -> None:
    with pytest.raises(NoLedgerError, match="no ledger"):
        ri.publish(MONTHS[0], tmp_path / "patients.ledger")
    assert not list(tmp_path.iterdir())


def test_a_key_may_lie_elsewhere(tmp_path: Path) -> None:
    place, key = tmp_path / "patients.ledger", tmp_path / "safe" / "key"
    key.parent.mkdir()
    ri.publish(MONTHS[0], place, PLAN, key=key)
    assert key.exists()
    assert not place.with_name("patients.ledger.key").exists()


def test_another_schema_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "patients.ledger"
    ri.publish(MONTHS[0], place, PLAN)
    with pytest.raises(ri.InputError, match="not what the ledger"):
        ri.publish(MONTHS[1], place, replace(PLAN, policy={**POOL, "require": "k=9"}))


def test_what_is_refused_or_dry_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "patients.ledger"
    ri.publish(MONTHS[0], place, PLAN, dry_run=True)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ri.NotMetError):
        ri.publish(MONTHS[0], place, schema({**JUDGED, "limit": 0.01, "suppress": 0}))
    assert not list(tmp_path.iterdir())


def test_a_ledger_that_cannot_be_read_is_not_begun_anew(tmp_path: Path) -> None:
    place = tmp_path / "patients.ledger"
    ri.publish(MONTHS[0], place, PLAN)
    for file in place.glob("ledger*"):
        file.unlink()
    with pytest.raises(ri.InputError, match="gone or empty"), ledger_at(place, PLAN):
        pass
