"""Earlier names of commands and options: they work for one more release, and a line on standard error says so."""

import sys
from collections.abc import Mapping, Sequence

from reissue.cli import _render

__all__ = ["COMMANDS", "OPTIONS", "by_current_names"]

COMMANDS: Mapping[str, str] = {"compare": "compare-settings", "utility": "measure"}
"""Commands by their earlier names."""
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "attack": {"--knows": "--knowledge", "--people": "--population"},
    "plan": {"--leave-out": "--suppress"},
}
"""Options by command and earlier name."""


def by_current_names(arguments: Sequence[str]) -> list[str]:
    """Return a command line in which earlier names are replaced by those of today; each is warned about."""
    if not arguments:
        return []
    command = _current(arguments[0], COMMANDS)
    return [command, *(_option(text, OPTIONS.get(command, {})) for text in arguments[1:])]


def _option(text: str, names: Mapping[str, str]) -> str:
    name, equals, value = text.partition("=")
    return _current(name, names) + equals + value


def _current(name: str, names: Mapping[str, str]) -> str:
    if name in names:
        said = f"`{name}` is called `{names[name]}` now. The old name works in this release and not in the next."
        _render.say(f"Warning: {said}", error=True, style="yellow" if sys.stderr.isatty() else "")
    return names.get(name, name)
