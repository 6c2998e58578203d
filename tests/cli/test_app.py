"""The command line as a whole, and the commands that only tell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import reissue as package
from reissue import attacks
from reissue.cli._app import COMMANDS
from reissue.methods import registered
from reissue.requirements import parse
from reissue.requirements import registered as requirements
from tests.cli.conftest import Reissue


def test_without_arguments_it_helps(reissue: Reissue) -> None:
    outcome = reissue()
    assert outcome.code == 0
    for command in COMMANDS:
        assert f"│ {command} " in outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(reissue: Reissue, command: str) -> None:
    outcome = reissue(command, "--help")
    assert outcome.code == 0
    assert "--json" in outcome.out


def test_the_version(reissue: Reissue) -> None:
    assert reissue("--version").out == f"reissue {package.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["anonimize"], "No such command"),
        (["check", "--nothing"], "No such option"),
        (["anonymize", "x.csv"], "Missing option '--schema'"),
        (["measure", "a.csv", "b.csv", "-s", "s.toml", "--queries", "many"], "--queries"),
    ],
)
def test_a_command_line_that_cannot_be_read(reissue: Reissue, arguments: list[str], message: str) -> None:
    plain, as_json = reissue(*arguments), reissue(*arguments, "--json")
    assert plain.code == as_json.code == 2
    assert message in plain.err
    assert not plain.out
    assert as_json.json["error"]["type"] == "UsageError"


def test_the_installed_command_ends_with_the_exit_code(tmp_path: Path) -> None:
    command = Path(sys.executable).parent / "reissue"
    done = subprocess.run([command, "init", "none.csv"], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert done.stderr == "Error: There is no file 'none.csv'.\n"
    assert not done.stdout


def test_a_terminal_that_lacks_a_letter_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text("Código Postal,age\n01067,1\n", encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [Path(sys.executable).parent / "reissue", "init", "z.csv"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "C?digo Postal" in done.stdout


def test_methods_lists_all_with_their_options(reissue: Reissue) -> None:
    text, answer = reissue("methods").out, reissue("methods", "--json").json
    assert {method["name"] for method in answer["methods"]} == set(registered())
    assert answer["default"] == "pool"
    for name, method in registered().items():
        assert f"{name}" in text
        assert method.summary in text
        assert all(f"--option {option}=" in text for option in method.options)


def test_attacks_lists_all_with_what_they_need(reissue: Reissue) -> None:
    text, answer = reissue("attacks").out, reissue("attacks", "--json").json
    assert {attack["name"] for attack in answer["attacks"]} == set(attacks.registered())
    for attack in answer["attacks"]:
        assert attack["summary"] in text
        assert attack["compares"] is attacks.find(attack["name"]).compares
    joint = next(attack for attack in answer["attacks"] if attack["name"] == "joint")
    assert set(joint["methods"]) == {name for name, its in registered().items() if "joint" in its.remedies}
    assert "It compares releases, at least 2 of them." in text


def test_requirements_lists_all(reissue: Reissue) -> None:
    text, answer = reissue("requirements").out, reissue("requirements", "--json").json
    assert list(answer["requirements"]) == list(requirements())
    for its in answer["requirements"].values():
        assert its["meaning"] in text
        assert its["examples"]
        for example in its["examples"]:
            assert example in text
            assert parse(example).parts()


def test_the_commands_that_attacks_advise_are_commands_with_these_options() -> None:
    from typer.main import get_command

    from reissue.attacks import registered as attacks
    from reissue.cli._app import load

    commands = get_command(load()).commands  # type: ignore[attr-defined]
    for its in attacks().values():
        for line in its.command.splitlines():
            name, *words = line.removeprefix("reissue ").split()
            known = {option for parameter in commands[name].params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= known, line


def test_code_is_bold_on_a_terminal_and_between_backticks_elsewhere(reissue: Reissue) -> None:
    from reissue.cli._render import _text

    shown = _text("See `reissue explain`.", marked=True)
    assert shown.plain == "See reissue explain."
    assert [(span.start, span.end, span.style) for span in shown.spans] == [(4, 19, "bold")]
    assert _text("See `reissue explain`.", marked=False).plain == "See `reissue explain`."
    assert _text("one ` only", marked=True).plain == "one ` only"
    assert "`reissue --help`" in reissue("nonsense").err
