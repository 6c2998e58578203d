"""Larger than memory: the same published rows as in memory, however many regions there are, and all or nothing."""

import tempfile
from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy
from reissue.data.identifiers import identifier_texts
from reissue.engines import coded
from reissue.engines.base import Rewritable
from reissue.engines.coded import CodedFiles
from reissue.engines.stream import open_stream
from reissue.errors import InternalError
from reissue.files.places import beside_folder
from reissue.publishing import by_regions
from reissue.publishing.by_regions import ReleaseFolder
from reissue.publishing.folder import anonymize_folder
from reissue.schema import Role
from reissue.synth import Population, schema
from tests.effort import examples


def rows_of(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Published rows, whatever their order."""
    texts = frame.with_columns(pl.all().cast(pl.String).fill_null("missing"))
    return sorted(texts.rows())


def written(folder: Path) -> pl.DataFrame:
    return pl.concat(pl.read_parquet(one) for one in sorted(folder.iterdir()))


def same(table: pl.DataFrame, plan: ri.Schema, require: str, folder: Path, fits: int, **asked: Any) -> ReleaseFolder:
    """Make the release both ways, and compare."""
    asked = {"method": "mondrian", "seed": 3, **asked}
    region: dict[str, Any] = {"region": fits} if asked["method"] in REGIONS else {}
    size = region or {"fits": fits}
    made = anonymize_folder(table.lazy(), plan, require, folder / "out", **size, **asked)
    whole = ri.anonymize(table, plan, require, **region, **asked)
    assert rows_of(written(folder / "out")) == rows_of(whole.frame)
    assert made.groups == len(whole.boxes.sizes) or asked["method"] in CELLS
    assert (made.rows, made.warnings) == (whole.frame.height, whole.warnings)
    assert made.loss == pytest.approx(ri.measure(whole).loss)
    return made


CELLS = ("topdown", "incognito")
REGIONS = ("pool", "mask", "providers")


@pytest.mark.parametrize("method", CELLS)
@pytest.mark.parametrize("require", ["k=3", "k=4 & l=2", "t=0.5"])
@pytest.mark.parametrize("suppress", [0.0, 0.1])
def test_cuts_that_are_decided_on_counts(method: str, require: str, suppress: float, tmp_path: Path) -> None:
    table = next(Population(seed=6, people=500).months(1))
    made = same(table, schema(), require, tmp_path, 100, method=method, suppress=suppress)
    assert made.regions > 3


@pytest.mark.parametrize("require", ["k=3", "k=4 & l=2", "k=3 & t=0.45", "entropy-l=1.5", "confidence=0.8"])
def test_the_same_rows_as_in_memory(require: str, tmp_path: Path) -> None:
    table = next(Population(seed=6, people=1500).months(1))
    assert same(table, schema(), require, tmp_path, 200).regions > 4


@pytest.mark.slow
@pytest.mark.parametrize("people", [100_000, 1_000_000])
@pytest.mark.parametrize("method", ["mondrian", "pool"])
@pytest.mark.parametrize("require", ["k=10", "k=10 & l=3", "k=10 & t=0.5"])
def test_large_tables(people: int, method: str, require: str, tmp_path: Path) -> None:
    table = next(Population(seed=6, people=people).months(1))
    assert same(table, schema(), require, tmp_path, people // 10, method=method).regions > 8


@pytest.mark.parametrize("require", ["k=3", "k=4 & l=2", "k=3 & t=0.45", "entropy-l=1.5", "confidence=0.8"])
@pytest.mark.parametrize("more", [{}, {"boxes": "tight"}, {"suppress": 0.1}, {"effort": "balanced"}])
def test_pool_by_regions(require: str, more: dict[str, Any], tmp_path: Path) -> None:
    table = next(Population(seed=6, people=700).months(1))
    made = same(table, schema(), require, tmp_path, 200, method="pool", **more)
    assert made.regions == 1 if "suppress" in more and "t=" in require else made.regions > 3
    assert made.rows <= table.height


@pytest.mark.parametrize("require", ["k=3 & simple-l=2", "k=4 & simple-l=2 & l=2", "k=5 & confidence=0.6"])
@pytest.mark.parametrize("more", [{}, {"under": "mondrian"}, {"suppress": 0.05}, {"boxes": "tight"}])
def test_mask_by_regions(require: str, more: dict[str, Any], tmp_path: Path) -> None:
    table = next(Population(seed=6, people=900).months(1))
    made = same(table, schema(), require, tmp_path, 300, method="mask", **more)
    assert made.regions > 2
    whole = ri.anonymize(table, schema(), require, method="mask", seed=3, region=300, **more)
    assert whole.draft.notes["changed"] > 0, "values are changed in some region"
    assert whole.draft.notes["regions"] == made.regions


@pytest.mark.parametrize("require", ["k=3", "k=4 & l=2"])
@pytest.mark.parametrize("more", [{}, {"m": 2}, {"choose": "first"}, {"choose": "last"}, {"aware": False}])
def test_providers_by_regions(require: str, more: dict[str, Any], tmp_path: Path) -> None:
    table, plan = shared(900)
    made = same(table, plan, require, tmp_path, 200, method="providers", **more)
    assert made.regions > 3
    one = ri.anonymize(table, plan, require, method="providers", seed=3, **more)
    several = ri.anonymize(table, plan, require, method="providers", seed=3, region=200, **more)
    assert ri.measure(several).loss <= 1.03 * ri.measure(one).loss


def shared(people: int) -> tuple[pl.DataFrame, ri.Schema]:
    """Patients of five hospitals, not all of the same size."""
    table = next(Population(seed=6, people=people).months(1)).drop("hospital", strict=False)
    given = np.random.default_rng(1).choice(
        ["north", "south", "east", "west", "sea"], people, p=[0.4, 0.3, 0.1, 0.1, 0.1]
    )
    return table.with_columns(hospital=pl.Series(given)), schema().with_roles({"hospital": Role.PROVIDER})


@pytest.mark.parametrize(
    ("method", "require", "more", "words"),
    [
        ("providers", "k=3 & t=0.6", {}, "judged again together"),
        ("providers", "k=3", {"choose": "fitness"}, "fitness score"),
        ("mask", "k=20 & t=0.9", {}, "which the method 'mask' changes"),
        ("mask", "k=3 & simple-l=2", {"under": "topdown"}, "take under=pool"),
        ("mask", "k=3 & simple-l=2", {"tables": 2}, "two tables"),
        ("mondrian", "k=3", {"strict": False}, "relaxed splits"),
    ],
)
def test_what_regions_cannot_do_is_done_by_codes(
    method: str, require: str, more: dict[str, Any], words: str, tmp_path: Path
) -> None:
    table, plan = shared(400)
    asked: dict[str, Any] = {"method": method, **({"region": 100} if method in REGIONS else {}), **more}
    with pytest.raises(ri.InputError, match=words):
        ri.anonymize_frame(table, plan, require, **asked)
    assert not list(tmp_path.iterdir())
    made = anonymize_folder(table.lazy(), plan, require, tmp_path / "out", seed=3, fits=90, **asked)
    whole = ri.anonymize(table, plan, require, seed=3, **asked)
    assert whole.draft.notes.get("regions", 1) == made.regions == 1, "in memory it stays one region"
    for number, (name, frame) in enumerate(whole.frames.items()):
        folder = beside_folder(made.folder, name) if number else made.folder
        assert written(folder).equals(frame)
    assert made.loss == pytest.approx(ri.measure(whole).loss)


def test_several_sensitive_columns_by_codes(tmp_path: Path) -> None:
    table, plan = shared(400)
    two = plan.with_roles({"sex": Role.SENSITIVE})
    for method in ("mondrian", "pool", "topdown"):
        made = anonymize_folder(table.lazy(), two, "k=3 & l=2", tmp_path / method, method=method, seed=3)
        whole = ri.anonymize(table, two, "k=3 & l=2", method=method, seed=3)
        assert pl.read_parquet(made.folder).equals(whole.frame)


IDENTIFIERS: list[pl.Series] = [
    pl.Series(["1", "1.0", "a", " b"]),
    pl.Series(["b", "b ", "2020-01-01", "2020-01-01T00:00:00"]),
    pl.Series(["1.5", "01", "1", "-0.0", "-0", "1.00x"]),
    pl.Series([1.0, 2.0, float("nan"), 2.5]),
    pl.Series([1.0, -0.0, 0.0, None]),
    pl.Series(["", " ", None, "x"]),
    pl.Series([3, 2**60, None, -5]),
]
"""Who of these is who: texts that mean the same, numbers, and nobody."""


@pytest.mark.parametrize("number", range(len(IDENTIFIERS)))
def test_people_are_told_apart_as_in_memory(number: int) -> None:
    ids = IDENTIFIERS[number].alias("who")
    texts = identifier_texts(ids)
    right = texts.null_count(), texts.drop_nulls().n_unique(), len(texts)
    source = open_stream(ids.to_frame().lazy())
    assert isinstance(source, Rewritable)
    assert source.people("who") == right


def test_numbers_that_were_rounded_are_nobody(tmp_path: Path) -> None:
    table = pl.DataFrame({"who": [1.0, 1e17], "age": [1, 2]})
    plan = ri.Schema.of_columns(identifier="who", quasi=["age"])
    with pytest.raises(ri.InputError, match=r"15 digits: [^\n]*$"):
        anonymize_folder(table.lazy(), plan, "k=1", tmp_path / "out")


def test_a_missing_provider_and_none_at_all(tmp_path: Path) -> None:
    table, plan = shared(300)
    lacking = table.with_columns(hospital=pl.when(pl.int_range(pl.len()) > 6).then("hospital"))
    with pytest.raises(ri.InputError, match="missing in 7 rows"):
        anonymize_folder(lacking.lazy(), plan, "k=3", tmp_path / "out", method="providers")
    with pytest.raises(ri.InputError, match="provider"):
        anonymize_folder(
            table.lazy(), plan.with_roles({"hospital": Role.DROP}), "k=3", tmp_path / "out", method="providers"
        )
    with pytest.raises(ri.InputError, match="does not meet"):
        anonymize_folder(table.lazy(), plan, "k=250", tmp_path / "out", method="providers")


def test_pool_of_rows_in_another_order() -> None:
    table = next(Population(seed=6, people=700).months(1))
    one = ri.anonymize(table, schema(), "k=4 & l=2", region=300)
    other = ri.anonymize(table.sample(fraction=1, shuffle=True, seed=1), schema(), "k=4 & l=2", region=300)
    assert rows_of(one.frame) == rows_of(other.frame)
    assert one.draft.notes["regions"] > 1


@examples(40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["k=2", "l=2", "k=3 & t=0.6"]),
    st.sampled_from([4, 10, 25]),
    st.sampled_from(["mondrian", "pool"]),
)
def test_trees_numbers_and_missing_values(seed: int, require: str, fits: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    ages = pl.Series(rng.integers(20, 40, 60)).to_frame("age").with_columns(pl.col("age").replace({21: None}))
    jobs = pl.Series("job", rng.choice(["cook", "baker", "nurse", "doctor"], 60))
    real = pl.Series("real", rng.choice([1.5, 2.5, float("nan"), 9.0], 60))
    table = ages.with_columns(jobs, real, pl.Series("ill", rng.choice(["a", "b", "c"], 60)))
    tree = Hierarchy("tree", tree={"food": ["cook", "baker"], "health": ["nurse", "doctor"]})
    plan = ri.Schema.of_columns(quasi=["age", "job", "real"], sensitive=["ill"], taxonomies={"job": tree})
    with tempfile.TemporaryDirectory() as folder:
        same(table, plan, require, Path(folder), fits, method=method)


def test_files_and_seed_decide_everything(tmp_path: Path) -> None:
    table = next(Population(seed=6, people=600).months(1))
    data = tmp_path / "data"
    data.mkdir()
    for number in range(3):
        table[number::3].write_parquet(data / f"{number}.parquet")
    table.write_parquet(tmp_path / "one.parquet")
    names = [(data, "a"), (data, "b"), (tmp_path / "one.parquet", "c")]
    for given_data, name in names:
        anonymize_folder(given_data, schema(), "k=5", tmp_path / name, method="mondrian", fits=100, seed=8)
    first, again, other = (written(tmp_path / name) for _, name in names)
    assert first.equals(again)
    assert first.equals(other)
    assert ri.check(tmp_path / "a", schema(), "k=5", engine="stream").met


def test_a_part_holds_no_text_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are written as numbers of texts, and all columns share one list of them in memory."""
    plain = partialmethod(pl.DataFrame.write_parquet, compression="uncompressed", statistics=False)
    monkeypatch.setattr(pl.DataFrame, "write_parquet", plain)
    places = [f"place-{number}" for number in range(40)]
    table = pl.DataFrame({"place": [one for one in places for _ in range(3)] + ["left-out"], "ill": ["flu"] * 121})
    plan = ri.Schema.of_columns(quasi=["place"], sensitive=["ill"])
    anonymize_folder(table.lazy(), plan, "k=3", tmp_path / "out", fits=20, seed=0, method="topdown", suppress=0.05)
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) > 3
    for file in files:
        shown = pl.read_parquet(file)["place"].cast(pl.String).unique().to_list()
        raw = file.read_bytes()
        assert [one for one in [*places, "left-out"] if one.encode() in raw] == [
            one for one in [*places, "left-out"] if any(one in text for text in shown)
        ]


def test_parts_are_one_table_to_whoever_reads_them(tmp_path: Path) -> None:
    table = next(Population(seed=6, people=600).months(1))
    anonymize_folder(table.lazy(), schema(), "k=5", tmp_path / "out", method="mondrian", fits=100, seed=8)
    scanned = pl.scan_parquet(tmp_path / "out").collect()
    assert scanned.height == 600
    assert scanned.equals(written(tmp_path / "out"))
    assert scanned.filter(pl.col("age") == scanned["age"].cast(pl.String)[0]).height >= 5


def test_what_one_pass_tells_the_next_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, found = next(Population(seed=6, people=600).months(1)), []
    for remembered in (coded._REMEMBERED, 0):
        monkeypatch.setattr(coded, "_REMEMBERED", remembered)
        with patch.object(CodedFiles, "_of_each_file", autospec=True, side_effect=CodedFiles._of_each_file) as passes:
            asked: dict[str, Any] = {"method": "mondrian", "fits": 50, "seed": 8}
            made = anonymize_folder(table.lazy(), schema(), "k=5", tmp_path / str(remembered), **asked)
        found.append((passes.call_count, made.regions, rows_of(written(tmp_path / str(remembered)))))
    assert found[0][1:] == found[1][1:]
    assert found[0][0] < 0.6 * found[1][0]


def test_what_cannot_be_done_is_refused_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = next(Population(seed=6, people=300).months(1))
    twice = pl.concat([table, table.head(1)])
    cases: list[tuple[pl.DataFrame, ri.Schema, str, str, str]] = [
        (table, replace(schema(), several_rows=True), "k=3", "mondrian", "Several rows"),
        (table, schema(), "k=301", "mondrian", "301"),
        (twice, schema(), "k=3", "mondrian", "not unique"),
        (table.drop("age"), schema(), "k=3", "mondrian", "lacks: age"),
        (table.clear(), schema(), "k=3", "mondrian", "no rows"),
    ]
    for data, plan, require, method, words in cases:
        with pytest.raises(ri.InputError, match=words):
            anonymize_folder(data.lazy(), plan, require, tmp_path / "out", method=method)
    monkeypatch.setattr(by_regions, "meets_by_parts", lambda *_: False)
    with pytest.raises(InternalError, match="Nothing was published"):
        anonymize_folder(table.lazy(), schema(), "k=3", tmp_path / "out")
    assert not list(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    with pytest.raises(ri.InputError, match="there already"):
        anonymize_folder(table.lazy(), schema(), "k=3", tmp_path / "out")


def test_scratch_files_are_gone_also_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = next(Population(seed=6, people=300).months(1))

    def fails(*_: object) -> None:
        raise ValueError("no regions")

    monkeypatch.setattr(by_regions, "find_regions", fails)
    with pytest.raises(ValueError, match="no regions"):
        anonymize_folder(table.lazy(), schema(), "k=3", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_table_in_memory_is_one_region_and_every_argument_is_that_of_anonymize(tmp_path: Path) -> None:
    """The default method, and a schema given as a file, a mapping or itself, by whichever engine."""
    table, plan = shared(300)
    (tmp_path / "schema.toml").write_text(plan.dumps())
    right = ri.anonymize(table, plan, "k=3", seed=3)
    schemas: list[ri.Schema | Path | str] = [plan, tmp_path / "schema.toml", str(tmp_path / "schema.toml")]
    for number, one in enumerate(schemas):
        for engine, data in (("memory", table), ("stream", table.lazy())):
            out = tmp_path / f"{engine}{number}"
            made = anonymize_folder(data, one, "k=3", out, seed=3, engine=engine)
            assert rows_of(written(out)) == rows_of(right.frame)
            assert (made.method, made.regions, made.groups) == ("pool", 1, right.groups)
            assert made.loss == pytest.approx(ri.measure(right).loss)
    roles = {name: str(role) for name, role in plan.columns.items()}
    anonymize_folder(table.lazy(), roles, "k=3", tmp_path / "mapping", seed=3)
    assert rows_of(written(tmp_path / "mapping")) == rows_of(ri.anonymize(table, roles, "k=3", seed=3).frame)
