"""Install a plug-in for real: a wheel of a folder with pyproject.toml, by pip, into a folder of its own."""

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["install", "package"]


def install(sources: Sequence[Path], target: Path) -> None:
    """Install packages by pip; no network and no build tool is needed, for the wheels are made here."""
    wheels = [str(_wheel(source, target.parent)) for source in sources]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*command, *wheels], check=True, capture_output=True)  # noqa: S603


def _wheel(source: Path, folder: Path) -> Path:
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    points = [
        line
        for group, named in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{point} = {module}" for point, module in named.items()))
    ]
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": "\n".join(points) + "\n",
    }
    wheel, files = folder / f"{name}-{version}-py3-none-any.whl", {}
    files = {path.relative_to(source / "src").as_posix(): path.read_text() for path in (source / "src").rglob("*.py")}
    files |= {f"{name}-{version}.dist-info/{file}": text for file, text in texts.items()}
    files[f"{name}-{version}.dist-info/RECORD"] = "".join(f"{file},,\n" for file in files)
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return wheel


def package(folder: Path, name: str, group: str, point: str, code: str) -> Path:
    """A package with one entry point and one module."""
    module = name.replace("-", "_")
    (folder / "src" / module).mkdir(parents=True)
    (folder / "src" / module / "__init__.py").write_text(code)
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "1.0"\n[project.entry-points."{group}"]\n{point} = "{module}"\n'
    )
    return folder
