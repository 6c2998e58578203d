"""Publish: today's table, a dry run with its verdict, the refusal with what would help, the publication."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import InputError
from reissue.language import text
from reissue.ledger import Ledger
from reissue.ledger.recorded import holders
from reissue.ledger.store import NoLedgerError
from reissue.publishing.changes import Change
from reissue.schema import Schema
from reissue.web.jobs import PieceOfWork, State
from reissue.web.numbers import at
from reissue.web.pages import show
from reissue.web.routes.forms import DELIMITERS, Sent, read_form
from reissue.web.uploads import Desk
from reissue.web.workspace import Workspace, workspace_of

__all__ = ["ROUTES", "day_of_table", "given_of", "recipients_of", "rehearse", "tried"]


async def begin(request: Request) -> Response:
    """A place to drop today's table; for a ledger that is to begin, its name and schema too."""
    short = request.path_params.get("ledger", "")
    place = workspace_of(request).shelf.place(short) if short else ""
    return await _form(request, short, place, "", {})


async def correct(request: Request) -> Response:
    """The same form of a table that is here already, with what was said about it."""
    workspace = workspace_of(request)
    desk = workspace.desks.find(request.path_params["desk"])
    given = _mapping(desk.notes.get("given"))
    return await _form(request, _short(workspace, given["ledger"]), given["ledger"], desk.name, given)


def _short(workspace: Workspace, place: str) -> str:
    """The short name of a ledger; empty as long as there is none."""
    return next((short for short, known in workspace.shelf.places().items() if known == place), "")


async def _form(request: Request, short: str, place: str, desk: str, given: Mapping[str, Any]) -> Response:
    known = await run_in_threadpool(_known, place) if short else {"known": [], "provider": True}
    named = {"ledger": short, "name": Path(place).name, "desk": desk, "given": given}
    return show(request, "publish.html", delimiters=DELIMITERS, **named, **known)


def _known(place: str) -> dict[str, Any]:
    """Who got releases before, and whether several parties contribute."""
    with Ledger.open(place) as book:
        return {"known": [who for who in holders(book.releases) if who], "provider": book.schema.provider is not None}


async def upload(request: Request) -> Response:
    """Take the table, and make and attack the release without recording it."""
    workspace, short = workspace_of(request), request.path_params.get("ledger", "")
    with workspace.desks.begun() as desk:
        async with read_form(request) as sent:
            await sent.lay_down(desk, "table", "schema")
            desk.refuse_without("table")
            if not short:
                desk.refuse_without("schema")
            place = workspace.shelf.place(short) if short else workspace.shelf.new(sent.text("name"))
            desk.notes["given"] = {**given_of(desk, sent, place), "dated": day_of_table(sent)}
            job = await rehearse(workspace, desk)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def upload_again(request: Request) -> Response:
    """Correct what was said about a table, or give another one, and try it again."""
    workspace = workspace_of(request)
    desk = workspace.desks.find(request.path_params["desk"])
    before = _mapping(desk.notes.get("given"))
    async with read_form(request) as sent:
        for kind in ("table", "schema"):
            if sent.has_file(kind):
                desk.files.pop(kind, None)
                await sent.lay_down(desk, kind)
        files = {"table": desk.files.get("table"), "schema": desk.files.get("schema")}
        said = _said(sent) | {"dated": day_of_table(sent)}
        if files["table"]:
            said["table"] = _table(desk)
        if files["schema"]:
            said["schema"] = desk.schema
        desk.notes["given"] = {**before, **said}
        job = await rehearse(workspace, desk)
    return RedirectResponse(f"/jobs/{job.name}", 303)


def recipients_of(sent: Sent) -> list[str]:
    """Names between commas, and those that were ticked."""
    typed = [name.strip() for name in sent.text("recipients").split(",")]
    return list(dict.fromkeys(name for name in (*sent.texts("recipient"), *typed) if name))


def day_of_table(sent: Sent) -> str:
    """The day that the table shows; it may be left out only on purpose."""
    day = sent.text("dated")
    if not day and not sent.text("undated"):
        raise InputError(
            text("Say which day the table shows, or tick that it has none: a wrong month is noticed by it.")
        )
    return day


def given_of(desk: Desk, sent: Sent, place: str) -> dict[str, Any]:
    """What the form asks for."""
    return {"ledger": place, "table": _table(desk), "schema": desk.schema, **_said(sent)}


def _table(desk: Desk) -> str:
    """The table; several are those of several providers, each under its own name."""
    return str(desk.files["table"][0] if len(desk.files["table"]) == 1 else desk.folder / "table")


def _said(sent: Sent) -> dict[str, Any]:
    return {
        "recipients": recipients_of(sent),
        "dated": sent.text("dated"),
        "newcomers": bool(sent.text("newcomers")),
        "unchanged": bool(sent.text("unchanged")),
        "lookalikes": bool(sent.text("lookalikes")),
        "delimiter": sent.delimiter,
    }


async def rehearse(workspace: Workspace, desk: Desk) -> PieceOfWork:
    """Make and attack the release of the table on a desk, without recording it; what cannot be done is corrected."""

    def ended(job: PieceOfWork) -> None:
        if job.state == State.DONE:
            desk.notes["job"] = job

    given, address = _mapping(desk.notes["given"]), f"/publish/{desk.name}"
    places = {"after": address, "back": f"{address}/form"}
    return await workspace.jobs.start("rehearse", given, title=text("Trying the release"), ended=ended, **places)


def _mapping(given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InputError(text("This is not here any more: begin again."))
    return given


def tried(request: Request) -> tuple[Workspace, Desk, PieceOfWork]:
    """The desk and the dry run of a table that waits to be published."""
    workspace = workspace_of(request)
    desk = workspace.desks.find(request.path_params["desk"])
    job = desk.notes.get("job")
    if not isinstance(job, PieceOfWork):
        raise InputError(text("This is not done yet."))
    return workspace, desk, job


async def candidate(request: Request) -> Response:
    """The verdict of the dry run: publish it, or what would help."""
    workspace, desk, job = tried(request)
    given = _mapping(desk.notes["given"])
    named = {"ledger": _short(workspace, given["ledger"]), "name": Path(given["ledger"]).name}
    return show(request, "candidate.html", desk=desk, job=job, found=job.outcome, given=given, **named)


async def again(request: Request) -> Response:
    """Another dry run of the same table, by the policy as it is now."""
    workspace, desk, _ = tried(request)
    job = await rehearse(workspace, desk)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def change(request: Request) -> Response:
    """Make one of the changes that were offered, and try the same table again."""
    workspace, desk, last = tried(request)
    given = _mapping(desk.notes["given"])
    place = request.path_params["place"]
    offered = last.outcome["steps"] if last.outcome["refused"] else (last.outcome["price"] or {}).get("cheaper", [])
    chosen = at(offered, place, text("There is no such change."))["change"]
    if chosen is None:
        raise InputError(text("There is no such change."))
    await run_in_threadpool(_changed, given, Change(chosen["sentence"], chosen["sections"]))
    job = await rehearse(workspace, desk)
    return RedirectResponse(f"/jobs/{job.name}", 303)


def _changed(given: Mapping[str, Any], change: Change) -> None:
    """In the ledger for the releases to come; in the schema file as long as there is no ledger."""
    try:
        with Ledger.open(given["ledger"]) as book:
            book.amend(change.on(book.schema))
    except NoLedgerError:
        path = Path(given["schema"])
        path.write_text(change.on(Schema.load(path)).dumps(), encoding="utf-8")


async def publish(request: Request) -> Response:
    """Record it; then the table is gone."""
    workspace, desk, last = tried(request)
    given = _mapping(desk.notes["given"])
    if last.outcome.get("refused", True):
        raise InputError(text("This release was refused: it cannot be published as it is."))

    def ended(job: PieceOfWork) -> None:
        if job.state == State.DONE:
            workspace.desks.clear(desk)
            workspace.shelf.remember(given["ledger"])

    places = {"after": "/published/{job}", "back": f"/publish/{desk.name}"}
    job = await workspace.jobs.start("publish", given, title=text("Publishing"), ended=ended, **places)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def discard(request: Request) -> Response:
    """Remove the table."""
    workspace = workspace_of(request)
    workspace.desks.clear(workspace.desks.find(request.path_params["desk"]))
    return RedirectResponse("/", 303)


async def published(request: Request) -> Response:
    """What was recorded, to be taken away."""
    workspace = workspace_of(request)
    job = workspace.jobs.done(request.path_params["job"])
    place = job.given["ledger"]
    short = _short(workspace, place)
    return show(request, "published.html", job=job, found=job.outcome, ledger=short, name=Path(place).name)


ROUTES = (
    ("GET", "/publish", begin),
    ("POST", "/publish/upload", upload),
    ("GET", "/ledgers/{ledger}/publish", begin),
    ("POST", "/ledgers/{ledger}/publish/upload", upload),
    ("GET", "/publish/{desk}", candidate),
    ("GET", "/publish/{desk}/form", correct),
    ("POST", "/publish/{desk}/form/upload", upload_again),
    ("POST", "/publish/{desk}/again", again),
    ("POST", "/publish/{desk}/change/{place}", change),
    ("POST", "/publish/{desk}/publish", publish),
    ("POST", "/publish/{desk}/discard", discard),
    ("GET", "/published/{job}", published),
)
