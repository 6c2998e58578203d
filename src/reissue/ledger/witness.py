"""The witness: somebody outside who is told the number and hash of each new entry, and nothing else.

A head on the holder's own machines can be rolled back by whoever rules them. A witness elsewhere (a colleague's
mailbox, an append-only log, a time-stamping service) keeps the hashes; `reissue ledger verify --head HASH` compares.
It is off unless REISSUE_WITNESS names it: a command, which gets number and hash as its last two arguments, or a URL,
which gets them as JSON by POST. A hash tells nothing about anybody: it covers the seal, which only the key can make.
"""

import json
import os
import shlex
import subprocess
from http.client import HTTPException
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

__all__ = ["ENVIRONMENT", "tell_witness"]

ENVIRONMENT = "REISSUE_WITNESS"
_PATIENCE = 10.0
"""Seconds until a witness that does not answer is given up: nobody's publication waits longer."""


def tell_witness(number: int, last: str) -> list[str]:
    """Tell the witness, if there is one; why it was not told, if it was not."""
    place = os.environ.get(ENVIRONMENT, "").strip()
    if not place:
        return []
    try:
        failed = _post(place, number, last) if place.startswith(("https://", "http://")) else _run(place, number, last)
    except (OSError, ValueError, HTTPException, subprocess.SubprocessError) as problem:
        failed = type(problem).__name__  # its message may quote the URL, and a password in it
    if not failed:
        return []
    return [f"All was recorded, but the witness in {ENVIRONMENT} was not told ({failed}). Entry {number} is {last}"]


def _run(command: str, number: int, last: str) -> str:
    """Run a command, which sees none of our settings: the key may be among them."""
    seen = {name: value for name, value in os.environ.items() if not name.startswith("REISSUE_")}
    done = subprocess.run(  # noqa: S603
        [*shlex.split(command), str(number), last],
        env=seen,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_PATIENCE,
        check=False,
    )
    return f"it ended with exit code {done.returncode}" if done.returncode else ""


class _Stay(HTTPRedirectHandler):
    """Follows nobody elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        """No request."""
        return


def _post(url: str, number: int, last: str) -> str:
    content = json.dumps({"number": number, "hash": last}).encode()
    request = Request(url, content, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    with build_opener(_Stay).open(request, timeout=_PATIENCE) as answer:
        return "" if 200 <= answer.status < 300 else f"it answered {answer.status}"
