"""What is known of a ledger apart from it: nothing is cut off its end, lost or written anew without being noticed."""

import json
import shutil
import stat
from pathlib import Path

import pytest

from reissue.errors import DataError, InputError
from reissue.ledger import Ledger, TrustOutcome, entry_after
from reissue.ledger.head import head_file, read_head
from reissue.publishing.publish import publish, publish_next
from tests.ledger.conftest import KEY, Begin
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema
from tests.ledger.tamper import put, rewrite, run, unguard
from tests.silence import refused


@pytest.fixture
def head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the head goes, also of a ledger in PostgreSQL."""
    monkeypatch.setenv("REISSUE_HEAD", str(tmp_path / "apart.head"))
    return tmp_path / "apart.head"


@pytest.fixture
def two(head: Path, begin: Begin) -> Ledger:
    """A ledger with two releases, and its head."""
    ledger = begin(POOL)
    for month in MONTHS[:2]:
        publish(month, ledger)
    assert json.loads(head.read_text())["hash"] == ledger.entries()[-1].hash
    return ledger


def refusals(ledger: Ledger) -> str:
    """What everyone says who would go on with a ledger, and verify too."""
    said = refused(DataError, lambda: publish(MONTHS[2], ledger))
    assert said == refused(DataError, lambda: publish_next(MONTHS[2], ledger, dry_run=True))
    assert said == refused(DataError, lambda: ledger.amend(schema({**POOL, "require": "k=9"})))
    assert any(problem in said for problem in ledger.verify())
    assert "Restore" in said
    return said


def test_entries_cut_off_the_end_are_missed(two: Ledger, head: Path) -> None:
    unguard(two)
    run(two, "DELETE FROM entry WHERE number = 3")
    assert "the last 1 of 3 entries is missing" in refusals(two)
    run(two, "DELETE FROM entry WHERE number = 2")
    assert "the last 2 of 3 entries are missing" in refusals(two)
    assert str(head) in refusals(two)


def test_a_chain_that_was_written_anew_is_noticed(two: Ledger) -> None:
    struck = '"updates"'
    assert struck in two.entries()[0].content["schema"]
    rewrite(
        two,
        lambda one: (
            (one.kind, {**one.content, "schema": one.content["schema"].replace(struck, "")})
            if one.number == 1
            else (one.kind, one.content)
        ),
    )
    assert "not written with its key" in refusals(two)


def test_nobody_without_the_key_goes_on_with_the_chain(two: Ledger) -> None:
    last, content = two.entries()[-1], two.entries()[0].content
    weaker = {"schema": content["schema"].replace('"updates"', ""), "files": {}}
    for forged in (weaker, {**weaker, "seal": last.content["seal"]}, {**weaker, "seal": 3}):
        put(two, entry_after(last, "schema", forged))
        assert "not written with its key" in refusals(two)
        unguard(two)
        run(two, "DELETE FROM entry WHERE number = 4")
    assert two.verify() == []


def test_a_ledger_that_is_ahead_of_its_head_goes_on(two: Ledger, head: Path) -> None:
    before = head.read_bytes()
    publish(MONTHS[2], two)
    two.amend(schema({**POOL, "require": "k=6"}))
    head.write_bytes(before)  # killed before the head was written, or a colleague published with a head elsewhere
    assert two.verify() == []
    assert publish_next(MONTHS[3], two).warnings == ()
    assert read_head(head) is not None
    assert json.loads(head.read_text())["number"] == len(two.entries()) == 6


def test_a_lost_ledger_is_not_begun_again(two: Ledger, head: Path, place: str) -> None:
    two.close()
    if two.store.folder is not None:
        shutil.rmtree(place)
    else:
        run(two, "DROP TABLE entry")
        run(two, "DROP TABLE migration")
        run(two, "DROP TABLE file")
        run(two, "DROP FUNCTION entry_guard")
    for begin in (lambda: Ledger.open(place), lambda: Ledger.create(place, schema(POOL))):
        said = refused(DataError, begin)
        assert "gone or empty" in said
        assert "3 entries" in said
        assert str(head) in said
    assert not Path(place).exists(), "nothing was made"
    head.unlink()
    assert "gone or empty" in refused(DataError, lambda: Ledger.create(place, schema(POOL))), "by the second head"
    assert two.second_file is not None
    two.second_file.unlink()
    Ledger.create(place, schema(POOL)).close()


def test_an_emptied_ledger_is_not_begun_again(two: Ledger, place: str) -> None:
    unguard(two)
    run(two, "DELETE FROM entry")
    assert "gone or empty" in refused(DataError, lambda: Ledger.open(place))
    assert "gone or empty" in refused(DataError, lambda: Ledger.create(place, schema(POOL)))


def test_without_a_head_it_is_said_what_cannot_be_known(two: Ledger, head: Path) -> None:
    assert two.second_file is not None
    head.unlink()
    assert two.verify() == [], "the second one is there"
    two.second_file.unlink()
    assert "no head of the ledger" in two.unknown[0]
    assert two.verify() == list(two.unknown)
    made = publish_next(MONTHS[2], two)
    assert "is not known" in made.warnings[0]
    assert two.unknown == ()
    for file in (head, two.second_file):
        assert json.loads(file.read_text())["number"] == 4
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_database_without_a_place_for_its_head_has_one_on_this_machine(begin: Begin) -> None:
    ledger = begin(POOL)
    for month in MONTHS[:2]:
        assert publish_next(month, ledger).warnings == ()
    assert ledger.verify() == []


UNREADABLE = ("", "x", "null", "[]", '{"number": 3}', '{"number": [], "hash": 1, "seal": 2}', "[" * 20_000)


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_head_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    with Ledger.create(tmp_path / "x.ledger", schema(POOL)) as ledger:
        (tmp_path / "x.ledger.head").write_text(text)
        assert "cannot be read" in refused(DataError, lambda: publish(MONTHS[0], ledger))
        assert "cannot be read" in ledger.verify()[0]


def test_a_head_that_was_changed_or_is_anothers_is_refused(two: Ledger, head: Path) -> None:
    said = json.loads(head.read_text())
    first = two.entries()[0]
    head.write_text(json.dumps({**said, "number": 1, "hash": first.hash}))
    assert "of another ledger, or was changed" in refusals(two)


def test_without_the_key_verify_compares_as_far_as_it_can(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger", schema(POOL)) as ledger:
        publish(MONTHS[0], ledger)
        (tmp_path / "x.ledger.key").unlink()
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert ledger.trust().outcome == TrustOutcome.NOT_PROVABLE
        assert "no key file" in " ".join(ledger.verify())
        unguard(ledger)
        run(ledger, "DELETE FROM entry WHERE number = 2")
        assert "the last 1 of 2 entries is missing" in ledger.verify()[0]


def test_the_head_lies_beside_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert head_file("a/x.ledger", Path("a/x.ledger.key")) == Path("a/x.ledger.head")
    assert head_file("a/x.ledger", Path("safe/my.key")) == Path("safe/my.head")
    assert head_file("a/x.ledger", Path("safe/secret")) == Path("safe/secret.head")
    assert head_file("postgresql://x", Path("safe/my.key")) == Path("safe/my.head")
    assert head_file("postgresql://x", None) is None
    monkeypatch.setenv("REISSUE_HEAD", "there")
    assert head_file("postgresql://x", None) == head_file("a/x.ledger", Path("a/x.ledger.key")) == Path("there")


def test_a_head_that_cannot_be_written_is_said_before_anything_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REISSUE_KEY", KEY)
    nowhere = tmp_path / "nowhere" / "x.head"
    assert "REISSUE_HEAD" in refused(InputError, lambda: Ledger.create(tmp_path / "x", schema(POOL), head=nowhere))
    assert list(tmp_path.iterdir()) == []


def test_a_head_that_cannot_be_written_any_more_is_made_up_for(tmp_path: Path) -> None:
    place, head = tmp_path / "x.ledger", tmp_path / "x.ledger.head"
    with Ledger.create(place, schema(INVARIANCE)) as ledger:
        publish(MONTHS[0], ledger)
        before = head.read_bytes()
        head.unlink()
        head.mkdir()
        (head / "in the way").touch()
        assert "cannot be read" in refused(DataError, lambda: publish(MONTHS[1], ledger))
        shutil.rmtree(head)
        head.write_bytes(before)
        publish(MONTHS[1], ledger)
