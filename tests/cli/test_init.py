from pathlib import Path

import polars as pl
import pytest

from reissue.schema import Schema
from tests.cli.conftest import Reissue, files


@pytest.mark.usefixtures("hospital")
def test_init_writes_a_schema_and_says_what_it_assumed(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue("init", "patients.csv", "--out", "guess.toml")
    assert outcome.code == 0
    for word in ("patient", "identifier", "zip", "first 3, 2, 1 characters", "sensitive", "guess.toml"):
        assert word in outcome.out
    assert not outcome.err
    assert Schema.load(tmp_path / "guess.toml").quasi == ("age", "zip", "sex", "job")


@pytest.mark.usefixtures("hospital")
def test_init_never_replaces_a_schema_unasked(reissue: Reissue, tmp_path: Path) -> None:
    before = (tmp_path / "schema.toml").read_text()
    refused = reissue("init", "patients.csv")
    assert refused.code == 2
    assert "--force" in refused.err
    assert (tmp_path / "schema.toml").read_text() == before
    assert reissue("init", "patients.csv", "--force").code == 0
    assert (tmp_path / "schema.toml").read_text() != before


@pytest.mark.usefixtures("hospital")
def test_init_as_json(reissue: Reissue) -> None:
    answer = reissue("init", "patients.csv", "--out", "guess.toml", "--json").json
    assert answer["schema"] == "guess.toml"
    assert answer["rows"] == 600
    assert [column["name"] for column in answer["columns"] if column["role"] == "sensitive"] == ["disease"]
    assert set(answer["columns"][0]) == {"name", "role", "confirm", "generalized", "why"}


def test_init_with_another_delimiter(reissue: Reissue, tmp_path: Path) -> None:
    pl.DataFrame({"age": [1, 2], "job": ["a", "b"]}).write_csv(tmp_path / "d.csv", separator="\t")
    assert reissue("init", "d.csv", "--read", "delimiter=tab").code == 0
    assert Schema.load(tmp_path / "schema.toml").quasi == ("age", "job")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "no file"),
        ("empty.csv", b"", "empty"),
        ("header.csv", b"age,zip\n", "no rows"),
        ("dos.csv", b"age,name\n1,J\x81rg\n", "UTF-8"),
        ("table.xlsx", b"", "not a whole workbook"),
        ("table.doc", b"", ".csv"),
        ("broken.parquet", b"PAR1", "Parquet"),
        ("broken.csv.gz", b"not gzipped", "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(
    reissue: Reissue, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = files(tmp_path)
    outcome = reissue("init", name)
    assert outcome.code == 2, outcome.err
    assert message in outcome.err
    assert files(tmp_path) == before


def test_a_name_that_is_nearly_right_is_known_and_data_is_looked_for_first(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("id,age\n1,2\n")
    (tmp_path / "schema.toml").write_text("")
    assert "There is no file 'patients'. Did you mean 'patients.csv'?" in reissue("init", "patients").err
    assert "Did you mean 'patients.csv'?" in reissue("init", "patient.csv").err
    assert "Did you mean" not in reissue("init", "other.csv").err
    assert "Did you mean 'anonymize'? See" in reissue("anonimize").err


def test_without_an_identifier_the_policy_says_what_that_means(reissue: Reissue, tmp_path: Path) -> None:
    rows = "".join(f"{20 + n % 50},{'abc'[n % 3]}\n" for n in range(90))
    (tmp_path / "t.csv").write_text(f"age,diagnosis\n{rows}")
    said = reissue("init", "t.csv").out
    assert "No column says who is who" in said
    assert "--ledger t.ledger --out t.first.csv" in said
    assert "# But no column is the identifier" in (tmp_path / "schema.toml").read_text()
