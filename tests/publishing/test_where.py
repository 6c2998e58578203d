"""What runs where: every method is tried on every engine, and does what the how-to's table says."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import attacks, methods
from reissue.engines.registry import registered
from reissue.synth import Population, schema

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "larger-than-memory.md"
ASKED = {
    "invariance": "m-unique=2",
    "distinct": "m-unique=2",
    "anatomy": "simple-l=2",
    "equivalence": "simple-l=2",
    "mask": "k=5 & simple-l=2",
}


def documented() -> dict[str, dict[str, bool]]:
    """Method to engine to whether it runs there, as the page says."""
    section = PAGE.read_text(encoding="utf-8").partition("## What runs where")[2].partition("| attack on files |")[0]
    lines = [line.strip("| \n") for line in section.splitlines() if line.startswith("|")]
    table = [re.split(r"\s*\|\s*", line) for line in lines]
    engines = [name.removeprefix("in ") for name in table[0][-3:]]
    said = {}
    for first, *cells in table[2:]:
        for method in re.findall(r"`(\w[\w-]*)`", first):
            said[method] = {engine: not cell.startswith("refused") for engine, cell in zip(engines, cells, strict=True)}
    return said


def test_attacks_run_where_the_page_says() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("| attack on files |")[2].partition("\n\n")[0]
    said: dict[str, bool] = {}
    for line in section.splitlines()[2:]:
        first, _, engines = line.strip("| ").split(" | ")
        said |= dict.fromkeys(re.findall(r"`(\w[\w-]*)`", first), engines != "not run")
    counted = attacks.Accepts.COUNTED_ROWS | attacks.Accepts.COUNTED_PEOPLE
    assert said == {name: bool(counted & one.accepts) for name, one in attacks.registered().items()}


def test_refusals_have_the_reason_that_the_method_gives() -> None:
    """Who needs the codes of all rows says what for: on the page, in the message, and nowhere a second time."""
    page = PAGE.read_text(encoding="utf-8")
    for name in methods.registry.BUILT_IN:
        method = methods.find(name)
        assert method.in_parts != bool(method.whole_table), name
        if not method.in_parts:
            assert re.search(rf"\| `{name}` \| yes \| by codes: {method.whole_table} \| by codes \|", page)
            with pytest.raises(ri.InputError, match=re.escape(method.whole_table)):
                ri.anonymize_frame(pl.DataFrame({"age": [1]}), schema(), "k=2", method=name)


def test_every_engine_and_method_is_in_the_table() -> None:
    said = documented()
    assert set(methods.registry.BUILT_IN) <= set(said)
    assert all(set(row) == set(registered()) for row in said.values())


@pytest.mark.parametrize("method", sorted(methods.registry.BUILT_IN))
def test_what_streams_is_what_the_table_says(method: str, tmp_path: Path) -> None:
    assert (
        runs(method, "stream", next(Population(seed=6, people=120).months(1)).lazy(), tmp_path)
        == documented()[method]["stream"]
    )


def runs(method: str, engine: str, data: Any, folder: Path) -> bool:
    """Whether a release can be made; a refusal must say that the method needs memory."""
    try:
        made = ri.anonymize_folder(
            data, schema(), ASKED.get(method, "k=3"), folder / method, method=method, engine=engine
        )
    except ri.InputError as problem:
        if "needs the whole table in memory" not in str(problem):
            raise
        return False
    found = ri.check(made.folder, schema(), made.requirement, engine="stream")
    return found.met and found.rows == made.rows >= 120
