"""A release that was never sent: later ones are made and attacked as if it had not been."""

import json
from pathlib import Path

import pytest

from reissue.cli import _app
from reissue.errors import InputError
from reissue.ledger import Ledger
from reissue.publishing.adopt import adopt
from reissue.publishing.publish import publish, publish_next
from tests.ledger.conftest import KEY, Begin
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema
from tests.silence import refused

WHY = "the wrong file"
STRICT = {**INVARIANCE, "attacks": ["updates", "equivalence"], "limits": {"equivalence": 1, "updates": 0.9}}


def series(place: Path, months: list[int], policy: object = INVARIANCE) -> Ledger:
    """A ledger in which some months were published."""
    ledger = Ledger.create(place, schema(policy))  # type: ignore[arg-type]
    for month in months:
        publish(MONTHS[month], ledger)
    return ledger


def shared_key(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REISSUE_KEY", KEY)


def test_without_the_last_one_the_next_is_as_if_it_had_never_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_key(tmp_path, monkeypatch)
    with series(tmp_path / "a", [0, 1, 2]) as ledger, series(tmp_path / "b", [0, 1]) as other:
        ledger.withdraw(3, WHY)
        one, two = publish_next(MONTHS[3], ledger), publish_next(MONTHS[3], other)
        assert (one.number, two.number) == (4, 3)
        assert one.release.frame.equals(two.release.frame)
        assert [(f.attack, f.status, f.people) for f in one.findings] == [
            (f.attack, f.status, f.people) for f in two.findings
        ]
        assert {f.releases for f in one.findings} == {(1, 2, 4)}
        assert "Release 3 was never sent" in " ".join(one.warnings)
        assert ledger.verify() == []
        assert [one.withdrawn for one in ledger.releases] == [None, None, WHY, None]


def test_the_same_table_is_the_same_release_under_another_number(tmp_path: Path) -> None:
    with series(tmp_path / "x", [0, 1]) as ledger:
        before = ledger.tables(ledger.release(2))["release"]
        ledger.withdraw(2, WHY)
        made = publish_next(MONTHS[1], ledger)
        assert made.number == 3
        assert not made.again
        assert made.release.frame.equals(before)
        assert publish_next(MONTHS[1], ledger).again
        ledger.withdraw(3, WHY)
        assert publish_next(MONTHS[0], ledger).number == 1, "release 1 is the last that is out"


def test_states_of_attacks_are_made_again_without_one_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_key(tmp_path, monkeypatch)
    with series(tmp_path / "a", [0, 1, 2], POOL) as ledger, series(tmp_path / "b", [0, 2], POOL) as other:
        ledger.withdraw(2, WHY)
        one = publish_next(MONTHS[3], ledger).findings["updates"]
        two = publish_next(MONTHS[3], other).findings["updates"]
        assert (one.people, one.population, one.worst) == (two.people, two.population, two.worst)
        assert one.releases == (1, 3, 4)
        assert two.releases == (1, 2, 3)
        ledger.amend(schema({**POOL, "attacks": ["updates"], "require": "k=6"}))
        assert publish_next(MONTHS[0], ledger, dry_run=True, newcomers=True, unchanged=True).number == 5


def test_a_method_goes_on_with_its_memory_after_one_in_the_middle(tmp_path: Path) -> None:
    with series(tmp_path / "x", [0, 1, 2], STRICT) as ledger:
        ledger.withdraw(2, WHY)
        made = publish_next(MONTHS[3], ledger)
        assert made.number == 4
        assert {f.releases for f in made.findings} == {(1, 3, 4)}
        assert ledger.verify() == []


def test_all_may_be_withdrawn_one_after_the_other(tmp_path: Path) -> None:
    with series(tmp_path / "x", [0, 1, 2, 3]) as ledger:
        for number in (4, 3, 2):
            ledger.withdraw(number, WHY)
        assert ledger.verify() == []
        assert publish_next(MONTHS[1], ledger).number == 5, "of the memory after release 1 only a later one is left"
        for number in (5, 1):
            ledger.withdraw(number, WHY)
        assert publish_next(MONTHS[0], ledger).number == 6
        assert ledger.verify() == []


def test_what_was_never_sent_is_not_handed_out_any_more(tmp_path: Path) -> None:
    with series(tmp_path / "x", [0]) as ledger:
        ledger.withdraw(1, WHY)
        assert "not handed out" in refused(InputError, lambda: ledger.export(1, tmp_path / "out.csv"))
        assert not (tmp_path / "out.csv").exists()
        adopt(ledger, [MONTHS[1].drop("patient")])
        assert len(ledger.releases) == 2


def test_a_withdrawal_is_refused_that_makes_no_sense(begin: Begin) -> None:
    ledger = begin(POOL)
    assert "no release yet" in refused(InputError, lambda: ledger.withdraw(1, WHY))
    publish(MONTHS[0], ledger)
    for number in (0, 2, -1):
        assert "releases 1 to 1" in refused(InputError, lambda number=number: ledger.withdraw(number, WHY))  # type: ignore[misc]
    for why in ("", "  ", "two\nlines", "\x1b[31m"):
        assert "why" in refused(InputError, lambda why=why: ledger.withdraw(1, why))  # type: ignore[misc]
    ledger.withdraw(1, WHY)
    assert "withdrawn already" in refused(InputError, lambda: ledger.withdraw(1, WHY))
    assert [entry.kind for entry in ledger.entries()] == ["begin", "release", "withdrawal"]
    assert ledger.verify() == []


def test_the_command_line_withdraws_and_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "x.ledger")
    series(tmp_path / "x.ledger", [0, 1]).close()
    assert _app.run(["ledger", "withdraw", place, "2"]) == 2
    assert _app.run(["ledger", "withdraw", place, "3", "--never-sent", WHY]) == 2
    capsys.readouterr()
    assert _app.run(["ledger", "withdraw", place, "2", "--never-sent", WHY]) == 0
    assert "is withdrawn" in capsys.readouterr().out
    assert _app.run(["ledger", "list", place]) == 0
    assert "withdrawn" in capsys.readouterr().out
    assert _app.run(["ledger", "list", place, "--json"]) == 0
    assert [one["withdrawn"] for one in json.loads(capsys.readouterr().out)["releases"]] == [None, WHY]
    assert _app.run(["ledger", "show", place, "2"]) == 0
    assert WHY in capsys.readouterr().out
    MONTHS[2].write_csv(tmp_path / "next.csv")
    page = tmp_path / "page.html"
    assert _app.run(["publish", str(tmp_path / "next.csv"), "--ledger", place, "--report", str(page)]) == 0
    assert "Release 2 was never sent" in capsys.readouterr().out
    assert "Release 2 was never sent" in page.read_text()
