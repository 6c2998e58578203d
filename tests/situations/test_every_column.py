"""Two sensitive columns from a CSV file to a checked release, a ledger and an audit: each column counts by itself."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.findings import Status
from tests.cli.conftest import Reissue, reissue

__all__ = ["reissue"]

WARDS = ["a", "b", "c", "d", "e", "f"]
SCHEMA = """
[columns]
id = "identifier"
age = "quasi"
zip = "quasi"
hiv = "sensitive"
ward = "sensitive"
"""


def people(number: int = 400, seed: int = 1, first: int = 0, positive: float = 0.03) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(number) + first,
            "age": rng.integers(20, 80, number),
            "zip": rng.integers(100, 140, number),
            "hiv": np.where(rng.random(number) < positive, "positive", "negative"),
            "ward": rng.choice(WARDS, number),
        }
    )


def groups_of(frame: pl.DataFrame, columns: tuple[str, ...]) -> dict[Any, list[Any]]:
    """Published group to the values of its records in some columns; groups by number, or by what rows look like."""
    by = ["group"] if "group" in frame.columns else ["age", "zip"]
    found: dict[Any, list[Any]] = defaultdict(list)
    for row in frame.iter_rows(named=True):
        found[tuple(row[name] for name in by)].append(tuple(row[name] for name in columns))
    return found


def share(frame: pl.DataFrame, column: str) -> float:
    """The largest share of a group that has one value, record by record."""
    return max(max(Counter(values).values()) / len(values) for values in groups_of(frame, (column,)).values())


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    frame = people()
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return frame


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("method", "require"), [("invariance", "m-unique=3"), ("equivalence", "simple-l=3"), ("distinct", "m-unique=3")]
)
def test_groups_by_value_are_refused_where_a_column_falls_short(
    reissue: Reissue, tmp_path: Path, method: str, require: str
) -> None:
    """373 of 400 rows used to be published in groups with one value of `hiv`."""
    call = ("anonymize", "people.csv", "-s", "schema.toml", "-r", require, "--method", method)
    made = reissue(*call, "--out", "out.csv", "--memory", "series.memory")
    assert made.code == 1, made.out
    text = " ".join(made.err.split())
    assert "in the column 'hiv'" in text
    assert "'pool' or 'cohorts'" in text
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "series.memory").exists()


@pytest.mark.usefixtures("table")
def test_what_no_release_can_meet_is_said_of_the_column(reissue: Reissue) -> None:
    made = reissue("anonymize", "people.csv", "-s", "schema.toml", "-r", "k=3 & l=3", "--out", "out.csv")
    assert made.code == 2
    assert "in the column 'hiv' (it has 2 distinct sensitive values)" in " ".join(made.err.split())


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("method", ["pool", "mondrian", "topdown", "incognito", "anatomy", "cohorts"])
def test_every_group_has_two_values_of_every_column(reissue: Reissue, tmp_path: Path, method: str) -> None:
    call = ("anonymize", "people.csv", "-s", "schema.toml", "-r", "k=5 & l=2", "--method", method, "--out", "out.csv")
    made = reissue(*call, *(("--memory", "series.memory") if method == "cohorts" else ()))
    assert made.code == 0, made.err
    if method != "anatomy":
        out = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
        for column in ("hiv", "ward"):
            assert all(len(set(values)) > 1 for values in groups_of(out, (column,)).values())
    assert reissue("check", "out.csv", "-s", "schema.toml", "-r", "k=5 & l=2").code == 0


@pytest.mark.usefixtures("table")
def test_check_names_the_column(reissue: Reissue, tmp_path: Path) -> None:
    rows = people().sort("age").with_row_index("n")
    broad = rows.with_columns(age=pl.col("n") // 8, zip=pl.lit("*"))
    broad.select("age", "zip", "hiv", "ward").write_csv(tmp_path / "out.csv")
    found = reissue("check", "out.csv", "-s", "schema.toml", "-r", "k=5 & l=2", "--json")
    assert found.code == 1
    k, l_verdict = found.json["verdicts"]
    assert (k["met"], l_verdict["met"], l_verdict["columns"]) == (True, False, ["hiv"])
    own = groups_of(pl.read_csv(tmp_path / "out.csv", infer_schema=False), ("hiv",)).values()
    assert l_verdict["groups"] == sum(len(set(values)) == 1 for values in own)
    measures = {name: {one["name"]: one["value"] for one in some} for name, some in found.json["columns"].items()}
    assert list(measures) == ["hiv", "ward", "hiv, ward"]
    assert measures["hiv"]["l"] == 1
    assert measures["hiv"]["confidence"] == share(pl.read_csv(tmp_path / "out.csv", infer_schema=False), "hiv")
    assert measures["ward"]["l"] > 1
    worst = {one["name"]: one for one in found.json["measures"]}
    assert (worst["l"]["value"], worst["l"]["column"]) == (1, "hiv")
    said = reissue("check", "out.csv", "-s", "schema.toml", "-r", "l=2")
    assert "l=2 is not met in the column 'hiv'" in " ".join(said.out.split())
    assert "In the column 'ward', l = " in " ".join(said.out.split())


@pytest.mark.usefixtures("table")
def test_what_needs_no_protection_binds_no_group(reissue: Reissue, tmp_path: Path) -> None:
    text = SCHEMA + '\n[policy]\nharmless_values = { hiv = ["negative"] }\n'
    (tmp_path / "guarded.toml").write_text(text, encoding="utf-8")
    asked = "k=5 & confidence=0.5"
    refused = reissue("anonymize", "people.csv", "-s", "schema.toml", "-r", asked, "--out", "no.csv")
    assert refused.code == 2
    assert "in the column 'hiv'" in refused.err
    assert reissue("anonymize", "people.csv", "-s", "guarded.toml", "-r", asked, "--out", "out.csv").code == 0
    out = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    for values in groups_of(out, ("hiv", "ward")).values():
        assert sum(hiv == "positive" for hiv, _ in values) <= len(values) / 2
        assert max(Counter(ward for _, ward in values).values()) <= len(values) / 2
    found = reissue("check", "out.csv", "-s", "guarded.toml", "-r", asked)
    assert found.code == 0
    assert "need no protection" in " ".join(found.out.split()) or "needs no protection" in " ".join(found.out.split())
    assert reissue("check", "out.csv", "-s", "schema.toml", "-r", asked).code == 1


def test_missing_cells_bind_no_group_unless_absence_is_sensitive() -> None:
    frame = people(200).with_columns(hiv=pl.when(pl.col("hiv") == "positive").then("hiv"))
    schema = ri.Schema.of_columns(quasi=["age", "zip"], sensitive=["hiv"])
    open_ = ri.anonymize(frame.drop("id", "ward"), schema, "k=5 & confidence=0.5", seed=1)
    assert open_.groups > 20
    guarded = {
        "columns": {"age": "quasi", "zip": "quasi", "hiv": "sensitive"},
        "policy": {"missing_is_sensitive": True},
    }
    with pytest.raises(ri.ReissueError, match="No release of this table"):
        ri.anonymize(frame.drop("id", "ward"), guarded, "k=5 & confidence=0.5", seed=1)


def test_a_requirement_that_names_values_is_asked_of_the_column_that_has_them() -> None:
    schema = ri.Schema.loads(SCHEMA)
    release = ri.anonymize(people(positive=0.2), schema, "k=4 & confidence=0.4:positive & alpha-k=0.6,4:a", seed=1)
    for values in groups_of(release.frame, ("hiv", "ward")).values():
        assert sum(hiv == "positive" for hiv, _ in values) <= 0.4 * len(values)
        assert sum(ward == "a" for _, ward in values) <= 0.6 * len(values)
    with pytest.raises(ri.ReissueError, match="do not have"):
        ri.anonymize(people(), schema, "confidence=0.4:nobody", seed=1)


@pytest.mark.parametrize("method", ["pool", "cohorts"])
def test_a_series_in_which_two_columns_change(reissue: Reissue, tmp_path: Path, method: str) -> None:
    """A ledger takes what both columns become from the schema, and keeps the file that says it."""
    (tmp_path / "wards.csv").write_text("from,to,probability\na,b,0.3\nb,a,0.3\n", encoding="utf-8")
    updates = '\n[updates.hiv]\norder = ["negative", "positive"]\n[updates.ward]\nfile = "wards.csv"\n'
    policy = f'\n[policy]\nrequire = "k=5 & l=2"\nmethod = "{method}"\nlimit = 0.99\nattacks = ["joint", "updates"]\n'
    policy += "limits = { updates = 0.999 }\n"
    (tmp_path / "schema.toml").write_text(SCHEMA + updates + policy, encoding="utf-8")
    first = people(positive=0.3)
    moved = first.with_columns(
        ward=pl.when((pl.col("ward") == "a") & (pl.col("id") % 3 == 0)).then(pl.lit("b")).otherwise("ward"),
        hiv=pl.when(pl.col("id") % 40 == 0).then(pl.lit("positive")).otherwise("hiv"),
    )
    first.write_csv(tmp_path / "w1.csv")
    moved.write_csv(tmp_path / "w2.csv")
    for number in (1, 2):
        call = ("publish", f"w{number}.csv", "--ledger", "x.ledger", "--out", f"r{number}.csv")
        made = reissue(*call, *(("-s", "schema.toml") if number == 1 else ()), "--json")
        assert made.code == 0, made.err
        found = {one["attack"]: one for one in made.json["findings"]}
        assert {name: one["status"] for name, one in found.items()} == {"joint": "withstood", "updates": "withstood"}
        assert set(found["updates"]["details"]["columns"]) == {"hiv", "ward", "hiv, ward"}
        out = pl.read_csv(tmp_path / f"r{number}.csv", infer_schema=False)
        for column in ("hiv", "ward"):
            assert all(len(set(values)) > 1 for values in groups_of(out, (column,)).values())
    assert "0.3" in "".join(path.read_text() for path in (tmp_path / "x.ledger").rglob("*.csv"))


def test_attacks_of_the_papers_say_in_which_column() -> None:
    """A group's three people have one value of `hiv` and three wards: both columns together tell nobody apart."""
    schema = ri.Schema.loads(SCHEMA)
    rows = [("p", "a"), ("p", "b"), ("p", "c"), ("n", "a"), ("p", "b"), ("n", "c")]
    columns = {"hiv": [one for one, _ in rows], "ward": [one for _, one in rows], "zip": [1] * 6, "id": list(range(6))}
    releases = [pl.DataFrame({**columns, "age": ages}) for ages in ([1, 1, 1, 2, 2, 2], [3, 3, 3, 4, 4, 4])]
    found = ri.attack(releases, schema, only="updates", limits={"updates": 0.9})["updates"]
    assert found.status == Status.EXPOSED
    assert found.details["column"] == "hiv"
    assert found.sentence.startswith("In the column 'hiv': ")
    assert set(found.details["columns"]) == {"hiv", "ward", "hiv, ward"}
    alone = ri.attack(
        [one.drop("ward") for one in releases], schema.of_sensitive("hiv"), only="updates", limits={"updates": 0.9}
    )["updates"]
    assert (alone.people, alone.worst) == (found.details["columns"]["hiv"]["people"], found.worst)


def test_missing_cells_expose_nobody_to_the_update_attack() -> None:
    columns = {"id": list(range(6)), "zip": [1] * 6, "hiv": [None, None, "x", None, None, "y"]}
    releases = [pl.DataFrame({**columns, "age": ages}) for ages in ([1, 1, 1, 2, 2, 2], [1, 1, 2, 1, 2, 2])]
    roles = {"id": "identifier", "age": "quasi", "zip": "quasi", "hiv": "sensitive"}
    limits = {"updates": 0.6}
    spared = ri.attack(releases, {"columns": roles}, only="updates", limits=limits)["updates"]
    policy = {"missing_is_sensitive": True}
    guarded = ri.attack(releases, {"columns": roles, "policy": policy}, only="updates", limits=limits)["updates"]
    assert guarded.status == Status.EXPOSED
    assert spared.people < guarded.people


@pytest.mark.parametrize("method", ["pool", "providers"])
def test_no_coalition_looks_at_one_column_only(method: str) -> None:
    rng = np.random.default_rng(3)
    frame = people(positive=0.4).with_columns(party=pl.Series(rng.choice(["x", "y", "z"], 400)))
    schema = ri.Schema.read({"columns": {**ri.Schema.loads(SCHEMA).columns, "party": "provider"}})
    release = ri.anonymize(frame, schema, "k=3 & l=2", method=method, seed=1)
    found = ri.attack([release], schema, only="coalition")["coalition"]
    broken = 0
    box = np.vstack([release.boxes.lo, release.boxes.hi])[:, release.draft.groups]
    keyed = frame.with_columns(group=pl.Series(np.unique(box, axis=1, return_inverse=True)[1].reshape(-1)))
    for party in "xyz":
        for column in ("hiv", "ward"):
            left = groups_of(keyed.filter(pl.col("party") != party), (column,))
            broken += sum(len(values) < 3 or len(set(values)) < 2 for values in left.values())
    assert (found.status == Status.EXPOSED) == bool(broken)
    assert method == "pool" or not broken


def test_slots_of_a_panel_are_judged_by_each_column_and_by_what_needs_protection() -> None:
    """Four slots share one history: all have one value of `hiv`, and four wards."""
    roles = {"age": "quasi", "hiv": "sensitive", "ward": "sensitive"}
    frame = pl.DataFrame({"group": [1] * 4, "slot": range(4), "age": [1] * 4, "hiv": ["p"] * 4, "ward": list("abcd")})
    policy: dict[str, object] = {"limit": 0.5}
    plain = ri.attack([frame], {"columns": roles, "policy": policy}, only="trajectory", limits={"trajectory": 2})
    assert plain["trajectory"].details["above"] == 4
    policy |= {"harmless_values": {"hiv": ["p"]}}
    spared = ri.attack([frame], {"columns": roles, "policy": policy}, only="trajectory", limits={"trajectory": 2})
    assert spared["trajectory"].details["above"] == 0
    assert spared["trajectory"].status == Status.WITHSTOOD


@pytest.mark.parametrize("sensitive", [["hiv"], ["hiv", "ward"]])
@pytest.mark.parametrize("method", ["mondrian", "pool", "topdown"])
def test_a_table_that_is_streamed_is_judged_alike(tmp_path: Path, method: str, sensitive: list[str]) -> None:
    asked, frame = "k=5 & confidence=0.5", people(600, positive=0.4).drop("id")
    frame = frame.with_columns(hiv=pl.when(pl.col("hiv") == "positive").then("hiv"))
    frame = frame.with_columns(hiv=pl.when(pl.col("age") % 4 == 0).then(pl.lit("unclear")).otherwise("hiv"))
    frame.write_parquet(tmp_path / "people.parquet")
    schema = ri.Schema.of_columns(quasi=["age", "zip"], sensitive=sensitive)
    made = ri.anonymize_folder(
        tmp_path / "people.parquet", schema, asked, tmp_path / "out", method=method, seed=1, engine="stream"
    )
    assert made.groups == ri.anonymize(frame, schema, asked, method=method, seed=1).groups
    out = pl.read_parquet(tmp_path / "out" / "*.parquet")
    for column in sensitive:
        for values in groups_of(out, (column,)).values():
            known = Counter(value for (value,) in values if value is not None)
            assert max(known.values(), default=0) <= len(values) / 2
