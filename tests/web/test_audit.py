"""An audit from the page: the same verdict as the library's, and nothing left behind."""

import json
import re
import time
from html import unescape
from pathlib import Path

import polars as pl

import reissue as ri
from reissue.outcome.findings import headline_of
from tests.web.client import Answer, Client

NAMES = ("jan", "feb", "mar")


def dropped(client: Client, files: Path, *more: tuple[str, Path]) -> Answer:
    return client.post("/audit/upload", [], [*(("published", files / f"{name}.csv") for name in NAMES), *more])


def roles(page: Answer) -> list[tuple[str, str]]:
    """The fields of the page as they are filled in."""
    found = re.findall(r'<select name="(role:\w+)".*?value="(\w+)" selected', page.text)
    return [*found, *re.findall(r'name="(order:[\w.]+)" value="(\d+)"', page.text)]


def left(place: Path) -> list[Path]:
    return list(place.glob("*/desk-*/published"))


def test_files_are_read_corrected_and_attacked(client: Client, files: Path, place: Path) -> None:
    page = client.finish(dropped(client, files))
    assert "What was read" in page.text
    assert "is taken to be sensitive" in page.text
    fields = roles(page)
    assert ("role:disease", "sensitive") in fields
    assert ("order:feb.csv", "2") in fields
    desk = re.search(r'action="(/audit/read/\w+/upload)"', page.text)
    assert desk
    assert len(left(place)) == 1
    found = client.finish(client.post(desk[1], [*fields, ("only", "composition")]))
    own = ri.attack([files / f"{name}.csv" for name in NAMES], only="composition")
    assert headline_of(own).word in found.text
    assert own["composition"].sentence in unescape(found.text)
    _takes_away(client, found)
    assert len(left(place)) == 1, "what was uploaded stays, for more to be added"
    assert remove(client, found).place == "/audit"
    assert not left(place)
    assert "Try again with more" not in client.get(found_at(found)).text


def remove(client: Client, page: Answer) -> Answer:
    """The button that removes the files."""
    address = re.search(r'formaction="(/audit/read/\w+/discard)"', page.text)
    assert address
    return client.post(address[1])


def found_at(page: Answer) -> str:
    """The address of a verdict, from its link to the report."""
    job = re.search(r"/jobs/(\w+)/files/report.html", page.text)
    assert job
    return f"/audit/of/{job[1]}"


def test_a_register_and_a_file_are_added_without_uploading_again(client: Client, files: Path, place: Path) -> None:
    page = client.finish(client.post("/audit/upload", [], [("published", files / "jan.csv")]))
    assert 'aria-label="Rows of jan.csv"' in page.text
    desk = re.search(r'action="(/audit/read/\w+)/upload"', page.text)
    assert desk
    found = client.finish(client.post(f"{desk[1]}/upload", roles(page)))
    assert "Try again with more" in found.text
    said = re.findall(r'<input type="hidden" name="(role:\w+)" value="(\w+)">', found.text)
    register = ("people", files / "jan-original.csv")
    surer = client.finish(client.post(f"{desk[1]}/upload", said, [register]))
    own = ri.attack([files / "jan.csv"], knowledge=ri.Knowledge(population=files / "jan-original.csv"))
    assert own["joint"].sentence in unescape(surer.text)
    page = client.finish(client.post(f"{desk[1]}/upload", said, [("published", files / "feb.csv")]))
    assert ("order:feb.csv", "2") in roles(page)
    both = client.finish(client.post(f"{desk[1]}/upload", roles(page)))
    assert "2 releases" in both.text
    remove(client, both)
    assert not left(place)


def _takes_away(client: Client, found: Answer) -> None:
    links = re.findall(r'href="(/jobs/\w+/files/([\w.]+(?:\?download)?))"', found.text)
    by_name = {name: path for path, name in links}
    report = client.get(by_name["report.html"])
    assert "composition" in report.text
    assert "'sha256-" in report.headers["content-security-policy"]
    assert "unsafe" not in report.headers["content-security-policy"]
    assert "attachment" in client.get(by_name["report.html?download"]).headers["content-disposition"]
    record = json.loads(client.get(by_name["record.json"]).content)
    assert record["command"] == "attack"
    assert "Singling out" in client.get(by_name["evidence.html"]).text
    assert client.get(by_name["record.json"].replace("record.json", "job.json")).status == 400


def test_a_register_lets_more_attacks_run(client: Client, files: Path, place: Path) -> None:
    known = [("schema", files / "schema.toml"), *(("members", files / f"{name}-who.csv") for name in NAMES)]
    found = client.finish(
        client.post(
            "/audit/upload", [("only", "updates")], [*(("published", files / f"{name}.csv") for name in NAMES), *known]
        )
    )
    members = [files / f"{name}-who.csv" for name in NAMES]
    own = ri.attack(
        [files / f"{name}.csv" for name in NAMES],
        ri.Schema.load(files / "schema.toml"),
        only="updates",
        knowledge=ri.Knowledge(members=members),
    )
    assert own["updates"].reason is None
    assert own["updates"].sentence in unescape(found.text)
    remove(client, found)
    assert not left(place)


def test_what_an_attack_needs_is_asked_for_as_a_field(client: Client, files: Path) -> None:
    fields = [("only", "joint"), ("role:disease", "sensitive"), ("role:age", "quasi"), ("role:zip", "quasi")]
    found = client.finish(client.post("/audit/upload", fields, [("published", files / "jan.csv")]))
    assert 'name="people"' in found.text
    assert 'name="members"' in found.text
    assert 'name="values"' not in found.text
    assert '<input type="hidden" name="role:age" value="quasi">' in found.text
    remove(client, found)


def test_what_cannot_be_read_is_said_and_removed(client: Client, tmp_path: Path, place: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    page = client.finish(client.post("/audit/upload", [], [("published", broken)]))
    assert "not a whole Parquet file" in page.text
    assert not left(place)


def test_roles_that_contradict_are_refused_before_the_files_are_gone(client: Client, files: Path, place: Path) -> None:
    page = client.finish(dropped(client, files))
    desk = re.search(r'action="(/audit/read/(\w+)/upload)"', page.text)
    assert desk
    two = [("role:age", "sensitive"), ("role:disease", "sensitive"), ("role:zip", "quasi")]
    assert client.post(desk[1], two).status == 400
    assert client.post(desk[1], [("role:age", "quasi")]).status == 400
    assert client.get(f"/audit/read/{desk[2]}").status == 200
    assert client.post("/audit/upload", [("delimiter", "comma")]).status == 400
    assert client.post(desk[1].replace("/upload", "/discard")).place == "/audit"
    assert client.get(f"/audit/read/{desk[2]}").status == 400
    assert not left(place)


def test_a_job_is_cancelled_and_pages_answer_meanwhile(client: Client, files: Path, place: Path) -> None:
    started = client.post(
        "/audit/upload",
        [],
        [("published", files / "jan.csv"), ("schema", files / "schema.toml"), ("people", files / "jan-original.csv")],
    )
    spent = []
    for path in ("/", "/audit", started.place) * 2:
        before = time.monotonic()
        assert "Under way" in client.get(path).text
        spent.append(time.monotonic() - before)
    assert sorted(spent)[3] < 0.2  # a machine that does much else may be late once
    assert dropped(client, files).status == 409
    before = time.monotonic()
    assert client.post(f"{started.place}/cancel").status == 303
    assert time.monotonic() - before < 2
    assert "It was cancelled" in client.get(started.place).text
    assert not left(place)


def test_progress_is_told_live(client: Client, files: Path) -> None:
    started = client.post(
        "/audit/upload",
        [("only", "composition")],
        [("published", files / "jan.csv"), ("schema", files / "schema.toml")],
    )
    stream = client.get(f"{started.place}/events").text
    assert stream.startswith("event: progress\ndata: ")
    assert "<progress" in stream
    assert stream.endswith("event: over\ndata: done\n\n")
    assert client.get(f"{started.place}/next").headers["hx-redirect"].startswith("/audit/of/")


def test_one_persons_case_is_shown_on_request(client: Client, files: Path, tmp_path: Path) -> None:
    register = [("members", files / f"{name}-who.csv") for name in NAMES]
    page = client.finish(dropped(client, files, *register))
    desk = re.search(r'action="(/audit/read/\w+/upload)"', page.text)
    assert desk
    found = client.finish(client.post(desk[1], [*roles(page), ("only", "composition")]))
    form = re.search(r'action="(/audit/of/\w+/person)"', found.text)
    assert form
    who = pl.read_csv(files / "feb-who.csv")["patient"][0]
    shown = client.finish(client.post(form[1], [("person", str(who))]))
    assert "PRIVATE" in shown.text
    known = ri.Knowledge(members=[files / f"{name}-who.csv" for name in NAMES])
    own = ri.personal_risks([files / f"{name}.csv" for name in NAMES], knowledge=known).of(who)
    assert own.update_graph["steps"][0] in unescape(shown.text)
    assert "Write who it is" in unescape(client.post(form[1], [("person", "")]).text)
    remove(client, found)
    assert "not here any more" in unescape(client.post(form[1], [("person", str(who))]).text)


def test_tables_of_counts_are_recognized_and_subtracted_at_once(client: Client, tmp_path: Path) -> None:
    for day, deaths in enumerate((31, 32), start=1):
        rows = f"Sex,Deaths\nFemale,40\nMale,{deaths}\nTotal,{40 + deaths}\n"
        (tmp_path / f"deaths-2021-03-0{day}.csv").write_text(rows)
    files = [("published", one) for one in sorted(tmp_path.glob("deaths*.csv"))]
    found = client.finish(client.post("/audit/upload", [], files))
    text = unescape(found.text)
    assert "What was read" not in text, "no role is asked for"
    assert "1 person came or left alone" in text
    assert "each row counts people" in text
