"""Numbers of one's own on the page of a plan: another limit, another k and l, the table before and after."""

import re
from html import unescape
from pathlib import Path

import pytest

from reissue.publishing.plan import Setting, try_setting
from reissue.utility import compare
from tests.web.client import Answer, Client
from tests.web.test_table import WAVES, looked

LIMITS = [("limit", "0.99"), ("suppress", "2"), ("counterfeits", "10"), ("minutes", "0.1")]


@pytest.fixture(scope="module")
def planned(client: Client, files: Path) -> str:
    """The address of a plan on two small waves, made in a few seconds."""
    path, fields = looked(client, files)
    client.finish(client.post(f"{path}/upload", list(fields.items())))
    page = client.finish(client.post(f"{path}/plan", LIMITS), seconds=120)
    assert "Choose one" in page.text, page.text
    return path.replace("/table/of", "/plan")


def chosen(page: Answer) -> list[str]:
    return [unescape(one) for one in re.findall(r'type="radio" name="setting" value="([^"]+)"', page.text)]


def test_a_lower_limit_leaves_what_stays_below_it(client: Client, planned: str) -> None:
    whole, none = client.get(planned), client.get(f"{planned}?limit=0.02")
    assert chosen(whole)
    assert not chosen(none)
    assert "No setting is safe" in none.text
    assert "Nothing was tried or repaired again" in none.text
    name = chosen(whole)[0].replace(" ", "%20").replace("&", "%26")
    assert "limit = 0.99" in client.get(f"{planned}/schema.toml?setting={name}").text
    assert client.get(f"{planned}/schema.toml?limit=0.02&setting={name}").status == 400
    for wrong in ("2", "no", "0"):
        assert client.get(f"{planned}?limit={wrong}").status == 400


def test_numbers_of_ones_own_are_tried_and_looked_at(client: Client, planned: str, files: Path) -> None:
    asked = [("method", "pool"), ("k", "9"), ("l", "2")]
    page = client.finish(client.post(f"{planned}/slide", asked))
    schema = client.get(f"{planned.replace('/plan', '/table/of')}/schema.toml")
    (files / "asked.toml").write_text(schema.text)
    waves = [files / f"{name}-original.csv" for name in WAVES]
    setting = Setting.parse("pool k=9 & simple-l=2")  # of the settings by pool the one that costs least has it
    own = try_setting(waves, files / "asked.toml", setting)
    assert own.release is not None
    assert f"{unescape(own.outcome.setting.name)}, before and after" in unescape(page.text)
    published = next(iter(own.release.tables.values()))
    found = compare(waves[0], published, files / "asked.toml", queries=0, crosses=[("age", "disease")])
    assert found.crosses[0].sentence in unescape(page.text)
    assert "As they would be published" in page.text
    assert "within the true interval" in page.text
    assert "pool k=9 &amp; simple-l=2 (yours)" in client.get(planned).text
    address = re.search(r'action="(/plan/\w+/beside/\w+)"', page.text)
    assert address
    again = client.finish(client.post(address[1], [("down", "sex"), ("across", "age"), ("model", "nothing")]))
    assert "sex by age" in again.text
    assert "It cannot be computed" in again.text


def test_a_page_that_slides_stays_and_is_told(client: Client, planned: str) -> None:
    sliding = {"HX-Request": "true"}
    first = client.post(f"{planned}/slide", [("method", "pool"), ("k", "11"), ("l", "2")], headers=sliding)
    assert "<progress" in first.text
    second = client.post(f"{planned}/slide", [("method", "pool"), ("k", "12"), ("l", "2")], headers=sliding)
    address = re.search(r'hx-get="(/plan/\w+/trying/\w+)"', second.text)
    assert address
    job = address[1].rpartition("/")[2]
    client.get(f"/jobs/{job}/events")  # until it is over
    told = client.get(address[1])
    assert told.headers["hx-trigger"] == "plan-changed"
    assert "k=12" in told.text
    assert "k=11 &amp; l=2" not in client.get(planned).text, "the first try was given up"
    assert client.post(f"{planned}/slide", [("method", "none"), ("k", "5"), ("l", "2")]).status == 400
    assert client.post(f"{planned}/look", [("setting", "none")]).status == 400
