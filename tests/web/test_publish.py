"""Publishing from the page: the same entry as by the command line, refusals, and what is done with a ledger."""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reissue.cli._app import run
from reissue.ledger import Ledger
from tests.web.client import Answer, Client, served

POLICY = '\n[policy]\nrequire = "k=5"\nmethod = "pool"\nattacks = ["joint"]\nsensitive_values = ["none of these"]\n'
STRICT = POLICY.replace('sensitive_values = ["none of these"]', "limit = 0.75")


@pytest.fixture(scope="module")
def house(place: Path, tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """A folder with a ledger in which January is."""
    folder = tmp_path_factory.mktemp("house")
    (folder / "schema.toml").write_text((files / "schema.toml").read_text() + POLICY)
    (folder / "strict.toml").write_text((files / "schema.toml").read_text() + STRICT)
    first = ["publish", str(files / "jan-original.csv"), "--schema", str(folder / "schema.toml")]
    assert run([*first, "--ledger", str(folder / "h.ledger"), "--out", str(folder / "jan.csv"), "--json"]) == 0
    return folder


@pytest.fixture(scope="module")
def steward(house: Path) -> Iterator[Client]:
    with served(house) as client:
        yield client.enter()


def short(client: Client, name: str = "h.ledger") -> str:
    page = client.get("/").text
    found = re.search(rf'href="(/ledgers/\w+)"><strong>{re.escape(name)}</strong>', page)
    assert found, page
    return found[1]


def tried(
    client: Client, path: str, table: Path, fields: Sequence[tuple[str, str]] = (), *more: tuple[str, Path]
) -> Answer:
    given = fields if any(name == "dated" for name, _ in fields) else [*fields, ("undated", "yes")]
    return client.finish(client.post(f"{path}/publish/upload", given, [("table", table), *more]))


def test_the_page_asks_for_the_day(steward: Client, files: Path) -> None:
    page = steward.post(f"{short(steward)}/publish/upload", [], [("table", files / "feb-original.csv")])
    assert (page.status, "Say which day the table shows" in page.text) == (400, True)


def test_the_first_rows_are_seen_before_anything_is_done(steward: Client, files: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.xlsx").write_text("no workbook")
    chosen = [("table", files / "feb-original.csv"), ("table", tmp_path / "broken.xlsx")]
    seen = steward.post("/preview/table/upload", [("delimiter", "a comma")], chosen)
    header, first = (files / "feb-original.csv").read_text().splitlines()[:2]
    assert (seen.status, "<html" in seen.text) == (200, False)
    assert [*header.split(","), *first.split(",")] == re.findall(
        r"<t[hd](?: scope=\"col\")?>([^<]*)</t[hd]>", seen.text
    )[: 2 * len(header.split(","))]
    assert "broken.xlsx" in seen.text.split("</table>")[1]
    assert 'hx-post="/preview/table/upload"' in steward.get(f"{short(steward)}/publish").text


def action(page: Answer, what: str) -> str:
    found = re.search(rf'action="(/publish/\w+/{re.escape(what)})"', page.text)
    assert found, page.text
    return found[1]


def test_the_page_and_the_command_line_record_the_same(steward: Client, house: Path, files: Path, place: Path) -> None:
    for path in list(house.glob("h.ledger*")):
        copy = house / path.name.replace("h.", "twin.")
        shutil.copytree(path, copy) if path.is_dir() else shutil.copy2(path, copy)
    fields = [("dated", "2026-02-28"), ("recipients", "ministry, institute")]
    page = tried(steward, short(steward), files / "feb-original.csv", fields)
    assert "Publish release 2" in page.text
    assert "How it would look" in page.text
    counts = re.findall(r"<dt>(Hospital \d)</dt><dd>(\d+) records</dd>", page.text)
    assert sum(int(count) for _, count in counts) == len((files / "feb-original.csv").read_text().splitlines()) - 1
    assert "What would they see?" in page.text
    with Ledger.open(house / "h.ledger") as book:
        assert len(book.releases) == 1
    done = steward.finish(steward.post(action(page, "publish")))
    assert "Recorded" in done.text
    more = ["--date", "2026-02-28", "--recipient", "institute", "--recipient", "ministry", "--json"]
    twin = ["publish", str(files / "feb-original.csv"), "--ledger", str(house / "twin.ledger"), *more]
    assert run([*twin, "--out", str(house / "feb.csv")]) == 0
    entries = []
    for name in ("h.ledger", "twin.ledger"):
        with Ledger.open(house / name) as book:
            said = dict(book.releases[-1].entry.content)
            assert not book.verify()
        assert ("publish with one only" in " ".join(said["warnings"])) == (name == "twin.ledger"), "it is a copy"
        entries.append({**said, "time": "", "seal": "", "warnings": []})  # a seal is over the time too
    assert entries[0] == entries[1]
    assert not list(place.glob(f"*/desk-{action(page, 'publish').split('/')[2]}"))
    own = steward.get(f"{short(steward)}/releases/2/table.csv")
    assert own.content == (house / "feb.csv").read_bytes()
    assert 'filename="release-2.csv"' in own.headers["content-disposition"]
    assert steward.get(f"{short(steward)}/releases/2/table.xlsx").content.startswith(b"PK")


def test_a_refusal_says_what_would_help_and_records_nothing(steward: Client, house: Path, files: Path) -> None:
    fields, schema = [("name", "strict.ledger")], ("schema", house / "strict.toml")
    first = tried(steward, "", files / "jan-original.csv", fields, schema)
    steward.finish(steward.post(action(first, "publish")))
    page = tried(steward, short(steward, "strict.ledger"), files / "feb-original.csv")
    assert "Refused" in page.text
    assert "What would help" in page.text
    assert steward.post(action(page, "again").replace("/again", "/publish")).status == 400
    with Ledger.open(house / "strict.ledger") as book:
        assert len(book.releases) == 1
        changed = book.schema.dumps().replace("limit = 0.75", "limit = 0.9")
    path = short(steward, "strict.ledger")
    assert steward.post(f"{path}/policy", [("text", changed)]).status == 303
    assert "since release 2" in steward.get(f"{path}/policy").text
    assert "Ask for k=10 instead of k=5: tried, and nobody is exposed" in page.text
    offer = re.search(r"Ask for k=10 instead of k=5: [^<]*<button[^>]*formaction=\"([^\"]*)\"", page.text)
    assert offer
    better = steward.finish(steward.post(offer[1]))
    with Ledger.open(house / "strict.ledger") as book:
        assert book.policy.require.group_size == 10
    assert steward.post(f"{offer[1][:-1]}9").status == 404
    assert "Publish release 2" in better.text
    assert steward.post(action(better, "discard")).status == 303
    assert steward.post(f"{path}/policy", [("text", "nonsense")]).status == 400


def test_a_ledger_is_looked_at_verified_and_a_release_withdrawn(steward: Client, house: Path) -> None:
    path = short(steward)
    page = steward.get(path).text
    assert "Release 1" in page
    assert "every release must meet" in page
    assert "Read its report" in steward.get(f"{path}/releases/1").text
    assert "All attacks" in steward.get(f"{path}/releases/1/report").text
    assert steward.get(f"{path}/releases/99").status == 400
    assert steward.get(f"{path}/releases/x").status == 404
    assert steward.get(f"{path}/releases/1/table.exe").status == 400
    assert "Nothing was changed" in steward.finish(steward.post(f"{path}/verify")).text
    last = len(re.findall(r"/releases/\d+", page))
    withdrawn = f"{path}/releases/{last}/withdraw"
    assert steward.post(withdrawn, [("why", "never sent")]).status == 400
    assert steward.post(withdrawn, [("why", "never sent"), ("sure", "yes")]).status == 303
    with Ledger.open(house / "h.ledger") as book:
        assert book.release(last).withdrawn == "never sent"
    assert steward.get(f"{path}/releases/{last}/table.csv").status == 400


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "a\\b", ".."])
def test_a_ledgers_name_is_no_path(steward: Client, house: Path, files: Path, name: str) -> None:
    given = [("schema", house / "schema.toml"), ("table", files / "jan-original.csv")]
    assert steward.post("/publish/upload", [("name", name), ("undated", "yes")], given).status == 400


def test_a_database_is_named_without_its_password(place: Path, tmp_path: Path) -> None:
    with served(tmp_path, "postgresql://me:secret@localhost/books") as client:
        page = client.enter().get("/").text
    assert "PostgreSQL" in page
    assert "secret" not in page
    assert not (tmp_path / "memory").exists()


def test_only_ledgers_on_the_shelf_are_opened(steward: Client) -> None:
    assert steward.get("/ledgers/000000000000").status == 400


def test_a_ledger_in_another_folder_is_opened_and_nothing_else_is(steward: Client, house: Path, tmp_path: Path) -> None:
    for folder in (str(tmp_path), "", "/etc", "postgresql://me@localhost/books", "x\0y"):
        assert steward.post("/ledgers", [("folder", folder)]).status == 400
    far = tmp_path / "far.ledger"
    shutil.copytree(house / "h.ledger", far)
    assert steward.post("/ledgers", [("folder", str(far))]).place == short(steward, "far.ledger")
    assert "release" in steward.get("/").text
