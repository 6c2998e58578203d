"""What `reissue clean` says and does: nothing silently, nothing twice, and no value where nobody asked for one."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.proposing import QUESTIONS
from reissue.schema import Schema
from tests.cleaning.corpus import CASES, people
from tests.cli.conftest import Reissue, files, reissue
from tests.cli.terminal import Terminal

__all__ = ["reissue"]

pytestmark = pytest.mark.filterwarnings("ignore::reissue.errors.ReadingNote")


def write(name: str, folder: Path) -> Path:
    case = next(one for one in CASES if one.name == name)
    return case.write(folder / "t", people(1))


def test_looking_changes_and_shows_nothing(reissue: Reissue, tmp_path: Path) -> None:
    path = write("codes in both cases", tmp_path)
    before = files(tmp_path), path.read_bytes()
    outcome = reissue("clean", path.name)
    assert outcome.code == 0
    assert "'Diagnose' differ from others only in case or blanks" in outcome.out
    assert "e11.90" not in outcome.out
    assert (files(tmp_path), path.read_bytes()) == before
    assert "'e11.90'" in reissue("clean", path.name, "--show-values").out


def test_json_names_rows_and_no_values(reissue: Reissue, tmp_path: Path) -> None:
    path = write("codes in both cases", tmp_path)
    (found,) = reissue("clean", path.name, "--json").json["defects"]
    assert found["name"] == "spelling"
    assert found["count"] == len(found["rows"]) == 10
    assert "examples" not in found
    assert reissue("clean", path.name, "--json", "--show-values").json["defects"][0]["examples"]


def test_only_the_named_repairs_are_made(reissue: Reissue, tmp_path: Path) -> None:
    path = write("codes in both cases in a workbook", tmp_path)
    assert reissue("clean", path.name, "--apply", "blanks:Diagnose", "--out", "out.csv").code == 0
    assert pl.read_csv(tmp_path / "out.csv")["Diagnose"].n_unique() > 6
    wrong = reissue("clean", path.name, "--apply", "blank", "--out", "other.csv")
    assert wrong.code == 2
    assert "Did you mean 'blanks'?" in wrong.err


def test_a_recipe_repeats_the_repairs(reissue: Reissue, tmp_path: Path) -> None:
    path = write("totals", tmp_path)
    assert reissue("clean", path.name, "--save", "r.toml", "--out", "a.csv").code == 0
    assert tomllib.loads((tmp_path / "r.toml").read_text()) == {"clean": {"totals": True}}
    assert reissue("clean", path.name, "--recipe", "r.toml", "--out", "b.csv").code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    again = ri.clean(tmp_path / "a.csv")
    assert not again.defects


@pytest.mark.parametrize("name", ["exact duplicates", "repeated numbers"])
def test_doubled_rows_do_not_turn_people_into_rows(name: str, reissue: Reissue, tmp_path: Path) -> None:
    path = write(name, tmp_path)
    for more in ((), ("--as-it-is",)):
        assert reissue("init", path.name, "--force", *more).code == 0
        schema = Schema.load(tmp_path / "schema.toml")
        assert schema.identifier == "Patientennummer"
        assert "no column is the identifier" not in (tmp_path / "schema.toml").read_text()
    refused = reissue("publish", path.name, "--schema", "schema.toml", "--ledger", "x.ledger")
    assert refused.code == 2
    assert "`reissue clean`" in refused.err


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"totl": True}, "Did you mean 'totals'?"),
        ({"totals": ["a"]}, "must be true or false"),
        ({"blanks": True}, "must be a list of columns"),
        ({"spelling": {"a": "loud"}}, "upper"),
        ({"dates": ["a"]}, "dd.mm.yyyy"),
    ],
)
def test_a_recipe_that_cannot_be_read(section: dict[str, object], message: str) -> None:
    with pytest.raises(ri.SchemaError, match=message.replace("?", r"\?")):
        ri.CleanRecipe.of(section)


def test_engines_that_never_hold_the_table_refuse_repairs(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1, 2], "diagnosis": ["a", "b"]}).write_parquet(tmp_path / "t.parquet")
    schema = {"columns": {"age": "quasi", "diagnosis": "sensitive"}, "clean": {"totals": True}}
    with pytest.raises(ri.SchemaError, match="needs them in memory"):
        ri.anonymize_folder(tmp_path / "t.parquet", schema, "k=2", tmp_path / "out", engine="stream")


def test_a_terminal_asks_two_questions(tmp_path: Path) -> None:
    path = write("totals", tmp_path)
    with Terminal(tmp_path, "init", path.name) as terminal:
        terminal.wait_for("Shall the schema repair this")
        terminal.type("")
        terminal.wait_for(QUESTIONS["untrue"].split()[-1])
        terminal.type("")
        assert terminal.end() == 0, terminal.shown
    assert terminal.shown.count("]:") == 2
    assert Schema.load(tmp_path / "schema.toml").clean == {"totals": True}


@pytest.mark.parametrize("name", ["Pat.-Nr.", "Kennzeichen"])
def test_who_is_who_is_found_beneath_doubled_rows_and_totals(name: str) -> None:
    rows: list[tuple[object, ...]] = [
        (f"X{number:03}", 30 + number % 40, "flu" if number % 3 else "gout") for number in range(80)
    ]
    rows += [rows[3], rows[9], (None, None, None), ("Summe", 4000, None)]
    frame = pl.DataFrame(rows, schema=[name, "age", "disease"], orient="row")
    proposal = ri.propose(frame)
    assert proposal.schema.identifier == name
    assert {one.name for one in proposal.defects if one.recommended} == {"empty_rows", "totals", "duplicates"}
