"""The page of what the papers define: its names exist, its tests exist, its commands run."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Reissue
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "papers" / "contents.md").read_text(encoding="utf-8")
TOLD = re.compile(r"`([^`]+)`")
COMMANDS = sorted({command for command in TOLD.findall(PAGE) if command.startswith("reissue ")})


def test_every_row_has_five_cells() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert {len(re.split(r"(?<!\\)\|", line)) - 2 for line in lines} == {5}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


TABLE = [cells(line) for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| in the paper")]
MADE = [row for row in TABLE if row[1] != "none"]


def test_names_exist() -> None:
    for _, where, *_ in MADE:
        (name,) = TOLD.findall(where)
        module, _, leaf = (
            name.replace("M.", "reissue.papers.", 1).rpartition(".") if name.startswith("M.") else name.rpartition(".")
        )
        assert hasattr(import_module(module), leaf), name


def test_tests_exist() -> None:
    for row in MADE:
        for place in TOLD.findall(row[3]):
            file, _, name = place.partition("::")
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), place
        assert row[3], row[0]


def test_what_is_not_there_says_why() -> None:
    assert all(row[4] for row in TABLE if row[1] == "none")


def test_all_five_papers_have_their_figures() -> None:
    assert sum("benchmarks.papers." in row[1] and row[1].endswith(".PAPER`") for row in TABLE) == 5


VALUES = ["flu", "cold", "ill", "gout"]
SCHEMA = """\
[columns]
name = "identifier"
place = "quasi"
disease = "sensitive"
{more}
[taxonomy.place]
tree = {{ North = ["n1", "n2"], South = ["s1", "s2"], West = ["w1", "w2"] }}
"""


@pytest.fixture
def tables(tmp_path: Path) -> None:
    """Two releases that kept the identifier, the original, and a table of several providers."""
    places = [place for place in ("n1", "n2", "s1", "s2", "w1", "w2") for _ in range(2)]
    people = pl.DataFrame({"name": [f"p{n}" for n in range(12)], "place": places, "disease": VALUES * 3})
    people.write_csv(tmp_path / "people.csv")
    people.with_columns(hospital=pl.Series(["a", "b"] * 6)).write_csv(tmp_path / "together.csv")
    sides = {"n": "North", "s": "South", "w": "West"}
    seen = people.with_columns(pl.col("place").str.head(1).replace(sides))
    seen.write_csv(tmp_path / "jan.csv")
    seen.write_csv(tmp_path / "feb.csv")
    (tmp_path / "s.toml").write_text(SCHEMA.format(more=""))
    (tmp_path / "p.toml").write_text(SCHEMA.format(more='hospital = "provider"'))
    (tmp_path / "u.toml").write_text(SCHEMA.format(more="") + '[updates]\nfile = "updates.csv"\n')
    (tmp_path / "updates.csv").write_text("from,to\n" + "".join(f"{a},{b}\n" for a in VALUES for b in VALUES))


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, reissue: Reissue, tmp_path: Path) -> None:
    if "p.toml" in command and "jan.csv" in command:
        seen = pl.read_csv(tmp_path / "jan.csv").with_columns(hospital=pl.Series(["a", "b"] * 6))
        seen.write_csv(tmp_path / "jan.csv")
    outcome = reissue(*shlex.split(command)[1:])
    assert outcome.code in {0, 1}, outcome.err
    if "attack" in command:
        assert "Not run" not in outcome.out
