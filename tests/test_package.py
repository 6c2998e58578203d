"""The package as a whole: its names, its weight, its files."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import reissue
from reissue.cli._app import COMMANDS

ROOT = Path(__file__).parent.parent
HEAVY = (
    "pandas",
    "pyarrow",
    "matplotlib",
    "altair",
    "fastapi",
    "starlette",
    "uvicorn",
    "pyspark",
    "py4j",
    "duckdb",
    "sqlalchemy",
    "rich",
    "typer",
    "scipy",
)


def tracked() -> list[Path]:
    """The project's own files, as git knows them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def test_public_names_are_explicit_and_there() -> None:
    assert len(set(reissue.__all__)) == len(reissue.__all__)
    for name in reissue.__all__:
        assert getattr(reissue, name).__doc__, name


def test_importing_reissue_is_light() -> None:
    loaded = set(python("import sys, reissue; print(*sys.modules)").split())
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("reissue.")} == {"reissue._version"}
    assert "numpy" not in loaded


def test_dir_shows_what_is_public_and_nothing_else() -> None:
    assert dir(reissue) == sorted(reissue.__all__)


def test_anonymizing_loads_four_libraries_and_no_more() -> None:
    code = "import sys, reissue; reissue.anonymize; print(*sys.modules)"
    loaded = {name.partition(".")[0] for name in python(code).split()}
    others = {name for name in loaded - sys.stdlib_module_names if not name.startswith("_")}
    assert others <= {"reissue", "numpy", "polars", "narwhals", "tomlkit", "typing_extensions", "cython_runtime"}


def loaded_for(*lines: str) -> set[str]:
    """The modules that are loaded after these command lines."""
    code = (
        f"import sys; from reissue.cli._app import run; [run(line.split()) for line in {lines!r}]; "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return set(done.stderr.split())


def test_help_loads_no_library_beyond_the_command_lines_own() -> None:
    helps = [f"{name} --help" for name in COMMANDS]
    loaded = loaded_for("--help", *helps, "ledger show --help", "ledger verify -h")
    others = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    allowed = {"reissue", "typer", "rich", "markdown_it", "mdurl", "pygments", "annotated_doc", "shellingham"}
    assert {name for name in others if not name.startswith("_")} <= allowed
    assert "reissue.methods.partition.mondrian" not in loaded


def test_a_commands_help_loads_no_other_command() -> None:
    commands = {name for name in loaded_for("init --help") if name.startswith("reissue.cli.commands.")}
    assert commands == {"reissue.cli.commands.init"}


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert reissue.__version__ == project["version"] == importlib.metadata.version("reissue")


def test_rooms_stay_small() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in tracked() if path.suffix == ".py"}
    limits = dict.fromkeys(lines, 600)
    assert not [path.name for path, count in lines.items() if count > limits[path]]


def test_no_file_names_a_machine_or_a_registry() -> None:
    paths = re.compile(
        rb"/(?:home|root|Users|work|opt)/\w|[A-Z]:\\\\Users|pypi\.org/simple|files\.pythonhosted|--index-url"
    )
    naming = [path.name for path in tracked() if path.name != Path(__file__).name and paths.search(path.read_bytes())]
    assert not naming


def test_every_module_says_what_it_is() -> None:
    for path in tracked():
        if path.is_relative_to(ROOT / "src") and path.suffix == ".py":
            assert path.read_text().lstrip().startswith(('"""', 'r"""')), path.name
