"""The notebooks run from start to end, and the pages of the documentation are what they show."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
BY_KEY = {"monthly-series"}
"""What is drawn under a ledger's own key differs from run to run."""
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    made = TOOL["executed"](stored)
    if path.stem not in BY_KEY:
        assert [cell.get("outputs") for cell in made["cells"]] == [cell.get("outputs") for cell in stored["cells"]], (
            "run: python docs/notebooks.py"
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_whole_and_its_page_is_fresh(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert (stored["nbformat"], stored["metadata"]["kernelspec"]["name"]) == (4, "python3")
    assert len({cell["id"] for cell in stored["cells"]}) == len(stored["cells"])
    assert all(cell["execution_count"] for cell in stored["cells"] if cell["cell_type"] == "code")
    assert path.with_suffix(".md").read_text(encoding="utf-8") == TOOL["rendered"](path, stored)


def test_there_are_three() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"first-release", "audit", "monthly-series"}
