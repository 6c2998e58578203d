"""The how-to "Extend Reissue" is tried: its examples run, and its list of modules for a form is complete."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reissue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "write-a-plug-in.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## Add an? ([\w ]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("kind", ["attack", "method", "requirement", "engine"])
def test_the_example_keeps_its_contract(kind: str, tmp_path: Path) -> None:
    """In a process of its own: what it registers must not be known to other tests."""
    (code,) = re.findall(r"^```python\n(.*?)^```", SECTIONS[kind], re.MULTILINE | re.DOTALL)
    assert "\ncheck_" in code
    (tmp_path / "example.py").write_text(code)
    source = str(Path(reissue.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_modules_that_name_a_form_are_listed() -> None:
    package = ROOT / "src" / "reissue"
    asked = r"\bForm\.[A-Z_]+\b|\bForm\.called\b"
    naming = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(asked, path.read_text(encoding="utf-8"))
    }
    listed = set(
        re.findall(r"`([\w/]+\.py)`", SECTIONS["published form"].partition("|---|---|")[2].partition("\n\n")[0])
    )
    assert naming <= listed
    assert all((package / path).is_file() for path in listed)


def test_the_paths_that_the_page_names_exist() -> None:
    for path in re.findall(r"`((?:src|docs|tests|examples)/[\w./-]+)`", PAGE):
        assert (ROOT / path).exists(), path
