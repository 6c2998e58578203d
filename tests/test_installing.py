"""Wheel and sdist, built and installed where nothing else is: the command runs, and what it needs is in the package."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

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
    lost = ("utility", "patients.csv", "patients.release.csv", "-s", "schema.toml", "--report", "lost.html")
    ran(command, *lost, folder=tmp_path)
    assert "<html" in (tmp_path / "lost.html").read_text()
    assert "pip install 'reissue[excel]'" in _refusal(command, tmp_path)


def _refusal(command: Path, folder: Path) -> str:
    """What is said where an extra is not installed."""
    (folder / "book.xlsx").write_bytes(b"PK")
    asked = [str(command), "init", "book.xlsx", "-o", "other.toml"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    return done.stderr
