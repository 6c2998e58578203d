"""A job as its page shows it: how far it is, live or by loading the page again, and a button that ends it."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse

from reissue.errors import InputError
from reissue.language import text
from reissue.web.jobs import PieceOfWork, State
from reissue.web.pages import fragment, report, show
from reissue.web.workspace import workspace_of

__all__ = ["ROUTES"]

_HEARTBEAT = 5.0
"""Seconds after which progress is told again, for the time that is left changes too."""


_BEGINS = {
    **dict.fromkeys(("look", "audit", "person"), "/audit"),
    **dict.fromkeys(("propose", "settle", "plan_series", "try_own", "compare_tables"), "/table"),
    **dict.fromkeys(("rehearse", "publish"), "/publish"),
}
"""Verb to the page on which such work begins."""
_FROM = {"rehearse": "/publish", "publish": "/publish", "collude": "/providers", "collude_over_series": "/providers"}
"""The same below the page of a ledger."""
_FILES = {
    "report.html": "text/html",
    "plan.html": "text/html",
    "evidence.html": "text/html",
    "person.html": "text/html",
    "record.json": "application/json",
}
"""What jobs leave for people."""


def _job(request: Request) -> PieceOfWork:
    return workspace_of(request).jobs.find(request.path_params["job"])


async def progress(request: Request) -> Response:
    """How far it is; what came of it when it is done."""
    job = _job(request)
    if job.state == State.DONE:
        return RedirectResponse(job.after, 303)
    return show(request, "job.html", job=job, again=_again(request, job))


def _again(request: Request, job: PieceOfWork) -> str:
    """The page on which work that did not come to an end is corrected, or begins again."""
    if job.back:
        return job.back
    place = job.given.get("ledger", "")
    known = {one: short for short, one in workspace_of(request).shelf.places().items()}
    own = f"/ledgers/{known[place]}" if place in known else ""
    return f"{own}{_FROM.get(job.verb, '')}" if own else _BEGINS.get(job.verb, "/")


async def events(request: Request) -> Response:
    """The same, live."""
    return StreamingResponse(_events(_job(request)), media_type="text/event-stream")


async def _events(job: PieceOfWork) -> AsyncIterator[str]:
    while job.state == State.RUNNING:
        changed = job.changed
        yield _event("progress", fragment("progress.html", job=job))
        try:
            await asyncio.wait_for(changed.wait(), _HEARTBEAT)
        except TimeoutError:
            continue
    yield _event("over", str(job.state))


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"


async def points(request: Request) -> Response:
    """What a plan has found so far."""
    return HTMLResponse(fragment("points.html", job=_job(request)))


async def following(request: Request) -> Response:
    """Where a page that watched goes when the job is over."""
    job = _job(request)
    return Response(headers={"HX-Redirect": job.after if job.state == State.DONE else f"/jobs/{job.name}"})


async def cancel(request: Request) -> Response:
    """End it."""
    job = _job(request)
    await workspace_of(request).jobs.cancel(job)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def file(request: Request) -> Response:
    """What a job left: pages to read, or anything to take away."""
    job, name = workspace_of(request).jobs.done(request.path_params["job"]), request.path_params["name"]
    path = job.folder / name
    if name not in _FILES or not path.is_file():
        raise InputError(text("There is no such file here."))
    if "download" in request.query_params or not name.endswith(".html"):
        return FileResponse(path, media_type=_FILES[name], filename=name)
    return report(path.read_text(encoding="utf-8"))


ROUTES = (
    ("GET", "/jobs/{job}", progress),
    ("GET", "/jobs/{job}/events", events),
    ("GET", "/jobs/{job}/points", points),
    ("GET", "/jobs/{job}/next", following),
    ("POST", "/jobs/{job}/cancel", cancel),
    ("GET", "/jobs/{job}/files/{name}", file),
)
