"""One text for each person, and a stop where everybody seems new."""

import hmac
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue import Ledger, Table, anonymize, publish
from reissue.data.identifiers import identifier_kind, identifier_texts, refuse_strangers
from reissue.errors import DataError
from reissue.schema import Schema

SCHEMA = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")


def people(ids: Any) -> pl.DataFrame:
    numbers = range(len(ids))
    return pl.DataFrame({"id": ids, "q": [n % 7 for n in numbers], "s": ["abcd"[n % 4] for n in numbers]})


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (pl.Series([1, 20, -3]), ["1", "20", "-3"]),
        (pl.Series([1.0, 20.0, 2.0**52, 1e15]), ["1", "20", str(2**52), "1000000000000000"]),
        (pl.Series([1.5, 2.0, -0.0, None, float("nan")]), ["1.5", "2", "0", None, None]),
        (pl.Series(["1", "20.0", "001", "00.0", " p1 ", "1.10", "A", "a", None]), None),
        (pl.Series(["1", "2"], dtype=pl.Categorical), ["1", "2"]),
        (pl.Series(["1.00", "2.50"]).str.to_decimal(scale=2), ["1", "2.50"]),
        (pl.Series([date(2024, 1, 31)]), ["2024-01-31"]),
        (pl.Series([datetime(2024, 1, 31)]), ["2024-01-31"]),  # noqa: DTZ001
        (pl.Series(["2024-01-31T00:00:00", "2024-01-31 10:00:00"]), ["2024-01-31", "2024-01-31 10:00:00"]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), [str(2**64 - 1)]),
    ],
)
def test_texts_do_not_depend_on_the_type(ids: pl.Series, texts: list[str | None] | None) -> None:
    expected = ["1", "20", "001", "00.0", "p1", "1.10", "A", "a", None] if texts is None else texts
    assert identifier_texts(ids).to_list() == expected


def test_floats_that_have_lost_digits_are_refused() -> None:
    with pytest.raises(DataError, match="more than 15 digits") as raised:
        Table.read(people([float(2**53 + n) for n in range(4)]), SCHEMA)
    assert "9007" not in str(raised.value)


def test_two_ways_to_write_one_identifier_are_not_two_people() -> None:
    with pytest.raises(DataError, match="not unique"):
        Table.read(people(["1", "1.0", "2", "3"]), SCHEMA)


FORMS = {
    "floats": [float(n) for n in range(30)],
    "text": [str(n) for n in range(30)],
    "text of floats": [f"{n}.0" for n in range(30)],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["invariance", "distinct"])
def test_the_same_people_in_another_form_are_the_same(form: str, method: str) -> None:
    first = anonymize(people(range(30)), SCHEMA, "m-unique=2", method=method)
    second = people(FORMS[form])
    memory = first.draft.memory
    after = anonymize(second, SCHEMA, "m-unique=2", method=method, memory=memory, ineligible="counterfeits")
    assert after.draft.notes["new"] == 0


def test_a_table_of_strangers_is_refused_unless_it_is_said_to_be_one() -> None:
    first = anonymize(people(range(30)), SCHEMA, "m-unique=2", method="invariance")
    strangers = people([f"id-{n}" for n in range(30)])
    options: dict[str, Any] = {"method": "invariance", "memory": first.draft.memory, "ineligible": "counterfeits"}
    with pytest.raises(
        DataError, match=r"Of the 30 people in the last release 0 are among the 30.*newcomers"
    ) as raised:
        anonymize(strangers, SCHEMA, "m-unique=2", **options)
    assert "id-" not in str(raised.value)
    assert anonymize(strangers, SCHEMA, "m-unique=2", newcomers=True, **options).draft.notes["new"] == 30


@pytest.mark.parametrize(
    ("before", "now", "back", "refused"),
    [
        (20, 20, 1, True),
        (20, 20, 2, False),
        (19, 19, 0, False),
        (1000, 30, 2, True),
        (1000, 30, 3, False),
        (30, 5, 0, True),
    ],
)
def test_how_many_must_return(before: int, now: int, back: int, refused: bool) -> None:
    numbers = np.arange(before), np.arange(before - back, before - back + now)
    if not refused:
        refuse_strangers(*numbers)
        return
    with pytest.raises(DataError, match="earlier form"):
        refuse_strangers(*numbers)


def begun(folder: Path, form: str = "permuted") -> Ledger:
    schema = Schema.loads(
        f"""
        [columns]
        id = "identifier"
        q = "quasi"
        s = "sensitive"
        [policy]
        require = "m-unique=2"
        method = "invariance"
        attacks = ["updates"]
        [policy.options]
        form = "{form}"
        ineligible = "counterfeits"
        """
    )
    return Ledger.create(folder / "book", schema)


def test_a_ledger_knows_people_in_another_form_and_asks_about_strangers(tmp_path: Path) -> None:
    with begun(tmp_path) as ledger:
        publish(people(range(30)), ledger)
        assert ledger.releases[-1].record.identifiers == "whole numbers"
        release = publish(people([float(n) for n in range(29)]), ledger)
        assert release.draft.notes["new"] == 0
        assert ledger.releases[-1].record.identifiers == "numbers"
        strangers = people([f"id-{n}" for n in range(30)])
        with pytest.raises(DataError, match=r"\(they were numbers and are text\)") as raised:
            publish(strangers, ledger)
        assert "id-" not in str(raised.value)
        assert len(ledger.releases) == 2
        publish(strangers, ledger, newcomers=True)
        again = publish(strangers, ledger)
        assert len(ledger.releases) == 3
        assert again.draft.notes["new"] == 30


def test_pseudonyms_of_whole_numbers_and_text_are_those_of_earlier_versions(tmp_path: Path) -> None:
    with begun(tmp_path) as ledger:
        secret = ledger.key.derive("pseudonyms")
        for ids, texts in ((pl.Series([1, 2]), [b"1", b"2"]), (pl.Series(["P-7", "001"]), [b"P-7", b"001"])):
            expected = [
                int.from_bytes(hmac.digest(secret, text, "sha256")[:8], "little", signed=True) for text in texts
            ]
            assert ledger.key.pseudonyms(ids).to_list() == expected


def test_kinds_of_identifiers() -> None:
    kinds = [identifier_kind(pl.Series(ids)) for ids in ([1], [1.0], ["1"], [date(2024, 1, 1)])]
    assert kinds == ["whole numbers", "numbers", "text", "times"]
