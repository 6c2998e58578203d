"""A table that does not continue its series: of a wrong month, or with identifiers that a tool has rewritten."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.data.identifiers import relaxed_texts
from reissue.errors import DataError
from reissue.ledger import Ledger
from reissue.publishing.adopt import adopt
from reissue.publishing.publish import publish, publish_next
from reissue.publishing.publish_folder import publish_folder
from tests.ledger.conftest import Begin
from tests.ledger.series import MONTHS, POOL, schema
from tests.silence import refused

JOINT = {"require": "k=5", "attacks": [], "limit": 0.999, "suppress": 0.05}
APART = {**POOL, "collude": [["ministry"], ["institute"]]}


def written(month: pl.DataFrame) -> pl.DataFrame:
    """With identifiers as hospitals write them."""
    return month.with_columns(("00-A" + month["patient"].cast(pl.String).str.zfill(5)).alias("patient"))


# --- the table of a wrong month --------------------------------------------------------------------------------------


def test_the_table_of_an_earlier_release_is_refused(begin: Begin) -> None:
    ledger = begin(POOL)
    for month in MONTHS[:3]:
        publish(month, ledger)
    for month in MONTHS[:2]:
        for same in (month, month.reverse(), month.select(reversed(month.columns))):
            assert "wrong month" in refused(DataError, lambda same=same: publish(same, ledger))  # type: ignore[misc]
    assert "release 2" in refused(DataError, lambda: publish(MONTHS[1], ledger, date="2026-05-31"))
    assert publish_next(MONTHS[2].reverse(), ledger).again, "the last one is the same release"
    assert "release 3" in refused(DataError, lambda: publish(MONTHS[2], ledger, date="2026-05-31"))
    assert len(ledger.releases) == 3
    assert publish_next(MONTHS[0], ledger, unchanged=True).number == 4
    assert publish_next(MONTHS[3], ledger).number == 5


def test_one_value_more_is_another_table(begin: Begin) -> None:
    ledger = begin(POOL)
    for month in MONTHS[:2]:
        publish(month, ledger)
    other = MONTHS[0].with_columns(
        disease=pl.Series([MONTHS[0]["disease"][1], *MONTHS[0]["disease"][1:].to_list()])
        if MONTHS[0]["disease"][0] != MONTHS[0]["disease"][1]
        else pl.Series([MONTHS[0]["disease"].unique().sort()[-1], *MONTHS[0]["disease"][1:].to_list()])
    )
    assert not other.equals(MONTHS[0])
    assert publish_next(other, ledger).number == 3


def test_a_withdrawn_release_is_none(begin: Begin) -> None:
    ledger = begin(POOL)
    publish(MONTHS[0], ledger)
    ledger.withdraw(1, "the wrong transfer")
    publish(MONTHS[1], ledger)
    assert publish_next(MONTHS[0], ledger).number == 3


def test_the_newest_table_may_go_to_others_too(begin: Begin) -> None:
    ledger = begin(APART)
    publish(MONTHS[0], ledger, date="2026-01-31", recipients=["ministry"])
    publish(MONTHS[0], ledger, date="2026-01-31", recipients=["institute"])
    publish(MONTHS[1], ledger, date="2026-02-28", recipients=["ministry"])
    assert "2026-01-31" in refused(DataError, lambda: publish(MONTHS[2], ledger, date="2026-01-31"))
    said = refused(DataError, lambda: publish(MONTHS[0], ledger, date="2026-03-31", recipients=["institute"]))
    assert "release 2" in said


def test_a_release_of_an_earlier_version_is_recognized_by_its_mark(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reissue.publishing.candidate import Candidate

    record = Candidate.record

    def earlier(self: Candidate, *given: object) -> object:
        made = record(self, *given)  # type: ignore[arg-type]
        return replace(made, table=None, files={what: name for what, name in made.files.items() if what != "forms"})

    ledger = begin(POOL)
    with monkeypatch.context() as before:
        before.setattr(Candidate, "record", earlier)
        for month in MONTHS[:2]:
            publish(month, ledger)
    assert "wrong month" in refused(DataError, lambda: publish(MONTHS[0], ledger))
    made = publish_next(MONTHS[2], ledger)
    left = set(MONTHS[0]["patient"]) | set(MONTHS[1]["patient"])
    assert f"recorded {len(left - set(MONTHS[2]['patient'])):,} pe" in " ".join(made.warnings)
    assert publish_next(MONTHS[3], ledger).warnings == (), "said once"


def test_the_day_has_one_name_in_the_shell_and_in_python(begin: Begin) -> None:
    ledger = begin(POOL)
    earlier: Any = publish
    with pytest.warns(DeprecationWarning, match="date="):
        earlier(MONTHS[0], ledger, dated="2026-01-31")
    with warnings.catch_warnings():
        publish(MONTHS[1], ledger, date="2026-02-28")
    assert [one.date for one in ledger.releases] == ["2026-01-31", "2026-02-28"]


# --- identifiers that were rewritten ---------------------------------------------------------------------------------

REWRITTEN: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "zeros": lambda ids: ids.str.strip_chars_start("0"),
    "case": lambda ids: ids.str.to_lowercase(),
    "punctuation": lambda ids: ids.str.replace_all("-", ""),
    "blanks": lambda ids: ids.str.replace("A", " A "),
    "Unicode": lambda ids: ids.str.replace("A", "Ａ"),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten_identifiers_are_refused_with_counts(name: str, begin: Begin) -> None:
    ledger = begin(POOL)
    first, second = written(MONTHS[0]), written(MONTHS[1])
    publish(first, ledger)
    some = second["patient"].is_in(first["patient"].implode()) & (pl.Series(range(second.height)) < 40)
    changed = second.with_columns(
        pl.when(some).then(REWRITTEN[name](pl.col("patient"))).otherwise("patient").alias("patient")
    )
    said = refused(DataError, lambda: publish(changed, ledger))
    assert f"{some.sum():,} are written almost like somebody of an earlier release" in said
    assert "0 almost like somebody else" in said
    assert not any(one in said for one in changed["patient"])
    assert publish_next(changed, ledger, lookalikes=True).number == 2


def test_people_who_left_long_ago_are_remembered(begin: Begin) -> None:
    ledger = begin(POOL)
    months = [written(month) for month in MONTHS]
    for month in months[:3]:
        publish(month, ledger)
    gone = set(months[0]["patient"]) - set(months[1]["patient"]) - set(months[2]["patient"])
    back = months[0].filter(
        pl.col("patient").is_in(sorted(gone)) & ~pl.col("patient").is_in(months[3]["patient"].implode())
    )
    assert back.height
    table = pl.concat([months[3], back.with_columns(pl.col("patient").str.to_lowercase())])
    assert f"{back.height} are written almost like somebody of an earlier" in refused(
        DataError, lambda: publish(table, ledger)
    )


def test_people_who_are_there_twice_are_refused(begin: Begin) -> None:
    ledger = begin(POOL)
    first = written(MONTHS[0])
    twice = pl.concat([first, first[:3].with_columns(pl.col("patient").str.to_lowercase())])
    assert "6 almost like somebody else in it" in refused(DataError, lambda: publish(twice, ledger))
    publish(first, ledger)
    assert "3 almost like somebody else in it" in refused(DataError, lambda: publish(twice, ledger))
    publish(twice, ledger, lookalikes=True)
    assert publish_next(twice, ledger).again, "who was accepted is no newcomer"


def test_a_withdrawn_last_release_does_not_lose_them(begin: Begin) -> None:
    ledger = begin(POOL)
    months = [written(month) for month in MONTHS]
    for month in months[:3]:
        publish(month, ledger)
    for number in (3, 2):
        ledger.withdraw(number, "nobody got it")
    changed = months[3].with_columns(pl.col("patient").str.to_lowercase())
    assert "almost like somebody of an earlier" in refused(DataError, lambda: publish(changed, ledger, newcomers=True))
    publish(months[3], ledger)
    assert ledger.verify() == []


def test_adopted_private_copies_are_compared_too(tmp_path: Path) -> None:
    first, second = written(MONTHS[0]), written(MONTHS[1])
    private = ri.anonymize(first, schema(POOL), "k=5", seed=1)
    copy = private.frame.with_columns(private.table.ids.alias("patient"))  # type: ignore[union-attr]
    with Ledger.create(tmp_path / "x.ledger", schema(JOINT)) as ledger:
        adopt(ledger, [copy])
        changed = second.with_columns(pl.col("patient").str.to_lowercase())
        said = refused(DataError, lambda: publish(changed, ledger, newcomers=True))
        assert "almost like somebody of an earlier" in said
        publish(second, ledger)


@pytest.mark.parametrize("policy", [{**POOL, "suppress": 0.05}, POOL])
def test_a_table_larger_than_memory_is_looked_at_alike(tmp_path: Path, policy: dict[str, object]) -> None:
    months = [written(month) for month in MONTHS]
    changed = months[2].with_columns(pl.col("patient").str.to_lowercase())
    for number, month in enumerate((*months, changed)):
        month.write_parquet(tmp_path / f"{number}.parquet")
    with Ledger.create(tmp_path / "x.ledger", schema(policy)) as ledger:
        for number in (0, 1):
            publish_folder(tmp_path / f"{number}.parquet", ledger)
        said = refused(DataError, lambda: publish_folder(tmp_path / "0.parquet", ledger))
        assert "release 1" in said
        assert said == refused(DataError, lambda: publish(months[0], ledger))
        said = refused(DataError, lambda: publish_folder(tmp_path / "4.parquet", ledger))
        assert "almost like" in said
        assert said == refused(DataError, lambda: publish(changed, ledger))
        assert publish_folder(tmp_path / "2.parquet", ledger).number == 3


@given(st.text(max_size=8), st.sampled_from(["", "0", "00"]), st.sampled_from(["", " ", "-", "."]))
def test_the_relaxed_form_forgets_what_it_should(text: str, zeros: str, mark: str) -> None:
    """Against the definition, letter by letter."""
    import unicodedata

    def slowly(name: str) -> str:
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).upper().lower())
        kept = "".join(one for one in plain if unicodedata.category(one)[0] in "LMN")
        return (kept.lstrip("0") or kept[:1]) if kept else name.strip()

    names = pl.Series([text, zeros + mark + text + mark])
    short, long = relaxed_texts(names).to_list()
    if text.isascii():
        assert short == slowly(text)
        assert long == slowly(zeros + mark + text + mark)
    if any(one.isalnum() for one in text.lstrip("0")):
        assert short == long
