"""Nothing is built on what was changed: whoever would go on with a ledger that was tampered with is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue.errors import DataError, TaxonomyError
from reissue.ledger import Ledger, canonical, entry_after, misplaced, misshapen
from reissue.ledger.chain import _hash
from reissue.publishing.adopt import adopt
from reissue.publishing.publish import publish, publish_next
from reissue.schema import Schema
from tests.ledger.conftest import Begin
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema
from tests.ledger.tamper import put, run, swap, unguard
from tests.silence import refused


def change(ledger: Ledger, number: int, edit: Callable[[Any], Any]) -> None:
    """Change the content of one entry, nothing else."""
    unguard(ledger)
    text = ledger.store.found()[number - 1].text
    run(ledger, "UPDATE entry SET content = ? WHERE number = ?", canonical(edit(json.loads(text))), number)


def refusals(ledger: Ledger) -> set[str]:
    """What everyone says who would go on with a ledger."""
    table = MONTHS[2]
    ways: list[Callable[[], object]] = [
        lambda: publish(table, ledger),
        lambda: publish_next(table, ledger, dry_run=True),
        lambda: adopt(ledger, [table]),
        lambda: ledger.amend(schema({**INVARIANCE, "require": "m-unique=2"})),
    ]
    before = ledger.store.found()
    said = {refused(DataError, way) for way in ways}
    assert ledger.store.found() == before, "nothing was recorded"
    assert all("verify" in one and "backup" in one for one in said)
    return said


@pytest.fixture
def two(begin: Begin) -> Ledger:
    """A ledger with two releases."""
    ledger = begin(INVARIANCE)
    for month in MONTHS[:2]:
        publish(month, ledger)
    return ledger


def test_an_attack_struck_from_the_policy_is_noticed(two: Ledger) -> None:
    change(two, 1, lambda old: {**old, "schema": old["schema"].replace('"updates", ', "")})
    assert "updates" not in two.store.found()[0].text
    assert all("Entry 1 was changed after it was written" in one for one in refusals(two))


def test_edited_rows_and_verdicts_are_noticed(two: Ledger) -> None:
    unchanged = two.store.found()[2].content
    for other in (
        {"rows": 1},
        {"findings": {"verdict": "withstood", "findings": []}},
        {"recipients": ["x"]},
        {"requirement": "k=9"},
    ):
        change(two, 3, lambda _, other=other: {**unchanged, **other})  # type: ignore[misc]
        assert all("Entry 3 was changed after it was written" in one for one in refusals(two))
    assert refused(DataError, lambda: two.releases)
    assert refused(DataError, lambda: two.export(1, "never.csv"))


@pytest.mark.parametrize("number", [1, 2])
def test_deleted_entries_are_noticed(two: Ledger, number: int) -> None:
    unguard(two)
    run(two, "DELETE FROM entry WHERE number = ?", number)
    assert all(f"Entry {number} is missing" in one for one in refusals(two))
    run(two, "UPDATE entry SET number = number - 1 WHERE number > ?", number)
    assert all(f"Entry {number} does not follow" in one for one in refusals(two))


def test_a_hash_that_was_made_to_fit_breaks_the_next_entry(two: Ledger) -> None:
    unguard(two)
    first = two.store.found()[0]
    other = entry_after(None, "begin", {**first.content, "schema": first.content["schema"].replace('"updates", ', "")})
    run(two, "DELETE FROM entry WHERE number = 1")
    put(two, other)
    assert all("Entry 2 does not follow" in one for one in refusals(two))


def test_shuffled_private_files_are_noticed(two: Ledger) -> None:
    first, second = two.release(1).files, two.release(2).files
    for what in ("memory", "state.joint"):
        swap(two, first[what], second[what])
        said = refused(DataError, lambda: publish(MONTHS[2], two))
        assert second[what] in said
        assert "was changed after it was written" in said
        assert len(two.releases) == 2
        assert [one.partition("file of ")[2] for one in two.verify()] == [f"{what} was changed."] * 2
        swap(two, first[what], second[what])
    assert two.verify() == []


def test_shuffled_releases_are_noticed_by_whoever_reads_them(begin: Begin, tmp_path: Path) -> None:
    ledger = begin(POOL)
    for month in MONTHS[:2]:
        publish(month, ledger)
    ledger.amend(schema({**POOL, "require": "k=6"}))  # so that attacks begin from the stored releases
    first, second = ledger.release(1), ledger.release(2)
    swap(ledger, first.files["roster"], second.files["roster"])
    assert "was changed" in refused(DataError, lambda: publish(MONTHS[2], ledger))
    swap(ledger, first.files["table.release"], second.files["table.release"])
    assert "was changed" in refused(DataError, lambda: ledger.tables(first))
    assert "was changed" in refused(DataError, lambda: ledger.export(2, tmp_path / "out.csv"))
    assert len(ledger.verify()) == 4


def test_a_taxonomy_that_was_changed_is_not_used(place: str, tmp_path: Path) -> None:
    (tmp_path / "job.csv").write_text("doctor;work;*\nclerk;work;*\n")
    text = '[columns]\njob="quasi"\nill="sensitive"\n[taxonomy.job]\nfile="job.csv"\n'
    plan = Schema.loads(text + '[policy]\nrequire="k=2"\nattacks=[]\n', tmp_path)
    frame = pl.DataFrame({"job": ["doctor", "clerk"] * 2, "ill": ["flu", "flu", "asthma", "flu"]})
    with Ledger.create(place, plan) as ledger:
        name = ledger.entries()[0].files["taxonomy.job"]
        other = b"doctor;rich;*\nclerk;poor;*\n"
        if ledger.store.folder is not None:
            (ledger.store.folder / name).write_bytes(other)
        else:
            run(ledger, "UPDATE file SET content = ? WHERE name = ?", other, name)
        assert "was changed" in refused(DataError, lambda: publish(frame, ledger))
        assert "was changed" in refused(DataError, lambda: ledger.policy)


def test_a_changed_file_of_the_same_size_does_not_stand_in_for_a_new_one(begin: Begin) -> None:
    ledger = begin(POOL)
    with ledger.writing() as writer:
        name = writer.keep(b"as it was", ".txt")
    if ledger.store.folder is not None:
        (ledger.store.folder / name).write_bytes(b"otherwise")
    else:
        run(ledger, "UPDATE file SET content = ? WHERE name = ?", b"otherwise", name)
    with ledger.writing() as writer:
        writer.keep(b"as it was", ".txt")
    assert ledger.store.read(name) == b"as it was"


BROKEN = {
    "{": "is not written as JSON",
    "": "is not written as JSON",
    "[" * 20_000: "is not written as JSON",
    "null": "is not a JSON object",
    "[]": "is not a JSON object",
    "3": "is not a JSON object",
    "{}": "lacks 'adopted'",
}


def test_verify_names_what_no_entry_could_say(two: Ledger) -> None:
    unguard(two)
    last = two.store.found()[-1]
    for text, problem in BROKEN.items():
        for fitting in (False, True):
            made = _hash(last.number, last.kind, text, last.previous) if fitting else last.hash
            run(two, "UPDATE entry SET content = ?, hash = ? WHERE number = ?", text, made, last.number)
            problems = two.verify()
            assert f"Entry 3 {problem}" in " ".join(problems)
            assert ("Entry 3 was changed after it was written." in problems) != fitting
            said = refused(DataError, lambda: publish(MONTHS[2], two))
            assert "Entry 3" in said or "not the one that its head" in said


def test_an_unknown_format_is_refused(begin: Begin, place: str) -> None:
    ledger = begin(POOL)
    unguard(ledger)
    other = entry_after(None, "begin", {**ledger.entries()[0].content, "format": 2})
    run(ledger, "DELETE FROM entry")
    put(ledger, other)
    assert "format" in ledger.verify()[0]
    assert "later version" in refused(DataError, lambda: Ledger.open(place))


RIGHT: dict[str, tuple[Any, ...]] = {"recipients": ([],), "date": (None, "x"), "rows": (3,)}
ANYTHING: tuple[Any, ...] = (None, 3, "x", [], [None], {}, {"x": None}, {"x": "../../ledger.key"}, True)


def test_fields_that_hold_something_else_are_named(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger", schema(POOL)) as ledger:
        publish(MONTHS[0], ledger)
        whole = dict(ledger.release(1).entry.content)
    assert misshapen("release", whole) == ""
    for field in ("files", "tables", "recipients", "findings", "csv", "rows", "date", "promises", "adopted"):
        for value in ANYTHING:
            right = any(value is one or (value == one and value is not True) for one in RIGHT.get(field, ()))
            right |= (field == "promises" and isinstance(value, dict)) or (field == "adopted" and value is True)
            assert (misshapen("release", {**whole, field: value}) == "") == right, (field, value)
    assert misshapen("release", {**whole, "files": {}})
    assert misplaced(2, "begin")
    assert misplaced(1, "release")
    assert misplaced(2, "else")
    assert not misplaced(2, "release")


WORK = "doctor;work;*\nnurse;work;*\nchild;home;*\npensioner;home;*\n"
MEANINGS = {
    "the same": (WORK, True),
    "two labels swapped": (WORK.replace("work", "x").replace("home", "work").replace("x", "home"), False),
    "one value moved": (WORK.replace("nurse;work", "nurse;home"), False),
    "a value more": (f"{WORK}clerk;work;*\n", True),
    "a value less": (WORK.replace("nurse;work;*\n", ""), True),
    "new labels": (WORK.replace("work", "job").replace("home", "none"), True),
    "a level more": (WORK.replace(";work", ";health;work").replace(";home", ";rest;home"), True),
    "a label for a value": (WORK.replace("child;home", "child;nurse"), False),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_labels_keep_their_meaning(name: str, place: str, tmp_path: Path) -> None:
    text = '[columns]\njob="quasi"\nill="sensitive"\n[taxonomy.job]\nfile="job.csv"\n'
    text += '[policy]\nrequire="k=2"\nattacks=[]\nlimit=1\n'
    (tmp_path / "job.csv").write_text(WORK)
    frame = pl.DataFrame({"job": ["doctor", "nurse", "child", "pensioner"] * 2, "ill": ["flu"] * 8})
    after, fine = MEANINGS[name]
    with Ledger.create(place, Schema.loads(text, tmp_path)) as ledger:
        publish(frame, ledger)
        (tmp_path / "job.csv").write_text(after)
        if fine:
            assert ledger.amend(Schema.loads(text, tmp_path)) == (after != WORK)
        else:
            said = refused(TaxonomyError, lambda: ledger.amend(Schema.loads(text, tmp_path)))
            assert "other values than in releases that are out" in said
            assert "work" not in said
            assert len(ledger.entries()) == 2
