"""A server of our own on loopback, and a client that sends exactly the headers it is told to."""

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn

from reissue.web.access import Keys
from reissue.web.app import make_app
from reissue.web.server import config_of
from reissue.web.shelf import Shelf

BOUNDARY = "part-of-a-form"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def place(self) -> str:
        return self.headers["location"]


@dataclass
class Client:
    """Somebody who asks; with a cookie somebody who was let in."""

    port: int
    keys: Keys
    headers: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """One request with our own headers; one of None is left out."""
        sent = {"Host": f"127.0.0.1:{self.port}", **self.headers, **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        chunked = body is not None and not isinstance(body, bytes | str)
        try:
            connection.request(method, path, body, sent, encode_chunked=chunked)
            found = connection.getresponse()
            return Answer(found.status, {key.lower(): value for key, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(
        self,
        path: str,
        fields: Sequence[tuple[str, str]] = (),
        files: Iterable[tuple[str, Path]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A form as our own page sends it."""
        own = {"Origin": f"http://127.0.0.1:{self.port}", **(headers or {})}
        parts = [(name, path) for name, path in files]
        if not parts:
            kind = "application/x-www-form-urlencoded"
            return self.send("POST", path, urlencode(fields), {"Content-Type": kind, **own})
        body = form(fields, [(name, one.name, one.read_bytes()) for name, one in parts])
        return self.send("POST", path, body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", **own})

    def enter(self) -> "Client":
        """Exchange the token for the cookie."""
        answer = self.get(f"/?token={self.keys.token}")
        found = re.match(r"([^=]+=[^;]+);", answer.headers["set-cookie"])
        assert found
        self.headers["Cookie"] = found[1]
        return self

    def finish(self, answer: Answer, seconds: float = 60) -> Answer:
        """Wait for the job that a form has started; what its page leads to then."""
        assert answer.status == 303, answer.text
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            page = self.get(answer.place)
            if page.status == 303:
                return self.get(page.place)
            if "/cancel" not in page.text:
                return page
            time.sleep(0.1)
        raise AssertionError("the job does not end")


def form(fields: Sequence[tuple[str, str]], files: Iterable[tuple[str, str, bytes]]) -> bytes:
    """A form with files, as browsers write it."""
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    body = b"".join(f'{head}"{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields)
    for name, called, content in files:
        body += f'{head}"{name}"; filename="{called}"\r\nContent-Type: text/csv\r\n\r\n'.encode() + content + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


@contextmanager
def served(folder: Path, *given: str, **options: Any) -> Iterator[Client]:
    """The application on a free port, for as long as it is needed; new ledgers go into the folder."""
    shelf = Shelf(folder, given, folder / "memory" / "ledgers.json")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        keys = Keys()
        head = options.pop("head", 10)
        server = uvicorn.Server(config_of(make_app(port, keys, shelf, **options), head=head))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Client(port, keys)
        finally:
            server.should_exit = True
            thread.join()
