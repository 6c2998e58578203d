"""`reissue doctor`: what is there is found, what is not is told with its remedy."""

import json
import subprocess
from pathlib import Path

import pytest

import reissue as ri
from reissue import installation
from reissue.cli._app import run
from reissue.engines.spark import java


def test_it_says_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["DuckDB"]["there"]
    assert "duckdb 2" in parts["DuckDB"]["found"]
    assert found["version"] == ri.__version__
    assert found["cores"] >= 1
    assert run(["doctor"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("Excel", "PostgreSQL", "Java", "Spark", "Chromium"))
    assert str(ri.doctor()).count("\n") == len(parts)


def test_what_is_missing_comes_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_installed", lambda _: None)
    monkeypatch.setattr(installation, "find_java", lambda: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv("REISSUE_CHROMIUM", raising=False)
    monkeypatch.setenv("REISSUE_READ_MEMORY", "unlimited")
    found = ri.doctor(start_spark=True)
    assert not any(part.there for part in found.parts)
    assert all(part.advice for part in found.parts)
    assert found["Spark"].advice == "pip install 'reissue[spark]'"


def test_java_is_found_by_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number in (8, 21):
        program = tmp_path / str(number) / "bin" / "java"
        program.parent.mkdir(parents=True)
        name = f"1.{number}.0" if number == 8 else f"{number}.0.1"
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{name}\"' >&2\n")
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "8"))
    monkeypatch.setenv("PATH", str(tmp_path / "21" / "bin"))
    found = java.find_java()
    assert found is not None
    assert (found.version, found.bundled) == (21, False)


def test_a_wrapped_java_drops_the_module_it_lacks(tmp_path: Path) -> None:
    program = tmp_path / "it's java"
    program.write_text('#!/bin/sh\nfor one in "$@"; do echo "<$one>"; done\n')
    program.chmod(0o755)
    home = java.wrap_java(java.Java(program, 25, bundled=True), tmp_path / "home")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", ""]
    command = [str(home / "bin" / "java"), *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert said.split("\n")[:-1] == ["<-Xmx1g>", "<a b>", "<>"]
