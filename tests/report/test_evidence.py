"""The record for the file: what it holds from each command, and the page beside it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.attacks import registered
from reissue.cli._app import run
from reissue.outcome.dossier import dossier_of
from reissue.report.evidence import evidence_html, record_of

SCHEMA = ri.Schema.of_columns(quasi=["age", "zip"], sensitive=["disease"], identifier="who")
RELEASE = pl.DataFrame(
    {"age": ["[20, 29]"] * 2 + ["35"] * 2, "zip": ["53711"] * 4, "disease": ["flu", "cold", "flu", "<b>flu</b>"]}
)
ORIGINAL = pl.DataFrame({"age": [20, 29, 35, 35], "zip": ["53711"] * 4, "disease": RELEASE["disease"], "who": range(4)})


def test_a_record_by_hand() -> None:
    check = ri.check(RELEASE, SCHEMA, "k=2", preset="cell-3")
    when = datetime(2026, 1, 2, tzinfo=UTC)
    record = record_of(
        "check", {"r.csv": RELEASE}, SCHEMA, [check], before={"o.csv": ri.check(ORIGINAL, SCHEMA)}, when=when
    )
    assert record.made == "2026-01-02T00:00:00+00:00"
    assert [(one.name, one.rows, one.groups, one.smallest, one.sha256) for one in record.published] == [
        ("r.csv", 4, 2, 2, None)
    ]
    assert {one.column: one.technique for one in record.columns} == {
        "age": "generalized by ranges or groups of values in 50.0% of the records; 2 different values",
        "zip": "published as it is; 1 different values",
        "disease": "published as it is, in the rows",
        "who": "not published",
    }
    assert record.verdicts[0] == "k=2 is met."
    assert "1 in 3 is not met" in record.verdicts[1]
    values = {(one.heading, one.release, one.name): one.value for one in (*record.initial, *record.residual)}
    assert values["singling out", "o.csv", "k"] == 1
    assert values["singling out", "r.csv", "k"] == 2
    assert values["singling out", "r.csv", "prosecutor"] == 0.5
    assert values["linkability", "r.csv", "marketer"] == 0.5
    assert values["inference", "r.csv", "confidence"] == 0.5
    assert json.loads(record.to_json()) == record.as_dict()


def test_a_column_that_cannot_all_be_read_is_said_to_be_generalized() -> None:
    release = RELEASE.with_columns(age=pl.Series(["[20, 29]"] * 2 + ["under 18"] * 2))
    record = record_of("check", {"r.csv": release}, SCHEMA, [ri.check(release, SCHEMA, "k=2")])
    ages = next(one.technique for one in record.columns if one.column == "age")
    assert ages == "generalized by ranges, beside texts that cannot be read; 2 different values"


def test_the_page_shows_no_data_and_runs_nothing() -> None:
    record = record_of("check", {"<r>.csv": RELEASE}, SCHEMA, [ri.check(RELEASE, SCHEMA)])
    page = evidence_html(record)
    assert "&lt;r&gt;.csv" in page
    assert not re.search(r"flu|<script|https?:", page)
    for heading in ("Singling out", "Linkability", "Inference", "When to look again"):
        assert heading in page
    assert "anonymous in law is not said here" in page


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number, table in zip("12", synth.Population(seed=5, people=150).months(2), strict=True):
        table.write_csv(f"w{number}.csv")
    schema = synth.schema().dumps()
    policy = '[policy]\nrequire = "k=3"\nattacks = ["joint", "correspondence"]\nnot_run = "allow"\n'
    policy += 'sensitive_values = ["none of these"]\n'
    Path("schema.toml").write_text(schema)
    Path("policy.toml").write_text(f"{schema}\n{policy}")
    return tmp_path


def test_publish_and_attack_keep_a_record(folder: Path) -> None:
    for number in "12":
        begin = ("--schema", "policy.toml") if number == "1" else ()
        assert run(["publish", f"w{number}.csv", *begin, "-l", "x.ledger", "--record", f"p{number}.json"]) == 0
    record = json.loads(Path("p2.json").read_text())
    assert record["criteria"]["requirement"] == "k=3"
    assert [one["attack"] for one in record["tests"]] == ["joint", "correspondence"]
    assert {one["heading"] for one in record["tests"]} == {"inference", "linkability"}
    assert {one["value"] for one in record["initial"] if one["name"] == "k"} == {1}
    assert all(one["value"] >= 3 for one in record["residual"] if one["name"] == "k")
    assert {"column": "patient", "role": "identifier", "technique": "not published"} in record["columns"]
    Path("originals").mkdir()
    for number in "12":
        Path(f"w{number}.csv").rename(f"originals/w{number}.csv")
    files, more = ["w1.release.csv", "w2.release.csv"], ["--originals", "originals", "--only", "joint"]
    assert run(["attack", *files, "-s", "schema.toml", *more, "--record", "a.json", "--json"]) in {0, 1, 3}
    record = json.loads(Path("a.json").read_text())
    assert [one["name"] for one in record["published"]] == ["1: w1.release.csv", "2: w2.release.csv"]
    assert all(len(one["sha256"]) == 64 for one in record["published"])
    assert {one["release"] for one in record["initial"]} == {"original 1", "original 2"}
    assert Path("a.html").is_file()


def test_wrong_places_are_refused_before_anything_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "w1.csv", "-s", "schema.toml", "--record", "w1.csv"]) == 2
    assert run(["check", "w1.csv", "-s", "schema.toml", "--record", "r.json", "--original", "w2.csv"]) == 0
    assert run(["check", "w1.csv", "-s", "schema.toml", "--record", "r.json"]) == 2
    assert "exists already" in capsys.readouterr().err
    Path("r.json").unlink()
    assert run(["check", "w1.csv", "-s", "schema.toml", "--record", "r.json"]) == 2  # the page is there still
    assert not Path("r.json").exists()
    assert run(["check", "w1.csv", "-s", "schema.toml", "--record", "r.json", "--force"]) == 0


def test_attacks_belong_under_headings() -> None:
    headings = {name: str(one.heading) for name, one in registered().items()}
    assert headings["trajectory"] == "singling out"
    assert headings["correspondence"] == "linkability"
    assert headings["joint"] == headings["composition"] == "inference"


STATED = """
[evidence]
organisation = "Hospital A"
responsible = "Data steward"
[evidence.recipients."University B"]
model = "controlled"
means = "a register of the town; <b>no</b> time limit"
"""


def test_a_record_says_who_gets_a_release_and_what_is_left_to_fill_in(folder: Path) -> None:
    Path("stated.toml").write_text(Path("policy.toml").read_text() + STATED)
    for number, recipients in (("1", ()), ("2", ("--recipient", "University B", "--recipient", "Office C"))):
        begin = ("--schema", "stated.toml") if number == "1" else ()
        named = ("-l", "x.ledger", "--record", f"p{number}.json", *recipients)
        assert run(["publish", f"w{number}.csv", *begin, *named]) == 0
    first, second = (json.loads(Path(f"p{number}.json").read_text()) for number in "12")
    assert [(one["name"], one["releases"], one["model"]) for one in first["dossier"]["recipients"]] == [
        ("everyone", [1], "public")
    ]
    assert [(one["name"], one["releases"], one["model"]) for one in second["dossier"]["recipients"]] == [
        ("Office C", [1, 2], None),
        ("University B", [1, 2], "controlled"),
    ]
    assert second["dossier"]["responsible"] == "Data steward"
    assert {"purpose", "model of Office C", "approval: date"} <= set(second["to_fill_in"])
    assert not {"responsible", "model of University B"} & set(second["to_fill_in"])
    assert any("everyone's quasi-identifiers" in one for one in second["adversary"])
    with ri.Ledger.open("x.ledger") as ledger:
        assert second["chain"] == {"release": "2", "follows": ledger.releases[0].entry.hash}
        assert ledger.schema.evidence["organisation"] == "Hospital A", "what is stated is in the chain, with the schema"
    page = Path("p2.html").read_text()
    assert "Recipient: University B" in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page
    assert page.count("to be filled in") == len(second["to_fill_in"])
    assert not re.search(r"<script|https?:", page)


@pytest.mark.parametrize(
    "wrong",
    [
        {"responsable": "x"},
        {"purpose": 3},
        {"recipients": "B"},
        {"recipients": {"B": {"model": "secret"}}},
        {"recipients": {"B": {"mean": "x"}}},
    ],
)
def test_evidence_that_cannot_be_read_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ri.SchemaError, match="evidence"):
        dossier_of(wrong, {"B": (1,)})
