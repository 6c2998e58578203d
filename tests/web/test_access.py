"""Access: whoever is not let in, and what those who are may not do."""

import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

import reissue as ri
from reissue.synth import Population, schema
from reissue.web import server
from reissue.web.routes import home
from reissue.web.shelf import Shelf
from tests.web.client import BOUNDARY, Client, form, served

PAGES = ("/", "/audit", "/nowhere", "/static/page.css")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_another_name_is_misdirected(client: Client, host: str) -> None:
    answer = client.get("/", {"Host": host.format(port=client.port)})
    assert answer.status == 421
    assert "token" not in answer.text


def test_localhost_is_a_name_of_ours(client: Client) -> None:
    assert client.get("/", {"Host": f"LocalHost:{client.port}"}).status == 200


def test_the_token_is_good_once_and_gives_a_strict_cookie(place: Path) -> None:
    with served(place) as stranger:
        address = f"/?token={stranger.keys.token}"
        first = stranger.get(address)
        assert first.status == 200
        assert 'content="0;url=/"' in first.text
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert stranger.keys.token not in first.headers["set-cookie"]
        assert stranger.get(address).status == 403
        assert "set-cookie" not in stranger.get(address).headers
        stranger.headers["Cookie"] = first.headers["set-cookie"].partition(";")[0]
        assert stranger.get("/").status == 200
        assert stranger.get(address).status == 200


@pytest.mark.parametrize("token", ["", "wrong", "ü"])
def test_a_wrong_token_is_refused(client: Client, token: str) -> None:
    answer = Client(client.port, client.keys).get(f"/?token={token.encode().hex()}")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("cookie", ["", "reissue-{port}=wrong", "other={session}", "reissue-{port}=ü;;=", '"'])
def test_without_the_cookie_nothing_is_shown(client: Client, cookie: str) -> None:
    said = cookie.format(port=client.port, session=client.keys.session).encode("utf-8").decode("latin-1")
    for path in ("/", "/audit", "/jobs/00", "/audit/of/00"):
        assert Client(client.port, client.keys, {"Cookie": said}).get(path).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(client: Client, origin: str, method: str) -> None:
    assert client.send(method, "/audit", headers={"Origin": origin.format(port=client.port)}).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something"])
def test_a_foreign_site_is_refused(client: Client, site: str) -> None:
    assert client.get("/", {"Sec-Fetch-Site": site}).status == 403
    assert client.get("/", {"Sec-Fetch-Site": "same-origin"}).status == 200


def test_a_form_from_nowhere_is_refused(client: Client) -> None:
    assert client.send("POST", "/audit/upload", b"").status == 403
    assert client.send("DELETE", "/audit").status == 403


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_forbids_scripts_in_the_page_and_everything_from_elsewhere(client: Client, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r"https?:|\*|data:", policy)
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


@pytest.fixture(scope="module")
def narrow(place: Path) -> Iterator[Client]:
    """An access guard that lets 10 kB in."""
    with served(place, largest=10_000) as client:
        yield client.enter()


def test_too_large_is_said_before_anything_is_read(narrow: Client, place: Path) -> None:
    headers = {"Content-Length": "10001", "Origin": f"http://127.0.0.1:{narrow.port}"}
    assert narrow.send("POST", "/audit/upload", b"x", headers).status == 413


def test_too_large_in_pieces_ends_inside_and_leaves_nothing(narrow: Client, place: Path) -> None:
    body = form([], [("published", "a.csv", b"x" * 12_000)])
    pieces = (body[start : start + 1000] for start in range(0, len(body), 1000))
    headers = {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Transfer-Encoding": "chunked",
        "Origin": f"http://127.0.0.1:{narrow.port}",
    }
    before = set(place.glob("*/desk-*"))
    answer = narrow.send("POST", "/audit/upload", pieces, headers)
    assert answer.status == 413
    assert "too much" in answer.text
    assert set(place.glob("*/desk-*")) == before


def test_forms_without_files_are_small(client: Client) -> None:
    assert client.post("/jobs/00/cancel", [("x", "y" * 2**20)]).status == 413


@pytest.mark.parametrize(
    "path", ["/static/../access.py", "/static/%2e%2e%2faccess.py", "/static/style.css/", "/static/"]
)
def test_only_what_is_named_is_loaded(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 404
    assert "AccessGuard" not in answer.text


def test_another_method_is_refused(client: Client) -> None:
    assert client.post("/audit").status == 405


def test_a_broken_form_is_refused(client: Client) -> None:
    headers = {"Content-Type": "multipart/form-data", "Origin": f"http://127.0.0.1:{client.port}"}
    assert client.send("POST", "/audit/upload", b"no parts", headers).status == 400


def test_a_bug_is_told_without_its_words(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    value = secrets.token_hex(8)

    def broken(*_: object, **__: object) -> None:
        raise ValueError(value)

    monkeypatch.setattr(home, "show", broken)
    with served(place) as client:
        answer = client.enter().get("/")
    assert answer.status == 500
    assert "ValueError" in answer.text
    said = capfd.readouterr()
    assert value not in answer.text + said.out + said.err


def test_the_server_listens_on_loopback_only() -> None:
    with server._listening(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_only_an_address_with_a_token_may_come_from_elsewhere(place: Path) -> None:
    """A private file leads the browser here, which calls that another site."""
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    with served(place) as stranger:
        assert stranger.get("/?token=wrong", elsewhere).status == 403
        assert stranger.get(f"/audit?token={stranger.keys.token}", elsewhere).status == 403
        assert stranger.send("POST", f"/?token={stranger.keys.token}", headers=elsewhere).status == 403
        foreign = {**elsewhere, "Origin": "http://evil.example"}
        assert stranger.get(f"/?token={stranger.keys.token}", foreign).status == 403
        assert not stranger.keys.spent
        assert stranger.get(f"/?token={stranger.keys.token}", elsewhere).status == 200


def test_a_number_that_is_none_is_found_nowhere(place: Path, tmp_path: Path) -> None:
    ledger = str(tmp_path / "x.ledger")
    (month,) = Population(seed=1, people=150).months(1)
    (tmp_path / "schema.toml").write_text(
        f'{schema().dumps()}\n[policy]\nrequire = "k=5"\nmethod = "pool"\nattacks = ["joint"]\nlimit = 0.99\n'
    )
    ri.publish(month, ledger, tmp_path / "schema.toml", newcomers=True)
    with served(place, ledger) as client:
        client.enter()
        releases = f"/ledgers/{Shelf.short(ledger)}/releases"
        assert client.get(f"{releases}/1").status == 200
        for number in ("9" * 5000, "9" * 19, "x", "-1", "²"):
            for path in ("", "/report", "/table.csv"):
                assert client.get(f"{releases}/{quote(number)}{path}").status == 404
        assert client.get(f"{releases}/1/table.csv?table={'9' * 5000}").status == 404


def drip(port: int, parts: Iterator[bytes]) -> tuple[bytes, float]:
    """Send a request in drops; what comes back, and after how many seconds the connection is closed."""
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.settimeout(0.05)
        while time.monotonic() - started < 8:
            with suppress(TimeoutError):
                answer = line.recv(2**16)
                return answer, time.monotonic() - started
            with suppress(OSError):
                line.sendall(next(parts, b""))
    raise AssertionError("the connection stays open")


def endless(start: bytes) -> Iterator[bytes]:
    yield start
    while True:
        yield b"x"


def test_a_request_that_never_ends_is_dropped(place: Path) -> None:
    with served(place, head=0.5, patience=0.5) as client:
        client.enter()
        head = f"Host: 127.0.0.1:{client.port}\r\n"
        for start in (b"", b"GET / HTTP/1.1\r\nHost: ", f"GET / HTTP/1.1\r\n{head}X: ".encode()):
            answer, seconds = drip(client.port, endless(start) if start else iter(()))
            assert not answer
            assert 0.4 < seconds < 5
        whole = f"GET /static/page.css HTTP/1.1\r\n{head}\r\n".encode()
        with socket.create_connection(("127.0.0.1", client.port), timeout=10) as line:
            line.sendall(whole)
            assert line.recv(2**16).startswith(b"HTTP/1.1 200")
            line.sendall(b"GET / HT")  # a second one on the same connection
            started = time.monotonic()
            while line.recv(2**16):
                pass
            assert time.monotonic() - started < 5
        own = f"{head}Origin: http://127.0.0.1:{client.port}\r\nCookie: {client.headers['Cookie']}\r\n"
        form = f"POST /audit/upload HTTP/1.1\r\n{own}Content-Length: 1000\r\nContent-Type: multipart/form-data; "
        part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
        answer, seconds = drip(client.port, endless(f"{form}boundary=x\r\n\r\n{part}".encode()))
        assert answer.startswith(b"HTTP/1.1 408")
        assert 0.4 < seconds < 5
        assert client.get("/").status == 200
