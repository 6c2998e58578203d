"""Wrong input on every page: a sentence that helps, a way on, nothing left behind, nothing that a browser would run."""

import os
from html import unescape
from pathlib import Path

import pytest

from reissue.web.work.wording import for_page
from tests.web.client import BOUNDARY, Answer, Client, form

SCRIPT = "<script>alert(1)</script>"
PAGES = {"/audit/upload": "published", "/table/upload": "wave"}
RUBBISH = {
    "empty.csv": (b"", "is empty"),
    "noise.csv": (os.urandom(4000), "Save it as UTF-8, or as a workbook."),
    "noise.parquet": (os.urandom(4000), "'noise.parquet' cannot be read"),
    "noise.xlsx": (os.urandom(4000), "'noise.xlsx' is not a whole workbook"),
    "picture.png": (b"\x89PNG", "'picture.png' must end in one of"),
    "ragged.csv": (b"a,b\n1,2\n3,4,5\n", "'ragged.csv' cannot be read: some rows have more cells"),
    "twice.csv": (b"a,a\n1,2\n", "'twice.csv' has column names that occur more than once"),
    "head.csv": (b"a,b\n", "no rows"),
}


REPAIRED = {"ragged.csv", "twice.csv"}
"""What a table may have: it is repaired in a copy, and said."""


def sent(client: Client, path: str, *files: tuple[str, str, bytes], fields: tuple[tuple[str, str], ...] = ()) -> Answer:
    """A form with files whose names are whatever they are; what came of it."""
    own = {"Origin": f"http://127.0.0.1:{client.port}", "Referer": f"http://127.0.0.1:{client.port}/table?x=1"}
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = client.send("POST", path, form(fields, files), {**kind, **own})
    return client.finish(answer) if answer.status == 303 else answer


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("name", RUBBISH)
def test_a_file_that_is_none_is_named_and_the_way_back_shown(client: Client, place: Path, path: str, name: str) -> None:
    content, said = RUBBISH[name]
    if path == "/table/upload" and name in REPAIRED:
        assert "What is wrong with the table" in sent(client, path, (PAGES[path], name, content)).text
        return
    page = sent(client, path, (PAGES[path], name, content))
    assert said in unescape(page.text)
    assert "Begin again" in page.text
    assert str(place) not in page.text
    assert "desk-" not in page.text
    assert not [one for one in place.glob("*/desk-*") if (one / PAGES[path] / name).exists()]


def test_a_column_or_value_that_is_a_script_stays_text(client: Client) -> None:
    rows = "".join(f'{number},<img src=x onerror=alert({number % 7})>,"<b>d{number % 4}</b>"\n' for number in range(60))
    table = f"patient,{SCRIPT},disease\n{rows}".encode()
    for path, kind in PAGES.items():
        page = sent(client, path, (kind, f"{SCRIPT}.csv", table))
        assert "&lt;script&gt;alert(1)" in page.text
        for run in (SCRIPT, "<img src=x", "<b>d"):
            assert run not in page.text


def test_waves_that_have_nothing_in_common_are_refused(client: Client, files: Path) -> None:
    first = ("wave", "jan.csv", (files / "jan-original.csv").read_bytes())
    page = sent(client, "/table/upload", first, ("wave", "other.csv", b"x,y\n1,2\n3,4\n"))
    assert "Table 2 has no column in common with the first" in page.text
    half = sent(client, "/table/upload", first, ("wave", "half.csv", b"patient,age\n1,20\n2,30\n"))
    assert "wave 2 does not have it" in half.text


@pytest.mark.parametrize("name", ["../../evil.csv", "/etc/evil.csv", "C:\\x\\evil.csv", "....//evil.csv"])
def test_a_file_s_name_is_never_a_path(client: Client, files: Path, place: Path, name: str) -> None:
    page = sent(client, "/table/upload", ("wave", name, (files / "jan-original.csv").read_bytes()))
    assert "evil.csv (150 rows)" in page.text
    assert {path.parent.name for path in place.rglob("*evil*")} == {"wave"}


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "<b>", "x" * 300])
def test_a_ledger_s_name_is_never_a_path(client: Client, files: Path, name: str) -> None:
    given = [("schema", "s.toml", b"[columns]"), ("table", "t.csv", (files / "jan-original.csv").read_bytes())]
    page = sent(client, "/publish/upload", *given, fields=(("name", name), ("undated", "yes")))
    assert page.status == 400
    assert "Name the ledger with letters" in page.text
    assert 'href="/table">Back to where you were' in page.text


def test_a_ledger_that_is_there_is_not_begun_again(client: Client, place: Path, files: Path) -> None:
    (place / "ledgers" / "taken.ledger").mkdir(parents=True)
    (place / "ledgers" / "taken.ledger" / "ledger.sqlite").touch()
    given = [("schema", "s.toml", b"[columns]"), ("table", "t.csv", (files / "jan-original.csv").read_bytes())]
    page = sent(client, "/publish/upload", *given, fields=(("name", "taken.ledger"), ("undated", "yes")))
    (place / "ledgers" / "taken.ledger" / "ledger.sqlite").unlink()
    assert page.status == 400
    assert "There is a ledger of this name already" in page.text


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (b"", "needs a [columns] section"),
        (b"hello", "not valid TOML"),
        (b"[columns]\nq = 'nope'\n", "must be one of"),
        (b"\xff\xfe\x00", "'s.toml' cannot be read"),
    ],
)
def test_a_schema_that_is_none_is_refused(client: Client, files: Path, schema: bytes, said: str) -> None:
    given = [("schema", "s.toml", schema), ("table", "t.csv", (files / "jan-original.csv").read_bytes())]
    page = sent(client, "/publish/upload", *given, fields=(("name", "none.ledger"), ("undated", "yes")))
    assert said in unescape(page.text)
    assert "desk-" not in page.text


def test_a_schema_comes_with_the_hierarchies_that_it_names(client: Client, files: Path) -> None:
    text = (
        '[columns]\npatient = "identifier"\nage = "quasi"\nsex = "quasi"\ndisease = "sensitive"\n'
        '[taxonomy.sex]\nfile = "sex.csv"\n[policy]\nrequire = "k=5"\nattacks = ["joint"]\n'
        'sensitive_values = ["none of these"]\n'
    )
    table = ("table", "t.csv", (files / "jan-original.csv").read_bytes())
    given = [("schema", "s.toml", text.encode()), table]
    alone = sent(client, "/publish/upload", *given, fields=(("name", "sexes.ledger"), ("undated", "yes")))
    assert "sex.csv" in alone.text
    assert "Begin again" in alone.text
    tree = ("schema", "sex.csv", b"female;*\nmale;*\n")
    both = sent(client, "/publish/upload", tree, *given, fields=(("name", "sexes.ledger"), ("undated", "yes")))
    assert "Publish release 1" in both.text
    two = sent(client, "/publish/upload", tree, table, fields=(("name", "sexes.ledger"), ("undated", "yes")))
    assert "Give one schema" in two.text


def test_messages_speak_of_fields() -> None:
    scratch = Path("/scratch/reissue-1")
    said = for_page("'/scratch/reissue-1/desk-1/wave/a b.csv' … Try dialect=Dialect(delimiter='X').", scratch)
    assert said == "'a b.csv' … Choose what separates the cells."
    assert for_page("Say so: newcomers=True.", scratch) == "Say so: tick that hardly anybody returns."
