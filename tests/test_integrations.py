"""The recipes in integrations/, each with the real tool (`make test-integrations`); what is not there is skipped."""

import asyncio
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import reissue as ri
from reissue import synth
from tests.pages import blocks

ROOT = Path(__file__).parents[1]
HERE = ROOT / "integrations"
ROLES = {"age": "quasi", "sex": "quasi", "disease": "sensitive"}
GOOD = ("releases/1.csv", "releases/2.csv")
SCHEMA = "".join(["[columns]\n", *(f'{name} = "{role}"\n' for name, role in ROLES.items())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema, a table, and a folder with two good releases."""
    months = list(synth.Population(seed=2, people=150).months(2))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "releases").mkdir()
    months[0].write_csv(tmp_path / "patients.csv")
    for name, month in zip(GOOD, months, strict=True):
        ri.anonymize(month, ROLES, "k=5", seed=1).write(tmp_path / name)
    return tmp_path


def spoil(folder: Path) -> None:
    """A release that nobody anonymized."""
    pl.read_csv(folder / "patients.csv").select(list(ROLES)).write_csv(folder / "releases" / "bad.csv")


def load(name: str) -> dict[str, Any]:
    return runpy.run_path(str(HERE / name))


def shell(*command: str, folder: Path, **more: str) -> int:
    return told(*command, folder=folder, **more).returncode


def told(*command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src")} | more
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


def test_pytest(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(HERE / "pytest" / "test_releases.py"),
    ]
    command += ["-n", "0", "-c", os.devnull, "--rootdir", str(folder)]
    assert shell(*command, folder=folder) == 0
    spoil(folder)
    assert shell(*command, folder=folder) == 1


def test_the_steps_of_the_github_action(folder: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the action; it is not installed")
    steps = yaml.safe_load((HERE / "github" / "action.yml").read_text())["runs"]["steps"]
    asked = {"SCHEMA": "schema.toml", "REQUIRE": "k=5"}
    for step in steps[1:]:
        assert set(step["env"]) <= {"RELEASES", *asked}
        assert shell("bash", "-ec", step["run"], folder=folder, RELEASES=" ".join(GOOD), **asked) == 0
    spoil(folder)
    codes = [
        shell("bash", "-ec", step["run"], folder=folder, RELEASES="releases/1.csv releases/bad.csv", **asked)
        for step in steps[1:]
    ]
    assert codes[0] == 1


def test_pre_commit(folder: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    shutil.copy(HERE / "pre-commit" / "pre-commit-config.yaml", folder / ".pre-commit-config.yaml")
    run = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        assert shell(*command, folder=folder) == 0
    assert shell(*run, folder=folder) == 0
    spoil(folder)
    assert shell("git", "add", ".", folder=folder) == 0
    assert shell(*run, folder=folder) == 1


def test_pandera(folder: Path) -> None:
    pandera = pytest.importorskip("pandera.pandas", reason="pandera is not installed")
    check = load("pandera/k_anonymous.py")["k_anonymous"](ROLES)
    schema = pandera.DataFrameSchema(checks=[check])
    schema.validate(pl.read_csv(folder / "releases" / "1.csv").to_pandas())
    spoil(folder)
    with pytest.raises(pandera.errors.SchemaError, match="does not meet k=5"):
        schema.validate(pl.read_csv(folder / "releases" / "bad.csv").to_pandas())


def test_dagster(folder: Path) -> None:
    dagster = pytest.importorskip("dagster", reason="dagster is not installed")
    make = load("dagster/checks.py")["release_check"]
    spoil(folder)
    for name, fine in (("1.csv", True), ("bad.csv", False)):
        check = make("release", folder / "releases" / name, folder / "schema.toml")

        release = dagster.asset(name="release")(lambda: None)
        done = dagster.materialize([release, check], raise_on_error=False)
        (outcome,) = done.get_asset_check_evaluations()
        assert outcome.passed == fine


@pytest.mark.slow
def test_great_expectations(folder: Path) -> None:
    gx = pytest.importorskip("great_expectations", reason="Great Expectations is not installed")
    expect = load("great_expectations/expect_met.py")["ExpectTableToMeetRequirement"]
    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_pandas("folder").add_dataframe_asset("release")
    batches = source.add_batch_definition_whole_dataframe("whole")
    spoil(folder)
    for name, requirement, fine in (("1.csv", "k=5", True), ("1.csv", "k=100", False), ("bad.csv", "k=5", False)):
        frame = pl.read_csv(folder / "releases" / name).to_pandas()
        batch = batches.get_batch(batch_parameters={"dataframe": frame})
        assert batch.validate(expect(roles=ROLES, requirement=requirement)).success == fine


def proposed(folder: Path) -> None:
    """With a schema that has a policy, and a table too small to be published."""
    table = pl.read_csv(folder / "patients.csv")
    (folder / "schema.toml").write_text(ri.propose(table).text)
    table.head(3).write_csv(folder / "few.csv")


@pytest.mark.slow
def test_airflow(folder: Path) -> None:
    pytest.importorskip("airflow", reason="Airflow is not installed")
    proposed(folder)
    shutil.copy(HERE / "airflow" / "monthly_release.py", folder)
    more = {"AIRFLOW_HOME": str(folder / "home"), "AIRFLOW__CORE__LOAD_EXAMPLES": "false"}
    more |= {"AIRFLOW__CORE__DAGS_FOLDER": str(folder)}
    assert shell(sys.executable, "-m", "airflow", "db", "migrate", folder=folder, **more) == 0
    run = "import monthly_release as m; assert m.monthly.test(run_conf={}).state == 'STATE'"
    tried = [("patients.csv", "success"), ("few.csv", "failed")]
    for table, state in tried:
        asked = run.replace("{}", repr({"table": table})).replace("STATE", state)
        assert shell(sys.executable, "-c", asked, folder=folder, **more) == 0, table
        assert (folder / "release.csv").is_file()
    with ri.Ledger.open(folder / "hospital.ledger") as ledger:
        assert len(ledger.releases) == 1


@pytest.mark.slow
def test_prefect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prefect", reason="Prefect is not installed")
    proposed(folder)
    asked = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from prefect.testing.utilities import prefect_test_harness
from monthly_release import monthly_release
with prefect_test_harness(server_startup_timeout=180):
    place = [Path(name) for name in ("hospital.ledger", "schema.toml", "release.csv")]
    assert monthly_release(Path("patients.csv"), *place)["rows"] >= 100
    try:
        monthly_release(Path("few.csv"), *place)
    except Exception as problem:
        assert type(problem).__name__ in {"InputError", "RefusedError", "DataError"}, problem
    else:
        raise SystemExit("three people were published")
"""
    (folder / "run.py").write_text(asked)
    assert shell(sys.executable, "run.py", str(HERE / "prefect"), folder=folder, PREFECT_HOME=str(folder / "home")) == 0
    assert ri.check(folder / "release.csv", folder / "schema.toml", "k=5").met


@pytest.mark.slow
def test_dbt(folder: Path) -> None:
    pytest.importorskip("dbt.adapters.duckdb", reason="dbt-duckdb is not installed")
    shutil.copytree(HERE / "dbt", folder / "dbt")
    project = folder / "dbt" / "example"
    (project / "seeds").mkdir(exist_ok=True)
    for name, release in zip(("january", "february"), GOOD, strict=True):
        table = pl.read_csv(folder / release)
        ri.anonymize(table, ROLES, "k=5 & l=2", seed=1).write(project / "seeds" / f"{name}.csv")
    command = ["dbt", "--quiet", "--no-send-anonymous-usage-stats"]
    assert shell(*command, "deps", folder=project) == 0
    assert shell(*command, "build", "--profiles-dir", ".", folder=project) == 0
    with duckdb.connect(str(project / "clinic.duckdb"), read_only=True) as connection:
        found = dict(connection.sql("select attack, outcome from exposed").fetchall())
    assert found["composition"] == "withstood"
    spoil(folder)
    shutil.copy(folder / "releases" / "bad.csv", project / "seeds" / "january.csv")
    assert shell(*command, "seed", "--profiles-dir", ".", "--full-refresh", folder=project) == 0
    for test in ("test_name:k_anonymous", "test_name:l_diverse"):
        assert shell(*command, "test", "--profiles-dir", ".", "--select", test, folder=project) == 1


@pytest.mark.slow
def test_r(tmp_path: Path) -> None:
    known = shutil.which("Rscript") and shell("Rscript", "-e", "library(reticulate)", folder=tmp_path) == 0
    if not known:
        pytest.skip("R and its package reticulate are not installed")
    page = ROOT / "docs" / "how-to" / "from-r.md"
    (tmp_path / "page.R").write_text(blocks(page, "r")[0])
    done = told("Rscript", "page.R", folder=tmp_path, RETICULATE_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert blocks(page, "text")[1].strip() in done.stdout


def test_the_container_file_has_no_lint(tmp_path: Path) -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if linter is None:
        pytest.skip("hadolint is not installed")
    assert shell(linter, str(HERE / "container" / "Containerfile"), folder=tmp_path) == 0


@pytest.mark.slow
def test_the_container_is_built_and_runs(folder: Path) -> None:
    """With buildah, as root; REISSUE_BASE names an image with Python that it has, or a registry's."""
    base = os.environ.get("REISSUE_BASE")
    if base is None or shutil.which("buildah") is None or os.geteuid():
        pytest.skip("buildah, root and an image with Python (REISSUE_BASE) are needed to build the container")
    options = ["--isolation", "chroot", *os.environ.get("REISSUE_BUILD", "").split()]
    file = str(HERE / "container" / "Containerfile")
    built = told(
        "buildah", "bud", *options, "--build-arg", f"BASE={base}", "-t", "reissue", "-f", file, ".", folder=ROOT
    )
    assert built.returncode == 0, built.stderr
    place = told("buildah", "from", "reissue", folder=folder).stdout.strip()
    folder.chmod(0o777)
    run = ["buildah", "run", "--isolation", "chroot", "--user", "1000", "-v", f"{folder}:/data", place, "--", "reissue"]
    try:
        assert "reissue" in told(*run, "--version", folder=folder).stdout
        assert shell(*run, "init", "patients.csv", "--out", "new.toml", folder=folder) == 0
        for name, code in (("releases/1.csv", 0), ("patients.csv", 1)):
            assert shell(*run, "check", name, "--schema", "schema.toml", "--require", "k=5", folder=folder) == code
    finally:
        told("buildah", "rm", place, folder=folder)


def test_mcp(folder: Path) -> None:
    """An assistant's client starts the server and asks; what comes back has verdicts and counts, and no cell."""
    mcp = pytest.importorskip("mcp", reason="mcp is not installed")
    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=[str(HERE / "mcp" / "server.py")],
        env={**os.environ, "REISSUE_FOLDER": str(folder), "PYTHONPATH": str(ROOT / "src")},
    )

    async def asked(name: str, **given: object) -> Any:
        async with mcp.stdio_client(parameters) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            assert {tool.name for tool in (await session.list_tools()).tools} == {"propose", "check", "attack"}
            return await session.call_tool(name, given)

    def said(name: str, **given: object) -> str:
        return "".join(part.text for part in asyncio.run(asked(name, **given)).content)

    assert '"met": true' in said("check", release="releases/1.csv", schema="schema.toml").lower()
    roles = said("propose", table="patients.csv")
    assert '"sensitive"' in roles
    assert not any(value in roles for value in pl.read_csv(folder / "patients.csv")["disease"].unique())
    assert '"verdict"' in said("attack", releases=list(GOOD), schema="schema.toml")
    assert "server's folder" in said("propose", table="../elsewhere.csv")
