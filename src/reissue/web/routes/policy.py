"""The policy of a ledger: what it says, how it changed, and a change for the releases to come."""

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
        return {"versions": versions, "text": versions[-1]["text"]}


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
)
