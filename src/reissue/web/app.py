"""The application: its pages behind its door, and a folder that is there as long as it runs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from reissue.files.staging import scratch_folder
from reissue.web.door import LARGEST, Door, Keys
from reissue.web.pages import refused
from reissue.web.room import Room
from reissue.web.routes import audit, home, job, ledger, own_setting, plan, policy, providers, publish, table
from reissue.web.shelf import Shelf

__all__ = ["make_app"]

ROUTES = (
    *home.ROUTES,
    *audit.ROUTES,
    *job.ROUTES,
    *ledger.ROUTES,
    *policy.ROUTES,
    *providers.ROUTES,
    *publish.ROUTES,
    *table.ROUTES,
    *plan.ROUTES,
    *own_setting.ROUTES,
)


def make_app(port: int, keys: Keys, shelf: Shelf, *, largest: int = LARGEST) -> ASGIApp:
    """The whole application, to be served on a port of the loopback."""
    routes = [Route(path, endpoint, methods=[method]) for method, path, endpoint in ROUTES]
    router = Router(routes, default=_nowhere, lifespan=partial(_lifespan, shelf), redirect_slashes=False)
    return Door(router, port, keys, largest=largest, uploads=("/upload",))


@asynccontextmanager
async def _lifespan(shelf: Shelf, _: Any) -> AsyncIterator[Mapping[str, Any]]:
    """A folder for uploads and jobs; it is cleared here, for nothing is run after a server that got a signal."""
    with scratch_folder() as folder:
        room = Room.at(folder, shelf)
        try:
            yield {"room": room}
        finally:
            await room.jobs.close()


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    await refused(404, "Nothing is found under this address.")(scope, receive, send)
