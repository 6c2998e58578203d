"""What docs/concepts/promise.md says of the command line, kept."""

from pathlib import Path

import polars as pl
import pytest

from reissue import synth
from reissue.errors import InternalError
from reissue.files.tables import read_file
from reissue.publishing.anonymize import anonymize
from tests.cli.conftest import PATIENTS, Reissue, files

pytestmark = pytest.mark.usefixtures("hospital")
WORK = ("anonymize", "patients.csv", "--schema", "schema.toml", "--require", "k=5", "--out", "out.csv")


def test_only_the_schemas_public_columns_go_out(reissue: Reissue, tmp_path: Path) -> None:
    secret = PATIENTS.with_columns(name=pl.format("Person {}", "patient"), ward=pl.lit("W"), note=pl.lit("public"))
    secret.write_csv(tmp_path / "patients.csv")
    schema = synth.schema().with_roles({"ward": "drop", "note": "keep"})
    (tmp_path / "schema.toml").write_text(schema.dumps())
    assert reissue(*WORK).code == 0
    text = (tmp_path / "out.csv").read_text()
    assert text.splitlines()[0] == "age,zip,sex,job,disease,note"
    assert "Person" not in text
    assert "Hospital" not in text


def test_without_a_seed_nobody_can_undo_the_shuffling() -> None:
    frame = PATIENTS.with_columns(note=pl.int_range(pl.len()))
    schema = synth.schema().with_roles({"note": "keep"})
    known, first, second = (anonymize(frame, schema, "k=5", seed=seed).frame["note"] for seed in (0, None, None))
    assert not first.equals(second)
    assert not first.equals(known)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_bug_shows_no_data(reissue: Reissue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    def broken(*_: object, **__: object) -> None:
        secret = "Xanthippe"  # noqa: S105
        raise ValueError(secret)

    monkeypatch.setattr("reissue.data.table.Table.read", broken)
    before = files(tmp_path)
    outcome = reissue(*WORK, *(["--json"] if as_json else []))
    assert outcome.code == 70
    message = outcome.json["error"]["message"] if as_json else outcome.err
    assert "bug in Reissue" in message
    assert "ValueError at " in message
    assert "Xanthippe" not in outcome.out + outcome.err
    assert "Traceback" not in outcome.err
    assert files(tmp_path) == before


def test_a_contradiction_of_our_own_is_called_a_bug(reissue: Reissue, monkeypatch: pytest.MonkeyPatch) -> None:
    def contradict(*_: object, **__: object) -> None:
        raise InternalError("Two counts differ.")

    monkeypatch.setattr("reissue.data.table.Table.read", contradict)
    outcome = reissue(*WORK)
    assert outcome.code == 70
    assert "Two counts differ." in outcome.err


def test_formulas_are_neutralized_and_read_back(reissue: Reissue, tmp_path: Path) -> None:
    cells = ["=1+1", "+cmd", "-x", "@sum", "'=quoted", "plain", "-3.5"]
    frame = PATIENTS.with_columns(note=pl.Series(cells * 100).head(600))
    frame.write_parquet(tmp_path / "patients.parquet")
    (tmp_path / "schema.toml").write_text(synth.schema().with_roles({"note": "keep"}).dumps())
    assert reissue("anonymize", "patients.parquet", *WORK[2:]).code == 0
    raw = pl.read_csv(tmp_path / "out.csv", infer_schema=False)["note"].unique().sort().to_list()
    assert raw == sorted(["'=1+1", "'+cmd", "'-x", "'@sum", "''=quoted", "plain", "-3.5"])
    assert set(read_file(tmp_path / "out.csv")["note"]) == set(cells)
