"""The public contracts: what is built in keeps them, and what is broken is caught."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from reissue import attacks, methods, requirements
from reissue._arrays import Bools
from reissue.attacks import Knowledge, Series
from reissue.attacks.findings import Finding, Status
from reissue.counting import Counts
from reissue.errors import InputError, NotMetError
from reissue.methods import Algorithm, Job
from reissue.release.memory import MethodState
from reissue.release.release import Draft
from reissue.requirements import LDiversity, Requirement, _base
from reissue.testing import (
    ContractError,
    check_algorithm,
    check_attack,
    check_engine,
    check_requirement,
    check_store,
)
from reissue.testing.releases import SAMPLES

SLOW = {"mechanism"}
"""It runs the method thousands of times; its own tests do that on smaller tables."""


@pytest.mark.parametrize("name", sorted(set(attacks.registry.BUILT_IN) - SLOW))
def test_built_in_attacks_keep_the_contract(name: str) -> None:
    assert check_attack(name).attack == name


@pytest.mark.parametrize("name", sorted(methods.registry.BUILT_IN))
def test_built_in_methods_keep_the_contract(name: str) -> None:
    if name in {"mask", "providers"}:
        pytest.skip("it changes values, or needs providers: its own tests check what it promises")
    check_algorithm(name, tables=24, may_refuse=name in {"anatomy", "microaggregation"})


@pytest.mark.parametrize("name", list(requirements.registered()))
def test_built_in_requirements_keep_the_contract(name: str) -> None:
    check_requirement(name, *(text for text in SAMPLES[name] if "&" not in text), groups=60)


def test_engines_keep_the_contract(tmp_path: Path) -> None:
    check_engine("memory", lambda table: table)
    check_engine("stream", lambda table: table.lazy())

    def written(table: pl.DataFrame) -> Path:
        table.write_parquet(tmp_path / "table.parquet")
        return tmp_path / "table.parquet"

    check_engine("stream", written)
    with pytest.raises(ContractError, match="counted, once"):
        check_engine("stream", lambda table: pl.concat([table, table.head(1)]).lazy())


def test_stores_keep_the_contract(tmp_path: Path) -> None:
    check_store(tmp_path / "x.ledger")
    with pytest.raises(ContractError, match="without a ledger is not opened"):
        check_store(tmp_path / "x.ledger")


def _finding(series: Series, status: Status = Status.WITHSTOOD, sentence: str = "Fine.", people: int = 0) -> Finding:
    return Finding("toy", status, sentence, series.numbers, people=people, population=5)


def _drawn(series: Series, _: Knowledge) -> Finding:
    return _finding(series, sentence=f"It is {np.random.default_rng().random()}.")


def _counting(series: Series, _: Knowledge) -> Finding:
    """As if more releases exposed somebody, though it says that it judges each by itself."""
    several = len(series) > 1
    return _finding(series, Status.EXPOSED if several else Status.WITHSTOOD, people=int(several))


def _talking(series: Series, _: Knowledge) -> Finding:
    source = series.releases[0].source
    assert source is not None
    return _finding(series, sentence=f"Somebody has {source.table.frame['disease'][0]}.")


@pytest.mark.parametrize(
    ("run", "complaint"),
    [
        (lambda series, _: _finding(series, Status.EXPOSED), "exposed means"),
        (lambda series, _: _finding(series, people=9), "no more people"),
        (lambda series, _: _finding(series, sentence="Fine"), "is a sentence"),
        (_drawn, "same releases give the same"),
        (_talking, "never has a value"),
        (_counting, "judged by themselves"),
    ],
)
def test_broken_attacks_are_caught(
    run: Callable[[Series, Knowledge], Finding], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attacks.registry, "_REGISTRY", attacks.registered())
    attacks.attack("toy", "A toy.", per_release=True)(run)
    with pytest.raises(ContractError, match=complaint):
        check_attack("toy")


def _one_group(job: Job) -> Draft:
    return Draft(np.zeros(job.table.rows, np.int32))


def _never(job: Job) -> Draft:
    raise InputError("No.")


def _not_met(job: Job) -> Draft:
    raise NotMetError("No.")


def test_a_stateful_method_may_refuse_some_but_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods.registry, "_REGISTRY", methods.registered())
    methods.registry.register(Algorithm("toy", _not_met, "A toy.", state=MethodState))
    with pytest.raises(ContractError, match="makes a series for one"):
        check_algorithm("toy", requirements=["k=2"])


def _by_chance(job: Job) -> Draft:
    return Draft((np.random.default_rng().permutation(job.table.rows) // 5).astype(np.int32))


@pytest.mark.parametrize(
    ("run", "complaint"),
    [(_never, "refused for nothing"), (_by_chance, "same seed|does not meet")],
)
def test_broken_methods_are_caught(
    run: Callable[[Job], Draft], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods.registry, "_REGISTRY", methods.registered())
    methods.registry.register(Algorithm("good", _one_group, "A toy."))
    check_algorithm("good", requirements=["k=1", "l=2"])
    methods.registry.register(Algorithm("toy", run, "A toy."))
    with pytest.raises((ContractError, Exception), match=complaint):
        check_algorithm("toy", requirements=["k=1"])


@dataclass(frozen=True)
class _Toy(LDiversity):
    """As l-diversity."""

    name: ClassVar[str] = "toy"
    example: ClassVar[str] = "toy=2"

    def __str__(self) -> str:
        return f"toy={self.l}"


class _Even(_Toy):
    """An even number of rows: adding one breaks it, though it says otherwise."""

    def holds(self, counts: Counts) -> Bools:
        return np.asarray(counts.sizes % 2 == 0, np.bool_)


class _Large(_Toy):
    def holds(self, counts: Counts) -> Bools:
        return np.asarray(counts.distinct >= counts.distinct.max(), np.bool_)


class _Hasty(_Toy):
    """Says that it never loses to a coalition."""

    growing: ClassVar[bool] = False
    by_values: ClassVar[bool] = False

    def surely_kept(self, whole: Counts, loss: object) -> Bools:
        return np.ones(whole.total, np.bool_)


@pytest.mark.parametrize(
    ("kind", "complaint"), [(_Even, "adding records|least"), (_Large, "judged by itself"), (_Hasty, "surely_kept")]
)
def test_broken_requirements_are_caught(
    kind: type[Requirement], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_base, "_REGISTRY", requirements.registered())
    requirements.register(_Toy)
    check_requirement("toy")
    requirements.register(kind)
    with pytest.raises(ContractError, match=complaint):
        check_requirement("toy")


def test_nobody_replaces_what_is_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="built-in attack 'joint'"):
        attacks.attack("joint", "Mine.")(_drawn)
    with pytest.raises(InputError, match="built-in method 'pool'"):
        methods.algorithm("pool", "Mine.")(_one_group)
    monkeypatch.setattr(_Toy, "name", "l")
    with pytest.raises(InputError, match="built-in requirement 'l'"):
        requirements.register(_Toy)
