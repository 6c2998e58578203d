"""Providers on the page: who contributed what, what a coalition would see, what each may be told."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

import reissue as ri
from reissue.ledger import Ledger
from reissue.papers.coalition.views import view_of_release
from reissue.publishing.publish import attack_by_providers, tried_release
from tests.web.client import Client, served
from tests.web.test_publish import short, tried

POLICY = '\n[policy]\nrequire = "k=5"\nmethod = "pool"\nattacks = ["joint"]\nsensitive_values = ["none of these"]\n'


@pytest.fixture(scope="module")
def house(place: Path, tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    folder = tmp_path_factory.mktemp("hospitals")
    schema = ri.Schema.loads((files / "schema.toml").read_text() + POLICY)
    ri.publish(files / "jan-original.csv", folder / "h.ledger", schema)
    return folder


@pytest.fixture(scope="module")
def steward(house: Path) -> Iterator[Client]:
    with served(house) as client:
        yield client.enter()


def test_a_ledger_says_who_contributed_and_what_each_may_be_told(steward: Client, house: Path) -> None:
    path = short(steward)
    assert "/providers" in steward.get(path).text
    page = steward.get(f"{path}/providers").text
    with Ledger.open(house / "h.ledger") as book:
        release = book.release(1)
    for who, count in release.record.contributed.items():
        assert re.search(rf'<th scope="row">{who}</th><td class="n">{count}</td>', page)
    told = steward.get(f"{path}/providers/1.txt")
    assert told.text.splitlines()[1:] == list(release.told)
    assert "attachment" in told.headers["content-disposition"]
    assert steward.get(f"{path}/providers/9.txt").status == 400
    assert steward.get(f"{path}/providers/x.txt").status == 404


def test_a_coalition_sees_on_the_page_what_the_library_says(
    steward: Client, house: Path, files: Path, place: Path
) -> None:
    path = short(steward)
    table = ("table", files / "feb-original.csv")
    page = steward.finish(steward.post(f"{path}/providers/upload", [("member", "Hospital 1")], [table]))
    with Ledger.open(house / "h.ledger") as book:
        release, number = tried_release(table[1], book)
        own = view_of_release(release, number=number)
        assert len(book.releases) == 1
    alone = next(one for one in own.coalitions if one.members == ("Hospital 1",))
    assert alone.sentence in unescape(page.text)
    for step in alone.steps:
        assert step in unescape(page.text)
    assert not list(place.glob("*/desk-*/table"))


def test_a_candidate_shows_every_coalition_and_looks_at_others_when_asked(
    steward: Client, house: Path, files: Path
) -> None:
    page = tried(steward, short(steward), files / "feb-original.csv")
    assert "could expose people of others" in page.text
    assert "does not ask for the attack <code>coalition</code>" in page.text
    found = re.search(r'href="(/publish/\w+/providers)"', page.text)
    assert found
    seen = steward.get(f"{found[1]}?member=0&member=1").text
    assert "Every coalition that was looked at" in seen
    assert '<h2 id="seen">Hospital 1, Hospital 2</h2>' in seen
    asked = steward.finish(steward.post(found[1], [("member", "0"), ("member", "1")]))
    assert '<h2 id="seen">Hospital 1, Hospital 2</h2>' in asked.text
    assert steward.get(f"{found[1]}?member=77").status == 200
    assert steward.post(found[1].replace("/providers", "/discard")).status == 303


def test_a_coalition_is_judged_over_the_series_when_its_tables_are_brought_again(
    steward: Client, house: Path, files: Path, place: Path
) -> None:
    path = short(steward)
    tables = [("tables", files / name) for name in ("feb-original.csv", "jan-original.csv")]
    page = steward.finish(steward.post(f"{path}/providers/over/upload", [("member", "Hospital 1")], tables))
    with Ledger.open(house / "h.ledger") as book:
        own = attack_by_providers(book, [one for _, one in tables], ["Hospital 1"])
        assert len(book.releases) == 1
    assert own.releases == (1, 2)
    assert "Releases 1, 2" in page.text
    (alone,) = own.coalitions
    row = page.text.partition('<th scope="row">Hospital 1</th>')[2].partition("</tr>")[0]
    shown = [re.sub(r"\D", "", one) for one in re.findall(r'data-label="[^"]*">(.*?)</td>', row)]
    figures = [alone.own, alone.population, alone.people, alone.certain, alone.right]
    assert shown[:5] == [str(one) for one in figures]
    assert not list(place.glob("*/desk-*/tables"))


def test_tables_that_are_not_those_of_the_releases_are_refused(steward: Client, files: Path, place: Path) -> None:
    path = short(steward)
    tables = [("tables", files / "feb-original.csv")]
    page = steward.finish(steward.post(f"{path}/providers/over/upload", [], tables))
    assert "None of the tables is the one of release 1." in unescape(page.text)
    assert f'href="{path}/providers">Begin again' in page.text
    assert steward.post(f"{path}/providers/over/upload", [("member", "Hospital 1")]).status == 400
    assert not list(place.glob("*/desk-*"))


def test_each_hospital_may_bring_its_own_file(steward: Client, house: Path, files: Path, tmp_path: Path) -> None:
    import polars as pl

    for (who,), rows in pl.read_csv(files / "feb-original.csv").partition_by("hospital", as_dict=True).items():
        rows.drop("hospital").write_csv(tmp_path / f"{who}.csv")
    parts = [("table", path) for path in sorted(tmp_path.glob("*.csv"))]
    page = steward.finish(steward.post(f"{short(steward)}/publish/upload", [("undated", "yes")], parts))
    assert "Publish release 2" in page.text
    assert len(re.findall(r"<dt>Hospital \d</dt><dd>\d+ records</dd>", page.text)) == len(parts)
