"""One word for one thing: what the command line calls an option, Python calls an argument."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer

import reissue as ri
from reissue.cli._app import load
from reissue.cli._renamed import COMMANDS, OPTIONS, by_current_names
from reissue.synth import Population, schema

PATIENTS = next(Population(seed=2, people=120).months(1))
PAIRS: dict[str, Callable[..., Any]] = {
    "anonymize": ri.anonymize,
    "attack": ri.attack,
    "check": ri.check,
    "compare-settings": ri.compare_settings,
    "doctor": ri.doctor,
    "measure": ri.measure,
    "plan": ri.plan,
    "publish": ri.publish,
}
"""The commands that call one function."""
SHELL = {"force", "help", "json", "out", "policy", "read", "record", "report", "write"}
"""What only a command line needs: files that are written, how text files are read (`dialect`), and how it answers."""
FIRST = {"data", "published", "releases", "waves", "original"}
"""What stands first, by position: published tables are releases."""
OWN = {
    "anonymize": {
        **dict.fromkeys(("m", "e", "star", "risk", "form", "sensitive_values", "after"), "**options"),
        "k": "in the requirement",
        "private": "a file of its own",
        "show_values": "on screen only",
        "engine": "anonymize_folder",
    },
    "attack": {
        **dict.fromkeys(("population", "members", "m", "coalition"), "Knowledge"),
        **dict.fromkeys(("sensitive", "quasi", "identifier", "providers", "save_schema"), "the schema"),
        "originals": "the report's price",
        "strict": "the exit code",
        "private": "personal_risks",
    },
    "check": {
        **dict.fromkeys(("sensitive", "quasi", "identifier"), "the schema"),
        "series": "several releases",
        "all": "what is shown",
    },
    "publish": {
        "engine": "publish_folder",
        "budget": "preview",
        "yes": "a question on a terminal",
        **dict.fromkeys(("counts", "register"), "tables of counts are published by a function of their own"),
    },
    "measure": {"before": "transitions", "link": "transitions"},
}
"""Options that are no argument, and where Python has the same."""


def options(command: str) -> set[str]:
    group: Any = typer.main.get_command(load())
    return {one.opts[0].lstrip("-").replace("-", "_") for one in group.commands[command].params} - SHELL


@pytest.mark.parametrize("command", PAIRS)
def test_an_option_and_its_argument_have_one_name(command: str) -> None:
    arguments = set(inspect.signature(PAIRS[command]).parameters)
    said = {name for name in options(command) if not {name, f"{name}s", f"{name}es"} & (arguments | FIRST)}
    assert said == set(OWN.get(command, {}))


def test_a_policy_a_plan_and_knowledge_use_the_same_words() -> None:
    shared = {"limit", "suppress", "counterfeits", "knowledge", "prior"}
    assert shared <= set(ri.Policy.__dataclass_fields__) & set(inspect.signature(ri.plan).parameters)
    assert {"population", "members", "m", "coalition"} <= set(ri.Knowledge.__dataclass_fields__)


def test_earlier_names_work_and_warn() -> None:
    earlier: Any = ri
    with pytest.warns(DeprecationWarning, match=r"`require=`"):
        release = earlier.anonymize(PATIENTS, schema(), requirement="k=4", seed=1)
    with pytest.warns(DeprecationWarning, match=r"`reissue\.measure`"):
        lost = earlier.compare(PATIENTS, release.frame, schema(), queries=0)
    assert lost == ri.measure(PATIENTS, release.frame, schema())
    with pytest.warns(DeprecationWarning, match=r"`require=`"):
        assert earlier.check(release, schema(), requirement="k=4").met
    with pytest.raises(TypeError, match="earlier name"):
        earlier.check(release, schema(), require="k=4", requirement="k=4")


def test_limits_as_one_argument_are_read_and_warned_about() -> None:
    from reissue.publishing.plan import Limits

    earlier: Any = ri.plan
    asked: dict[str, Any] = {"settings": ["pool k=20 & l=2"], "further": 0}
    with pytest.warns(DeprecationWarning, match=r"`limit="):
        made = earlier([PATIENTS], schema(), limits=Limits(0.9, suppress=0.1), **asked)
    assert (made.limits.limit, made.limits.suppress) == (0.9, 0.1)


def test_earlier_commands_and_options_work_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    for command, names in OPTIONS.items():
        assert set(names.values()) <= {f"--{name}" for name in options(command)}
        for old, new in names.items():
            assert by_current_names([command, f"{old}=x", old, "y"]) == [command, f"{new}=x", new, "y"]
    for old, new in COMMANDS.items():
        assert by_current_names([old, "a.csv"]) == [new, "a.csv"]
        assert options(new)
    said = capsys.readouterr()
    assert said.err.count("in this release and not in the next") == 2 * sum(map(len, OPTIONS.values())) + len(COMMANDS)
    assert not said.out
    assert by_current_names(["attack", "a.csv"]) == ["attack", "a.csv"]
    assert by_current_names([]) == []


def test_a_plan_takes_texts_as_the_shell_does() -> None:
    made = ri.plan([PATIENTS], schema(), limit=0.9, settings=["pool k=20 & l=2"], budget="2m", come=0.05, further=0)
    assert made.guess
    assert made.outcomes[0].setting.name == "pool k=20 & l=2"
    with pytest.raises(ri.InputError, match="60s"):
        ri.plan([PATIENTS], schema(), budget="soon")
    with pytest.raises(ri.InputError, match=r"ri\.Knowledge"):
        ri.attack([PATIENTS], schema(), knowledge="groups")  # type: ignore[arg-type]


def test_roles_in_a_dict_carry_the_other_sections() -> None:
    roles = {"age": "quasi identifier", "policy": "keep", "disease": "sensitive"}
    read = ri.Schema.read({**roles, "taxonomy": {"age": {"ranges": [5]}}})
    assert (read.quasi, read.kept, read.hierarchy("age").ranges) == (("age",), ("policy",), (5,))
    assert ri.Policy.of(ri.Schema.read({"age": "quasi", "policy": {"require": "k=3"}})).method == "pool"
    made = ri.Schema.of_columns(quasi=["age"], policy={"require": "k=3"}, updates={"none": True})
    assert ri.Policy.of(made).suppress == 0
    assert made.updates == {"none": True}


def test_a_plan_completes_a_schema() -> None:
    months = list(Population(seed=2, people=300).months(2))
    columns = schema().with_roles({"hospital": "drop"})
    made = ri.plan(months, columns, settings=["pool k=60 & l=3"], limit=0.95, further=0)
    assert ri.Policy.of(made.apply(columns)).limit == 0.95
    assert made.apply(columns).quasi == columns.quasi
    unsafe = ri.plan(months, columns, settings=["pool k=2"], limit=0.2, further=0)
    with pytest.raises(ri.NotMetError, match="recommends nothing"):
        unsafe.apply(columns)
