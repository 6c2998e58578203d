"""What a ledger keeps of who is in which group is the release's own presences, without who has which value."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.errors import DataError
from reissue.ledger import Ledger, ReleaseRecord
from reissue.ledger.pack import pack_presences, unpack_presences
from reissue.publishing.anonymize import anonymize
from reissue.publishing.candidate import Candidate
from reissue.publishing.publish import publish
from reissue.release.presences import Presences, presences_of
from reissue.release.release import Release
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema

PLAN = schema(INVARIANCE)


def released(method: str, **options: Any) -> Release:
    asked = {"equivalence": "simple-l=2", "pool": "k=2", "cohorts": "k=2"}[method]
    return anonymize(MONTHS[0], PLAN, asked, method=method, seed=1, **options)


def told(known: Presences) -> tuple[object, ...]:
    """Everything that it says, in an order that does not depend on the order of its records."""
    people = sorted(zip(known.ids.to_list(), known.group.tolist(), strict=True))
    assert known.others is not None
    others = [] if known.lasting is None else sorted(zip(known.lasting.to_list(), known.others.tolist(), strict=True))
    shown = [part.tolist() for part in (known.histogram.group, known.histogram.value, known.histogram.count)]
    seats = None if known.seats is None else sorted(zip(known.records.tolist(), known.seats.tolist(), strict=True))
    return people, others, sorted(known.others.tolist()), shown, known.histogram.names, seats


@pytest.mark.parametrize(
    ("method", "options"),
    [("pool", {}), ("equivalence", {"e": 5, "k": 2, "ineligible": "counterfeits"}), ("cohorts", {"size": 2})],
)
def test_presences_are_kept_as_they_were(method: str, options: dict[str, Any]) -> None:
    release = released(method, **options)
    own = presences_of(release)
    assert own is not None
    assert told(unpack_presences(pack_presences(release))) == told(own)


def test_of_some_people_only_their_groups_are_known() -> None:
    release = released("equivalence", e=5, k=2, ineligible="counterfeits")
    whole, some = presences_of(release), MONTHS[0]["patient"].head(3)
    assert whole is not None
    part = unpack_presences(pack_presences(release), some)
    assert set(part.ids.to_list()) == set(some.to_list())
    mine = np.unique(whole.group[whole.ids.is_in(some.implode()).to_numpy()])
    assert np.array_equal(np.unique(part.records), mine)
    assert len(part.records) == np.isin(whole.records, mine).sum()
    assert part.histogram.count.sum() == len(part.records)
    assert part.lasting is None


def test_without_identifiers_there_is_none() -> None:
    nameless = MONTHS[0].drop("patient")
    plan = schema({}).with_roles({"patient": "drop"})
    assert presences_of(anonymize(nameless.with_columns(pl.lit(0).alias("patient")), plan, "k=2", seed=1)) is None
    harmless = schema({}).with_roles({"disease": "drop"})
    assert presences_of(anonymize(MONTHS[0], harmless, "k=2", seed=1)) is None


def test_a_ledger_that_calls_it_by_its_old_name_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = Candidate.record

    def earlier(self: Candidate, *arguments: Any) -> ReleaseRecord:
        record = now(self, *arguments)
        return replace(record, files={what.replace("roster", "standing"): name for what, name in record.files.items()})

    with monkeypatch.context() as patch:
        patch.setattr(Candidate, "record", earlier)
        publish(MONTHS[0], tmp_path / "old.ledger", schema(POOL))
    with Ledger.open(tmp_path / "old.ledger") as ledger:
        first = ledger.release(1)
        assert "standing" in first.record.files
        assert ledger.published(first, ledger.schema).presences is not None
        publish(MONTHS[1], ledger)
        assert "roster" in ledger.release(2).record.files
        changed = MONTHS[2].with_columns(pl.format("{}-other", "patient").alias("patient"))
        with pytest.raises(DataError, match="among the"):
            publish(changed, ledger)
