"""The policy of a ledger: what it says, how it changed, and a change for the releases to come."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.ledger import Ledger
from reissue.ledger.recorded import versions_of
from reissue.outcome.series import policy_words
from reissue.policy import Policy
from reissue.schema import Schema
from reissue.web.numbers import number_of
from reissue.web.pages import show
from reissue.web.routes.forms import read_form
from reissue.web.workspace import workspace_of

__all__ = ["ROUTES"]


def _place(request: Request) -> str:
    return workspace_of(request).shelf.place(request.path_params["ledger"])


async def policy(request: Request) -> Response:
    """The schema and policy as text, to be changed."""
    place = _place(request)
    named = {"ledger": request.path_params["ledger"], "name": Path(place).name}
    return show(request, "policy.html", **await run_in_threadpool(_policy, place), **named)


def _policy(place: str) -> dict[str, Any]:
    with Ledger.open(place) as book:
        entries = book.entries()
        schemas = [(since, book.schema_of(entries[:place_in])) for since, place_in in versions_of(entries)]
        versions: list[dict[str, Any]] = []
        for since, schema in schemas:
            said, text = policy_words(Policy.of(schema)), schema.dumps()
            before: dict[str, Any] = versions[-1] if versions else {"words": said, "text": text}
            changed = [what for what in said if said[what] != before["words"][what]]
            versions.append({"since": since, "words": said, "changed": changed, "text": text, "was": before["text"]})
        return {"versions": versions, "text": versions[-1]["text"], "now": Policy.of(schemas[-1][1])}


async def numbers(request: Request) -> Response:
    """Record other numbers of the policy; the rest stays as it is."""
    place = _place(request)
    async with read_form(request) as sent:
        said: dict[str, Any] = {"require": sent.text("require")}
        said["limit"] = number_of(sent.text("limit"), 0.01, 1)
        said |= {name: number_of(sent.text(name), 0, 99) / 100 for name in ("suppress", "counterfeits")}
        said |= {"max_loss": number_of(sent.text("max_loss"), 0, 100) / 100} if sent.text("max_loss") else {}
        await run_in_threadpool(_renumber, place, said)
    return RedirectResponse(f"/ledgers/{request.path_params['ledger']}/policy", 303)


def _renumber(place: str, said: Mapping[str, Any]) -> None:
    with Ledger.open(place) as book:
        before = book.schema.policy
        limit = before.get("limit")
        if isinstance(limit, Mapping):
            said = {**said, "limit": {**limit, "default": said["limit"]}}
        kept = {name: value for name, value in before.items() if name != "max_loss"}
        book.amend(replace(book.schema, policy={**kept, **said}))


async def amend(request: Request) -> Response:
    """Record a changed policy or taxonomy."""
    place = _place(request)
    async with read_form(request) as sent:
        await run_in_threadpool(_amend, place, sent.text("text"))
    return RedirectResponse(f"/ledgers/{request.path_params['ledger']}/policy", 303)


def _amend(place: str, text: str) -> None:
    with Ledger.open(place) as book:
        book.amend(Schema.loads(text.replace("\r\n", "\n"), folder=book.schema.folder))


ROUTES = (
    ("GET", "/ledgers/{ledger}/policy", policy),
    ("POST", "/ledgers/{ledger}/policy", amend),
    ("POST", "/ledgers/{ledger}/policy/numbers", numbers),
)
