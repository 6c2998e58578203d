"""The recipes in integrations/, each with the real tool; what is not installed is skipped and says so."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import synth

ROOT = Path(__file__).parents[1]
HERE = ROOT / "integrations"
ROLES = {"age": "quasi", "sex": "quasi", "disease": "sensitive"}
GOOD = ("releases/1.csv", "releases/2.csv")
SCHEMA = "".join(["[columns]\n", *(f'{name} = "{role}"\n' for name, role in ROLES.items())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema, a table, and a folder with two good releases."""
    months = list(synth.Population(seed=2, people=150).months(2))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "releases").mkdir()
    months[0].write_csv(tmp_path / "patients.csv")
    for name, month in zip(GOOD, months, strict=True):
        ri.anonymize(month, ROLES, "k=5", seed=1).write(tmp_path / name)
    return tmp_path


def spoil(folder: Path) -> None:
    """A release that nobody anonymized."""
    pl.read_csv(folder / "patients.csv").select(list(ROLES)).write_csv(folder / "releases" / "bad.csv")


def load(name: str) -> dict[str, Any]:
    return runpy.run_path(str(HERE / name))


def shell(*command: str, folder: Path, **more: str) -> int:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src")} | more
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode  # noqa: S603


def test_pytest(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(HERE / "pytest" / "test_releases.py"),
    ]
    command += ["-n", "0", "-c", os.devnull, "--rootdir", str(folder)]
    assert shell(*command, folder=folder) == 0
    spoil(folder)
    assert shell(*command, folder=folder) == 1


def test_the_steps_of_the_github_action(folder: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the action; it is not installed")
    steps = yaml.safe_load((HERE / "github" / "action.yml").read_text())["runs"]["steps"]
    asked = {"SCHEMA": "schema.toml", "REQUIRE": "k=5"}
    for step in steps[1:]:
        assert set(step["env"]) <= {"RELEASES", *asked}
        assert shell("bash", "-ec", step["run"], folder=folder, RELEASES=" ".join(GOOD), **asked) == 0
    spoil(folder)
    codes = [
        shell("bash", "-ec", step["run"], folder=folder, RELEASES="releases/1.csv releases/bad.csv", **asked)
        for step in steps[1:]
    ]
    assert codes[0] == 1


def test_pre_commit(folder: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    shutil.copy(HERE / "pre-commit" / "pre-commit-config.yaml", folder / ".pre-commit-config.yaml")
    run = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        assert shell(*command, folder=folder) == 0
    assert shell(*run, folder=folder) == 0
    spoil(folder)
    assert shell("git", "add", ".", folder=folder) == 0
    assert shell(*run, folder=folder) == 1


def test_pandera(folder: Path) -> None:
    pandera = pytest.importorskip("pandera.pandas", reason="pandera is not installed")
    check = load("pandera/k_anonymous.py")["k_anonymous"](ROLES)
    schema = pandera.DataFrameSchema(checks=[check])
    schema.validate(pl.read_csv(folder / "releases" / "1.csv").to_pandas())
    spoil(folder)
    with pytest.raises(pandera.errors.SchemaError, match="does not meet k=5"):
        schema.validate(pl.read_csv(folder / "releases" / "bad.csv").to_pandas())


def test_dagster(folder: Path) -> None:
    dagster = pytest.importorskip("dagster", reason="dagster is not installed")
    make = load("dagster/checks.py")["release_check"]
    spoil(folder)
    for name, fine in (("1.csv", True), ("bad.csv", False)):
        check = make("release", folder / "releases" / name, folder / "schema.toml")

        release = dagster.asset(name="release")(lambda: None)
        done = dagster.materialize([release, check], raise_on_error=False)
        (outcome,) = done.get_asset_check_evaluations()
        assert outcome.passed == fine


def test_mcp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    monkeypatch.setenv("REISSUE_FOLDER", str(folder))
    tools = load("mcp/server.py")
    assert tools["check"]("releases/1.csv", "schema.toml")["met"]
    found = tools["propose"]("patients.csv")
    assert {one["column"]: one["role"] for one in found}["disease"] == "sensitive"
    assert tools["attack"](["releases/1.csv"], "schema.toml")["verdict"] in {"withstood", "exposed", "incomplete"}
    with pytest.raises(ri.InputError):
        tools["propose"]("../elsewhere.csv")
