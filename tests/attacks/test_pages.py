"""The attacks' pages: the worked example runs, the pictures are fresh, the reference is complete."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from reissue.attacks import registered

DOCS = Path(__file__).parents[2] / "docs"
DETAILS = {
    "correspondence": ("FA", "CA", "BA", "left", "exact"),
    "updates": ("risk", "certain"),
    "equivalence": ("minimum", "people_by_e", "exact"),
    "coalition": ("largest_m", "smallest_coalition", "checks"),
    "minimality": ("credibility", "problematic"),
    "mechanism": ("posterior", "error", "worlds"),
    "joint-mechanism": ("posterior", "without", "people_without", "by"),
    "disclosure": ("linked", "sure", "small", "unique", "k", "columns", "by_release"),
    "definetti": ("accuracy", "baseline"),
}
"""What the JSON contract promises of each attack's details."""


def test_every_attack_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "attacks.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for name in registered():
        assert name in sections, name
        assert all(f"`{detail}`" in sections[name] for detail in DETAILS.get(name, ()))


def test_the_reference_tells_what_the_attacks_tell_of_themselves() -> None:
    page = (DOCS / "reference" / "attacks.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for name in registered():
        its, told = registered()[name], " ".join(sections[name].split())
        assert its.summary.rstrip(".") in told
        assert f"{its.story} It needs {its.needs}." in told
        assert its.prevention
        assert f"What would prevent it: - {' - '.join(its.prevention)} <!--" in told


def test_the_pictures_are_fresh() -> None:
    folder = DOCS / "concepts" / "img"
    for name, drawn in runpy.run_path(str(folder / "draw.py"))["pictures"]().items():
        assert (folder / name).read_text(encoding="utf-8") == drawn, "run: python docs/concepts/img/draw.py"


def test_the_two_recipients_of_the_page(tmp_path: Path) -> None:
    page = (DOCS / "concepts" / "correspondence.md").read_text(encoding="utf-8")
    example = page.partition("## Two recipients")[2].partition("\n## ")[0]
    commands = re.findall(r"^```sh\n(.*?)^```", example, re.MULTILINE | re.DOTALL)
    told = re.findall(r"^```text\n(.*?)^```", example, re.MULTILINE | re.DOTALL)
    assert len(commands) == len(told) == 2
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block, lines in zip(commands, told, strict=True):
        done = subprocess.run(  # noqa: S603
            ["bash", "-euo", "pipefail", "-c", block],  # noqa: S607
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for line in lines.splitlines():
            assert line in done.stdout


@pytest.mark.parametrize("name", ["f", "c", "b", "recipients"])
def test_every_picture_is_on_the_page(name: str) -> None:
    assert f"img/correspondence-{name}.svg" in (DOCS / "concepts" / "correspondence.md").read_text(encoding="utf-8")
