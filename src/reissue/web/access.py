"""Access: who may come in, how much they may bring, and what a browser may do with what it gets.

The server listens on loopback only, and so can every other program and every page that the same browser shows. So the
name under which we were called is checked (a name that somebody else's DNS points here is not ours), where a
request comes from, and a cookie that only the address in the terminal gives, once. Whatever fails inside ends here,
without a word of what was in the data.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reissue.errors import NO_MEMORY, InternalError, ReissueError
from reissue.language import speaking, text
from reissue.web.jobs import BusyError
from reissue.web.numbers import NotFoundError, whole_number
from reissue.web.pages import LANGUAGE, refused
from reissue.words import number

__all__ = ["LARGEST", "PATIENCE", "SMALL", "AccessGuard", "Keys", "TooLargeError"]

LARGEST = 2**30
"""Bytes that one request may bring where files are uploaded."""
SMALL = 2**20
"""The same of every other form."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer. With `no-referrer` Chromium would call our own forms' origin `null`."""
PATIENCE = 120.0
"""Seconds that all of a request may take to arrive; a gigabyte from this machine takes a few."""
_OPEN = "/static/"
"""Style and scripts: the same for everyone, and needed by pages that refuse."""
_CODES: Mapping[type[ReissueError], int] = {NotFoundError: 404, BusyError: 409}
_ENTERED = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0;url=/">
<title>Reissue</title>
<p><a href="/">Open Reissue</a></p>
</html>
"""


class TooLargeError(Exception):
    """A request brings more than it may."""


class TooSlowError(Exception):
    """A request does not arrive."""


@dataclass(eq=False)
class Keys:
    """The token of the address in the terminal, good once, and the cookie that it is exchanged for."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    spent: bool = False
    entered: Callable[[], object] = lambda: None
    """Called once, when the token is used up."""

    def exchange(self, token: str) -> bool:
        """Whether a token is the one, and was not used before; it is used up by that."""
        if self.spent or not _same(token, self.token):
            return False
        self.spent = True
        self.entered()
        return True


@dataclass(frozen=True, eq=False)
class AccessGuard:
    """Stands before the whole application."""

    app: ASGIApp
    port: int
    keys: Keys
    largest: int = LARGEST
    small: int = SMALL
    uploads: tuple[str, ...] = ()
    """Ends of paths to which files may be uploaded."""
    patience: float = PATIENCE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            with speaking(_language(scope)):
                answer = self._refusal(scope) or self._entry(scope)
                app = self._guarded if answer is None else answer
                await app(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    @property
    def cookie(self) -> str:
        """Its name: a browser has one jar for all ports."""
        return f"reissue-{self.port}"

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request is turned away, whoever sends it."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts():
            return refused(421, text("This server answers under its own address only."))
        own = f"http://{hosts[0].lower()}"
        origins, site = headers.getlist("origin"), headers.get("sec-fetch-site")
        foreign = site not in {None, "same-origin", "none"} and not _tokens(scope)
        if any(origin.lower() != own for origin in origins) or foreign:
            return refused(403, text("This request comes from another page, and only our own pages may ask."))
        if scope["method"] not in {"GET", "HEAD"} and not origins and site != "same-origin":
            return refused(403, text("This request does not say which page it comes from."))
        length = headers.get("content-length", "0")
        brought = whole_number(length)
        if brought is None or brought > self._most(scope):
            return refused(413, self._too_large(scope))
        return None

    def _hosts(self) -> set[str]:
        return {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}

    def _entry(self, scope: Scope) -> Response | None:
        """The cookie for the token; a refusal without either."""
        if scope["path"].startswith(_OPEN):
            return None
        inside = _same(_cookie(Headers(scope=scope), self.cookie), self.keys.session)
        tokens = _tokens(scope)
        if tokens:
            if not inside and not self.keys.exchange(tokens[0]):
                return refused(403, text("This address was used before, or is not whole. Start `reissue open` again."))
            # A browser that came from another page, such as our private file, sends the cookie from our own page on.
            answer = HTMLResponse(_ENTERED)
            answer.set_cookie(self.cookie, self.keys.session, httponly=True, samesite="strict", path="/")
            return answer
        return (
            None if inside else refused(403, text("Come in by the address that `reissue open` shows in the terminal."))
        )

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application; count what comes in, and end every error here."""
        started, ended, taken, most = False, False, 0, self._most(scope)
        until = asyncio.get_running_loop().time() + self.patience

        async def counted() -> Message:
            nonlocal taken, ended
            try:
                async with asyncio.timeout_at(None if ended else until):
                    message = await receive()
            except TimeoutError:
                raise TooSlowError from None
            ended = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > most:
                raise TooLargeError
            return message

        async def told(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, counted, told)
        except Exception as problem:  # noqa: BLE001  (a traceback could show data)
            if not started:
                if isinstance(problem, TooLargeError) and not ended:
                    await _read_away(receive, 4 * most)
                await self._answer(problem, scope)(scope, receive, send)

    def _answer(self, problem: Exception, scope: Scope) -> Response:
        """What is said about an error: our own messages hold no values, others may."""
        back = self._back(scope)
        if isinstance(problem, TooLargeError):
            return refused(413, self._too_large(scope), back)
        if isinstance(problem, TooSlowError):
            return refused(408, text("This request did not arrive in time. Send it again."), back)
        if isinstance(problem, MemoryError):
            return refused(400, NO_MEMORY, back)
        if isinstance(problem, ReissueError) and not isinstance(problem, InternalError):
            return refused(_CODES.get(type(problem), 400), str(problem), back)
        return refused(
            500, text("A bug in Reissue ({what}). Nothing was recorded by this page.", what=type(problem).__name__)
        )

    def _back(self, scope: Scope) -> str:
        """The path of our own page that a form was sent from; nothing for what was only looked at."""
        came = urlsplit(Headers(scope=scope).get("referer", ""))
        own = came.scheme == "http" and came.netloc.lower() in self._hosts() and came.path.startswith("/")
        return f"/{came.path.lstrip('/')}" if own and scope["method"] == "POST" else ""

    def _most(self, scope: Scope) -> int:
        return self.largest if scope["path"].endswith(self.uploads) and self.uploads else self.small

    def _too_large(self, scope: Scope) -> str:
        most = number(self._most(scope) // 2**20)
        return text("That is too much at once: at most {most} MB may come in one form.", most=most)


def _tokens(scope: Scope) -> list[str]:
    """The token of an address that lets somebody in."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return []
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [])


async def _read_away(receive: Receive, most: int) -> None:
    """Let a browser finish what it sends, within reason: before that it shows no answer."""
    taken = 0
    while taken < most:
        message = await receive()
        taken += len(message.get("body", b""))
        if not message.get("more_body"):
            return


def _language(scope: Scope) -> str:
    """The language that was chosen on a page, else the one that the browser asks for."""
    headers = Headers(scope=scope)
    return _cookie(headers, LANGUAGE) or headers.get("accept-language", "")


def _same(given: str, right: str) -> bool:
    return secrets.compare_digest(given.encode(), right.encode())


def _cookie(headers: Headers, name: str) -> str:
    found = SimpleCookie()
    try:
        found.load("; ".join(headers.getlist("cookie")))
    except CookieError:
        return ""
    return found[name].value if name in found else ""


def _with_headers(send: Send) -> Send:
    """Every answer carries our headers, unless it has its own."""

    async def more(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return more
