from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import PATIENTS, Reissue, files

pytestmark = pytest.mark.usefixtures("hospital")
WORK = ("anonymize", "patients.csv", "--schema", "schema.toml")


def test_a_release_is_written_and_described(reissue: Reissue, tmp_path: Path) -> None:
    outcome = reissue(*WORK, "--require", "k=5 & l=3", "--out", "out.csv")
    assert outcome.code == 0, outcome.err
    assert not outcome.err
    assert "600 rows published" in outcome.out
    assert "meets k=5 & l=3" in outcome.out
    assert "Written: out.csv" in outcome.out
    published = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert published.columns == ["age", "zip", "sex", "job", "disease"]
    assert published.group_by("age", "zip", "sex", "job").len()["len"].min() >= 5  # type: ignore[operator]
    assert published["disease"].sort().to_list() == PATIENTS["disease"].sort().to_list()


def test_by_default_the_release_goes_beside_the_data(reissue: Reissue, tmp_path: Path) -> None:
    assert reissue(*WORK, "--require", "k=5").code == 0
    assert files(tmp_path) == {"patients.csv", "schema.toml", "patients.release.csv"}


def test_json_says_the_same(reissue: Reissue) -> None:
    outcome = reissue(*WORK, "--require", "k=5", "--out", "out.csv", "--json")
    answer = outcome.json
    assert set(answer) == {
        "method",
        "requirement",
        "rows",
        "suppressed",
        "groups",
        "smallest_group",
        "warnings",
        "utility",
        "files",
    }
    assert answer["rows"] == 600
    assert answer["smallest_group"] >= 5
    assert answer["files"] == ["out.csv"]
    assert not outcome.err


@pytest.mark.parametrize("method", ["pool", "mondrian", "topdown", "incognito", "anatomy"])
def test_every_method_runs_from_the_shell(reissue: Reissue, tmp_path: Path, method: str) -> None:
    outcome = reissue(*WORK, "--require", "k=4 & l=2", "--method", method, "--out", "out.csv", "--json")
    assert outcome.code == 0, outcome.out
    for path in outcome.json["files"]:
        assert (tmp_path / path).is_file()


def test_options_reach_the_method(reissue: Reissue) -> None:
    relaxed = reissue(*WORK, "-r", "k=5", "--method", "mondrian", "--option", "strict=False", "--json")
    assert relaxed.code == 0
    assert relaxed.json["smallest_group"] in range(5, 10)


def test_the_same_seed_gives_the_same_file_and_no_seed_another(reissue: Reissue, tmp_path: Path) -> None:
    for name, seed in (("a", ["--seed", "7"]), ("b", ["--seed", "7"]), ("c", []), ("d", [])):
        assert reissue(*WORK, "--require", "k=5", "--out", f"{name}.csv", *seed).code == 0
    text = {name: (tmp_path / f"{name}.csv").read_text() for name in "abcd"}
    assert text["a"] == text["b"]
    assert len(set(text.values())) == 3


def test_parquet_and_gzip(reissue: Reissue, tmp_path: Path) -> None:
    PATIENTS.write_parquet(tmp_path / "patients.parquet")
    outcome = reissue("anonymize", "patients.parquet", "-s", "schema.toml", "-r", "k=5", "-o", "out.csv.gz")
    assert outcome.code == 0
    assert pl.read_csv(tmp_path / "out.csv.gz").height == 600


def test_one_row_all_missing_and_all_the_same_are_no_mistake(reissue: Reissue, tmp_path: Path) -> None:
    one = PATIENTS.head(1)
    frames = {
        "one.csv": (one, "k=1"),
        "same.csv": (pl.concat([one] * 6).with_columns(patient=pl.int_range(pl.len())), "k=5"),
        "gaps.csv": (PATIENTS.with_columns(job=pl.lit(None, pl.String)), "k=5"),
    }
    for name, (frame, requirement) in frames.items():
        frame.write_csv(tmp_path / name)
        outcome = reissue("anonymize", name, "-s", "schema.toml", "-r", requirement)
        assert outcome.code == 0, outcome.err


def _rewrite(change: pl.Expr) -> str:
    return PATIENTS.with_columns(change).write_csv()


BAD = {
    "no rows": (PATIENTS.clear().write_csv(), [], "no rows"),
    "one row": (PATIENTS.head(1).write_csv(), [], "No release of this table can meet k=5"),
    "all rows the same": (_rewrite(pl.lit("flu").alias("disease")), ["-r", "l=2"], "No release"),
    "duplicated identifiers": (_rewrite(pl.lit(7).alias("patient")), [], "'patient' is not unique: 600 rows"),
    "missing identifiers": (_rewrite(pl.lit(None).alias("patient")), [], "'patient' is missing in 600 rows"),
    "unlisted value": (_rewrite(pl.lit("Xanthippe").alias("job")), [], "Column 'job' has 600 records"),
    "not a number": (_rewrite(pl.lit("Xanthippe").alias("age")), [], "Column 'age'"),
    "unknown column": (PATIENTS.rename({"zip": "zap"}).write_csv(), [], "Did you mean 'zap'?"),
    "wrong delimiter": (PATIENTS.write_csv(separator="^"), [], "Try --read delimiter=X"),
    "ragged": ("patient,hospital,age,zip,sex,job,disease\n1,2,3,4,5,6,7,8\n", [], "more cells than the header"),
    "header twice": ("age,age\n1,2\n", [], "column names that occur"),
    "k above the rows": (PATIENTS.write_csv(), ["-r", "k=601"], "k=601"),
    "l above the values": (PATIENTS.write_csv(), ["-r", "l=99"], "distinct sensitive values"),
    "no such requirement": (PATIENTS.write_csv(), ["-r", "q=5"], "no requirement of that name"),
    "k without a number": (PATIENTS.write_csv(), ["-r", "k=five"], "whole number"),
    "no such method": (PATIENTS.write_csv(), ["--method", "mondrain"], "Did you mean 'mondrian'?"),
    "no such option": (PATIENTS.write_csv(), ["--option", "strikt=1"], "no option 'strikt'"),
    "option without a value": (PATIENTS.write_csv(), ["--option", "strict"], "name=value"),
    "suppress above 1": (PATIENTS.write_csv(), ["--suppress", "5"], "share of the rows"),
    "long delimiter": (PATIENTS.write_csv(), ["--read", "delimiter=::"], "one character"),
    "output is a folder": (PATIENTS.write_csv(), ["-o", "."], ".csv"),
    "output nowhere": (PATIENTS.write_csv(), ["-o", "nowhere/out.csv"], "folder 'nowhere' does not exist"),
    "output is the data": (PATIENTS.write_csv(), ["-o", "bad.csv", "--force"], "replace the data itself"),
    "output exists": (PATIENTS.write_csv(), ["-o", "taken.csv"], "exists already"),
    "no schema": (PATIENTS.write_csv(), ["-s", "none.toml"], "`reissue init` writes one"),
    "broken schema": (PATIENTS.write_csv(), ["-s", "patients.csv"], "not valid TOML"),
    "no data": (None, [], "no file"),
    "not UTF-8": (b"patient,hospital,age,zip,sex,job,disease\n1,\x81,3,4,5,6,7\n", [], "UTF-8"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_gives_one_clear_message_and_writes_nothing(
    reissue: Reissue, tmp_path: Path, case: str, as_json: bool
) -> None:
    content, arguments, message = BAD[case]
    if content is not None:
        (tmp_path / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "taken.csv").write_text("mine")
    before = files(tmp_path)
    outcome = reissue(
        "anonymize",
        "bad.csv",
        *(["--schema", "schema.toml"] if "-s" not in arguments else []),
        *(["--require", "k=5"] if "-r" not in arguments else []),
        *arguments,
        *(["--json"] if as_json else []),
    )
    assert outcome.code == 2, outcome
    shown = outcome.json["error"]["message"] if as_json else outcome.err
    assert message in shown
    assert "Xanthippe" not in outcome.out + outcome.err
    assert outcome.err.count("Error:") == (0 if as_json else 1)
    assert files(tmp_path) == before
    assert (tmp_path / "taken.csv").read_text() == "mine"


def test_values_are_shown_on_screen_and_only_when_asked(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(_rewrite(pl.lit("Xanthippe").alias("job")))
    command = ("anonymize", "bad.csv", "-s", "schema.toml", "-r", "k=5")
    asked = reissue(*command, "--show-values")
    assert asked.code == 2
    assert "'Xanthippe'" in asked.err
    assert "Xanthippe" not in reissue(*command).err
    assert "Xanthippe" not in reissue(*command, "--show-values", "--json").out


def test_the_fix_that_the_message_offers_works(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(_rewrite(pl.lit("Xanthippe").alias("job")))
    schema, fix = (tmp_path / "schema.toml").read_text(), '[taxonomy.job]\nunlisted = "root"'
    assert schema.count("[taxonomy.job]\n") == 1
    (tmp_path / "fixed.toml").write_text(schema.replace("[taxonomy.job]", fix))
    assert reissue("anonymize", "bad.csv", "-s", "fixed.toml", "-r", "k=5").code == 0


def test_force_replaces_the_output(reissue: Reissue, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")
    assert reissue(*WORK, "-r", "k=5", "-o", "out.csv", "--force").code == 0
    assert (tmp_path / "out.csv").read_text() != "mine"


def test_a_table_larger_than_memory_goes_to_a_folder(reissue: Reissue) -> None:
    PATIENTS.write_parquet("patients.parquet")
    asked = ("anonymize", "patients.parquet", "--schema", "schema.toml", "--require", "k=5", "--method", "mondrian")
    made = reissue(*asked, "--engine", "stream", "--out", "release", "--json")
    assert made.code == 0, made.err
    assert made.json["rows"] == 600
    assert reissue("check", "release", "--schema", "schema.toml", "--engine", "stream", "--require", "k=5").code == 0
    for wrong, words in (
        ((), "name it with --out"),
        (("--out", "other", "--force"), "--force: only with --engine memory"),
        (("--out", "release"), "there already"),
        (("--out", "other", "--method", "equivalence"), "give --memory FILE"),
        (("--out", "nowhere/other"), "cannot be written"),
    ):
        refused = reissue(*asked, "--engine", "stream", *wrong)
        assert refused.code == 2
        assert words in " ".join(refused.err.split())
    assert not Path("other").exists()
