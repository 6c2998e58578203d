"""Write the pages that are generated, from the package and the decisions: `python docs/generate.py`."""

import re
from pathlib import Path
from typing import Any

from typer.main import get_command

from reissue.attacks import registered as registered_attacks
from reissue.cli._app import COMMANDS, EXIT_CODES, load
from reissue.methods.registry import BUILT_IN, Trait, find
from reissue.publishing.recipe import DEFAULT_METHOD

TARGET = Path(__file__).parent / "reference" / "cli.md"


def page() -> str:
    """The whole page."""
    group: Any = get_command(load())
    parts = [
        "# Command line",
        "<!-- Written by docs/generate.py; change the commands, not this file. -->",
        f"{group.help} `reissue --version` shows the version, `reissue COMMAND --help` a command's options.",
        *(part for name in COMMANDS for part in _parts(group.commands[name])),
        _exit_codes(),
        _json(),
        _methods(),
    ]
    return "\n\n".join(parts) + "\n"


def _parts(command: Any) -> list[str]:
    """A command; or a family of commands, its own words first."""
    below = getattr(command, "commands", None)
    if below is None:
        return [_command(command)]
    return [f"## reissue {command.name}\n\n{command.help}", *(_command(one, command.name) for one in below.values())]


def _command(command: Any, family: str = "") -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    shown = " ".join(f"{param.metavar}{'...' if param.nargs == -1 else ''}" for param in arguments)
    needed = " ".join(f"{param.opts[0]} {param.metavar}" for param in options if param.required)
    name = f"{family} {command.name}".lstrip()
    usage = " ".join(filter(None, ["reissue", name, shown, needed, "[OPTIONS]"]))
    rows = [f"| `{param.metavar}` | {_help(param)} |" for param in arguments]
    rows += [f"| `{_spelling(param)}` | {_help(param)} |" for param in options if param.name != "help"]
    table = ["| | |", "|---|---|", *rows]
    level = "###" if family else "##"
    return "\n".join([f"{level} reissue {name}", "", command.help, "", "```text", usage, "```", "", *table])


def _spelling(param: Any) -> str:
    names = ", ".join(param.opts)
    return names if param.is_flag else f"{names} {param.metavar or 'NUMBER'}"


def _help(param: Any) -> str:
    text = str(param.help).replace("|", "\\|")
    if param.required:
        return f"{text} Required." if param.param_type_name == "option" else text
    if param.default is None or getattr(param, "is_flag", False):
        return text
    return f"{text} Default: `{param.default}`."


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["## Exit codes", "", "| code | meaning |", "|---|---|", *rows])


def _json() -> str:
    return (
        "## JSON\n\n"
        "With `--json` a command prints exactly one JSON object on standard output. An error is the object\n"
        '`{"error": {"type": ..., "message": ...}}`, with the same exit code as without `--json`. Messages name\n'
        "columns, row numbers and counts, never a value of the data."
    )


def _methods() -> str:
    parts = ["## Methods", "", "What `--method` can be, and each method's `--option NAME=VALUE`."]
    for name in sorted(BUILT_IN):  # not what plug-ins on this machine bring
        method = find(name)
        default = " (default)" if name == DEFAULT_METHOD else ""
        left_out = " Makes use of `--suppress`." if Trait.SUPPRESSES in method.traits else ""
        first = " It follows people from release to release and keeps a memory of them." if method.stateful else ""
        parts += ["", f"### {name}{default}", "", f"{method.summary}{left_out}{first}"]
        if method.options:
            parts += ["", "| option | default | |", "|---|---|---|"]
            parts += [f"| `{option}` | `{its.default}` | {its.help} |" for option, its in method.options.items()]
    return "\n".join(parts)


GLOSSARY = Path(__file__).parent / "reference" / "glossary.md"
WORDS = Path(__file__).parents[1] / "src" / "reissue" / "glossary.md"
"""The glossary is in the package, for `reissue explain`."""

ATTACKS = Path(__file__).parent / "reference" / "attacks.md"
_TOLD = re.compile(r"(?<=<!-- registration -->\n).*?(?=<!-- end of registration -->)", re.DOTALL)
"""What an attack says of itself, between two marks below its heading."""


def attacks() -> str:
    """Return the page of attacks, with what each one says of itself."""
    head, *sections = re.split(r"^(?=## )", ATTACKS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lacking = [name for name in registered_attacks() if not any(one.startswith(f"## {name}\n") for one in sections)]
    if lacking:
        raise SystemExit(f"docs/reference/attacks.md has no section for {', '.join(lacking)}")
    return head + "".join(_with_registration(section) for section in sections)


def _with_registration(section: str) -> str:
    name = section.partition("\n")[0].removeprefix("## ")
    its = registered_attacks().get(name)
    if its is None:
        return section
    prevention = "\n".join(f"- {advice}" for advice in its.prevention)
    told = f"\n{its.summary}\n\n{its.story} It needs {its.needs}.\n\nWhat would prevent it:\n\n{prevention}\n\n"
    return _TOLD.sub(lambda _: told, section)


DECISIONS = Path(__file__).parent / "decisions"


def decisions() -> str:
    """Return the list of decisions, by number."""
    pages = sorted(page for page in DECISIONS.glob("*.md") if page.stem != "index")
    titles = [(page.name, page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")) for page in pages]
    rows = [f"| [{title[:4]}]({name}) | {title[4:].strip(' :')} |" for name, title in titles]
    head = "Choices that bind several modules, or that measurements decided. Every page is in force."
    return "\n".join(["# Decisions", "", head, "", "| | |", "|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    ATTACKS.write_text(attacks(), encoding="utf-8")
    (DECISIONS / "index.md").write_text(decisions(), encoding="utf-8")
    TARGET.write_text(page(), encoding="utf-8")
    GLOSSARY.write_text(WORDS.read_text(encoding="utf-8"), encoding="utf-8")
