"""What the pages share while the server runs: its folder, the desks in it, the jobs, and the ledgers it knows."""

from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from reissue.web.jobs import Jobs
from reissue.web.shelf import Shelf
from reissue.web.uploads import Desks

__all__ = ["Workspace", "workspace_of"]


@dataclass(frozen=True, eq=False)
class Workspace:
    """One server's belongings."""

    folder: Path
    desks: Desks
    jobs: Jobs
    shelf: Shelf

    @classmethod
    def at(cls, folder: Path, shelf: Shelf) -> "Workspace":
        """In an empty folder."""
        return cls(folder, Desks(folder), Jobs(folder), shelf)


def workspace_of(request: Request) -> Workspace:
    """The workspace that a request is answered in."""
    workspace: Workspace = request.state.workspace
    return workspace
