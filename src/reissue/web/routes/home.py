"""Home, and what every page loads."""

import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import ReissueError
from reissue.language import preferred, text
from reissue.ledger import Ledger
from reissue.ledger.store import is_url
from reissue.web.jobs import PieceOfWork, State
from reissue.web.pages import LANGUAGE, refused, show
from reissue.web.routes.forms import read_form
from reissue.web.workspace import workspace_of
from reissue.words import plural

__all__ = ["ROUTES", "said"]

_DEMO = "reissue-demo"
_YEAR = 365 * 24 * 60 * 60
"""Seconds that a language is remembered."""
_OWN_PAGE = re.compile(r"/(?!/)[\w/.-]*")
"""Where a form may lead back to: a path of ours, never another host."""
_OPENED = 6
"""Ledgers of which the first page says how far they are."""
_WEB = files("reissue.web") / "static"
_STATIC: dict[str, tuple[Traversable, str]] = {
    "style.css": (files("reissue.report") / "templates" / "style.css", "text/css"),
    "page.css": (_WEB / "page.css", "text/css"),
    "htmx.min.js": (_WEB / "htmx.min.js", "text/javascript"),
    "htmx-ext-sse.min.js": (_WEB / "htmx-ext-sse.min.js", "text/javascript"),
    "page.js": (_WEB / "page.js", "text/javascript"),
    "icon.svg": (_WEB / "icon.svg", "image/svg+xml"),
}
"""Everything that can be loaded: what is not named here is not found, whatever the address says."""


async def home(request: Request) -> Response:
    """Where to go."""
    places = workspace_of(request).shelf.places()
    words = await run_in_threadpool(said, list(places.values()))
    return show(request, "home.html", ledgers=[(short, *one) for short, one in zip(places, words, strict=True)])


def said(places: Sequence[str]) -> list[tuple[str, str, str]]:
    """What each ledger is called, where it is, and how far it is; the address of a database may hold a password."""
    return [
        ("PostgreSQL", "", "")
        if is_url(place)
        else (Path(place).name, str(Path(place).parent), _how_far(place, number))
        for number, place in enumerate(places)
    ]


def _how_far(place: str, number: int) -> str:
    """How many releases a ledger has; of the first few, for each must be opened. What cannot be read says so itself."""
    if number >= _OPENED:
        return ""
    with suppress(ReissueError), Ledger.open(place) as book:
        releases = book.releases
        said = plural(len(releases), "release")
        return text("{releases}, last {day}", releases=said, day=releases[-1].record.time[:10]) if releases else said
    return ""


async def take(request: Request) -> Response:
    """Put a ledger in another folder on the shelf, and open it."""
    shelf = workspace_of(request).shelf
    async with read_form(request) as sent:
        short = shelf.take(sent.text("folder"))
    return RedirectResponse(f"/ledgers/{short}", 303)


async def play(request: Request) -> Response:
    """Play the demo into a folder where the page was opened; then its ledger is shown."""
    workspace = workspace_of(request)
    out = workspace.shelf.folder / _DEMO
    ledger = workspace.shelf.short(str(out / "ledger"))

    def ended(job: PieceOfWork) -> None:
        if job.state == State.DONE:
            workspace.shelf.remember(str(out / "ledger"))

    given = {"out": str(out)}
    job = await workspace.jobs.start(
        "play", given, title=text("Playing the demo"), after=f"/ledgers/{ledger}", ended=ended
    )
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def speak(request: Request) -> Response:
    """Remember the language that was chosen, and go back to the page."""
    async with read_form(request) as sent:
        page, chosen = sent.text("page"), preferred(sent.text("language"))
    answer = RedirectResponse(page if _OWN_PAGE.fullmatch(page) else "/", 303)
    answer.set_cookie(LANGUAGE, chosen, max_age=_YEAR, httponly=True, samesite="strict", path="/")
    return answer


async def static(request: Request) -> Response:
    """Style, scripts and the icon."""
    found = _STATIC.get(request.path_params["name"])
    if found is None:
        return refused(404, text("Nothing is found under this address."))
    return Response(found[0].read_bytes(), media_type=found[1], headers={"Cache-Control": "no-cache"})


ROUTES = (
    ("GET", "/", home),
    ("POST", "/ledgers", take),
    ("POST", "/demo", play),
    ("POST", "/language", speak),
    ("GET", "/static/{name}", static),
)
