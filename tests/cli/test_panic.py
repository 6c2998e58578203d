"""Where a library in Rust gives up: our exit code for a bug, no traceback, no value, also not by the library itself."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

DAYS = 2**31 - 1
RUN = "import sys; from reissue.cli._app import main; main()"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_panic_of_polars_is_a_bug_without_data(tmp_path: Path, *, as_json: bool) -> None:
    days = pl.Series("day", [DAYS, 5, 7, 9], dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame({"day": days, "ill": ["a", "b", "a", "b"]}).write_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.toml").write_text('[columns]\nday = "quasi"\nill = "sensitive"\n')
    more = ["--json"] if as_json else []
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN, "anonymize", "x.parquet", "--schema", "x.toml", "--require", "k=2", *more],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 70, said
    assert "bug in Reissue" in said
    assert "PanicException at" in said
    for word in ("Traceback", "panicked", "thread", str(DAYS), "5879610", "5877641"):
        assert word not in said
    assert {path.name for path in tmp_path.iterdir()} == {"x.parquet", "x.toml"}


def test_our_own_messages_still_reach_standard_error(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN, "check", "nowhere.csv", "--schema", "nowhere.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "nowhere" in done.stderr
