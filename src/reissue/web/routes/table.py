"""Table: a file that was never published, a proposal with its reasons, roles and taxonomies to correct, the schema."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import InputError, TaxonomyError
from reissue.language import text
from reissue.proposing.column_form import ColumnChoice, schema_of
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import DATE_STEPS
from reissue.taxonomy.paths import arx_lines, moved
from reissue.web.jobs import PieceOfWork, State
from reissue.web.numbers import at, places_of
from reissue.web.pages import show
from reissue.web.routes.forms import DELIMITERS, Sent, read_form
from reissue.web.uploads import Desk
from reissue.web.workspace import Workspace, workspace_of

__all__ = ["ROUTES"]

_ROLES: Mapping[Role, str] = {
    Role.QUASI: "others may know it: generalize it",
    Role.SENSITIVE: "nobody should learn it",
    Role.IDENTIFIER: "says who it is: never published",
    Role.PROVIDER: "says who gave it: never published",
    Role.KEEP: "publish it as it is",
    Role.DROP: "leave it out",
}
_SAID = ("role", "kind", "ranges", "prefix", "dates", "groups", "file")
"""What a holder says about a column."""
_KINDS: Mapping[str, str] = {
    "auto": "as its values suggest",
    "flat": "shown or hidden",
    "ranges": "ranges of numbers",
    "prefix": "first characters",
    "dates": "steps of dates",
    "tree": "groups of values",
    "file": "an ARX hierarchy file",
}


def _roles() -> dict[Role, str]:
    return {role: text(_ROLES[role]) for role in _ROLES}


def _kinds() -> dict[str, str]:
    return {kind: text(_KINDS[kind]) for kind in _KINDS}


async def begin(request: Request) -> Response:
    """A place to drop a table, or the waves of a series."""
    return show(request, "table.html", delimiters=DELIMITERS)


async def upload(request: Request) -> Response:
    """Take the tables and look at them."""
    workspace = workspace_of(request)
    with workspace.desks.begun() as desk:
        async with read_form(request) as sent:
            await sent.lay_down(desk, "wave")
            desk.refuse_without("wave")
            desk.notes["delimiter"] = sent.delimiter
            job = await _start(workspace, desk, "propose", "seen", title=text("Looking at the table"), after="")
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def _start(
    workspace: Workspace, desk: Desk, verb: str, note: str, *, title: str, after: str, **more: Any
) -> PieceOfWork:
    """A job about the waves; what comes of it is noted on the desk, which is cleared if nothing could be read."""

    def ended(job: PieceOfWork) -> None:
        if job.state == State.DONE:
            desk.notes[note] = job.outcome
            desk.files["wave"] = [Path(one) for one in job.outcome.get("paths", waves)]
        elif "seen" not in desk.notes:
            workspace.desks.clear(desk)

    back = f"/table/of/{desk.name}" if "seen" in desk.notes else ""
    waves = [str(path) for path in desk.files["wave"]]
    given = {"waves": waves, "delimiter": desk.notes["delimiter"], "schema": str(desk.folder / "schema.toml"), **more}
    after = f"/table/of/{desk.name}{after}"
    return await workspace.jobs.start(verb, given, title=title, after=after, back=back, ended=ended)


def _desk(request: Request, *needed: str) -> Desk:
    desk = workspace_of(request).desks.find(request.path_params["desk"])
    if any(name not in desk.notes for name in needed):
        raise InputError(text("This is not done yet: take the steps in their order."))
    return desk


async def columns(request: Request) -> Response:
    """The proposal, to be corrected."""
    desk = _desk(request, "seen")
    seen: Any = desk.notes["seen"]
    trees = {place: _tree(one) for place, one in enumerate(seen["columns"]) if one["kind"] == "tree"}
    return show(
        request, "columns.html", desk=desk, seen=seen, trees=trees, roles=_roles(), kinds=_kinds(), steps=DATE_STEPS
    )


async def repair(request: Request) -> Response:
    """Repair what is ticked, and look at the table again; what was said about the columns stays."""
    desk = _desk(request, "seen")
    desk.notes["before"] = desk.notes["seen"]
    async with read_form(request) as sent:
        names = sent.texts("repair")
    job = await _start(
        workspace_of(request), desk, "propose", "seen", title=text("Repairing a copy"), after="/repaired", repairs=names
    )
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def repaired(request: Request) -> Response:
    """The columns of the repaired table, as they were said before."""
    desk = _desk(request, "seen", "before")
    desk.notes["seen"] = _as_before(desk)
    return RedirectResponse(f"/table/of/{desk.name}", 303)


def _as_before(desk: Desk) -> dict[str, Any]:
    """What was looked at again, with what was said about the columns before."""
    before: Any = desk.notes["before"]
    seen: Any = desk.notes["seen"]
    said = {one["name"]: {key: one[key] for key in _SAID if key in one} for one in before["columns"]}
    return {**seen, "columns": [{**one, **said.get(one["name"], {})} for one in seen["columns"]]}


async def one_row(request: Request) -> Response:
    """Keep one row for each person, and look at the table again; what was said about the columns stays."""
    desk = _desk(request, "seen")
    seen: Any = desk.notes["seen"]
    column = next((one["name"] for one in seen["columns"] if one["role"] == Role.IDENTIFIER), None)
    if column is None:
        raise InputError(text("Say first which column says who it is."))
    async with read_form(request) as sent:
        which = "first" if sent.text("which") == "first" else "last"
    made = [one["name"] for one in seen["defects"] if one["made"]]
    asked = {"keep": {"column": column, "which": which}, "repairs": made}
    desk.notes["before"] = seen
    title = text("Keeping one row of each person")
    job = await _start(workspace_of(request), desk, "propose", "seen", title=title, after="/kept", **asked)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def kept(request: Request) -> Response:
    """The columns as they were said before, of the rows that were kept; the schema is read again."""
    desk = _desk(request, "seen", "before")
    before: Any = desk.notes["before"]
    desk.notes["seen"] = {**_as_before(desk), "several": False, "clean": before["clean"], "defects": before["defects"]}
    return await _settle(request, desk)


def _tree(column: Mapping[str, Any]) -> Any:
    """The groups as a tree; nothing as long as they are none."""
    with suppress(TaxonomyError):
        return _remembered(column).tree
    return None


async def correct(request: Request) -> Response:
    """Save the schema that the form means, and look whether it fits."""
    desk = _desk(request, "seen")
    async with read_form(request) as sent:
        await _keep(desk, sent)
    return await _settle(request, desk)


async def move(request: Request) -> Response:
    """Move the ticked values of a column into a group; everything else in the form is kept as it is."""
    desk = _desk(request, "seen")
    place = request.path_params["place"]
    async with read_form(request) as sent:
        await _keep(desk, sent)
        seen: Any = desk.notes["seen"]
        column = at(seen["columns"], place, text("There is no such column."))
        ticked = places_of(sent.texts(f"c{place}tick"), column["values"])
        values = [column["values"][one] for one in ticked]
        column["groups"] = moved(column["groups"], values, sent.text(f"c{place}into"))
        column["kind"] = "tree"
    return RedirectResponse(f"/table/of/{desk.name}#c{place}", 303)


async def give_places(request: Request) -> Response:
    """Give values that a taxonomy lacks a group, and look again whether the schema fits."""
    desk = _desk(request, "seen", "settled")
    settled: Any = desk.notes["settled"]
    seen: Any = desk.notes["seen"]
    async with read_form(request) as sent:
        for number, (name, values) in enumerate(settled["lacking"].items()):
            column = next(one for one in seen["columns"] if one["name"] == name)
            said = {value: sent.text(f"v{number}-{place}") for place, value in enumerate(values) if value is not None}
            known = _remembered(column)
            in_file = known.kind == "file" and known.file is not None
            groups = known.with_file(known.file).groups if in_file and known.file else known.groups
            column["groups"] = {**groups, **said}
            column["values"] = sorted(column["groups"])
            column["kind"] = "tree"
    return await _settle(request, desk)


async def _settle(request: Request, desk: Desk) -> Response:
    seen: Any = desk.notes["seen"]
    choices = [_remembered(one) for one in seen["columns"]]
    made = schema_of(choices, folder=desk.folder, several_rows=seen["several"])
    made = replace(made, clean=seen["clean"])
    (desk.folder / "schema.toml").write_text(made.dumps(), encoding="utf-8")
    job = await _start(
        workspace_of(request), desk, "settle", "settled", title=text("Reading by the schema"), after="/schema"
    )
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def _keep(desk: Desk, sent: Sent) -> None:
    """What the form says, kept on the desk, so that the page shows it when it is opened again."""
    seen: Any = desk.notes["seen"]
    columns = [{**one, **await _said(desk, sent, place, one)} for place, one in enumerate(seen["columns"])]
    desk.notes["seen"] = {**seen, "columns": columns, "several": bool(sent.text("several"))}


async def _said(desk: Desk, sent: Sent, place: int, column: Mapping[str, Any]) -> dict[str, Any]:
    """One column as the form has it; values are known by their places, for their texts may be anything."""
    own = f"c{place}"
    before = len(desk.files.get(f"{own}file", []))
    await sent.lay_down(desk, f"{own}file")
    files = desk.files.get(f"{own}file", [])
    said = {
        "role": str(Role(sent.text(f"{own}role") or Role.DROP)),
        "kind": sent.text(f"{own}kind") or "auto",
        "ranges": sent.text(f"{own}ranges"),
        "prefix": sent.text(f"{own}prefix"),
        "dates": [step for step in DATE_STEPS if step in sent.texts(f"{own}dates")],
        "groups": {value: sent.text(f"{own}group{number}") for number, value in enumerate(column["values"])},
        "file": str(files[-1]) if files else "",
        "confirm": False,
    }
    if said["kind"] == "file" and len(files) > before and column["values"]:
        read = _remembered({**column, **said}).with_file(files[-1])
        more = {value: "" for value in column["values"] if value not in read.groups}
        said |= {"kind": "tree", "groups": {**read.groups, **more}, "values": [*read.groups, *more]}
    return said


def _remembered(column: Mapping[str, Any]) -> ColumnChoice:
    """A column as it was said last."""
    return ColumnChoice(
        column["name"],
        Role(column["role"]),
        column["kind"],
        column["ranges"],
        column["prefix"],
        tuple(column["dates"]),
        column["groups"],
        Path(column["file"]) if column.get("file") else None,
    )


async def schema(request: Request) -> Response:
    """The schema as the file has it; what its taxonomies lack; where to go on."""
    desk = _desk(request, "settled")
    found = Schema.load(desk.folder / "schema.toml")
    trees = [name for name, one in found.hierarchies.items() if one.kind == "tree"]
    ready = found.identifier is not None and bool(found.sensitive) and not found.several_rows
    waves = [path.name for path in desk.files["wave"]]
    seen: Any = desk.notes["seen"]
    groups = {one["name"]: sorted({name for name in one["groups"].values() if name}) for one in seen["columns"]}
    settled: Any = desk.notes["settled"]
    unplanned = desk.notes.get("unplanned", "")
    known = {
        "settled": settled,
        "several": found.several_rows and found.identifier is not None,
        "unplanned": unplanned,
        "trees": trees,
        "ready": ready,
        "waves": waves,
        "groups": groups,
    }
    return show(request, "schema.html", desk=desk, **known)


async def schema_file(request: Request) -> Response:
    """The TOML that the command line uses."""
    content = (_desk(request, "settled").folder / "schema.toml").read_bytes()
    return Response(content, media_type="application/toml", headers=_attached("schema.toml"))


async def hierarchy_file(request: Request) -> Response:
    """The groups of a column as ARX writes them."""
    found = Schema.load(_desk(request, "settled").folder / "schema.toml")
    place = request.path_params["place"]
    trees = [one for one in found.hierarchies.values() if one.kind == "tree"]
    chosen = at(trees, place, text("There is no such file here."))
    return Response(arx_lines(chosen.tree), media_type="text/csv", headers=_attached("hierarchy.csv"))


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{Path(name).name}"'}


async def discard(request: Request) -> Response:
    """Remove the tables."""
    workspace = workspace_of(request)
    workspace.desks.clear(workspace.desks.find(request.path_params["desk"]))
    return RedirectResponse("/", 303)


ROUTES = (
    ("GET", "/table", begin),
    ("POST", "/table/upload", upload),
    ("GET", "/table/of/{desk}", columns),
    ("POST", "/table/of/{desk}/upload", correct),
    ("POST", "/table/of/{desk}/move/{place}/upload", move),
    ("POST", "/table/of/{desk}/places", give_places),
    ("POST", "/table/of/{desk}/repair", repair),
    ("GET", "/table/of/{desk}/repaired", repaired),
    ("POST", "/table/of/{desk}/one-row", one_row),
    ("GET", "/table/of/{desk}/kept", kept),
    ("GET", "/table/of/{desk}/schema", schema),
    ("GET", "/table/of/{desk}/schema.toml", schema_file),
    ("GET", "/table/of/{desk}/hierarchy/{place}", hierarchy_file),
    ("POST", "/table/of/{desk}/discard", discard),
)
