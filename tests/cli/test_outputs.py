"""What commands may write over, what they leave when they fail, and how files are had that were not written."""

import os
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reissue.ledger import Ledger
from reissue.ledger.store import Writer
from reissue.publishing.anonymize import anonymize
from tests.cli.conftest import Reissue, files
from tests.ledger.series import INVARIANCE, JUDGED, MONTHS, POOL, schema

WORK = ("--ledger", "x.ledger")
BEGIN = (*WORK, "--schema", "schema.toml")


@pytest.fixture(autouse=True)
def months(tmp_path: Path) -> None:
    for number, month in enumerate(MONTHS[:3], start=1):
        month.write_csv(tmp_path / f"{number}.csv")
    (tmp_path / "schema.toml").write_text(schema(INVARIANCE).dumps())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but those that SQLite touches when it only reads."""
    return {
        name: (folder / name).read_bytes() for name in files(folder) if (folder / name).is_file() and "-" not in name
    }


def refusing(tmp_path: Path) -> None:
    """A policy that refuses everything."""
    (tmp_path / "schema.toml").write_text(schema({**JUDGED, "limits": {"updates": 0.01}}).dumps())


# --- what is written over --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--report", "--out"])
@pytest.mark.parametrize(
    "name", ["2.csv", "./2.csv", "link.csv", "schema.toml", "x.ledger.key", "x.ledger/ledger.sqlite"]
)
def test_publishing_never_replaces_what_it_reads(reissue: Reissue, tmp_path: Path, option: str, name: str) -> None:
    assert reissue("publish", "1.csv", *BEGIN).code == 0
    (tmp_path / "link.csv").symlink_to("2.csv")
    before = contents(tmp_path)
    outcome = reissue("publish", "2.csv", *BEGIN, option, name, "--force")
    assert outcome.code == 2, outcome.err
    assert contents(tmp_path) == before


def test_the_key_of_a_ledger_to_come_is_no_report(reissue: Reissue, tmp_path: Path) -> None:
    refusing(tmp_path)
    before = contents(tmp_path)
    assert reissue("publish", "1.csv", *BEGIN, "--report", "x.ledger.key", "--force").code == 2
    assert contents(tmp_path) == before


def test_a_refusal_replaces_nothing_unasked(reissue: Reissue, tmp_path: Path) -> None:
    refusing(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    assert reissue("publish", "1.csv", *BEGIN, "--report", "notes.txt").code == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert reissue("publish", "1.csv", *BEGIN, "--report", "notes.txt", "--force").code == 1
    assert "was refused" in (tmp_path / "notes.txt").read_text()
    (tmp_path / "1.csv.refused.txt").write_text("mine")
    outcome = reissue("publish", "1.csv", *BEGIN, "--json")
    assert (outcome.code, outcome.json["report"]) == (1, "1.csv.refused-2.txt")
    assert (tmp_path / "1.csv.refused.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["1.csv", "schema.toml", "people.csv", "members/1.csv", "x.ledger.key", "x.ledger/files/a"]
)
@pytest.mark.parametrize("option", ["--report", "--save-schema"])
def test_attacking_never_replaces_what_it_reads(reissue: Reissue, tmp_path: Path, name: str, option: str) -> None:
    (tmp_path / "members").mkdir()
    (tmp_path / "x.ledger" / "files").mkdir(parents=True)
    for copy in ("people.csv", "members/1.csv", "x.ledger.key", "x.ledger/ledger.sqlite", "x.ledger/files/a"):
        shutil.copy(tmp_path / "1.csv", tmp_path / copy)
    before = contents(tmp_path)
    known = ("--population", "people.csv", "--members", "members", "--schema", "schema.toml")
    assert reissue("attack", "1.csv", *known, option, name, "--force").code == 2
    assert contents(tmp_path) == before


def test_a_guessed_schema_and_a_report_are_two_files(reissue: Reissue, tmp_path: Path) -> None:
    before = files(tmp_path)
    assert reissue("attack", "1.csv", "--report", "x.html", "--save-schema", "./x.html").code == 2
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", ["1.csv", "x.ledger.key"])
def test_init_and_export_never_replace_what_they_read(reissue: Reissue, tmp_path: Path, name: str) -> None:
    assert reissue("publish", "1.csv", *BEGIN).code == 0
    before = contents(tmp_path)
    assert reissue("init", "1.csv", "--out", name, "--force").code == 2
    assert reissue("ledger", "export", "x.ledger", "1", "--out", "x.ledger/files/x.csv", "--force").code == 2
    assert contents(tmp_path) == before


# --- bad input leaves nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("none.csv", *BEGIN),
        ("bad.csv", *BEGIN),
        ("1.csv", *BEGIN, "--date", "tomorrow"),
        ("1.csv", *BEGIN, "--out", "1.csv/out.csv"),
        ("1.csv", *BEGIN, "--out", "/dev/full", "--force"),
        ("1.csv", *BEGIN, "--out", "out.doc"),
        ("1.csv", *BEGIN, "--report", "1.csv/report.html"),
        ("1.csv", *BEGIN, "--report", "/dev/full", "--force"),
    ],
)
def test_bad_input_leaves_no_ledger_and_no_key(reissue: Reissue, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    before = files(tmp_path)
    outcome = reissue("publish", *arguments)
    assert outcome.code == 2, outcome.err
    assert files(tmp_path) == before
    assert reissue("publish", "1.csv", *BEGIN).code == 0


def test_a_refused_first_release_leaves_its_explanation_only(reissue: Reissue, tmp_path: Path) -> None:
    refusing(tmp_path)
    before = files(tmp_path)
    assert reissue("publish", "1.csv", *BEGIN).code == 1
    assert files(tmp_path) - before == {"1.csv.refused.txt"}


def test_a_folder_and_a_key_that_were_there_stay(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "x.ledger").mkdir()
    (tmp_path / "x.ledger" / "notes.txt").touch()
    (tmp_path / "x.ledger.key").write_text("0f8e2b7c91d3a4655e6f7a8b9c0d1e2f30415263\n")
    (tmp_path / "x.ledger.key").chmod(0o600)
    before = files(tmp_path)
    assert reissue("publish", "none.csv", *BEGIN).code == 2
    assert files(tmp_path) == before


def test_a_changed_schema_is_recorded_with_the_first_release_only(reissue: Reissue, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "x.ledger", schema(POOL)).close()
    assert reissue("publish", "none.csv", *BEGIN).code == 2
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["begin"]
    assert reissue("publish", "1.csv", *BEGIN).code == 0
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["begin", "schema", "release"]


def after(function: Callable[..., Any], then: Callable[[], object]) -> Callable[..., Any]:
    def called(*given: Any, **named: Any) -> Any:
        outcome = function(*given, **named)
        then()
        return outcome

    return called


def test_a_folder_that_goes_away_before_the_commit(
    reissue: Reissue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reissue("publish", "1.csv", *BEGIN).code == 0
    (tmp_path / "out").mkdir()
    gone = after(anonymize, lambda: shutil.rmtree(tmp_path / "out"))
    monkeypatch.setattr(sys.modules["reissue.publishing.repair"], "anonymize", gone)
    outcome = reissue("publish", "2.csv", *WORK, "--out", "out/2.csv", "--report", "2.html")
    assert (outcome.code, "cannot be written" in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "2.html").exists()
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert len(ledger.releases) == 1


@pytest.mark.parametrize("as_json", [False, True])
def test_a_folder_that_goes_away_after_the_commit(
    reissue: Reissue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(
            Writer, "append", after(Writer.append, lambda: shutil.rmtree(tmp_path / "out", ignore_errors=True))
        )
        assert reissue("publish", "1.csv", *BEGIN, "--out", "first.csv").code == 0
        (tmp_path / "out").mkdir()
        outcome = reissue(
            "publish", "2.csv", *WORK, "--out", "out/2.csv", "--report", "2.html", *(["--json"] if as_json else [])
        )
    assert outcome.code == 4, outcome.err
    message = outcome.json["error"]["message"] if as_json else outcome.err
    assert "Release 2 is recorded" in message
    assert not (tmp_path / "2.html").exists()
    command = shlex.split(message.partition("This gives them: ")[2])
    (tmp_path / "out").mkdir()
    assert reissue(*command[1:]).code == 0
    exported = (tmp_path / "out" / "2.csv").read_bytes()
    again = reissue("publish", "2.csv", *WORK, "--out", "again.csv", "--json")
    assert again.json["again"]
    assert (tmp_path / "again.csv").read_bytes() == exported


def limited(folder: Path, size: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command itself, which cannot write larger files than this."""
    command = [sys.executable, "-c", "from reissue.cli import main; main()", *arguments]
    return subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_disk_that_is_full_is_said_and_leaves_nothing(tmp_path: Path, ending: str) -> None:
    before = files(tmp_path)
    outcome = limited(
        tmp_path, 500, "anonymize", "1.csv", "--schema", "schema.toml", "--require", "k=5", "--out", f"out{ending}"
    )
    assert (outcome.returncode, "cannot be written: File too large" in outcome.stderr) == (2, True), outcome.stderr
    assert files(tmp_path) == before


def test_a_disk_that_is_too_full_for_the_release_records_nothing(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue("publish", "1.csv", *BEGIN).code == 0
    for size in (0, 1_000, 4_096):
        outcome = limited(tmp_path, size, "publish", "2.csv", *WORK, "--report", "2.html")
        assert (outcome.returncode, "Traceback" in outcome.stderr) == (2, False), outcome.stderr
        with Ledger.open(tmp_path / "x.ledger") as ledger:
            assert len(ledger.releases) == 1
            assert ledger.verify() == []
        assert not [name for name in files(tmp_path) if name.startswith(("2.release", "2.html", ".reissue"))]
