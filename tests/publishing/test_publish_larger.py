"""A table larger than memory in a ledger: kept in parts, judged as in memory, all or nothing, and read again later."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.errors import DataError
from reissue.ledger import Ledger, store
from reissue.publishing.publish import publish, publish_next
from reissue.publishing.publish_folder import publish_folder
from reissue.publishing.refusal import RefusedError
from reissue.publishing.turn import Publication
from reissue.schema import Role
from tests.ledger.series import MONTHS, schema

POLICY: dict[str, Any] = {
    "require": "k=6",
    "method": "mondrian",
    "attacks": ["joint", "updates"],
    "sensitive_values": ["none of these"],
}
STRICT = {**{key: POLICY[key] for key in ("require", "method", "attacks")}, "limit": 0.4}
OPEN = POLICY


def folder_of(month: pl.DataFrame, place: Path, files: int = 3) -> Path:
    """A month as a folder of Parquet, its rows in another order."""
    place.mkdir()
    for number in range(files):
        month[number::files].reverse().write_parquet(place / f"{number}.parquet")
    return place


@pytest.fixture
def series(tmp_path: Path) -> tuple[Ledger, list[Publication]]:
    ledger = Ledger.create(tmp_path / "x.ledger", schema(OPEN))
    data = [folder_of(month, tmp_path / f"month{number}") for number, month in enumerate(MONTHS[:2])]
    return ledger, [publish_folder(one, ledger, fits=40) for one in data]


def test_a_series_in_parts_is_judged_as_one_in_memory(series: tuple[Ledger, list[Publication]], tmp_path: Path) -> None:
    ledger, made = series
    whole = Ledger.create(tmp_path / "whole.ledger", schema(OPEN))
    for number, month in enumerate(MONTHS[:2], start=1):
        found = publish_next(month, whole)
        mine, other = ledger.release(number), whole.release(number)
        parts = list(ledger.parts(mine, "release"))
        assert len(parts) > 2
        assert pl.concat(parts).sort(pl.all()).equals(whole.tables(other)["release"].sort(pl.all()))
        one, two = (
            {f.attack: (f.status, f.people, round(f.worst or 0, 3)) for f in some.findings}
            for some in (made[number - 1], found)
        )
        assert one == two
    assert ledger.verify() == []
    assert [one.rows for one in made] == [month.height for month in MONTHS[:2]]
    # A release in memory goes on after releases in parts, and is judged with them.
    after, beside = publish_next(MONTHS[2], ledger), publish_next(MONTHS[2], whole)
    assert [(f.attack, f.status, f.people) for f in after.findings] == [
        (f.attack, f.status, f.people) for f in beside.findings
    ]


@pytest.mark.parametrize("method", ["pool", "topdown", "incognito"])
@pytest.mark.parametrize("require", ["k=6", "k=4 & l=2"])
def test_other_methods_in_parts(method: str, require: str, tmp_path: Path) -> None:
    policy = schema({**OPEN, "method": method, "require": require})
    ledger = Ledger.create(tmp_path / "parts.ledger", policy)
    # With the same key: so the same people's numbers are drawn.
    shutil.copy(tmp_path / "parts.ledger.key", tmp_path / "whole.ledger.key")
    whole = Ledger.create(tmp_path / "whole.ledger", policy)
    for number, month in enumerate(MONTHS[:2], start=1):
        made = publish_folder(folder_of(month, tmp_path / str(number)), ledger)
        found = publish_next(month, whole)
        shown = pl.concat(ledger.parts(ledger.release(number), "release"))
        assert shown.sort(pl.all()).equals(whole.tables(whole.release(number))["release"].sort(pl.all()))
        for one, other in zip(made.findings, found.findings, strict=True):
            assert (one.attack, one.status, one.people) == (other.attack, other.status, other.people)
            assert one.worst == pytest.approx(other.worst, abs=0.01)
    assert ledger.verify() == []


def test_the_same_table_is_published_once_by_whichever_door(
    series: tuple[Ledger, list[Publication]], tmp_path: Path
) -> None:
    ledger, made = series
    again = publish_folder(folder_of(MONTHS[1], tmp_path / "again", 2), ledger, fits=1000)
    assert (again.again, again.number, again.recorded) == (True, 2, True)
    assert again.findings.as_dict() == made[1].findings.as_dict()
    assert len(ledger.releases) == 2


def test_it_is_exported_byte_for_byte_and_withdrawn(series: tuple[Ledger, list[Publication]], tmp_path: Path) -> None:
    ledger, _ = series
    ledger.export(1, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    for part in manifest["parts"]:
        content = (tmp_path / "out" / part["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == part["sha256"]
        assert "patient" not in pl.read_parquet(content).columns
    assert manifest["rows"] == sum(part["rows"] for part in manifest["parts"]) == MONTHS[0].height
    assert ri.check(tmp_path / "out", schema(OPEN), "k=6", engine="stream").met
    ledger.export(1, tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_bytes()
    assert hashlib.sha256(text).hexdigest() == ledger.release(1).record.csv["release"]
    assert text == ledger.tables(ledger.release(1))["release"].write_csv().encode()
    ledger.export(1, tmp_path / "out.csv.gz")
    ledger.export(1, tmp_path / "out.parquet")
    for name in ("out.csv.gz", "out.parquet"):
        read = pl.read_csv if "csv" in name else pl.read_parquet
        assert read(tmp_path / name).height == manifest["rows"]
    ledger.export(1, tmp_path / "out")  # it is there already, whole
    (tmp_path / "out" / "00001.parquet").write_bytes(b"something else")
    with pytest.raises(ri.InputError, match="is a folder"):
        ledger.export(1, tmp_path / "out")
    ledger.withdraw(2, "a test")
    with pytest.raises(ri.InputError, match="withdrawn"):
        ledger.export(2, tmp_path / "two")


def test_a_changed_or_missing_part_is_found(series: tuple[Ledger, list[Publication]], tmp_path: Path) -> None:
    ledger, _ = series
    parts = [name for what, name in ledger.release(1).files.items() if what.startswith("part.")]
    folder = tmp_path / "x.ledger" / "files"
    (folder / parts[0]).write_bytes(b"something else")
    (folder / parts[1]).unlink()
    found = " ".join(ledger.verify())
    assert "was changed" in found
    assert "is missing" in found
    with pytest.raises(DataError, match="changed after it was written"):
        ledger.export(1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_versions_that_cannot_read_parts_say_so(
    series: tuple[Ledger, list[Publication]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ = series
    other = Ledger.create(tmp_path / "plain.ledger", schema(OPEN))
    publish(MONTHS[0], other)
    monkeypatch.setattr(store, "PARTS", len(store.MIGRATIONS))
    Ledger.open(tmp_path / "plain.ledger").close()
    with pytest.raises(DataError, match="later version"):
        Ledger.open(tmp_path / "x.ledger")


def test_what_cannot_be_judged_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    data = folder_of(MONTHS[0], tmp_path / "data")
    nameless = schema(OPEN).with_roles({"patient": Role.DROP})
    with Ledger.create(tmp_path / "nameless.ledger", nameless) as ledger:
        with pytest.raises(ri.InputError, match="must name an identifier"):
            publish_folder(data, ledger)
        assert ledger.releases == ()
    twice = folder_of(pl.concat([MONTHS[0], MONTHS[0][:1]]), tmp_path / "twice")
    nobody = folder_of(MONTHS[0].with_columns(patient=pl.lit(None, pl.Int64)), tmp_path / "nobody")
    with Ledger.create(tmp_path / "x.ledger", schema(OPEN)) as ledger:
        for wrong, words in ((twice, "not unique"), (nobody, "is missing"), (tmp_path / "none", "reads Parquet")):
            with pytest.raises(ri.InputError, match=words):
                publish_folder(wrong, ledger)
        dry = publish_folder(data, ledger, dry_run=True, fits=40)
        assert not dry.recorded
        assert ledger.releases == ()


def test_an_exposed_release_is_refused(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger", schema({**STRICT, "require": "k=2"})) as ledger:
        with pytest.raises(RefusedError, match="joint"):
            publish_folder(folder_of(MONTHS[0], tmp_path / "data"), ledger, fits=40)
        assert ledger.releases == ()
        assert not [name for name in (tmp_path / "x.ledger" / "files").iterdir() if name.suffix == ".parquet"]


def test_who_fails_at_the_end_leaves_nothing_and_can_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, files = folder_of(MONTHS[0], tmp_path / "data"), tmp_path / "x.ledger" / "files"
    with Ledger.create(tmp_path / "x.ledger", schema(OPEN)) as ledger:
        with monkeypatch.context() as broken:
            broken.setattr(store.Writer, "append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                publish_folder(data, ledger, fits=40)
        assert ledger.releases == ()
        with ledger.store.engine.connect() as connection:
            assert ledger.store.version_by(connection) == len(store.MIGRATIONS)
        left = {one.name for one in files.iterdir()}
        made = publish_folder(data, ledger, fits=60)
        assert (made.number, made.again) == (1, False)
        assert left - {one.name for one in files.iterdir()}
        assert {one.name for one in files.iterdir()} == {
            name for entry in ledger.entries() for name in entry.files.values()
        }
        assert ledger.verify() == []
