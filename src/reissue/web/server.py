"""The server: one socket on loopback, one address with a token that is good once, and the browser opened on it.

The browser gets the address from a file that only its owner can read: what a program is started with, every user of the
machine can see.
"""

import asyncio
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from reissue.errors import InputError
from reissue.files.staging import reason
from reissue.web.access import Keys
from reissue.web.app import make_app
from reissue.web.shelf import Shelf

__all__ = ["config_of", "open_browser", "serve"]

LOOPBACK = "127.0.0.1"
_HEAD = 10.0
"""Seconds that the head of a request may take; one from this machine takes milliseconds."""
_PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0;url={address}">
<title>Reissue</title>
<p><a href="{address}">Open Reissue</a></p>
"""


def serve(shelf: Shelf, *, port: int = 0, browser: bool = True, say: Callable[[str], object] = print) -> None:
    """Serve until somebody stops it (Ctrl-C, SIGTERM); `say` gets the address that lets a browser in, once."""
    keys = Keys()
    with closing(_listening(port)) as listener:
        port = listener.getsockname()[1]
        address = f"http://{LOOPBACK}:{port}/?token={keys.token}"
        say(address)
        ready = partial(open_browser, address, keys) if browser else None
        uvicorn.Server(config_of(make_app(port, keys, shelf, ready=ready))).run(sockets=[listener])


def open_browser(address: str, keys: Keys, folder: Path) -> None:
    """Open the browser on a private file that leads to the address; it goes away once somebody is in, or at the end."""
    page = folder / "open.html"
    with os.fdopen(os.open(page, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(_PAGE.format(address=address))
    keys.entered = partial(page.unlink, missing_ok=True)
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()


def config_of(app: ASGIApp, *, head: float = _HEAD) -> uvicorn.Config:
    """Return how an application is served; a request whose head takes longer than so many seconds is dropped."""
    return uvicorn.Config(
        app,
        http=partial(_Impatient, head=head),  # type: ignore[arg-type]
        log_config=None,
        log_level="critical",  # a traceback could show data, and an address the token
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=1,
    )


class _Impatient(H11Protocol):
    """Drops a connection whose request does not arrive: uvicorn would wait for ever."""

    def __init__(self, *given: Any, head: float, **options: Any) -> None:
        super().__init__(*given, **options)
        self._head = head
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting for as long as the head is not whole; each byte of it gives no new time."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._head, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _listening(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((LOOPBACK, port))
        made.listen(64)
    except OSError as problem:
        made.close()
        raise InputError(f"Port {port} cannot be used: {reason(problem)}. Leave --port out, or try another.") from None
    return made
