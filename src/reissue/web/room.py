"""What the pages share while the server runs: its folder, the desks in it, the jobs, and the ledgers it knows."""

from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from reissue.web.jobs import Jobs
from reissue.web.shelf import Shelf
from reissue.web.uploads import Desks

__all__ = ["Room", "room_of"]


@dataclass(frozen=True, eq=False)
class Room:
    """One server's belongings."""

    folder: Path
    desks: Desks
    jobs: Jobs
    shelf: Shelf

    @classmethod
    def at(cls, folder: Path, shelf: Shelf) -> "Room":
        """In an empty folder."""
        return cls(folder, Desks(folder), Jobs(folder), shelf)


def room_of(request: Request) -> Room:
    """The room that a request is answered in."""
    room: Room = request.state.room
    return room
