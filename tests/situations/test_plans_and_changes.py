"""Plans, and values that change: from waves to a policy and its releases, by the command line only."""

import contextlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.cli._app import FINE, NOT_MET, UNTESTED, run
from reissue.publishing.plan import planning
from reissue.schema import Schema

VALUES = ["flu", "cold", "asthma", "angina", "ulcer", "gout"]
COLUMNS = (
    '[columns]\nid = "identifier"\nage = "quasi"\nzip = "quasi"\nill = "sensitive"\n[taxonomy.zip]\nprefix = [2, 1]\n'
)


def told(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a command."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run([*words, "--json"])
    return code, json.loads(out.getvalue())


def shown(folder: Path, *words: str) -> tuple[int, str]:
    """The exit code and what a terminal shows."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run([*words])
    return code, " ".join(out.getvalue().split())


def panel(folder: Path, waves: int, *, people: int = 400, changes: float = 0.3, seed: int = 1) -> list[str]:
    """Waves of people of whom some come and go, and whose values move to the next one, mostly."""
    rng, names = np.random.default_rng(seed), []
    age, zips = rng.integers(20, 70, 3 * people), rng.integers(100, 160, 3 * people)
    true, here = rng.integers(0, len(VALUES), 3 * people), np.arange(people)
    newest = people
    for number in range(waves):
        frame = pl.DataFrame({"id": here, "age": age[here], "zip": zips[here].astype(str)})
        names.append(f"w{number + 1}.csv")
        frame.with_columns(ill=pl.Series([VALUES[true[one]] for one in here])).write_csv(folder / names[-1])
        moved = here[rng.random(len(here)) < changes]
        true[moved] = (true[moved] + rng.choice([1, 2], len(moved), p=[0.8, 0.2])) % len(VALUES)
        here = here[rng.random(len(here)) < 0.95]
        come = int(rng.poisson(0.05 * people))
        here, newest = np.append(here, np.arange(newest, newest + come)), newest + come
    return names


def test_a_rare_value_that_changes_does_not_end_a_plan(tmp_path: Path) -> None:
    """One person has a value of her own, and changes: what is written can be read, published by, and goes on."""
    waves = panel(tmp_path, 3, changes=0.0)
    for number, name in enumerate(waves):
        frame = pl.read_csv(tmp_path / name)
        own = pl.when(pl.col("id") == 0).then(pl.lit("kuru" if number == 0 else "flu")).otherwise("ill")
        frame.with_columns(ill=own).write_csv(tmp_path / name)
    code, text = shown(tmp_path, "init", *waves, "--sensitive", "ill", "--budget", "20s")
    assert code == FINE
    assert "could not be tried" not in text
    assert "kuru" in Schema.load(tmp_path / "schema.toml").updates["chances"]
    for name in waves:
        code, said = told(
            tmp_path, "publish", name, "--schema", "schema.toml", "--ledger", "x.ledger", "--out", f"o{name}"
        )
        assert code == FINE, said
        assert said["findings"][0]["details"]["updates"] == "schema"


def published(folder: Path, waves: list[str], schema: str) -> list[tuple[int, Mapping[str, Any]]]:
    made = []
    for name in waves:
        words = ["publish", name, "--schema", schema, "--ledger", "x.ledger", "--out", f"o{name}", "--force"]
        code, said = told(folder, *words)
        made.append((code, next(one for one in said["findings"] if one["attack"] == "joint")))
    return made


def test_values_that_change_are_not_judged_as_fixed(tmp_path: Path) -> None:
    """No `[updates]`: the gate learns from the tables, goes on, and claims as much as comes true."""
    waves = panel(tmp_path, 6)
    policy = '\n[policy]\nrequire = "k=8 & simple-l=4"\nsuppress = 0.02\nattacks = ["joint"]\n'
    (tmp_path / "s.toml").write_text(COLUMNS + policy)
    made = published(tmp_path, waves, "s.toml")
    assert [code for code, _ in made] == [FINE] * len(waves)
    assert [one["details"]["updates"] for _, one in made] == ["none", *["tables"] * 5]
    for _, one in made[1:]:
        today = one["details"]["today"]
        assert today["claim"] == pytest.approx(today["share_right"], abs=0.08)


def test_a_refusal_says_how_many_guesses_are_right_and_names_updates(tmp_path: Path) -> None:
    waves = panel(tmp_path, 2, changes=0.1)
    policy = '\n[policy]\nrequire = "k=3"\nlimit = 0.4\nattacks = ["joint"]\n'
    (tmp_path / "s.toml").write_text(COLUMNS + policy)
    with contextlib.chdir(tmp_path):
        code, said = told(tmp_path, "publish", waves[0], "--schema", "s.toml", "--ledger", "x.ledger", "--out", "o.csv")
    assert code == NOT_MET
    assert any("guesses" in problem and "right" in problem for problem in said["problems"])
    assert any("`[updates]`" in line for line in said["advice"])


def test_load_does_not_change_what_a_plan_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day on the wall is nothing; a budget that is spent in CPU seconds ends a plan, and init still has a policy."""
    waves = panel(tmp_path, 2, people=200, changes=0.1)
    (tmp_path / "s.toml").write_text(COLUMNS)
    asked = ["plan", *waves, "--schema", "s.toml", "--setting", "pool k=40 & simple-l=3", "--budget", "30s"]
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    code, first = told(tmp_path, *asked)
    wall = iter(range(0, 10**9, 86_400))
    monkeypatch.setattr("time.monotonic", lambda: float(next(wall)))
    again, second = told(tmp_path, *asked)
    assert code == again
    assert first["recommended"] == second["recommended"] == "pool k=40 & simple-l=3"
    monkeypatch.undo()
    # The package has a function of the module's name.
    monkeypatch.setattr(
        sys.modules["reissue.publishing.plan.planning"], "cpu_seconds", iter(range(0, 10**9, 1000)).__next__
    )
    code, none = told(tmp_path, *asked)
    assert (code, none["verdict"]) == (UNTESTED, "could not be tried")
    code, text = shown(tmp_path, "init", *waves, "--sensitive", "ill", "--force")
    assert "WARNING: no setting made a release" in text
    assert (tmp_path / "schema.toml").read_text().count("# WARNING: no setting made a release") == 1
    assert Schema.load(tmp_path / "schema.toml").policy["require"]


def test_cpu_seconds_pass_with_work_and_not_with_time() -> None:
    before = planning.cpu_seconds()
    assert sum(number * number for number in range(2_000_000))
    assert planning.cpu_seconds() > before
