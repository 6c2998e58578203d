"""The page in the language of whoever looks: what the browser asks for, else what was chosen, kept in a cookie."""

import re
from pathlib import Path

import pytest

from tests.web.client import Client

TITLES = {"en": "What would you like to do?", "de": "Was möchten Sie tun?", "fr": "Que voulez-vous faire ?"}


@pytest.mark.parametrize(("asked", "language"), [("de-CH,de;q=0.9", "de"), ("fr", "fr"), ("it", "en"), ("", "en")])
def test_the_page_speaks_what_the_browser_asks_for(client: Client, asked: str, language: str) -> None:
    page = client.get("/", {"Accept-Language": asked}).text
    assert f'<html lang="{language}">' in page
    assert TITLES[language] in page


def test_a_language_is_chosen_by_a_button_and_remembered(client: Client) -> None:
    answer = client.post("/language", [("page", "/audit"), ("language", "fr")])
    assert (answer.status, answer.place) == (303, "/audit")
    cookie = answer.headers["set-cookie"]
    assert re.search("max-age=\\d{7}", cookie, re.IGNORECASE)
    both = {"Cookie": f"{client.headers['Cookie']}; {cookie.partition(';')[0]}", "Accept-Language": "de"}
    assert "Que révèlent ces fichiers ?" in client.get("/audit", both).text


@pytest.mark.parametrize("page", ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere", ""])
def test_choosing_a_language_leads_nowhere_else(client: Client, page: str) -> None:
    assert client.post("/language", [("page", page), ("language", "xx")]).place == "/"


def test_work_and_refusals_are_in_that_language(client: Client, files: Path) -> None:
    german = Client(client.port, client.keys, {**client.headers, "Accept-Language": "de"})
    started = german.post("/audit/upload", [("delimiter", "whatever is found")], [("published", files / "jan.csv")])
    assert "Die Dateien werden gelesen" in german.get(started.place).text or german.get(started.place).status == 303
    seen = german.finish(started).text
    assert "andere können es wissen" in seen
    assert not re.search(r"\b(what it is|others may know it|Run some attacks)\b", seen)
    assert "gibt es nichts" in german.get("/nowhere").text
