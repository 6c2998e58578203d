"""`reissue open`: the page for stewards, on this machine only."""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption
from reissue.errors import InputError

_EXTRA = ("starlette", "uvicorn", "python_multipart")


@app.command("open")
def open_page(
    ledger: Annotated[
        str | None,
        typer.Argument(metavar="LEDGER", help="The ledger to open: a folder, or postgresql://user@host/name."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on loopback; 0 takes any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", metavar="", help="Whether the browser is opened.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Open the page in the browser: audit files, publish releases. Served on this machine only, until you stop it."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise InputError("The page needs the extra `web`: pip install 'reissue[web]'.")
    from reissue.ledger import Ledger
    from reissue.web.server import serve
    from reissue.web.shelf import Shelf

    shelf = Shelf(Path.cwd(), () if ledger is None else (ledger,))
    if ledger is not None:
        Ledger.open(ledger).close()
        shelf.remember(ledger)

    def say(address: str) -> None:
        if as_json:
            _render.show_json({"address": address})
        else:
            _render.say("Open this address, which is good once. Stop with Ctrl-C.")
            typer.echo(address)  # in one line, however narrow the terminal is

    with suppress(KeyboardInterrupt):  # that is how it is stopped
        serve(shelf, port=port, browser=browser, say=say)
