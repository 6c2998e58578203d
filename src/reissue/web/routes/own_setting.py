"""A setting of one's own: slide k and l, see where it stands, and look at the table before and after."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reissue.errors import InputError
from reissue.language import text
from reissue.outcome.plan import setting_of
from reissue.publishing.plan import Outcome, Plan, Setting
from reissue.web.jobs import BusyError, PieceOfWork, State
from reissue.web.numbers import number_of
from reissue.web.pages import fragment, show
from reissue.web.routes.forms import read_form
from reissue.web.routes.plan import plan_of
from reissue.web.uploads import Desk
from reissue.web.workspace import Workspace, workspace_of

__all__ = ["ROUTES"]

_LARGEST = 1_000_000


async def slide(request: Request) -> Response:
    """Try a method with other numbers."""
    desk, _, made = plan_of(request)
    async with read_form(request) as sent:
        base = _base(made, sent.text("method"))
        k, values = (int(number_of(sent.text(name), 1, _LARGEST)) for name in ("k", "l"))
    return await _try(request, desk, made, base.with_numbers(k, values))


def _base(made: Plan, method: str) -> Setting:
    """A setting of the method to begin from, one whose values are true if there is one: those have k and l."""
    alike = [one.setting for one in made.outcomes if one.setting.method == method]
    if not alike:
        raise InputError(text("Choose one of the methods that the plan has tried."))
    return min(alike, key=lambda one: one.randomized)


async def look(request: Request) -> Response:
    """Look at a setting of the plan, before and after."""
    desk, _, made = plan_of(request)
    async with read_form(request) as sent:
        name = sent.text("setting")
    found = next((one.setting for one in made.outcomes if one.setting.name == name), None)
    if found is None:
        raise InputError(text("There is no such setting in the plan."))
    return await _try(request, desk, made, found)


async def _try(request: Request, desk: Desk, made: Plan, setting: Setting) -> Response:
    """Start it, in place of what was being tried before; where the browser slides, the page stays."""
    workspace, tried = workspace_of(request), desk.notes["tried"]
    if not isinstance(tried, dict):
        raise InputError(text("This is not done yet."))
    job = tried.get(setting.name)
    if job is None or job.state not in {State.RUNNING, State.DONE}:
        await _make_way(workspace, desk)
        try:
            job = await _start(workspace, desk, made, setting)
        except BusyError as busy:
            if "hx-request" not in request.headers:
                raise
            return HTMLResponse(f'<p class="hint">{busy}</p>')
        tried[setting.name] = job
    if "hx-request" in request.headers:
        return _followed(desk, job)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def _make_way(workspace: Workspace, desk: Desk) -> None:
    """Whoever slides on does not wait for what lies behind."""
    running = workspace.jobs.running
    tried: Any = desk.notes["tried"]
    if running is not None and running in tried.values():
        await workspace.jobs.cancel(running)


async def _start(workspace: Workspace, desk: Desk, made: Plan, setting: Setting) -> PieceOfWork:
    plan: Any = desk.notes["plan"]
    given = {
        "waves": [str(path) for path in desk.files["wave"]],
        "schema": str(desk.folder / "schema.toml"),
        "delimiter": desk.notes["delimiter"],
        "newcomers": plan.given["newcomers"],
        "limits": asdict(made.limits),
        "setting": {**asdict(setting), "options": dict(setting.options), "drawing": dict(setting.drawing)},
    }
    after = f"/plan/{desk.name}/beside/{{job}}"
    return await workspace.jobs.start(
        "try_own", given, title=text("Trying {setting}", setting=setting.name), after=after
    )


async def following(request: Request) -> Response:
    """How far it is, for a page that stays."""
    desk, _, _ = plan_of(request)
    return _followed(desk, workspace_of(request).jobs.find(request.path_params["job"]))


def _followed(desk: Desk, job: PieceOfWork) -> Response:
    outcome = setting_of(Outcome.of(job.outcome["outcome"])) if job.state == State.DONE else None
    headers = {} if job.state == State.RUNNING else {"HX-Trigger": "plan-changed"}
    return HTMLResponse(fragment("trying.html", desk=desk, job=job, outcome=outcome), headers=headers)


async def beside(request: Request) -> Response:
    """The table before and after."""
    desk, _, _ = plan_of(request)
    jobs = workspace_of(request).jobs
    job = jobs.done(request.path_params["job"])
    first = jobs.done(job.given["tried"]) if "tried" in job.given else job
    found = first.outcome["beside"] if job is first else job.outcome
    outcome = setting_of(Outcome.of(first.outcome["outcome"]))
    shown = {"name": first.outcome["name"], "rows": first.outcome["rows"], "found": found, "outcome": outcome}
    return show(request, "beside.html", desk=desk, first=first, **shown)


async def ask(request: Request) -> Response:
    """Cross two other columns, or compute another model."""
    desk, _, _ = plan_of(request)
    workspace = workspace_of(request)
    first = workspace.jobs.done(request.path_params["job"])
    async with read_form(request) as sent:
        asked = {"cross": [sent.text("down"), sent.text("across")], "model": sent.text("model")}
    given = {**first.given, **asked, "folder": str(first.folder), "tried": first.name}
    after = f"/plan/{desk.name}/beside/{{job}}"
    job = await workspace.jobs.start("compare_tables", given, title=text("Comparing before and after"), after=after)
    return RedirectResponse(f"/jobs/{job.name}", 303)


ROUTES = (
    ("POST", "/plan/{desk}/slide", slide),
    ("POST", "/plan/{desk}/look", look),
    ("GET", "/plan/{desk}/trying/{job}", following),
    ("GET", "/plan/{desk}/beside/{job}", beside),
    ("POST", "/plan/{desk}/beside/{job}", ask),
)
