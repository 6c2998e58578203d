"""What is published of a group: nodes of the taxonomies, and tight ranges only where they are asked for."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue import Hierarchy, Ledger, anonymize
from reissue.errors import InputError, SchemaError
from reissue.policy import Policy
from reissue.publishing.publish import publish_next
from reissue.release.release import TIGHT, Release
from reissue.schema import Schema
from reissue.utility import measure

METHODS = [
    ("pool", "k=4", {}),
    ("mondrian", "k=4", {}),
    ("mondrian", "k=4", {"strict": False}),
    ("providers", "k=4", {"m": 1}),
    ("mask", "k=4 & simple-l=2:a", {}),
    ("topdown", "k=4", {}),
    ("invariance", "m-unique=3", {"ineligible": "counterfeits"}),
    ("distinct", "m-unique=3", {"ineligible": "counterfeits"}),
]
SCHEMA = Schema.of_columns(
    quasi=["age", "pay", "born", "auto"],
    sensitive=["s"],
    identifier="id",
    provider="from",
    several_rows=False,
    taxonomies={"age": Hierarchy(ranges=(5.0, 10.0, 20.0)), "pay": Hierarchy(ranges=(0.5, 2.0))},
)


def people(rows: int = 90) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "id": range(rows),
            "from": [f"h{number}" for number in rng.integers(0, 5, rows)],
            "age": [*rng.integers(17, 93, rows - 1).tolist(), None],
            "pay": rng.random(rows).round(3) * 4,
            "born": [date(1931, 7, 1) + timedelta(int(days)) for days in rng.integers(0, 29_000, rows)],
            "auto": rng.integers(-400, 1700, rows),
            "s": ["abcd"[number] for number in rng.integers(0, 4, rows)],
        }
    )


def shown(release: Release, name: str) -> set[str | None]:
    return set(release.tables["release"][name].cast(pl.String))


@pytest.mark.parametrize(("method", "requirement", "options"), METHODS)
def test_only_nodes_go_out(method: str, requirement: str, options: dict[str, Any]) -> None:
    frame = people()
    release = anonymize(frame, SCHEMA, requirement, method=method, seed=1, **options)
    for name, taxonomy in zip(SCHEMA.quasi, release.table.taxonomies, strict=True):
        nodes = {text for level in taxonomy.levels for text in level.names}
        assert shown(release, name) <= nodes
        for text in shown(release, name):
            ends = [] if text is None or text[0] != "[" else text.strip("[]()").split(", ")
            assert not {str(frame[name].min()), str(frame[name].max())} & set(ends)
    assert release.warnings == ()


@pytest.mark.parametrize(("method", "requirement", "options"), [METHODS[0], METHODS[1], METHODS[6]])
def test_tight_ranges_are_asked_for_by_name_and_say_what_they_show(
    method: str, requirement: str, options: dict[str, Any]
) -> None:
    nodes = anonymize(people(), SCHEMA, requirement, method=method, seed=1, **options)
    tight = anonymize(people(), SCHEMA, requirement, method=method, seed=1, boxes="tight", **options)
    assert tight.warnings == (TIGHT,)
    days = people()["born"].cast(pl.String).to_list()
    ends = {end for text in shown(tight, "born") if text and text[0] == "[" for end in text[1:-1].split(", ")}
    assert ends <= set(days) | {f"{year}-{day}" for year in range(1930, 2020) for day in ("01-01", "12-31")}
    assert ends & set(days)
    assert measure(tight).loss < measure(nodes).loss


def test_two_neighbouring_nodes_become_the_one_above_both() -> None:
    schema = Schema.of_columns(quasi=["age"], taxonomies={"age": Hierarchy(ranges=(5.0, 10.0, 20.0, 100.0))})
    for ages, text in (([23, 24], "[20, 24]"), ([24, 25], "[20, 29]"), ([19, 20], "*"), ([39, 24], "[20, 39]")):
        frame = pl.DataFrame({"age": [*ages, 75, 76, 77, 78]})
        groups = anonymize(frame, schema, "k=2", method="mondrian").tables["release"]["age"].cast(pl.String)
        assert text in groups.to_list()


def test_memory_of_a_series_keeps_what_is_asked_for() -> None:
    first = anonymize(people(), SCHEMA, "m-unique=3", method="invariance", boxes="tight", ineligible="counterfeits")
    other = people().with_columns(pl.col("age") + 1)
    options: dict[str, Any] = {"method": "invariance", "ineligible": "counterfeits", "memory": first.draft.memory}
    assert anonymize(other, SCHEMA, "m-unique=3", boxes="tight", **options).warnings == (TIGHT,)
    assert anonymize(other, SCHEMA, "m-unique=3", **options).warnings == ()


def test_other_words_are_refused() -> None:
    with pytest.raises(InputError, match='"nodes" or "tight"'):
        anonymize(people(), SCHEMA, "k=4", boxes="narrow")
    with pytest.raises(SchemaError, match='"nodes" or "tight"'):
        Policy.of(Schema.loads('[columns]\na = "quasi"\n[policy]\nrequire = "k=4"\nboxes = "narrow"'))


@pytest.mark.parametrize("boxes", ["nodes", "tight"])
def test_a_publication_says_that_ranges_are_tight(tmp_path: Path, boxes: str) -> None:
    text = '[columns]\nage = "quasi"\nborn = "quasi"\ns = "sensitive"\n[policy]\nrequire = "k=4"\nattacks = []\n'
    text += "limit = 0.9\n"
    with Ledger.create(tmp_path / "book", Schema.loads(f'{text}boxes = "{boxes}"')) as ledger:
        made = publish_next(people(), ledger)
        assert (TIGHT in made.warnings) == (boxes == "tight")
        assert made.release.warnings == ((TIGHT,) if boxes == "tight" else ())
