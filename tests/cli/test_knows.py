"""What the adversary knows, from the shell: Andre and Kim."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from reissue.publishing.series import anonymize_series
from reissue.schema import Schema
from tests.cli.conftest import Reissue

SCHEMA = """
[columns]
born = "quasi"
disease = "sensitive"
[taxonomy.born]
tree = { Q = ["q1", "q2"], q3 = {}, q4 = {} }
"""


@pytest.fixture
def clinic(tmp_path: Path) -> None:
    patients = pl.DataFrame({"born": ["q1"] * 2 + ["q2"] * 6, "disease": ["HIV"] * 2 + ["none"] * 6})
    patients.write_csv(tmp_path / "patients.csv")
    patients.select("born").write_csv(tmp_path / "voters.csv")
    (tmp_path / "clinic.toml").write_text(SCHEMA)


WORK = ("anonymize", "patients.csv", "-s", "clinic.toml", "-o", "out.csv")
ATTACK = ("attack", "out.csv", "-s", "clinic.toml", "--only", "minimality")
KNOWS = ("--knowledge", "algorithm=topdown", "--knowledge", "requirement=simple-l=2:HIV")


@pytest.mark.usefixtures("clinic")
def test_andre_and_kim(reissue: Reissue) -> None:
    assert reissue(*WORK, "-r", "simple-l=2:HIV", "--method", "topdown").code == 0
    outcome = reissue(*ATTACK, *KNOWS, "--knowledge", "population=voters.csv", "--json")
    assert outcome.code == 1
    (finding,) = outcome.json["findings"]
    assert (finding["people"], finding["worst"], finding["details"]["problematic"]) == (2, 1.0, 2)
    assert finding["details"]["credibility"] == 1.0
    known = (*KNOWS, "--knowledge", "population=patients.csv", "--json")
    outcome = reissue("attack", "out.csv", "-s", "clinic.toml", *known)
    assert "mechanism" not in {each["attack"] for each in outcome.json["findings"]}, "it is run where it is named"
    outcome = reissue("attack", "out.csv", "-s", "clinic.toml", *known, "--only", "mechanism", "--only", "definetti")
    found = {each["attack"]: each for each in outcome.json["findings"]}
    assert found["mechanism"]["details"]["posterior"] == 1.0
    assert found["mechanism"]["details"]["worlds"] == 28
    assert found["definetti"]["status"] == "not_run", "of ten people chance alone may guess all right"


@pytest.mark.usefixtures("clinic")
def test_what_is_not_known_is_not_run(reissue: Reissue) -> None:
    assert reissue(*WORK, "-r", "simple-l=2:HIV", "--method", "topdown").code == 0
    outcome = reissue(*ATTACK, "--json")
    assert outcome.json["findings"][0]["status"] == "not_run"
    outcome = reissue(*ATTACK, "--knowledge", "population=voters.csv", "--only", "mechanism", *KNOWS, "--json")
    reasons = {each["attack"]: each["reason"] for each in outcome.json["findings"]}
    assert "sensitive values are needed" in reasons["mechanism"]
    other = (
        "--knowledge",
        "algorithm=pool",
        "--knowledge",
        "requirement=k=8",
        "--knowledge",
        "population=patients.csv",
    )
    outcome = reissue("attack", "out.csv", "-s", "clinic.toml", "--only", "mechanism", *other, "--json")
    assert outcome.json["findings"][0]["status"] in {"not_run", "withstood"}


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("wrong", ["algorithm", "algoritm=pool", "algorithm=pol", "requirement=z=1", "nothing=1"])
def test_bad_knowledge_is_bad_input(reissue: Reissue, wrong: str) -> None:
    assert reissue(*WORK, "-r", "k=2").code == 0
    assert reissue(*ATTACK, "--knowledge", wrong).code == 2


@pytest.mark.usefixtures("clinic")
def test_mask_from_the_shell(reissue: Reissue, tmp_path: Path) -> None:
    raw = {"born": ["q1", "q2", "q3", "q3", "q4", "q4"], "disease": ["HIV"] * 3 + ["none"] * 3}
    pl.DataFrame(raw).write_csv(tmp_path / "patients.csv")
    outcome = reissue(*WORK, "--method", "mask", "--m", "2", "--k", "2", "--sensitive-values", "HIV", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["changed"] == 1
    assert outcome.json["distortion"] > 0
    said = reissue(*WORK, "--method", "mask", "-r", "k=2 & simple-l=2:HIV", "--force")
    assert "1 sensitive value changed" in said.out
    assert reissue(*WORK, "--method", "pool", "--k", "2", "--sensitive-values", "HIV", "--force").code == 2
    assert reissue(*WORK, "--method", "mask", "--m", "3", "--k", "2", "--force").code in {1, 2}


@pytest.mark.usefixtures("clinic")
def test_the_concept_pages_commands_run(reissue: Reissue) -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "minimality.md").read_text()
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)).replace("\\\n", " ")
    outcomes = [reissue(*shlex.split(line)[1:]) for line in commands.splitlines() if line.strip()]
    assert [outcome.code for outcome in outcomes] == [0, 1, 0]
    assert "EXPOSED" in outcomes[1].out


def test_true_totals_come_from_a_file(reissue: Reissue, tmp_path: Path) -> None:
    """Most have the flu, and groups of three values take counterfeits: totals say which values these have."""
    schema = replace(Schema.of_columns(identifier="id", quasi=["age"], sensitive=["ill"]), updates={"none": True})
    frame = pl.DataFrame({"id": range(12), "age": range(20, 32), "ill": ["flu"] * 7 + ["gout"] * 3 + ["HIV"] * 2})
    (made,) = anonymize_series([frame], schema, "m-unique=3", method="invariance", ineligible="counterfeits", seed=0)
    made.write(str(tmp_path / "out.csv"))
    (tmp_path / "schema.toml").write_text(schema.dumps(), encoding="utf-8")
    (tmp_path / "members").mkdir()
    frame.select("id", "age").write_csv(tmp_path / "members" / "one.csv")
    frame["ill"].value_counts().write_csv(tmp_path / "totals.csv")
    (tmp_path / "bad.csv").write_text("ill\nflu\n")
    command = ("attack", "out.csv", "--schema", "schema.toml", "--only", "joint", "--members", "members", "--json")
    plain, known = reissue(*command), reissue(*command, "--knowledge", "totals=totals.csv")
    assert plain.json["findings"][0]["worst"] < known.json["findings"][0]["worst"]
    bad = reissue(*command, "--knowledge", "totals=bad.csv")
    assert bad.code == 2
    assert "totals" in bad.json["error"]["message"]


def test_how_soon_people_leave_comes_from_a_file(reissue: Reissue, tmp_path: Path) -> None:
    """Of two people with two diseases one is gone in the next release, and the flu is soon over."""
    (tmp_path / "updates.csv").write_text("from,to\nflu,flu\nflu,gout\ngout,gout\ngout,flu\n")
    schema = Schema.of_columns(identifier="id", quasi=["age"], sensitive=["ill"])
    (tmp_path / "schema.toml").write_text(replace(schema, updates={"file": "updates.csv"}).dumps(), encoding="utf-8")
    (tmp_path / "1.csv").write_text('age,ill\n"[20, 29]",flu\n"[20, 29]",gout\n"[40, 49]",flu\n"[40, 49]",gout\n')
    (tmp_path / "2.csv").write_text('age,ill\n"[20, 49]",flu\n"[20, 49]",gout\n"[20, 49]",gout\n')
    (tmp_path / "members").mkdir()
    (tmp_path / "members" / "1.csv").write_text("id,age\n1,20\n2,21\n3,40\n4,41\n")
    (tmp_path / "members" / "2.csv").write_text("id,age\n2,21\n3,40\n4,41\n")
    (tmp_path / "leaving.csv").write_text("ill,leaves\nflu,0.9\ngout,0.05\n")
    command = ("attack", "1.csv", "2.csv", "--schema", "schema.toml", "--only", "joint", "--members", "members")
    plain, known = (
        reissue(*command, *more, "--json").json["findings"][0] for more in ((), ("--knowledge", "leaving=leaving.csv"))
    )
    assert (plain["details"]["leaving"], known["details"]["leaving"]) == ("alike", "known")
    assert plain["worst"] == pytest.approx(2 / 3, abs=1e-6)
    assert known["worst"] == pytest.approx(0.9 * 0.95 / (0.9 * 0.95 + 0.05 * 0.1), abs=1e-6)
    told = " ".join(known["details"]["case"]["steps"])
    assert "How soon people leave is known: of those with flu 90% are gone in the next release" in told
    assert "This person is not in release 2 any more." in told
    for text, said in (("ill,leaves\nflu,2\n", "share"), ("ill\nflu\n", "lacking"), ("ill,leaves\na,0\na,1\n", "once")):
        (tmp_path / "bad.csv").write_text(text)
        bad = reissue(*command, "--knowledge", "leaving=bad.csv", "--json")
        assert (bad.code, said in bad.json["error"]["message"]) == (2, True)
