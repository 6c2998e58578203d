"""An MCP server for assistants: schemas, verdicts and counts of files in one folder; never a row, never a value."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import reissue as ri

FOLDER = Path(os.environ.get("REISSUE_FOLDER", "."))
server = MCPServer("reissue")


@contextmanager
def _told() -> Iterator[None]:
    """Say what Reissue says of bad input, which has no value of the data in it."""
    try:
        yield
    except ri.InputError as problem:
        raise ToolError(str(problem)) from None


def _file(name: str) -> Path:
    """A file of the folder, and no other."""
    path = (FOLDER / name).resolve()
    if not path.is_relative_to(FOLDER.resolve()):
        raise ri.InputError("Only files of the server's folder can be looked at.")
    return path


@server.tool()
@_told()
def propose(table: str) -> list[dict[str, str]]:
    """The role that each column of a table seems to have, and why."""
    return [{"column": one.column, "role": str(one.role), "why": one.why} for one in ri.propose(_file(table)).guesses]


@server.tool()
@_told()
def check(release: str, schema: str, requirement: str = "k=5") -> dict[str, Any]:
    """Whether a release meets a requirement; how many rows and groups it has."""
    outcome = ri.check(_file(release), _file(schema), requirement)
    return {"met": outcome.met, "rows": outcome.rows, "groups": outcome.groups}


@server.tool()
@_told()
def attack(releases: list[str], schema: str) -> dict[str, Any]:
    """What several releases give away together: verdict, and for each attack its outcome and how many people."""
    findings = ri.attack([_file(one) for one in releases], _file(schema))
    each = [{"attack": one.attack, "outcome": str(one.status), "people": one.people} for one in findings]
    return {"verdict": str(findings.verdict), "attacks": each}


if __name__ == "__main__":
    server.run()
