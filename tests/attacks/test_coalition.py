"""The attack by colluding providers as a whole, and a coalition as knowledge for other attacks."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table, anonymize
from reissue.attacks import Knowledge, Series
from reissue.attacks.findings import Finding, Status
from reissue.attacks.insiders import without
from reissue.errors import DataError, InputError, SchemaError
from reissue.papers.coalition.attack import weakest
from reissue.papers.coalition.records import read_records
from reissue.published import read_published
from reissue.publishing.attack import attack
from reissue.requirements import parse
from reissue.schema import Role, Schema
from reissue.testing.releases import ROW
from tests.attacks import test_coalition_search as definition
from tests.effort import examples

SCHEMA = Schema.of_columns(
    quasi=["q"], sensitive=["s"], provider="from", several_rows=False, taxonomies={"q": Hierarchy("flat")}
)
rows = st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 2), st.sampled_from("ABC")), min_size=1, max_size=12)


def frame_of(records: list[tuple[str, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(records, schema=["q", "s", "from"], orient="row")


def run(frame: object, rule: str, **more: object) -> Finding:
    knowledge = Knowledge(requirement=rule, **more)  # type: ignore[arg-type]
    return attack([frame], SCHEMA, only="coalition", knowledge=knowledge)["coalition"]


@examples(80)
@given(records=rows, rule=st.sampled_from(["k=2", "l=2", "k=3 & l=2", "confidence=0.7", "entropy-l=1.5", "t=0.5"]))
def test_largest_m_and_smallest_coalition_are_those_of_the_definition(
    records: list[tuple[str, int, str]], rule: str
) -> None:
    read = read_records(read_published(frame_of(records), SCHEMA), SCHEMA)
    found = weakest(read, parse(rule))
    groups = [read.contributions.one(number) for number in range(read.contributions.total)]
    names = sorted({name for _, _, name in records})

    def exposes(members: tuple[int, ...]) -> list[int]:
        """Which groups a coalition of numbered providers breaks."""
        return [
            number
            for number, (group, providers) in enumerate(groups)
            if definition.breaks(group, parse(rule), tuple(np.flatnonzero(np.isin(providers, members)).tolist()))
        ]

    for size in range(len(names)):
        if any(exposes(members) for members in combinations(range(len(names)), size)):
            assert found.largest_m == size - 1
            assert found.members is not None
            broken = exposes(tuple(names.index(name) for name in found.members))
            assert len(found.members) <= size
            assert found.groups == len(broken) > 0
            texts = sorted({text for text, _, _ in records})
            left = [(texts.index(text), name) for text, _, name in records if name not in found.members]
            assert found.people == sum(group in broken for group, _ in left)
            return
    assert found.members is None
    assert found.largest_m == len(names)


def test_a_finding_for_each_requirement() -> None:
    frame = frame_of([("x", s, name) for s, name in enumerate("AABBC")])
    details = run(frame, "k=2 & l=4").details
    assert [part["requirement"] for part in details["requirements"]] == ["k=2", "l=4"]
    assert [part["largest_m"] for part in details["requirements"]] == [1, 0]
    assert [part["smallest_coalition"] for part in details["requirements"]] == [["A", "B"], ["A"]]
    assert details["largest_m"] == 0


def test_an_outsider_breaks_what_does_not_meet_the_rule() -> None:
    finding = run(frame_of([("x", 1, "A"), ("y", 1, "B"), ("y", 2, "A")]), "k=2")
    assert finding.details["largest_m"] == -1
    assert finding.details["smallest_coalition"] == []
    assert finding.sentence == "Release 1 does not meet k=2 even for someone who gave no record."


def test_nobody_breaks_groups_of_one_provider() -> None:
    finding = run(frame_of([("x", 1, "A"), ("x", 2, "A"), ("y", 1, "B"), ("y", 2, "B")]), "k=2 & l=2", m=5)
    assert finding.status == Status.WITHSTOOD, "whoever collude, and be they all, nobody of others is exposed"
    assert (finding.worst, finding.limit) == (2, 2)
    assert run(frame_of([("x", 1, "A"), ("x", 2, "A")] * 2), "k=2", m=0).status == Status.WITHSTOOD
    assert finding.details["smallest_coalition"] is None
    assert finding.details["largest_m"] == 2


def test_m_is_the_limit() -> None:
    frame = frame_of([("x", n % 2, name) for n, name in enumerate("AAABBBCCC")])
    assert run(frame, "k=3", m=2).status == Status.WITHSTOOD
    assert run(frame, "k=4", m=2).status == Status.EXPOSED
    limited = attack([frame], SCHEMA, only="coalition", knowledge=Knowledge(requirement="k=4"), limits={"coalition": 2})
    assert limited["coalition"].status == Status.EXPOSED


def test_what_one_coalition_exposes() -> None:
    frame = frame_of([("x", 1, "A"), ("x", 2, "A"), ("x", 3, "B"), ("y", 1, "B"), ("y", 2, "C"), ("y", 2, "C")])
    assert run(frame, "k=2", coalition=["A"]).people == 1
    assert run(frame, "k=2", coalition=["B"]).people == 0
    assert "breaks no group" in run(frame, "k=2", coalition=["B"]).sentence
    assert run(frame, "k=2", coalition=["A", "C"]).people == 2
    with pytest.raises(InputError, match="names 1 providers"):
        run(frame, "k=2", coalition=["A", "Z"])


def test_it_needs_to_know_providers_and_a_requirement() -> None:
    frame = frame_of([("x", 1, "A"), ("x", 2, "B")])
    assert "no requirement" in str(attack([frame], SCHEMA, only="coalition")["coalition"].reason)
    assert "holder's copy" in str(run(frame.drop("from"), "k=1").reason)
    blind = Schema.of_columns(quasi=["q"], sensitive=["s"], several_rows=False)
    reason = attack([frame], blind, only="coalition", knowledge=Knowledge(requirement="k=1"))["coalition"].reason
    assert "nobody knows who gave" in str(reason)
    with pytest.raises(DataError, match="missing in 1 rows"):
        run(frame.with_columns(pl.Series("from", ["A", None])), "k=1")


# --- a folder for a release, a file for a provider -------------------------------------------------------------------


def test_a_folder_has_a_file_for_each_provider(tmp_path: Path) -> None:
    for name, values in {"A": [1, 2], "B": [3], "C": [1, 2]}.items():
        pl.DataFrame({"q": ["x"] * len(values), "s": values}).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "notes.txt").write_text("nothing")
    finding = run(tmp_path, "k=2 & l=2", m=1)
    assert finding.details["providers"] == 3
    assert finding.details["largest_m"] == 1
    table = Table.read(tmp_path, SCHEMA)
    assert table.frame["from"].to_list() == ["A", "A", "B", "C", "C"]
    with pytest.raises(SchemaError, match="one file for each provider"):
        Table.read(tmp_path, Schema.of_columns(quasi=["q"], sensitive=["s"]))
    pl.DataFrame({"q": ["x"], "other": [1]}).write_csv(tmp_path / "D.csv")
    with pytest.raises(DataError, match="same columns"):
        Table.read(tmp_path, SCHEMA)
    pl.DataFrame({"q": ["x"], "s": [1], "from": ["E"]}).write_csv(tmp_path / "D.csv")
    with pytest.raises(DataError, match="already"):
        Table.read(tmp_path, SCHEMA)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table"):
        Table.read(tmp_path, SCHEMA)


# --- a coalition as knowledge for every attack -----------------------------------------------------------------------

TREE: dict[str, Any] = {"A": {"a": {}, "b": {}}, "B": {"c": {}, "d": {}}}
GROWING = Schema.of_columns(
    quasi=["q"],
    sensitive=["s"],
    provider="from",
    several_rows=False,
    taxonomies={"q": Hierarchy("tree", tree=TREE)},
)
FIRST = pl.DataFrame(
    {"q": ["*"] * 6, "s": ["flu", "flu", "flu", "flu", "hiv", "hiv"], "from": ["X", "X", "Y", "Y", "Y", "Z"]}
)
SECOND = pl.DataFrame(
    {
        "q": ["A"] * 4 + ["B"] * 4,
        "s": ["flu", "flu", "hiv", "flu", "flu", "hiv", "flu", "hiv"],
        "from": ["X", "Y", "Y", "X", "X", "Z", "Y", "X"],
    }
)


def test_a_coalition_rules_out_more_across_releases() -> None:
    """Correspondence between two releases: without X's records far fewer are left for a target."""
    outsider = attack([FIRST, SECOND], GROWING, only="correspondence", limits={"correspondence": 2})["correspondence"]
    insider = attack(
        [FIRST, SECOND],
        GROWING,
        only="correspondence",
        limits={"correspondence": 2},
        knowledge=Knowledge(coalition=["X"]),
    )["correspondence"]
    by_hand = attack(
        [frame.filter(pl.col("from") != "X") for frame in (FIRST, SECOND)],
        GROWING,
        only="correspondence",
        limits={"correspondence": 2},
    )["correspondence"]
    assert insider == by_hand
    assert (outsider.details["FA"], insider.details["FA"]) == (4, 2)


def test_every_attack_takes_a_coalition() -> None:
    findings = attack([FIRST, SECOND], GROWING, knowledge=Knowledge(coalition=["X"], requirement="k=2"))
    by_hand = [frame.filter(pl.col("from") != "X").drop("from") for frame in (FIRST, SECOND)]
    expected = attack(by_hand, GROWING, knowledge=Knowledge(requirement="k=2"))
    for finding in findings:
        if finding.attack != "coalition":
            assert finding == expected[finding.attack]


def test_our_own_releases_keep_their_boxes_without_a_coalition() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "q": rng.choice(list("abcd"), 60),
            "age": rng.integers(0, 50, 60),
            "s": rng.choice(["flu", "hiv", "cold"], 60),
            "from": rng.choice(["X", "Y", "Z"], 60),
            ROW: range(60),
        }
    )
    schema = GROWING.with_roles({"age": Role.QUASI, ROW: Role.KEEP})
    release = anonymize(frame, schema, "k=4", method="mondrian", seed=3)
    series = without(Series.read([release], schema), ["X", "Z"])
    seen = series.releases[0].main.sort(ROW)
    published = release.tables["release"].sort(ROW)
    expected = published.filter(frame["from"] == "Y")
    assert seen.cast(pl.String).equals(expected.cast(pl.String))
    rest = series.releases[0].source
    assert rest is not None
    assert rest.table.rows == seen.height
    assert int(rest.boxes.sizes.sum()) == seen.height


def test_a_coalition_needs_somebody_to_attack() -> None:
    everyone = Knowledge(coalition=["X", "Y", "Z"], requirement="k=2")
    assert "nobody left" in str(
        attack([FIRST, SECOND], GROWING, only="correspondence", knowledge=everyone)["correspondence"].reason
    )
    with pytest.raises(InputError, match="names 1 providers"):
        attack([FIRST, SECOND], GROWING, only="correspondence", knowledge=Knowledge(coalition=["Q"]))
