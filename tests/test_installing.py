"""Wheel and sdist, built and installed where nothing else is: the command runs, and what it needs is in the package."""

import itertools
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PATIENTS = "patient,age,zip,disease\n" + "".join(
    f"{n},{20 + n % 50},{10000 + n % 7},{'flu' if n % 3 else 'cold'}\n" for n in range(60)
)


def ran(*command: object, folder: Path) -> str:
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_can_be_installed_and_used(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("build")
    ran(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", tmp_path, ROOT, folder=tmp_path)
    (built,) = tmp_path.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    ran(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", built, folder=tmp_path)
    (tmp_path / "patients.csv").write_text(PATIENTS)
    command = tmp_path / "clean" / "bin" / "reissue"
    assert "reissue" in ran(command, "--version", folder=tmp_path)
    assert "requirement" in ran(command, "explain", "m-unique", folder=tmp_path)
    ran(command, "init", "patients.csv", folder=tmp_path)
    ran(command, "anonymize", "patients.csv", "-s", "schema.toml", "-r", "k=3", folder=tmp_path)
    ran(command, "check", "patients.release.csv", "-s", "schema.toml", "-r", "k=3", folder=tmp_path)
    lost = ("measure", "patients.csv", "patients.release.csv", "-s", "schema.toml", "--report", "lost.html")
    ran(command, *lost, folder=tmp_path)
    assert "<html" in (tmp_path / "lost.html").read_text()
    assert "pip install 'reissue[excel]'" in _refusal(command, tmp_path)


FRAMES = """
import sys, warnings
from importlib.util import find_spec
warnings.simplefilter("error")
import pandas, reissue as ri
from reissue.synth import Population, schema
assert find_spec("pyarrow") is None
frames = [pandas.DataFrame(one.to_dict(as_series=False)) for one in Population(seed=1, people=120).months(2)]
policy = ri.Schema.loads(schema().dumps() + '[policy]\\nrequire = "k=5"\\nmethod = "pool"\\nvalues = "randomized"\\n')
assert ri.propose(frames[0]).schema.quasi
assert isinstance(ri.clean(frames[0]).apply().frame, pandas.DataFrame)
made = [ri.anonymize(frame, schema(), "k=4") for frame in frames]
assert all(isinstance(one.frame, pandas.DataFrame) for one in made)
assert ri.attack(made, schema()).tested
warnings.simplefilter("default")
assert isinstance(ri.publish(frames[0], "x.ledger", policy).frame, pandas.DataFrame)
print(pandas.__version__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("pandas", ["2.3.3", "3.0.0"])
def test_pandas_frames_need_no_pyarrow(pandas: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    ran(python, "-m", "pip", "install", "--quiet", ROOT, f"pandas=={pandas}", folder=tmp_path)
    assert ran(python, "-c", FRAMES, folder=tmp_path).strip() == pandas


def _refusal(command: Path, folder: Path) -> str:
    """What is said where an extra is not installed."""
    (folder / "book.xlsx").write_bytes(b"PK")
    asked = [str(command), "init", "book.xlsx", "-o", "other.toml"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    return done.stderr


def pinned(path: Path) -> dict[str, str]:
    """The versions of a list of requirements, by names as pip compares them."""
    found = re.findall(r"^([\w.-]+)==([^\s\\]+)", path.read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def test_hashed_requirements_agree_with_the_constraints() -> None:
    """`make hashes` writes them; whoever raises a version in constraints.txt runs it again."""
    hashed, pins = pinned(ROOT / "requirements" / "runtime.txt"), pinned(ROOT / "constraints.txt")
    assert hashed == {name: pins.get(name) for name in hashed}
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ("duckdb", "excel", "postgres", "stats", "web")
    wanted = [*about["dependencies"], *itertools.chain(*(about["optional-dependencies"][name] for name in extras))]
    for one in map(Requirement, wanted):
        assert one.specifier.contains(hashed[canonicalize_name(one.name)])
    text = (ROOT / "requirements" / "runtime.txt").read_text()
    pins_with_hashes = re.findall(r"^[\w.-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+$", text, re.MULTILINE)
    assert len(pins_with_hashes) == len(hashed)
    assert "://" not in text
    assert "index" not in text
