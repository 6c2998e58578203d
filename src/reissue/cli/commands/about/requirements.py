"""`reissue requirements`: what `--require` can be."""

import re
from typing import Any

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption


@app.command()
def requirements(as_json: JsonOption = False) -> None:
    """List the requirements that `--require` knows; several are joined by `&`."""
    from reissue.requirements import registered

    found: dict[str, dict[str, Any]] = {
        name: {
            "meaning": _first_line(kind.__doc__),
            "examples": [f"{name}={example}" for example in _in_backticks(kind.parse.__doc__)],
            "sensitive": kind.sensitive,
            "several_rows": kind.by_people,
        }
        for name, kind in registered().items()
    }
    if as_json:
        _render.show_json({"requirements": found})
        return
    for its in found.values():
        _render.say("   ".join(its["examples"]), style="bold")
        _render.say(f"  {its['meaning']}")
    _render.say("", "Join several with &, in quotes:  --require 'k=5 & l=3'")


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _in_backticks(text: str | None) -> list[str]:
    """The examples that a requirement's `parse` gives in its docstring."""
    return re.findall(r"`([^`]+)`", text or "")
