"""Names that steer a terminal, files that never end, keys that anyone guesses, runs that were killed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from reissue.errors import InputError
from reissue.ledger import KeyWarning, Ledger, find_key
from reissue.schema import Schema
from reissue.words import visible
from tests.cli.conftest import Reissue, files
from tests.ledger.series import INVARIANCE, MONTHS, POOL, schema
from tests.silence import refused

ESCAPE = "\x1b[2J\x9b31m\u202eevil\x07\r"
GOOD = "6f0c1b9e2d7a48539cb1e04f7a62d815"


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """The command itself, with little memory and little time."""
    import resource

    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from reissue.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33)),
        capture_output=True,
        check=False,
        timeout=120,
    )


# --- what reaches a terminal -----------------------------------------------------------------------------------------


def test_what_cannot_be_seen_is_written_out() -> None:
    assert visible("plain, Köln, 東京") == "plain, Köln, 東京"
    assert visible("a\x1b[0m\nb\u202e\u200b\x7f") == "a\\x1b[0m\\nb\\u202e\\u200b\\x7f"


def harmless(output: bytes) -> bool:
    text = output.decode()
    return not any(mark in text for mark in ("\x1b", "\x9b", "\u202e", "\x07", "\r"))


def test_no_escape_sequence_reaches_the_terminal(tmp_path: Path) -> None:
    name = f"{ESCAPE}.csv"
    frame = MONTHS[0].rename({"job": f"job{ESCAPE}"})
    frame.write_csv(tmp_path / name)
    (tmp_path / "s.toml").write_text(schema(POOL).dumps())
    ledger = ("--ledger", "x.ledger", "--schema", "t.toml")
    commands = [
        ("init", name, "--out", "i.toml"),
        ("check", name, "--schema", "s.toml"),
        ("attack", name, "--schema", "s.toml"),
        ("attack", name, "--quasi", ESCAPE),
        ("anonymize", name, "--schema", "t.toml", "--require", "k=5"),
        ("publish", name, *ledger, "--recipient", ESCAPE),
        ("ledger", "list", "x.ledger"),
        ("ledger", "show", "x.ledger", "1"),
        ("ledger", "export", "x.ledger", "1", "--out", f"{ESCAPE}.2.csv"),
        (f"no-such-{ESCAPE}",),
        ("check", "none.csv", f"--{ESCAPE}"),
    ]
    columns = {f"job{ESCAPE}" if column == "job" else column: role for column, role in schema(POOL).columns.items()}
    (tmp_path / "t.toml").write_text(Schema(columns, policy=dict(POOL)).dumps())
    for command in commands:
        done = run(tmp_path, *command)
        assert done.returncode in {0, 1, 2}, (command, done.stderr)
        assert harmless(done.stdout), command
        assert harmless(done.stderr), command
    assert Schema.load(tmp_path / "i.toml").columns


# --- files that never end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[updates]\nfile = "/dev/zero"\n', "/dev/zero"),
        ('[updates]\nfile = "pipe.csv"\n', "pipe.csv"),
        ('[taxonomy.job]\nfile = "/dev/zero"\n', "/dev/zero"),
        ('[taxonomy.job]\nfile = "pipe.csv"\n', "pipe.csv"),
        (f"x = {'[' * 20_000}{']' * 20_000}\n", "nest"),
        (f"[policy]\nx{'.x' * 5_000} = 1\n", "nest"),
        (f"[policy]\nx = {'[' * 300}{']' * 300}\n", "nest"),
    ],
)
def test_a_schema_that_exhausts_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    MONTHS[0].write_csv(tmp_path / "1.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    first = "" if text.startswith("x") else Schema(schema(POOL).columns).dumps()
    policy = "" if "[policy]" in text else '\n[policy]\nrequire = "k=5"\nattacks = ["updates"]\n'
    (tmp_path / "s.toml").write_text(f"{first}\n{text}{policy}")
    before = files(tmp_path)
    commands = [("publish", "1.csv", "--ledger", "x.ledger")]
    commands += [] if "updates" in text else [("anonymize", "1.csv", "--require", "k=5")]
    for command in commands:
        done = run(tmp_path, *command, "--schema", "s.toml")
        assert (done.returncode, said.encode() in done.stderr) == (2, True), done.stderr[-300:]
        assert files(tmp_path) == before


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_a_schema_or_key_that_never_ends_is_an_error(tmp_path: Path, name: str) -> None:
    MONTHS[0].write_csv(tmp_path / "1.csv")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "s.toml").write_text(schema(POOL).dumps())
    publishing = ("publish", "1.csv", "--ledger", "x.ledger")
    assert run(tmp_path, *publishing, "--schema", name).returncode == 2
    assert run(tmp_path, *publishing, "--schema", "s.toml", "--key", name).returncode == 2
    assert run(tmp_path, "anonymize", "1.csv", "--schema", "s.toml", "--option", f"x={'[' * 20_000}").returncode == 2


# --- keys and permissions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0" * 64,
        "ab" * 40,
        "abcdef" * 8,
        "0123456789abcdef" * 4,
        "0123456789abcdefghijklmnopqrstuvwxyz",
        "aabbccddee" * 5,
    ],
)
def test_a_key_without_entropy_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("REISSUE_KEY", text)
    assert "can be guessed" in refused(InputError, lambda: find_key(None), [text])


@pytest.mark.parametrize(
    "text", [GOOD, "31415926535897932384626433832795", "correct horse battery staple, or so they say"]
)
def test_a_key_with_entropy_is_taken(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("REISSUE_KEY", text)
    assert find_key(None).secret == text.encode()


def test_a_key_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    key = tmp_path / "x.key"
    key.write_text(GOOD)
    key.chmod(0o640)
    with pytest.warns(KeyWarning, match="chmod 600"):
        find_key(key)
    key.chmod(0o600)
    find_key(key)
    key.chmod(0o644)
    MONTHS[0].write_csv(tmp_path / "1.csv")
    (tmp_path / "s.toml").write_text(schema(POOL).dumps())
    done = run(tmp_path, "publish", "1.csv", "--ledger", "x.ledger", "--schema", "s.toml", "--key", "x.key", "--json")
    assert done.returncode == 0, done.stderr
    assert b"Warning: The key file 'x.key' can be read by others" in done.stderr


def test_a_ledger_is_its_owners_and_a_release_follows_the_umask(tmp_path: Path) -> None:
    MONTHS[0].write_csv(tmp_path / "1.csv")
    (tmp_path / "s.toml").write_text(schema(INVARIANCE).dumps())
    before = os.umask(0o002)
    try:
        done = run(tmp_path, "publish", "1.csv", "--ledger", "x.ledger", "--schema", "s.toml", "--report", "1.html")
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    for path in [tmp_path / "x.ledger.key", *(tmp_path / "x.ledger").rglob("*"), tmp_path / "x.ledger"]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    for name in ("1.release.csv", "1.html"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o664


# --- adopting again --------------------------------------------------------------------------------------------------


def test_adopting_with_a_schema_can_be_repeated(reissue: Reissue, tmp_path: Path) -> None:
    for number in (1, 2):
        MONTHS[number].drop("patient", "hospital").write_csv(tmp_path / f"{number}.csv")
    (tmp_path / "s.toml").write_text(schema(POOL).dumps())
    adopting = ("ledger", "adopt", "x.ledger", "1.csv", "2.csv", "--schema", "s.toml")
    Ledger.create(tmp_path / "x.ledger", schema(INVARIANCE)).close()  # all that a killed run may have left
    for _ in range(2):
        outcome = reissue(*adopting, "--json")
        assert (outcome.code, outcome.json["releases"]) == (0, 2), outcome.out
    outcome = reissue("ledger", "adopt", "x.ledger", "1.csv", "--schema", "s.toml")
    assert (outcome.code, "leave --schema out" in outcome.err) == (2, True)
    with Ledger.open(tmp_path / "x.ledger") as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["begin", "schema", "release", "release"]
        assert ledger.verify() == []


def test_adopting_what_cannot_be_read_begins_no_ledger(reissue: Reissue, tmp_path: Path) -> None:
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "bad.csv")
    (tmp_path / "s.toml").write_text(schema(POOL).dumps())
    before = files(tmp_path)
    for name in ("bad.csv", "none.csv"):
        assert reissue("ledger", "adopt", "x.ledger", name, "--schema", "s.toml").code == 2
        assert files(tmp_path) == before


# --- tables at the edge ----------------------------------------------------------------------------------------------


def test_lists_without_a_schema_are_an_error(reissue: Reissue, tmp_path: Path) -> None:
    pl.DataFrame({"a": [[1, 2], [3]] * 20, "b": ["x", "y"] * 20}).write_parquet(tmp_path / "x.parquet")
    outcome = reissue("attack", "x.parquet")
    assert outcome.code == 2, outcome.err


@pytest.mark.parametrize("role", ["sensitive", "keep", "identifier", "drop"])
def test_one_column_that_nobody_knows_is_an_error(reissue: Reissue, tmp_path: Path, role: str) -> None:
    (tmp_path / "x.csv").write_text("a\n" + "1\n2\n" * 10)
    (tmp_path / "s.toml").write_text(f'[columns]\na = "{role}"\n')
    for given in (("x.csv",), ("x.csv", "x.csv")):
        for more in ((), ("--population", "x.csv")):
            outcome = reissue("attack", *given, "--schema", "s.toml", *more)
            assert (outcome.code, "needs a quasi-identifier" in outcome.err) == (2, True), outcome.err


def test_a_column_called_len(reissue: Reissue, tmp_path: Path) -> None:
    pl.DataFrame({"len": [1, 2] * 20, "s": ["a", "b"] * 20}).write_csv(tmp_path / "x.csv")
    (tmp_path / "s.toml").write_text('[columns]\nlen = "quasi"\ns = "sensitive"\n')
    assert reissue("attack", "x.csv", "--schema", "s.toml").code in {0, 1, 3}
    assert reissue("attack", "x.csv").code in {0, 1, 2, 3}


def test_whole_numbers_beyond_63_bits(reissue: Reissue, tmp_path: Path) -> None:
    ages = pl.Series([2**63 + number % 3 for number in range(30)], dtype=pl.UInt64)
    pl.DataFrame({"age": ages, "s": ["a", "b"] * 15}).write_parquet(tmp_path / "x.parquet")
    policy = '[policy]\nrequire = "k=2"\nattacks = ["correspondence"]\n'
    (tmp_path / "s.toml").write_text(f'[columns]\nage = "quasi"\ns = "sensitive"\n{policy}')
    outcome = reissue("check", "x.parquet", "--schema", "s.toml", "--require", "k=10", "--json")
    assert outcome.code == 0, outcome.out
    outcome = reissue("ledger", "adopt", "x.ledger", "x.parquet", "--schema", "s.toml")
    assert outcome.code == 0, outcome.err
