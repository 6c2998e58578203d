"""Every method in every form through every door that reads published files: check, utility and attack."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import Hierarchy
from reissue.cli._app import run
from reissue.published import read_published
from reissue.publishing.series import anonymize_series
from reissue.release.form import Form
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.synth import JOBS, Population

SCHEMA = Schema.of_columns(
    identifier="patient",
    provider="hospital",
    quasi=["birth", "sex", "job"],
    sensitive=["disease"],
    taxonomies={"birth": Hierarchy("dates"), "job": Hierarchy("tree", tree=JOBS)},
)
FAKES = {"ineligible": "counterfeits"}
MASK = "k=5 & simple-l=2:flu"


@dataclass(frozen=True)
class Case:
    method: str
    require: str
    form: Form
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return f"{self.method}-{self.form.label}"


def in_forms(method: str, require: str, *forms: Form, **options: Any) -> list[Case]:
    texts = {Form.NUMBERED: "generalized", Form.PERMUTED: "permuted", Form.TWO_TABLES: "two tables"}
    return [Case(method, require, form, (*options.items(), ("form", texts[form]))) for form in forms]


NUMBERED = (Form.NUMBERED, Form.PERMUTED, Form.TWO_TABLES)
CASES = [
    *(Case(method, "k=4 & l=2", Form.GENERALIZED) for method in ("pool", "mondrian", "topdown", "incognito")),
    Case("mask", MASK, Form.GENERALIZED),
    Case("mask", MASK, Form.TWO_TABLES, (("tables", 2),)),
    Case("anatomy", "l=3", Form.TWO_TABLES),
    Case("providers", "k=4", Form.GENERALIZED),
    *in_forms("equivalence", "simple-l=3", *NUMBERED[1:], e=2, **FAKES),
    *in_forms("invariance", "m-unique=3", *NUMBERED, **FAKES),
    *in_forms("distinct", "m-unique=3", *NUMBERED, **FAKES),
]
SERIES = {"equivalence", "invariance", "distinct"}
cases = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def originals() -> tuple[pl.DataFrame, ...]:
    """Three months of people whose values last, with exact birth dates that hardly anybody shares."""
    months = list(Population(seed=1, people=150).months(3))
    everyone = pl.concat(months).unique("patient", keep="first", maintain_order=True)
    born = [date(1930, 1, 1) + timedelta(days=number * 7919 % 30000) for number in everyone["patient"]]
    lasting = everyone.select("patient", "disease", pl.Series("birth", born))
    return tuple(
        month.select("patient", "hospital", "sex", "job").join(lasting, on="patient", maintain_order="left")
        for month in months
    )


@cache
def released(case: Case) -> tuple[Release, ...]:
    options = dict(case.options)
    if case.method in SERIES:
        return tuple(anonymize_series(originals(), SCHEMA, case.require, method=case.method, seed=1, **options))
    return tuple(ri.anonymize(t, SCHEMA, case.require, method=case.method, seed=1, **options) for t in originals())


@pytest.fixture
def files(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The releases as files, and the tables that an adversary or the holder may have."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps(), encoding="utf-8")
    (tmp_path / "people").mkdir()
    for number, table in enumerate(originals(), start=1):
        table.write_csv(tmp_path / "people" / f"{number}.csv")
    pl.concat(originals()).unique("patient").write_parquet(tmp_path / "register.parquet")
    return [release.write(f"{number}.csv")[0] for number, release in enumerate(released(case), start=1)]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command says as JSON; it may find people exposed, and nothing else may be wrong."""
    capsys.readouterr()
    code = run([*arguments, "--json"])
    out = capsys.readouterr()
    assert code not in {2, 70}, out
    found: dict[str, Any] = json.loads(out.out)
    return found


def by_name(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["attack"]: finding for finding in answer["findings"]}


@cases
def test_a_file_has_the_form_that_its_release_had(case: Case, files: list[str]) -> None:
    for path, release in zip(files, released(case), strict=True):
        read, own = read_published(path, SCHEMA), read_published(release, SCHEMA)
        assert read.form == own.form == case.form
        assert sorted(read.sizes.tolist()) == sorted(own.sizes.tolist())
        assert read.counterfeits.sum() == own.counterfeits.sum() == release.counterfeits


@cases
def test_check_judges_what_publish_judged(case: Case, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for path, release in zip(files, released(case), strict=True):
        found = answer(capsys, "check", path, "--schema", "schema.toml", "--require", case.require)
        assert (found["met"], found["form"]) == (True, case.form.label)
        assert (found["rows"], found["groups"]) == (release.boxes.sizes.sum(), read_published(path, SCHEMA).groups)


@pytest.mark.parametrize("declared", [True, False])
@cases
def test_utility_reads_what_we_write(
    case: Case, declared: bool, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (path, release) in enumerate(zip(files, released(case), strict=True), start=1):
        if not declared:
            Path(f"{number}.counterfeits.csv").unlink(missing_ok=True)
        found = answer(capsys, "measure", f"people/{number}.csv", path, "--schema", "schema.toml", "--queries", "50")
        assert found["rows"] == originals()[number - 1].height
        assert (found["added"], found["suppressed"]) == (release.counterfeits, release.suppressed)
        assert found["losses"]["birth"] == 0 or case.form.boxes


@pytest.mark.parametrize(
    "extra",
    [(), ("--population", "register.parquet"), pytest.param(("--population", "people/1.csv"), marks=pytest.mark.slow)],
    ids=str,
)
@cases
def test_attacks_on_files_end_in_findings(
    case: Case, extra: Sequence[str], files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    knows = ["--knowledge", f"requirement={case.require}"]
    found = by_name(answer(capsys, "attack", *files, "--schema", "schema.toml", *knows, *extra))
    assert len(found) >= 7
    guessed = by_name(answer(capsys, "attack", *files, *knows, *extra, "--sensitive", "disease"))
    assert set(guessed) == set(found)


@cases
def test_whoever_has_the_original_links_or_is_told_why_not(
    case: Case, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, release in enumerate(released(case), start=1):
        given = ("--population", f"people/{number}.csv", "--knowledge", f"requirement={case.require}")
        found = by_name(answer(capsys, "attack", files[number - 1], "--schema", "schema.toml", *given))
        for name in ("minimality", "definetti"):
            if release.counterfeits:
                assert "counterfeits" in found[name]["reason"]
            elif not case.form.boxes:
                assert found[name]["status"] != "not_run", found[name]["reason"]
                assert found[name]["population"] == originals()[number - 1].height


@cases
def test_whoever_knows_who_was_there_follows_them(
    case: Case, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = by_name(answer(capsys, "attack", *files, "--schema", "schema.toml", "--members", "people"))
    assert found["updates"]["status"] != "not_run"
    assert found["equivalence"]["status"] != "not_run"
    if not case.form.boxes and case.method != "mask":
        own = by_name(ri.attack(list(released(case)), SCHEMA, only=["updates"]).as_dict())
        assert found["updates"]["worst"] == pytest.approx(own["updates"]["worst"])
