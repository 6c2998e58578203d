from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Reissue, files

pytestmark = pytest.mark.usefixtures("hospital")
CHECK = ("--schema", "schema.toml")


def released(reissue: Reissue, k: int) -> str:
    name = f"out{k}.csv"
    assert reissue("anonymize", "patients.csv", *CHECK, "--require", f"k={k}", "--out", name, "--seed", "1").code == 0
    return name


def test_utility_says_what_was_lost(reissue: Reissue) -> None:
    name = released(reissue, 5)
    outcome = reissue("measure", "patients.csv", name, *CHECK, "--queries", "50")
    assert outcome.code == 0, outcome.err
    assert "All 600 rows are published." in outcome.out
    assert "A published value covers" in outcome.out
    assert "Of 50 random count queries" in outcome.out
    assert not outcome.err


def test_a_larger_k_loses_more(reissue: Reissue) -> None:
    small, large = (
        reissue("measure", "patients.csv", released(reissue, k), *CHECK, "--queries", "20", "--json").json
        for k in (2, 50)
    )
    assert small["loss"] < large["loss"]
    assert small["discernibility"] < large["discernibility"]


def test_the_same_seed_asks_the_same_queries(reissue: Reissue) -> None:
    name = released(reissue, 5)
    asked = [
        reissue("measure", "patients.csv", name, *CHECK, "--queries", "30", "--seed", seed, "--json").out
        for seed in ("1", "1", "2")
    ]
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


def test_workloads_go_by_name_and_columns_have_weights(reissue: Reissue) -> None:
    command = ("measure", "patients.csv", released(reissue, 5), *CHECK, "--json")
    plain = reissue(*command, "--queries", "0").json
    assert plain["queries"] is None
    weighed = reissue(*command, "--queries", "0", "--weight", "sex=9", "--weight", "age=0.5", "-k", "5").json
    assert weighed["loss"] != plain["loss"]
    assert weighed["losses"] == plain["losses"]
    assert weighed["normalized_group_size"] > 1
    assert reissue(*command, "--workload", "providers").json["queries"]["queries"] == 2500
    refused = reissue(*command, "--workload", "provider")
    assert refused.code == 2
    assert "Did you mean 'providers'?" in refused.json["error"]["message"]
    assert reissue(*command, "--weight", "disease=2").code == 2
    assert reissue(*command, "--weight", "age").code == 2


def test_models_and_means(reissue: Reissue) -> None:
    command = ("measure", "patients.csv", released(reissue, 5), *CHECK, "--queries", "0")
    asked = ("--model", "age ~ sex", "--model", "age ~ zip", "--means", "disease ~ sex")
    outcome = reissue(*command, *asked)
    assert outcome.code == 0, outcome.err
    assert "95% interval" in outcome.out
    assert "sex[" in outcome.out
    numbers = reissue(*command, *asked, "--json").json
    assert [one["asked"] for one in numbers["models"]] == ["age ~ sex", "age ~ zip"]
    first = numbers["models"][0]["lines"][1]
    assert first["true"]["low"] < first["true"]["value"] < first["true"]["high"]
    assert numbers["means"][0]["people"] == 600
    for wrong in ("age", "age ~ agee", "disease ~ sex"):
        refused = reissue(*command, "--model", wrong, "--json")
        assert refused.code == 2
        assert (
            "outcome ~ column" in refused.json["error"]["message"] or "share of one" in refused.json["error"]["message"]
        )


def test_transitions(reissue: Reissue) -> None:
    name = released(reissue, 5)
    command = ("measure", "patients.csv", name, *CHECK, "--queries", "0")
    outcome = reissue(*command, "--before", "patients.csv", name)
    assert outcome.code == 0, outcome.err
    assert "100.0% keep their value" in outcome.out
    assert "the releases allow" in outcome.out
    numbers = reissue(*command, "--before", "patients.csv", name, "--json").json["transitions"]
    assert (numbers["people"], numbers["linked"], numbers["stay"]["true"]) == (600, False, 1)
    assert reissue(*command, "--link", "age").code == 2
    assert reissue(*command, "--before", "patients.csv", name, "--link", "age").code == 2
    assert reissue(*command, "--before", "patients.csv").code == 2


def test_a_page_shows_what_an_analyst_computes(reissue: Reissue, tmp_path: Path) -> None:
    name = released(reissue, 5)
    command = ("measure", "patients.csv", name, *CHECK, "--queries", "0", "--report", "page.html")
    asked = ("--model", "age ~ sex", "--means", "disease ~ sex", "--before", "patients.csv", name)
    numbers = reissue(*command, *asked, "--json").json
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count('<svg class="chart broad"') == 3
    for line in (line for one in (*numbers["models"], *numbers["means"]) for line in one["lines"]):
        true, published = line["true"], line["published"]
        assert f"{true['value']:.4g}</td>" in page
        assert f"{published['low']:.4g} to {published['high']:.4g}</td>" in page
    assert "value kept" in page
    assert "100.0% keep their value" in page
    assert reissue(*command).code == 2, "it is there already"
    assert reissue(*command, "--force").out.endswith("Written: page.html\n")
    assert "patients.csv" in reissue(*command[:-1], "patients.csv", "--force").err


def test_two_tables(reissue: Reissue) -> None:
    reissue("anonymize", "patients.csv", *CHECK, "-r", "l=3", "--method", "anatomy", "-o", "out.csv")
    outcome = reissue("measure", "patients.csv", "out.csv", "out.sensitive.csv", *CHECK, "--queries", "20")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    "arguments", [["patients.csv"], ["patients.csv", "none.csv", *CHECK], ["none.csv", "a", *CHECK]]
)
def test_bad_input(reissue: Reissue, tmp_path: Path, arguments: list[str]) -> None:
    before = files(tmp_path)
    outcome = reissue("measure", *arguments, "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["message"]
    assert files(tmp_path) == before


def test_tables_larger_than_memory_are_counted(reissue: Reissue, hospital: pl.DataFrame) -> None:
    hospital.write_parquet("patients.parquet")
    asked = ("--require", "k=5", "--method", "mondrian", "--engine", "stream", "--out", "release", "--seed", "1")
    assert reissue("anonymize", "patients.parquet", *CHECK, *asked).code == 0
    work = ("measure", "patients.parquet", "release", *CHECK, "--engine", "stream")
    found = reissue(*work, "--json").json
    assert found["rows"] == hospital.height
    whole = pl.concat(pl.read_parquet(one) for one in sorted(Path("release").iterdir()))
    whole.write_csv("whole.csv")
    right = reissue("measure", "patients.csv", "whole.csv", *CHECK, "--queries", "0", "--json").json
    assert found["loss"] == pytest.approx(right["loss"])
    refused = reissue(*work, "--queries", "9")
    assert refused.code == 2
    assert "engine memory" in refused.err
