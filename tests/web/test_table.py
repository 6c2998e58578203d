"""A first release from the page: what columns are, taxonomies, the schema, a plan, the first release."""

import json
import re
import time
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from reissue.ledger import Ledger
from reissue.outcome.plan import view_of
from reissue.publishing.plan import Limits, Outcome, Plan, RehearsalEnd, Setting
from reissue.schema import Role, Schema
from reissue.web.pages import fragment
from reissue.web.work.planning import plan_series, settle
from tests.web.client import Answer, Client

WAVES = ("jan", "feb")


def looked(client: Client, files: Path) -> tuple[str, dict[str, str]]:
    """The address of the form, and its fields as they are filled in."""
    waves = [("wave", files / f"{name}-original.csv") for name in WAVES]
    page = client.finish(client.post("/table/upload", [], waves))
    assert "What the columns are" in page.text
    found = re.search(r'action="(/table/of/\w+)/upload"', page.text)
    assert found
    return found[1], filled(page)


def filled(page: Answer) -> dict[str, str]:
    fields = dict(re.findall(r'<select id="\w+" name="(\w+)">.*?value="(\w+)" selected', page.text))
    return fields | dict(re.findall(r'<input type="text" (?:id="\w+" )?name="(\w+)" value="([^"]*)"', page.text))


def by_name(page: Answer) -> dict[str, str]:
    return {name: own for own, name in re.findall(r'<h2 id="(c\d+)">(.*?)</h2>', page.text)}


def test_a_proposal_is_corrected_and_saved_as_a_schema(client: Client, files: Path, place: Path) -> None:
    path, fields = looked(client, files)
    own = by_name(client.get(path))
    assert fields[f"{own['patient']}role"] == "identifier"
    assert fields[f"{own['disease']}role"] == "sensitive"
    values = re.findall(rf'name="({own["sex"]}group\d+)".*?aria-label="Group of (\w+)"', client.get(path).text)
    groups = [(name, "Everyone / Adults" if value == "male" else "") for name, value in values]
    changed = [
        (f"{own['age']}kind", "ranges"),
        (f"{own['age']}ranges", "5, 10"),
        (f"{own['sex']}kind", "tree"),
        *groups,
    ]
    page = client.finish(client.post(f"{path}/upload", list({**fields, **dict(changed)}.items())))
    assert "It fits" in page.text
    text = client.get(f"{path}/schema.toml").text
    made = Schema.loads(text)
    assert made.hierarchy("age").ranges == (5, 10)
    assert made.hierarchy("sex").tree == {"Everyone": {"Adults": ["male"]}, "female": []}
    assert made.columns["hospital"] == Role.PROVIDER
    assert text in unescape(page.text)
    assert "male;Adults;Everyone;*" in client.get(f"{path}/hierarchy/0").text
    assert 'value="Everyone / Adults"' in client.get(path).text
    assert client.post(f"{path}/discard").status == 303
    assert not list(place.glob(f"*/desk-{path.rpartition('/')[2]}"))


def test_values_are_moved_into_groups_and_arx_files_read(client: Client, files: Path, tmp_path: Path) -> None:
    path, fields = looked(client, files)
    own = by_name(client.get(path))["job"]
    listed = re.findall(rf'name="{own}tick" value="(\d+)"> ([\w ]+)<', client.get(path).text)
    places = [(f"{own}tick", place) for place, value in listed if value in {"nurse", "doctor"}]
    assert len(places) == 2
    moving = [*fields.items(), *places, (f"{own}into", "Care / Ward")]
    answer = client.post(f"{path}/move/{own[1:]}/upload", moving)
    assert answer.place == f"{path}#{own}"
    page = client.get(path)
    assert page.text.count('value="Care / Ward" list') == 2
    assert "<strong>Ward</strong>" in page.text
    assert filled(page)[f"{own}kind"] == "tree"
    assert client.post(f"{path}/move/99/upload", moving).status == 404
    arx = tmp_path / "job.csv"
    arx.write_text("nurse;Care;*\ndoctor;Care;*\nlawyer;Law;*\n")
    chosen = {**filled(page), f"{own}kind": "file"}
    lacking = client.finish(client.post(f"{path}/upload", list(chosen.items()), [(f"{own}file", arx)]))
    assert "It fits" in lacking.text
    tree = Schema.loads(client.get(f"{path}/schema.toml").text).hierarchy("job").tree
    assert sorted(tree["Care"]) == ["doctor", "nurse"]
    assert tree["clerk"] == []
    client.post(f"{path}/discard")


def test_values_that_a_taxonomy_lacks_get_a_place(client: Client, files: Path, tmp_path: Path) -> None:
    path, fields = looked(client, files)
    own = by_name(client.get(path))["zip"]
    waves = [pl.read_csv(files / f"{name}-original.csv", schema_overrides={"zip": pl.String}) for name in WAVES]
    zips = sorted(set(pl.concat(waves)["zip"]))
    arx = tmp_path / "zip.csv"
    arx.write_text("".join(f"{one};{one[:2]};*\n" for one in zips[1:]))
    given = list({**fields, f"{own}kind": "file"}.items())
    page = client.finish(client.post(f"{path}/upload", given, [(f"{own}file", arx)]))
    assert "Values without a place" in page.text
    assert f'aria-label="Group of {zips[0]}"' in page.text
    page = client.finish(client.post(f"{path}/places", [("v0-0", "far away")]))
    assert "It fits" in page.text
    tree = Schema.loads(client.get(f"{path}/schema.toml").text).hierarchy("zip").tree
    assert tree["far away"] == [zips[0]]
    assert zips[-1] in tree[zips[-1][:2]]
    client.post(f"{path}/discard")


def test_a_mistake_in_the_form_is_said_and_the_table_stays(client: Client, files: Path, place: Path) -> None:
    path, fields = looked(client, files)
    own = by_name(client.get(path))
    wrong = {**fields, f"{own['age']}kind": "ranges", f"{own['age']}ranges": "five"}
    answer = client.post(f"{path}/upload", list(wrong.items()))
    assert answer.status == 400
    assert "between commas" in answer.text
    assert client.get(path).status == 200
    assert client.get(f"{path}/schema").status == 400
    assert client.post(f"{path}/discard").status == 303
    assert client.get(path).status == 400


def test_a_schema_that_does_not_fit_is_said_and_what_was_corrected_stays(client: Client, files: Path) -> None:
    path, fields = looked(client, files)
    own = by_name(client.get(path))
    wrong = {**fields, f"{own['job']}kind": "ranges", f"{own['job']}ranges": "5, 10", f"{own['sex']}role": "drop"}
    page = client.finish(client.post(f"{path}/upload", list(wrong.items())))
    assert "It does not fit" in page.text
    assert "desk-" not in page.text
    assert "Plan it" not in page.text
    kept = filled(client.get(path))
    assert (kept[f"{own['job']}kind"], kept[f"{own['sex']}role"]) == ("ranges", "drop")
    right = {**kept, f"{own['job']}kind": "flat"}
    assert "It fits" in client.finish(client.post(f"{path}/upload", list(right.items()))).text
    client.post(f"{path}/discard")


def test_waves_that_cannot_be_planned_on_are_said_beside_the_limits(
    client: Client, files: Path, tmp_path: Path
) -> None:
    first = (files / "jan-original.csv").read_text()
    (tmp_path / "one.csv").write_text(first)
    head, *rows = first.splitlines()
    (tmp_path / "two.csv").write_text("\n".join([head, *(f"9{row}" for row in rows)]) + "\n")
    waves = [("wave", tmp_path / name) for name in ("one.csv", "two.csv")]
    page = client.finish(client.post("/table/upload", [], waves))
    found = re.search(r'action="(/table/of/\w+)/upload"', page.text)
    assert found
    page = client.finish(client.post(f"{found[1]}/upload", list(filled(page).items())))
    asked = {"limit": "0.75", "suppress": "2", "counterfeits": "10", "minutes": "0.1"}
    page = client.finish(client.post(f"{found[1]}/plan", list(asked.items())))
    assert "No plan" in page.text
    assert "Plan it" in page.text
    assert client.get(found[1]).status == 200
    client.post(f"{found[1]}/discard")


def test_how_a_table_was_read_is_said(client: Client, tmp_path: Path) -> None:
    rows = "\n".join(f"{n};{'NA' if n % 9 == 0 else 20 + n % 40};{n},5" for n in range(60))
    (tmp_path / "office.csv").write_text(f"id;Alter;Gehalt\n{rows}\n")
    page = client.finish(client.post("/table/upload", [], [("wave", tmp_path / "office.csv")]))
    assert "office.csv: read with ; between cells, decimal commas." in unescape(page.text)
    assert "What is wrong with the table" in page.text
    assert "7 cells of 'Alter'" in unescape(page.text)


def test_values_without_a_place_are_shown_to_their_holder(files: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text('[columns]\nsex = "quasi"\ndisease = "sensitive"\n[taxonomy.sex]\ntree = { X = ["female"] }\n')
    given = {"waves": [str(files / "jan-original.csv")], "schema": str(schema), "delimiter": ","}
    assert settle(given, tmp_path, lambda *_: None)["lacking"] == {"sex": ["male"]}


def test_a_plan_tells_points_and_has_a_policy_for_each_that_withstood(files: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text((files / "schema.toml").read_text())
    given = {
        "waves": [str(files / f"{name}-original.csv") for name in WAVES],
        "schema": str(schema),
        "delimiter": ",",
        "newcomers": False,
        "budget": 60.0,
        "limits": {"limit": 0.99, "counterfeits": 0.1, "suppress": 0.02, "knowledge": "form"},
    }
    started, spent = time.process_time(), []

    def tell(_: float, __: str) -> None:
        points = tmp_path / "points.json"
        if points.exists() and json.loads(points.read_text())["chart"]:
            spent.append(time.process_time() - started)

    found = plan_series(given, tmp_path, tell)
    assert spent[0] < (time.process_time() - started) / 5
    assert json.loads((tmp_path / "points.json").read_text())["chart"]["points"]
    made = Plan.of(json.loads(json.dumps(found["plan"])))
    assert made.frontier
    assert made.limits.limit == 0.99


def test_a_plan_in_which_nothing_suffices_is_shown() -> None:
    one = Outcome(Setting("pool", "k=5"), (), RehearsalEnd.IMPOSSIBLE, "It cannot.")
    made = Plan(Limits(limit=0.5), (), 2, (one,), None, 0, guess=True)
    desk = SimpleNamespace(name="d")
    known = {"desk": desk, "job": desk, "plan": view_of(made), "best": None, "moved": False, "chart": None}
    page = fragment(
        "planned.html", running=None, path="/plan/d", sentences=["Nothing."], tried={}, waves=["a.csv"], **known
    )
    assert "No setting is safe" in page
    assert "Plan with other limits" in page
    assert "Try the first release" not in page


@pytest.mark.slow
def test_from_a_table_to_a_first_safe_release(client: Client, files: Path, place: Path) -> None:
    path, fields = looked(client, files)
    client.finish(client.post(f"{path}/upload", list(fields.items())))
    limits = [("limit", "0.75"), ("suppress", "2"), ("counterfeits", "10"), ("minutes", "1")]
    plan = client.finish(client.post(f"{path}/plan", limits), seconds=180)
    setting = re.search(r'type="radio" name="setting" value="([^"]+)"', plan.text)
    assert setting, plan.text
    chosen = [
        ("setting", unescape(setting[1])),
        ("name", "first.ledger"),
        ("wave", "jan-original.csv"),
        ("undated", "yes"),
    ]
    (place / "ledgers").mkdir(exist_ok=True)
    tried = client.finish(client.post(f"{path.replace('/table/of', '/plan')}/choose", chosen), seconds=120)
    publish = re.search(r'action="(/publish/\w+/publish)"', tried.text)
    assert publish, tried.text
    assert "Recorded" in client.finish(client.post(publish[1]), seconds=120).text
    with Ledger.open(place / "ledgers" / "first.ledger") as book:
        assert len(book.releases) == 1
    assert client.post(f"{path}/plan", [("limit", "2")]).status == 400
