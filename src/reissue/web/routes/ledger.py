"""Series: the releases of a ledger on a time line, each with its report and files; whether the ledger is whole."""

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reissue.errors import InputError
from reissue.files.places import second_path
from reissue.files.staging import scratch_folder
from reissue.language import text
from reissue.ledger import Ledger
from reissue.ledger.recorded import holders, releases_of, versions_of
from reissue.outcome.series import figures_of_record, loss_of, mark_of, policy_words, risk_of
from reissue.policy import Policy
from reissue.report.charts import loss_chart, risk_chart
from reissue.report.page import release_html
from reissue.web.numbers import at, release_number
from reissue.web.pages import report, show
from reissue.web.routes.forms import read_form
from reissue.web.work.auditing import shown
from reissue.web.workspace import workspace_of

__all__ = ["ROUTES"]

_FORMATS = {
    ".csv": "text/csv",
    ".csv.gz": "application/gzip",
    ".parquet": "application/octet-stream",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def _place(request: Request) -> str:
    return workspace_of(request).shelf.place(request.path_params["ledger"])


async def series(request: Request) -> Response:
    """All releases, and where the risk stands."""
    workspace_of(request).shelf.remember(_place(request))
    return show(request, "ledger.html", **await run_in_threadpool(_series, _place(request)), **_named(request))


def _named(request: Request) -> dict[str, Any]:
    return {"ledger": request.path_params["ledger"], "name": Path(_place(request)).name}


def _series(place: str) -> dict[str, Any]:
    with Ledger.open(place) as book:
        entries = book.entries()
        releases, schema = releases_of(entries), book.schema_of(entries)
        changes = sorted({since for since, _ in versions_of(entries)[1:]})
        risk, loss = risk_of(releases, changes), loss_of(releases)
        return {
            "releases": releases,
            "marks": {one.number: mark_of(one) for one in releases},
            "chart": None if risk is None else risk_chart(risk),
            "lost": None if loss is None else loss_chart(loss),
            "holders": holders(releases),
            "policy": policy_words(Policy.of(schema)),
            "provider": schema.provider,
            "head": entries[-1].hash,
            "unknown": book.unknown,
        }


async def release(request: Request) -> Response:
    """One release: how it was made, what attacks found, its files."""
    found = await run_in_threadpool(_release, _place(request), release_number(request))
    return show(request, "release.html", **found, **_named(request))


def _release(place: str, number: int) -> dict[str, Any]:
    with Ledger.open(place) as book:
        one = book.release(number)
        return {"one": one, "found": shown(one.findings), "facts": figures_of_record(one)}


async def release_report(request: Request) -> Response:
    """The report as it was recorded."""
    return report(await run_in_threadpool(_report, _place(request), release_number(request)))


def _report(place: str, number: int) -> str:
    with Ledger.open(place) as book:
        book.release(number)
        return release_html(book.releases, number)


async def export(request: Request) -> Response:
    """A table of a release, byte for byte as it was."""
    number, ending = release_number(request), request.path_params["ending"]
    kind = _FORMATS.get(f".{ending}")
    if kind is None:
        raise InputError(text("A release is written as one of {endings}.", endings=", ".join(_FORMATS)))
    part = request.query_params.get("table", "0")
    files = await run_in_threadpool(_exported, _place(request), number, f"release-{number}.{ending}")
    name, content = at(files, part, text("The release has no such table."))
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _exported(place: str, number: int, name: str) -> list[tuple[str, bytes]]:
    with Ledger.open(place) as book:
        kept = book.contents(number, name)
        if kept:
            names = [name, *(second_path(name, table) for table in book.release(number).tables[1:])]
            return list(zip(names, kept, strict=True))
        with scratch_folder() as folder:
            return [(Path(one).name, Path(one).read_bytes()) for one in book.export(number, folder / name)]


async def withdraw(request: Request) -> Response:
    """Record that a release was never sent."""
    place, number = _place(request), release_number(request)
    async with read_form(request) as sent:
        if not sent.text("sure"):
            raise InputError(
                text("Tick that nobody outside has it: a release that somebody has must never be withdrawn.")
            )
        await run_in_threadpool(_withdraw, place, number, sent.text("why"))
    return RedirectResponse(f"/ledgers/{request.path_params['ledger']}/releases/{number}", 303)


def _withdraw(place: str, number: int, why: str) -> None:
    with Ledger.open(place) as book:
        book.withdraw(number, why)


async def verify(request: Request) -> Response:
    """Look whether anything was changed: it reads everything, so it is a job."""
    after = f"/ledgers/{request.path_params['ledger']}/verified/{{job}}"
    async with read_form(request) as sent:
        given = {"ledger": _place(request), "head": sent.text("head")}
    job = await workspace_of(request).jobs.start("verify", given, title=text("Verifying the ledger"), after=after)
    return RedirectResponse(f"/jobs/{job.name}", 303)


async def verified(request: Request) -> Response:
    """What came of it."""
    job = workspace_of(request).jobs.done(request.path_params["job"])
    return show(request, "verified.html", found=job.outcome, **_named(request))


ROUTES = (
    ("GET", "/ledgers/{ledger}", series),
    ("GET", "/ledgers/{ledger}/releases/{number}", release),
    ("GET", "/ledgers/{ledger}/releases/{number}/report", release_report),
    ("GET", "/ledgers/{ledger}/releases/{number}/table.{ending}", export),
    ("POST", "/ledgers/{ledger}/releases/{number}/withdraw", withdraw),
    ("POST", "/ledgers/{ledger}/verify", verify),
    ("GET", "/ledgers/{ledger}/verified/{job}", verified),
)
