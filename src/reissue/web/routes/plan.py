"""Plan: risk against usefulness, points as they are computed; choose one, and go on to the first release."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import InputError
from reissue.web.jobs import PieceOfWork, State
from reissue.web.pages import show
from reissue.web.room import room_of
from reissue.web.routes.forms import Sent, read_form
from reissue.web.routes.publish import rehearse
from reissue.web.uploads import Desk

__all__ = ["ROUTES"]

_LONGEST = 120
"""Minutes that a plan may take."""


async def start(request: Request) -> Response:
    """Try every sensible setting on the waves."""
    room = room_of(request)
    desk = room.desks.find(request.path_params["desk"])
    async with read_form(request) as sent:
        given = _given(desk, sent)

    def ended(job: PieceOfWork) -> None:
        desk.notes["plan"] = job
        if job.state != State.DONE:
            room.desks.clear(desk)

    after = f"/plan/{desk.name}"
    job = await room.jobs.start("plan_series", given, title="Planning", after=after, ended=ended)
    return RedirectResponse(f"/jobs/{job.name}", 303)


def _given(desk: Desk, sent: Sent) -> dict[str, Any]:
    return {
        "waves": [str(path) for path in desk.files["wave"]],
        "schema": str(desk.folder / "schema.toml"),
        "delimiter": desk.notes["delimiter"],
        "newcomers": bool(sent.text("newcomers")),
        "budget": 60 * _number(sent, "minutes", 0.1, _LONGEST),
        "limits": {
            "limit": _number(sent, "limit", 0.01, 1),
            "counterfeits": _number(sent, "counterfeits", 0, 100) / 100,
            "suppress": _number(sent, "suppress", 0, 99) / 100,
            "knowledge": "groups" if sent.text("groups") else "form",
        },
    }


def _number(sent: Sent, name: str, low: float, high: float) -> float:
    try:
        value = float(sent.text(name))
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise InputError(f"Of the numbers one must be between {low:g} and {high:g}. Go back and correct it.")
    return value


def _planned(request: Request) -> tuple[Desk, PieceOfWork]:
    desk = room_of(request).desks.find(request.path_params["desk"])
    job = desk.notes.get("plan")
    if not isinstance(job, PieceOfWork):
        raise InputError("This is not done yet.")
    return desk, job


async def planned(request: Request) -> Response:
    """What each setting would cost and give away; one of them is chosen."""
    desk, job = _planned(request)
    waves = [path.name for path in desk.files["wave"]]
    return show(request, "planned.html", desk=desk, job=job, found=job.outcome, waves=waves)


async def policy_file(request: Request) -> Response:
    """The schema with the policy of a setting."""
    _, job = _planned(request)
    text = _policy(job, request.query_params.get("setting", ""))
    headers = {"Content-Disposition": 'attachment; filename="schema.toml"'}
    return Response(text, media_type="application/toml", headers=headers)


def _policy(job: PieceOfWork, setting: str) -> str:
    if setting not in job.outcome["policies"]:
        raise InputError("Choose a setting that withstood all waves.")
    return str(job.outcome["policies"][setting])


async def choose(request: Request) -> Response:
    """Begin a ledger with a setting: its first release is tried with one of the waves."""
    room = room_of(request)
    desk, job = _planned(request)
    async with read_form(request) as sent:
        place = room.shelf.new(sent.text("name"))
        text = _policy(job, sent.text("setting"))
        wave = next((path for path in desk.files["wave"] if path.name == sent.text("wave")), desk.files["wave"][0])
    schema = desk.folder / "policy.toml"
    schema.write_text(text, encoding="utf-8")
    given: dict[str, Any] = {"ledger": place, "table": str(wave), "schema": str(schema)}
    more = {"recipients": [], "dated": "", "newcomers": False, "delimiter": desk.notes["delimiter"]}
    desk.notes["given"] = {**given, **more}
    tried = await rehearse(room, desk)
    return RedirectResponse(f"/jobs/{tried.name}", 303)


ROUTES = (
    ("POST", "/table/of/{desk}/plan", start),
    ("GET", "/plan/{desk}", planned),
    ("GET", "/plan/{desk}/schema.toml", policy_file),
    ("POST", "/plan/{desk}/choose", choose),
)
