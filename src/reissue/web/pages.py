"""Pages: templates of our own beside the report's, which share style and pictures."""

import hashlib
import re
from base64 import b64encode
from functools import cache
from importlib.util import find_spec
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from reissue._version import __version__
from reissue.files.places import FORMATS
from reissue.language import text
from reissue.report.page import environment
from reissue.web.workspace import workspace_of

__all__ = ["LANGUAGE", "OTHER_TOOLS", "fragment", "prepare", "refused", "report", "show"]

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
OTHER_TOOLS = (
    ("ARX: one level for a whole column", "incognito"),
    ("anjana: one level for a whole column", "incognito"),
    ("Mondrian, of any tool", "mondrian"),
    ("top-down specialization, of any tool", "topdown"),
    ("anatomy: two tables, of any tool", "anatomy"),
)
"""How other tools call what they do, and our method that forms groups as they do."""
_STATUS = {
    400: "This cannot be done",
    403: "Not allowed",
    404: "There is no such page",
    405: "Not allowed",
    409: "One thing at a time",
    413: "Too large",
    421: "Another address",
    500: "Something went wrong",
}
LANGUAGE = "reissue-language"
"""The cookie of the language that was chosen."""
_NAMES = {"en": "English", "de": "Deutsch", "fr": "Français"}


@cache
def _environment() -> Environment:
    shared = environment()
    loader = ChoiceLoader([PackageLoader("reissue.web"), *filter(None, [shared.loader])])
    own = shared.overlay(loader=loader, auto_reload=False)
    own.globals = {**shared.globals, "formats": ",".join((*FORMATS, ".gz")), "excel": bool(find_spec("xlsxwriter"))}
    own.globals |= {"other_tools": OTHER_TOOLS, "languages": _NAMES}
    return own


def prepare() -> None:
    """Read all templates, the report's own too."""
    for one in (_environment(), environment()):
        for name in one.list_templates(extensions=["html"]):
            one.get_template(name)


def fragment(name: str, /, **context: Any) -> str:
    """A part of a page."""
    return _environment().get_template(name).render(version=__version__, **context)


def show(request: Request, name: str, /, **context: Any) -> HTMLResponse:
    """A whole page; what is under way is shown on every one."""
    running = workspace_of(request).jobs.running
    return HTMLResponse(fragment(name, running=running, path=request.url.path, **context))


def refused(status: int, message: str, back: str = "") -> Response:
    """A page that says no; `back` is the page of ours that the request came from, if one is known."""
    title = text(_STATUS[status if status in _STATUS else 500])
    page = fragment("refused.html", running=None, path="", title=title, message=message, back=back)
    return HTMLResponse(page, status)


def report(page: str) -> HTMLResponse:
    """A page of the report, whole as it is: its own style is let through by its hash, and nothing else."""
    hashes = [b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in _STYLE.findall(page)]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"
    policy = f"default-src 'none'; style-src {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})
