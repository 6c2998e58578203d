"""The server: one socket on loopback, one address with a token that is good once, and the browser opened on it."""

import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import closing

import uvicorn

from reissue.errors import InputError
from reissue.files.staging import reason
from reissue.web.app import make_app
from reissue.web.door import Keys
from reissue.web.shelf import Shelf

__all__ = ["serve"]

LOOPBACK = "127.0.0.1"


def serve(shelf: Shelf, *, port: int = 0, browser: bool = True, say: Callable[[str], object] = print) -> None:
    """Serve until somebody stops it (Ctrl-C, SIGTERM); `say` gets the address that lets a browser in, once."""
    keys = Keys()
    with closing(_listening(port)) as listener:
        port = listener.getsockname()[1]
        address = f"http://{LOOPBACK}:{port}/?token={keys.token}"
        say(address)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        config = uvicorn.Config(
            make_app(port, keys, shelf),
            log_config=None,
            log_level="critical",  # a traceback could show data, and an address the token
            access_log=False,
            server_header=False,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listener])


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
