"""Plan: risk against usefulness, points as they are computed, another limit; choose one, and go on to its release."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import InputError
from reissue.language import text
from reissue.outcome.plan import view_of
from reissue.publishing.plan import Outcome, Plan, policy_toml, with_policy
from reissue.report.charts import frontier_chart
from reissue.web.jobs import PieceOfWork, State
from reissue.web.numbers import number_of
from reissue.web.pages import show
from reissue.web.routes.forms import Sent, read_form
from reissue.web.routes.publish import day_of_table, recipients_of, rehearse
from reissue.web.uploads import Desk
from reissue.web.workspace import workspace_of

__all__ = ["ROUTES", "plan_of"]

_LONGEST = 120
"""Minutes that a plan may take."""


async def start(request: Request) -> Response:
    """Try every sensible setting on the waves."""
    workspace = workspace_of(request)
    desk = workspace.desks.find(request.path_params["desk"])
    async with read_form(request) as sent:
        given = _given(desk, sent)

    def ended(job: PieceOfWork) -> None:
        desk.notes["unplanned"] = job.outcome.get("problem", "")
        if job.state != State.DONE:
            workspace.desks.clear(desk)
        elif desk.notes["unplanned"]:
            job.after = f"/table/of/{desk.name}/schema"
        else:
            desk.notes |= {"plan": job, "tried": {}}

    after = f"/plan/{desk.name}"
    job = await workspace.jobs.start("plan_series", given, title=text("Planning"), after=after, ended=ended)
    return RedirectResponse(f"/jobs/{job.name}", 303)


def _given(desk: Desk, sent: Sent) -> dict[str, Any]:
    return {
        "waves": [str(path) for path in desk.files["wave"]],
        "schema": str(desk.folder / "schema.toml"),
        "delimiter": desk.notes["delimiter"],
        "newcomers": bool(sent.text("newcomers")),
        "budget": 60 * number_of(sent.text("minutes"), 0.1, _LONGEST),
        "limits": {
            "limit": number_of(sent.text("limit"), 0.01, 1),
            "counterfeits": number_of(sent.text("counterfeits"), 0, 100) / 100,
            "suppress": number_of(sent.text("suppress"), 0, 99) / 100,
            "knowledge": "groups" if sent.text("groups") else "form",
        },
    }


def plan_of(request: Request) -> tuple[Desk, PieceOfWork, Plan]:
    """The desk of an address with its plan, and the settings that were tried beside it."""
    desk = workspace_of(request).desks.find(request.path_params["desk"])
    job = desk.notes.get("plan")
    if not isinstance(job, PieceOfWork):
        raise InputError(text("This is not done yet."))
    tried: Any = desk.notes["tried"]
    more = [Outcome.of(one.outcome["outcome"]) for one in tried.values() if one.state == State.DONE]
    return desk, job, Plan.of(job.outcome["plan"]).with_more(more)


async def planned(request: Request) -> Response:
    """What each setting would cost and give away, by any limit; one of them is chosen."""
    desk, job, made = plan_of(request)
    asked = request.query_params.get("limit")
    shown = made if asked is None else made.at(number_of(asked, 0.01, 0.99))
    view = view_of(shown)
    return show(
        request,
        "planned.html",
        desk=desk,
        job=job,
        plan=view,
        best=next((one for one in view.settings if one.recommended), None),
        moved=shown.limits.limit != made.limits.limit,
        sentences=job.outcome["sentences"],
        chart=None if view.frontier is None else frontier_chart(view.frontier),
        tried=desk.notes["tried"],
        waves=[path.name for path in desk.files["wave"]],
    )


async def policy_file(request: Request) -> Response:
    """The schema with the policy of a setting."""
    desk, _, made = plan_of(request)
    said = _policy(desk, made, request.query_params)
    headers = {"Content-Disposition": 'attachment; filename="schema.toml"'}
    return Response(said, media_type="application/toml", headers=headers)


def _policy(desk: Desk, made: Plan, asked: Mapping[str, str]) -> str:
    """The schema file with the policy of the setting that was chosen, by the limit that was."""
    made = made.at(number_of(asked.get("limit") or str(made.limits.limit), 0.01, 0.99))
    fine = {one.setting.name: one for one in made.outcomes if one.verdict == "withstood"}
    chosen = fine.get(asked.get("setting", ""))
    if chosen is None:
        raise InputError(text("Choose a setting that withstood all waves."))
    policy = policy_toml(replace(made, recommended=chosen)) or ""
    schema = (desk.folder / "schema.toml").read_text(encoding="utf-8")
    return with_policy(schema, policy, force=True, updates=bool(made.updates))


async def choose(request: Request) -> Response:
    """Begin a ledger with a setting: its first release is tried with one of the waves."""
    workspace = workspace_of(request)
    desk, _, made = plan_of(request)
    async with read_form(request) as sent:
        place = workspace.shelf.new(sent.text("name"))
        policy = _policy(desk, made, {"limit": sent.text("limit"), "setting": sent.text("setting")})
        wave = next((path for path in desk.files["wave"] if path.name == sent.text("wave")), desk.files["wave"][0])
        more: dict[str, Any] = {"recipients": recipients_of(sent), "dated": day_of_table(sent)}
        more |= dict.fromkeys(("newcomers", "unchanged", "lookalikes"), False)
    schema = desk.folder / "policy.toml"
    schema.write_text(policy, encoding="utf-8")
    given: dict[str, Any] = {"ledger": place, "table": str(wave), "schema": str(schema)}
    desk.notes["given"] = {**given, **more, "delimiter": desk.notes["delimiter"]}
    tried = await rehearse(workspace, desk)
    return RedirectResponse(f"/jobs/{tried.name}", 303)


ROUTES = (
    ("POST", "/table/of/{desk}/plan", start),
    ("GET", "/plan/{desk}", planned),
    ("GET", "/plan/{desk}/schema.toml", policy_file),
    ("POST", "/plan/{desk}/choose", choose),
)
