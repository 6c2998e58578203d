"""The ledger: entries that hold on to each other, keys, and recall. All on SQLite and on PostgreSQL."""

import hashlib
import stat
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from reissue.errors import DataError, InputError, SchemaError
from reissue.ledger import Key, Ledger, TrustOutcome, broken, canonical, entry_after
from reissue.ledger.store import PARTS, NoLedgerError
from reissue.publishing.publish import publish
from reissue.schema import Schema
from tests.ledger.conftest import KEY, Begin
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema
from tests.ledger.tamper import run, unguard
from tests.silence import refused


def test_a_series_is_recorded_and_recalled(begin: Begin, place: str, tmp_path: Path) -> None:
    ledger = begin(INVARIANCE)
    made = [publish(month, ledger) for month in MONTHS[:3]]
    assert [one.number for one in ledger.releases] == [1, 2, 3]
    assert ledger.verify() == []
    with Ledger.open(place) as again:
        for one, release in zip(again.releases, made, strict=True):
            assert again.tables(one)["release"].equals(release.frame)
            assert one.record.findings["verdict"] in {"incomplete", "withstood"}
        assert again.schema.policy == schema(INVARIANCE).policy
        paths = again.export(2, tmp_path / "two.csv")
        assert Path(paths[0]).read_bytes() == release_csv(made[1].frame)
        again.export(2, tmp_path / "two.parquet")
        assert pl.read_parquet(tmp_path / "two.parquet").equals(made[1].frame)
        again.export(2, tmp_path / "again.parquet")
        assert (tmp_path / "two.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
        again.export(2, tmp_path / "two.csv.gz")
        for name in ("two.csv", "two.csv.gz", "two.parquet"):
            assert again.contents(2, name)[0] == (tmp_path / name).read_bytes()
        assert again.contents(2, "two.xlsx") == []
        assert pl.read_csv(tmp_path / "two.csv.gz").height == made[1].frame.height
        with pytest.raises(InputError, match="releases 1 to 3"):
            again.release(4)
        with pytest.raises(InputError, match="exists already"):
            again.export(2, tmp_path / "two.csv")


def release_csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def test_verify_finds_any_changed_row(begin: Begin) -> None:
    ledger = begin(POOL)
    for month in MONTHS[:2]:
        publish(month, ledger)
    head = ledger.entries()[-1].hash
    assert ledger.verify(head) == []
    with pytest.raises(InputError, match="never changed"), ledger.writing() as writer:
        writer.connection.execute(sa.text("UPDATE entry SET kind = 'begin' WHERE number = 2"))
    assert ledger.verify(head) == []
    unguard(ledger)
    run(ledger, "UPDATE entry SET content = replace(content, '\"suppressed\":0', '\"suppressed\":1') WHERE number = 2")
    assert ledger.verify() == ["Entry 2 was changed after it was written."]
    run(ledger, "UPDATE entry SET content = replace(content, '\"suppressed\":1', '\"suppressed\":0') WHERE number = 2")
    assert ledger.verify() == []
    run(ledger, "DELETE FROM entry WHERE number = 3")
    assert "The entry with the given hash is not in the ledger: it was rewritten, or cut short." in ledger.verify(head)
    run(ledger, "DELETE FROM entry WHERE number = 1")
    assert "Entry 1 is missing" in ledger.verify()[0]


def test_a_rewritten_entry_breaks_the_next_one() -> None:
    begun = {"format": 1, "check": "", "series": "", "schema": "", "files": {}}
    first = entry_after(None, "begin", begun)
    second = entry_after(first, "schema", {"schema": "", "files": {}})
    assert broken([first, second]) == []
    other = entry_after(None, "begin", {**begun, "schema": "x"})
    assert broken([other, second]) == ["Entry 2 does not follow from the entry before it."]


def test_canonical_text_has_nothing_to_choose() -> None:
    assert canonical({"b": [1, 2.5], "a": "é"}) == '{"a":"\\u00e9","b":[1,2.5]}'


def test_verify_finds_any_changed_file(begin: Begin) -> None:
    ledger = begin(INVARIANCE)
    for month in MONTHS:
        publish(month, ledger)
    ledger.verify()
    one = ledger.release(1)
    name = one.files["table.release"]
    if ledger.store.folder is not None:
        path = ledger.store.folder / name
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"x")
        assert ledger.verify() == ["Entry 2: the file of table.release was changed."]
        with pytest.raises(DataError, match="was changed after it was written"):
            ledger.export(1, ledger.store.folder.parent / "out.csv")
        path.unlink()
    else:
        run(ledger, f"UPDATE file SET content = 'x' WHERE name = '{name}'")  # noqa: S608
        assert ledger.verify() == ["Entry 2: the file of table.release was changed."]
        run(ledger, f"DELETE FROM file WHERE name = '{name}'")  # noqa: S608
    assert ledger.verify() == ["Entry 2: the file of table.release is missing."]


def test_replaced_memories_and_states_are_removed_and_not_missed(begin: Begin) -> None:
    ledger = begin(INVARIANCE)
    for month in MONTHS:
        publish(month, ledger)
    assert ledger.verify() == []
    with pytest.raises(DataError):
        ledger.store.read(ledger.release(1).files["memory"])
    assert ledger.store.read(ledger.release(4).files["memory"])
    assert [what for what in ledger.release(4).files if what.startswith("state.")] == ["state.joint"]
    assert ledger.store.read(ledger.release(4).files["state.joint"])
    with pytest.raises(DataError):
        ledger.store.read(ledger.release(2).files["state.joint"])


def test_a_wrong_key_is_recognized(begin: Begin, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin(POOL)
    publish(MONTHS[0], ledger)
    monkeypatch.setenv("REISSUE_KEY", "Xanthippe and her eleven quick dogs")
    with Ledger.open(place) as other:
        assert other.trust().outcome == TrustOutcome.NOT_PROVABLE
        assert "not that of this ledger" in " ".join(other.verify())
        message = refused(InputError, lambda: publish(MONTHS[1], other), ["Xanthippe"])
        assert "not the key" in message
        assert len(other.releases) == 1
    monkeypatch.setenv("REISSUE_KEY", "short")
    with Ledger.open(place) as other, pytest.raises(InputError, match="32 characters"):
        publish(MONTHS[1], other)


def test_the_key_lies_beside_the_ledger_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "x.ledger", schema(POOL)).close()
    key = tmp_path / "x.ledger.key"
    assert stat.S_IMODE((tmp_path / "x.ledger").stat().st_mode) == 0o700
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_text().strip()) == 64
    key.unlink()
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        message = refused(InputError, lambda: publish(MONTHS[0], ledger))
        assert "no key file" in message


def test_pseudonyms_are_keyed_and_do_not_look_at_types() -> None:
    key = Key(KEY.encode())
    texts, numbers = key.pseudonyms(pl.Series("p", ["1", "2"])), key.pseudonyms(pl.Series("p", [1, 2]))
    assert texts.equals(numbers)
    assert texts.n_unique() == 2
    assert not texts.equals(Key(b"x" * 64).pseudonyms(pl.Series("p", ["1", "2"])))
    assert KEY not in repr(key)


def test_what_is_not_there_cannot_be_opened(place: str, tmp_path: Path) -> None:
    message = refused(NoLedgerError, lambda: Ledger.open(place))
    assert "no ledger" in message
    assert "no ledger" in refused(NoLedgerError, lambda: Ledger.open(tmp_path / "nowhere"))
    assert "folder or in PostgreSQL" in refused(InputError, lambda: Ledger.open("mysql://somebody@somewhere/x"))


def test_a_ledger_is_not_begun_twice(begin: Begin, place: str) -> None:
    begin(POOL)
    with pytest.raises(InputError, match="already"):
        Ledger.create(place, schema(POOL))


def test_a_later_versions_ledger_is_refused(begin: Begin, place: str) -> None:
    ledger = begin(POOL)
    run(ledger, f"INSERT INTO migration VALUES ({PARTS + 1})")  # noqa: S608
    with pytest.raises(DataError, match="later version"):
        Ledger.open(place)


def test_an_earlier_versions_ledger_is_brought_up_to_date(begin: Begin, place: str) -> None:
    ledger = begin(POOL)
    unguard(ledger)
    if not ledger.store.embedded:
        run(ledger, "DROP FUNCTION entry_guard")
    run(ledger, "DELETE FROM migration WHERE number = 2")
    with Ledger.open(place) as again:
        refused(InputError, lambda: _delete(again))


def _delete(ledger: Ledger) -> None:
    with ledger.writing() as writer:
        writer.connection.execute(sa.text("DELETE FROM entry"))


def test_no_file_of_a_schema_is_needed_later(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "schema"
    folder.mkdir()
    (folder / "job.csv").write_text("doctor;work;*\nclerk;work;*\n")
    (folder / "updates.csv").write_text("from,to\nflu,asthma\n")
    text = '[columns]\np="identifier"\njob="quasi"\nill="sensitive"\n[taxonomy.job]\nfile="job.csv"\n'
    plan = Schema.loads(
        text + '[updates]\nfile="updates.csv"\n[policy]\nrequire="k=2"\nattacks=[]\nalone=true\nlimit=1\n', folder
    )
    frame = pl.DataFrame({"p": range(4), "job": ["doctor", "clerk"] * 2, "ill": ["flu", "flu", "asthma", "flu"]})
    with Ledger.create(place, plan) as ledger:
        assert not ledger.differs(plan)
        for path in folder.iterdir():
            path.unlink()
        publish(frame, ledger)
        assert ledger.verify() == []
    with Ledger.open(place) as ledger:
        assert publish(frame.head(3), ledger).groups
        hierarchy = ledger.schema.hierarchies["job"]
        assert hierarchy.file is not None
        assert hashlib.sha256(hierarchy.file.read_bytes()).hexdigest() in hierarchy.file.name


def test_learned_updates_are_kept_but_not_what_they_were_learned_from(tmp_path: Path) -> None:
    for number, ill in enumerate((["flu", "flu"], ["flu", "asthma"])):
        pl.DataFrame({"p": ["Xanthippe", "Yorick"], "ill": ill}).write_csv(tmp_path / f"{number}.csv")
    text = '[columns]\np="identifier"\njob="quasi"\nill="sensitive"\n[updates]\nhistory=["0.csv","1.csv"]\n'
    plan = Schema.loads(text + '[policy]\nrequire="k=2"\n', tmp_path)
    with Ledger.create(tmp_path / "x.ledger", plan) as ledger:
        assert "file" in ledger.schema.updates
        held = b"".join(path.read_bytes() for path in (tmp_path / "x.ledger").rglob("*") if path.is_file())
        assert b"asthma" in held
        assert b"Xanthippe" not in held


def test_policies_change_and_columns_do_not(begin: Begin) -> None:
    ledger = begin(POOL)
    assert not ledger.amend(schema(POOL))
    assert ledger.amend(schema({**POOL, "require": "k=7"}))
    assert str(ledger.policy.require) == "k=7"
    assert ledger.differs(schema(POOL))
    with pytest.raises(SchemaError, match="stay what they are"):
        ledger.amend(schema(POOL).with_roles({"zip": "drop"}))
    assert ledger.verify() == []
    assert [entry.kind for entry in ledger.entries()] == ["begin", "schema"]
