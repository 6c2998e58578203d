"""The application: its pages behind the access guard, and a folder that is there as long as it runs."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from reissue.attacks import registered as attacks
from reissue.files.staging import scratch_folder
from reissue.language import text
from reissue.methods import registered as methods
from reissue.web.access import LARGEST, PATIENCE, AccessGuard, Keys
from reissue.web.pages import prepare, refused
from reissue.web.routes import audit, home, job, ledger, own_setting, plan, policy, preview, providers, publish, table
from reissue.web.shelf import Shelf
from reissue.web.workspace import Workspace

__all__ = ["make_app"]

ROUTES = (
    *home.ROUTES,
    *audit.ROUTES,
    *job.ROUTES,
    *ledger.ROUTES,
    *policy.ROUTES,
    *preview.ROUTES,
    *providers.ROUTES,
    *publish.ROUTES,
    *table.ROUTES,
    *plan.ROUTES,
    *own_setting.ROUTES,
)


def make_app(
    port: int,
    keys: Keys,
    shelf: Shelf,
    *,
    largest: int = LARGEST,
    patience: float = PATIENCE,
    ready: Callable[[Path], object] | None = None,
) -> ASGIApp:
    """The whole application, to be served on a port of the loopback; `ready` gets its folder once it can answer."""
    routes = [Route(path, endpoint, methods=[method]) for method, path, endpoint in ROUTES]
    router = Router(routes, default=_nowhere, lifespan=partial(_lifespan, shelf, ready), redirect_slashes=False)
    return AccessGuard(router, port, keys, largest=largest, uploads=("/upload",), patience=patience)


@asynccontextmanager
async def _lifespan(shelf: Shelf, ready: Callable[[Path], object] | None, _: Any) -> AsyncIterator[Mapping[str, Any]]:
    """A folder for uploads and jobs; it is cleared here, for nothing is run after a server that got a signal."""
    with scratch_folder() as folder:
        await run_in_threadpool(_load, shelf)
        workspace = Workspace.at(folder, shelf)
        if ready is not None:
            ready(folder)
        try:
            yield {"workspace": workspace}
        finally:
            await workspace.jobs.close()


def _load(shelf: Shelf) -> None:
    """What the first pages would load: whoever opens one while a job runs would wait for it."""
    attacks()
    methods()
    prepare()
    home.said(list(shelf.places().values())[:1])


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    await refused(404, text("Nothing is found under this address."))(scope, receive, send)
