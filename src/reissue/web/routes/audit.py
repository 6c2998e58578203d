"""Audit: drop files, see what was read and assumed, correct it, watch, read the report, take it away."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.attacks import registered as attacks
from reissue.errors import InputError, ReissueError
from reissue.files.dialect import Dialect
from reissue.language import text
from reissue.methods import registered as methods
from reissue.published import Tables, open_counts
from reissue.schema import Role
from reissue.web.jobs import PieceOfWork, State
from reissue.web.numbers import whole_number
from reissue.web.pages import show
from reissue.web.routes.forms import DELIMITERS, Sent, read_form
from reissue.web.uploads import Desk
from reissue.web.workspace import Workspace, workspace_of

__all__ = ["ROUTES"]

_KINDS = ("published", "schema", "people", "members")
_ROLES: Mapping[Role, str] = {
    Role.QUASI: "others may know it",
    Role.SENSITIVE: "nobody should learn it",
    Role.IDENTIFIER: "says who it is",
    Role.PROVIDER: "says who contributed it",
    Role.DROP: "leave it out",
}
"""Roles that a column of a published file can have, in words."""


def _roles() -> dict[Role, str]:
    return {role: text(_ROLES[role]) for role in _ROLES}


async def begin(request: Request) -> Response:
    """A place to drop files."""
    return show(request, "audit.html", delimiters=DELIMITERS, again=None)


async def upload(request: Request) -> Response:
    """Take the files and look at them; where it is said already what their columns are, attack them."""
    workspace = workspace_of(request)
    with workspace.desks.begun() as desk:
        async with read_form(request) as sent:
            await sent.lay_down(desk, *_KINDS)
            desk.refuse_without("published")
            desk.notes["delimiter"] = sent.delimiter
            known = _is_known(desk, sent) or await run_in_threadpool(_counts, desk)
            job = await _attack(workspace, desk, sent) if known else await _look(workspace, desk)
    return RedirectResponse(f"/jobs/{job.name}", 303)


def _is_known(desk: Desk, sent: Sent) -> bool:
    return bool(desk.files.get("schema")) or bool(sent.under("role:"))


def _counts(desk: Desk) -> bool:
    """Whether all files are tables of counts, whose columns need no roles."""
    try:
        opened = open_counts(desk.files["published"], dialect=Dialect(str(desk.notes["delimiter"] or "") or None))
    except ReissueError:
        return False  # reading them as tables of people says what is wrong
    return all(isinstance(one, Tables) for one in opened)


async def _look(workspace: Workspace, desk: Desk) -> PieceOfWork:
    def ended(job: PieceOfWork) -> None:
        if job.state == State.DONE:
            desk.notes["seen"] = job.outcome
        elif "seen" not in desk.notes:
            workspace.desks.clear(desk)

    given = {"published": _texts(desk.files["published"]), "delimiter": desk.notes["delimiter"]}
    after = f"/audit/read/{desk.name}"
    back = after if "seen" in desk.notes else ""
    return await workspace.jobs.start(
        "look", given, title=text("Reading the files"), after=after, back=back, ended=ended
    )


async def read(request: Request) -> Response:
    """What was read and assumed, to be corrected."""
    desk = workspace_of(request).desks.find(request.path_params["desk"])
    seen: Any = desk.notes.get("seen")
    if seen is None:
        raise InputError(text("The schema file says what the columns are: nothing was guessed."))
    said: Any = desk.notes.get("given", {})
    seen = {**seen, "columns": {**seen["columns"], **said.get("roles", {})}}
    names = {"methods": sorted(methods()), "attacks": sorted(attacks())}
    return show(request, "read.html", desk=desk, seen=seen, said=said, roles=_roles(), **names)


async def attack(request: Request) -> Response:
    """Attack the files as they were corrected."""
    workspace = workspace_of(request)
    desk = workspace.desks.find(request.path_params["desk"])
    async with read_form(request) as sent:
        if not desk.schema:
            _refuse_roles(sent.under("role:"))
        for kind in ("people", "members"):
            if sent.has_file(kind):
                desk.files.pop(kind, None)
        more = sent.has_file("published")
        await sent.lay_down(desk, "published", "people", "members")
        job = await (_look(workspace, desk) if more and not desk.schema else _attack(workspace, desk, sent))
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def discard(request: Request) -> Response:
    """Remove the files and begin again."""
    workspace = workspace_of(request)
    workspace.desks.clear(workspace.desks.find(request.path_params["desk"]))
    return RedirectResponse("/audit", 303)


def _refuse_roles(roles: Mapping[str, str]) -> None:
    """Before the files are gone: what no attack could begin with."""
    for role in (Role.SENSITIVE, Role.IDENTIFIER, Role.PROVIDER):
        if list(roles.values()).count(role) > 1:
            raise InputError(
                text("Only one column can be the one that “{role}”. Go back and choose one.", role=_roles()[role])
            )
    for role in (Role.QUASI, Role.SENSITIVE):
        if role not in roles.values():
            raise InputError(text("No column is one that “{role}”. Go back and choose one.", role=_roles()[role]))


async def _attack(workspace: Workspace, desk: Desk, sent: Sent) -> PieceOfWork:
    """Start the attacks; the files stay, so that more can be added to them."""
    people = desk.files.get("people", [])
    given = {
        "desk": desk.name,
        "published": _ordered(desk.files["published"], sent.under("order:")),
        "members": _texts(desk.files.get("members", [])),
        "people": str(people[0]) if people else "",
        "schema": desk.schema,
        "roles": sent.under("role:"),
        "only": sent.texts("only"),
        "delimiter": desk.notes["delimiter"],
        **{name: sent.text(name) for name in ("algorithm", "requirement", "values")},
    }

    desk.notes["given"] = given
    back = f"/audit/read/{desk.name}" if "seen" in desk.notes else ""

    def ended(job: PieceOfWork) -> None:
        if job.state != State.DONE and not back:
            workspace.desks.clear(desk)

    after = "/audit/of/{job}"
    return await workspace.jobs.start(
        "audit", given, title=text("Attacking the files"), after=after, back=back, ended=ended
    )


def _ordered(files: Sequence[Path], places: Mapping[str, str]) -> list[str]:
    """Files in the order that was said; those without a number stay where they are."""
    number = {name: place for name, text in places.items() if (place := whole_number(text)) is not None}
    keyed = [(number.get(path.name, index + 1), index, str(path)) for index, path in enumerate(files)]
    return [path for _, _, path in sorted(keyed)]


def _texts(paths: Sequence[Path]) -> list[str]:
    return [str(path) for path in paths]


async def outcome(request: Request) -> Response:
    """The verdict, and what would make it surer."""
    workspace = workspace_of(request)
    job = workspace.jobs.done(request.path_params["job"])
    known: Mapping[str, Any] = job.outcome
    desk = workspace.desks.known(job.given["desk"])
    lacking = list(dict.fromkeys(need for one in known["lacking"] for need in one["needs"]))
    named = Role.IDENTIFIER in known["roles"].values() or bool(job.given["members"])
    context = {"methods": sorted(methods()), "desk": desk, "named": named}
    return show(request, "audited.html", job=job, found=known, lacking=lacking, **context)


async def person(request: Request) -> Response:
    """Look at one person's case, which is written nowhere but in the job's folder."""
    workspace, audit = workspace_of(request), request.path_params["job"]
    job = workspace.jobs.done(audit)
    if workspace.desks.known(job.given["desk"]) is None:
        raise InputError(text("The files are not here any more: begin again."))
    async with read_form(request) as sent:
        if not sent.text("person"):
            raise InputError(text("Write who it is, as the files do."))
        given = {**job.given, "person": sent.text("person"), "audit": audit}
    back, after = f"/audit/of/{audit}", "/jobs/{job}/files/person.html"
    looking = await workspace.jobs.start("person", given, title=text("Looking at one person"), after=after, back=back)
    return RedirectResponse(f"/jobs/{looking.name}", 303)


ROUTES = (
    ("GET", "/audit", begin),
    ("POST", "/audit/upload", upload),
    ("GET", "/audit/read/{desk}", read),
    ("POST", "/audit/read/{desk}/upload", attack),
    ("POST", "/audit/read/{desk}/discard", discard),
    ("GET", "/audit/of/{job}", outcome),
    ("POST", "/audit/of/{job}/person", person),
)
