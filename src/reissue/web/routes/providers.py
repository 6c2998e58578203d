"""Providers: who contributed what, what a coalition of them would see, and what each may be told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import InputError
from reissue.language import text
from reissue.ledger import Ledger
from reissue.web.jobs import PieceOfWork
from reissue.web.numbers import places_of, release_number
from reissue.web.pages import show
from reissue.web.routes.forms import DELIMITERS, read_form
from reissue.web.routes.publish import given_of, tried
from reissue.web.uploads import Desk
from reissue.web.workspace import Workspace, workspace_of

__all__ = ["ROUTES"]

_SHOWN = 12
"""Releases whose contributions are listed."""


async def recorded(request: Request) -> Response:
    """What the ledger says about them, and a place to look at a coalition with today's table."""
    place = workspace_of(request).shelf.place(request.path_params["ledger"])
    named = {"ledger": request.path_params["ledger"], "name": Path(place).name, "delimiters": DELIMITERS}
    return show(request, "providers.html", **await run_in_threadpool(_recorded, place), **named)


def _recorded(place: str) -> dict[str, Any]:
    with Ledger.open(place) as book:
        column, policy = book.schema.provider, book.policy
        releases = [one for one in book.releases if one.record.contributed and one.withdrawn is None][-_SHOWN:]
    names = list(dict.fromkeys(name for one in reversed(releases) for name in one.record.contributed))
    return {"column": column, "m": policy.m, "releases": releases, "names": names}


async def told_file(request: Request) -> Response:
    """What every provider may be told of a release, as text to be sent."""
    place = workspace_of(request).shelf.place(request.path_params["ledger"])
    number = release_number(request)
    lines = await run_in_threadpool(_told, place, number)
    headers = {"Content-Disposition": f'attachment; filename="release-{number}-providers.txt"'}
    return Response("\n".join(lines) + "\n", media_type="text/plain", headers=headers)


def _told(place: str, number: int) -> Sequence[str]:
    with Ledger.open(place) as book:
        one = book.release(number)
    if not one.told:
        raise InputError(text("It is not recorded who contributed to this release."))
    return (f"Release {number} of {Path(place).name}", *one.told)


async def look(request: Request) -> Response:
    """Take today's table, and look what some providers would see in its release; nothing is recorded."""
    workspace, short = workspace_of(request), request.path_params["ledger"]
    with workspace.desks.begun() as desk:
        async with read_form(request) as sent:
            await sent.lay_down(desk, "table")
            desk.refuse_without("table")
            given = {**given_of(desk, sent, workspace.shelf.place(short)), "coalition": sent.texts("member")}
            job = await _collude(workspace, given, f"/ledgers/{short}/providers/of/{{job}}", desk)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def look_over_series(request: Request) -> Response:
    """Take the tables of all releases, and look what some providers would see in them together."""
    workspace, short = workspace_of(request), request.path_params["ledger"]
    with workspace.desks.begun() as desk:
        async with read_form(request) as sent:
            await sent.lay_down(desk, "tables")
            desk.refuse_without("tables")
            given = {
                "ledger": workspace.shelf.place(short),
                "tables": [str(path) for path in desk.files["tables"]],
                "coalition": sent.texts("member"),
                "delimiter": sent.delimiter,
            }
            job = await workspace.jobs.start(
                "collude_over_series",
                given,
                title=text("Looking at all releases as providers would"),
                after=f"/ledgers/{short}/providers/over/{{job}}",
                ended=lambda _: workspace.desks.clear(desk),
            )
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def looked_over_series(request: Request) -> Response:
    """What came of it."""
    workspace, short = workspace_of(request), request.path_params["ledger"]
    job = workspace.jobs.done(request.path_params["job"])
    named = {"ledger": short, "name": Path(workspace.shelf.place(short)).name}
    return show(request, "insiders.html", **named, found=job.outcome)


async def _collude(workspace: Workspace, given: Mapping[str, Any], after: str, desk: Desk | None) -> PieceOfWork:
    def ended(_: PieceOfWork) -> None:
        if desk is not None:
            workspace.desks.clear(desk)

    return await workspace.jobs.start(
        "collude", given, title=text("Looking as providers would"), after=after, ended=ended
    )


async def looked(request: Request) -> Response:
    """What came of it."""
    workspace, short = workspace_of(request), request.path_params["ledger"]
    job = workspace.jobs.done(request.path_params["job"])
    named = {"ledger": short, "name": Path(workspace.shelf.place(short)).name, "number": job.outcome["number"]}
    view = job.outcome["view"]
    found = _found(view, _ticked(request, view) or set(job.given["coalition"]))
    return show(request, "coalitions.html", **named, **found, back=f"/ledgers/{short}/providers", desk=None)


async def candidate(request: Request) -> Response:
    """The same of a release that waits to be published."""
    workspace, desk, job = tried(request)
    given: Any = desk.notes["given"]
    known = {place: short for short, place in workspace.shelf.places().items()}
    named = {"ledger": known.get(given["ledger"], ""), "name": Path(given["ledger"]).name, "desk": desk}
    extra, view = desk.notes.get("coalition"), _view(job)
    more = [extra.outcome["view"]] if isinstance(extra, PieceOfWork) and extra.outcome else []
    found = _found(view, _ticked(request, view), *more)
    number = job.outcome.get("number")
    return show(request, "coalitions.html", **named, **found, number=number, back=f"/publish/{desk.name}")


async def ask(request: Request) -> Response:
    """Look at a coalition that was not looked at yet, with the table on the desk."""
    workspace, desk, job = tried(request)
    names = list(_view(job)["contributed"])
    async with read_form(request) as sent:
        places = places_of(sent.texts("member"), names)
    given: Any = desk.notes["given"]
    asked = {**given, "coalition": [names[place] for place in places]}
    query = "&".join(f"member={place}" for place in places)
    looking = await _collude(workspace, asked, f"/publish/{desk.name}/providers?{query}", None)
    desk.notes["coalition"] = looking
    return RedirectResponse(f"/jobs/{looking.name}", 303)


def _view(job: PieceOfWork) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = job.outcome.get("providers")
    if not found:
        raise InputError(text("The schema names no column that says who contributed a record."))
    return found


def _ticked(request: Request, view: Mapping[str, Any]) -> set[str]:
    """The providers that were ticked: places in the list, for names may be anything."""
    names = list(view["contributed"])
    return {names[place] for place in places_of(request.query_params.getlist("member"), names)}


def _found(view: Mapping[str, Any], ticked: set[str], *more: Mapping[str, Any]) -> dict[str, Any]:
    """A view with the coalition that was ticked, if it was looked at."""
    looked_at = [one for each in (view, *more) for one in each["coalitions"]]
    one = next((each for each in looked_at if set(each["members"]) == ticked), None)
    return {"view": view, "ticked": ticked, "one": one}


ROUTES = (
    ("GET", "/ledgers/{ledger}/providers", recorded),
    ("POST", "/ledgers/{ledger}/providers/upload", look),
    ("GET", "/ledgers/{ledger}/providers/of/{job}", looked),
    ("POST", "/ledgers/{ledger}/providers/over/upload", look_over_series),
    ("GET", "/ledgers/{ledger}/providers/over/{job}", looked_over_series),
    ("GET", "/ledgers/{ledger}/providers/{number}.txt", told_file),
    ("GET", "/publish/{desk}/providers", candidate),
    ("POST", "/publish/{desk}/providers", ask),
)
