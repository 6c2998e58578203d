"""Methods that look at all rows, of a table that is handed over as codes: the same tables as in memory, row for row."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy, Table
from reissue.engines.base import InBatches
from reissue.engines.stream import open_stream
from reissue.publishing.coding import table_by_codes
from reissue.publishing.folder import anonymize_folder
from reissue.release.memory import Memory, fingerprint, load_memory, pack_memory, save_memory
from reissue.schema import Role
from tests.effort import examples

TREE = Hierarchy("tree", tree={"food": ["cook", "baker of cakes"], "health": ["nurse", "doctor of medicine"]})
PLAN = ri.Schema.of_columns(
    identifier="who",
    provider="house",
    quasi=["age", "job", "real", "born"],
    sensitive=["ill"],
    keep=["note", "text"],
    taxonomies={"job": TREE},
)
FORMS = ("generalized", "permuted", "two tables")
ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("anatomy", "simple-l=2", {}),
    ("anatomy", "k=5 & l=2", {"suppress": 0.2}),
    *(("invariance", "m-unique=2", {"form": form, "ineligible": "counterfeits"}) for form in FORMS),
    *(("equivalence", "simple-l=2", {"form": form, "e": 2, "ineligible": "counterfeits"}) for form in FORMS),
    *(("cohorts", "k=4 & l=2", {"form": form, "suppress": 0.3, "counterfeits": 1}) for form in FORMS),
    ("cohorts", "k=4", {"apart": True, "suppress": 0.3, "counterfeits": 1}),
    ("distinct", "m-unique=2", {}),
]
CHANGING = ("cohorts", "distinct")


def people(seed: int, number: int = 90) -> list[pl.DataFrame]:
    """Three tables of people who come and go and age; the second and third hold values that the first one lacks."""
    rng = np.random.default_rng(seed)
    everyone = pl.DataFrame(
        {
            "who": [f"person number {one:05d}" for one in rng.permutation(number)],
            "age": pl.Series(rng.integers(20, 40, number), dtype=pl.Int16).replace(21, None),
            "house": rng.choice(["north", "south of the river"], number),
            "job": rng.choice(["cook", "baker of cakes", "nurse", "doctor of medicine"], number),
            "real": rng.choice([1.5, 2.5, float("nan"), 9.0], number),
            "text": rng.choice(["a", "a rather long text", ""], number),
            "ill": rng.choice(["a cold", "influenza, type A", "measles", "mumps"], number),
            "born": pl.Series(rng.integers(0, 9000, number) // 30 * 30, dtype=pl.Int32).cast(pl.Date),
            "note": rng.integers(0, 3, number),
        }
    )
    everyone = everyone.with_columns(text=pl.col("text").replace("", None))
    months = [everyone.filter(pl.Series(rng.random(number) < 0.7)) for _ in range(3)]
    late = pl.col("age") + 30
    return [month.with_columns(late if turn else pl.col("age")) for turn, month in enumerate(months)]


def changing(months: list[pl.DataFrame], seed: int) -> list[pl.DataFrame]:
    """The same people, some of whom have another value each time."""
    rng, values = np.random.default_rng(seed), ["a cold", "influenza, type A", "measles", "mumps", "gout"]
    found = []
    for month in months:
        other = pl.Series("ill", rng.choice(values, month.height))
        found.append(month.with_columns(month["ill"].zip_with(pl.Series(rng.random(month.height) < 0.8), other)))
    return found


def written(folder: Path) -> pl.DataFrame:
    return pl.concat(pl.read_parquet(one) for one in sorted(folder.iterdir()))


def compare(months: list[pl.DataFrame], place: Path, asked: tuple[str, str, dict[str, Any]], rows: int) -> int:
    """A series both ways, table by table, and what is remembered of it; how many releases there are."""
    method, require, options = asked
    memory = Memory(fingerprint(PLAN), method, b"a key of 16 byte")
    more: dict[str, Any] = {} if method == "anatomy" else {"memory": place / "kept", "newcomers": True}
    if more:
        save_memory(memory, place / "kept")
    for number, month in enumerate(months):
        (place / f"{number}").mkdir()
        for file in range(2):
            month[file * 20 : 20 if file == 0 else None].write_parquet(place / f"{number}" / f"{file}.parquet")
        given_memory: dict[str, Any] = {"memory": memory, "newcomers": True} if more else {}
        out = place / f"out{number}"
        try:
            whole = ri.anonymize(month, PLAN, require, method=method, seed=number, **given_memory, **options)
        except ri.InputError as problem:
            refused: tuple[type[Exception], str] | None = (type(problem), str(problem))
        else:
            refused = None
        if refused is not None:
            with pytest.raises(refused[0], match=f"^{re.escape(refused[1])}$"):
                anonymize_folder(place / f"{number}", PLAN, require, out, method=method, seed=number, **more, **options)
            assert not out.exists()
            return number
        made = anonymize_folder(
            place / f"{number}", PLAN, require, out, method=method, seed=number, fits=rows, **more, **options
        )
        for name, frame in whole.frames.items():
            folder = out if name in {"release", "quasi"} else place / f"out{number}.{name}"
            assert written(folder).equals(frame)
            assert written(folder).schema == frame.schema
            assert all(pl.read_parquet(one).height <= rows for one in folder.iterdir())
        assert (made.rows, made.groups, made.warnings) == (whole.frame.height, whole.groups, whole.warnings)
        one, other = (ri.check(some, PLAN, require, engine=by) for some, by in ((out, "stream"), (whole, "memory")))
        assert one.as_dict() == other.as_dict()
        assert made.loss == pytest.approx(ri.measure(whole).loss)
        if more and whole.draft.memory is not None:
            memory = whole.draft.memory
            assert pack_memory(load_memory(place / "kept")) == pack_memory(memory)
    return len(months)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: " ".join(map(str, [asked[0], *asked[2].values()])))
def test_a_series_by_codes_is_that_in_memory(asked: tuple[str, str, dict[str, Any]], tmp_path: Path) -> None:
    months = people(1, 120)
    months = changing(months, 2) if asked[0] in CHANGING else months
    assert compare(months, tmp_path, asked, 7) == 3


@examples(40)
@given(st.integers(0, 10**6), st.sampled_from(ASKED), st.sampled_from([5, 30, 500]))
def test_any_people(seed: int, asked: tuple[str, str, dict[str, Any]], rows: int) -> None:
    months = people(seed, 60)
    months = changing(months, seed) if asked[0] in CHANGING else months
    with tempfile.TemporaryDirectory() as place:
        compare(months, Path(place), asked, rows)


def test_codes_are_those_of_the_table_in_memory() -> None:
    month = people(5)[0]
    source, whole = open_stream(month.lazy()), Table.read(month, PLAN)
    assert isinstance(source, InBatches)
    codes = table_by_codes(source, PLAN)
    assert (codes.codes == whole.codes).all()
    assert (codes.sensitive == whole.sensitive).all()
    assert (codes.domain.totals == whole.domain.totals).all()
    assert dict(codes.kinds) == dict(whole.kinds)
    assert set(codes.frame.columns) == {"who", "house", "text", "ill", "note"}
    assert codes.frame["text"].cast(pl.String).equals(month["text"])


def test_two_sensitive_columns(tmp_path: Path) -> None:
    month = people(6)[0]
    two = PLAN.with_roles({"note": Role.SENSITIVE})
    whole = ri.anonymize(month, two, "simple-l=2", method="anatomy", seed=1)
    anonymize_folder(month.lazy(), two, "simple-l=2", tmp_path / "out", method="anatomy", seed=1, fits=20)
    assert written(tmp_path / "out").equals(whole.frame)
    assert written(tmp_path / "out.sensitive").equals(whole.frames["sensitive"])


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    month = people(7)[0]

    def ask(data: Any, plan: ri.Schema = PLAN, **more: Any) -> None:
        anonymize_folder(data, plan, "simple-l=2", tmp_path / "out", method="anatomy", seed=1, **more)

    twice = pl.concat([month, month[:1]])
    several = replace(PLAN, several_rows=True)
    cases: list[tuple[pl.DataFrame, ri.Schema, str]] = [
        (twice, PLAN, "not unique"),
        (month.with_columns(who=pl.Series(["1", "1.0", *month["who"][2:]])), PLAN, "not unique"),
        (month.drop("age"), PLAN, "lacks: age"),
        (month.clear(), PLAN, "no rows"),
        (month, several, "Several rows"),
        (month.with_columns(job=pl.lit("thief")), PLAN, "taxonomy lacks"),
    ]
    for data, plan, words in cases:
        with pytest.raises(ri.InputError, match=words):
            ask(data.lazy(), plan)
    (tmp_path / "out.sensitive").mkdir()
    with pytest.raises(ri.InputError, match="already"):
        ask(month.lazy())
    (tmp_path / "out.sensitive").rmdir()
    with monkeypatch.context() as broken:
        broken.setattr("reissue.files.staging._move", lambda _: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(ri.InputError, match="cannot be written"):
            ask(month.lazy())
    assert not list(tmp_path.iterdir())
    ask(month.lazy())
    with pytest.raises(ri.InputError, match="there already"):
        ask(month.lazy())
    with pytest.raises(ri.InputError, match="no use for a memory"):
        anonymize_folder(month.lazy(), PLAN, "k=2", tmp_path / "more", method="mondrian", memory=tmp_path / "m")


def test_who_is_left_out_is_in_no_byte_of_the_files(tmp_path: Path) -> None:
    """A text that only they have is no category of a column either."""
    ill = ["influenza"] * 24 + ["measles", "mumps"] * 18
    table = pl.DataFrame(
        {
            "who": range(60),
            "town": ["Nowhere at all"] + [f"town {one % 4}" for one in range(59)],
            "ill": ill,
            "note": ["about nobody"] + ["none"] * 59,
        }
    )
    table.write_parquet(tmp_path / "table.parquet")
    plan = ri.Schema.of_columns(identifier="who", quasi=["town"], sensitive=["ill"], keep=["note"])
    left_out = 0
    for seed in range(12):
        out = tmp_path / f"out{seed}"
        anonymize_folder(tmp_path / "table.parquet", plan, "simple-l=3", out, method="anatomy", suppress=0.3, seed=seed)
        files = [one.read_bytes() for one in tmp_path.glob(f"out{seed}*/*.parquet")]
        assert len(files) == 2
        if "Nowhere at all" not in pl.read_parquet(out)["town"]:
            left_out += 1
            assert not any(text in file for file in files for text in (b"Nowhere at all", b"about nobody"))
    assert 0 < left_out < 12
