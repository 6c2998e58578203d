"""The first rows of chosen files, before anything is done with them."""

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from reissue.data.frames import first_rows
from reissue.data.repairs import read_sheet
from reissue.errors import InputError
from reissue.files.dialect import Dialect
from reissue.web.pages import fragment
from reissue.web.routes.forms import read_form
from reissue.web.workspace import workspace_of

__all__ = ["ROUTES"]


async def preview(request: Request) -> Response:
    """Show the first rows of the files in a field; nothing of them is kept."""
    kind, desks = request.path_params["kind"], workspace_of(request).desks
    async with read_form(request) as sent:
        desk = desks.new()
        try:
            await sent.lay_down(desk, kind)
            dialect = Dialect(sent.delimiter)
            found = [await run_in_threadpool(_first, path, dialect) for path in desk.files.get(kind, [])]
        finally:
            desks.clear(desk)
    return HTMLResponse(fragment("preview.html", found=found))


def _first(path: Path, dialect: Dialect) -> dict[str, Any]:
    """The number of rows and the first of them, or why the file cannot be read."""
    try:
        frame = read_sheet(path, dialect=dialect)[0].frame
    except InputError as problem:
        return {"name": path.name, "problem": str(problem)}
    return {"name": path.name, "count": frame.height, "first": first_rows(frame)}


ROUTES = (("POST", "/preview/{kind}/upload", preview),)
