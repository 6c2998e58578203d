"""`reissue plan` from the command line."""

import json
from pathlib import Path

import pytest

from reissue import synth
from reissue.cli._app import BAD_INPUT, FINE, NOT_MET, run
from reissue.errors import InputError
from reissue.policy import Policy
from reissue.publishing.plan import seconds_of
from reissue.schema import Schema
from reissue.words import percent


@pytest.fixture
def waves(tmp_path: Path) -> list[str]:
    paths = []
    for number, month in enumerate(synth.Population(seed=3, people=150).months(2)):
        paths.append(str(tmp_path / f"m{number}.csv"))
        month.write_csv(paths[-1])
    (tmp_path / "s.toml").write_text("# a remark\n" + synth.schema().with_roles({"hospital": "drop"}).dumps())
    return paths


def test_a_plan_writes_policy_page_and_schema(
    waves: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema, policy, page = (tmp_path / name for name in ("s.toml", "p.toml", "p.html"))
    asked = ["plan", *waves, "--schema", str(schema), "--suppress", "0.05", "--setting", "pool k=40 & simple-l=4"]
    code = run([*asked, "--policy", str(policy), "--report", str(page), "--write"])
    shown = capsys.readouterr().out
    assert code == FINE, shown
    assert "Recommended: " in shown
    assert "on the frontier" in shown
    assert "[policy]" in policy.read_text()
    assert "<svg" in page.read_text()
    written = schema.read_text()
    assert written.startswith("# a remark")
    assert Policy.of(Schema.load(schema)).limit == 0.75
    assert run([*asked, "--write"]) == BAD_INPUT
    assert schema.read_text() == written
    assert run([*asked, "--write", "--force"]) == FINE
    written, before = schema.read_text(), Schema.loads(written)
    assert Schema.load(schema).updates == before.updates
    assert [written.count(text) for text in ("[policy]", "# Proposed by", "# How values changed")] == [1, 1, 1]
    assert written.startswith("# a remark")
    assert run([*asked, "--limit", "1", "--write", "--force"]) == BAD_INPUT
    assert "above 0 and below 1" in " ".join(capsys.readouterr().err.split())
    assert schema.read_text() == written


def test_where_nothing_suffices_what_came_nearest_is_written_with_a_warning(
    waves: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, page = tmp_path / "p.toml", tmp_path / "p.html"
    asked = ["plan", *waves, "--schema", str(tmp_path / "s.toml"), "--setting", "pool k=5 & l=3", "--limit", "0.01"]
    assert run([*asked, "--policy", str(policy), "--json"]) == NOT_MET
    told = json.loads(capsys.readouterr().out)
    assert (told["recommended"], told["verdict"]) == (None, "nothing suffices")
    assert told["warning"].startswith("WARNING: this policy does not suffice. pool k=5 & l=3 came nearest")
    assert told["policy"] == policy.read_text()
    assert told["policy"].startswith("# WARNING: this policy does not suffice.")
    assert Policy.of(Schema.loads((tmp_path / "s.toml").read_text() + told["policy"])).limit == 0.01
    assert run([*asked, "--policy", str(policy), "--report", str(page), "--force"]) == NOT_MET
    shown = " ".join(capsys.readouterr().out.split())
    assert told["warning"] in shown
    assert "which does not suffice" in page.read_text()


def test_someone_who_knows_groups_is_told_beside_someone_with_a_register(
    waves: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "p.html"
    asked = ["plan", *waves, "--schema", str(tmp_path / "s.toml"), "--setting", "pool k=30 & simple-l=3"]
    assert run([*asked, "--limit", "0.9", "--report", str(page)]) == FINE
    shown = " ".join(capsys.readouterr().out.split())
    assert "groups known" in shown
    assert "Someone who also knows everyone's group links" in shown
    assert run([*asked, "--limit", "0.9", "--json"]) == FINE
    best = json.loads(capsys.readouterr().out)["outcomes"][0]
    assert best["risk_groups_known"] >= best["risk"] - 1e-9
    known = f"{percent(best['risk_groups_known'])} ({best['exposed_groups_known']})"
    assert known in shown
    assert known in page.read_text()


def test_one_wave_is_a_guess(waves: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", waves[0], "--schema", str(tmp_path / "s.toml"), "--come", "0.1", "--go", "0", "--budget", "5s"]
    run([*asked, "--json"])
    assert json.loads(capsys.readouterr().out)["guess"] is True
    assert run(["plan", *waves, "--schema", str(tmp_path / "s.toml"), "--come", "0.1"]) == BAD_INPUT


def test_budgets() -> None:
    assert seconds_of("60s") == 60
    assert seconds_of("1.5m") == 90
    assert seconds_of("2h") == 7200
    assert seconds_of("45") == 45
    assert seconds_of("0") is None
    for text in ("soon", "-3s", "3d", ""):
        with pytest.raises(InputError, match="time such as 60s"):
            seconds_of(text)


def test_wrong_input_writes_nothing(waves: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = str(tmp_path / "s.toml")
    assert run(["plan", "nowhere.csv", "--schema", schema]) == BAD_INPUT
    assert run(["plan", *waves, "--schema", schema, "--budget", "soon"]) == BAD_INPUT
    assert run(["plan", *waves, "--schema", schema, "--policy", waves[0]]) == BAD_INPUT
    assert run(["plan", *waves, "--schema", schema, "--limit", "7"]) == BAD_INPUT
    assert run(["plan", *waves, "--schema", schema, "--knowledge", "nothing"]) == BAD_INPUT
    assert "Error" in capsys.readouterr().err
