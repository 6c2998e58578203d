"""The door: whoever is not let in, and what those who are may not do."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from reissue.web import server
from reissue.web.routes import home
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
        assert (first.status, first.place) == (303, "/")
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert stranger.keys.token not in first.headers["set-cookie"]
        assert stranger.get(address).status == 403
        assert "set-cookie" not in stranger.get(address).headers
        stranger.headers["Cookie"] = first.headers["set-cookie"].partition(";")[0]
        assert stranger.get("/").status == 200
        assert stranger.get(address).status == 303


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
    """A door that lets 10 kB in."""
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


@pytest.mark.parametrize("path", ["/static/../door.py", "/static/%2e%2e%2fdoor.py", "/static/style.css/", "/static/"])
def test_only_what_is_named_is_loaded(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 404
    assert "Door" not in answer.text


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
