"""A new attack and a new method: one file each, and one line in a registry. Everything else finds them by that."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

import reissue as ri
from reissue import attacks, methods, synth
from reissue.attacks import Attack
from reissue.cli._app import run
from reissue.ledger import Ledger
from reissue.methods import Algorithm
from reissue.publishing.publish import publish_next
from reissue.testing import check_algorithm, check_attack

MOST = 20
"""Members that a reader of a contract holds at a glance, at most; a newcomer needs three of them."""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line in each of the two registries: all that is touched outside the new files."""
    monkeypatch.setattr(attacks.registry, "_REGISTRY", attacks.registered())
    monkeypatch.setattr(methods.registry, "_REGISTRY", methods.registered())
    monkeypatch.setitem(attacks.registry.BUILT_IN, "newcomer", "tests.contracts.toy_attack")
    monkeypatch.setitem(methods.registry.BUILT_IN, "slices", "tests.contracts.toy_method")
    monkeypatch.delitem(__import__("sys").modules, "tests.contracts.toy_attack", raising=False)
    monkeypatch.delitem(__import__("sys").modules, "tests.contracts.toy_method", raising=False)


def test_contracts_are_held_at_a_glance() -> None:
    for contract in (Attack, Algorithm):
        assert len(fields(contract)) <= MOST


def test_they_keep_the_contracts() -> None:
    assert check_attack("newcomer").attack == "newcomer"
    check_algorithm("slices", requirements=["k=2", "k=3", "l=2"], may_refuse=True)


def test_an_audit_runs_the_attack_and_shows_how_the_risk_grew() -> None:
    months = list(synth.Population(seed=3, people=60).months(3))
    releases = [month.drop("patient", "hospital") for month in months]
    shown = {name: role for name, role in synth.schema().columns.items() if name in releases[0].columns}
    schema = replace(synth.schema(), columns=shown)
    found = ri.attack(releases, schema, timeline=True)
    assert found["newcomer"].people > 0
    assert found["newcomer"].compares
    assert [point.release for point in found.timeline["newcomer"]] == [2, 3]


def test_a_ledger_judges_by_it_and_makes_releases_with_the_method(tmp_path: Path) -> None:
    policy = {"require": "k=4", "method": "slices", "attacks": ["newcomer"], "limit": 1, "not_run": "allow"}
    schema = replace(synth.schema(), policy=policy)
    months = list(synth.Population(seed=3, people=80).months(3))
    with Ledger.create(tmp_path / "x.ledger", schema) as ledger:
        published = [publish_next(month, ledger) for month in months]
    assert [one.release.method for one in published] == ["slices"] * 3
    assert [str(one.findings["newcomer"].status) for one in published] == ["not_run", "withstood", "withstood"]
    assert published[-1].findings["newcomer"].releases == (1, 2, 3)


def test_lists_know_them(capsys: pytest.CaptureFixture[str]) -> None:
    run(["attacks"])
    said = capsys.readouterr().out
    assert "newcomer" in said
    assert "Methods against it: slices." in said
    run(["methods"])
    assert "slices" in capsys.readouterr().out
