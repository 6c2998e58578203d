"""What Python users see: names, sentences instead of fields, schemas from dicts, frames that come back as they were."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.cli._render import as_options
from tests.silence import refused

PEOPLE = synth.Population(seed=3, people=200)
PATIENTS = next(PEOPLE.months(1))
ROLES = {"age": "quasi", "sex": "quasi", "disease": "sensitive"}


def test_only_public_names_are_shown() -> None:
    assert dir(ri) == sorted(ri.__all__)
    assert all(getattr(ri, name) is not None for name in dir(ri))


def test_propose_and_use_it() -> None:
    proposal = ri.propose(PATIENTS)
    assert proposal.schema.sensitive == ("disease",)
    assert proposal.schema.identifier == "patient"
    assert ri.anonymize(PATIENTS, proposal.schema, "k=3").groups > 1
    assert ri.Schema.loads(proposal.text) == proposal.schema
    assert ri.propose(PATIENTS, sensitive=["job"]).schema.sensitive == ("job",)
    refused(ri.InputError, lambda: ri.propose(PATIENTS, sensitive=["zebra"]))
    assert "<table" in proposal._repr_html_()


def test_a_schema_from_a_dict_or_a_path(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(ri.Schema.read(ROLES).dumps())
    whole = {"columns": ROLES, "taxonomy": {"age": {"ranges": [5, 10]}}}
    for given in (ROLES, whole, tmp_path / "s.toml", str(tmp_path / "s.toml"), ri.Schema.read(ROLES)):
        release = ri.anonymize(PATIENTS, given, "k=3", seed=1)
        assert ri.check(release.frame, given, "k=3").met
        assert ri.measure(PATIENTS, release.frame, given).rows == PATIENTS.height
        assert ri.attack([release.frame], given, only="composition").findings
    assert ri.Schema.read(whole).hierarchy("age").ranges == (5, 10)
    with pytest.raises(ri.InputError, match="Did you mean 'quasi'"):
        ri.Schema.read({"age": "qusi"})


def test_publish_into_a_ledger_by_its_name(tmp_path: Path) -> None:
    policy = {"require": "k=3", "method": "pool", "attacks": ["composition"], "not_run": "allow"}
    schema = {"columns": {**ROLES, "patient": "identifier"}, "policy": policy}
    first = ri.publish(PATIENTS, tmp_path / "hospital.ledger", schema)
    again = ri.publish(PATIENTS, str(tmp_path / "hospital.ledger"))
    assert again.frame.equals(first.frame)


def test_every_public_object_is_one_sentence(tmp_path: Path) -> None:
    schema = synth.schema()
    release = ri.anonymize(PATIENTS, schema, "k=3")
    findings = ri.attack([release], schema, only="composition")
    policy = {"require": "k=3", "method": "pool", "attacks": ["composition"], "not_run": "allow"}
    ri.publish(PATIENTS, tmp_path / "x.ledger", {"columns": {**ROLES, "patient": "identifier"}, "policy": policy})
    with ri.Ledger.open(tmp_path / "x.ledger") as ledger:
        things: list[Any] = [ledger, ledger.policy, schema, schema.hierarchy("age"), release, findings, *findings]
        things += [ri.check(release, schema, "k=3"), ri.check(release, schema), ri.measure(release)]
        things += [ri.Table.read(PATIENTS, schema), ri.Knowledge(), ri.Knowledge(m=2), ri.propose(PATIENTS)]
        things += [ri.KAnonymity(5), ri.KAnonymity(5) & ri.LDiversity(3), ri.Dialect(), ri.Dialect(";"), ri.doctor()]
        things += [*ledger.releases]
        for thing in things:
            text = repr(thing)
            assert "\n" not in text, text
            assert text[0].isupper() or isinstance(thing, ri.Finding), text
            assert text.endswith((".", ")")), text
            assert len(text) < 400, text
            assert not any(str(person) in text for person in PATIENTS["zip"].unique()[:50]), text


def test_lazy_frames_and_relations_come_back_as_they_were() -> None:
    assert isinstance(ri.anonymize(PATIENTS.lazy(), ROLES, "k=3").frame, pl.LazyFrame)
    relation = duckdb.from_arrow(PATIENTS)
    frame = ri.anonymize(relation, ROLES, "k=3").frame
    assert isinstance(frame, duckdb.DuckDBPyRelation)
    assert pl.DataFrame(frame).height == PATIENTS.height


def test_errors_advise_python_and_the_command_line_its_own_words(tmp_path: Path) -> None:
    release = ri.anonymize(PATIENTS, ROLES, "k=3")
    release.write(tmp_path / "out.csv")
    message = refused(ri.InputError, lambda: release.write(tmp_path / "out.csv"))
    assert "force=True" in message
    assert "--" not in message
    assert "--force" in as_options(message)
    assert as_options("Say dialect=Dialect(encoding='cp850').") == "Say --read encoding=cp850."


def test_python_m_reissue() -> None:
    done = subprocess.run([sys.executable, "-m", "reissue", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"reissue {ri.__version__}"


def test_what_python_is_told_names_no_options(tmp_path: Path) -> None:
    with pytest.raises(ri.InputError) as none:
        ri.publish(PATIENTS, tmp_path / "none.ledger")
    release = ri.anonymize(PATIENTS, synth.schema(), "k=3")
    release.write(tmp_path / "release.csv")
    said = [str(none.value), str(ri.attack([tmp_path / "release.csv"], ROLES)), repr(ri.attack([release], ROLES))]
    assert not [text for text in said if "--" in text]


@pytest.mark.parametrize("requirement", [5, None, ["k=5"], {"k": 5}, ri.KAnonymity])
def test_what_is_no_requirement_is_the_users_mistake(requirement: Any) -> None:
    assert "'k=5 & l=3'" in refused(ri.RequirementError, lambda: ri.anonymize(PATIENTS, ROLES, requirement))
    if requirement is not None:
        assert "'k=5 & l=3'" in refused(ri.RequirementError, lambda: ri.check(PATIENTS, ROLES, requirement))


@pytest.mark.parametrize("role", ["quasi-identifier", "Quasi_Identifier", "QI", " quasi "])
def test_a_role_has_the_name_that_textbooks_give_it(role: str) -> None:
    roles: Any = {"age": role, "disease": "Sensitive"}
    schema = ri.Schema(roles)
    assert (schema.quasi, schema.sensitive) == (("age",), ("disease",))
    assert 'age = "quasi"' in schema.dumps()
    assert "Did you mean 'sensitive'?" in refused(ri.SchemaError, lambda: ri.Schema(roles | {"age": "sensible"}))


def test_whatever_is_raised_has_a_public_name() -> None:
    """Every error of ours, but for those that never leave an attack, and the page's own."""
    package = Path(ri.__file__).parent
    classes = re.compile(r"^class ([A-Z]\w*Error)\((?:\w*Error|Exception)\)", re.MULTILINE)
    ours = [path for path in package.rglob("*.py") if not path.is_relative_to(package / "web")]
    raised = {name for path in ours for name in classes.findall(path.read_text(encoding="utf-8"))}
    inside = {"CannotRunError", "CannotCarryError", "TooManyChecksError", "TooManyError"}
    raised -= inside | {"WorkerError"}  # the last is told by Spark
    assert raised - {"ContractError"} <= set(ri.__all__)
    assert all(issubclass(getattr(ri, name), ri.ReissueError) for name in raised & set(ri.__all__))
    assert {"NoLedgerError", "RefusedError", "RiskError"} <= raised
