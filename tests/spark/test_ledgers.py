"""Ledgers fed from Spark: the entries are those of the same tables from files, and nothing is left on the way."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.ledger import Ledger
from reissue.publishing.publish import publish, publish_next
from reissue.publishing.publish_folder import publish_folder
from reissue.publishing.refusal import RefusedError
from reissue.publishing.turn import Publication
from reissue.schema import Schema
from tests.ledger.series import MONTHS, schema
from tests.publishing import test_ledger_by_codes as by_codes
from tests.publishing.test_publish_larger import OPEN, STRICT, folder_of
from tests.spark.test_spark import given, kept, killer

REGIONS: dict[str, tuple[dict[str, Any], list[pl.DataFrame]]] = {
    method: ({**OPEN, "method": method}, MONTHS[:2]) for method in ("mondrian", "pool", "topdown")
}
CODES = {name: by_codes.SERIES[name] for name in ("invariance", "cohorts judged", "anatomy", "correspondence", "mask")}


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private copies lie while a release is made."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def two_ledgers(place: Path, plan: Schema) -> tuple[Ledger, Ledger]:
    """With the same key."""
    one = Ledger.create(place / "one.ledger", plan)
    shutil.copy(place / "one.ledger.key", place / "other.ledger.key")
    return one, Ledger.create(place / "other.ledger", plan)


@pytest.mark.parametrize("name", [*REGIONS, *CODES])
def test_entries_are_those_of_tables_in_files(spark: Any, name: str, tmp_path: Path, scratch: Path) -> None:
    policy, months = {**REGIONS, **CODES}[name]
    mine, files = two_ledgers(tmp_path, by_codes.plan(policy))
    fits = None if name == "pool" else 40  # regions are its own
    for number, month in enumerate(map(by_codes.kept, months), start=1):
        right = publish_folder(folder_of(month, tmp_path / f"month{number}"), files, fits=fits)
        made = publish_folder(given(spark, month, 2 * number), mine, engine="spark", fits=fits)
        one, other = (ledger.release(number).record.as_json() for ledger in (mine, files))
        assert {**one, "time": None} == {**other, "time": None}
        assert (made.rows, made.groups, made.warnings) == (right.rows, right.groups, right.warnings)
    assert mine.verify() == []
    assert not list(scratch.iterdir())
    assert kept(spark) == 0


def test_publish_takes_a_frame_as_it_is(spark: Any, tmp_path: Path) -> None:
    """It begins a ledger, knows the table again, and memory, files and Spark take turns."""
    place, plan = tmp_path / "x.ledger", schema(OPEN)
    first: Any = publish(given(spark, MONTHS[0]), place, plan)
    assert isinstance(first, Publication)
    assert (first.number, first.recorded, first.again) == (1, True, False)
    again: Any = publish(given(spark, MONTHS[0], 7), place)
    assert (again.number, again.again) == (1, True)
    assert again.findings.as_dict() == first.findings.as_dict()
    with Ledger.open(place) as ledger:
        assert publish_next(MONTHS[1], ledger).number == 2
        folder = folder_of(MONTHS[2], tmp_path / "folder")
        assert publish_folder(folder, ledger, engine="spark").number == 3
        assert publish_folder(folder, ledger, engine="stream").again
        ledger.export(3, tmp_path / "out")
        assert ledger.verify() == []
    assert (tmp_path / "out" / "_manifest.json").is_file()
    assert ri.check(spark.read.parquet(str(tmp_path / "out" / "*.parquet")), plan, "k=6").met


def test_wrong_tables_are_refused_and_nothing_stays(spark: Any, tmp_path: Path, scratch: Path) -> None:
    from pyspark.sql import functions

    month, plan = MONTHS[0], schema(OPEN)
    failing = given(spark, month).withColumn("job", functions.raise_error(functions.lit("secret-value")).cast("string"))
    cases: list[tuple[Any, str]] = [
        (given(spark, month.drop("patient")), "lacks: patient"),
        (given(spark, pl.concat([month, month[:1]])), "not unique"),
        (given(spark, month.with_columns(patient=pl.lit(None, pl.Int64))), "is missing"),
        (given(spark, month.clear()), "no rows"),
        (failing, "Spark could not finish reading the table"),
    ]
    for data, words in cases:
        with pytest.raises(ri.InputError, match=words) as problem:
            publish(data, tmp_path / "x.ledger", plan)
        assert "secret" not in str(problem.value)
        assert [one.name for one in tmp_path.iterdir()] == ["scratch"], "the ledger was never there"
    assert not list(scratch.iterdir())
    publish(given(spark, month), tmp_path / "x.ledger", plan)
    other: list[tuple[pl.DataFrame, str]] = [
        (MONTHS[1].with_columns(pl.col("age").cast(pl.String)), "another type than in release 1"),
        (MONTHS[1].drop("age"), "lacks: age"),
        (MONTHS[1].with_columns(pl.col("patient") + 10**6), "are among the"),
    ]
    for table, words in other:
        with pytest.raises(ri.InputError, match=words):
            publish(given(spark, table), tmp_path / "x.ledger")
    with pytest.raises(ri.InputError, match="is not what the ledger"):
        publish(given(spark, MONTHS[1]), tmp_path / "x.ledger", schema({**OPEN, "require": "k=2"}))
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert len(ledger.releases) == 1
        assert ledger.verify() == []
    assert not list(scratch.iterdir())


def test_an_exposed_release_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="joint"):
        publish(given(spark, MONTHS[0]), tmp_path / "x.ledger", schema({**STRICT, "require": "k=2"}))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("policy", ["mondrian", "invariance"])
def test_an_executor_killed_on_the_way(spark: Any, policy: str, tmp_path: Path) -> None:
    asked, months = {**REGIONS, **CODES}[policy]
    mine, files = two_ledgers(tmp_path, by_codes.plan(asked))
    month = by_codes.kept(months[0])
    publish_folder(folder_of(month, tmp_path / "month"), files, fits=40)
    frame = given(spark, month, 12)
    thread, killed = killer(spark)
    thread.start()
    publish_folder(frame, mine, engine="spark", fits=40)
    thread.join()
    one, other = (ledger.release(1).record.as_json() for ledger in (mine, files))
    assert {**one, "time": None} == {**other, "time": None}
    assert killed


KILLED = """
import os, signal, sys
from reissue.engines.spark.session import running_session
from reissue.ledger import Ledger
from reissue.publishing.publish_folder import publish_folder

def progress(share):
    if share >= float(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

with running_session("local[1]", {"spark.sql.shuffle.partitions": "1"}):
    publish_folder("month", Ledger.open("x.ledger"), engine="spark", fits=40, progress=progress)
"""


@pytest.mark.parametrize(("policy", "share"), [("mondrian", 0.55), ("invariance", 0.2)])
def test_a_killed_publisher_leaves_no_half(spark: Any, policy: str, share: float, tmp_path: Path) -> None:
    """Copies that it could not remove go away with the next who works there."""
    _ = spark
    asked, months = {**REGIONS, **CODES}[policy]
    scratch, data = tmp_path / "scratch", folder_of(by_codes.kept(months[0]), tmp_path / "month")
    scratch.mkdir()
    Ledger.create(tmp_path / "x.ledger", by_codes.plan(asked)).close()
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED, str(share)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    with Ledger.open(tmp_path / "x.ledger") as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        assert ledger.releases == ()
        assert [one.name for one in scratch.iterdir() if one.name.startswith("reissue-")]
        assert publish_folder(data, ledger, fits=40).number == 1
        assert ledger.verify() == []
    assert not [one.name for one in scratch.iterdir() if one.name.startswith("reissue-")]
