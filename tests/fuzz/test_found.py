"""What the fuzzer found, each as small as it gets; the cases themselves are in test_fuzz."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue import check
from reissue.cli._app import run
from reissue.errors import RequirementError, SchemaError
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.updates import UpdateModel
from reissue.utility import measure
from tests.cli.conftest import Reissue, reissue

__all__ = ["reissue"]

PEOPLE = pl.DataFrame(
    {"id": range(8), "age": [20, 20, 30, 30, 40, 40, 50, 50], "ill": ["flu", "gout", "burn", "flu"] * 2}
)


def written(folder: Path, frame: pl.DataFrame, name: str = "data.csv", **roles: str) -> None:
    frame.write_csv(folder / name)
    lines = [f'"{column}" = "{role}"' for column, role in roles.items()]
    (folder / "s.toml").write_text("\n".join(["[columns]", *lines, ""]), encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["len", "code", "count", "group", "person", "release", "real", "size", "v", "n", "value"]
)
@pytest.mark.parametrize("column", ["age", "ill"])
def test_a_column_may_have_any_name(reissue: Reissue, tmp_path: Path, name: str, column: str) -> None:
    frame = PEOPLE.rename({column: name})
    roles = {"id": "identifier", "age": "quasi", "ill": "sensitive"}
    written(tmp_path, frame, **{name if old == column else old: role for old, role in roles.items()})
    made = reissue("anonymize", "data.csv", "-s", "s.toml", "-r", "k=2 & l=2", "-o", "out.csv")
    assert made.code == 0, made.err
    assert reissue("check", "out.csv", "-s", "s.toml", "-r", "k=2 & l=2").code == 0
    for files in (["data.csv", "data.csv"], ["out.csv", "out.csv"]):
        found = reissue("attack", *files, "-s", "s.toml", "--json")
        assert found.code in {0, 1, 3}, found.out


@pytest.mark.parametrize("name", ["number", "place", "row", "person", "text"])
def test_a_sensitive_column_of_a_series_may_have_any_name(name: str) -> None:
    """A series numbers its values beside their columns."""
    frame = PEOPLE.rename({"ill": name})
    schema = Schema.of_columns(quasi=["age"], sensitive=[name], identifier="id")
    assert ri.anonymize(frame, schema, "m-unique=2", method="invariance", seed=0).frame.height == 8
    assert ri.plan([frame, frame], schema, budget=1.0, further=1) is not None


@pytest.mark.parametrize("name", ["v", "n", "n_next", "person"])
def test_people_may_have_any_name_where_updates_are_learnt(name: str) -> None:
    model = UpdateModel.learned([PEOPLE.rename({"id": name})] * 2, name, "ill")
    assert model.names == ("burn", "flu", "gout")


def test_a_sensitive_column_called_code_is_counted_as_any_other() -> None:
    """Its numbers took the place of the codes: the wrong values were compared."""
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "code": [5, 7, 5, 5]})
    found = check(frame, Schema.of_columns(quasi=["age"], sensitive=["code"]), "l=2")
    assert not found.met


@pytest.mark.parametrize("text", ["l=99999999999999999999", "k=1" + "0" * 400, "recursive=2,10000000000000000"])
def test_numbers_that_no_table_has_are_refused(text: str) -> None:
    with pytest.raises(RequirementError, match="must be a whole number between"):
        parse(text)


def test_a_column_without_a_name_has_no_role() -> None:
    with pytest.raises(SchemaError, match="without a name"):
        Schema.of_columns(quasi=["age", ""])
    assert Schema.loads('[columns]\nage = "quasi"\n"" = "drop"\n').quasi == ("age",)


def test_init_and_attack_leave_a_column_without_a_name_out(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("id,,age,ill\n" + "".join(f"{i},{i},{i % 3},{'ab'[i % 2]}\n" for i in range(9)))
    assert reissue("init", "data.csv", "-o", "new.toml").code == 0
    schema = Schema.load(tmp_path / "new.toml")
    assert "" not in schema.columns, "init repairs the table first, which names the column"
    found = reissue("attack", "data.csv", "data.csv", "--json")
    assert found.code in {0, 1, 3}
    assert any("has no name" in line for line in found.json["assumed"]), found.json["assumed"]


def test_groups_may_have_names_in_files_of_others(reissue: Reissue, tmp_path: Path) -> None:
    frame = PEOPLE.with_columns(group=pl.Series(["north", "south", None, "north"] * 2))
    written(tmp_path, frame, id="identifier", age="quasi", ill="sensitive")
    assert reissue("attack", "data.csv", "data.csv", "-s", "s.toml", "--json").code in {0, 1, 3}


def test_series_without_quasi_identifiers_are_refused(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE, id="identifier", ill="sensitive")
    found = reissue("check", "data.csv", "data.csv", "--series", "-s", "s.toml")
    assert found.code == 2
    assert "no quasi-identifier" in found.err


def test_series_of_files_without_rows_are_refused(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE.clear(), id="identifier", age="quasi", ill="sensitive")
    assert reissue("check", "data.csv", "data.csv", "--series", "-s", "s.toml").code == 2


def test_more_people_than_records_are_noticed() -> None:
    """Numbers of rows are unsigned: their difference was never below 0."""
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="id")
    published = PEOPLE.drop("id").head(2)
    many = pl.DataFrame({"id": range(9), "age": [20] * 9})
    found = ri.attack([published, published], schema, knowledge=ri.Knowledge(members=[many, many]), only="equivalence")
    assert "more people than records" in str(found["equivalence"].reason)


def test_a_series_without_sensitive_column_can_be_published(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE, id="identifier", age="quasi")
    with (tmp_path / "s.toml").open("a") as file:
        file.write('[policy]\nrequire = "k=2"\nnot_run = "allow"\n')
    assert run(["publish", "data.csv", "-l", "n.ledger", "-s", "s.toml", "-o", "r1.csv"]) == 0


@pytest.mark.parametrize("place", ["", ".", "/", "postgresql://"])
def test_a_ledger_has_a_name(reissue: Reissue, tmp_path: Path, place: str) -> None:
    written(tmp_path, PEOPLE, id="identifier", age="quasi", ill="sensitive")
    for command in (["ledger", "list", place], ["publish", "data.csv", "-l", place, "-s", "s.toml"]):
        found = reissue(*command)
        assert found.code == 2, found.err
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "s.toml"}


def test_equivalence_publishes_everyone_truly_where_rows_may_be_left_out() -> None:
    """Whom the grouping of looks left out was published with the looks of another group."""
    frame = pl.DataFrame(
        {
            "id": range(6),
            "age": [2, 3, 1, 1, 2, 1],
            "sex": list("ffffmf"),
            "ill": ["burn", "asthma", "angina", "asthma", "gout", "angina"],
        }
    )
    schema = Schema.of_columns(quasi=["age", "sex"], sensitive=["ill"], identifier="id")
    release = ri.anonymize(frame, schema, "simple-l=2", method="equivalence", seed=1, e=2, suppress=0.2)
    shown = release.tables["release"]["sex"].cast(pl.String)
    assert shown.is_in(["*", "m"]).sum() >= 1


def test_a_ledger_is_not_begun_with_a_schema_whose_files_cannot_be_read(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE, id="identifier", age="quasi", ill="sensitive")
    with (tmp_path / "s.toml").open("a") as file:
        file.write('[taxonomy.age]\nfile = "absent.csv"\n[policy]\nrequire = "k=2"\n')
    found = reissue("publish", "data.csv", "-l", "n.ledger", "-s", "s.toml", "-o", "r1.csv")
    assert found.code == 2
    assert not (tmp_path / "n.ledger").exists()


@pytest.mark.parametrize("kind", [pl.List(pl.Int64), pl.Duration("us"), pl.Binary, pl.Struct({"a": pl.Int64})])
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_columns_that_hold_no_plain_values_are_refused(
    reissue: Reissue, tmp_path: Path, kind: pl.DataType, role: str
) -> None:
    cells: dict[object, list[object]] = {
        pl.List: [[1], [2]],
        pl.Duration: [1, 2],
        pl.Binary: [b"a", b"b"],
        pl.Struct: [{"a": 1}, {"a": 2}],
    }
    odd = pl.Series("odd", cells[kind.base_type()] * 4, dtype=kind)
    PEOPLE.with_columns(odd).write_parquet(tmp_path / "data.parquet")
    written(tmp_path, PEOPLE, id="identifier", age="quasi", ill="sensitive", odd=role)
    for command in (["check"], ["attack"], ["anonymize", "-r", "k=2"], ["check", "--series", "data.parquet"]):
        found = reissue(command[0], "data.parquet", *command[1:], "-s", "s.toml")
        assert found.code == 2, found.err
        assert "odd" in found.err
    assert reissue("attack", "data.parquet", "data.parquet", "--json").code in {0, 1, 3}
    assert reissue("init", "data.parquet", "-o", "new.toml").code == 0


def test_whole_numbers_beyond_63_bits_are_counted() -> None:
    large = pl.Series("ill", [2**64 - 1, 2**63, 2**64 - 1, 0], dtype=pl.UInt64)
    frame = pl.DataFrame([pl.Series("age", [1, 1, 2, 2]), large])
    assert check(frame, Schema.of_columns(quasi=["age"], sensitive=["ill"]), "l=2").met


def test_the_distance_of_the_largest_numbers_is_a_number() -> None:
    frame = pl.DataFrame({"age": [1e308, -1e308, 1e308, -1e308], "ill": list("abab")})
    release = ri.anonymize(frame, Schema.of_columns(quasi=["age"], sensitive=["ill"]), "k=2", seed=0)
    assert measure(release, queries=20).loss == 0


WIDE = [1e308, -1e308, None, 1.7e308, -1e308, 1e308, -1.7e308, 0.5]


@pytest.mark.parametrize("method", ["pool", "mondrian", "topdown", "correspondence"])
def test_numbers_that_span_more_than_a_float_holds_may_be_missing(method: str) -> None:
    """The step to the missing leaf overflowed."""
    frame = PEOPLE.with_columns(age=pl.Series(WIDE))
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="id")
    release = ri.anonymize(frame, schema, "k=2", method=method, seed=0)
    positions = release.table.taxonomies[0].positions
    assert np.isfinite(positions).all()
    assert 0 <= measure(release, queries=20).loss <= 1


def test_their_range_is_one_too() -> None:
    frame = PEOPLE.with_columns(ill=pl.Series(WIDE))
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="id")
    release = ri.anonymize(frame, schema, "k-e=2,1e308", seed=0)
    assert check(release.frame, schema, "k-e=2,1e308").met
    scores = parse("k-e=2,1e-9").fitness(release.table.whole())
    assert np.isfinite(scores).all()
    assert (scores > 1).all()


def test_the_last_day_of_the_calendar_can_be_attacked(reissue: Reissue, tmp_path: Path) -> None:
    """The point that stands for all beside it was a day of the year 10000."""
    frame = PEOPLE.with_columns(age=pl.Series(["9999-12-31", "*", "2024-03", "2024-03-05"] * 2)).drop("id")
    written(tmp_path, frame, age="quasi", ill="sensitive")
    found = reissue("attack", "data.csv", "data.csv", "-s", "s.toml", "--json")
    assert found.code in {0, 1}, found.out


def test_whoever_only_the_root_holds_is_looked_at_beside_ranges_without_end() -> None:
    """Below 20 the groups `*` are alone and share one value; no point stood for it, for `>=60` had taken it."""
    ills = {"*": ["flu", "gout"], "20-59": ["flu", "burn"], ">=60": ["flu", "cold"]}
    rows = [(age, ill) for age, pair in ills.items() for ill in pair]
    first = pl.DataFrame(rows, schema=["age", "ill"], orient="row")
    second = first.with_columns(pl.col("ill").replace("gout", "asthma"))
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    assert ri.attack([first, second], schema, only="composition")["composition"].worst == 1


@pytest.mark.parametrize("ends", ["[{0}.5, {1}.5]", "[{0}, {1})", "[{0}, {1}[", "[{0}, {1}]"])
def test_whoever_is_between_ranges_is_looked_at_whatever_the_numbers(ends: str) -> None:
    """From 30 to 40 the widest range is alone; of numbers with a fraction only the ends were looked at."""
    ills = {(20, 60): ["flu", "gout"], (20, 30): ["flu", "burn"], (40, 60): ["flu", "cold"]}
    rows = [(ends.format(*age), ill) for age, pair in ills.items() for ill in pair]
    first = pl.DataFrame(rows, schema=["age", "ill"], orient="row")
    second = first.with_columns(pl.col("ill").replace("gout", "asthma"))
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    assert ri.attack([first, second], schema, only="composition")["composition"].worst == 1


def test_nobody_is_between_whole_numbers() -> None:
    """Where each of them is published, no place is left to the range alone."""
    rows = [
        ("[20, 23)", "flu"),
        ("[20, 23)", "gout"),
        *((age, ill) for age in ("20", "21", "[22, 23)") for ill in ("flu", "burn")),
    ]
    first = pl.DataFrame(rows, schema=["age", "ill"], orient="row")
    second = first.with_columns(pl.col("ill").replace("gout", "asthma"))
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"])
    assert ri.attack([first, second], schema, only="composition")["composition"].worst is None


def test_numbers_of_more_digits_than_python_reads_are_names(reissue: Reissue, tmp_path: Path) -> None:
    frame = PEOPLE.with_columns(age=pl.Series(["1" * 5000, "*", "1" + "0" * 400, "7"] * 2)).drop("id")
    written(tmp_path, frame, age="quasi", ill="sensitive")
    assert reissue("attack", "data.csv", "data.csv", "-s", "s.toml", "--json").code in {0, 1}


def test_people_of_other_types_than_the_release_cannot_be_linked(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE.with_columns(group=pl.col("id") // 2), id="drop", age="quasi", ill="sensitive")
    PEOPLE.with_columns(age=pl.Series([True, False] * 4), ill=pl.Series([True, False] * 4)).write_parquet(
        tmp_path / "people.parquet"
    )
    for published in ("data.csv", "plain.csv"):
        PEOPLE.drop("id").write_csv(tmp_path / "plain.csv")
        found = reissue("attack", published, "-s", "s.toml", "--population", "people.parquet", "--json")
        assert found.code in {0, 1, 2, 3}, found.out


def test_tables_of_members_say_nothing_without_a_sensitive_column(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "members").mkdir()
    written(tmp_path, PEOPLE, id="identifier", age="quasi")
    for number in (1, 2):
        PEOPLE.write_csv(tmp_path / "members" / f"{number}.csv")
    found = reissue("attack", "data.csv", "data.csv", "-s", "s.toml", "--members", "members", "--json")
    assert found.code in {0, 1, 3}, found.out


def test_private_copies_without_sensitive_column_can_be_adopted(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE, id="identifier", age="quasi")
    with (tmp_path / "s.toml").open("a") as file:
        file.write('[policy]\nrequire = "k=2"\n')
    found = reissue("ledger", "adopt", "a.ledger", "data.csv", "-s", "s.toml")
    assert found.code == 0, found.err


def test_a_table_whose_name_no_file_can_have(reissue: Reissue, tmp_path: Path) -> None:
    written(tmp_path, PEOPLE, id="identifier", age="quasi", ill="sensitive")
    made = reissue("publish", "\0", "--ledger", "n.ledger", "--schema", "s.toml", "--out", "out.csv")
    assert made.code == 2
    assert "bug in Reissue" not in made.err + made.out
    assert not (tmp_path / "out.csv").exists()
